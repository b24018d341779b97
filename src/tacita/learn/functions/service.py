"""Answer queries of released functions and models: the same point has the same answer, permanently and for all callers.

An answered point is read from the store. A new one is drawn in a transaction that locks the function's row, given all
points that were stored before, and its answer is stored before any caller sees it. So processes that answer
concurrently, crash or restart never give two answers for one point, nor draw from a history that others do not share.

Privacy:  answers cost nothing more: they are read off one noisy function, see docs/claims/functional-perturbation.md.
          Memory holds a copy of the store, and is cut back when a transaction fails.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import sqlalchemy as sa

from tacita.errors import Conflict, InvalidInput
from tacita.learn.functions.model import FunctionModel, Predictions
from tacita.learn.functions.parametric import ParametricModel
from tacita.learn.functions.path import MOST_POINTS, Path
from tacita.learn.functions.registry import Entry, Registry
from tacita.noise import Source
from tacita.store.fence import check_open
from tacita.store.schema import model_points, models

__all__ = ["FunctionService"]

_HELD = 8  # functions whose arrays stay in memory
_TOGETHER = 256  # new points of one transaction
_AT_ONCE = 500  # points of one statement: SQLite takes no more than a thousand values

Keys = list[bytes]


@dataclass
class _Held:
    """A function in memory, and how much of its path this process has seen."""

    model: FunctionModel
    path: Path | None
    places: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)


def _held(model: FunctionModel) -> _Held:
    path = Path(model.space.kernel, len(model.features), model.functions) if model.service_only else None
    return _Held(model=model, path=path)


class FunctionService:
    """Answers queries. Threads may share one; processes open their own.

    Args:
        registry: Holds the functions.
        source: Randomness of new noise. A seeded one answers simulated functions only.
    """

    def __init__(self, registry: Registry, source: Source) -> None:
        self.registry, self._source = registry, source
        self._held: OrderedDict[str, _Held | ParametricModel] = OrderedDict()
        self._lock = threading.Lock()

    def predict(self, ref: str, queries: Sequence[Sequence[Any]]) -> Predictions:
        """Answers to a batch of points, in its order.

        Args:
            ref: Id, name, or name@version.
            queries: Points in the units of the data, values in the order of the function's features.
        """
        entry = self.registry.get(ref)
        if entry.state == "deleted":
            raise Conflict("was deleted", field="model", value=ref)
        if self._source.simulated and not entry.about["simulated"]:
            raise InvalidInput("seeded noise answers simulated functions only", field="source")
        held = self._hold(entry)
        if isinstance(held, ParametricModel):
            return held.answer(queries)
        if held.path is None:
            return held.model.answer(queries)
        places = held.model.inputs.places(queries)
        keys = [row.astype("<i8").tobytes() for row in places]
        answers = self._answers(entry, held, dict(zip(keys, places, strict=True)))
        return held.model.predictions(np.stack([answers[key] for key in keys]))

    def _hold(self, entry: Entry) -> _Held | ParametricModel:
        with self._lock:
            if entry.id not in self._held:
                model = self.registry.model(entry)
                self._held[entry.id] = model if isinstance(model, ParametricModel) else _held(model)
                while len(self._held) > _HELD:
                    self._held.popitem(last=False)
            self._held.move_to_end(entry.id)
            return self._held[entry.id]

    def _answers(self, entry: Entry, held: _Held, wanted: dict[bytes, npt.NDArray[np.int64]]) -> dict[bytes, Any]:
        with self.registry.database.reading() as connection:
            found = _known(connection, entry.id, list(wanted))
        missing = [key for key in wanted if key not in found]
        for at in range(0, len(missing), _TOGETHER):  # so that no batch holds the store for long
            found |= self._draw(entry, held, {key: wanted[key] for key in missing[at : at + _TOGETHER]})
        return found

    def _draw(self, entry: Entry, held: _Held, wanted: dict[bytes, npt.NDArray[np.int64]]) -> dict[bytes, Any]:
        path = held.path
        assert path is not None
        with held.lock:
            before = path.kept
            try:
                with self.registry.database.reading() as connection:
                    self._catch_up(connection, entry, held)  # most of it, before any caller has to wait
                before = path.kept
                with self.registry.database.writing() as connection:
                    row = self.registry.lock(connection, entry.id)
                    found = _known(connection, entry.id, list(wanted))  # another process may have been faster
                    new = [key for key in wanted if key not in found]
                    if new:
                        check_open(self.registry.database, connection, entry.dataset)
                        self._check(entry, row, len(new))
                        self._catch_up(connection, entry, held)
                        before = path.kept
                        found |= self._write(connection, entry, held, row.points, {key: wanted[key] for key in new})
                if new:
                    held.places = row.points + len(new)
            except BaseException:  # also when it was written: then it is read from the store the next time
                path.forget(min(before, path.kept))
                raise
            return found

    def _check(self, entry: Entry, row: Any, new: int) -> None:
        if row.state != "active":
            raise Conflict(
                f"was {row.state}; only points that it has answered are answered", field="model", value=entry.id
            )
        if row.points + new > MOST_POINTS:
            raise Conflict(
                f"has answered {row.points:,} points and may answer {MOST_POINTS:,}",
                field="model",
                value=entry.id,
                hint="Release a function with random features, which has no limit",
            )

    def _catch_up(self, connection: sa.Connection, entry: Entry, held: _Held) -> None:
        """Take up what other processes have kept since."""
        query = (
            sa.select(model_points.c.place, model_points.c.point, model_points.c.hidden)
            .where(model_points.c.model == entry.id, model_points.c.place >= held.places)
            .where(model_points.c.hidden.is_not(None))
            .order_by(model_points.c.place)
        )
        rows = connection.execute(query).all()
        if rows and held.path is not None:
            points = held.model.inputs.at(np.stack([np.frombuffer(row.point, "<i8") for row in rows]))
            hidden = np.stack([self.registry.open_hidden(entry, row.place, row.hidden) for row in rows])
            held.path.remember(points, hidden)
            held.places = rows[-1].place + 1

    def _write(
        self,
        connection: sa.Connection,
        entry: Entry,
        held: _Held,
        first: int,
        wanted: dict[bytes, npt.NDArray[np.int64]],
    ) -> dict[bytes, Any]:
        assert held.path is not None
        points = held.model.inputs.at(np.stack(list(wanted.values())))
        drawn = held.path.draw(points, self._source)
        answers = held.model.noisy(points, drawn.noise)
        hidden = iter(drawn.hidden)
        rows = [
            {
                "model": entry.id,
                "point": key,
                "place": first + at,
                "answer": answers[at].astype("<f8").tobytes(),
                "hidden": self.registry.close_hidden(entry, first + at, next(hidden)) if drawn.kept[at] else None,
            }
            for at, key in enumerate(wanted)
        ]
        connection.execute(model_points.insert(), rows)
        connection.execute(models.update().where(models.c.id == entry.id).values(points=first + len(rows)))
        return dict(zip(wanted, answers, strict=True))


def _known(connection: sa.Connection, id: str, keys: Keys) -> dict[bytes, Any]:
    found: dict[bytes, Any] = {}
    for at in range(0, len(keys), _AT_ONCE):
        some = model_points.c.point.in_(keys[at : at + _AT_ONCE])
        query = sa.select(model_points.c.point, model_points.c.answer).where(model_points.c.model == id, some)
        found |= {bytes(row.point): np.frombuffer(row.answer, "<f8") for row in connection.execute(query)}
    return found
