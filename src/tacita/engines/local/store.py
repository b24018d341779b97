"""Codes of a source, read in one stream and kept as far as memory allows.

A reading yields blocks as they come and keeps them on the side, so that the first workload does not wait for
the cache and one that does not fit in it costs nothing but the reading.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tacita.domain import Domain
from tacita.engines.checking import may_be_outside
from tacita.engines.local.bound import Bound, key_texts
from tacita.engines.local.layout import Layout, Planes
from tacita.engines.local.sources import Source
from tacita.errors import DataError

__all__ = ["CodeStore", "Reading", "Snapshot", "changed"]

Keys: TypeAlias = pa.DictionaryArray | None
Masks: TypeAlias = tuple[NDArray[np.uint8], ...]


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
class Snapshot:
    """All that is known of one state of a source. It never changes: who learns more makes another one."""

    source: Source
    version: object
    """The source's version when it was opened, before anything was read."""
    layout: Layout
    blocks: tuple[Planes, ...] = ()
    outside: frozenset[str] = frozenset()
    full: bool = False
    """Whether the codes do not fit in memory."""
    bounds: Mapping[int, Bound] = field(default_factory=dict)
    """Which rows of a person count, by how many may."""
    masks: Mapping[int, Masks] = field(default_factory=dict)
    """The same as bits for each block, for codes that are in memory."""

    def lasts(self) -> bool:
        """Whether the source is still in this state."""
        return self.version == self.source.version

    def join(self, newer: Snapshot) -> Snapshot:
        """What both know of the same state."""
        most = max(newer, self, key=lambda snapshot: len(snapshot.layout.names))
        return replace(
            most,
            full=self.full or newer.full,
            bounds={**self.bounds, **newer.bounds},
            masks={**self.masks, **newer.masks},
        )


class CodeStore:
    """Codes of one state of a source, from memory if they are there.

    It belongs to one caller, who finds what was learnt on the way in `snapshot` and keeps it if the state has lasted.

    Args:
        domain: What the columns mean.
        limit: Most bytes of codes to keep.
        snapshot: What is known so far.
    """

    def __init__(self, domain: Domain, limit: int, snapshot: Snapshot) -> None:
        self._domain, self._limit, self.snapshot = domain, limit, snapshot

    def learn(self, **parts: Any) -> None:
        """Know more about the same state."""
        self.snapshot = replace(self.snapshot, **parts)

    def read(self, names: Sequence[str], person: str | None = None) -> Reading:
        """Codes of some attributes (perhaps of more), with persons' keys if a column is named for them."""
        kept, source = self.snapshot, self.snapshot.source
        missing = tuple(name for name in names if name not in kept.layout.names)
        if not missing and kept.layout.names:
            rows = sum(block.shape[1] for block in kept.blocks)
            return Reading(kept.layout, rows, kept.outside, True, self._with_keys(kept, person))
        if kept.full:
            layout = Layout(self._domain, tuple(names))
            outside = may_be_outside(self._domain, names)
            return Reading(layout, source.rows, outside, False, self._encoded(layout, person))
        layout = Layout(self._domain, kept.layout.names + missing)
        outside = kept.outside | may_be_outside(self._domain, missing)
        return Reading(layout, source.rows, outside, False, self._keeping(kept, layout, missing, person))

    def _with_keys(self, kept: Snapshot, person: str | None) -> Iterator[tuple[Planes, Keys]]:
        if person is None:
            yield from ((block, None) for block in kept.blocks)
            return
        blocks = iter(kept.blocks)
        for fresh, keys in self._encoded(Layout(self._domain, ()), person):
            block = next(blocks, None)
            if block is None or block.shape[1] != fresh.shape[1]:
                raise changed()
            yield block, keys
        if next(blocks, None) is not None:
            raise changed()

    def _keeping(
        self, old: Snapshot, layout: Layout, missing: tuple[str, ...], person: str | None
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
                kept = None
                self.learn(full=True)
            yield block, keys
        if kept is not None:
            self.learn(layout=layout, blocks=tuple(kept), outside=frozenset(outside))

    def _encoded(self, layout: Layout, person: str | None) -> Iterator[tuple[Planes, Keys]]:
        """Codes straight from the source."""
        columns = list(dict.fromkeys((*layout.names, *([person] if person else [])))) or [self._domain.names[0]]
        for batch in self.snapshot.source.batches(columns):
            codes = self._domain.encode(batch, layout.names)
            keys = None if person is None else key_texts(batch.column(person), self._domain.nulls, person)
            yield layout.split(codes, batch.num_rows), keys


def _is_outside(layout: Layout, block: Planes, name: str) -> bool:
    return bool((layout.codes(block, name) == layout.domain[name].nowhere).any())


def _beside(old: Planes | None, fresh: Planes) -> Planes:
    if old is None or old.shape[1] != fresh.shape[1]:
        raise changed()
    return np.vstack([old, fresh])


def changed() -> DataError:
    """What is said when the state that a workload began with is gone before it ends."""
    return DataError("the source has changed while it was counted", field="source", hint="Try again when it is at rest")
