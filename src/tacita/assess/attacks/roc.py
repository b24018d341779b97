"""How well scores tell members from others: by default where it hurts, at few false alarms.

    AUC                   the chance that a member scores above another; an average that hides the few who are found
    TPR at 1 % and 0.1 %  members found when one non-member in a hundred, or in a thousand, is accused
    epsilon               what a mechanism with such a score must at least cost, with exact confidence

0.1 % of two thousand people are two: intervals are always given, and are wide.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats

from tacita.assess.audit.attack import epsilon_bound
from tacita.assess.rates import Rate
from tacita.errors import InvalidInput

__all__ = ["Membership"]

FPRS = (0.01, 0.001)
_LEAST = 20
_Z = float(special.ndtri(0.975))


@dataclass(frozen=True, kw_only=True, eq=False)
class Membership:
    """Scores of members and of others; higher speaks for membership.

    Attributes:
        name: The attack.
        inside: Scores of people whose data was used.
        outside: Scores of people whose data was not.
        notes: What must be said with it.
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
        """P(member above other) + P(equal)/2."""
        ranks = stats.rankdata(np.concatenate([self.inside, self.outside]))
        n, m = len(self.inside), len(self.outside)
        return float((ranks[:n].sum() - n * (n + 1) / 2) / (n * m))

    def auc_interval(self) -> tuple[float, float]:
        """At 95 %, from the spread of each side's placements among the other.  [DeLong et al. 1988]"""
        inside, outside = np.sort(self.inside), np.sort(self.outside)

        def placed(scores: NDArray[np.float64], among: NDArray[np.float64]) -> NDArray[np.float64]:
            below, up_to = (np.searchsorted(among, scores, side=side) for side in ("left", "right"))
            return np.asarray((below + up_to) / (2 * len(among)))

        spread = 0.0
        for scores, among in ((inside, outside), (outside, inside)):
            if len(scores) > 1:
                spread += float(np.var(placed(scores, among), ddof=1)) / len(scores)
        half = _Z * math.sqrt(spread)
        return max(0.0, self.auc - half), min(1.0, self.auc + half)

    def tpr(self, fpr: float) -> Rate:
        """Members found at a threshold that accuses at most this share of the others."""
        if not 0 < fpr < 1:
            raise InvalidInput("must be between 0 and 1", field="fpr", value=fpr)
        allowed = math.floor(fpr * len(self.outside) + 1e-9)
        threshold = -np.sort(-self.outside)[allowed]  # so many lie above it, at most
        return Rate(successes=int((self.inside > threshold).sum()), trials=len(self.inside))

    @property
    def advantage(self) -> float:
        """The largest TPR - FPR over all thresholds."""
        both = np.unique(np.concatenate([self.inside, self.outside]))
        above = [len(side) - np.searchsorted(np.sort(side), both, side="left") for side in (self.inside, self.outside)]
        return float(np.max(above[0] / len(self.inside) - above[1] / len(self.outside), initial=0.0))

    def least_epsilon(self, confidence: float = 0.95) -> float:
        """What whatever gave these scores must cost, with this confidence; the threshold is chosen on half of them."""
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
        """Plain data, without anybody's score."""
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
            "tpr": {str(fpr): self.tpr(fpr).as_dict() for fpr in FPRS},
            "notes": list(self.notes),
        }
