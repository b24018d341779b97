"""Codes of synthetic trips as tap records with the full schema.

Privacy: post-processing of a model. Cards get new numbers, never a key of the data.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tacita.domain import Numeric, decode
from tacita.domain.attributes import EPOCH
from tacita.privacy.event import Event
from tacita.synthesize.mobility.schema import DAY, TapSchema

__all__ = ["TripCodes", "tap_table"]

Codes = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True, eq=False)
class TripCodes:
    """Synthetic trips: see `reading.Trips` for the columns. Cards are numbered from 0."""

    card: Codes = field(repr=False)
    day: Codes = field(repr=False)
    entry: Codes = field(repr=False)
    minutes: Codes = field(repr=False)
    origin: Codes = field(repr=False)
    destination: Codes = field(repr=False)
    mode: Codes = field(repr=False)
    payment: Codes = field(repr=False)
    category: Codes = field(repr=False)


def tap_table(schema: TapSchema, trips: TripCodes, *, event: Event, simulated: bool, first: int = 1) -> pa.Table:
    """Return tap records, sorted by card and time, in the order of the columns of the schema.

    Args:
        schema: Columns and levels.
        trips: Codes.
        event: What the model cost; it is stated in the metadata.
        simulated: Whether the noise came from a seed.
        first: Number of the first card.
    """
    order = np.lexsort((trips.entry, trips.day, trips.card))
    columns, domain = schema.columns, schema.domain
    ended = trips.entry[order] + np.maximum(trips.minutes[order], 0)
    first_day = (schema.first_day - EPOCH).days
    day = first_day + trips.day[order]
    made: dict[str, Any] = {
        schema.card: pa.array(trips.card[order] + first),
        columns.entry_date: _dates(day),
        columns.entry_time: _times(schema, columns.entry_time, trips.entry[order]),
        columns.origin: _levels(domain[columns.origin], trips.origin[order]),
        columns.destination: _levels(domain[columns.destination], trips.destination[order]),
    }
    if columns.exit_date is not None:
        made[columns.exit_date] = _dates(day + ended // DAY)
    if columns.exit_time is not None:
        made[columns.exit_time] = _times(schema, columns.exit_time, ended % DAY)
    codes = {"mode": _public_modes(schema, trips), "payment": trips.payment, "category": trips.category}
    for role, found in codes.items():
        name = schema.column(role)
        if name is not None:
            made[name] = decode(domain[name], found[order])
    names = [name for name in domain.names if name in made]
    mark = {"synthetic": True, "by": "post-processing", "event": event.as_dict()}
    mark |= {"simulated": True} if simulated else {}
    return pa.table({name: made[name] for name in names}).replace_schema_metadata({"tacita": json.dumps(mark)})


def _public_modes(schema: TapSchema, trips: TripCodes) -> Codes:
    """The mode of each trip: that of its origin where it is public, as drawn where it is not."""
    name, modes = schema.columns.mode, schema.places.modes
    if name is None or modes is None:
        return trips.mode
    known = {label: code for code, label in enumerate(schema.domain[name].labels)}
    public = np.array([known.get(mode, -1) for mode in modes], np.int64)[trips.origin]
    return np.where(public >= 0, public, trips.mode)


def _dates(days: Codes) -> pa.Array:
    return pa.array(days.astype(np.int32)).cast(pa.date32())


def _levels(attribute: Any, codes: Codes) -> pa.Array:
    return pa.array(attribute.labels, pa.string()).take(pa.array(codes, mask=codes < 0))


def _times(schema: TapSchema, name: str, minutes: Codes) -> pa.Array:
    """Minutes since midnight, as the start of the bin where bins are wider than a minute."""
    attribute = schema.domain[name]
    assert isinstance(attribute, Numeric)
    starts = np.asarray(attribute.starts, np.int64)
    return pa.array(starts[np.searchsorted(starts, minutes, side="right") - 1])
