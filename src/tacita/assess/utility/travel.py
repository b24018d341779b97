"""Utility of released tap records: how far the statistics of their trips are from those of the real ones.

    pairs, zones     total variation of origins and destinations, by place and by zone
    places           total variation of where trips begin
    lengths          total variation of trip lengths in bins of a kilometre, and the distance of their means in km
    times            total variation of hours, weekdays and weekends apart
    minutes          total variation of travel times in bins of 5 minutes
    trips            total variation of the number of trips of a card
    chained          share of trips that begin where the card's last trip of that day ended
    communities      agreement of topic models of real and of released trips about the same cards: `agreement`

Beside each figure, that of the control: trips of people who were not used, which differ by chance alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacita import check
from tacita.assess.case import Case
from tacita.common.plain import plain_fields
from tacita.errors import InvalidInput
from tacita.synthesize.mobility.reading import Trips, Visits
from tacita.synthesize.mobility.topic_models.communities import (
    Rule,
    classify,
    jaccard_matrix,
    match_communities,
    members_of,
)
from tacita.synthesize.mobility.topic_models.convergence import perplexity
from tacita.synthesize.mobility.topic_models.topics import Topics

__all__ = ["Agreement", "Travelled", "agreement", "chained_share", "travel_utility"]

Array = NDArray[np.float64]
_MOST_TRIPS = 60
_LONGEST = 60  # kilometres
_MOST_CARDS = 4000


@dataclass(frozen=True, kw_only=True)
class Travelled:
    """Distances of released trips from real ones, by statistic; `reference` has those of the control.

    Attributes:
        distances: Total variation of each statistic.
        reference: The same between control and real trips; empty without a control.
        chained: Shares of chained trips: real, released.
        mean_length: Mean length of a trip in km: real, released; None without coordinates.
        mean_trips: Mean number of trips of a card: real, released.
    """

    distances: dict[str, float]
    reference: dict[str, float]
    chained: tuple[float, float]
    mean_length: tuple[float, float] | None
    mean_trips: tuple[float, float]

    @property
    def facts(self) -> tuple[tuple[str, str], ...]:
        """The figures in words, for a page."""
        rows = []
        for name, value in self.distances.items():
            beside = f"; people held back {self.reference[name]:.3f}" if name in self.reference else ""
            rows.append((name, f"total variation {value:.3f}{beside}"))
        rows.append(("chained trips", f"{self.chained[1]:.1%}; in the data {self.chained[0]:.1%}"))
        rows.append(("trips of a card", f"{self.mean_trips[1]:.2f}; in the data {self.mean_trips[0]:.2f}"))
        if self.mean_length is not None:
            rows.append(("mean length", f"{self.mean_length[1]:.2f} km; in the data {self.mean_length[0]:.2f} km"))
        return tuple(rows)

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "distances": dict(self.distances),
            "reference": dict(self.reference),
            "chained": list(self.chained),
            "mean_length": None if self.mean_length is None else list(self.mean_length),
            "mean_trips": list(self.mean_trips),
        }


def travel_utility(case: Case) -> Travelled | None:
    """Compare the trips of a release with real ones; None where rows are no tap records."""
    if case.travel is None:
        return None
    real, released = case.travel.real.complete(), case.travel.released.complete()
    if not len(real) or not len(released):
        raise InvalidInput("must have trips with a destination", field="released")
    truth = _statistics(real)
    control = None if case.travel.control is None else _statistics(case.travel.control.complete())
    lengths = None
    if real.schema.places.points is not None:
        lengths = (_mean_length(real), _mean_length(released))
    return Travelled(
        distances=_distances(truth, _statistics(released)),
        reference={} if control is None else _distances(truth, control),
        chained=(chained_share(real), chained_share(released)),
        mean_length=lengths,
        mean_trips=(len(real) / real.cards, len(released) / released.cards),
    )


def chained_share(trips: Trips) -> float:
    """Return the share of trips that begin where the card's last trip of that day ended; NaN if there are none."""
    follows = (trips.card[1:] == trips.card[:-1]) & (trips.day[1:] == trips.day[:-1])
    return float((trips.origin[1:] == trips.destination[:-1])[follows].mean()) if follows.any() else float("nan")


def _mean_length(trips: Trips) -> float:
    return float(trips.schema.places.distances(trips.origin, trips.destination).mean())


