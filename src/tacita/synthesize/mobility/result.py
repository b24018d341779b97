"""Result of a generator of tap records: a model, its cost, and any number of synthetic cards.

    made = plan.run(engine, source)
    taps = made.sample(10_000, np.random.default_rng(1))      an Arrow table with the schema of the data
    made.write("taps.parquet", 10_000, rng)

Privacy: a private model was read off noisy tables only; cards drawn from it cost nothing more. A model that was fitted
to exact records states that it has no guarantee. Claim: docs/claims/mobility.md
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Protocol

import numpy as np
import pyarrow as pa

from tacita import check
from tacita.domain import Domain
from tacita.engines.targets import Progress, row_target
from tacita.errors import InvalidInput
from tacita.synthesize.mobility.decoding import TripCodes, tap_table
from tacita.synthesize.mobility.od_model import OdModel
from tacita.synthesize.mobility.schema import TapSchema
from tacita.synthesize.mobility.tours_model import ToursModel
from tacita.synthesize.mobility.walk_model import WalkModel
from tacita.tables.envelope import Envelope

__all__ = ["SyntheticMobility", "TripModel"]

_BATCH = 1 << 14
MOST_CARDS = 10_000_000
"""Cards that are drawn at most at once."""


class TripModel(Protocol):
    """A model that draws the trips of synthetic cards."""

    @property
    def schema(self) -> TapSchema:
        """Columns, levels and places."""

    def draw(self, cards: int, rng: np.random.Generator) -> TripCodes:
        """Draw the trips of so many cards."""

    def as_dict(self) -> dict[str, Any]:
        """Plain data without the schema; its member `kind` is the kind of the model."""


_READERS: dict[str, Callable[[TapSchema, Mapping[str, Any]], TripModel]] = {
    "tours": ToursModel.from_dict,
    "od": OdModel.from_dict,
    "walk": WalkModel.from_dict,
}


@dataclass(frozen=True, kw_only=True, eq=False)
class SyntheticMobility(Envelope):
    """A released model of tap records.

    Attributes:
        model: Draws trips.
        people: Noisy number of cards of the data, with its standard error.
        notes: Decisions of the method, in words.
    """

    mark: ClassVar[str] = "mobility/1"
    released: ClassVar[str] = "The model and all cards drawn from it are"

    model: TripModel = field(repr=False)
    people: float
    people_std: float
    notes: tuple[str, ...]

    @property
    def schema(self) -> TapSchema:
        """Columns, levels and places."""
        return self.model.schema

    @property
    def domain(self) -> Domain:
        """Public description of the tap records."""
        return self.schema.domain

    def protected(self) -> str:
        """Unit that is protected, and against what change."""
        most = f"of whose trips at most {self.unit.max_rows} count"
        return f"a card with all of its trips, {most} ({self.unit}), under {self.neighbours}"

    # -- rows -----------------------------------------------------------------------------------------------------

    def sample(self, cards: int, rng: np.random.Generator, *, first: int = 1) -> pa.Table:
        """Draw the tap records of synthetic cards, which are numbered from `first` on."""
        check.whole(cards, "cards", least=0, most=MOST_CARDS)
        trips = self.model.draw(cards, rng)
        return tap_table(self.schema, trips, event=self.event, simulated=self.provenance.simulated, first=first)

    def batches(self, cards: int, rng: np.random.Generator) -> Iterator[pa.Table]:
        """The tap records of cards, some cards at a time."""
        check.whole(cards, "cards", least=0, most=MOST_CARDS)
        for start in range(0, max(cards, 1), _BATCH):
            yield self.sample(min(_BATCH, cards - start), rng, first=start + 1)

    def write(
        self,
        path: str | Path,
        cards: int,
        rng: np.random.Generator,
        *,
        progress: Progress | None = None,
        into: str | None = None,
    ) -> None:
        """Write tap records as .parquet or .csv, or into a database, atomically.

        Args:
            path: A file, or the address of a database.
            cards: Number of cards.
            rng: For the draws.
            progress: Called with the number of records written; an exception from it stops the writing.
            into: The new table or collection of a database.
        """
        row_target(path, into).write(self.batches(cards, rng), progress)

    # -- plain data -----------------------------------------------------------------------------------------------

    def parts(self) -> dict[str, Any]:
        """Own fields, as plain data."""
        return {
            "schema": self.schema.as_dict(),
            "model": self.model.as_dict(),
            "people": self.people,
            "people_std": self.people_std,
            "notes": list(self.notes),
            "guarantee": self.guarantee,
        }

    @staticmethod
    def parts_of(data: Mapping[str, Any]) -> dict[str, Any]:
        """The same as arguments again."""
        kind = data["model"].get("kind")
        if kind not in _READERS:
            raise InvalidInput("must be one of " + ", ".join(_READERS), field="model.kind", value=kind)
        return {
            "model": _READERS[kind](TapSchema.from_dict(data["schema"]), data["model"]),
            "people": data["people"],
            "people_std": data["people_std"],
            "notes": tuple(data["notes"]),
        }
