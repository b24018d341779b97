"""Every kind of result has the same forms: a table, frames, files, a figure, and a view in notebooks."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from python_calamine import CalamineWorkbook

import tacita as tc
from tacita.anonymize import Mask, Microaggregate, Pram
from tacita.assess.assessment import Assessment, assess
from tacita.assess.case import read_case
from tacita.assess.compare.plan import ComparePlan
from tacita.assess.compare.run import Comparison, compare
from tacita.engines.local import LocalEngine
from tacita.learn.models import recipe_of
from tacita.noise import SeededSource
from tacita.plans import NoisyTables
from tacita.query.aggregates import Aggregate, Aggregates
from tacita.query.models.kmeans import KMeans
from tacita.synthesize.auto import Synthesize
from tacita.tables.workload import Workload

DOMAIN = tc.Domain.from_dict(
    {
        "attributes": [
            {"name": "age", "kind": "numeric", "bounds": [0, 100], "bins": 5},
            {"name": "pay", "kind": "numeric", "bounds": [0, 1000], "bins": 5},
            {"name": "sex", "kind": "categorical", "levels": ["f", "m"]},
        ]
    }
)


@cache
def people(seed: int = 1) -> pa.Table:
    rng = np.random.default_rng(seed)
    age = rng.uniform(0, 100, 2000)
    return pa.table(
        {"age": age, "pay": (10 * age + rng.normal(0, 50, 2000)).clip(0, 1000), "sex": rng.choice(["f", "m"], 2000)}
    )


def run(recipe: Any, budget: tc.Budget | None = None) -> Any:
    budget = budget or tc.Budget.pure(5.0)
    plan = recipe.calibrate(DOMAIN, budget, unit=tc.Unit.row(), neighbours=tc.Neighbours.ADD_REMOVE)
    return plan.run(LocalEngine(DOMAIN, people()), SeededSource(1))


def model(kind: str, target: str, **options: Any) -> Any:
    features = [name for name in DOMAIN.names if name != target]
    return run(recipe_of(kind, target=target, features=features, options=options))


def assessed() -> Assessment:
    made = run(Synthesize(method="independent")).to_arrow(200, seed=1)
    rng = np.random.default_rng(1)
    case = read_case(DOMAIN, real=people(), released=[made], control=people(2), names=list(DOMAIN.names), rng=rng)
    return assess(case, rng)


def compared() -> Comparison:
    plan = ComparePlan.from_dict(
        {"data": "people.csv", "schema": "people.yaml", "releases": [{"synthesize": {"epsilon": 1.0}}]}
    )
    return compare(plan, source=(DOMAIN, LocalEngine(DOMAIN, people())))


def masked() -> Any:
    steps = (Microaggregate(attributes=("age", "pay"), k=5), Pram(attributes=("sex",), keep=0.9))
    return Mask(steps=steps).prepare(DOMAIN).run(LocalEngine(DOMAIN, people()), SeededSource(1))


RESULTS = {
    "release": lambda: run(NoisyTables(Workload.of(["sex"])))[("sex",)],
    "releases": lambda: run(NoisyTables(Workload.of(["sex"], ["age", "sex"]))),
    "answer": lambda: run(Aggregates(aggregates=[Aggregate(kind="mean", column="pay")], by=["sex"])),
    "zcdp": lambda: run(NoisyTables(Workload.of(["sex"])), tc.Budget.zcdp(0.5)),
    "approx": lambda: run(NoisyTables(Workload.of(["sex"], ["age"])), tc.Budget.approx(1.0, 1e-6)),
    "points": lambda: run(KMeans(columns=("age", "pay"), clusters=2)),
    "synthesized": lambda: run(Synthesize(method="independent")),
    "linear": lambda: model("linear", "pay"),
    "logistic": lambda: model("logistic", "sex"),
    "trees": lambda: model("trees", "sex"),
    "bayes": lambda: model("bayes", "sex"),
    "masked": masked,
    "assessment": assessed,
    "comparison": compared,
}


@pytest.mark.parametrize("kind", RESULTS)
def test_a_result_has_all_forms(kind: str, tmp_path: Any) -> None:
    found = RESULTS[kind]()
    table = found.to_arrow(50, seed=1) if kind == "synthesized" else found.to_arrow()
    assert table.num_rows >= 1
    assert found.to_pandas().shape[1] == found.to_polars().shape[1] == table.num_columns
    assert found.facts()["guarantee"]
    assert "<table>" in found._repr_html_()
    ET.fromstring(found.plot().standalone)
    found.plot().save(tmp_path / "figure.svg")
    for suffix in ("csv", "parquet", "json", "xlsx"):
        found.save(tmp_path / f"out.{suffix}")
    assert json.loads((tmp_path / "out.json").read_text())
    book = CalamineWorkbook.from_path(tmp_path / "out.xlsx")
    assert book.get_sheet_by_name("table").to_python()[0] == table.column_names
    assert dict(book.get_sheet_by_name("guarantee").to_python())["guarantee"] == found.facts()["guarantee"]