def _statistics(trips: Trips) -> dict[str, dict[int, int]]:
    """Counts of each statistic, by cell; only cells that occur are stored."""
    places = trips.schema.places
    cells = {"pairs": trips.origin * len(places) + trips.destination, "places": trips.origin}
    zones = places.zone_codes
    if zones is not None:
        cells["zones"] = zones[trips.origin] * (int(zones.max()) + 1) + zones[trips.destination]
    if places.points is not None:
        away = places.distances(trips.origin, trips.destination)
        cells["lengths"] = np.minimum(away.astype(np.int64), _LONGEST)
    cells["times"] = trips.weekend * 24 + trips.entry // 60
    known = trips.minutes >= 0
    if known.any():
        cells["minutes"] = np.minimum(trips.minutes[known] // 5, 40)
    cells["trips"] = np.minimum(np.diff(trips.starts), _MOST_TRIPS)
    return {
        name: dict(zip(*(each.tolist() for each in np.unique(codes, return_counts=True)), strict=True))
        for name, codes in cells.items()
    }


def _distances(one: dict[str, dict[int, int]], other: dict[str, dict[int, int]]) -> dict[str, float]:
    return {name: _total_variation(one[name], other[name]) for name in one if name in other}


def _total_variation(one: dict[int, int], other: dict[int, int]) -> float:
    n, m = sum(one.values()), sum(other.values())
    return 0.5 * sum(abs(one.get(cell, 0) / n - other.get(cell, 0) / m) for cell in one.keys() | other.keys())


@dataclass(frozen=True, kw_only=True)
class Agreement:
    """Agreement of two topic models about the communities of the same cards, after one-to-one matching.

    Attributes:
        jaccard: Mean Jaccard index of matched communities, classified by likelihood.
        likelihood, inner: Share of cards that both put into the matched community, by each rule.
        perplexity: Of the cards' places under topics of the real and of the released trips: smaller is better. It
            needs no matching.
        cards: Number of cards.
    """

    jaccard: float
    likelihood: float
    inner: float
    perplexity: tuple[float, float]
    cards: int

    @property
    def facts(self) -> tuple[tuple[str, str], ...]:
        """The figures in words, for a page."""
        return (
            ("Jaccard index of matched communities", f"{self.jaccard:.3f}"),
            ("cards in the matched community", f"{self.likelihood:.1%} by likelihood, {self.inner:.1%} by product"),
            ("perplexity of places", f"{self.perplexity[1]:.1f}; with topics of the data {self.perplexity[0]:.1f}"),
        )

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return plain_fields(self)


def agreement(
    real: Trips,
    released: Trips,
    rng: np.random.Generator,
    *,
    topics: int = 6,
    sweeps: int = 300,
    judged: Trips | None = None,
) -> Agreement:
    """Fit places' topics to real and to released trips, and let both classify the same cards.

    Args:
        real, released: Trips; at most 4,000 cards of each are used, drawn at random.
        rng: For the sampler and the draw of cards.
        topics: Number of communities.
        sweeps: Of the sampler.
        judged: Trips of the cards to classify, such as the control; those of the real ones if not given.
    """
    check.whole(topics, "topics", least=2)
    recipe = Topics(kind="slda", topics=topics, sweeps=sweeps)
    models = [recipe.fit(_some(side, rng), rng) for side in (real, released)]
    visits = _some(judged if judged is not None else real, rng)
    found: dict[Rule, float] = {}
    jaccard = 0.0
    for rule in ("likelihood", "inner"):
        labels = [classify(visits, model.phi, rule) for model in models if model.phi is not None]
        matrix = jaccard_matrix(members_of(labels[1], topics), members_of(labels[0], topics))
        rows, columns, values = match_communities(matrix)
        renamed = np.full(topics, -1)
        renamed[rows] = columns
        found[rule] = float((renamed[labels[1]] == labels[0]).mean())
        if rule == "likelihood":
            jaccard = float(values.mean())
    predicted = [perplexity(model, visits, rng) for model in models]
    return Agreement(
        jaccard=jaccard,
        likelihood=found["likelihood"],
        inner=found["inner"],
        perplexity=(predicted[0], predicted[1]),
        cards=visits.cards,
    )


def _some(trips: Trips, rng: np.random.Generator) -> Visits:
    visits = trips.complete().visits()
    if visits.cards <= _MOST_CARDS:
        return visits
    return visits.only(np.sort(rng.choice(visits.cards, _MOST_CARDS, replace=False)))
