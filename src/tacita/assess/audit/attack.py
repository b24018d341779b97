"""A lower bound on epsilon by attack: run a mechanism often on two neighbours, and test how well they can be separated.

    1  run it on both; a quarter of the outputs of each is for looking, one for choosing, half for judging
    2  sort outputs into categories, in a few ways, and order the categories of each by likelihood ratio (looking)
    3  choose the way, the order and the number of first categories with the best bound (choosing)
    4  count that set in the rest: with Clopper-Pearson bounds p_low <= P(set), q_high >= Q(set),
       epsilon >= ln((p_low - delta) / q_high)      with the stated confidence

The set is fixed before it is judged, so that one bound is enough. The bound needs no model of the mechanism and holds
for any, provided its runs are independent. Up to its confidence, it can be too low and never too high.

Ways to sort: outputs that repeat are categories themselves. Numbers are cut at quantiles, alone and together with the
number of zeros at their last binary digits, which reveal naive noise in floating point.  [Mironov 2012]
Few numbers are cut on a grid, and any number of them along the line on which the two sides differ most; up to 16 are
also sorted one by one, with their last digits. Pass a `score` of your own where you know a better statistic.

With the epsilon of a claim, a bound above it comes with a reason: see `reason`.

At a small delta an event that shows the whole epsilon is too rare to be observed. With `family="gaussian"` the bound is
on mu instead, from frequent events, mu >= Phi^-1(p_low) - Phi^-1(q_high), and epsilon is that of mu at delta. It
refutes every claim of mu'-Gaussian privacy with a smaller mu'. As a bound on epsilon it holds for noise that is
Gaussian, or discrete on a grid that is fine against its spread; the result states this assumption.  [Nasr et al. 2023]
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, special

from tacita.assess.audit.reason import Reason, coarse, reason_of
from tacita.common.binomial import lower_end, upper_end
from tacita.errors import InvalidInput
from tacita.privacy.risk.at_risk import delta_of

__all__ = ["Audited", "Mechanism", "audit", "epsilon_bound", "gaussian_epsilon", "mu_bound", "repeated"]

Mechanism = Callable[[Any, int, np.random.Generator], Any]
"""Runs on data a number of times and returns the outputs: numbers, rows of numbers, or anything comparable."""

_BINS = 256
_CELLS = 1024  # of a grid over few numbers
_FEW = 4
_REPEATED = 4  # times that outputs occur on average, to be taken as categories alone
_EACH = 16  # most numbers of an output that are also sorted one by one
_MOST_ZEROS = 24
_LEAST_TRIALS = 100
_RIDGE = 1e-6
_WARY = 1e4


@dataclass(frozen=True, kw_only=True)
class Audited:
    """Result of an audit by attack.

    Attributes:
        epsilon: Lower bound at `delta` that holds with `confidence`; 0 when the attack found no evidence.
        trials: Runs on each of the two neighbours.
        hits: How often the chosen set occurred among the judged runs of the two sides, and how many were judged.
        reason: Why the bound is above the claim, where it is and a claim was given.
    """

    epsilon: float
    delta: float
    confidence: float
    trials: int
    hits: tuple[int, int]
    judged: int
    assumed: str = ""
    reason: Reason | None = None

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "epsilon": self.epsilon,
            "delta": self.delta,
            "confidence": self.confidence,
            "trials": self.trials,
            "hits": list(self.hits),
            "judged": self.judged,
            "assumed": self.assumed or None,
            "reason": None if self.reason is None else self.reason.as_dict(),
        }


def repeated(function: Callable[[Any], Any]) -> Mechanism:
    """Make a mechanism of a function that returns one output per call; the function may be of any library."""

    def run(data: Any, times: int, rng: np.random.Generator) -> Any:
        return [function(data) for _ in range(times)]

    return run


def audit(
    mechanism: Mechanism,
    one: Any,
    other: Any,
    *,
    trials: int,
    rng: np.random.Generator,
    delta: float = 0.0,
    confidence: float = 0.95,
    score: Callable[[Any], Any] | None = None,
    family: Literal["any", "gaussian"] = "any",
    claimed: float | None = None,
) -> Audited:
    """Bound the epsilon of a mechanism from below, from its outputs on two neighbours.

    Args:
        mechanism: The mechanism to audit.
        one, other: Two neighbouring inputs; the worst pair that you can think of.
        trials: Runs on each.
        rng: Passed to the mechanism, and used for nothing else.
        delta: The delta of the claim.
        confidence: Of the bound.
        score: Maps all outputs at once to numbers, or to comparable things, before anything else is done.
        family: Whether the noise is assumed to be Gaussian, which gives a larger bound at a small delta.
        claimed: The epsilon of the claim: a bound above it comes with a reason.
    """
    if type(trials) is not int or trials < _LEAST_TRIALS:
        raise InvalidInput(f"must be a whole number of at least {_LEAST_TRIALS}", field="trials", value=trials)
    if not 0 <= delta < 1:
        raise InvalidInput("must be at least 0 and below 1", field="delta", value=delta)
    if family == "gaussian" and not delta:
        raise InvalidInput("must be above 0 for Gaussian noise", field="delta", value=delta)
    if not 0.5 <= confidence < 1:
        raise InvalidInput("must be at least 0.5 and below 1", field="confidence", value=confidence)
    outputs = [mechanism(data, trials, rng) for data in (one, other)]
    if score is not None:
        outputs = [score(each) for each in outputs]
    one_side, other_side = (_tidy(each, trials) for each in outputs)
    if one_side.shape[1:] != other_side.shape[1:]:
        raise InvalidInput("must give outputs of one shape", field="mechanism", value=one_side.shape)
    found, hits = _bound(one_side, other_side, delta=delta, confidence=confidence, family=family)
    reason = None
    if claimed is not None and found > claimed:
        rounded = coarse(one_side, other_side)
        again = None if rounded is None else _bound(*rounded, delta=delta, confidence=confidence, family=family)
        reason = reason_of(
            claimed,
            shown=found,
            rounded=None if again is None else again[0],
            hits=hits if again is None else again[1],
            judged=trials - trials // 2,
        )
    return Audited(
        epsilon=found,
        delta=delta,
        confidence=confidence,
        trials=trials,
        hits=hits,
        judged=trials - trials // 2,
        assumed="Gaussian noise" if family == "gaussian" else "",
        reason=reason,
    )


def _bound(
    one_side: NDArray[Any], other_side: NDArray[Any], *, delta: float, confidence: float, family: str
) -> tuple[float, tuple[int, int]]:
    """Compute the bound on epsilon, and how often its set occurred among the judged runs of the two sides."""
    trials = len(one_side)
    quarter, half = trials // 4, trials // 2
    shown = epsilon_bound if family == "any" else mu_bound
    # the best of very many bounds is mostly chance, most so for rare sets: each is computed at a higher confidence
    wary = 1 - (1 - confidence) / _WARY
    best: tuple[float, Any, Any, bool] = (-math.inf, None, None, False)
    for codes, on_a_line in _ways(one_side, other_side, quarter):
        size = int(codes.max()) + 1
        sides = codes[:trials], codes[trials:]
        looked = [np.bincount(side[:quarter], minlength=size) for side in sides]
        chosen = [np.bincount(side[quarter:half], minlength=size) for side in sides]
        for swapped in (False, True):
            counts = [list(reversed(each)) if swapped else each for each in (looked, chosen)]
            for order in _orders(counts[0], on_a_line):
                p, q = (np.cumsum(side[order]) for side in counts[1])
                bounds = shown(p, q, half - quarter, delta, wary)
                place = int(np.argmax(bounds))
                if bounds[place] > best[0]:
                    best = (float(bounds[place]), sides, order[: place + 1], swapped)
    _, sides, these, swapped = best
    hits = tuple(int(np.isin(side[half:], these).sum()) for side in sides) if sides is not None else (0, 0)
    ours, theirs = reversed(hits) if swapped else hits
    found = max(0.0, float(shown(np.array(ours), np.array(theirs), trials - half, delta, confidence)))
    return gaussian_epsilon(found, delta) if family == "gaussian" else found, (hits[0], hits[1])


def _tidy(outputs: Any, trials: int) -> NDArray[Any]:
    """Return one output per trial: numbers, rows of numbers, or the texts of anything else."""
    if isinstance(outputs, Sequence) and outputs and all(isinstance(each, list | tuple) for each in outputs):
        try:
            rows = np.asarray(outputs)
        except ValueError:  # not all of one length
            rows = np.empty(0, object)
        if rows.dtype.kind in "iufb" and rows.ndim > 1 and rows.shape[1]:
            outputs = rows
    if isinstance(outputs, Sequence) and outputs and not isinstance(outputs[0], int | float | np.ndarray | np.number):
        outputs = np.array([repr(each) for each in outputs])
    array = np.asarray(outputs)
    if len(array) != trials:
        raise InvalidInput("must give one output for each trial", field="mechanism", value=len(array))
    if array.dtype.kind == "O":
        array = np.array([repr(each) for each in array])
    return array.reshape(trials, -1) if array.ndim > 1 else array


def _ways(one: NDArray[Any], other: NDArray[Any], quarter: int) -> Iterator[tuple[NDArray[np.int64], bool]]:
    """Yield ways to sort the outputs of both sides into categories, by rules that use the first quarters only.

    Each comes with whether its categories are ordered along a line.
    """
    both = np.concatenate([one, other])
    looked = np.concatenate([one[:quarter], other[:quarter]])
    distinct = np.unique(looked, axis=0)
    if len(distinct) <= max(_BINS, len(looked) // 50):
        codes = np.unique(both, axis=0, return_inverse=True)[1]
        yield codes.reshape(-1).astype(np.int64), both.ndim == 1 and both.dtype.kind in "iuf"
        if both.dtype.kind not in "iufb" or _REPEATED * len(distinct) <= len(looked):
            return  # numbers that hardly repeat are also sorted in the other ways
    if both.dtype.kind not in "iufb":
        raise InvalidInput("returns too many different outputs", field="mechanism", hint="Pass a score")
    columns = both.astype(np.float64).reshape(len(both), -1)
    place = np.r_[0:quarter, len(one) : len(one) + quarter]
    wide = columns.shape[1]
    if wide > 1:
        line = columns @ _direction(columns[:quarter], columns[len(one) : len(one) + quarter])
        yield _cut(line, place, _BINS), True
    else:
        bins = _cut(columns[:, 0], place, _BINS)
        yield bins, True
        yield bins * (_MOST_ZEROS + 1) + _zeros(columns[:, 0]), False
    for column in columns.T if 1 < wide <= _EACH else ():
        bins = _cut(column, place, _BINS // 4)
        yield bins, True
        yield bins * (_MOST_ZEROS + 1) + _zeros(column), False
    if 1 < wide <= _FEW:
        grid, each = np.zeros(len(both), np.int64), max(2, int(_CELLS ** (1 / wide)))
        for column in columns.T:
            grid = grid * each + _cut(column, place, each)
        yield grid, False


def _cut(line: NDArray[np.float64], place: NDArray[np.int64], bins: int) -> NDArray[np.int64]:
    edges = np.unique(np.quantile(line[place], np.linspace(0, 1, bins + 1)[1:-1]))
    return np.searchsorted(edges, line, side="right").astype(np.int64)


def _direction(one: NDArray[np.float64], other: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the direction in which the two sides differ most, relative to their spread."""
    spread = (np.cov(one, rowvar=False) + np.cov(other, rowvar=False)) / 2
    spread = np.atleast_2d(spread)
    ridge = _RIDGE * max(float(np.trace(spread)), 1e-300) / len(spread)
    return np.asarray(np.linalg.solve(spread + ridge * np.eye(len(spread)), one.mean(axis=0) - other.mean(axis=0)))


