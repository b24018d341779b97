from __future__ import annotations

import datetime as dt
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from tacita.errors import Conflict, InvalidInput
from tacita.server.jobs import jobs as module
from tacita.server.jobs.jobs import Cancelled, Task, register
from tacita.store import database as database_module
from tacita.store.schema import answers, jobs, tokens
from tacita.tables.release import Releases

QUERY = {"tables": [["smokes"]], "budget": {"epsilon": 0.5}}

# a kind that charges, tells the test that it has, and dawdles in its first attempt
SLOW = """
import time
from pathlib import Path
from tacita.server.jobs.jobs import register
from tacita.wire import QueryRequest
from tacita.server.releasing.queries import answer, make_plan

@register("slow")
def slow(task):
    dataset = task.services.datasets.get("patients")
    plan = make_plan(task.services, dataset, QueryRequest.model_validate(task.job.request["query"]))
    releases = answer(task.services, dataset, plan, principal="test", purpose="slow", key=task.job.key)
    marker = Path(task.job.request["marker"])
    first = not marker.exists()
    marker.touch()
    for step in range(600 if first else 2):
        task.progress.step(step / 600, "dawdling")
        time.sleep(0.1)
    return releases.to_json()
"""


def until(condition: Callable[[], Any], seconds: float = 120.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it never happened"
        time.sleep(0.05)


@pytest.fixture
def start(tmp_path: Path, state: str) -> Iterator[Callable[[], subprocess.Popen[bytes]]]:
    """Starts worker processes, and ends them."""
    (tmp_path / "slow_kind.py").write_text(SLOW)
    environment = os.environ | {
        "PYTHONPATH": str(tmp_path),
        "TACITA_HOME": str(tmp_path / "home"),
        "TACITA_STATE": state,
        "TACITA_DATA_FOLDERS": f'["{tmp_path}"]',
        "TACITA_SOURCES__PATIENTS__PATH": str(tmp_path / "patients.csv"),
        "TACITA_JOB_STALE_SECONDS": "1",
        "TACITA_JOB_MODULES": '["slow_kind"]',
    }
    started: list[subprocess.Popen[bytes]] = []

    def worker() -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "tacita.server.jobs.worker"]
        started.append(subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL, cwd=tmp_path))
        return started[-1]

    yield worker
    for process in started:
        process.kill()
        process.wait()


def test_a_job_from_submission_to_result(both, start) -> None:
    both.register()
    token, other = both.token("analyst"), both.token("analyst")
    start()
    body = QUERY | {"kind": "query", "dataset": "patients"}
    headers = {"Idempotency-Key": "k"}
    made = both.call("POST", "/v1/jobs", token=token, json=body, headers=headers)
    assert made.status_code == 202
    where = made.headers["location"]
    assert both.call("POST", "/v1/jobs", token=token, json=body, headers=headers).json()["id"] == made.json()["id"]
    until(lambda: both.call("GET", where, token=token).json()["state"] == "done")
    assert both.call("GET", where, token=token).json()["progress"] == 1.0
    result = both.call("GET", f"{where}/result", token=token)
    assert set(Releases.from_json(result.text)) == {("smokes",)}
    assert both.services.ledger.balance("patients").charges == 1
    # nobody else knows of it, but an admin
    for path in (where, f"{where}/result"):
        assert both.call("GET", path, token=other).status_code == 404
        assert both.call("GET", path, token=both.token()).status_code == 200
    assert both.call("GET", "/v1/jobs", token=other).json() == []
    assert len(both.call("GET", "/v1/jobs", token=token).json()) == 1
    assert both.call("POST", f"{where}/cancel", token=token).status_code == 409


