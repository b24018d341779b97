"""Travel times and modes of trips by distance: what gives synthetic trips their exit and their mode.

    band    of the distance between two places, by public edges: same place or zone, then doubling distances. Without
            coordinates: same zone, other zone; without zones one band
    bin     of the travel time, in minutes, by fixed edges

A table over band, mode and bin is counted exactly for generators without a guarantee, and noisy for private ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacita.synthesize.mobility.places import Places

__all__ = ["EDGES", "Bands", "draw_rows", "draw_travel", "travel_bin"]

EDGES = np.array([0, 5, 10, 15, 20, 25, 30, 40, 50, 60, 75, 90, 120, 180])
"""Edges of the bins of travel times; longer ones count in the last bin."""
_SHORTEST, _BANDS = 1.0, 6

Codes = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Bands:
    """Bands of distance between places; public."""

    places: Places

    @cached_property
    def edges(self) -> NDArray[np.float64]:
        """Inner edges in kilometres: 1, 2, 4, ... up to 32."""
        return np.asarray(_SHORTEST * 2.0 ** np.arange(_BANDS), np.float64)

    @property
    def count(self) -> int:
        """Number of bands."""
        if self.places.points is not None:
            return _BANDS + 1
        return 1 if self.places.zone_codes is None else 2

    def of(self, origin: Codes, destination: Codes) -> Codes:
        """Return the band of each pair of places."""
        if self.places.points is not None:
            away = self.places.distances(origin, destination)
            return np.asarray(np.searchsorted(self.edges, away, side="right"), np.int64)
        zones = self.places.zone_codes
        if zones is None:
            return np.zeros(len(origin), np.int64)
        return np.asarray(zones[origin] != zones[destination], np.int64)


def travel_bin(minutes: NDArray[Any]) -> Codes:
    """Return the bin of each travel time.

    >>> travel_bin(np.array([0, 7, 500])).tolist()
    [0, 1, 12]
    """
    return np.asarray(np.clip(np.searchsorted(EDGES, minutes, side="right") - 1, 0, len(EDGES) - 2), np.int64)


def draw_rows(table: NDArray[np.float64], rows: Codes, rng: np.random.Generator) -> Codes:
    """Draw a column for each of some rows, in proportion to the row; evenly where a row is empty."""
    wide = table.shape[1]
    weights = np.where(table.sum(axis=1, keepdims=True) > 0, table, 1.0)
    ends = np.cumsum(weights, axis=1)
    ends /= ends[:, -1:]
    offset = np.arange(len(table))[:, None] + ends  # rising over all rows
    found = np.searchsorted(offset.ravel(), rows + rng.random(len(rows)), side="right") - rows * wide
    return np.asarray(np.clip(found, 0, wide - 1), np.int64)


def draw_travel(table: NDArray[np.float64], band: Codes, rng: np.random.Generator) -> tuple[Codes, Codes]:
    """Draw a mode and a travel time in minutes for trips of these bands.

    Args:
        table: Weights by band, mode and bin.
        band: Of each trip.
        rng: For the draws.
    """
    bands, modes, bins = table.shape
    drawn = draw_rows(table.reshape(bands, modes * bins), band, rng)
    mode, cell = drawn // bins, drawn % bins
    low, high = EDGES[cell], EDGES[cell + 1]
    minutes = low + np.floor(rng.random(len(band)) * (high - low)).astype(np.int64)
    return mode, np.maximum(minutes, 1)
