"""An engine that does its work in parts, as a cluster does, in this process: for tests of what is added up.

Tasks and answers are pickled on their way, rows come in several parts and batches in random order, and all rows of a
person are in one part.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import reduce
from operator import add
from typing import Any

import numpy as np
import pyarrow as pa

from tacita.engines.local import LocalEngine
from tacita.engines.spark.place import Place
from tacita.engines.spark.writing import Assign, Spread, WritePart
from tacita.privacy.unit import Unit
from tacita.query.counted import counted_rows

__all__ = ["PartsEngine"]


class PartsEngine(LocalEngine):
    """A table, in parts."""

    parts = 4

    def fold(self, task: Any, columns: Sequence[str], unit: Unit | None) -> Any:
        answers = []
        for at, batches in enumerate(self._batches(columns, unit)):
            mine = pickle.loads(pickle.dumps(task))
            mine = mine.at(at) if hasattr(mine, "at") else mine
            answers.append(pickle.loads(pickle.dumps(mine(iter(batches)))))
        return reduce(add, answers)

    def _batches(self, columns: Sequence[str], unit: Unit | None) -> list[list[pa.RecordBatch]]:
        person = None if unit is None else unit.person
        read = list(dict.fromkeys([*columns, *([person] if person else [])]))
        batches = list(self.rows(read)) if unit is None else list(counted_rows(self, read, unit))
        table = pa.Table.from_batches(batches, None if batches else pa.schema([(name, pa.string()) for name in read]))
        rng = np.random.default_rng(table.num_rows)
        if person:
            keys = [hash(str(key)) for key in table[person].to_pylist()]
            part = np.array(keys, np.int64) % self.parts
        else:
            part = rng.integers(0, self.parts, table.num_rows)
        table, found = table.select(columns), []
        for at in range(self.parts):
            rows = rng.permutation(np.flatnonzero(part == at))
            found.append(table.take(pa.array(rows)).combine_chunks().to_batches(max_chunksize=50))
        return found

    def types(self, columns: Sequence[str]) -> pa.Schema:
        return next(iter(self.rows(columns))).schema

    def rewrite(
        self,
        release: Any,
        columns: Sequence[str],
        target: str,
        *,
        schema: pa.Schema,
        parts: int,
        check: Callable[[Iterable[tuple[pa.Table, pa.Table]]], Any],
        accept: Callable[[Any, int], None],
    ) -> Any:
        place = Place.of(target)
        spread: dict[int, list[tuple[int, Any]]] = {part: [] for part in range(parts)}
        for batches in self._batches(columns, None):
            for part, rows in Spread(pickle.loads(pickle.dumps(release)))(iter(batches)):
                spread[part].append((part, rows))
        if hasattr(release, "assign"):
            placed, spread = spread, {part: [] for part in range(parts)}
            for items in placed.values():
                for part, rows in Assign(release)(items):
                    spread[part].append((part, rows))
        task = pickle.loads(pickle.dumps(WritePart(place, schema, check)))
        with place.hidden():
            written = reduce(add, _all(task, spread))
            accept(written.answer, written.rows)
            place.appear(list(written.files))
        return written.answer


def _all(task: WritePart, spread: dict[int, list[tuple[int, Any]]]) -> Iterator[Any]:
    for part, items in spread.items():
        yield from task.part(part, items)
