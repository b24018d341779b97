"""Log of requests: one line of JSON for each, without any content.

A line holds method, route template, status, milliseconds, request id and token id. Paths, query strings,
bodies, addresses, tokens and the messages of exceptions are not logged: any of them may
hold a personal value.
"""

from __future__ import annotations

import datetime as dt
import logging
import sys
import traceback
from pathlib import Path
from typing import Any

import msgspec

__all__ = ["configure", "fault", "line"]

LOGGER = logging.getLogger("tacita.server")
_ENCODER = msgspec.json.Encoder()


class _Json(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        shape: dict[str, Any] = {
            "time": dt.datetime.fromtimestamp(record.created, dt.UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
        }
        facts = getattr(record, "facts", None)
        # other libraries' messages are kept, their tracebacks are not: those print values
        return _ENCODER.encode(shape | (facts if facts is not None else {"event": record.getMessage()})).decode()


def configure(level: str) -> None:
    """Send all logs as JSON lines to standard error."""
    # a line says nothing about threads, processes and places in the source, and finding them takes most of its time
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False
    logging._srcfile = None  # as the documentation of `logging` advises
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Json())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)  # libraries speak up only when something is wrong
    for name in ("tacita", "uvicorn.error"):
        logging.getLogger(name).setLevel(level.upper())
    # a consumer prints the arguments of its tasks; an access log prints raw paths
    logging.getLogger("huey").setLevel(logging.ERROR)
    logging.getLogger("uvicorn.access").disabled = True
    # the address of a socket names what opens it: anyone who has it could act for the page
    logging.getLogger("uvicorn.error").addFilter(lambda record: "WebSocket" not in record.getMessage())


def line(event: str, *, level: int = logging.INFO, **facts: Any) -> None:
    """Log one event with its facts."""
    LOGGER.log(level, event, extra={"facts": {"event": event} | facts})


def fault(error: BaseException, **facts: Any) -> None:
    """Log that something unexpected happened and where; not its message, which may quote a value."""
    frames = traceback.extract_tb(error.__traceback__)
    places = [f"{Path(frame.filename).name}:{frame.lineno} {frame.name}" for frame in frames[-8:]]
    line("fault", level=logging.ERROR, type=type(error).__name__, at=places, **facts)
