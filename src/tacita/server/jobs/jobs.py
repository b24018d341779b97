"""Long work: durable, cancellable, resumed after a kill, and paid for once.

The `jobs` table is the truth; huey's queue only says that there is something to do, so losing the queue loses
nothing.

    queued -> running -> done | failed | cancelled
                      -> cancelling -> cancelled | done

Workers of any number of hosts share the table, and none of them leads. A worker claims a job by a conditional update,
so that two cannot run it at once, and beats while it runs, by the clock of the database. A job whose heart has stopped
is queued again by whichever worker looks first. One that a stopping worker hands back has not failed: that attempt is
not counted against it. The number of the attempt is the fence: a worker that was thought
dead cannot write into the attempt of another. Every attempt of a job uses the same ledger key, so that
however often it starts, it is charged once and only the answer that was stored first exists.

The token that submitted a job must still be good when the job starts: what was revoked asks nothing more.

A kind of job is a function:

    @register("report")
    def report(task: Task) -> str:
        task.progress.step(0.5, "counting")       # raises Cancelled after a cancellation
        return releases.to_json()                 # what GET /v1/jobs/{id}/result sends

in a module that the setting `job_modules` names.
"""

from __future__ import annotations

import datetime as dt
import json
import threading
import uuid
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import sqlalchemy as sa

from tacita.errors import Conflict, Forbidden, InvalidInput, SourceUnavailable, TacitaError, Unauthorized, UnknownName
from tacita.server.events import principal_of
from tacita.server.http import logs
from tacita.server.jobs.queue import Queue
from tacita.store import Database, aware, now
from tacita.store.events import LOCAL, append
from tacita.store.schema import jobs
from tacita.wire.refusals import internal_fault

if TYPE_CHECKING:
    from tacita.server.services import Services
    from tacita.settings import Settings

__all__ = ["Cancelled", "Job", "JobRunner", "Jobs", "Progress", "State", "Task", "register", "run_worker"]

State = Literal["queued", "running", "cancelling", "done", "failed", "cancelled"]

_ACTIVE = ("running", "cancelling")
_RECORDED = ("budget", "k", "l", "t", "purpose", "release")
"""Fields of a request that the audit log holds. A new field of some request is not logged until it is listed here."""


@dataclass(frozen=True, kw_only=True)
class Job:
    """One job as stored in the table."""

    id: str
    kind: str
    owner: str
    request: Mapping[str, Any]
    state: State
    progress: float
    note: str
    attempts: int
    created: dt.datetime
    handed_back: int = 0
    finished: dt.datetime | None = None
    result: str | None = None
    error: Mapping[str, Any] | None = None

    @property
    def key(self) -> str:
        """The ledger key of everything this job charges; the same in every attempt."""
        return f"job:{self.id}"

    def as_dict(self) -> dict[str, Any]:
        """Plain data, without the request and the result."""
        names = ("id", "kind", "owner", "state", "progress", "note", "attempts")
        return {name: getattr(self, name) for name in names} | {
            "dataset": self.request.get("dataset"),
            "release": self.request.get("release"),
            "error": dict(self.error) if self.error else None,
            "created": self.created.isoformat(),
            "finished": self.finished.isoformat() if self.finished else None,
        }


class Cancelled(Exception):
    """Cancellation of a job, raised inside it at its next step."""


class Progress:
    """Progress of a job: stored at each step, which also checks whether the job was cancelled."""

    def __init__(self, store: Jobs, job: Job) -> None:
        self._store, self._job = store, job

    def step(self, fraction: float, note: str = "") -> None:
        """Store the progress.

        Args:
            fraction: Between 0 and 1.
            note: What is being done, in a few words; never a value from the data.

        Raises:
            Cancelled: The job was cancelled, or another attempt has taken over.
        """
        if not 0 <= fraction <= 1:
            raise InvalidInput("must lie between 0 and 1", field="fraction", value=fraction)
        self._store._step(self._job, fraction, note)


@dataclass(frozen=True, kw_only=True)
class Task:
    """Argument of the function of a kind of job."""

    job: Job
    services: Services
    progress: Progress


