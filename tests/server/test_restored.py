"""A restored state over REST: nothing is paid from a closed account, by any way."""

from __future__ import annotations

import pytest

from tacita.privacy.budget import Budget
from tacita.privacy.event import Pure
from tacita.privacy.reopening import HighWaterMark, reopen
from tacita.privacy.unit import Neighbours, Unit
from tacita.report.release_log import Released
from tacita.store import Database
from tacita.store.backup import back_up, restore


@pytest.fixture
def restored(world, world_of, tmp_path):
    """A service on a state that was put back: 0.4 of 1.0 are spent in it, and 0.9 were."""
    world.register()
    world.asker = world.token()
    world.first = world.query(world.asker, 0.4, key="first")
    assert world.first.status_code == 200
    back_up(world.services.database, tmp_path / "copy")
    assert world.query(world.asker, 0.5, key="second").status_code == 200
    target = f"sqlite:///{tmp_path}/restored.db"
    database = Database(target)
    restore(tmp_path / "copy", database)
    database.close()
    found = world_of(state=target)
    found.first, found.asker = world.first, world.asker
    return found


def test_the_stored_answer_is_given_and_no_other(restored) -> None:
    token = restored.asker  # the key is this token's
    again = restored.query(token, 0.4, key="first")
    assert (again.status_code, again.content) == (200, restored.first.content)
    for key, epsilon in (("second", 0.5), ("third", 0.1), (None, 0.1)):
        refused = restored.query(token, epsilon, key=key)
        assert refused.status_code == 409
        assert "tacita budget reopen" in refused.json()["hint"]
    assert restored.spent() == 0.4


def test_a_plan_and_the_balance_say_it(restored) -> None:
    token = restored.token()
    balance = restored.call("GET", "/v1/datasets/patients/budget", token=token).json()
    assert "restored from a backup" in balance["closed"]
    body = {"tables": [["smokes"]], "budget": {"epsilon": 0.1}}
    plan = restored.call("POST", "/v1/datasets/patients/query", token=token, json=body | {"dry_run": True}).json()
    assert plan["affordable"] is False


def test_no_other_way_leads_around(restored) -> None:
    token = restored.token()
    epsilon = {"budget": {"epsilon": 0.1}}
    for method, path, body in (
        ("PUT", "/v1/datasets/patients/budget", {"budget": {"epsilon": 9.0}}),
        ("DELETE", "/v1/datasets/patients", None),
        ("POST", "/v1/query", {"sql": "SELECT COUNT(*) FROM patients"} | epsilon),
    ):
        answer = restored.call(method, path, token=token, json=body)
        assert answer.status_code == 409, (path, answer.text)
    # a job begins, and ends without an answer
    for path, body in (
        ("/v1/jobs", {"kind": "query", "dataset": "patients", "tables": [["smokes"]]} | epsilon),
        ("/v1/releases/synthetic", {"dataset": "patients", "method": "independent", "rows": 10} | epsilon),
    ):
        made = restored.call("POST", path, token=token, json=body)
        if made.status_code == 202:
            restored.work()
            job = restored.call("GET", f"/v1/jobs/{made.json()['id']}", token=token).json()
            assert (job["state"], job["error"]["status"]) == ("failed", 409)
        else:
            assert made.status_code == 409, made.text
    # raising the budget opens nothing
    raised = restored.call("POST", "/v1/datasets/patients/budget", token=token, json={"budget": {"epsilon": 9.0}})
    assert raised.status_code == 200
    assert restored.query(token, 0.1).status_code == 409
    assert restored.spent() == 0.4


def test_rows_without_a_price_do_not_leave_either(restored) -> None:
    """The log of such releases was put back as well, and lacks the latest."""
    released = Released(
        dataset="patients", kind="k-anonymous", recipe="r", attributes=("age",), classes="c", recipient="a buyer"
    )
    with pytest.raises(Exception, match="is closed"):
        restored.services.release_log.record(released)
    assert restored.services.release_log.history("patients") == ()


def test_it_goes_on_when_the_mark_is_stated(restored) -> None:
    ledger = restored.services.ledger
    reopen(ledger, "patients", HighWaterMark(spent=0.9))
    token = restored.token()
    assert restored.query(token, 0.5).status_code == 403
    assert restored.query(token, 0.1).status_code == 200
    assert restored.call("GET", "/v1/datasets/patients/budget", token=token).json()["closed"] is None


def test_a_dataset_that_the_backup_lacks_begins_closed(restored) -> None:
    ledger = restored.services.ledger
    terms = {"unit": Unit.row(), "neighbours": Neighbours.ADD_REMOVE}
    ledger.open("again", budget=Budget.pure(1.0), **terms)
    with pytest.raises(Exception, match="is closed"):
        ledger.reserve("again", Pure(epsilon=0.1), question="?", principal="p", purpose="x", **terms)


def test_a_server_that_ends_says_so_first(world) -> None:
    assert world.call("GET", "/readyz").status_code == 200
    world.app.state.draining = True
    answer = world.call("GET", "/readyz")
    assert (answer.status_code, answer.json()["field"]) == (503, "server")
    assert world.call("GET", "/healthz").status_code == 200
