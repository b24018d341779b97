"""Every kind of paid answer is planned, run and read back, and is on every surface."""

from __future__ import annotations

import json
import pkgutil
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tacita.client import Client
from tacita.client.releases import _ANSWERS
from tacita.domain import Categorical, Domain, Numeric
from tacita.engines.local import LocalEngine
from tacita.noise import SeededSource
from tacita.privacy.budget import Budget
from tacita.privacy.ledger import Account
from tacita.privacy.unit import Neighbours, Unit
from tacita.recipes.registry import RECIPES, plan_recipe

ROOT = Path(__file__).parents[2]
CONTRACT = json.loads((ROOT / "spec" / "openapi.json").read_text())
DOMAIN = Domain(
    attributes=[
        Numeric(name="age", bounds=(0, 100), bins=5),
        Numeric(name="pay", bounds=(0, 1000), bins=4),
        Categorical(name="sex", levels=["f", "m"]),
    ]
)
ASKED: dict[str, dict[str, Any]] = {
    "tables": {"tables": [["age", "sex"], ["sex"]]},
    "statistics": {"sql": "SELECT sex, AVG(pay) FROM people GROUP BY sex"},
    "clusters": {"columns": ["age", "pay"], "clusters": 2},
    "components": {"columns": ["age", "pay"]},
    "bounds": {"column": "pay"},
    "network": {"columns": ["age", "pay"], "forbid": ["pay:age"]},
}


class Subject:
    domain = DOMAIN
    account = Account(name="people", unit=Unit.row(), neighbours=Neighbours.ADD_REMOVE, budget=Budget.pure(9.0))


def asked(name: str) -> Any:
    return RECIPES[name].request.model_validate(
        ASKED[name] | {"dataset": "people", "budget": {"epsilon": 1.0}, "purpose": "test"}
    )


def people() -> pa.Table:
    rng = np.random.default_rng(1)
    young = rng.random(2000) < 0.5
    return pa.table(
        {
            "age": np.where(young, rng.normal(25, 3, 2000), rng.normal(70, 3, 2000)).clip(0, 100),
            "pay": np.where(young, rng.normal(200, 20, 2000), rng.normal(800, 20, 2000)).clip(0, 1000),
            "sex": np.where(young, "f", "m"),
        }
    )


def test_every_kind_is_tried_here() -> None:
    assert list(ASKED) == list(RECIPES)


@pytest.mark.parametrize("name", RECIPES)
def test_a_kind_plans_runs_and_is_read_back(name: str) -> None:
    plan = plan_recipe(name, Subject, asked(name))  # type: ignore[arg-type]
    assert plan.as_dict()["cost"] == pytest.approx(1.0, rel=0.02)
    assert plan.as_dict()["cost"] <= 1.0
    answer = plan.run(LocalEngine(plan.domain, people()), SeededSource(1))
    assert plan.read(answer.to_json()).as_dict() == answer.as_dict()
    assert RECIPES[name].answer.model_validate_json(answer.to_json())
    assert pkgutil.resolve_name(_ANSWERS[answer.as_dict()["tacita"]]) is type(answer)  # clients read it back
    assert answer.to_arrow().num_rows >= 1


def test_the_tables_hold_the_answers() -> None:
    def table(name: str) -> pa.Table:
        plan = plan_recipe(name, Subject, asked(name))  # type: ignore[arg-type]
        return plan.run(LocalEngine(plan.domain, people()), SeededSource(2)).to_arrow()

    centres = sorted(zip(*(table("clusters").column(name).to_pylist() for name in ("age", "pay")), strict=True))
    assert np.allclose(centres, [(25, 200), (70, 800)], atol=8)
    first = table("components").to_pylist()[0]
    assert first["share"] > 0.95
    assert first["age"] * first["pay"] > 0  # both rise together
    (found,) = table("bounds").to_pylist()
    assert (found["column"], found["low"], found["high"]) == ("pay", 128, 1024)
    network = table("network").to_pylist()
    (link,) = [row for row in network if row["parent"] == "age"]
    assert (link["child"], len(network)) == ("pay", 3)
    assert link["coefficient"] == pytest.approx(600 / 45, rel=0.1)
    assert table("tables").filter(pa.compute.equal(table("tables")["table"], "sex")).num_rows == 2
    assert table("statistics").column("sex").to_pylist() == ["f", "m"]


def test_a_table_of_another_name_is_refused() -> None:
    from tacita.errors import InvalidInput

    with pytest.raises(InvalidInput, match="people"):
        RECIPES["statistics"].request.model_validate(
            {"dataset": "people", "budget": {"epsilon": 1.0}, "sql": "SELECT COUNT(*) FROM others"}
        )


@pytest.mark.parametrize("name", RECIPES)
def test_a_kind_is_on_every_surface(name: str) -> None:
    from typer.main import get_command

    from tacita.cli.release import app

    assert CONTRACT["paths"][f"/v1/releases/{name}"]["post"]["summary"] == RECIPES[name].summary
    command = get_command(app).commands[name]  # type: ignore[attr-defined]
    options = {option for parameter in command.params for option in parameter.opts}
    members = set(RECIPES[name].request.model_fields) - {"dataset", "budget"}
    assert {f"--{member.replace('_', '-')}" for member in members} <= options
    assert {"--account", "--epsilon", "--delta", "--rho"} <= options
    assert name in (Client.plan_release.__doc__ or "")
    for page in ("rest", "cli"):
        assert name in (ROOT / "docs" / "reference" / f"{page}.md").read_text()
