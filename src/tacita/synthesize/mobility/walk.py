"""The document's generator of travel records: communities by topics, a graph for each, random walks.  [Dandekar 2019]

    C_k        members: by the largest share of topics, or by every share of at least tau
    G_k        directed; weight(u -> v) = trips from u to v of members. With `edges="visits"`, u and v are consecutive
               visits of a member, also between two trips
    support    edges of fewer than `least` distinct cards are left out: an edge of one card replays a person's trip

Privacy: **none**. Topics, graph and times are functions of exact records; a minimum support is no guarantee. The
         result states `guarantee: none`. `tours` is the private generator.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tacita import check
from tacita.common.plain import plain_fields
from tacita.errors import InvalidInput
from tacita.privacy.event import NonPrivate
from tacita.privacy.unit import Neighbours, Unit
from tacita.synthesize.mobility.reading import Fold, Trips
from tacita.synthesize.mobility.result import SyntheticMobility
from tacita.synthesize.mobility.topic_models.communities import assign, time_profiles
from tacita.synthesize.mobility.topic_models.topics import TopicModel, Topics
from tacita.synthesize.mobility.travel import EDGES, Bands, travel_bin
from tacita.synthesize.mobility.walk_model import CommunityGraph, WalkModel
from tacita.tables.release import Provenance

__all__ = ["GraphWalk", "count_edges", "travel_counts"]

Codes = NDArray[np.int64]
Array = NDArray[np.float64]
_REASON = "topics, graph and times of random walks are those of exact trips"


@dataclass(frozen=True, kw_only=True)
class GraphWalk:
    """Random walks on the graphs of communities. No guarantee.

    Args:
        topics: The topic model; it must have places.
        fold: How times are folded.
        tau: Threshold of membership; by the largest share if None.
        least: Distinct cards that an edge needs; 1 keeps every edge, as the document does.
        edges: Edges from the trips, or from consecutive visits.
        visits: Visits of each synthetic card; by the members' number of trips if None.
    """

    topics: Topics = field(default_factory=Topics)
    fold: Fold = "hour-of-week"
    tau: float | None = None
    least: int = 5
    edges: Literal["trips", "visits"] = "trips"
    visits: int | None = None

    def __post_init__(self) -> None:
        if self.topics.kind == "tlda":
            raise InvalidInput("must have places: slda or stlda", field="topics.kind", value="tlda")
        check.whole(self.least, "least", least=1)
        check.whole(self.visits, "visits", least=2, optional=True)
        check.one_of(self.edges, "edges", ("trips", "visits"))

    def fit(self, trips: Trips, rng: np.random.Generator) -> SyntheticMobility:
        """Fit topics and graphs to exact trips."""
        whole = trips.complete()
        if not len(whole):
            raise InvalidInput("must have a trip with a destination", field="trips")
        visits = whole.visits(self.fold)
        return self.of_topics(whole, self.topics.fit(visits, rng))

    def of_topics(self, trips: Trips, model: TopicModel) -> SyntheticMobility:
        """Make graphs from topics that were fitted to the visits of complete trips."""
        visits = trips.visits(self.fold)
        if model.phi is None or len(model.theta) != trips.cards:
            raise InvalidInput("must be fitted to the visits of these trips", field="model")
        profiles, graphs, rare, all_edges = time_profiles(model, visits), [], 0, 0
        for number, cards in enumerate(assign(model.theta, tau=self.tau)):
            members = trips.of_cards(cards)
            origin, destination, weight, support = count_edges(members, self.edges)
            kept = support >= self.least
            rare, all_edges = rare + int((~kept).sum()), all_edges + len(kept)
            graphs.append(
                CommunityGraph(
                    cards=len(cards),
                    phi=model.phi[number],
                    psi=profiles[number],
                    origin=origin[kept],
                    destination=destination[kept],
                    weight=weight[kept].astype(np.float64),
                    lengths=np.bincount(np.diff(members.starts), minlength=2).astype(np.float64),
                    persons=_persons(members),
                )
            )
        walk = WalkModel(
            schema=trips.schema, fold=self.fold, visits=self.visits, graphs=tuple(graphs), travel=travel_counts(trips)
        )
        notes = (
            f"{all_edges - rare} edges of {len(graphs)} communities are kept; {rare} of fewer than {self.least} cards "
            "are left out.",
            *(() if model.converged else (f"The chains do not agree: R-hat is {model.rhat:.2f}.",)),
        )
        return SyntheticMobility(
            model=walk,
            people=float(trips.cards),
            people_std=0.0,
            notes=notes,
            event=NonPrivate(reason=_REASON),
            unit=Unit.of_person(trips.schema.card, max_rows=int(np.diff(trips.starts).max())),
            neighbours=Neighbours.ADD_REMOVE,
            provenance=Provenance(recipe=self.as_dict(), simulated=False),
        )

    def as_dict(self) -> dict[str, Any]:
        """The recipe as plain data."""
        return {"method": "walk"} | plain_fields(self)


def count_edges(trips: Trips, edges: Literal["trips", "visits"] = "trips") -> tuple[Codes, Codes, Codes, Codes]:
    """Return the distinct edges, sorted: origin, destination, number of trips, number of distinct cards."""
    card, origin, destination = trips.card, trips.origin, trips.destination
    if edges == "visits" and len(trips):
        card = np.repeat(card, 2)
        place = np.stack([trips.origin, trips.destination], axis=1).ravel()
        joined = (card[1:] == card[:-1]) & (place[1:] != place[:-1])
        card, origin, destination = card[1:][joined], place[:-1][joined], place[1:][joined]
    size = len(trips.schema.places)
    pair, owner = np.unique(origin * size + destination, return_inverse=True)
    weight = np.bincount(owner, minlength=len(pair))
    cards = np.unique(np.stack([owner, card], axis=1), axis=0)[:, 0] if len(owner) else owner
    return pair // size, pair % size, weight, np.bincount(cards, minlength=len(pair))


def travel_counts(trips: Trips) -> Array:
    """Return exact counts by band, mode and bin of travel time; trips without an exit are left out."""
    known = trips.complete()
    known = known.take(known.minutes >= 0) if (known.minutes < 0).any() else known
    bands, modes, bins = Bands(trips.schema.places), trips.schema.size("mode"), len(EDGES) - 1
    band = bands.of(known.origin, known.destination)
    cell = (band * modes + known.mode) * bins + travel_bin(known.minutes)
    return np.bincount(cell, minlength=bands.count * modes * bins).reshape(bands.count, modes, bins).astype(np.float64)


def _persons(trips: Trips) -> Array:
    """Return members by category and payment, each as on the card's first trip."""
    first, payments = trips.starts[:-1], trips.schema.size("payment")
    cell = trips.category[first] * payments + trips.payment[first]
    return np.bincount(cell, minlength=trips.schema.size("category") * payments).astype(np.float64)
