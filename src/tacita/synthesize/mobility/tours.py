"""Private synthetic tap records by tours, with a bounded contribution of each card.

    activity     category x number of trips                    one cell of a card
    payment      category x payment                            one cell of a card
    pairs l      home x main place, level by level             one cell of a card at each level: see `refinement`
    popularity   places where trips begin and end              spread over the card's ends of trips
    chain        class x weekend x state x step                spread over the steps of the card's days
    times        weekend x kind of trip x period x hour        spread over the card's trips; all kinds together
                                                               where noise would hide them
    dates        class x date                                  spread over the days on which the card travels
    others       group of the home x group of another place    spread over the card's other ends of trips
    travel       band of distance x mode x travel time         spread over the card's trips

A card of many trips moves a table no more than a card of few: each table that is spread weighs all events of a card as
one. What that would lose, the number of trips and how days differ with it, is in `activity` and in the classes.

Privacy:  pure, or zCDP (and with it epsilon at a delta), for a card with all its trips. Claim: docs/claims/mobility.md
Utility:  what cards do is read off where they live and what they do mostly; rare combinations are lost. Noise on a
          table does not grow with the bound on trips.
Cost:     the records are read once; noise on every cell.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacita import check
from tacita.domain import Domain
from tacita.noise import Source
from tacita.privacy.budget import Budget
from tacita.privacy.unit import Neighbours, Unit
from tacita.synthesize.mobility.features import (
    GRID,
    KINDS,
    PERIODS,
    STATES,
    STEPS,
    Features,
    class_limits,
    once,
    spread,
)
from tacita.synthesize.mobility.measuring import ASSUMED, PlannedTable, TableSpec, shrink
from tacita.synthesize.mobility.places import Hierarchy, Places, group_by_weight
from tacita.synthesize.mobility.plan import MobilityPlan, calibrate, mean_total, positive
from tacita.synthesize.mobility.refinement import measure_pairs
from tacita.synthesize.mobility.schema import TapSchema
from tacita.synthesize.mobility.tours_model import ToursModel
from tacita.synthesize.mobility.travel import EDGES, Bands, travel_bin
from tacita.tables.simplex import norm_sub

__all__ = ["Tours"]

Codes = NDArray[np.int64]
Array = NDArray[np.float64]
_HIDDEN = 0.5  # total variation of noise that hides a table
_HEAVY = 10  # times the mean pair that a heavy one weighs
_GROUPS = 24  # of places without zones and coordinates
_BINS = len(EDGES) - 1
_WEIGHTS = {
    "activity": 1.0,
    "payment": 0.2,
    "pairs 0": 2.0,
    "popularity": 1.0,
    "chain": 1.0,
    "times": 1.0,
    "dates": 0.5,
    "others": 0.5,
    "travel": 0.5,
}
"""Weight of the error of each table in the split of the budget; finer levels of pairs weigh 1."""


@dataclass(frozen=True, kw_only=True)
class Tours:
    """Synthetic cards with a home, a main place, and days that are chains of trips.

    Args:
        places: Public facts about the places; zones or coordinates group them. Without either, groups are formed from
            noisy counts.
        columns: Names of columns that differ from the usual ones.
        cards: Approximate number of cards, if it is public; it improves the split, and the prediction needs it.
        theta: Standard errors that a pair of groups must be worth to be refined.
        depth: Levels of pairs that are measured; as many as are likely to be refined if None, by the budget and the
            number of cards.
        kinds: Whether hours are measured by kind of trip; if None, where noise adds at most a half to that table.
    """

    places: Places | None = None
    columns: Mapping[str, str | None] = field(default_factory=dict)
    cards: int | None = None
    theta: float = 3.0
    depth: int | None = None
    kinds: bool | None = None

    def __post_init__(self) -> None:
        check.whole(self.cards, "cards", least=1, optional=True)
        check.positive(self.theta, "theta")
        check.whole(self.depth, "depth", least=1, optional=True)

    def schema(self, domain: Domain) -> TapSchema:
        """Return the columns and places of a domain."""
        return TapSchema.of(domain, places=self.places, columns=self.columns)

    def calibrate(self, domain: Domain, budget: Budget, *, unit: Unit, neighbours: Neighbours) -> MobilityPlan:
        """Fix the noise so that running costs at most the budget; reads no data.

        Args:
            domain: Public description of the tap records; its person is the card.
            budget: For everything.
            unit: `person:CARD:MOST`, with the most trips of a card that count.
            neighbours: Against what change.
        """
        sizes = _sizes(self.schema(domain).places)

        def planned(recipe: Tours) -> MobilityPlan:
            return calibrate(recipe, domain, budget, unit=unit, neighbours=neighbours)

        recipe, plan = self, planned(self)
        if self.kinds is None:
            (times,) = (each for each in plan.tables if each.spec.name == "times")
            noise = 0.5 * times.spec.cells * times.std / (self.cards or ASSUMED)
            recipe = replace(self, kinds=noise <= _HIDDEN)
            plan = planned(recipe)
        if self.depth is not None:
            return plan
        for depth in range(len(sizes), 0, -1):
            plan = planned(replace(recipe, depth=depth))
            if depth == 1 or self._worth(plan, sizes, depth):
                break
        return plan

    def _worth(self, plan: MobilityPlan, sizes: Sequence[int], depth: int) -> bool:
        """Whether a pair that is `_HEAVY` times as heavy as the mean would be refined on the last level."""
        (table,) = (each for each in plan.tables if each.spec.name == f"pairs {depth - 1}")
        fan = (sizes[depth - 1] / sizes[depth - 2]) ** 2
        heavy = _HEAVY * (self.cards or ASSUMED) / sizes[depth - 2] ** 2
        return bool(heavy > self.theta * table.std * fan**0.5)

    def specs(self, schema: TapSchema, most: int) -> tuple[TableSpec, ...]:
        """Return the tables that are measured."""
        classes, categories, payments = len(class_limits(most)), schema.size("category"), schema.size("payment")
        sizes = _sizes(schema.places)
        shapes: dict[str, tuple[int, ...]] = {"activity": (categories, most)}
        if payments > 1:
            shapes["payment"] = (categories, payments)
        shapes["popularity"] = (len(schema.places),)
        shapes["pairs 0"] = (sizes[0], sizes[0])
        # how many cells a finer level has follows from the noisy counts: as many as the first, for the split
        shapes |= {f"pairs {level}": (sizes[0], sizes[0]) for level in range(1, self._depth(len(sizes)))}
        shapes |= {
            "chain": (classes, 2, STATES, STEPS),
            "times": (2, 1 if self.kinds is False else KINDS, PERIODS, 24),
            "dates": (classes, schema.days),
            "others": (sizes[0], sizes[0]),
            "travel": (Bands(schema.places).count, schema.size("mode"), _BINS),
        }
        single = ("activity", "payment", *(name for name in shapes if name.startswith("pairs")))
        found = []
        for name, shape in shapes.items():
            steps = 1 if name in single else GRID
            found.append(TableSpec(name=name, shape=shape, shift=steps, grid=steps, weight=_WEIGHTS.get(name, 1.0)))
        return tuple(found)

    def _depth(self, levels: int) -> int:
        return levels if self.depth is None else min(self.depth, levels)

    def model(
        self, features: Features, tables: Mapping[str, PlannedTable], source: Source
    ) -> tuple[ToursModel, float, float, tuple[str, ...]]:
        """Measure all tables and make them possible."""
        schema = features.trips.schema
        noisy = {
            name: tables[name].measure(counts.reshape(tables[name].spec.shape), source)
            for name, counts in exact_tables(features, tables).items()
        }
        public = schema.places.hierarchy()
        popularity = _popularity(noisy["popularity"], public, tables["popularity"].variance)
        hierarchy = public or group_by_weight(noisy["popularity"], _GROUPS)
        levels = [tables[f"pairs {level}"] for level in range(self._depth(len(hierarchy.levels)))]
        pairs = measure_pairs(hierarchy, popularity, features.anchors, levels, source, theta=self.theta)
        blocks, total, error, refined = pairs
        groups = (hierarchy.sizes[0],) * 2
        others = tables["others"].measure(_others(features, hierarchy).reshape(groups), source)
        activity = tables["activity"]
        totals = [(total, error), (float(noisy["activity"].sum()), activity.std * activity.spec.cells**0.5)]
        people, people_std = mean_total(totals)
        made = ToursModel(
            schema=schema,
            hierarchy=hierarchy,
            blocks=blocks,
            activity=positive(noisy["activity"]),
            payment=positive(noisy.get("payment", np.ones((schema.size("category"), 1)))),
            popularity=popularity,
            chain=_chain(noisy["chain"], tables["chain"].variance),
            times=_times(noisy["times"], tables["times"].variance),
            dates=_pooled(noisy["dates"][:, None], tables["dates"].variance)[:, 0],
            others=_shrunk_others(others, hierarchy, popularity, tables["others"].variance),
            travel=_travel(noisy["travel"], tables["travel"].variance),
        )
        return made, people, people_std, _notes(hierarchy, refined)

    def as_dict(self) -> dict[str, Any]:
        """The recipe as plain data; places by their number and digest."""
        places = None if self.places is None else {"count": len(self.places), "digest": self.places.fingerprint}
        return {
            "method": "tours",
            "places": places,
            "columns": dict(self.columns),
            "cards": self.cards,
            "theta": self.theta,
            "depth": self.depth,
            "kinds": self.kinds,
        }


def exact_tables(features: Features, tables: Mapping[str, PlannedTable]) -> dict[str, Codes]:
    """Return the integers of all tables whose cells are public beforehand. Exact."""
    trips = features.trips
    schema, first = trips.schema, trips.starts[:-1]
    group = features.group
    category, payment = trips.category[first], trips.payment[first]
    weekend = trips.weekend.astype(np.int64)
    ends = np.stack([trips.origin, trips.destination], axis=1).ravel()
    chained, cells = features.chain
    found = {"activity": once(category * features.most + features.number - 1, tables["activity"].spec.cells)}
    if "payment" in tables:
        found["payment"] = once(category * schema.size("payment") + payment, tables["payment"].spec.cells)
    found["popularity"] = spread(np.repeat(trips.card, 2), ends, len(schema.places))
    steps = group[chained] * 2 * STATES * STEPS + cells
    found["chain"] = spread(chained, steps, tables["chain"].spec.cells)
    kinds = tables["times"].spec.shape[1]
    kind = features.kind if kinds > 1 else 0
    times = ((weekend * kinds + kind) * PERIODS + features.period) * 24 + trips.entry // 60
    found["times"] = spread(trips.card, times, tables["times"].spec.cells)
    travelled, day = features.active
    found["dates"] = spread(travelled, group[travelled] * schema.days + day, tables["dates"].spec.cells)
    known = trips.minutes >= 0
    band = Bands(schema.places).of(trips.origin[known], trips.destination[known])
    travel = (band * schema.size("mode") + trips.mode[known]) * _BINS + travel_bin(trips.minutes[known])
    found["travel"] = spread(trips.card[known], travel, tables["travel"].spec.cells)
    return found


def _others(features: Features, hierarchy: Hierarchy) -> Codes:
    """Group of the home x group of each other place. Exact."""
    card, place = features.others
    coarse, size = hierarchy.levels[0], hierarchy.sizes[0]
    return spread(card, coarse[features.anchors[0][card]] * size + coarse[place], size * size)


# -- post-processing --------------------------------------------------------------------------------------------------


def _popularity(noisy: Array, hierarchy: Hierarchy | None, variance: float) -> Array:
    """Non-negative weights of places, shrunk towards an even share in each coarse group."""
    found = noisy.copy()
    if hierarchy is not None and len(hierarchy.levels) > 1:
        for group in range(hierarchy.sizes[0]):
            mine = hierarchy.levels[0] == group
            found[mine] = shrink(noisy[mine], np.full(int(mine.sum()), noisy[mine].mean()), variance)
    return positive(found)


def _chain(noisy: Array, variance: float) -> Array:
    """Steps by class and day: shrunk towards all classes together, and no day begins with its end."""
    found = _pooled(noisy, variance)
    found[:, :, 0, STEPS - 1] = 0.0
    return found


def _times(noisy: Array, variance: float) -> Array:
    """Hours by kind of trip and period: shrunk towards all periods together."""
    return np.moveaxis(_pooled(np.moveaxis(noisy, 2, 0), variance), 0, 2)


def _pooled(noisy: Array, variance: float) -> Array:
    """Tables along the first axis: the rows of each shrunk towards those of all together, then non-negative."""
    several, pooled = len(noisy) > 1, positive(noisy.sum(axis=0))
    found = np.empty_like(noisy)
    for index in np.ndindex(noisy.shape[:-1]):
        row, prior = noisy[index], pooled[index[1:]]
        total = max(float(row.sum()), 0.0)
        scaled = prior / prior.sum() * total if prior.sum() > 0 else np.full(row.shape, total / row.size)
        found[index] = shrink(row, scaled, variance) if several else row
    return np.stack([_fill(positive(table), pooled) for table in found])


def _fill(table: Array, pooled: Array) -> Array:
    """The rows of a table; those that noise has emptied as in all tables together."""
    empty = table.sum(axis=-1, keepdims=True) <= 0
    return np.where(empty, pooled, table)


def _shrunk_others(noisy: Array, hierarchy: Hierarchy, popularity: Array, variance: float) -> Array:
    """Rows by group of the home, each shrunk towards popularity."""
    shares = np.bincount(hierarchy.levels[0], popularity, minlength=hierarchy.sizes[0])
    shares = shares / shares.sum()
    found = np.empty_like(noisy)
    for place, row in enumerate(noisy):
        total = max(float(row.sum()), 0.0)
        kept = shrink(row, shares * total, variance)
        found[place] = norm_sub(kept, total=total).frequencies if total > 0 else shares
    return found


def _travel(noisy: Array, variance: float) -> Array:
    """Modes and times of each band, shrunk towards those of all bands."""
    flat = noisy.reshape(len(noisy), -1)
    return _pooled(flat[:, None, :], variance).reshape(noisy.shape) if len(noisy) > 1 else positive(noisy)


def _sizes(places: Places) -> tuple[int, ...]:
    """Groups of each level, before any data is read."""
    public = places.hierarchy()
    return (_GROUPS, len(places)) if public is None else public.sizes


def _notes(hierarchy: Hierarchy, refined: list[int]) -> tuple[str, ...]:
    source = {
        "zones": "by their zones",
        "coordinates": "by their coordinates",
        "popularity": "by their noisy popularity",
    }[hierarchy.source]
    sizes = ", ".join(str(size) for size in hierarchy.sizes)
    levels = "; ".join(f"level {level + 1}: {pairs} pairs" for level, pairs in enumerate(refined))
    first = f"Places are grouped {source}: {sizes} groups."
    return (first, f"Pairs of groups that were refined: {levels}.") if refined else (first,)
