"""Places of a transport network: what is public about them, and how they are grouped.

    id      as it is written in tap records; `name` for people
    zone    a district, where the operator publishes one
    x, y    coordinates in kilometres; longitude and latitude are projected when they are read
    mode    the only mode of trips that begin there, where that is public: a bus stop, a station

A hierarchy groups places from coarse to fine. It is public if it comes from zones or coordinates.

Privacy: everything here is declared public (privacy rule 4); nothing is read off tap records.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacita import check
from tacita.common.whole import write_text
from tacita.errors import InvalidInput

__all__ = ["Hierarchy", "Places", "group_by_weight"]

Codes = NDArray[np.int64]
_EARTH = 6371.0
_FEW = 6  # places of a zone that need no groups in between
_COARSE = 16  # groups of the coarsest level where no zones are published


@dataclass(frozen=True, kw_only=True, eq=False)
class Hierarchy:
    """Groups of places, from coarse to fine; the last level has each place alone.

    Attributes:
        levels: For each level, the group of each place, numbered from 0.
        source: `zones`, `coordinates`, or `popularity` for groups that were formed from noisy counts.
    """

    levels: tuple[Codes, ...]
    source: str

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Number of groups of each level."""
        return tuple(int(level.max()) + 1 for level in self.levels)

    def children(self, level: int) -> tuple[Codes, ...]:
        """Return for each group of a level its groups on the next level."""
        pairs = np.unique(np.stack([self.levels[level], self.levels[level + 1]], axis=1), axis=0)
        return tuple(np.split(pairs[:, 1], np.flatnonzero(np.diff(pairs[:, 0])) + 1))


@dataclass(frozen=True, kw_only=True, eq=False)
class Places:
    """Public facts about places. Only the ids are needed.

    >>> places = Places(ids=("a", "b"), x=(0.0, 3.0), y=(0.0, 4.0))
    >>> float(places.distances(np.array([0]), np.array([1]))[0])
    5.0
    """

    ids: tuple[str, ...]
    names: tuple[str, ...] | None = None
    zones: tuple[str, ...] | None = field(default=None, repr=False)
    x: tuple[float, ...] | None = field(default=None, repr=False)
    y: tuple[float, ...] | None = field(default=None, repr=False)
    modes: tuple[str, ...] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if not self.ids or len(set(self.ids)) != len(self.ids):
            raise InvalidInput("must be distinct, and at least one", field="places.id")
        for name in ("names", "zones", "x", "y", "modes"):
            given = getattr(self, name)
            if given is not None and len(given) != len(self.ids):
                raise InvalidInput(f"must be one for each of {len(self.ids)} places", field=f"places.{name}")
        if (self.x is None) != (self.y is None):
            raise InvalidInput("needs both coordinates", field="places.x")
        if self.x is not None and not np.isfinite([*self.x, *(self.y or ())]).all():
            raise InvalidInput("must be finite numbers", field="places.x")

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def labels(self) -> tuple[str, ...]:
        """Names for people: the ids where there are none."""
        return self.names or self.ids

    @cached_property
    def points(self) -> NDArray[np.float64] | None:
        """Coordinates, one row for each place; None if there are none."""
        return None if self.x is None or self.y is None else np.stack([self.x, self.y], axis=1).astype(np.float64)

    def distances(self, one: Codes, other: Codes) -> NDArray[np.float64]:
        """Distance of two places in kilometres, pair by pair."""
        if self.points is None:
            raise InvalidInput("needs coordinates: columns x and y, or lon and lat", field="places")
        return np.asarray(np.hypot(*(self.points[one] - self.points[other]).T))

    def codes_of(self, values: Sequence[str | None]) -> Codes:
        """Return the index of each place, given by id or by name; -1 where it is unknown or missing."""
        known = {name: place for place, name in reversed(list(enumerate(self.labels)))}
        known |= {each: place for place, each in enumerate(self.ids)}
        return np.array([known.get(value, -1) if value is not None else -1 for value in values], np.int64)

    @cached_property
    def zone_codes(self) -> Codes | None:
        """Number of each place's zone; None if no zones are published."""
        return None if self.zones is None else np.unique(np.array(self.zones), return_inverse=True)[1].astype(np.int64)

    def hierarchy(self) -> Hierarchy | None:
        """Return public groups of places: by zones, by coordinates, or None if neither is published.

        Zones of many places have groups in between: of about the root of their number, by coordinates.
        """
        alone = np.arange(len(self), dtype=np.int64)
        if self.zone_codes is not None:
            first, source = self.zone_codes, "zones"
        elif self.points is not None and len(self) > 2 * _COARSE:
            first, source = _split(self.points, alone * 0, _COARSE), "coordinates"
        elif self.points is not None or len(self) <= 2 * _COARSE:
            return Hierarchy(levels=(alone,), source="coordinates" if self.points is not None else "zones")
        else:
            return None
        mean = len(self) / (int(first.max()) + 1)
        if mean <= _FEW or self.points is None:
            return Hierarchy(levels=(first, alone), source=source)
        between = _split(self.points, first, max(2, round(math.sqrt(mean))))
        return Hierarchy(levels=(first, between, alone), source=source)

    @cached_property
    def fingerprint(self) -> str:
        """A short digest of all of it."""
        return hashlib.sha256(json.dumps(self.as_dict(), sort_keys=True).encode()).hexdigest()[:16]

    # -- plain data -----------------------------------------------------------------------------------------------

    def as_dict(self) -> dict[str, Any]:
        """Plain data; what is not published is left out."""
        columns = {name: getattr(self, name) for name in ("ids", "names", "zones", "x", "y", "modes")}
        return {name: list(given) for name, given in columns.items() if given is not None}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Places:
        """The places that `as_dict` wrote."""
        try:
            return cls(**{name: tuple(values) for name, values in data.items()})
        except TypeError:
            rule = "must have the members ids, names, zones, x, y and modes; only ids is needed"
            raise InvalidInput(rule, field="places") from None

    @classmethod
    def read(cls, path: str | Path) -> Places:
        """Read a CSV file with the columns id, name, zone, x and y (or lon and lat), mode; only id is needed."""
        try:
            text = Path(path).read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            raise InvalidInput("cannot be read as UTF-8 text", field="places", value=f"{path}: {error}") from None
        return cls.from_text(text)

    @classmethod
    def from_text(cls, text: str) -> Places:
        """Places from the text of a CSV file."""
        rows = list(csv.DictReader(io.StringIO(text)))
        if not rows or "id" not in rows[0]:
            raise InvalidInput("must be a CSV text with a column `id`", field="places")

        def column(name: str) -> tuple[str, ...] | None:
            return tuple((row[name] or "").strip() for row in rows) if name in rows[0] else None

        x, y = _numbers(column("x"), "x"), _numbers(column("y"), "y")
        longitude, latitude = _numbers(column("lon"), "lon"), _numbers(column("lat"), "lat")
        if x is None and longitude is not None and latitude is not None:
            x, y = _projected(longitude, latitude)
        ids = column("id") or ()
        return cls(ids=ids, names=column("name"), zones=column("zone"), x=x, y=y, modes=column("mode"))

    def write(self, path: str | Path) -> None:
        """Write the CSV file that `read` reads."""
        out = io.StringIO()
        columns = {"id": self.ids, "name": self.names, "zone": self.zones, "x": self.x, "y": self.y, "mode": self.modes}
        shown = {name: values for name, values in columns.items() if values is not None}
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(shown)
        writer.writerows(zip(*shown.values(), strict=True))
        write_text(Path(path), out.getvalue())


