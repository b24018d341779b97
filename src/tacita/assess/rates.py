"""Success rates with intervals, and the excess of a rate over that of a control group.

    Rate    successes in trials: their share with Wilson's interval, or the exact one of Clopper and Pearson
    Leak    (attack - control) / (1 - control): success beyond that on people who were not in the data
    Risk    the common reading of every attack's result: success beyond a control group, its interval, its guesses

The control group separates learning about a population from learning about a person: a release does not leak what an
attack also learns about people whose data was never used.  [Giomi et al. 2023]
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from scipy import special

from tacita.common.binomial import clopper_pearson
from tacita.errors import InvalidInput
from tacita.tables.uncertainty import wilson

__all__ = ["Leak", "Rate", "Risk", "guesses_for"]

_LEVEL = 0.95


def _z(level: float) -> float:
    """Return the half-width of a two-sided normal interval of this confidence, in standard deviations."""
    return float(special.ndtri((1 + level) / 2))


class Risk(NamedTuple):
    """Success of one attack beyond a control group, with an interval, and the number of guesses that it made.

    `strong` is false if the attack does not beat guesses without the release; a small risk then means little.
    """

    name: str
    value: float
    low: float
    high: float
    guesses: int
    strong: bool = True


@dataclass(frozen=True, kw_only=True)
class Rate:
    """Number of successes in a number of trials."""

    successes: int
    trials: int

    def __post_init__(self) -> None:
        if not 0 <= self.successes <= self.trials or self.trials < 1:
            rule = "needs at least one trial, and no more successes than trials"
            raise InvalidInput(rule, field="trials", value=f"{self.successes} of {self.trials}")

    @classmethod
    def of(cls, worked: Any) -> Rate:
        """Build a rate from an array of booleans."""
        flags = np.asarray(worked, bool)
        return cls(successes=int(flags.sum()), trials=int(flags.size))

    @property
    def share(self) -> float:
        """As it was."""
        return self.successes / self.trials

    def interval(self, level: float = _LEVEL) -> tuple[float, float]:
        """Return Wilson's interval."""
        low, high = wilson(np.array([self.share]), self.trials, _z(level))
        return float(low[0]), float(high[0])

    def exact(self, level: float = 0.95) -> tuple[float, float]:
        """Return Clopper and Pearson's interval."""
        return clopper_pearson(self.successes, self.trials, level)

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        low, high = self.interval()
        return {"successes": self.successes, "trials": self.trials, "share": self.share, "low": low, "high": high}


def guesses_for(half: float, level: float = _LEVEL) -> int:
    """Return the least trials whose interval of a share reaches at most `half` to either side: (z / 2 half)^2.

    >>> guesses_for(0.1)
    97
    """
    return math.ceil((_z(level) / (2 * half)) ** 2)


def _failures_ratio(attack: Rate, control: Rate, level: float) -> tuple[float, float]:
    """Compute the interval of (1 - attack) / (1 - control), from Wilson's of both, which are independent.

    With shares f, g of failures and their ends l, u, it consists of the ratios r for which 0 lies within the interval
    of f - r g; the squared distances from f and g to their ends are added.  [Donner, Zou 2012]
    """
    f, g = 1 - attack.share, 1 - control.share
    ends = attack.interval(level), control.interval(level)
    (f_low, f_high), (g_low, g_high) = ((1 - high, 1 - low) for low, high in ends)
    below, above = f_low * (2 * f - f_low), f_high * (2 * f - f_high)
    under, over = g_low * (2 * g - g_low), g_high * (2 * g - g_high)
    root = f * g + math.sqrt(max((f * g) ** 2 - below * over, 0.0))
    low = below / root if root > 0 and attack.successes < attack.trials else 0.0
    high = (f * g + math.sqrt(max((f * g) ** 2 - above * under, 0.0))) / under if under > 0 else math.inf
    return low, high


@dataclass(frozen=True, kw_only=True)
class Leak:
    """Success of an attack, beside that of blind guesses and that on a control group.

    Attributes:
        attack: Success on people in the data.
        baseline: Success of guesses without the release. An attack that is no better is too weak to be conclusive.
        control: Success on people who are not in the data; None if there are none, and then `risk` is success itself.
        notes: Remarks to show with the figures.
    """

    name: str
    attack: Rate
    baseline: Rate
    control: Rate | None = None
    notes: tuple[str, ...] = field(default=())

    @property
    def guesses(self) -> int:
        """Number of trials of the smaller side."""
        return self.attack.trials if self.control is None else min(self.attack.trials, self.control.trials)

    @property
    def risk(self) -> tuple[float, float, float]:
        """Risk with its 95 % interval, as of `risk_at`."""
        return self.risk_at(_LEVEL)

    def risk_at(self, level: float) -> tuple[float, float, float]:
        """Compute (attack - control) / (1 - control) with its interval, in [0, 1]; 0 where all controls succeed.

        Uses the plain shares. Anonymeter uses the centres of Wilson's intervals, which give nearly the same for equally
        many trials on both sides; a side with fewer trials is shrunk more towards one half, which looks like a leak.
        """
        if self.control is None:
            return self.attack.share, *self.attack.interval(level)
        attack, control = self.attack.share, self.control.share
        value = (attack - control) / (1 - control) if control < 1 else 0.0
        low, high = _failures_ratio(self.attack, self.control, level)
        return max(value, 0.0), max(1 - high, 0.0), max(1 - low, 0.0)

    def risks_at(self, level: float) -> tuple[Risk, ...]:
        """Return the risk with its interval of this confidence."""
        return (Risk(self.name, *self.risk_at(level), self.guesses, self.strong),)

    @property
    def facts(self) -> tuple[tuple[str, str], ...]:
        """The result in words, for a page."""
        words = f"{self.attack.share:.3f} of {self.attack.trials:,} tries worked; guessing {self.baseline.share:.3f}"
        if self.control is not None:
            words += f"; on people not in the data {self.control.share:.3f}"
        if not self.strong:
            words += "; no better than guessing, so it says little"
        return ((self.name, words),)

    @property
    def strong(self) -> bool:
        """Whether the attack beats guessing; if it does not, a small risk means little."""
        return self.attack.interval()[0] > self.baseline.share

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        value, low, high = self.risk
        return {
            "name": self.name,
            "risk": value,
            "low": low,
            "high": high,
            "attack": self.attack.as_dict(),
            "baseline": self.baseline.as_dict(),
            "control": None if self.control is None else self.control.as_dict(),
            "beats_guessing": self.strong,
            "notes": list(self.notes),
        }
