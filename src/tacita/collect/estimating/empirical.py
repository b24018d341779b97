"""Shrinkage by how much the measurements of many attributes or pairs differ among themselves (empirical Bayes).

    shrink_singles   shares of attributes with the same labels, towards their mean      [James, Stein 1961; Morris 1983]
    kept_shares      what a model leaves of the pairs: most of it is noise, some is not [Johnstone, Silverman 2004]

Singles: attribute i has the mean m of its group plus a difference of variance t; measured with variance v_i it keeps
t / (t + v_i) of its difference. t solves sum_i |x_i - m|^2 / (t + v_i) = free - 2, and is 0 where that has no solution.
With equal v_i this is the positive part of James and Stein's estimate, which is nearer to the truth in the mean than
the measurement itself, whatever the truth is.

Pairs: the rest r of a pair, with f free numbers of variance v, is 0 with probability 1 - s, else normal with variance t
in each. s and t are those that make all pairs most likely; the published rest is its mean given r, times the weight of
this law against that of noise alone (by Akaike's rule: s and t cost two units of likelihood). Where few pairs
depend in another way than the model says, these are kept nearly whole and the others nearly not at all.

Privacy: post-processing of reports; nothing is spent.   Claim page: docs/claims/collected-tables.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import expit

from tacita.collect.estimating.interactions import Interactions

__all__ = ["TwoGroups", "kept_shares", "shrink_singles", "shrunk_parameters"]

Array = NDArray[np.float64]

_FEWEST = 4
"""Attributes with the same labels below which they are left as they were measured."""
_PARAMETERS = 2
"""Share and variance: what they gain by following noise alone, on Akaike's scale."""
_STEPS = 200
_CLOSE = 1e-6


def shrink_singles(measured: Interactions) -> Interactions:
    """The same measurements with the shares of attributes shrunk towards the mean of those with the same labels."""
    singles = measured.singles.copy()
    for places, values, variances in _alike(measured):
        for place, row in zip(places, _towards_mean(values, variances), strict=True):
            singles[measured.blocks[place]] = row
    return replace(measured, singles=singles)


def shrunk_parameters(measured: Interactions) -> float:
    """Effective parameters of single attributes that `shrink_singles` takes away."""
    saved = 0.0
    for _, values, variances in _alike(measured):
        taken = 1 - _kept_differences(values, variances)
        saved += (values.shape[1] - 1) * float(taken.sum() - taken.mean())  # their mean stays
    return saved


def _alike(measured: Interactions) -> Iterator[tuple[list[int], Array, Array]]:
    """Attributes with the same labels: their places, measured shares and variances."""
    groups: dict[tuple[str, ...], list[int]] = {}
    for place, name in enumerate(measured.domain.names):
        groups.setdefault(tuple(measured.domain[name].all_labels), []).append(place)
    for places in groups.values():
        if len(places) >= _FEWEST:
            values = np.stack([measured.singles[measured.blocks[place]] for place in places])
            known = [float(measured.single_precision[measured.blocks[place]].mean()) for place in places]
            yield places, values, 1 / np.array(known)


def _towards_mean(values: Array, variances: Array) -> Array:
    """Rows shrunk towards their mean; each has its own variance in every free direction."""
    spread = _spread(values, variances)
    if spread is None:
        return values
    weights = 1 / (spread + variances)
    centre = np.asarray(weights @ values / weights.sum())
    return np.asarray(centre + (spread / (spread + variances))[:, None] * (values - centre))


def _kept_differences(values: Array, variances: Array) -> Array:
    """The share that each row keeps of its difference from the mean."""
    spread = _spread(values, variances)
    return np.ones(len(values)) if spread is None else np.asarray(spread / (spread + variances))


