"""Generators of tap records by name, from plain options: what a request, a form or a command line gives.

    options = MobilityOptions.from_dict({"method": "tours", "places": {"ids": [...]}, "cards": 10000})
    plan    = options.recipe().calibrate(domain, budget, unit=unit, neighbours=neighbours)
    made    = session.ask(plan)                       a `SyntheticMobility`
    made.write("taps.parquet", options.rows(made), rng)

Privacy: reads no data. The places are public, as the schema is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal

from tacita import check
from tacita.common.plain import plain_fields
from tacita.errors import InvalidInput
from tacita.synthesize.mobility.od import PlainOd
from tacita.synthesize.mobility.places import Places
from tacita.synthesize.mobility.result import MOST_CARDS, SyntheticMobility
from tacita.synthesize.mobility.tours import Tours

__all__ = ["METHODS", "MobilityMethod", "MobilityOptions"]

MobilityMethod = Literal["tours", "od"]
METHODS: dict[str, str] = {
    "tours": "homes, main places and days as chains of trips (recommended)",
    "od": "one noisy table of origins and destinations, every trip by itself",
}
"""Private methods, each with its title."""


@dataclass(frozen=True, kw_only=True)
class MobilityOptions:
    """Options of a private generator.

    Attributes:
        method: Its name.
        places: Public facts about the places; the levels of the schema if None.
        columns: Names of columns that differ from the usual ones.
        cards: Approximate number of cards of the data, if it is public.
        wanted: Synthetic cards to draw; about as many as the data has if None.
        theta: See `Tours`.
    """

    method: MobilityMethod = "tours"
    places: Places | None = None
    columns: Mapping[str, str | None] = field(default_factory=dict)
    cards: int | None = None
    wanted: int | None = None
    theta: float = 3.0

    def __post_init__(self) -> None:
        check.one_of(self.method, "method", METHODS)
        check.whole(self.wanted, "wanted", least=0, most=MOST_CARDS, optional=True)

    def recipe(self) -> Tours | PlainOd:
        """Return the recipe, to be calibrated."""
        shared: dict[str, Any] = {"places": self.places, "columns": dict(self.columns), "cards": self.cards}
        return Tours(**shared, theta=self.theta) if self.method == "tours" else PlainOd(**shared)

    def rows(self, made: SyntheticMobility) -> int:
        """Return the number of synthetic cards to draw."""
        return max(0, round(made.people)) if self.wanted is None else self.wanted

    @property
    def public(self) -> tuple[str, ...]:
        """Facts that are assumed to be public besides the schema."""
        about = () if self.cards is None else (f"about {self.cards} cards",)
        if self.places is None:
            return about
        return (*about, f"{len(self.places)} places, digest {self.places.fingerprint}")

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return plain_fields(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> MobilityOptions:
        """Options from plain data; places as `Places.as_dict` writes them, or as the text of a CSV file."""
        known = {each.name for each in fields(cls)}
        for name in data:
            if name not in known:
                raise InvalidInput(f"must be among {', '.join(sorted(known))}", field="options", value=name)
        given = dict(data)
        places = given.get("places")
        if isinstance(places, str):
            given["places"] = Places.from_text(places)
        elif isinstance(places, Mapping):
            given["places"] = Places.from_dict(places)
        return cls(**given)
