"""Similarity of synthetic trajectories to real ones: the largest similarity matters, not only the mean.

    jaccard     places shared, out of all places of either
    multiset    the same, where each visit counts: visits shared, out of all visits of either
    edit        one minus the edits that turn one into the other, out of the longer one
    warping     one over one plus the mean distance along the best alignment (dynamic time warping)

A trajectory is a sequence of places; for warping, of points. A control of trajectories that were not used is the
reference: routes that most people take are no leak.

Every synthetic trajectory is compared with every real one; an attack of the registry takes a sample of synthetic ones
(`attempts`), so that the work grows with the people and not with their square.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tacita.assess.attacks.attack import Attack, Result
from tacita.assess.case import Case
from tacita.assess.options import AssessmentOptions
from tacita.assess.rates import Leak, Rate, Risk
from tacita.common.compiled import compiled
from tacita.errors import InvalidInput

__all__ = ["TRAJECTORIES", "Similarity", "trajectory_similarity"]

_SIMILAR = 0.9
"""Least similarity of a copied trajectory."""

Measure = Literal["jaccard", "multiset", "edit", "warping"]
_MEASURES = ("jaccard", "multiset", "edit", "warping")


@dataclass(frozen=True, kw_only=True, eq=False)
class Similarity:
    """Similarity of each synthetic trajectory to the most similar real one, and to the most similar of the control.

    Attributes:
        measure: See the module.
        to_real: To all real ones.
        to_some: To as many real ones as the control has: among more trajectories the maximum is larger by chance.
        to_control: To as many of the control.
        notes: Remarks to show with the figures.
    """

    measure: Measure
    to_real: NDArray[np.float64]
    to_some: NDArray[np.float64]
    to_control: NDArray[np.float64] | None
    notes: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The attack."""
        return f"trajectories, {self.leak.name}"

    @property
    def leak(self) -> Leak:
        """The share of synthetic trajectories that nearly equal a person's."""
        return self.above(_SIMILAR)

    def risks_at(self, level: float) -> tuple[Risk, ...]:
        """Return the risk with its interval of this confidence."""
        return tuple(risk._replace(name=self.name) for risk in self.leak.risks_at(level))

    @property
    def facts(self) -> tuple[tuple[str, str], ...]:
        """The result in words, for a page."""
        ((_, words),) = self.leak.facts
        return ((self.name, f"{words}; the most similar one {self.largest:.2f}"),)

    @property
    def largest(self) -> float:
        """Of all."""
        return float(self.to_real.max())

    def above(self, threshold: float) -> Leak:
        """Return the share of synthetic trajectories that are at least this similar to a person's."""
        control = None if self.to_control is None else Rate.of(self.to_control >= threshold)
        nothing = Rate(successes=0, trials=len(self.to_real))
        return Leak(
            name=f"{self.measure} of {threshold:g} or more",
            attack=Rate.of(self.to_some >= threshold),
            baseline=nothing,
            control=control,
            notes=self.notes,
        )

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        quantiles = np.quantile(self.to_real, [0.5, 0.95, 1.0])
        plain: dict[str, Any] = {"name": self.name, "measure": self.measure, "mean": float(self.to_real.mean())}
        plain |= dict(zip(("median", "p95", "largest"), quantiles.tolist(), strict=True))
        if self.to_control is not None:
            plain |= {
                "largest_to_control": float(self.to_control.max()),
                "mean_to_control": float(self.to_control.mean()),
                "mean_to_as_many": float(self.to_some.mean()),
                "notes": list(self.notes),
            }
        return plain


def trajectory_similarity(
    made: Sequence[Any],
    real: Sequence[Any],
    *,
    control: Sequence[Any] | None = None,
    measure: Measure = "jaccard",
    rng: np.random.Generator | None = None,
) -> Similarity:
    """Compare each synthetic trajectory with all real ones, and with a control beside as many real ones.

    Args:
        made: Synthetic trajectories: codes of places, or points for warping.
        real: The trajectories that they were made from.
        control: Others of the same population.
        measure: See the module.
        rng: Draws equally many from the larger of real and control; by default a fixed generator.
    """
    if measure not in _MEASURES:
        raise InvalidInput("must be jaccard, multiset, edit or warping", field="measure", value=measure)
    for field, given in (("made", made), ("real", real), ("control", control if control is not None else real)):
        if not len(given) or any(len(each) == 0 for each in given):
            raise InvalidInput("must be trajectories of at least one place", field=field)
    if control is None:
        similar = _closest(made, real, measure)
        return Similarity(measure=measure, to_real=similar, to_some=similar, to_control=None)
    rng = rng or np.random.default_rng(0)
    size, order = min(len(real), len(control)), rng.permutation(len(real))
    beside = [control[place] for place in rng.permutation(len(control))[:size]]
    some = similar = _closest(made, [real[place] for place in order[:size]], measure)
    notes: tuple[str, ...] = ()
    if size < len(real):
        similar = np.maximum(some, _closest(made, [real[place] for place in order[size:]], measure))
        notes = (f"{size} were held back, of {len(real)} real ones: as many real ones were drawn to compare with.",)
    return Similarity(
        measure=measure, to_real=similar, to_some=some, to_control=_closest(made, beside, measure), notes=notes
    )