JobRunner = Callable[[Task], str]

_KINDS: dict[str, JobRunner] = {}


def register(kind: str) -> Callable[[JobRunner], JobRunner]:
    """Make a function the way to do jobs of this kind; it returns releases as JSON text."""

    def decorator(function: JobRunner) -> JobRunner:
        if kind in _KINDS and _KINDS[kind] is not function:
            raise Conflict("is registered already", field="kind", value=kind)
        _KINDS[kind] = function
        return function

    return decorator


class Jobs:
    """All jobs of a database, and the queue that wakes the workers.

    Args:
        database: Holds the jobs.
        queue_file: Holds the queue; the state database holds it if there is none.
        stale_seconds: A running job that has given no sign for so long is queued again.
        most_attempts: How often a job is started before it counts as failed.
    """

    def __init__(
        self, database: Database, *, queue_file: Path | None, stale_seconds: float = 30.0, most_attempts: int = 3
    ) -> None:
        self._database, self._stale, self._most = database, stale_seconds, most_attempts
        self.queue = Queue(database if queue_file is None else queue_file)
        self._mine: dict[str, Job] = {}  # what this process runs right now

    def close(self) -> None:
        """Close the queue."""
        self.queue.close()

    # -- for those who ask -----------------------------------------------------------------------------------

    def submit(self, kind: str, request: Mapping[str, Any], *, owner: str, key: str | None = None) -> Job:
        """Queue a job; durable when it returns.

        Args:
            kind: What to do.
            request: With what; plain data.
            owner: The id of the token whose it is: only the owner sees it, and it runs while that token is good.
            key: The same owner and key again give the same job instead of another.
        """
        text = json.dumps(request, sort_keys=True)
        row = {
            "id": f"job_{uuid.uuid4().hex}" if key is None else _id_of(owner, key),
            "kind": kind,
            "owner": owner,
            "request": text,
            "state": "queued",
            "progress": 0.0,
            "note": "",
            "attempts": 0,
            "created": now(),
        }
        try:
            with self._database.writing() as connection:
                connection.execute(jobs.insert().values(row))
                recorded = {name: request.get(name) for name in _RECORDED}
                subject, principal = _subject(connection, request), principal_of(connection, owner)
                append(connection, "job-asked", subject, principal, job=row["id"], asked=kind, **recorded)
        except sa.exc.IntegrityError:
            before = self.get(str(row["id"]))
            if (before.kind, json.dumps(before.request, sort_keys=True)) != (kind, text):
                raise Conflict("was used for another job", field="Idempotency-Key", hint="Use a new key") from None
            return before
        self.queue.put(str(row["id"]))
        return self.get(str(row["id"]))

    def get(self, id: str) -> Job:
        """The job with that id."""
        with self._database.reading() as connection:
            row = connection.execute(jobs.select().where(jobs.c.id == id)).one_or_none()
        if row is None:
            raise UnknownName(id, field="job", available=())
        return _read(row)

    def find(self, *, owner: str, key: str) -> Job | None:
        """The job that this owner has submitted with this key, if there is one."""
        try:
            return self.get(_id_of(owner, key))
        except UnknownName:
            return None

    def list(
        self,
        owner: str | None = None,
        *,
        kinds: Collection[str] | None = None,
        state: str | None = None,
        limit: int = 100,
        offset: int = 0,
    ) -> list[Job]:
        """Jobs, newest first; of one owner or of all, of some kinds or all, in one state or any."""
        query = jobs.select().order_by(jobs.c.created.desc(), jobs.c.id).limit(limit).offset(offset)
        if owner is not None:
            query = query.where(jobs.c.owner == owner)
        if kinds is not None:
            query = query.where(jobs.c.kind.in_(kinds))
        if state is not None:
            query = query.where(jobs.c.state == state)
        with self._database.reading() as connection:
            return [_read(row) for row in connection.execute(query)]

    def cancel(self, id: str, *, principal: str = LOCAL) -> Job:
        """Stop a job: at once when it waits, at its next step when it runs.

        What it has charged stays spent.
        """
        self.get(id)
        waiting = {"state": "cancelled", "finished": now(), "note": "cancelled before it began"}
        with self._database.writing() as connection:
            moved = _move(connection, id, ("queued",), waiting)
            if moved or _move(connection, id, ("running",), {"state": "cancelling"}):
                job = _read(connection.execute(jobs.select().where(jobs.c.id == id)).one())
                subject = _subject(connection, job.request)
                append(connection, "job-cancelled", subject, principal, job=id, asked=job.kind)
                return job
        job = self.get(id)
        if job.state not in ("cancelling", "cancelled"):
            raise Conflict(f"is {job.state} already", field="job", value=id)
        return job

    # -- for workers -----------------------------------------------------------------------------------------

    def work(self, id: str, services: Services) -> None:
        """Claim a job and do it; does nothing when it is not waiting. Never raises."""
        job = self._claim(id)
        if job is None:
            return
        self._mine[id] = job
        try:
            with self._beating(job):
                end = self._attempt(job, services)
            self._finish(job, end)
        except TacitaError as error:  # the state database is away: another attempt will come
            logs.fault(error, job=id)
        finally:
            self._mine.pop(id, None)

    def recover(self) -> None:
        """Queue again what a killed worker has left, and what the queue has lost."""
        stopped = jobs.c.heartbeat < self._database.time(ago=dt.timedelta(seconds=self._stale))
        with self._database.reading() as connection:
            dead = connection.execute(jobs.select().where(jobs.c.state.in_(_ACTIVE), stopped)).all()
        for row in dead:
            self._revive(_read(row), stopped)
        with self._database.reading() as connection:
            waiting = connection.execute(sa.select(jobs.c.id).where(jobs.c.state == "queued")).scalars().all()
        known = self.queue.waiting() if waiting else set()
        for id in waiting:
            if id not in known:  # claiming is exclusive, so a second message does no harm
                self.queue.put(id)

    def hand_back(self) -> None:
        """Before this process ends: let others take over at once what it runs."""
        for job in list(self._mine.values()):
            values = {"state": "queued", "handed_back": jobs.c.handed_back + 1}
            if self._move(job.id, ("running",), values, attempt=job.attempts):
                self.queue.put(job.id)

    def _revive(self, job: Job, *still: sa.ColumnElement[bool]) -> None:
        if job.state == "cancelling":
            self._move(job.id, ("cancelling",), {"state": "cancelled", "finished": now()}, *still)
        elif job.attempts - job.handed_back >= self._most:
            error = internal_fault().as_dict() | {"status": 500}
            end = {"state": "failed", "finished": now(), "error": json.dumps(error)}
            end["note"] = f"gave up after {job.attempts} attempts"
            self._move(job.id, ("running",), end, *still, attempt=job.attempts)
        elif self._move(job.id, ("running",), {"state": "queued"}, *still, attempt=job.attempts):
            logs.line("job resumed", job=job.id, attempt=job.attempts + 1)

    def _claim(self, id: str) -> Job | None:
        values = {"state": "running", "attempts": jobs.c.attempts + 1, "note": ""}
        values["heartbeat"] = self._database.time()
        try:
            return self.get(id) if self._move(id, ("queued",), values) else None
        except TacitaError as error:
            logs.fault(error, job=id)
            return None

    def _attempt(self, job: Job, services: Services) -> dict[str, Any]:
        """Run the function of the kind; what happened, as columns."""
        task = Task(job=job, services=services, progress=Progress(self, job))
        try:
            if job.kind not in _KINDS:
                raise UnknownName(job.kind, field="kind", available=_KINDS)
            _check_owner(job, services)
            result = _KINDS[job.kind](task)
            return {"state": "done", "result": result, "progress": 1.0, "note": ""}
        except Cancelled:
            return {"state": "cancelled", "note": "cancelled while it ran"}
        except TacitaError as error:
            shown = internal_fault() if error.status == 500 else error
            return {"state": "failed", "error": json.dumps(shown.as_dict() | {"status": shown.status})}
        except Exception as error:  # one bad job must not take the worker along
            logs.fault(error, job=job.id)
            return {"state": "failed", "error": json.dumps(internal_fault().as_dict() | {"status": 500})}

    def _finish(self, job: Job, end: Mapping[str, Any]) -> None:
        self._move(job.id, _ACTIVE, {**end, "finished": now()}, attempt=job.attempts)
        logs.line("job ended", job=job.id, kind=job.kind, state=end["state"], attempt=job.attempts)

    def _step(self, job: Job, fraction: float, note: str) -> None:
        values = {"progress": fraction, "note": note[:200], "heartbeat": self._database.time()}
        if not self._move(job.id, ("running",), values, attempt=job.attempts):
            raise Cancelled

    @contextmanager
    def _beating(self, job: Job) -> Iterator[None]:
        """Give a sign of life while the block runs, however long its steps are."""
        stop = threading.Event()

        def beat() -> None:
            while not stop.wait(self._stale / 4):
                with suppress(SourceUnavailable):
                    self._move(job.id, _ACTIVE, {"heartbeat": self._database.time()}, attempt=job.attempts)

        thread = threading.Thread(target=beat, name=f"heart of {job.id}", daemon=True)
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()

    def _move(
        self,
        id: str,
        states: tuple[str, ...],
        values: Mapping[str, Any],
        *where: sa.ColumnElement[bool],
        attempt: int | None = None,
    ) -> bool:
        """Change a job only if it is in one of these states (and attempts); whether it was."""
        if attempt is not None:
            where = (*where, jobs.c.attempts == attempt)
        with self._database.writing() as connection:
            return _move(connection, id, states, values, *where)


