"""The queue that wakes workers: huey on a SQLite file. It carries ids of jobs and nothing else."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from huey import SqliteHuey
from huey.registry import Message
from huey.serializer import Serializer

from tacita.server.http import logs
from tacita.store import private_file

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


class Queue:
    """Ids of jobs that wait for a worker.

    Args:
        file: Where the queue is kept; its folder is made.
    """

    def __init__(self, file: Path) -> None:
        private_file(file)
        self._work: Callable[[str], None] | None = None
        self._huey = SqliteHuey("tacita", filename=str(file), results=False, serializer=_Json(), fsync=True, timeout=10)
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
        """Close the file."""
        self._huey.storage.close()

    def _run(self, id: str) -> None:
        assert self._work is not None, "only a consumer runs tasks"
        self._work(id)
