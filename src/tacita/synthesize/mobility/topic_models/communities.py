"""Communities of cards: who belongs to one, where and when its members travel, and how well two sets of them match.

    argmax          each card belongs to the topic with the largest share
    threshold       a card belongs to every topic with a share of at least tau: to several, or to none
    classification  inner product  argmax_k phi_k . counts          (as in the document; no probability)
                    likelihood     argmax_k sum counts ln phi_k
    matching        Jaccard index of every pair of communities, and the one-to-one matching with the largest sum

Privacy: none; for the owner of the data.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

from tacita import check
from tacita.errors import InvalidInput
from tacita.synthesize.mobility.reading import Fold, Visits, segment_names
from tacita.synthesize.mobility.topic_models.topics import TopicModel

__all__ = [
    "Community",
    "Rule",
    "assign",
    "classify",
    "describe",
    "jaccard_matrix",
    "match_communities",
    "members_of",
    "time_profiles",
]

Codes = NDArray[np.int64]
Array = NDArray[np.float64]
Rule = Literal["inner", "likelihood"]
_TINY = 1e-300


def assign(theta: Array, *, tau: float | None = None) -> tuple[Codes, ...]:
    """Return the cards of each community: by the largest share, or by every share of at least `tau`."""
    if tau is None:
        return members_of(np.argmax(theta, axis=1), theta.shape[1])
    check.inside(tau, "tau", 0, 1)
    return tuple(np.flatnonzero(theta[:, topic] >= tau) for topic in range(theta.shape[1]))


def members_of(labels: NDArray[Any], communities: int | None = None) -> tuple[Codes, ...]:
    """Return the cards of each community of a partition."""
    number = int(labels.max(initial=-1)) + 1 if communities is None else communities
    return tuple(np.flatnonzero(labels == label) for label in range(number))


def jaccard_matrix(found: Sequence[Codes], truth: Sequence[Codes]) -> Array:
    """Return |A and B| / |A or B| for each found community (row) and each true one (column).

    >>> jaccard_matrix([np.array([0, 1])], [np.array([1, 2]), np.array([0, 1])]).round(2).tolist()
    [[0.33, 1.0]]
    """
    sizes = np.array([len(each) for each in truth])
    most = 1 + max((int(each.max()) for each in (*found, *truth) if len(each)), default=0)
    marks = np.zeros((len(truth), most), np.bool_)
    for row, each in enumerate(truth):
        marks[row, each] = True
    rows = []
    for each in found:
        both = marks[:, each].sum(axis=1)
        rows.append(both / np.maximum(len(each) + sizes - both, 1))
    return np.array(rows, np.float64).reshape(len(found), len(truth))


def match_communities(matrix: Array) -> tuple[Codes, Codes, Array]:
    """Return the one-to-one matching with the largest sum: rows, columns, and their values.  [Kuhn 1955]"""
    rows, columns = optimize.linear_sum_assignment(matrix, maximize=True)
    return rows, columns, matrix[rows, columns]


def classify(visits: Visits, phi: Array, rule: Rule = "likelihood") -> Codes:
    """Return the topic of each card from its places alone; -1 for a card without visits."""
    if rule not in ("inner", "likelihood"):
        raise InvalidInput("must be inner or likelihood", field="rule", value=rule)
    scores = phi if rule == "inner" else np.log(np.maximum(phi, _TINY))
    totals = np.zeros((visits.cards, len(phi)))
    for topic in range(len(phi)):
        totals[:, topic] = np.bincount(visits.card, scores[topic, visits.place], minlength=visits.cards)
    return np.where(np.diff(visits.starts) > 0, np.argmax(totals, axis=1), -1)


def time_profiles(model: TopicModel, visits: Visits) -> Array:
    """Return the distribution of time segments of each topic: psi, or the times of its visits where there is none."""
    if model.psi is not None:
        return model.psi
    counts = np.bincount(model.z * visits.segments + visits.segment, minlength=model.topics * visits.segments)
    table = counts.reshape(model.topics, visits.segments).astype(np.float64)
    return np.asarray(table / np.maximum(table.sum(axis=1, keepdims=True), 1))


@dataclass(frozen=True, kw_only=True, eq=False)
class Community:
    """One community, for its owner: size, places and times.

    Attributes:
        number: The topic.
        cards: Number of its members.
        places: The places with the largest shares of its visits, as (place, share).
        profile: Share of its visits in each time segment.
        peaks: The segments with the largest shares, by name.
    """

    number: int
    cards: int
    places: tuple[tuple[str, float], ...]
    profile: Array = field(repr=False)
    peaks: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "number": self.number,
            "cards": self.cards,
            "places": [list(each) for each in self.places],
            "profile": self.profile.tolist(),
            "peaks": list(self.peaks),
        }


def describe(
    model: TopicModel,
    visits: Visits,
    names: Sequence[str],
    *,
    fold: Fold = "hour-of-day",
    tau: float | None = None,
    top: int = 10,
) -> tuple[Community, ...]:
    """Describe each community by its top places and its times.

    Args:
        model: Fitted to the visits.
        visits: The visits.
        names: Of the places.
        fold: How times were folded.
        tau: Threshold of membership; by the largest share if not given.
        top: Number of places to name.
    """
    profiles, times = time_profiles(model, visits), segment_names(fold)
    phi = model.phi
    if phi is None:
        counts = np.bincount(model.z * visits.places + visits.place, minlength=model.topics * visits.places)
        table = counts.reshape(model.topics, visits.places).astype(np.float64)
        phi = table / np.maximum(table.sum(axis=1, keepdims=True), 1)
    found = []
    for number, cards in enumerate(assign(model.theta, tau=tau)):
        best = np.argsort(-phi[number], kind="stable")[:top]
        peaks = np.argsort(-profiles[number], kind="stable")[:2]
        found.append(
            Community(
                number=number,
                cards=len(cards),
                places=tuple((names[place], float(phi[number, place])) for place in best),
                profile=profiles[number],
                peaks=tuple(times[segment] for segment in peaks),
            )
        )
    return tuple(found)