def test_a_killed_worker_is_resumed_and_paid_once(both, start, tmp_path: Path) -> None:
    both.register()
    marker = tmp_path / "marker"
    first = start()
    job = both.services.jobs.submit("slow", {"query": QUERY, "marker": str(marker)}, owner=both.owner())
    until(marker.exists)
    until(lambda: both.services.jobs.get(job.id).progress > 0)
    first.send_signal(signal.SIGKILL)
    first.wait()
    assert both.services.jobs.get(job.id).state == "running"
    start()
    until(lambda: both.services.jobs.get(job.id).state == "done")
    done = both.services.jobs.get(job.id)
    assert done.attempts == 2
    assert both.services.ledger.balance("patients").charges == 1
    with both.services.database.reading() as connection:
        stored = connection.execute(sa.select(answers.c.answer)).scalars().all()
    assert stored == [done.result]


def test_a_terminated_worker_hands_its_job_back(both, start, tmp_path: Path) -> None:
    both.register()
    marker = tmp_path / "marker"
    first = start()
    job = both.services.jobs.submit("slow", {"query": QUERY, "marker": str(marker)}, owner=both.owner())
    until(marker.exists)
    first.terminate()
    assert first.wait(120) == 0
    assert both.services.jobs.get(job.id).state == "queued"


def test_workers_of_several_hosts_share_the_jobs(both, start) -> None:
    """Each job is done once and charged once, whoever takes it; no worker is told of the others."""
    both.register(budget={"epsilon": 20.0})
    for _ in range(3):
        start()
    body = {"dataset": "patients", "principal": "test"} | QUERY
    made = [both.services.jobs.submit("query", body, owner=both.owner()) for _ in range(12)]
    until(lambda: all(both.services.jobs.get(job.id).state == "done" for job in made))
    keys = [charge.key for charge in both.services.ledger.history("patients")]
    assert sorted(keys) == sorted(job.key for job in made)
    assert both.services.jobs.queue.waiting() == set()


def test_another_worker_takes_the_job_of_a_killed_one(both, start, tmp_path: Path) -> None:
    both.register()
    marker = tmp_path / "marker"
    first = start()
    job = both.services.jobs.submit("slow", {"query": QUERY, "marker": str(marker)}, owner=both.owner())
    until(marker.exists)
    start()  # it is there already, with nothing to do, when the first one dies
    first.send_signal(signal.SIGKILL)
    until(lambda: both.services.jobs.get(job.id).state == "done")
    assert both.services.jobs.get(job.id).attempts == 2
    assert both.services.ledger.balance("patients").charges == 1


# -- the table, without a process ----------------------------------------------------------------------------


@pytest.fixture
def postgres_world(world_of: Callable[..., Any], postgres_url: str) -> Any:
    return world_of(state=postgres_url)


@pytest.fixture
def kinds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_KINDS", dict(module._KINDS))


@pytest.mark.usefixtures("kinds")
def test_cancelling_a_job_that_waits(both) -> None:
    jobs = both.services.jobs
    register("never")(lambda task: pytest.fail("it was cancelled"))
    job = jobs.submit("never", {}, owner=both.owner())
    assert jobs.cancel(job.id).state == jobs.cancel(job.id).state == "cancelled"
    jobs.work(job.id, both.services)
    assert jobs.get(job.id).attempts == 0


@pytest.mark.usefixtures("kinds")
def test_cancelling_a_job_that_runs(both) -> None:
    jobs, running, go = both.services.jobs, threading.Event(), threading.Event()

    @register("patient")
    def patient(task: Task) -> str:
        task.progress.step(0.5, "half")
        running.set()
        assert go.wait(120)
        task.progress.step(0.6)
        raise AssertionError("it was cancelled")

    job = jobs.submit("patient", {}, owner=both.owner())
    thread = threading.Thread(target=jobs.work, args=(job.id, both.services))
    thread.start()
    assert running.wait(120)
    assert (jobs.get(job.id).progress, jobs.get(job.id).note) == (0.5, "half")
    assert jobs.cancel(job.id).state == "cancelling"
    go.set()
    thread.join()
    ended = jobs.get(job.id)
    assert (ended.state, ended.result) == ("cancelled", None)
    assert ended.finished is not None


