"""Random walks on the graphs of communities: the model of the document's generator.

    l_0 ~ phi_k;   l_i: an out-neighbour of l_(i-1) in proportion to the weight of the edge, or l_i ~ phi_k where
    there is none. Each step is a trip from l_(i-1) to l_i.

Times come from psi_k and are sorted; exits and modes by distance (`travel`).

Privacy: none: phi, psi, edges and times are those of exact records.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tacita.synthesize.mobility.decoding import TripCodes
from tacita.synthesize.mobility.reading import Fold
from tacita.synthesize.mobility.schema import TapSchema
from tacita.synthesize.mobility.travel import Bands, draw_rows, draw_travel

__all__ = ["CommunityGraph", "WalkModel"]

Codes = NDArray[np.int64]
Array = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False)
class CommunityGraph:
    """Directed graph of the trips of one community.

    Attributes:
        cards: Number of its members.
        phi, psi: Distributions of places and of time segments.
        origin, destination, weight: Edges, sorted by origin.
        lengths: Number of members with each number of trips.
        persons: Members by category and payment.
    """

    cards: int
    phi: Array = field(repr=False)
    psi: Array = field(repr=False)
    origin: Codes = field(repr=False)
    destination: Codes = field(repr=False)
    weight: Array = field(repr=False)
    lengths: Array = field(repr=False)
    persons: Array = field(repr=False)

    @cached_property
    def _ends(self) -> tuple[Codes, Array]:
        """Index of the first edge of each place, and the running sum of weights."""
        starts = np.searchsorted(self.origin, np.arange(len(self.phi) + 1)).astype(np.int64)
        return starts, np.concatenate([[0.0], np.cumsum(self.weight)])

    def begin(self, cards: int, rng: np.random.Generator) -> Codes:
        """Draw places by phi."""
        return draw_rows(self.phi[None], np.zeros(cards, np.int64), rng)

    def step(self, at: Codes, rng: np.random.Generator) -> Codes:
        """Draw the next place of each walk."""
        starts, reached = self._ends
        low, high = reached[starts[at]], reached[starts[at + 1]]
        drawn = low + rng.random(len(at)) * (high - low)
        edge = np.searchsorted(reached, drawn, side="right") - 1
        edge = np.clip(edge, starts[at], np.maximum(starts[at + 1] - 1, starts[at]))
        dead = starts[at] == starts[at + 1]
        found = np.empty(len(at), np.int64)
        found[~dead] = self.destination[edge[~dead]]
        found[dead] = self.begin(int(dead.sum()), rng)
        return found


@dataclass(frozen=True, kw_only=True, eq=False)
class WalkModel:
    """Graphs of all communities, and the travel times of all trips.

    Attributes:
        schema: Of the tap records.
        fold: How times were folded.
        visits: Visits of each synthetic card; by the members' number of trips if None.
        graphs: One for each community.
        travel: Trips by band, mode and bin.
    """

    kind: ClassVar[str] = "walk"

    schema: TapSchema
    fold: Fold
    visits: int | None
    graphs: tuple[CommunityGraph, ...] = field(repr=False)
    travel: Array = field(repr=False)

    def draw(self, cards: int, rng: np.random.Generator) -> TripCodes:
        """Draw the trips of so many cards, from communities in proportion to their size."""
        sizes = np.array([[graph.cards for graph in self.graphs]], np.float64)
        return self.draw_from(draw_rows(sizes, np.zeros(cards, np.int64), rng), rng)

    def draw_from(self, community: Codes, rng: np.random.Generator) -> TripCodes:
        """Draw the trips of cards of given communities."""
        parts = [
            self._community(graph, np.flatnonzero(community == number), rng) for number, graph in enumerate(self.graphs)
        ]
        card, person, day, entry, origin, destination = (np.concatenate(each) for each in zip(*parts, strict=True))
        band = Bands(self.schema.places).of(origin, destination)
        mode, minutes = draw_travel(self.travel, band, rng)
        payments = self.schema.size("payment")
        return TripCodes(
            card=card,
            day=day,
            entry=entry,
            minutes=minutes,
            origin=origin,
            destination=destination,
            mode=mode,
            payment=person % payments,
            category=person // payments,
        )

    def _community(self, graph: CommunityGraph, cards: Codes, rng: np.random.Generator) -> list[Codes]:
        size, zeros = len(cards), np.zeros(len(cards), np.int64)
        number = draw_rows(graph.lengths[None], zeros, rng) if self.visits is None else np.full(size, self.visits - 1)
        person = draw_rows(graph.persons[None], zeros, rng)
        at, steps = graph.begin(size, rng), []
        for step in range(int(number.max(initial=0))):
            going = np.flatnonzero(number > step)
            after = at.copy()
            after[going] = graph.step(at[going], rng)
            steps.append((going, at[going], after[going]))
            at = after
        row = np.concatenate([np.zeros(0, np.int64), *(each[0] for each in steps)])
        order = np.argsort(row, kind="stable")
        origin, destination = (
            np.concatenate([np.zeros(0, np.int64), *(each[place] for each in steps)])[order] for place in (1, 2)
        )
        row = row[order]
        day, entry = self._times(graph, len(row), rng)
        sort = np.lexsort((entry, day, row))  # the times of each card, in order
        return [cards[row], person[row], day[sort], entry[sort], origin, destination]

    def _times(self, graph: CommunityGraph, count: int, rng: np.random.Generator) -> tuple[Codes, Codes]:
        segment = draw_rows(graph.psi[None], np.zeros(count, np.int64), rng)
        minute = 60 * (segment % 24) + rng.integers(0, 60, count)
        if self.fold == "hour-of-day":
            return rng.integers(0, self.schema.days, count), minute
        dates = (self.schema.weekdays[None] == np.arange(7)[:, None]).astype(np.float64)
        return draw_rows(dates, segment // 24, rng), minute

    # -- plain data -----------------------------------------------------------------------------------------------

    def as_dict(self) -> dict[str, Any]:
        """Plain data without the schema."""
        graphs = [{name: _plain(getattr(graph, name)) for name in graph.__dataclass_fields__} for graph in self.graphs]
        return {
            "kind": self.kind,
            "fold": self.fold,
            "visits": self.visits,
            "graphs": graphs,
            "travel": self.travel.tolist(),
        }

    @classmethod
    def from_dict(cls, schema: TapSchema, data: Mapping[str, Any]) -> WalkModel:
        """The model that `as_dict` wrote."""
        graphs = []
        for each in data["graphs"]:
            whole: dict[str, Any] = {name: np.array(each[name], np.int64) for name in ("origin", "destination")}
            real = {name: np.array(each[name], float) for name in ("phi", "psi", "weight", "lengths", "persons")}
            graphs.append(CommunityGraph(cards=each["cards"], **(whole | real)))
        return cls(
            schema=schema,
            fold=data["fold"],
            visits=data["visits"],
            graphs=tuple(graphs),
            travel=np.array(data["travel"], float),
        )


def _plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray) else value
