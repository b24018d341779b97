"""ROC figures of scores that distinguish members from others, with emphasis on low false positive rates.

    AUC                   the chance that a member scores above another; an average that hides the few who are found
    TPR at 1 % and 0.1 %  members found when one non-member in a hundred, or in a thousand, is accused
    epsilon               lower bound on the epsilon of a mechanism with such scores, with exact confidence

0.1 % of two thousand people are two: intervals are always given, and are wide. They cover the variance of the members
and of the threshold, which is estimated from the others. 0.1 % of fewer than a thousand people is less than one person:
then no rate is given.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats

from tacita.assess.audit.attack import epsilon_bound
from tacita.assess.rates import Rate, Risk
from tacita.errors import InvalidInput

__all__ = ["Membership"]

FPRS = (0.01, 0.001)
_LEAST = 20


@dataclass(frozen=True, kw_only=True, eq=False)
class Membership:
    """Scores of members and of others; a higher score indicates membership.

    Attributes:
        name: The attack.
        inside: Scores of people whose data was used.
        outside: Scores of people whose data was not.
        notes: Remarks to show with the figures.
    """

    name: str
    inside: NDArray[np.float64]
    outside: NDArray[np.float64]
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for side in ("inside", "outside"):
            scores = np.asarray(getattr(self, side), np.float64).ravel()
            if not scores.size or np.isnan(scores).any():
                raise InvalidInput("must be at least one score, and none missing", field=side, value=scores.size)
            object.__setattr__(self, side, scores)

    @property
    def auc(self) -> float:
        """AUC: P(member above other) + P(equal)/2."""
        ranks = stats.rankdata(np.concatenate([self.inside, self.outside]))
        n, m = len(self.inside), len(self.outside)
        return float((ranks[:n].sum() - n * (n + 1) / 2) / (n * m))

    @property
    def guesses(self) -> int:
        """Number of people of the smaller side."""
        return min(len(self.inside), len(self.outside))

    def auc_interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return the interval of the AUC, from the variance of each side's placements.  [DeLong et al. 1988]

        Computed on the logit scale, so that it stays between 0 and 1. If every pair is in order, that variance is 0 and
        useless; the interval then treats the largest number of disjoint pairs as successes of as many trials.
        """
        auc = self.auc
        if auc in (0.0, 1.0):
            return Rate(successes=round(auc * self.guesses), trials=self.guesses).exact(level)
        inside, outside = np.sort(self.inside), np.sort(self.outside)

        def placed(scores: NDArray[np.float64], among: NDArray[np.float64]) -> NDArray[np.float64]:
            below, up_to = (np.searchsorted(among, scores, side=side) for side in ("left", "right"))
            return np.asarray((below + up_to) / (2 * len(among)))

        spread = 0.0
        for scores, among in ((inside, outside), (outside, inside)):
            if len(scores) > 1:
                spread += float(np.var(placed(scores, among), ddof=1)) / len(scores)
        half = float(special.ndtri((1 + level) / 2)) * math.sqrt(spread) / (auc * (1 - auc))
        low, high = special.expit(special.logit(auc) + np.array([-half, half]))
        return float(low), float(high)

    def risks_at(self, level: float) -> tuple[Risk, ...]:
        """Return 2 AUC - 1, at least 0, with its interval of this confidence."""
        value, low, high = (max(0.0, 2 * each - 1) for each in (self.auc, *self.auc_interval(level)))
        return (Risk(f"membership, {self.name}", value, low, high, self.guesses),)

    @property
    def facts(self) -> tuple[tuple[str, str], ...]:
        """The result in words, for a page."""
        low, high = self.auc_interval()
        few = ", ".join(self.tpr_words(fpr) for fpr in FPRS)
        area = f"AUC {self.auc:.3f} ({low:.3f} to {high:.3f})"
        return ((f"membership, {self.name}", f"{area}; members found: {few}"),)

    def tpr(self, fpr: float) -> Rate | None:
        """Return the share of members found when at most this share of others is accused; None if that is below one."""
        allowed = self._allowed(fpr)
        return Rate.of(self.inside > self._threshold(allowed)) if allowed else None

    def tpr_interval(self, fpr: float) -> tuple[float, float]:
        """Return the 95 % interval of the share found at the threshold that accuses this share of all others.

        The number of others above that threshold is binomial, so the threshold lies between two of their scores. The
        shares found at these two, and Wilson's interval of the share found, are combined by their squares.
        """
        rate = self.tpr(fpr)
        if rate is None:
            return 0.0, 1.0
        few, many = stats.binom.ppf([0.025, 0.975], len(self.outside), fpr).astype(int)
        least = np.mean(self.inside > self._threshold(few - 1)) if few else 0.0
        most = np.mean(self.inside > self._threshold(many)) if many < len(self.outside) else 1.0
        low, high = rate.interval()
        down, up = math.hypot(rate.share - low, rate.share - least), math.hypot(high - rate.share, most - rate.share)
        return max(0.0, rate.share - down), min(1.0, rate.share + up)

    def tpr_words(self, fpr: float) -> str:
        """Describe the share found and its interval in words."""
        rate, (low, high) = self.tpr(fpr), self.tpr_interval(fpr)
        found = f"{rate.share:.2%} ({low:.2%} to {high:.2%})" if rate else self._unmeasured
        return f"{found} at {fpr:.1%} false alarms"

    @property
    def _unmeasured(self) -> str:
        return f"cannot be estimated from {len(self.outside)} people"

    def _allowed(self, fpr: float) -> int:
        """Return the number of others that may be accused."""
        if not 0 < fpr < 1:
            raise InvalidInput("must be between 0 and 1", field="fpr", value=fpr)
        return math.floor(fpr * len(self.outside) + 1e-9)

    def _threshold(self, accused: int) -> float:
        """Return the least score above which at most this many of the others lie."""
        return float(-np.sort(-self.outside)[accused])

    def _tpr_dict(self, fpr: float) -> dict[str, Any] | str:
        rate, (low, high) = self.tpr(fpr), self.tpr_interval(fpr)
        return rate.as_dict() | {"low": low, "high": high} if rate else self._unmeasured

    @property
    def advantage(self) -> float:
        """The largest TPR - FPR over all thresholds."""
        both = np.unique(np.concatenate([self.inside, self.outside]))
        above = [len(side) - np.searchsorted(np.sort(side), both, side="left") for side in (self.inside, self.outside)]
        return float(np.max(above[0] / len(self.inside) - above[1] / len(self.outside), initial=0.0))

    def least_epsilon(self, confidence: float = 0.95) -> float:
        """Bound the epsilon of the mechanism from below, with this confidence; half of the scores fix the threshold."""
        size = min(len(self.inside), len(self.outside))
        if size < _LEAST:
            return 0.0
        inside, outside = self.inside[:size], self.outside[:size]
        levels = np.unique(np.concatenate([inside[::2], outside[::2]]))

        def above(scores: NDArray[np.float64], at: Any) -> Any:
            return len(scores) - np.searchsorted(np.sort(scores), at, side="left")

        one, other = (above(side[::2], levels) for side in (inside, outside))
        threshold = levels[int(np.argmax(epsilon_bound(one, other, len(inside[::2]), 0.0, confidence)))]
        p, q = (int(above(side[1::2], threshold)) for side in (inside, outside))
        return max(0.0, float(epsilon_bound(p, q, len(inside[1::2]), 0.0, confidence)))

    def as_dict(self) -> dict[str, Any]:
        """Return plain data without any person's score."""
        low, high = self.auc_interval()
        return {
            "name": self.name,
            "auc": self.auc,
            "auc_low": low,
            "auc_high": high,
            "advantage": self.advantage,
            "least_epsilon": self.least_epsilon(),
            "members": len(self.inside),
            "others": len(self.outside),
            "tpr": {str(fpr): self._tpr_dict(fpr) for fpr in FPRS},
            "notes": list(self.notes),
        }
