"""Models of released files: each kind of file, and what is refused."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

from tacita.domain import Boolean, Categorical, Domain, Numeric
from tacita.engines.local import LocalEngine
from tacita.errors import InvalidInput
from tacita.learn.on_release import ReleasedRows
from tacita.learn.released import fit_released, read_released
from tacita.noise import SeededSource
from tacita.plans import NoisyTables
from tacita.privacy.budget import Budget
from tacita.privacy.unit import Neighbours, Unit
from tacita.synthesize import PrivBayes
from tacita.tables.workload import Workload

DOMAIN = Domain(
    attributes=[
        Numeric(name="age", bounds=(0, 100), bins=5),
        Categorical(name="sex", levels=["f", "m"]),
        Boolean(name="ill"),
    ]
)
FACTS = {"unit": Unit.row(), "neighbours": Neighbours.ADD_REMOVE}


def people() -> pa.Table:
    rng = np.random.default_rng(3)
    age = rng.uniform(0, 100, 3000)
    return pa.table({"age": age, "sex": np.where(rng.random(3000) < 0.5, "f", "m"), "ill": age > 60})


def chance(model, age) -> float:
    return float(np.asarray(model.probabilities(pa.table({"age": [age], "sex": ["f"]})))[0][1])


def tables(*keys):
    plan = NoisyTables(Workload.of(*keys)).calibrate(DOMAIN, Budget.pure(2.0), **FACTS)
    return plan.run(LocalEngine(DOMAIN, people()), SeededSource(1))


@pytest.mark.parametrize("kind", ["bayes", "trees"])
def test_a_model_of_synthetic_rows_has_their_guarantee(tmp_path, kind) -> None:
    plan = PrivBayes(degree=1).calibrate(DOMAIN, Budget.pure(2.0), **FACTS)
    made = plan.run(LocalEngine(DOMAIN, people()), SeededSource(1))
    (tmp_path / "m.json").write_text(made.to_json())
    model = fit_released(read_released(tmp_path / "m.json"), kind, target="ill", seed=1)
    assert model.event == made.event
    assert set(model.features) == {"age", "sex"}
    assert chance(model, 10.0) < 0.3
    assert chance(model, 90.0) > 0.7


def test_tables_make_a_model(tmp_path) -> None:
    (tmp_path / "t.json").write_text(tables(["age", "ill"], ["sex", "ill"]).to_json())
    released = read_released(tmp_path / "t.json")
    model = fit_released(released, "bayes", target="ill")
    assert chance(model, 10.0) < 0.3
    assert chance(model, 90.0) > 0.7
    with pytest.raises(InvalidInput, match="one table with target and features together"):
        fit_released(released, "trees", target="ill")
    (tmp_path / "one.json").write_text(tables(["age", "ill"]).to_json())
    tree = fit_released(read_released(tmp_path / "one.json"), "trees", target="ill", options={"depth": 2})
    assert tree.features == ("age",)


@pytest.mark.parametrize("suffix", ["csv", "tsv", "parquet"])
def test_rows_need_a_schema_and_have_no_guarantee(tmp_path, suffix) -> None:
    path, rows = tmp_path / f"rows.{suffix}", people()
    if suffix == "parquet":
        pq.write_table(rows, path)
    else:
        pa_csv.write_csv(rows, path, pa_csv.WriteOptions(delimiter="," if suffix == "csv" else "\t"))
    with pytest.raises(InvalidInput, match="needed for rows"):
        read_released(path)
    released = read_released(path, DOMAIN)
    assert isinstance(released, ReleasedRows)
    model = fit_released(released, "bayes", target="ill", features=["age"])
    assert model.event.kind == "non-private"
    assert chance(model, 10.0) < 0.1
    assert chance(model, 90.0) > 0.9


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.json", "{}"),
        ("a.json", json.dumps({"tacita": "linear/1"})),
        ("a.json", "[1]"),
        ("a.json", "no json"),
        ("a.xlsx", "x"),
        ("a.parquet", "x"),
        ("a.csv", "a,b\n1\n"),
    ],
)
def test_other_files_are_refused(tmp_path, name, content) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(InvalidInput):
        read_released(tmp_path / name, DOMAIN)
    with pytest.raises(InvalidInput, match="cannot be read"):
        read_released(tmp_path / f"gone-{name}".replace("xlsx", "csv"), DOMAIN)


def test_unknown_options_are_refused() -> None:
    with pytest.raises(InvalidInput, match="no option of trees"):
        fit_released(ReleasedRows(domain=DOMAIN, rows=people()), "trees", target="ill", options={"width": 3})
