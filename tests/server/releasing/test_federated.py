"""Federated runs over REST, with two holders that are real servers of their own."""

import threading

import pytest
import uvicorn
from tests.support.ports import free_port

from tacita.noise import SecureSource
from tacita.plans.session import Session
from tacita.privacy.ledger import Ledger
from tacita.server.holder import create_holder_app
from tacita.store import Database
from tacita.synthesize.federated import Holder, Limits
from tacita.testing.mechanism import FixedEngine

from ..test_holder import DOMAIN, TOKEN, ledger_at, rows

NAMES = ("north", "south")


@pytest.fixture
def holders(tmp_path):
    """Two holders that answer on ports; their settings, and their ledgers."""
    settings, ledgers, servers = {}, {}, []
    for place, name in enumerate(NAMES):
        ledger = ledger_at(tmp_path / f"{name}.db", name)
        session = Session(
            engine=FixedEngine(DOMAIN, rows(place)),
            ledger=ledger,
            account=name,
            principal="test",
            source=SecureSource(),
        )
        holder = Holder(name=name, session=session, ledger=ledger, limits=Limits(most=3.0))
        app = create_holder_app(holder, token=TOKEN, database=Database(f"sqlite:///{tmp_path}/{name}.db"))
        port = free_port()
        server = uvicorn.Server(uvicorn.Config(app, port=port, log_config=None))
        thread = threading.Thread(target=server.run, daemon=True)
        thread.start()
        servers.append((server, thread))
        (tmp_path / f"{name}.token").write_text(TOKEN)
        settings[name] = {"url": f"http://127.0.0.1:{port}", "token_file": tmp_path / f"{name}.token"}
        ledgers[name] = Ledger(Database(f"sqlite:///{tmp_path}/{name}.db"))
    yield settings, ledgers
    for server, thread in servers:
        server.should_exit = True
        thread.join(120)


def body(**changes):
    return {"schema": DOMAIN.as_dict(), "holders": list(NAMES), "budget": {"epsilon": 1.0}, "rows": 50} | changes


def spent(ledgers):
    return [float(ledgers[name].balance(name).spent) for name in NAMES]


def test_a_run_is_planned_made_and_paid_by_each_holder(world_of, holders):
    settings, ledgers = holders
    world = world_of(holders=settings)
    steward = world.token("steward")
    described = world.call("GET", "/v1/holders", token=steward).json()
    assert [each["name"] for each in described] == list(NAMES)
    assert all(each["reached"] and each["about"]["remaining"] == 3.0 for each in described)
    plan = world.call("POST", "/v1/releases/federated/plan", token=steward, json=body()).json()
    assert plan["cost_of_a_holder"] == pytest.approx(1.0)
    for method in ("SL1", "SL2", "SL3"):  # beside the same method: sharing never makes a table more exact
        each = world.call("POST", "/v1/releases/federated/plan", token=steward, json=body(method=method)).json()
        assert each["std"] == pytest.approx(2**0.5 * each["central_std"])
    assert spent(ledgers) == [0.0, 0.0]
    job = world.call("POST", "/v1/releases/federated", token=steward, json=body()).json()
    world.services.jobs.work(job["id"], world.services)
    made = world.call("GET", f"/v1/releases/{job['id']}", token=steward)
    assert made.status_code == 200, made.text
    assert made.json()["guarantee"] != "none"
    assert spent(ledgers) == pytest.approx([1.0, 1.0])
    rows = world.call("GET", f"/v1/releases/{job['id']}/rows", token=steward)
    assert len(rows.text.splitlines()) == 51
    assert world.call("GET", f"/v1/releases/{job['id']}/statement", token=steward).status_code == 200


def test_an_attempt_after_a_killed_one_costs_nobody_again(world_of, holders):
    settings, ledgers = holders
    world = world_of(holders=settings)
    steward = world.token("steward")
    job = world.call("POST", "/v1/releases/federated", token=steward, json=body(method="SL2")).json()
    world.services.jobs.work(job["id"], world.services)
    first = spent(ledgers)
    # as if the worker had been killed before it wrote down that it was done
    with world.services.database.writing() as connection:
        connection.exec_driver_sql("UPDATE jobs SET state = 'queued', result = NULL, error = NULL")
    world.services.jobs.work(job["id"], world.services)
    assert world.call("GET", f"/v1/jobs/{job['id']}", token=steward).json()["state"] == "done"
    assert spent(ledgers) == first


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"holders": ["nobody"]}, "holders"),
        ({"quorum": 3}, "quorum"),
        ({"neighbours": "far"}, "neighbours"),
        ({"budget": {"epsilon": -1.0}}, "epsilon"),
        ({"attributes": ["nothing"]}, "nothing"),
    ],
)
def test_what_is_wrong_is_told_before_anybody_is_asked(world_of, holders, changes, field):
    settings, ledgers = holders
    world = world_of(holders=settings)
    answer = world.call("POST", "/v1/releases/federated", token=world.token("steward"), json=body(**changes))
    assert answer.status_code in (404, 409, 422)
    assert field in answer.text
    assert spent(ledgers) == [0.0, 0.0]


def test_another_schema_is_refused_by_the_holders(world_of, holders):
    settings, ledgers = holders
    world = world_of(holders=settings)
    steward = world.token("steward")
    schema = DOMAIN.as_dict() | {"attributes": DOMAIN.as_dict()["attributes"][:2]}
    job = world.call("POST", "/v1/releases/federated", token=steward, json=body(schema=schema)).json()
    world.services.jobs.work(job["id"], world.services)
    assert world.call("GET", f"/v1/jobs/{job['id']}", token=steward).json()["state"] == "failed"
    assert spent(ledgers) == [0.0, 0.0]


def test_who_is_away_is_said_without_where_it_is(world_of, tmp_path):
    (tmp_path / "away.token").write_text(TOKEN)
    port = free_port()
    world = world_of(holders={"away": {"url": f"http://127.0.0.1:{port}", "token_file": tmp_path / "away.token"}})
    answer = world.call("GET", "/v1/holders", token=world.token("steward"))
    (found,) = answer.json()
    assert not found["reached"]
    assert "reached" in found["problem"]
    assert str(port) not in answer.text
    assert str(tmp_path) not in answer.text


def test_only_stewards_of_everything_may_ask_holders(world_of, holders):
    settings, _ = holders
    world = world_of(holders=settings)
    for token in (world.token("analyst"), world.token("steward", datasets=["patients"])):
        for method, path, sent in (
            ("GET", "/v1/holders", None),
            ("POST", "/v1/releases/federated/plan", body()),
            ("POST", "/v1/releases/federated", body()),
        ):
            assert world.call(method, path, token=token, json=sent).status_code == 403
