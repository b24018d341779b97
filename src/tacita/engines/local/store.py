"""Codes of a source, read in one stream and kept as far as memory allows.

A reading yields blocks as they come and keeps them on the side, so that the first workload does not wait for
the cache and one that does not fit in it costs nothing but the reading.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tacita.domain import Domain
from tacita.engines.checking import may_be_outside
from tacita.engines.local.bound import key_texts
from tacita.engines.local.layout import Layout, Planes
from tacita.engines.local.sources import Source
from tacita.errors import DataError

__all__ = ["CodeStore", "Reading", "encode_column"]

Keys: TypeAlias = pa.DictionaryArray | None


@dataclass(frozen=True)
class Reading:
    """A stream of blocks, and what is known about it before it flows."""

    layout: Layout
    rows: int | None
    """How many rows there are, if known."""
    outside: frozenset[str]
    """Attributes that may have codes outside the domain."""
    cached: bool
    """Whether the blocks lie in memory and come in the same order each time."""
    blocks: Iterator[tuple[Planes, Keys]]
    """Codes, and the persons' keys if they were asked for."""


@dataclass(frozen=True)
class _Kept:
    """What is in memory; replaced as a whole, so that threads never see half of it."""

    layout: Layout
    blocks: tuple[Planes, ...] = ()
    outside: frozenset[str] = frozenset()


class CodeStore:
    """Codes of a source, from memory if they are there.

    Args:
        domain: What the columns mean.
        source: Where the rows come from.
        limit: Most bytes of codes to keep.
    """

    def __init__(self, domain: Domain, source: Source, limit: int) -> None:
        self._domain, self._source, self._limit = domain, source, limit
        self.forget()

    def forget(self) -> None:
        """Drop what is kept."""
        self._kept = _Kept(Layout(self._domain, ()))
        self._version = self._source.version
        self._full = self._limit == 0

    def refresh(self) -> bool:
        """Drop what is kept if the source has changed; says whether it has."""
        if self._source.version == self._version:
            return False
        self.forget()
        return True

    def read(self, names: Sequence[str], person: str | None = None) -> Reading:
        """Codes of some attributes (perhaps of more), with persons' keys if a column is named for them."""
        kept = self._kept
        missing = tuple(name for name in names if name not in kept.layout.names)
        if not missing and kept.layout.names:
            rows = sum(block.shape[1] for block in kept.blocks)
            return Reading(kept.layout, rows, kept.outside, True, self._with_keys(kept, person))
        if self._full:
            layout = Layout(self._domain, tuple(names))
            outside = may_be_outside(self._domain, names)
            return Reading(layout, self._source.rows, outside, False, self._encoded(layout, person))
        layout = Layout(self._domain, kept.layout.names + missing)
        outside = kept.outside | may_be_outside(self._domain, missing)
        return Reading(layout, self._source.rows, outside, False, self._keeping(kept, layout, missing, person))

    def _with_keys(self, kept: _Kept, person: str | None) -> Iterator[tuple[Planes, Keys]]:
        if person is None:
            yield from ((block, None) for block in kept.blocks)
            return
        blocks = iter(kept.blocks)
        for fresh, keys in self._encoded(Layout(self._domain, ()), person):
            block = next(blocks, None)
            if block is None or block.shape[1] != fresh.shape[1]:
                raise _changed()
            yield block, keys
        if next(blocks, None) is not None:
            raise _changed()

    def _keeping(
        self, old: _Kept, layout: Layout, missing: tuple[str, ...], person: str | None
    ) -> Iterator[tuple[Planes, Keys]]:
        """Blocks of the columns in memory and the missing ones together, kept on the side while they fit."""
        added = Layout(self._domain, missing)
        before = iter(old.blocks) if old.layout.names else None
        kept: list[Planes] | None = []
        outside, size = set(old.outside), 0
        for fresh, keys in self._encoded(added, person):
            block = fresh if before is None else _beside(next(before, None), fresh)
            size += block.nbytes
            if kept is not None and size <= self._limit:
                kept.append(block)
                outside |= {name for name in missing if _is_outside(added, fresh, name)}
            elif kept is not None:
                kept, self._full = None, True
            yield block, keys
        if kept is not None:
            self._kept = _Kept(layout, tuple(kept), frozenset(outside))

    def _encoded(self, layout: Layout, person: str | None) -> Iterator[tuple[Planes, Keys]]:
        """Codes straight from the source."""
        columns = list(dict.fromkeys((*layout.names, *([person] if person else [])))) or [self._domain.names[0]]
        for batch in self._source.batches(columns):
            codes = {name: encode_column(self._domain, batch, name) for name in layout.names}
            keys = None if person is None else key_texts(batch.column(person), self._domain.nulls, person)
            yield layout.split(codes, batch.num_rows), keys


def _is_outside(layout: Layout, block: Planes, name: str) -> bool:
    return bool((layout.codes(block, name) == layout.domain[name].nowhere).any())


def encode_column(domain: Domain, batch: pa.RecordBatch, name: str) -> NDArray[Any]:
    """Codes of one column; a type that cannot hold the attribute is refused by name."""
    try:
        return domain.encode(batch, [name])[name]
    except pa.ArrowException as error:
        raise DataError(
            f"a column of this type cannot hold a {domain[name].kind} attribute",
            field=name,
            value=str(batch.schema.field(name).type),
            hint="Correct the schema or the type of the column",
            private=str(error),
        ) from None


def _beside(old: Planes | None, fresh: Planes) -> Planes:
    if old is None or old.shape[1] != fresh.shape[1]:
        raise _changed()
    return np.vstack([old, fresh])


def _changed() -> DataError:
    return DataError("the source has changed while it was read", field="source", hint="Try again when it is at rest")
