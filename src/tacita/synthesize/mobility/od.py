"""Private synthetic tap records from one noisy table of origins and destinations: the plain baseline.

    pairs      origin x destination, all pairs      every trip of a card, at most `unit.max_rows` in all
    times      weekend x hour                       the same
    dates      date                                 the same
    travel     band of distance x mode x time       the same
    activity   category x number of trips           one cell of a card
    payment    category x payment                   one cell of a card

Every trip is drawn by itself. `tours` is better nearly everywhere; this one assumes nothing about how people travel.

Privacy:  pure, or zCDP (and with it epsilon at a delta), for a card with all its trips. Claim: docs/claims/mobility.md
Utility:  the noise of a cell grows with the bound on trips, and there are as many cells as pairs of places.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tacita import check
from tacita.domain import Domain
from tacita.noise import Source
from tacita.privacy.budget import Budget
from tacita.privacy.unit import Neighbours, Unit
from tacita.synthesize.mobility.features import Features, once
from tacita.synthesize.mobility.measuring import PlannedTable, TableSpec
from tacita.synthesize.mobility.od_model import OdModel
from tacita.synthesize.mobility.places import Places
from tacita.synthesize.mobility.plan import MobilityPlan, calibrate, positive
from tacita.synthesize.mobility.schema import TapSchema
from tacita.synthesize.mobility.travel import EDGES, Bands, travel_bin

__all__ = ["PlainOd"]

_BINS = len(EDGES) - 1


@dataclass(frozen=True, kw_only=True)
class PlainOd:
    """Synthetic cards whose trips are drawn one by one from a noisy table of origins and destinations.

    Args:
        places: Public facts about the places.
        columns: Names of columns that differ from the usual ones.
        cards: Approximate number of cards, if it is public.
    """

    places: Places | None = None
    columns: Mapping[str, str | None] = field(default_factory=dict)
    cards: int | None = None

    def __post_init__(self) -> None:
        check.whole(self.cards, "cards", least=1, optional=True)

    def schema(self, domain: Domain) -> TapSchema:
        """Return the columns and places of a domain."""
        return TapSchema.of(domain, places=self.places, columns=self.columns)

    def calibrate(self, domain: Domain, budget: Budget, *, unit: Unit, neighbours: Neighbours) -> MobilityPlan:
        """Fix the noise so that running costs at most the budget; reads no data."""
        return calibrate(self, domain, budget, unit=unit, neighbours=neighbours)

    def specs(self, schema: TapSchema, most: int) -> tuple[TableSpec, ...]:
        """Return the tables that are measured."""
        size, categories, payments = len(schema.places), schema.size("category"), schema.size("payment")
        trips: dict[str, tuple[int, ...]] = {
            "pairs": (size, size),
            "times": (2, 24),
            "dates": (schema.days,),
            "travel": (Bands(schema.places).count, schema.size("mode"), _BINS),
        }
        found = [TableSpec(name=name, shape=shape, shift=most, mean=most / 2) for name, shape in trips.items()]
        found.append(TableSpec(name="activity", shape=(categories, most)))
        if payments > 1:
            found.append(TableSpec(name="payment", shape=(categories, payments), weight=0.2))
        return tuple(found)

    def model(
        self, features: Features, tables: Mapping[str, PlannedTable], source: Source
    ) -> tuple[OdModel, float, float, tuple[str, ...]]:
        """Measure all tables and make them possible."""
        schema = features.trips.schema
        noisy = {
            name: positive(tables[name].measure(counts.reshape(tables[name].spec.shape), source))
            for name, counts in exact_counts(features, tables).items()
        }
        activity = tables["activity"]
        weight = noisy["pairs"].reshape(-1)
        pair = np.flatnonzero(weight > 0)
        made = OdModel(
            schema=schema,
            pair=pair,
            weight=weight[pair],
            activity=noisy["activity"],
            payment=noisy.get("payment", np.ones((schema.size("category"), 1))),
            times=noisy["times"],
            dates=noisy["dates"],
            travel=noisy["travel"],
        )
        error = activity.std * activity.spec.cells**0.5
        return made, float(noisy["activity"].sum()), error, ("Every trip is drawn by itself.",)

    def as_dict(self) -> dict[str, Any]:
        """The recipe as plain data; places by their number and digest."""
        places = None if self.places is None else {"count": len(self.places), "digest": self.places.fingerprint}
        return {"method": "od", "places": places, "columns": dict(self.columns), "cards": self.cards}


def exact_counts(features: Features, tables: Mapping[str, PlannedTable]) -> dict[str, Any]:
    """Return the integers of all tables. Exact: a card adds each of its trips, and no more than `most`."""
    trips = features.trips
    schema, first = trips.schema, trips.starts[:-1]
    category = trips.category[first]
    known = trips.minutes >= 0
    band = Bands(schema.places).of(trips.origin[known], trips.destination[known])
    travel = (band * schema.size("mode") + trips.mode[known]) * _BINS + travel_bin(trips.minutes[known])
    cells = {
        "pairs": trips.origin * len(schema.places) + trips.destination,
        "times": trips.weekend.astype(np.int64) * 24 + trips.entry // 60,
        "dates": trips.day,
        "travel": travel,
        "activity": category * features.most + features.number - 1,
    }
    if "payment" in tables:
        cells["payment"] = category * schema.size("payment") + trips.payment[first]
    return {name: once(codes, tables[name].spec.cells) for name, codes in cells.items()}
