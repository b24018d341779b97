"""Private selection of one of several candidates: the exponential mechanism, and report noisy max.

The exponential mechanism, drawn exactly [McSherry, Talwar 2007]:

Law:      P(i) proportional to exp(epsilon s_i / (2 (G + 1))), with s_i = score_i / sensitivity in G steps, rounded.
Privacy:  epsilon-DP, and epsilon^2/8-zCDP because the log odds of two candidates move by at most epsilon.
          [Cesar, Rogers 2021]. Scores need not move in one direction, so that the full factor 2 is paid.
          Claim: docs/claims/marginal-synthesis.md
Sampling: a candidate is drawn evenly and kept with probability exp(-(best - s_i) epsilon / (2 (G + 1))): integers and
          ratios only. Rounding moves a difference of at most G steps to at most G; the step more pays for what
          floating point does to a score before it is rounded.

Report noisy max [McKenna, Sheldon 2020: permute and flip]:

Privacy:  with scores of sensitivity D and scale s, 2D/s-DP; pure. OpenDP draws, and its privacy map is what is charged.
          Claim: docs/claims/selection.md
Utility:  never worse than the exponential mechanism at the same epsilon.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacita import check
from tacita.common.compiled import compiled
from tacita.errors import InvalidInput
from tacita.noise import Source, _opendp
from tacita.noise._exact import ENDED, below, coin_exp
from tacita.privacy.event import Event, Pure, Zcdp

__all__ = ["GRID", "ExponentialMechanism", "noisy_max"]

GRID = 1 << 10
"""Steps of a score that one sensitivity is worth."""

_UNIT = 1 << 34  # epsilon is a multiple of one over this
_FURTHEST = 40  # in exponents: one drawn less often than e^-40 counts as that far behind


@compiled
def _choose(words: Any, bits: int, behind: Any, top: Any, bottom: Any) -> tuple[Any, int]:
    """The index that is kept first, or -1 when the tape has ended."""
    at = 0
    while True:
        index, at = below(words, at, bits, np.uint64(behind.size))
        if at == ENDED:
            return -1, at
        kept, at = coin_exp(words, at, bits, behind[index] * top, bottom)
        if at == ENDED:
            return -1, at
        if kept:
            return np.int64(index), at


@dataclass(frozen=True, kw_only=True)
class ExponentialMechanism:
    """A private choice of one among several candidates, with its cost fixed."""

    epsilon: Fraction
    concentrated: bool = False
    """Whether it is charged in rho."""

    def __post_init__(self) -> None:
        if not isinstance(self.epsilon, Fraction) or self.epsilon <= 0:
            raise InvalidInput("must be a positive ratio", field="epsilon", value=self.epsilon)

    @classmethod
    def pure(cls, epsilon: float | Fraction) -> ExponentialMechanism:
        """A choice that costs at most epsilon."""
        return cls(epsilon=_at_most(Fraction(epsilon)))

    @classmethod
    def zcdp(cls, rho: float | Fraction) -> ExponentialMechanism:
        """A choice that costs at most rho: epsilon^2 / 8."""
        return cls(epsilon=_at_most(Fraction(math.sqrt(8 * rho)) * (1 - Fraction(1, 10**12))), concentrated=True)

    @property
    def event(self) -> Event:
        """Cost of one choice."""
        return Zcdp(rho=self.epsilon**2 / 8) if self.concentrated else Pure(epsilon=self.epsilon)

    def draw(self, scores: Sequence[float] | NDArray[np.float64], *, sensitivity: float, source: Source) -> int:
        """Index of a candidate whose score is nearly the best.

        Args:
            scores: One for each candidate. The candidates must not depend on the data.
            sensitivity: Most that one unit's data changes any score.
            source: Randomness.
        """
        check.positive(sensitivity, "sensitivity")
        values = np.asarray(scores, float)
        if not values.size or not np.isfinite(values).all():
            raise InvalidInput("must be finite numbers, at least one", field="scores")
        steps = np.rint(values / sensitivity * GRID)
        rate = self.epsilon / (2 * (GRID + 1))
        # no score may lie further behind the best than this, so that no product overflows: the larger of two numbers
        # that move by at most a step each moves by at most a step
        behind = np.minimum(steps.max() - steps, math.ceil(_FURTHEST / rate)).astype(np.uint64)
        top, bottom = np.uint64(rate.numerator), np.uint64(rate.denominator)
        tape = source.words(64 + 4 * values.size)
        while True:
            index, _ = _choose(tape, 64, behind, top, bottom)
            if index >= 0:
                return int(index)
            tape = np.concatenate([tape, source.words(tape.size)])  # the same words, then fresh ones: see `_exact`


def _at_most(value: Fraction) -> Fraction:
    """A ratio of at most this, with terms that the sampler can multiply without overflow."""
    rounded = Fraction(math.floor(value * _UNIT), _UNIT)
    if rounded <= 0:
        raise InvalidInput("is too small for an exact choice", field="epsilon", value=float(value))
    return rounded


def noisy_max(scores: Sequence[float], *, sensitivity: float, epsilon: float, source: Source) -> int:
    """Index of a candidate whose score is nearly the best, at a cost of at most `epsilon`."""
    check.positive(epsilon, "epsilon")
    check.positive(sensitivity, "sensitivity")
    if not len(scores) or not all(math.isfinite(score) for score in scores):
        raise InvalidInput("must be finite numbers, at least one", field="scores")
    scale = 2 * sensitivity / epsilon
    while _opendp.noisy_max_epsilon(scale, sensitivity) > epsilon:
        scale = math.nextafter(scale, math.inf)
    if not source.simulated:
        return _opendp.noisy_max(scores, scale)
    # permute-and-flip has the law of the largest score plus exponential noise
    uniforms = (source.words(len(scores)) >> np.uint64(11)).astype(float) * 2.0**-53
    return int(np.argmax(np.asarray(scores, float) - scale * np.log1p(-uniforms)))
