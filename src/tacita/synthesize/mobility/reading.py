"""Tap records as integer codes: trips, and visits.

    trip     card, day, minute of entry, travel time, origin, destination, mode, category, payment
    visit    card, place, time segment: a tap in or out

Trips are sorted by card and time. A row without card, origin or time of entry is no trip; a row without a destination
is an incomplete one, which gives one visit and counts in no table of origins and destinations.

Privacy: none. These are exact records: for mechanisms and for their owner.
Cost:    one pass; 8 integers for each trip.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tacita.domain import Date, Numeric
from tacita.engines.base import Engine
from tacita.engines.coded import coded_units
from tacita.engines.local.bound import key_texts
from tacita.errors import InvalidInput
from tacita.privacy.unit import Unit
from tacita.synthesize.mobility.schema import DAY, TapSchema

__all__ = ["Ends", "Fold", "Trips", "Visits", "bounded_trips", "read_trips", "segment_names", "segments_of"]

Codes = NDArray[np.int64]
Fold = Literal["hour-of-day", "hour-of-week"]
Ends = Literal["both", "origin", "destination"]
_OPTIONAL = ("mode", "payment", "category")
WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


@dataclass(frozen=True, kw_only=True, eq=False)
class Visits:
    """Taps at places: what topic models read. Exact.

    Attributes:
        starts: Index of the first visit of each card, and the number of visits at the end.
        place, segment: Codes of each visit.
        places, segments: Number of codes.
    """

    starts: Codes = field(repr=False)
    place: Codes = field(repr=False)
    segment: Codes = field(repr=False)
    places: int
    segments: int

    def __post_init__(self) -> None:
        size = len(self.place)
        if len(self.segment) != size or not len(self.starts) or self.starts[0] != 0 or self.starts[-1] != size:
            raise InvalidInput("must be codes of the same visits, card by card", field="visits")
        for name, codes, most in (("place", self.place, self.places), ("segment", self.segment, self.segments)):
            if size and not (codes.min() >= 0 and codes.max() < most):
                raise InvalidInput(f"must be codes from 0 to {most - 1}", field=name)

    @property
    def cards(self) -> int:
        """Number of cards."""
        return len(self.starts) - 1

    @cached_property
    def card(self) -> Codes:
        """Card of each visit."""
        return np.repeat(np.arange(self.cards, dtype=np.int64), np.diff(self.starts))

    def only(self, cards: NDArray[Any]) -> Visits:
        """The visits of some cards, in that order."""
        chosen = np.asarray(cards, np.int64)
        sizes = np.diff(self.starts)[chosen]
        starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        at = np.arange(starts[-1]) - np.repeat(starts[:-1], sizes) + np.repeat(self.starts[:-1][chosen], sizes)
        return replace(self, starts=starts, place=self.place[at], segment=self.segment[at])


@dataclass(frozen=True, kw_only=True, eq=False)
class Trips:
    """Trips of cards, sorted by card and time. Exact: its repr shows no trips.

    Attributes:
        cards: Number of cards with a trip.
        card: 0 to cards - 1.
        day: Days since the first date of the schema.
        entry: Minutes since midnight.
        minutes: Travel time, -1 where it is unknown.
        origin, destination: Places; the destination is -1 where it is unknown.
        mode, payment, category: Codes of the schema, 0 where the data does not have the column.
    """

    schema: TapSchema = field(repr=False)
    cards: int
    card: Codes = field(repr=False)
    day: Codes = field(repr=False)
    entry: Codes = field(repr=False)
    minutes: Codes = field(repr=False)
    origin: Codes = field(repr=False)
    destination: Codes = field(repr=False)
    mode: Codes = field(repr=False)
    payment: Codes = field(repr=False)
    category: Codes = field(repr=False)

    def __len__(self) -> int:
        return len(self.card)

    @cached_property
    def starts(self) -> Codes:
        """Index of the first trip of each card, and the number of trips at the end."""
        return np.searchsorted(self.card, np.arange(self.cards + 1)).astype(np.int64)

    @cached_property
    def weekend(self) -> NDArray[np.bool_]:
        """Whether each trip was on a Saturday or Sunday."""
        return np.asarray(self.schema.weekdays[self.day] >= 5)

    def take(self, rows: NDArray[Any]) -> Trips:
        """Some trips, given by a mask or by increasing numbers; cards are numbered from 0 again."""
        parts = {name: getattr(self, name)[rows] for name in _COLUMNS}
        owners, parts["card"] = np.unique(parts["card"], return_inverse=True)
        return replace(self, cards=len(owners), **parts)

    def complete(self) -> Trips:
        """The trips with a destination."""
        return self.take(self.destination >= 0)

    def of_cards(self, cards: NDArray[Any]) -> Trips:
        """The trips of some cards."""
        return self.take(np.isin(self.card, np.asarray(cards)))

    def visits(self, fold: Fold = "hour-of-day", ends: Ends = "both") -> Visits:
        """Return the taps as visits, in the order of time."""
        if ends not in ("both", "origin", "destination"):
            raise InvalidInput("must be both, origin or destination", field="ends", value=ends)
        arrived = np.maximum(self.minutes, 0) + self.entry
        last = self.schema.days - 1
        place = np.stack([self.origin, self.destination], axis=1)
        time = np.stack([self.entry, arrived % DAY], axis=1)
        day = np.stack([self.day, np.minimum(self.day + arrived // DAY, last)], axis=1)
        used = place >= 0
        used[:, 0] &= ends != "destination"
        used[:, 1] &= ends != "origin"
        owner = np.repeat(self.card[:, None], 2, axis=1)[used]
        segment = segments_of(self.schema, day[used], time[used], fold)
        starts = np.searchsorted(owner, np.arange(self.cards + 1)).astype(np.int64)
        return Visits(
            starts=starts,
            place=np.ascontiguousarray(place[used]),
            segment=segment,
            places=len(self.schema.places),
            segments=len(segment_names(fold)),
        )


_COLUMNS = ("card", "day", "entry", "minutes", "origin", "destination", "mode", "payment", "category")


def segments_of(schema: TapSchema, day: Codes, minute: Codes, fold: Fold) -> Codes:
    """Return the time segment of each moment: its hour of the day, or of the week from Monday."""
    hour = minute // 60
    if fold == "hour-of-day":
        return np.asarray(hour, np.int64)
    if fold == "hour-of-week":
        return np.asarray(schema.weekdays[day] * 24 + hour, np.int64)
    raise InvalidInput("must be hour-of-day or hour-of-week", field="fold", value=fold)


def segment_names(fold: Fold) -> tuple[str, ...]:
    """Return a name for each time segment.

    >>> segment_names("hour-of-week")[30]
    'Tue 06:00'
    """
    hours = tuple(f"{hour:02d}:00" for hour in range(24))
    return hours if fold == "hour-of-day" else tuple(f"{day} {hour}" for day in WEEKDAYS for hour in hours)


def read_trips(source: pa.Table | Engine, schema: TapSchema) -> Trips:
    """Read all tap records of a table or an engine. Exact, without bounding contributions.

    Args:
        source: A table with the columns of the schema, or an engine over its domain.
        schema: Meaning of the columns.
    """
    batches = source.to_batches() if isinstance(source, pa.Table) else source.rows((schema.card, *schema.names))
    domain, codes, owners = schema.domain, [], []
    numbers: dict[str | None, int] = {None: -1}
    for batch in batches:
        missing = [name for name in (schema.card, *schema.names) if name not in batch.schema.names]
        if missing:
            raise InvalidInput("must have the columns of the schema", field="table", value=", ".join(missing))
        found = domain.encode(batch, schema.names)
        codes.append({name: found[name].astype(np.int64) for name in schema.names})
        keys = key_texts(batch.column(schema.card), domain.nulls, schema.card)
        of_text = np.array([numbers.setdefault(text, len(numbers) - 1) for text in keys.dictionary.to_pylist()] + [-1])
        owners.append(of_text[pc.fill_null(keys.indices.cast(pa.int64()), -1).to_numpy(zero_copy_only=False)])
    empty = np.zeros(0, np.int64)
    joined = {name: np.concatenate([empty, *(part[name] for part in codes)]) for name in schema.names}
    return _trips(schema, np.concatenate([empty, *owners]).astype(np.int64), joined)


def bounded_trips(engine: Engine, schema: TapSchema, unit: Unit) -> Trips:
    """Read at most `unit.max_rows` tap records of each card: those that `Engine.tables` would count.

    The records that are kept depend on the records of that card alone.
    """
    units = coded_units(engine, schema.names, unit)
    owners = np.repeat(np.arange(len(units), dtype=np.int64), units.there.sum(axis=1))
    codes = units.codes[units.there].astype(np.int64)
    return _trips(schema, owners, {name: codes[:, place] for place, name in enumerate(schema.names)})


def _trips(schema: TapSchema, owners: Codes, codes: Mapping[str, Codes]) -> Trips:
    columns, domain = schema.columns, schema.domain
    day, entry = codes[columns.entry_date], _minutes(schema, columns.entry_time, codes)
    origin = _place(schema, columns.origin, codes)
    travel = np.full(len(owners), -1, np.int64)
    if columns.exit_date is not None and columns.exit_time is not None:
        ended, left = codes[columns.exit_date], _minutes(schema, columns.exit_time, codes)
        dates = domain[columns.exit_date]
        assert isinstance(dates, Date)
        first = (dates.bounds[0] - schema.first_day).days
        known = (left >= 0) & (ended < len(dates.labels))
        took = (ended + first - day) * DAY + left - entry
        travel = np.where(known & (took >= 0) & (took < DAY), took, -1)
    found = {
        "card": owners,
        "day": day,
        "entry": entry,
        "minutes": travel,
        "origin": origin,
        "destination": _place(schema, columns.destination, codes),
    }
    valid = (owners >= 0) & (origin >= 0) & (entry >= 0) & (day >= 0) & (day < schema.days)
    for role in _OPTIONAL:
        name = schema.column(role)
        found[role] = np.zeros(len(owners), np.int64) if name is None else codes[name]
        if name is not None:  # an out-of-domain value: its row is left out, as it is from a table
            valid &= codes[name] < domain[name].size
    # equal rows are interchangeable, so that the order does not depend on that of the source
    order = np.lexsort(tuple(found[name] for name in reversed(_COLUMNS)))
    order = order[valid[order]]
    sorted_ = {name: values[order] for name, values in found.items()}
    distinct, sorted_["card"] = np.unique(sorted_["card"], return_inverse=True)
    return Trips(schema=schema, cards=len(distinct), **sorted_)


def _minutes(schema: TapSchema, name: str, codes: Mapping[str, Codes]) -> Codes:
    """Minutes since midnight, -1 where missing: the start of the bin."""
    attribute = schema.domain[name]
    assert isinstance(attribute, Numeric)
    starts = np.append(np.asarray(attribute.starts, np.int64), -1)
    return np.asarray(starts[np.minimum(codes[name], len(starts) - 1)], np.int64)


def _place(schema: TapSchema, name: str, codes: Mapping[str, Codes]) -> Codes:
    known = codes[name] < len(schema.places)
    return np.where(known, codes[name], -1)
