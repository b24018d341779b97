"""Flows between places and hours of day of released tap records, counted while the records are written.

Privacy: reads released records only: post-processing.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tacita.synthesize.mobility.schema import TapSchema

__all__ = ["FlowTally"]

Counts = NDArray[np.int64]
_NONE: Counts = np.zeros(0, np.int64)


class FlowTally:
    """Counts of the trips that pass by.

    >>> tally = FlowTally(schema)                                       # doctest: +SKIP
    >>> write_file("taps.parquet", tally.watch(made.batches(cards, rng)))   # doctest: +SKIP
    >>> tally.heaviest(100)                                             # doctest: +SKIP
    """

    def __init__(self, schema: TapSchema) -> None:
        self.schema = schema
        self.rows = 0
        self.hours: Counts = np.zeros(24, np.int64)
        self._ids = pa.array(schema.places.ids, pa.string())
        self._pairs, self._trips = _NONE, _NONE

    def watch(self, batches: Iterator[pa.Table]) -> Iterator[pa.Table]:
        """Yield batches of tap records unchanged, and count them."""
        for batch in batches:
            self.add(batch)
            yield batch

    def add(self, taps: pa.Table) -> None:
        """Count some tap records."""
        columns = self.schema.columns
        self.rows += taps.num_rows
        minutes = taps.column(columns.entry_time).to_numpy()
        self.hours += np.bincount(minutes // 60, minlength=24)
        origin, destination = (self._codes(taps.column(name)) for name in (columns.origin, columns.destination))
        both = (origin >= 0) & (destination >= 0)
        pairs = np.concatenate([self._pairs, origin[both] * len(self._ids) + destination[both]])
        trips = np.concatenate([self._trips, np.ones(int(both.sum()), np.int64)])
        self._pairs, place = np.unique(pairs, return_inverse=True)
        self._trips = np.bincount(place, weights=trips, minlength=len(self._pairs)).astype(np.int64)

    def heaviest(self, most: int) -> list[tuple[int, int, int]]:
        """Return the flows with the most trips: origin and destination by index, and trips; ties by index."""
        order = np.argsort(-self._trips, kind="stable")[:most]
        origin, destination = np.divmod(self._pairs[order], len(self._ids))
        return list(zip(origin.tolist(), destination.tolist(), self._trips[order].tolist(), strict=True))

    def _codes(self, column: pa.ChunkedArray) -> Counts:
        found = pc.fill_null(pc.index_in(column.cast(pa.string()), value_set=self._ids), -1)
        return np.asarray(found.to_numpy(), np.int64)