def _spread(values: Array, variances: Array) -> float | None:
    """The variance of the rows around their mean, beside that of their noise; None where rows are too few."""
    rows, columns = values.shape
    free = (rows - 1) * (columns - 1)
    if free < 3:
        return None

    def mean(spread: float) -> Array:
        weights = 1 / (spread + variances)
        return np.asarray(weights @ values / weights.sum())

    def excess(spread: float) -> float:
        squares = ((values - mean(spread)) ** 2).sum(axis=1)
        return float(np.sum(squares / (spread + variances))) - float(free - 2)

    if excess(0.0) <= 0:
        return 0.0
    high = float(np.max(((values - mean(0.0)) ** 2).sum(axis=1))) * rows + float(variances.max())
    while excess(high) > 0:
        high *= 4
    return float(brentq(excess, 0.0, high))


@dataclass(frozen=True, kw_only=True, eq=False)
class TwoGroups:
    """The law of some rests: each is 0 with probability 1 - share, else normal with variance `spread` in each number.

    Attributes:
        share: Of the rests that are not 0. spread: Their variance.
        odds: Logarithm of the odds that each is not 0.
        squares: Sum of squares of each rest. free: Its free numbers. noise: Variance of each of them.
    """

    share: float
    spread: float
    odds: Array = field(repr=False)
    squares: Array = field(repr=False)
    free: Array = field(repr=False)
    noise: Array = field(repr=False)

    @classmethod
    def fit(cls, squares: Sequence[float], free: Sequence[int], variances: Sequence[float]) -> TwoGroups:
        """The share and the variance that make all rests most likely."""
        total, count, noise = (np.asarray(each, float) for each in (squares, free, variances))
        share, spread = 0.5, max(float(np.mean(total / count - noise)), float(noise.mean()) * 0.1)
        for _ in range(_STEPS):
            seen = expit(_odds(total, count, noise, share, spread))
            # the variance that these would have, given which of them are not 0
            second = (spread / (spread + noise)) ** 2 * total + count * spread * noise / (spread + noise)
            before = share, spread
            share = float(np.clip(seen.mean(), 1e-3, 1 - 1e-9))
            spread = float((seen * second).sum() / max((seen * count).sum(), 1e-300))
            if abs(share - before[0]) < _CLOSE and abs(spread - before[1]) < _CLOSE * spread:
                break
        odds = _odds(total, count, noise, share, spread)
        return cls(share=share, spread=spread, odds=odds, squares=total, free=count, noise=noise)

    @property
    def gain(self) -> float:
        """Of the logarithm of the likelihood, over all rests being 0."""
        return float((np.logaddexp(0.0, self.odds) + np.log1p(-self.share)).sum())

    @property
    def kept(self) -> Array:
        """The share of a rest that is kept where it is not 0."""
        return self.spread / (self.spread + self.noise)

    @property
    def uncertain(self) -> Array:
        """The expected squared error of the posterior mean of each rest."""
        likely = expit(self.odds)
        return np.asarray(
            likely * self.free * self.kept * self.noise + likely * (1 - likely) * self.kept**2 * self.squares
        )


def kept_shares(squares: Sequence[float], free: Sequence[int], variances: Sequence[float]) -> Array:
    """The share of each rest that is kept, by the law of all of them.

    Args:
        squares: The sum of squares of each rest.
        free: How many free numbers it has.
        variances: Of each of them.
    """
    total, count, noise = (np.asarray(each, float) for each in (squares, free, variances))
    if total.size < _FEWEST:
        return np.asarray(np.clip(1 - count * noise / np.maximum(total, 1e-300), 0.0, None))
    groups = TwoGroups.fit(squares, free, variances)
    return np.asarray(expit(groups.gain - _PARAMETERS) * expit(groups.odds) * groups.kept)


def _odds(total: Array, count: Array, noise: Array, share: float, spread: float) -> Array:
    """Logarithm of the odds that each is not 0."""
    both = spread + noise
    even = np.log(share) - np.log1p(-share) - 0.5 * count * np.log(both / noise)
    return np.asarray(even + 0.5 * total * (1 / noise - 1 / both))