def _zeros(line: NDArray[np.float64]) -> NDArray[np.int64]:
    """Count the last binary digits that are 0."""
    bits = np.ascontiguousarray(line).view(np.int64)
    lowest = (bits & -bits).astype(np.uint64)
    zeros = np.full(line.shape, _MOST_ZEROS, np.int64)
    some = lowest > 0
    zeros[some] = np.log2(lowest[some].astype(np.float64)).astype(np.int64)
    return np.minimum(zeros, _MOST_ZEROS)


def _orders(looked: Sequence[NDArray[np.int64]], on_a_line: bool) -> Iterator[NDArray[np.int64]]:
    """Yield orders in which categories may join the set: by likelihood ratio; on a line, also from either end of it.

    If the sides hardly differ, the ratio of each category is mostly chance, and an end of the line distinguishes more.
    """
    p, q = looked
    seen = np.flatnonzero(p + q)
    yield seen[np.argsort(-(p[seen] + 0.5) / (q[seen] + 0.5), kind="stable")]  # likeliest for the one side first
    if on_a_line:
        yield seen
        yield seen[::-1]


def _ends(p: Any, q: Any, trials: int, confidence: float) -> tuple[Any, Any]:
    """Compute a lower end for the share of one side and an upper end for the other's, each with half of the risk."""
    miss = (1 - confidence) / 2
    return lower_end(p, trials, miss), upper_end(q, trials, miss)


