"""Contract against timing effects: a plan releases the same bytes, however long reading data took.

A `SlowEngine` returns the answers of another engine, and an hour passes with every call: it moves the clocks of the
`time` module, so that no test has to wait. A loop that ends by time then ends early.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

from tacita.engines.base import Engine
from tacita.noise import SeededSource
from tacita.plans.recipe import Answer, Plan

__all__ = ["SlowEngine", "assert_no_clock", "moved_clock"]

_CLOCKS = ("monotonic", "perf_counter", "process_time", "thread_time", "time")
_HOUR = 3600.0


class _Passing:
    def __init__(self) -> None:
        self.seconds = 0.0


@contextmanager
def moved_clock() -> Iterator[_Passing]:
    """Move all clocks of `time` ahead by the time passed so far."""
    passing = _Passing()
    real = {name: getattr(time, name) for name in _CLOCKS}

    def ahead(name: str) -> Any:
        return lambda: real[name]() + passing.seconds

    with mock.patch.multiple(time, **{name: ahead(name) for name in _CLOCKS}):
        yield passing


class SlowEngine:
    """Another engine's answers; an hour passes with each call, and with each batch of rows."""

    def __init__(self, engine: Engine, passing: _Passing) -> None:
        self._engine, self._passing = engine, passing

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._engine, name)
        if not callable(found) or name == "supports":
            return found

        def slow(*positional: Any, **named: Any) -> Any:
            self._passing.seconds += _HOUR
            given = found(*positional, **named)
            return self._batches(given) if name in ("rows", "apply") else given

        return slow

    def _batches(self, batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            self._passing.seconds += _HOUR
            yield batch


def assert_no_clock(plan: Plan[Any], engine: Engine, seed: int = 1) -> None:
    """Run a plan on an engine and on a slow one with the same seed: fail unless both release the same bytes."""
    fast = _released(plan.run(engine, SeededSource(seed)))
    with moved_clock() as passing:
        slow = _released(plan.run(SlowEngine(engine, passing), SeededSource(seed)))
        assert passing.seconds, "the plan read nothing through the engine"
    assert fast == slow, "the release depends on how long reading took"


def _released(answer: Answer) -> str:
    """Serialise the release, without the ids and dates of the run, which do not depend on the data."""

    def stripped(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: stripped(inner) for key, inner in value.items() if key not in ("created", "run")}
        return [stripped(inner) for inner in value] if isinstance(value, list) else value

    return json.dumps(stripped(json.loads(answer.to_json())), sort_keys=True)
