"""The queue that wakes workers: huey, on a SQLite file or in the state database. It carries ids of jobs only.

a file        for the processes of one host; the default where the state is SQLite
the state     for processes of all hosts that share it; the default where the state is PostgreSQL. Workers take
              messages with SELECT ... FOR UPDATE SKIP LOCKED: none waits for another, and none is the leader
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from huey import Huey, SqliteHuey
from huey.registry import Message
from huey.serializer import Serializer
from huey.storage import BlackHoleStorage

from tacita.server.http import logs
from tacita.store import Database, private_file
from tacita.store.schema import job_queue

__all__ = ["Queue"]

_NAME = "work"
_STORED_NAME = "tacita.server.queue.work"
"""What messages call the one task in the file, wherever its module is: huey would write the module's name."""


class _Json(Serializer):  # type: ignore[misc]  # huey has no types
    """Messages as JSON. huey's default is pickle, which runs any code that an attacker writes into the file."""

    def _serialize(self, data: Message) -> bytes:
        return json.dumps(list(data._replace(name=_STORED_NAME))).encode()

    def _deserialize(self, data: bytes) -> Message:
        return Message(*json.loads(data))._replace(name=f"{__name__}.{_NAME}")


class _InState(BlackHoleStorage):  # type: ignore[misc]  # huey has no types
    """Messages in the state database. Nothing is scheduled and no result is kept, so the rest stores nothing."""

    def __init__(self, name: str, *, database: Database, **_: Any) -> None:
        super().__init__(name)
        self._database = database

    def enqueue(self, data: bytes, priority: float | None = None) -> None:
        with self._database.writing() as connection:
            connection.execute(job_queue.insert().values(message=data))

    def dequeue(self) -> bytes | None:
        if not self.queue_size():  # most looks find nothing, and must not take SQLite's write lock
            return None
        first = job_queue.select().order_by(job_queue.c.number).limit(1).with_for_update(skip_locked=True)
        with self._database.writing() as connection:
            row = connection.execute(first).one_or_none()
            if row is None:
                return None
            connection.execute(job_queue.delete().where(job_queue.c.number == row.number))
            return bytes(row.message)

    def queue_size(self) -> int:
        with self._database.reading() as connection:
            return int(connection.execute(sa.select(sa.func.count()).select_from(job_queue)).scalar_one())

    def enqueued_items(self, limit: int | None = None) -> list[bytes]:
        query = sa.select(job_queue.c.message).order_by(job_queue.c.number).limit(limit)
        with self._database.reading() as connection:
            return [bytes(message) for message in connection.execute(query).scalars()]

    def flush_queue(self) -> None:
        with self._database.writing() as connection:
            connection.execute(job_queue.delete())


class Queue:
    """Ids of jobs that wait for a worker.

    Args:
        place: A file, whose folder is made; or the state database.
    """

    def __init__(self, place: Path | Database) -> None:
        self._work: Callable[[str], None] | None = None
        self._huey: Any
        if isinstance(place, Database):
            self._huey = Huey("tacita", storage_class=_InState, results=False, serializer=_Json(), database=place)
        else:
            private_file(place)
            self._huey = SqliteHuey(
                "tacita", filename=str(place), results=False, serializer=_Json(), fsync=True, timeout=10
            )
        self._task = self._huey.task(name=_NAME)(self._run)
        self._lock = threading.Lock()

    def put(self, id: str) -> None:
        """Say that a job waits. If that fails, the next look into the table finds the job."""
        try:
            with self._lock:
                self._task(id)
        except Exception as error:
            logs.fault(error, job=id)

    def waiting(self) -> set[str]:
        """Ids that are in the queue."""
        return {str(task.args[0]) for task in self._huey.pending()}

    def consumer(self, work: Callable[[str], None], *, workers: int) -> Any:
        """A huey consumer that hands ids to `work`; `run()` blocks until a signal ends it."""
        self._work = work
        return self._huey.create_consumer(
            workers=workers,
            worker_type="thread",
            periodic=False,
            initial_delay=0.05,
            max_delay=0.5,
            shutdown_timeout=5,  # then what runs is handed back
        )

    def close(self) -> None:
        """Close the file; the state database is left open, since others use it."""
        self._huey.storage.close()

    def _run(self, id: str) -> None:
        assert self._work is not None, "only a consumer runs tasks"
        self._work(id)
