"""Synthetic cards by tours: each has a home and a main place, and days that are chains of trips.

    card    category and number of trips; payment by category; home and main place from blocks of pairs
    days    drawn without repetition, so that dates have their shares, until the card has its trips; a day that does
            not fit is drawn again
    trip    the chain gives the labels of its ends and the end of the day; the next trip begins where the last one
            ended, unless the chain says otherwise. Other places by the home's group and by popularity. The hour by
            kind of trip, later than the last exit; exit and mode by distance

Privacy: post-processing of the tables that it holds. Claim: docs/claims/mobility.md
Cost:    one compiled pass (`tours_kernel`); about a microsecond for each trip.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tacita.synthesize.mobility.decoding import TripCodes
from tacita.synthesize.mobility.features import ENDED, KINDS, class_limits
from tacita.synthesize.mobility.places import Hierarchy
from tacita.synthesize.mobility.refinement import Blocks
from tacita.synthesize.mobility.schema import TapSchema
from tacita.synthesize.mobility.tours_kernel import LONGEST, walk_days
from tacita.synthesize.mobility.travel import EDGES, Bands, draw_rows

__all__ = ["ToursModel"]

Codes = NDArray[np.int64]
Array = NDArray[np.float64]
_TRIES = 20
_SIMULATED, _ROUNDS = 2048, 40
_TABLES = ("activity", "payment", "popularity", "chain", "times", "dates", "others", "travel")


@dataclass(frozen=True, kw_only=True, eq=False)
class ToursModel:
    """Tables of a model of tours: non-negative weights, each on its own scale.

    Attributes:
        schema: Of the tap records.
        hierarchy: Groups of places.
        blocks: Pairs of home and main place.
        activity: Category x number of trips, from 1 on.
        payment: Category x payment.
        popularity: Of each place.
        chain: Class x weekend x state x step.
        times: Weekend x kind x period x hour; one kind where all are alike.
        dates: Class x date, of days with a trip.
        others: Group of the home x group of an other place, on the coarsest level.
        travel: Band x mode x bin of travel time.
    """

    kind: ClassVar[str] = "tours"

    schema: TapSchema
    hierarchy: Hierarchy = field(repr=False)
    blocks: Blocks = field(repr=False)
    activity: Array = field(repr=False)
    payment: Array = field(repr=False)
    popularity: Array = field(repr=False)
    chain: Array = field(repr=False)
    times: Array = field(repr=False)
    dates: Array = field(repr=False)
    others: Array = field(repr=False)
    travel: Array = field(repr=False)

    @property
    def most(self) -> int:
        """Most trips of a card."""
        return int(self.activity.shape[1])

    # -- places ---------------------------------------------------------------------------------------------------

    @cached_property
    def _grouped(self) -> tuple[tuple[Codes, Codes, Array], ...]:
        """For each level: places sorted by group, where each group begins, and the running sum of popularity."""
        found = []
        for level, size in zip(self.hierarchy.levels, self.hierarchy.sizes, strict=True):
            order = np.argsort(level, kind="stable")
            starts = np.searchsorted(level[order], np.arange(size + 1)).astype(np.int64)
            weight = self.popularity[order]
            mass = np.bincount(level, self.popularity, minlength=size)
            weight = np.where(mass[level[order]] > 0, weight, 1.0)  # a group without weight: all places alike
            found.append((order, starts, np.concatenate([[0.0], np.cumsum(weight)])))
        return tuple(found)

    def _place(self, level: Codes, group: Codes, rng: np.random.Generator) -> Codes:
        """Draw a place of each group."""
        found = np.zeros(len(group), np.int64)
        for number, (order, starts, reached) in enumerate(self._grouped):
            mine = np.flatnonzero(level == number)
            low, high = reached[starts[group[mine]]], reached[starts[group[mine] + 1]]
            at = np.searchsorted(reached, low + rng.random(len(mine)) * (high - low), side="right") - 1
            found[mine] = order[np.clip(at, starts[group[mine]], starts[group[mine] + 1] - 1)]
        return found

    def draw_anchors(self, cards: int, rng: np.random.Generator) -> tuple[Codes, Codes]:
        """Draw the home and the main place of cards."""
        block = draw_rows(self.blocks.weight[None], np.zeros(cards, np.int64), rng)
        level = self.blocks.level[block]
        home = self._place(level, self.blocks.one[block], rng)
        main = self._place(level, self.blocks.other[block], rng)
        for _ in range(_TRIES):  # a home is no main place, unless the pair allows no other
            same = np.flatnonzero((home == main) & (level < len(self.hierarchy.levels) - 1))
            if not len(same):
                break
            main[same] = self._place(level[same], self.blocks.other[block[same]], rng)
        return home, main

    # -- trips ----------------------------------------------------------------------------------------------------

    def draw(self, cards: int, rng: np.random.Generator) -> TripCodes:
        """Draw the trips of so many cards."""
        zeros = np.zeros(cards, np.int64)
        person = draw_rows(self.activity.reshape(1, -1), zeros, rng)
        category, number = person // self.most, person % self.most + 1
        payment = draw_rows(self.payment, category, rng)
        home, main = self.draw_anchors(cards, rng)
        group = np.searchsorted(class_limits(self.most), number, side="right") - 1
        group = group.astype(np.int64)
        days = self._days(group, rng)
        order, starts, reached = self._grouped[0]
        coarse = self.hierarchy.levels[0]
        bands, size = Bands(self.schema.places), int(number.sum()) + LONGEST
        points = self.schema.places.points
        zones = self.schema.places.zone_codes
        out = np.zeros((7, size), np.int64)
        made = walk_days(
            number,
            group,
            home,
            main,
            days,
            (self.schema.weekdays >= 5).astype(np.int64),
            _running(self.chain),
            _running(np.broadcast_to(self.times, (2, KINDS, *self.times.shape[2:]))),
            (_running(self.others), coarse, order, starts, reached),
            (
                0 if bands.count == 1 else (1 if points is None else 2),
                np.zeros((1, 2)) if points is None else points,
                coarse if zones is None else zones,
                bands.edges,
                _running(self.travel.reshape(bands.count, -1)),
                EDGES.astype(np.int64),
            ),
            out,
            rng.integers(0, 2**63, 1, dtype=np.uint64),
        )
        card, day, entry, minutes, origin, destination, mode = out[:, :made]
        return TripCodes(
            card=card,
            day=day,
            entry=entry,
            minutes=minutes,
            origin=origin,
            destination=destination,
            mode=mode,
            payment=payment[card],
            category=category[card],
        )

    @cached_property
    def _length(self) -> Array:
        """Mean number of trips of a day, by class and weekend: steps for each end of a day."""
        ends = self.chain[..., ENDED].sum(axis=-1)
        steps = self.chain[..., :ENDED].sum(axis=(-1, -2))
        return np.where(ends > 0, np.clip(steps / np.maximum(ends, 1e-9), 1.0, LONGEST), 1.0)

    @cached_property
    def _day_weights(self) -> Array:
        """Weights with which days drawn without repetition have the shares of `dates`, for each class.

        A card of n trips takes about n / length days, and drawing without repetition evens shares out; so the weights
        are adjusted to the shares that simulated cards reach.
        """
        rng, limits = np.random.default_rng(0), class_limits(self.most)
        shares = self.dates / np.maximum(self.dates.sum(axis=1, keepdims=True), 1e-300)
        found = np.maximum(shares, 1e-9)
        trips = self.activity.sum(axis=0)
        times = rng.exponential(size=(_SIMULATED, shares.shape[1]))
        for number, (low, high) in enumerate(zip(limits, (*limits[1:], self.most + 1), strict=True)):
            part = trips[None, low - 1 : high - 1]
            drawn = low + draw_rows(part, np.zeros(_SIMULATED, np.int64), rng)
            taken = np.clip(np.rint(drawn / self._length[number].mean()), 1, shares.shape[1])
            for _ in range(_ROUNDS):
                rank = np.argsort(np.argsort(times / found[number], axis=1), axis=1)
                reached = (rank < taken[:, None]).sum(axis=0) / taken.sum()
                found[number] *= (np.maximum(shares[number], 1e-9) / np.maximum(reached, 1e-9)) ** 0.7
                found[number] = np.clip(found[number] / found[number].sum(), 1e-9, None)
        return np.asarray(found)

    def _days(self, group: Codes, rng: np.random.Generator) -> Codes:
        """An order of the dates for each card: by weight, without repetition.  [Efraimidis, Spirakis 2006]"""
        keys = rng.exponential(size=(len(group), self.dates.shape[1])) / self._day_weights[group]
        return np.argsort(keys, axis=1).astype(np.int64)

    # -- plain data -----------------------------------------------------------------------------------------------

    def as_dict(self) -> dict[str, Any]:
        """Plain data without the schema."""
        blocks = {name: getattr(self.blocks, name).tolist() for name in ("level", "one", "other", "weight")}
        levels = [level.tolist() for level in self.hierarchy.levels]
        tables = {name: getattr(self, name).tolist() for name in _TABLES}
        return {
            "kind": self.kind,
            "hierarchy": {"levels": levels, "source": self.hierarchy.source},
            "blocks": blocks,
        } | tables

    @classmethod
    def from_dict(cls, schema: TapSchema, data: Mapping[str, Any]) -> ToursModel:
        """The model that `as_dict` wrote."""
        levels = tuple(np.array(level, np.int64) for level in data["hierarchy"]["levels"])
        blocks = {name: np.array(data["blocks"][name], np.int64) for name in ("level", "one", "other")}
        return cls(
            schema=schema,
            hierarchy=Hierarchy(levels=levels, source=data["hierarchy"]["source"]),
            blocks=Blocks(**blocks, weight=np.array(data["blocks"]["weight"], float)),
            **{name: np.array(data[name], float) for name in _TABLES},
        )


def _running(table: Array) -> Array:
    """The running sums of the last axis; evenly rising where a row is empty."""
    weights = np.where(table.sum(axis=-1, keepdims=True) > 0, table, 1.0)
    return np.ascontiguousarray(np.cumsum(weights, axis=-1))