def _numbers(texts: tuple[str, ...] | None, name: str) -> tuple[float, ...] | None:
    if texts is None:
        return None
    try:
        return tuple(float(text) for text in texts)
    except ValueError:
        raise InvalidInput("must be a number in every row", field=f"places.{name}") from None


def _projected(longitude: Sequence[float], latitude: Sequence[float]) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Kilometres east and north of the middle; fine for a city."""
    east, north = np.radians(longitude), np.radians(latitude)
    x = _EARTH * (east - east.mean()) * math.cos(float(north.mean()))
    y = _EARTH * (north - north.mean())
    return tuple(x.round(4).tolist()), tuple(y.round(4).tolist())


def _split(points: NDArray[np.float64], groups: Codes, parts: int) -> Codes:
    """Split each group into about `parts`, by halving along its longer side; depends on coordinates alone."""
    pieces = [np.flatnonzero(groups == group) for group in range(int(groups.max()) + 1)]
    found: list[NDArray[np.int64]] = []
    for piece in pieces:
        queue, wanted = [piece], min(parts, len(piece))
        while len(queue) < wanted:
            largest = max(range(len(queue)), key=lambda place: len(queue[place]))
            part = queue.pop(largest)
            axis = int(np.argmax(np.ptp(points[part], axis=0)))
            order = part[np.lexsort((points[part, 1 - axis], points[part, axis]))]
            queue += [order[: len(order) // 2], order[len(order) // 2 :]]
        found += queue
    codes = np.empty(len(points), np.int64)
    for number, part in enumerate(found):
        codes[part] = number
    return codes


def group_by_weight(weights: NDArray[np.float64], groups: int) -> Hierarchy:
    """Group places of like popularity, heavy ones in small groups: for places without zones and coordinates.

    Post-processing where the weights are noisy counts.

    >>> group_by_weight(np.array([90.0, 1, 1, 1, 1]), 2).levels[0].tolist()
    [0, 1, 1, 1, 1]
    """
    check.whole(groups, "groups", least=1)
    positive = np.maximum(weights, 0) + 1e-9 * max(float(np.max(weights)), 1.0)
    order = np.argsort(-positive, kind="stable")
    reached = np.cumsum(positive[order]) - positive[order] / 2
    raw = np.floor(reached / positive.sum() * groups).astype(np.int64)
    codes = np.empty(len(weights), np.int64)
    codes[order] = np.unique(raw, return_inverse=True)[1]
    return Hierarchy(levels=(codes, np.arange(len(weights), dtype=np.int64)), source="popularity")
