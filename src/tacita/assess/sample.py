"""A uniform sample of rows, of an exact size, chosen where the rows are: those with the least of random numbers.

Every set of so many rows is equally likely, whatever the parts and their sizes, and a sample of few rows holds all of
them, in their order. Memory grows with the size of the sample, and not with the rows.

What a sample does to an assessment: a rate over people, such as the share of right guesses, is an unbiased estimate of
the same rate over all, and its interval is that of so many guesses. What is searched among all rows is not: a released
row that copies a real one is seen only if the sample has it, and a row that is alone in the sample may not be alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tacita import check
from tacita.engines.base import Engine, Folds

__all__ = ["SAMPLE", "Sampled", "TakeSample", "sample_rows", "sample_table", "sentence_of"]

SAMPLE = 1_000_000
"""Rows of a table that an assessment looks at, unless another number is given."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Sampled:
    """Some rows of a table; sensitive.

    Attributes:
        what: Of which table.
        rows: The rows.
        of: How many rows there are.
        size: Most rows that are kept.
        numbers: The random number of each row.
    """

    what: str = ""
    rows: pa.Table | None = field(repr=False)
    of: int
    size: int
    numbers: NDArray[np.uint64] = field(repr=False)

    @property
    def is_all(self) -> bool:
        """Whether no row is missing."""
        return self.of == len(self.numbers)

    def __add__(self, other: Sampled) -> Sampled:
        """The sample of both parts of a table."""
        parts = [each.rows for each in (self, other) if each.rows is not None]
        numbers = np.concatenate([self.numbers, other.numbers])
        rows = pa.concat_tables(parts, promote_options="permissive") if parts else None
        return replace(self, rows=rows, numbers=numbers, of=self.of + other.of)._cut()

    def _cut(self) -> Sampled:
        if len(self.numbers) <= self.size or self.rows is None:
            return self
        kept = np.sort(np.argpartition(self.numbers, self.size)[: self.size])
        return replace(self, rows=self.rows.take(pa.array(kept)), numbers=self.numbers[kept])

    def as_dict(self) -> dict[str, Any]:
        """Plain data, without rows."""
        return {"table": self.what, "rows": len(self.numbers), "of": self.of}


@dataclass(frozen=True)
class TakeSample:
    """Choose rows of a part: a task of `Folds.fold`.

    Attributes:
        size: Number of rows.
        seed: Of the random numbers, together with the number of the part.
    """

    size: int
    seed: int
    part: int = 0

    def at(self, part: int) -> TakeSample:
        """The same for another part."""
        return replace(self, part=part)

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Sampled:
        """Choose."""
        rng = np.random.default_rng([self.seed, self.part])
        found = Sampled(rows=None, of=0, size=self.size, numbers=np.zeros(0, np.uint64))
        for part in self._few(batches):
            numbers = rng.integers(0, 2**64, part.num_rows, np.uint64)
            found = found + Sampled(rows=part, of=part.num_rows, size=self.size, numbers=numbers)._cut()
        return found

    def _few(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
        """Batches, so many at once that they are not few beside the sample."""
        waiting: list[pa.RecordBatch] = []
        for batch in batches:
            waiting.append(batch)
            if sum(each.num_rows for each in waiting) >= self.size:
                yield pa.Table.from_batches(waiting)
                waiting = []
        if waiting:
            yield pa.Table.from_batches(waiting)


def _task(size: int, seed: int) -> TakeSample:
    check.whole(size, "sample", least=0)
    return TakeSample(size or 1 << 62, seed)


def sample_rows(engine: Engine, names: Sequence[str], size: int, seed: int, what: str) -> Sampled:
    """Choose rows of an engine, where they are if it can; in one pass.

    Args:
        engine: The rows.
        names: The columns.
        size: Most rows; 0 for all.
        seed: For the same choice again, over the same parts.
        what: Name of the table, for the result.
    """
    task = _task(size, seed)
    found = engine.fold(task, names, None) if isinstance(engine, Folds) and size else task(engine.rows(names))
    rows = pa.table({name: pa.array([], pa.string()) for name in names}) if found.rows is None else found.rows
    return replace(found, what=what, rows=rows)


def sample_table(table: pa.Table, size: int, seed: int, what: str) -> Sampled:
    """Choose rows of a table."""
    found = _task(size, seed)(table.to_batches())
    return replace(found, what=what, rows=table if found.rows is None else found.rows)


def sentence_of(samples: Sequence[Sampled]) -> str:
    """Say what was sampled, and what that means; nothing if all rows were there."""
    some = [each for each in samples if not each.is_all]
    if not some:
        return ""
    named = "; ".join(f"{each.what}: {len(each.numbers):,} of {each.of:,} rows" for each in some)
    return (
        f"Figures come from uniform samples ({named}). Rates of attacks are estimates for all people, with their "
        "intervals. What is searched among all rows is not: copies and near rows are found only where the samples "
        "have both, and a row that is alone in a sample may not be alone in the data."
    )
