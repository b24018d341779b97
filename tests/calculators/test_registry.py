"""Every calculator computes what its formula says, and is on every surface."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import Field

from tacita.calculators.kind import Calculator, Grid, Result
from tacita.calculators.registry import CALCULATORS, calculate
from tacita.client import Client
from tacita.errors import InvalidInput
from tacita.wire.base import RequestModel

ROOT = Path(__file__).parents[2]
CONTRACT = json.loads((ROOT / "spec" / "openapi.json").read_text())
ASKED: dict[str, dict[str, Any]] = {
    "odds": {"epsilon": 1.0, "before": 0.2},
    "at-risk": {"epsilon": 0.6, "noise": 1.0},
    "price": {"compensation": 5500.0, "people": 100, "error": 2.0},
    "sampled-sensitivity": {"distances": [float(place) for place in range(1, 101)], "epsilon": 0.5, "noise": 1.0},
    "repeated": {"epsilon": 0.1, "reports": 12},
    "shuffled": {"epsilon": 1.0, "reports": 2000},
    "oracles": {"levels": 100, "epsilon": 1.0, "respondents": 10_000},
    "block-protocol": {"shares": [0.6, 0.3, 0.1], "keep": 0.5, "block": 200, "people": 4000},
    "z-anonymity": {"shown": [0.5, 0.2], "users": 200, "z": 20, "k": 5},
    "flip": {"people": 2000, "epsilon": 0.1, "effect": 0.1, "draws": 400},
}


def found(name: str, **changed: Any) -> Result:
    return calculate(name, CALCULATORS[name].request.model_validate(ASKED[name] | changed))


def test_every_calculator_is_tried_here() -> None:
    assert list(ASKED) == list(CALCULATORS)


@pytest.mark.parametrize("name", CALCULATORS)
def test_a_result_is_plain_data_with_columns_of_one_length(name: str) -> None:
    result = found(name)
    sent = json.loads(result.answer().model_dump_json())
    assert json.loads(json.dumps(dict(result.values), allow_nan=False)) == sent["values"]
    assert sent["facts"]
    for table in sent["tables"]:
        assert len({len(column) for column in table["columns"].values()}) == 1
    assert CALCULATORS[name].seconds(CALCULATORS[name].request.model_validate(ASKED[name])) > 0


def test_odds_are_those_of_the_worst_mechanism() -> None:
    values = found("odds").values
    likely = math.e / (1 + math.e)  # randomized response of one bit at epsilon 1, the answer that speaks for it
    assert values["after_most"] == pytest.approx(0.2 * likely / (0.2 * likely + 0.8 * (1 - likely)))
    assert values["after_least"] == pytest.approx(0.2 * (1 - likely) / (0.2 * (1 - likely) + 0.8 * likely))


def test_privacy_at_risk_and_the_price_are_those_of_the_library() -> None:
    assert round(found("at-risk").values["confidence"], 4) == 0.1847
    assert [round(each["budget"]) for each in found("price").values["optima"]] == [67979, 43479, 37806]
    with pytest.raises(ValueError, match="one of them"):
        CALCULATORS["price"].request.model_validate(ASKED["price"] | {"noise": 0.5})


def test_repeated_reports_lose_what_their_exact_composition_loses() -> None:
    values = found("repeated").values
    keep = math.exp(0.1) / (1 + math.exp(0.1))
    delta = 0.0  # over all histories of twelve bits
    for ones in range(13):
        ways = math.comb(12, ones)
        p, q = keep**ones * (1 - keep) ** (12 - ones), keep ** (12 - ones) * (1 - keep) ** ones
        delta += ways * max(0.0, p - math.exp(values["epsilon"]) * q)
    assert delta <= values["delta"]
    assert values["added_up"] == pytest.approx(1.2)
    assert values["memoised"] == pytest.approx(0.1)


def test_a_shuffler_helps_and_never_costs() -> None:
    values = found("shuffled").values
    assert values["epsilon"] < 0.2 < values["local_epsilon"]
    alone = found("shuffled", reports=1).values
    assert alone["epsilon"] == pytest.approx(alone["local_epsilon"], rel=1e-3)


def test_oracles_are_in_order_of_their_error() -> None:
    result = found("oracles")
    (table,) = result.tables
    errors = list(table.columns["standard error"])
    assert errors == sorted(errors)
    assert result.values["best"] in table.columns["oracle"]


def test_the_published_protocol_has_the_loss_of_its_tables() -> None:
    values = found("block-protocol").values
    assert values["claimed_epsilon"] == pytest.approx(math.log(2))
    # the first table is uniform over three cells: ln((p + (1-p)/3) / ((1-p)/3))
    assert values["true_epsilon_first"] == pytest.approx(math.log((0.5 + 0.5 / 3) / (0.5 / 3)))
    assert values["true_epsilon_median"] > values["claimed_epsilon"]
    assert values["corrected_epsilon"] <= values["claimed_epsilon"] + 1e-9
    for shares in ([0.5, 0.6], [1.5, -0.5], [0.5, math.nan]):
        with pytest.raises(InvalidInput, match="add up to 1"):
            found("block-protocol", shares=shares)
    with pytest.raises(InvalidInput, match="5000 times"):
        found("block-protocol", block=1, people=5001)


def test_version_one_has_blocks_that_are_never_faked() -> None:
    values = found("block-protocol", block=1, people=300).values
    assert values["blocks_without_guarantee"] > 0
    assert values["true_epsilon_worst"] is None


def test_the_chance_of_k_holds_for_a_population_that_is_counted() -> None:
    """Exact for two values and few users, over all sets that users can show."""
    users, z, k, shown = 6, 2, 2, (0.5, 0.3)
    values = calculate(
        "z-anonymity",
        CALCULATORS["z-anonymity"].request.model_validate({"shown": list(shown), "users": users, "z": z, "k": k}),
    ).values
    rng = np.random.default_rng(1)
    has = rng.random((40_000, users, 2)) < np.array(shown)
    released = has & (has.sum(axis=1, keepdims=True) >= z)
    same = (released == released[:, :1]).all(axis=2).sum(axis=1)
    rate = float((same >= k).mean())
    assert values["low"] - 0.05 <= rate <= values["high"] + 0.05  # the model takes users as independent given a release


def test_sampled_sensitivity_is_an_order_statistic_with_its_confidence() -> None:
    values = found("sampled-sensitivity").values
    place = values["order_statistic"]
    assert values["sensitivity"] == place
    miss = [sum(math.comb(100, i) * 0.95**i * 0.05 ** (100 - i) for i in range(j)) for j in (place, place - 1)]
    assert miss[0] >= 0.95 > miss[1]  # P(Binomial(100, 0.95) < place): the least place that is enough
    assert calculate(
        "sampled-sensitivity", CALCULATORS["sampled-sensitivity"].request.model_validate({"rho": 0.1})
    ).values == {"pairs_needed": math.ceil(math.log(2 / 0.05) / 0.02)}
    with pytest.raises(ValueError, match="together"):
        CALCULATORS["sampled-sensitivity"].request.model_validate({"epsilon": 1.0})


def test_a_flip_is_planned_with_a_test_that_knows_the_noise() -> None:
    values = found("flip", draws=2000).values
    assert values["df"] == 1
    assert 2000 < values["people_needed"] < 5000  # at 2,000 people the effect is lost more often than 5 %
    assert values["flip"]["probability"] > 0.05
    assert values["epsilon_needed"] > 0.1
    assert values["statistic_needed"]["0.8"] == pytest.approx(8.7, abs=0.9)
    local = found("flip", mechanism="rr", epsilon=1.0, strata=2).values
    assert local["df"] == 2
    assert local["people_needed"] > values["people_needed"]
    none = found("flip", mechanism="unary", epsilon=0.05, effect=0.01).values
    assert none["people_needed"] is None or none["people_needed"] > 10**6


@pytest.mark.parametrize("name", CALCULATORS)
def test_a_calculator_is_on_every_surface(name: str) -> None:
    from typer.main import get_command

    from tacita.cli.assessing.risk import app

    assert CONTRACT["paths"][f"/v1/calculators/{name}"]["post"]["summary"] == CALCULATORS[name].summary
    command = get_command(app).commands[name]  # type: ignore[attr-defined]
    options = {option for parameter in command.params for option in parameter.opts}
    assert {f"--{member.replace('_', '-')}" for member in CALCULATORS[name].request.model_fields} <= options
    assert name in (Client.calculate.__doc__ or "")
    assert f"## `tacita risk {name}`" in (ROOT / "docs" / "reference" / "cli.md").read_text()
    assert name in (ROOT / "docs" / "reference" / "rest.md").read_text()


class _Request(RequestModel):
    people: int = Field(ge=1, description="Number of people.")


def test_a_new_calculator_is_one_entry() -> None:
    from typer import Typer
    from typer.testing import CliRunner

    from tacita.cli.assessing.risk import command_of
    from tacita.server.routes.calculators import routes_of

    example = Calculator(
        name="example",
        title="Example",
        summary="Compute twice a number",
        example="--people 2",
        request=_Request,
        compute=lambda request: Result(
            values={"twice": 2 * request.people},
            facts=[("twice", str(2 * request.people))],
            tables=[Grid("Steps", {"step": [1, 2], "value": [0.5, None]})],
        ),
    )
    app = Typer()
    app.command("example")(command_of(example))
    shown = CliRunner().invoke(app, ["--people", "21"]).output
    assert "42" in shown
    assert "unbounded" in shown
    (route,) = itertools.islice(routes_of(example).routes, 1)
    assert route.path == "/v1/calculators/example"  # type: ignore[attr-defined]
