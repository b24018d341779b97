"""Codes of a source, read in one stream and kept as far as memory allows.

A reading yields blocks as they come and caches them at the same time. So the first workload does not wait for the
cache, and one that does not fit into the cache costs only the reading.
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
from tacita.engines.local.files.base import RowSource
from tacita.engines.local.layout import Layout, Planes
from tacita.errors import DataError

__all__ = ["CodeStore", "Reading", "Snapshot", "changed"]

Keys: TypeAlias = pa.DictionaryArray | None
Masks: TypeAlias = tuple[NDArray[np.uint8], ...]


@dataclass(frozen=True)
class Reading:
    """A stream of blocks, and its properties that are known before it is read."""

    layout: Layout
    rows: int | None
    """Number of rows, if known."""
    outside: frozenset[str]
    """Attributes that may have codes outside the domain."""
    cached: bool
    """Whether the blocks are in memory and come in the same order each time."""
    blocks: Iterator[tuple[Planes, Keys]]
    """Codes, and the persons' keys if requested."""


@dataclass(frozen=True)
class Snapshot:
    """Everything that is cached of one state of a source. It is immutable: new results make a new snapshot."""

    source: RowSource
    version: object
    """The source's version when it was opened, before anything was read."""
    layout: Layout
    blocks: tuple[Planes, ...] = ()
    outside: frozenset[str] = frozenset()
    full: bool = False
    """Whether the codes do not fit in memory."""
    bounds: Mapping[int, Bound] = field(default_factory=dict)
    """The rows of a person that count, by the most rows allowed."""
    masks: Mapping[int, Masks] = field(default_factory=dict)
    """The same as bits for each block, for codes that are in memory."""

    def lasts(self) -> bool:
        """Return whether the source is still in this state."""
        return self.version == self.source.version

    def join(self, newer: Snapshot) -> Snapshot:
        """Merge two snapshots of the same state."""
        most = max(newer, self, key=lambda snapshot: len(snapshot.layout.names))
        return replace(
            most,
            full=self.full or newer.full,
            bounds={**self.bounds, **newer.bounds},
            masks={**self.masks, **newer.masks},
        )


class CodeStore:
    """Codes of one state of a source, from memory if they are cached.

    It belongs to one caller, who finds new results in `snapshot` and keeps them if the state has lasted.

    Args:
        domain: The schema.
        limit: Most bytes of codes to keep.
        snapshot: The snapshot so far.
    """

    def __init__(self, domain: Domain, limit: int, snapshot: Snapshot) -> None:
        self._domain, self._limit, self.snapshot = domain, limit, snapshot

    def learn(self, **parts: Any) -> None:
        """Add results about the same state to the snapshot."""
        self.snapshot = replace(self.snapshot, **parts)

    def read(self, names: Sequence[str], person: str | None = None) -> Reading:
        """Read codes of some attributes (perhaps of more), with persons' keys if a column is named for them."""
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
        """Yield blocks of the cached columns together with the missing ones, and cache them while they fit."""
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
        """Yield codes directly from the source."""
        columns = list(dict.fromkeys((*layout.names, *([person] if person else [])))) or [self._domain.names[0]]
        for batch in self.snapshot.source.batches(columns):
            codes = self._domain.encode(batch, layout.names)
            keys = None if person is None else key_texts(batch.column(person), self._domain.nulls, person)
            yield layout.split(codes, batch.num_rows), keys


def _is_outside(layout: Layout, block: Planes, name: str) -> bool:
    return bool((layout.codes(block, name) == layout.domain[name].out_of_domain).any())


def _beside(old: Planes | None, fresh: Planes) -> Planes:
    if old is None or old.shape[1] != fresh.shape[1]:
        raise changed()
    return np.vstack([old, fresh])


def changed() -> DataError:
    """Build the error of a source that changed during a workload."""
    return DataError(
        "the source has changed while it was counted", field="source", hint="Try again when it does not change"
    )
