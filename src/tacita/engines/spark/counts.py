"""Counts of some of the rows, which executors send and add up."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tacita.domain import Domain
from tacita.engines.local.counter import Counter
from tacita.errors import InternalError, TacitaError, rebuild
from tacita.tables.table import Table

__all__ = ["Counts", "Failure", "add", "raised", "without_rows"]

Key: TypeAlias = tuple[str, ...]
Cells: TypeAlias = tuple[NDArray[Any] | None, NDArray[Any]]
"""Codes of the cells that occur, or None for all cells in order; and their counts."""


@dataclass(frozen=True)
class Failure:
    """Refusal of a task. It travels as a value: a raised error would be logged, and the task tried again."""

    problem: Mapping[str, Any]

    @classmethod
    def of(cls, error: TacitaError) -> Failure:
        """Keep the parts of an error."""
        return cls(error.as_dict() | ({"private": error.private} if error.private else {}))


@dataclass(frozen=True, eq=False)
class Counts:
    """Tables over some rows."""

    cells: dict[Key, Cells]

    @classmethod
    def of(cls, counter: Counter) -> Counts:
        """Take the tables of a counter, in the smallest type that holds them."""
        return cls({key: _sent(table) for key, table in counter.tables().items()})

    def __add__(self, other: Counts) -> Counts:
        """Add the tables of other rows."""
        return Counts({key: _sum(cells, other.cells[key]) for key, cells in self.cells.items()})

    def tables(self, domain: Domain) -> dict[Key, Table]:
        """Return the tables."""
        found = {}
        for key, (codes, counts) in self.cells.items():
            mine = domain.project(key)
            values = counts.astype(np.int64)
            found[key] = Table(mine, values.reshape(mine.shape)) if codes is None else Table(mine, values, codes)
        return found


def _sent(table: Table) -> Cells:
    if not table.is_sparse:
        return None, _small(table.values.reshape(-1))
    codes, counts = table.nonzero()
    return codes.astype(np.uint32), _small(counts)


def _small(counts: NDArray[np.int64]) -> NDArray[Any]:
    return counts.astype(np.min_scalar_type(int(counts.max(initial=0))))


def _sum(one: Cells, other: Cells) -> Cells:
    (codes, counts), (more, others) = one, other
    if codes is None or more is None:
        return None, counts.astype(np.int64) + others
    together = np.concatenate([codes, more])
    order = np.lexsort(together.T)
    together, values = together[order], np.concatenate([counts, others])[order].astype(np.int64)
    starts = np.flatnonzero(np.append(True, (together[1:] != together[:-1]).any(axis=1))[: len(together)])
    return together[starts], np.add.reduceat(values, starts) if len(starts) else values


@contextmanager
def without_rows(rule: str) -> Iterator[None]:
    """Replace unforeseen errors of the block, whose texts may quote a row; refusals of ours and of Arrow pass."""
    try:
        yield
    except (TacitaError, MemoryError, pa.ArrowException, UnicodeError):
        raise
    except Exception as error:
        raise InternalError(rule, private=type(error).__name__) from None


def add(one: Any, other: Any) -> Any:
    """Add what two tasks answered, None for nothing; the refusal of one is that of both."""
    if one is None or other is None:
        return other if one is None else one
    for each in (one, other):
        if isinstance(each, Failure):
            return each
    return one + other


def raised(answer: Any) -> Any:
    """Return an answer, or raise the refusal that it is."""
    if isinstance(answer, Failure):
        error = rebuild(answer.problem)
        error.private = answer.problem.get("private")
        raise error
    return answer
