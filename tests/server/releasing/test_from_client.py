"""Releases of the registry as `Client` plans, makes, fetches and assesses them."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.ipc
import pytest

from tacita.client import Client
from tacita.errors import BudgetExceeded, Conflict, InvalidInput, UnknownName
from tacita.privacy.budget import Budget
from tacita.synthesize import Synthesized
from tacita.wire.refusals import NotFound


@pytest.fixture
def client(world: Any) -> Iterator[Client]:
    world.register(budget={"epsilon": 3.0})
    with world.client("steward") as made:
        yield made


def test_synthetic_rows_from_plan_to_assessment(client: Client, world: Any) -> None:
    assert "synthetic" in [kind.name for kind in client.release_kinds()]
    asked = {"dataset": "patients", "method": "independent", "budget": Budget.pure(1.0), "rows": 40}
    plan = client.plan_release("synthetic", **asked)
    assert plan["affordable"]
    assert world.spent() == 0
    job = client.release("synthetic", key="once", **asked)
    assert client.release("synthetic", key="once", **asked).id == job.id
    about = client.wait_release(job.id, every=0.01)
    assert (about.rows, about.guarantee) == (40, "central")
    assert world.spent() == 1.0
    assert pa_csv.read_csv(io.BytesIO(client.rows(job.id))).num_rows == 40
    assert Synthesized.from_json(client.synthetic_model(job.id)).domain.names == tuple(about.columns)
    assert client.statement(job.id).epsilon == pytest.approx(1.0)
    found = client.wait_assessment(client.assess(job.id, attempts=50).id, every=0.01)
    assert found.rows == 40
    (named, *_) = [each.name for each in client.attacks()]
    found = client.wait_assessment(client.assess(job.id, attempts=50, attacks=[named]).id, every=0.01)
    assert [each["name"] for each in found.attacks if each["ran"]] == [named]
    wanted = [{"synthesize": {"epsilon": 1.0}}, {"statistics": {"epsilon": 1.0}}]
    compared = client.wait_comparison(client.compare("patients", wanted, attempts=97, most_trials=6).id, every=0.01)
    assert len(compared.results) == 2
    assert compared.repeated is not None
    assert compared.repeated.trials == 6
    assert {(each.figure, each.trials) for each in compared.differences} == {("kept", 6), ("risk", 6)}
    assert compared.verdicts[-1].words in compared.reasons


def test_more_rows_and_shares_come_from_the_model(client: Client, world: Any) -> None:
    asked = {"dataset": "patients", "method": "privbayes", "budget": Budget.pure(1.0), "rows": 10}
    more = {"options": {"degree": 1}, "rules": [{"never": ["smokes = daily", "age >= 79.2"]}]}
    job = client.release("synthetic", **asked, **more)
    about = client.wait_release(job.id, every=0.01)
    assert any("rules hold" in note for note in about.notes)
    assert any("never" in fact for fact in client.statement(job.id).public)
    rows = pa_csv.read_csv(io.BytesIO(client.draw(job.id, 500, where=["smokes = daily"], decode="mid")))
    assert (rows.num_rows, set(rows.column("smokes").to_pylist())) == (500, {"daily"})
    assert max(rows.column("age").to_pylist()) < 79.2
    assert client.draw(job.id, 200) != client.draw(job.id, 200)
    assert len(client.draw(job.id, 3, format="ndjson").splitlines()) == 3
    assert pa.ipc.open_stream(client.draw(job.id, 3, format="arrow")).read_all().num_rows == 3
    assert client.draw(job.id, 0).decode().splitlines() == ['"smokes","age"']
    found = client.shares(job.id, [["smokes"], ["age"]], where=["smokes = daily"])
    assert found.tables[0].cells == [["never"], ["daily"]]
    assert found.tables[0].shares == pytest.approx([0, 1])
    assert found.tables[1].shares[-1] == pytest.approx(0)
    assert (found.tables[0].low[0], found.tables[0].high[0]) == (0, 0)  # no row that smokes daily never does
    whole = client.shares(job.id, [["smokes", "age"]], level=0.9, together=True, quantity="count")
    assert (whole.level, whole.together, whole.quantity) == (0.9, True, "count")
    assert all(low <= high for low, high in zip(whole.tables[0].low, whole.tables[0].high, strict=True))
    assert "90 % confidence" in whole.tables[0].claim
    assert whole.tables[0].basis.startswith("measured")
    with pytest.raises(InvalidInput, match="level"):
        client.shares(job.id, [["smokes"]], level=1.5)
    assert "measured" not in client.job(job.id).model_dump_json()
    assert world.spent() == pytest.approx(1.0)  # only the model was paid for
    fetched = world.services.events.list(kind="rows-fetched", limit=1000)
    assert {"shares", "csv", "arrow"} <= {str(event.detail.get("format")) for event in fetched}
    model = client.fit_release(job.id, kind="bayes", target="smokes")
    assert model.event.as_dict() == Synthesized.from_json(client.synthetic_model(job.id)).event.as_dict()
    assert world.spent() == pytest.approx(1.0)
    with pytest.raises(InvalidInput, match="no option of trees"):
        client.fit_release(job.id, kind="trees", target="smokes", options={"width": 3})
    with pytest.raises(InvalidInput, match="cuts"):
        client.draw(job.id, 5, where=["age >= 50"])
    with (
        world.client("analyst") as other,
        pytest.raises(UnknownName),
    ):
        other.shares(job.id, [["smokes"]])
    with world.client("analyst") as other, pytest.raises(UnknownName):
        other.fit_release(job.id, kind="bayes", target="smokes")
    assert client.delete_release(job.id).id == job.id
    with pytest.raises(Conflict, match="deleted"):
        client.draw(job.id, 1)


@pytest.mark.parametrize(
    "wrong",
    [
        {"options": {"depth": 3}},
        {"options": {"theta": "high"}},
        {"options": {"structure": {"age": 3}}},
        {"rules": [{"sometimes": "age = 3"}]},
        {"rules": [{"never": ["height = 3"]}]},
        {"rules": []},
    ],
)
def test_wrong_options_and_rules_are_refused_before_a_job(client: Client, wrong: dict[str, Any]) -> None:
    asked = {"dataset": "patients", "method": "privbayes", "budget": Budget.pure(1.0)}
    with pytest.raises((InvalidInput, UnknownName)):
        client.release("synthetic", **asked, **wrong)
    assert client.jobs() == []


def test_models_and_functions_come_from_the_same_registry(client: Client) -> None:
    asked = {"dataset": "patients", "name": "m", "kind": "bayes", "target": "smokes", "budget": Budget.pure(0.5)}
    assert client.plan_release("model", **asked)["affordable"]
    assert client.wait_model(client.release("model", **asked).id, every=0.01).name == "m"


@pytest.mark.parametrize(
    ("kind", "more"),
    [
        ("synthetic", {}),
        ("model", {"name": "m", "kind": "bayes", "target": "smokes"}),
        ("function", {"name": "f", "kind": "histogram", "features": ["smokes"]}),
    ],
)
def test_what_the_account_cannot_pay_is_refused_before_a_job_is_queued(client: Client, kind: str, more: Any) -> None:
    with pytest.raises(BudgetExceeded):
        client.release(kind, dataset="patients", budget=Budget.pure(3.5), **more)
    assert client.jobs() == []


def test_wrong_requests_are_refused_with_the_field(client: Client) -> None:
    with pytest.raises(InvalidInput, match="method"):
        client.plan_release("synthetic", dataset="patients", budget=Budget.pure(1.0), method="magic")
    with pytest.raises(UnknownName):
        client.plan_release("synthetic", dataset="nothing", budget=Budget.pure(1.0))
    with pytest.raises(NotFound):
        client.plan_release("no-such-kind", dataset="patients")