@pytest.mark.usefixtures("kinds")
def test_two_workers_do_not_run_one_job(both) -> None:
    runs: list[str] = []

    @register("once")
    def once(task: Task) -> str:
        runs.append(task.job.id)
        time.sleep(0.2)
        return "{}"

    job = both.services.jobs.submit("once", {}, owner=both.owner())
    threads = [threading.Thread(target=both.services.jobs.work, args=(job.id, both.services)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert runs == [job.id]


@pytest.mark.usefixtures("kinds")
def test_a_worker_that_was_thought_dead_changes_nothing(both) -> None:
    store = both.services.jobs
    taken: list[bool] = []

    @register("ghost")
    def ghost(task: Task) -> str:
        # meanwhile somebody took over
        store._move(task.job.id, ("running",), {"attempts": task.job.attempts + 1})
        with pytest.raises(Cancelled):
            task.progress.step(0.5)
        taken.append(True)
        return "from the grave"

    job = store.submit("ghost", {}, owner=both.owner())
    store.work(job.id, both.services)
    assert taken
    assert (store.get(job.id).state, store.get(job.id).result) == ("running", None)


def test_what_dies_again_and_again_fails(both) -> None:
    store = both.services.jobs
    job = store.submit("query", {}, owner=both.owner())
    for attempt in range(1, 4):
        with both.services.database.writing() as connection:
            connection.execute(
                jobs.update().values(state="running", attempts=attempt, heartbeat=module.now().replace(year=2000))
            )
        store.recover()
        assert store.get(job.id).state == ("queued" if attempt < 3 else "failed")
    assert store.get(job.id).error["code"] == "internal-error"


@pytest.mark.usefixtures("kinds")
def test_handing_back_is_no_failure(both) -> None:
    """A rolling restart hands a long job on as often as there are servers; that must not end it."""
    store = both.services.jobs
    job = store.submit("query", {}, owner=both.owner())
    for number in range(1, 6):
        claimed = store._claim(job.id)
        store._mine[job.id] = claimed
        store.hand_back()
        found = store.get(job.id)
        assert (found.state, found.attempts, found.handed_back) == ("queued", number, number)
        assert job.id in store.queue.waiting()
    for attempt in range(1, 4):
        store._claim(job.id)
        with both.services.database.writing() as connection:
            connection.execute(jobs.update().values(heartbeat=module.now().replace(year=2000)))
        store.recover()
        assert store.get(job.id).state == ("queued" if attempt < 3 else "failed")


@pytest.mark.postgres
@pytest.mark.usefixtures("kinds")
def test_clocks_of_hosts_may_differ(postgres_world, monkeypatch) -> None:
    """A worker whose host is an hour ahead takes no job from one that lives."""
    store = postgres_world.services.jobs
    job = store.submit("query", {}, owner=postgres_world.owner())
    store._claim(job.id)
    real = module.now
    for module_ in (module, database_module):
        monkeypatch.setattr(module_, "now", lambda: real() + dt.timedelta(hours=1))
    store.recover()
    assert store.get(job.id).state == "running"


def test_a_lost_queue_loses_nothing(both, tmp_path: Path) -> None:
    store = both.services.jobs
    job = store.submit("query", {}, owner=both.owner())
    store.queue._huey.flush()
    assert store.queue.waiting() == set()
    store.recover()
    store.recover()
    assert store.queue.waiting() == {job.id}


def test_the_queue_holds_no_pickle(world, tmp_path: Path) -> None:
    world.services.jobs.submit("query", {"secret": "secret-value"}, owner=world.owner())
    data = b"".join(path.read_bytes() for path in (tmp_path / "home").glob("jobs.db*"))
    assert b"\x80\x04\x95" not in data
    assert b"\x80\x05\x95" not in data
    assert b"secret-value" not in data


def test_a_failure_is_the_result(world) -> None:
    world.register()
    token = world.token("analyst")
    body = QUERY | {"kind": "query", "dataset": "patients", "budget": {"epsilon": 5.0}}
    job = world.call("POST", "/v1/jobs", token=token, json=body).json()
    early = world.call("GET", f"/v1/jobs/{job['id']}/result", token=token)
    assert (early.status_code, early.json()["code"]) == (409, "conflict")
    world.services.jobs.work(job["id"], world.services)
    seen = world.call("GET", f"/v1/jobs/{job['id']}", token=token).json()
    assert (seen["state"], seen["error"]["code"]) == ("failed", "budget-exceeded")
    result = world.call("GET", f"/v1/jobs/{job['id']}/result", token=token)
    assert (result.status_code, result.json()["remaining"]) == (403, "1")


@pytest.mark.usefixtures("kinds")
def test_a_fault_in_a_job_says_nothing(world, caplog: pytest.LogCaptureFixture) -> None:
    @register("broken")
    def broken(task: Task) -> str:
        raise ValueError("row 17 holds secret-value")

    job = world.services.jobs.submit("broken", {}, owner=world.owner())
    world.services.jobs.work(job.id, world.services)
    ended = world.services.jobs.get(job.id)
    assert (ended.state, ended.error["code"]) == ("failed", "internal-error")
    assert "secret-value" not in str(ended) + caplog.text


@pytest.mark.parametrize(
    ("changes", "status", "field"),
    [
        ({"kind": "magic"}, 422, "kind"),
        ({"dataset": "nothing"}, 404, "dataset"),
        ({"tables": [["smoke"]]}, 404, "attribute"),
        ({"budget": {"epsilon": -1.0}}, 422, "epsilon"),
        ({"budget": {"epsilon": 1e-310}}, 422, "epsilon"),
        ({"dry_run": True}, 422, "dry_run"),  # a plan is made at once or not at all
        ({"dry_run": False}, 422, "dry_run"),
    ],
)
def test_bad_jobs_are_refused_at_once(world, changes: dict[str, Any], status: int, field: str) -> None:
    world.register()
    body = QUERY | {"kind": "query", "dataset": "patients"} | changes
    response = world.call("POST", "/v1/jobs", token=world.token("analyst"), json=body)
    assert (response.status_code, response.json()["field"]) == (status, field)
    outside = world.call("POST", "/v1/jobs", token=world.token("analyst", datasets=["x"]), json=body)
    assert outside.status_code == (422 if field in ("kind", "dry_run") else 403)
    assert world.call("GET", "/v1/jobs", token=world.token()).json() == []


@pytest.mark.parametrize("ended", ["revoked", "expired"])
def test_a_job_ends_with_its_token(both, ended: str) -> None:
    both.register()
    issued = both.services.tokens.issue(name="Ada", role="analyst")
    body = QUERY | {"kind": "query", "dataset": "patients"}
    job = both.call("POST", "/v1/jobs", token=issued.text, json=body).json()
    past = module.now() - dt.timedelta(seconds=1)
    with both.services.database.writing() as connection:
        column = {"revoked": past} if ended == "revoked" else {"expires": past}
        connection.execute(tokens.update().where(tokens.c.id == issued.token.id).values(**column))
    both.services.jobs.work(job["id"], both.services)
    seen = both.call("GET", f"/v1/jobs/{job['id']}", token=both.token()).json()
    assert (seen["state"], seen["error"]["code"]) == ("failed", "forbidden")
    assert ended in seen["error"]["detail"]
    assert both.services.ledger.balance("patients").charges == 0


def test_a_key_is_for_one_job(world) -> None:
    store = world.services.jobs
    first = store.submit("query", {"a": 1}, owner="me", key="k")
    assert store.submit("query", {"a": 1}, owner="me", key="k").id == first.id
    assert store.submit("query", {"a": 1}, owner="you", key="k").id != first.id
    with pytest.raises(Conflict, match="another job"):
        store.submit("query", {"a": 2}, owner="me", key="k")


@pytest.mark.usefixtures("kinds")
def test_the_registry() -> None:
    with pytest.raises(Conflict, match="registered"):
        register("query")(lambda task: "")


@pytest.mark.usefixtures("kinds")
def test_progress_is_a_fraction(world) -> None:
    @register("eager")
    def eager(task: Task) -> str:
        with pytest.raises(InvalidInput):
            task.progress.step(2.0)
        return "{}"

    job = world.services.jobs.submit("eager", {}, owner=world.owner())
    world.services.jobs.work(job.id, world.services)
    assert world.services.jobs.get(job.id).state == "done"