def _closest(made: Sequence[Any], others: Sequence[Any], measure: Measure) -> NDArray[np.float64]:
    if measure in ("jaccard", "multiset"):
        order = np.unique if measure == "jaccard" else np.sort
        made, others = ([order(np.asarray(each).ravel()) for each in side] for side in (made, others))
    wide = 1 if measure != "warping" else np.asarray(made[0], np.float64).reshape(len(made[0]), -1).shape[1]
    flat, starts = _packed(made, wide)
    their_flat, their_starts = _packed(others, wide)
    best = np.empty(len(made))
    kernel = {"edit": _edit, "warping": _warp}.get(measure, _overlap)
    kernel(flat, starts, their_flat, their_starts, best)
    return best


def _packed(trajectories: Sequence[Any], wide: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    parts = [np.asarray(each, np.float64).reshape(len(each), -1) for each in trajectories]
    if any(part.shape[1] != wide for part in parts):
        raise InvalidInput("must be points with as many coordinates each", field="trajectories", value=wide)
    return np.concatenate(parts), np.cumsum([0, *(len(part) for part in parts)]).astype(np.int64)


@compiled
def _overlap(flat: Any, starts: Any, theirs: Any, their_starts: Any, best: Any) -> None:
    """Compute |A and B| / |A or B| of sorted codes, by merging."""
    for i in range(starts.size - 1):
        first, size, best[i] = starts[i], starts[i + 1] - starts[i], 0.0
        for j in range(their_starts.size - 1):
            second, length = their_starts[j], their_starts[j + 1] - their_starts[j]
            if min(size, length) <= best[i] * max(size, length):  # no overlap can be larger than this
                continue
            a, b, shared = 0, 0, 0
            while a < size and b < length:
                one, other = flat[first + a, 0], theirs[second + b, 0]
                a += one <= other
                b += other <= one
                shared += one == other
            best[i] = max(best[i], shared / (size + length - shared))


@compiled
def _edit(flat: Any, starts: Any, theirs: Any, their_starts: Any, best: Any) -> None:
    """Compute Levenshtein's distance, one row of the table at a time."""
    for i in range(starts.size - 1):
        one, best[i] = flat[starts[i] : starts[i + 1], 0], 0.0
        for j in range(their_starts.size - 1):
            other = theirs[their_starts[j] : their_starts[j + 1], 0]
            if min(one.size, other.size) <= best[i] * max(one.size, other.size):  # it cannot be more similar
                continue
            row = np.arange(other.size + 1)
            for a in range(one.size):
                corner, row[0] = row[0], a + 1
                for b in range(other.size):
                    kept = corner + (one[a] != other[b])
                    corner = row[b + 1]
                    row[b + 1] = min(kept, corner + 1, row[b] + 1)
            best[i] = max(best[i], 1 - row[other.size] / max(one.size, other.size))


@compiled
def _warp(flat: Any, starts: Any, theirs: Any, their_starts: Any, best: Any) -> None:
    """Compute dynamic time warping: the least sum of distances along an alignment, and its length."""
    wide = flat.shape[1]
    for i in range(starts.size - 1):
        one, best[i] = flat[starts[i] : starts[i + 1]], 0.0
        for j in range(their_starts.size - 1):
            other = theirs[their_starts[j] : their_starts[j + 1]]
            size = other.shape[0]
            cost, length = np.full(size + 1, np.inf), np.zeros(size + 1)
            cost[0] = 0.0
            for a in range(one.shape[0]):
                corner, corner_length = cost[0], length[0]
                cost[0] = np.inf
                for b in range(size):
                    gap = 0.0
                    for c in range(wide):
                        gap += (one[a, c] - other[b, c]) ** 2
                    least, steps = corner, corner_length
                    if cost[b + 1] < least:
                        least, steps = cost[b + 1], length[b + 1]
                    if cost[b] < least:
                        least, steps = cost[b], length[b]
                    corner, corner_length = cost[b + 1], length[b + 1]
                    cost[b + 1], length[b + 1] = least + np.sqrt(gap), steps + 1
            best[i] = max(best[i], 1 / (1 + cost[size] / length[size]))


def _run(case: Case, options: AssessmentOptions, rng: np.random.Generator) -> Iterator[Result]:
    assert case.tracks is not None
    made, most = case.tracks.released, options.attempts
    some = made if len(made) <= most else [made[place] for place in rng.choice(len(made), most, replace=False)]
    tracks = case.tracks
    yield trajectory_similarity(some, tracks.real, control=tracks.control, measure="edit", rng=rng)
    yield trajectory_similarity(some, tracks.real, control=tracks.control, measure="multiset", rng=rng)
    if tracks.points is not None:
        paths = [[tracks.points[each] for each in side] for side in (some, tracks.real, tracks.control or ())]
        yield trajectory_similarity(paths[0], paths[1], control=paths[2] or None, measure="warping", rng=rng)


TRAJECTORIES = Attack(
    name="trajectories",
    title="trajectories",
    question="Do released trajectories nearly equal those of people?",
    needs="released visits: rows with a person, a time and a place",
    run=_run,
    applies=lambda case, options: None if case.tracks else "It needs visits: rows with a person, a time and a place.",
)