def epsilon_bound(p: Any, q: Any, trials: int, delta: float, confidence: float) -> Any:
    """Compute ln((p_low - delta) / q_high); minus infinity where it is no bound."""
    low, high = _ends(p, q, trials, confidence)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(low > delta, np.log(np.maximum(low - delta, 1e-300) / high), -np.inf)


def mu_bound(p: Any, q: Any, trials: int, delta: float, confidence: float) -> Any:
    """Compute Phi^-1(p_low) - Phi^-1(q_high); minus infinity where it is no bound."""
    low, high = _ends(p, q, trials, confidence)
    with np.errstate(invalid="ignore"):
        found = special.ndtri(low) - special.ndtri(high)
    return np.where((low > 0) & (high < 1), found, -np.inf)


def gaussian_epsilon(mu: float, delta: float) -> float:
    """Compute the smallest epsilon of mu-Gaussian privacy at a delta.  [Balle, Wang 2018]

    >>> round(gaussian_epsilon(1.0, 1e-5), 3)
    4.377
    """
    if mu <= 0:
        return 0.0
    if delta <= 0:
        return math.inf

    def gap(epsilon: float) -> float:
        return delta_of(epsilon, mu, kind="gaussian") - delta

    if gap(0.0) <= 0:
        return 0.0
    high = 1.0
    while gap(high) > 0:
        high *= 2
    return float(optimize.brentq(gap, 0.0, high, xtol=1e-12))