def _move(
    connection: sa.Connection,
    id: str,
    states: tuple[str, ...],
    values: Mapping[str, Any],
    *where: sa.ColumnElement[bool],
) -> bool:
    query = jobs.update().where(jobs.c.id == id, jobs.c.state.in_(states), *where)
    return connection.execute(query.values(**values)).rowcount == 1


def _subject(connection: sa.Connection, request: Mapping[str, Any]) -> str:
    """Return the dataset that a request is about, or that of the release which it names; empty for none."""
    if request.get("release") is not None:
        found = connection.execute(sa.select(jobs.c.request).where(jobs.c.id == str(request["release"])))
        request = json.loads(found.scalar_one_or_none() or "{}")
    return str(request.get("dataset") or "")


def _id_of(owner: str, key: str) -> str:
    return f"job_{uuid.uuid5(uuid.NAMESPACE_OID, f'{owner}:{key}').hex}"


def _check_owner(job: Job, services: Services) -> None:
    try:
        services.tokens.check(job.owner)
    except Unauthorized as error:
        raise Forbidden(
            f"the token that submitted it {error.rule}", field="job", hint="Submit it again with another token"
        ) from None


def _read(row: sa.Row[Any]) -> Job:
    return Job(
        id=row.id,
        kind=row.kind,
        owner=row.owner,
        request=json.loads(row.request),
        state=row.state,
        progress=row.progress,
        note=row.note,
        attempts=row.attempts,
        handed_back=row.handed_back,
        created=aware(row.created),
        finished=aware(row.finished) if row.finished else None,
        result=row.result,
        error=json.loads(row.error) if row.error else None,
    )


@register("query")
def _query(task: Task) -> str:
    """A query in the background: the same plan and the same account as over POST /query."""
    from tacita.server.releasing.queries import answer, make_plan
    from tacita.wire import TableQuery

    given = dict(task.job.request)
    name, principal = given.pop("dataset"), given.pop("principal")
    request = TableQuery.model_validate(given)
    task.progress.step(0.1, "planning")
    dataset = task.services.datasets.get(name)
    plan = make_plan(task.services, dataset, request)
    task.progress.step(0.3, "counting")
    releases = answer(task.services, dataset, plan, principal=principal, purpose=request.purpose, key=task.job.key)
    return releases.to_json()


def run_worker(settings: Settings, *, parent: int | None = None) -> None:
    """Run jobs until a signal stops the worker. See `tacita.server.jobs.worker.run_worker`."""
    from tacita.server.jobs.worker import run_worker as run

    run(settings, parent=parent)
