"""Synthetic cards from a table of origins and destinations: every trip is drawn by itself.

Privacy: post-processing of the tables that it holds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tacita.synthesize.mobility.decoding import TripCodes
from tacita.synthesize.mobility.schema import TapSchema
from tacita.synthesize.mobility.travel import Bands, draw_rows, draw_travel

__all__ = ["OdModel"]

Array = NDArray[np.float64]
_TABLES = ("activity", "payment", "times", "dates", "travel")


@dataclass(frozen=True, kw_only=True, eq=False)
class OdModel:
    """Tables of independent trips.

    Attributes:
        schema: Of the tap records.
        pair, weight: Pairs of places (origin x places + destination) with a positive weight.
        activity: Category x number of trips, from 1 on.
        payment: Category x payment.
        times: Weekend x hour.
        dates: Of each date.
        travel: Band x mode x bin of travel time.
    """

    kind: ClassVar[str] = "od"

    schema: TapSchema
    pair: NDArray[np.int64] = field(repr=False)
    weight: Array = field(repr=False)
    activity: Array = field(repr=False)
    payment: Array = field(repr=False)
    times: Array = field(repr=False)
    dates: Array = field(repr=False)
    travel: Array = field(repr=False)

    def draw(self, cards: int, rng: np.random.Generator) -> TripCodes:
        """Draw the trips of so many cards."""
        most = self.activity.shape[1]
        person = draw_rows(self.activity.reshape(1, -1), np.zeros(cards, np.int64), rng)
        category, number = person // most, person % most + 1
        card = np.repeat(np.arange(cards, dtype=np.int64), number)
        zeros = np.zeros(len(card), np.int64)
        pair = self.pair[draw_rows(self.weight[None], zeros, rng)] if len(self.pair) else zeros
        origin, destination = pair // len(self.schema.places), pair % len(self.schema.places)
        day = draw_rows(self.dates[None], zeros, rng)
        hour = draw_rows(self.times, (self.schema.weekdays[day] >= 5).astype(np.int64), rng)
        mode, minutes = draw_travel(self.travel, Bands(self.schema.places).of(origin, destination), rng)
        return TripCodes(
            card=card,
            day=day,
            entry=60 * hour + rng.integers(0, 60, len(card)),
            minutes=minutes,
            origin=origin,
            destination=destination,
            mode=mode,
            payment=draw_rows(self.payment, category, rng)[card],
            category=category[card],
        )

    def as_dict(self) -> dict[str, Any]:
        """Plain data without the schema."""
        tables = {name: getattr(self, name).tolist() for name in ("pair", "weight", *_TABLES)}
        return {"kind": self.kind} | tables

    @classmethod
    def from_dict(cls, schema: TapSchema, data: Mapping[str, Any]) -> OdModel:
        """The model that `as_dict` wrote."""
        tables = {name: np.array(data[name], float) for name in ("weight", *_TABLES)}
        return cls(schema=schema, pair=np.array(data["pair"], np.int64), **tables)
