"""Shares of trials that succeeded, with intervals; and how much of one is left when what chance gives is taken away.

    Rate    successes in trials: their share with Wilson's interval, or the exact one of Clopper and Pearson
    Leak    (attack - control) / (1 - control): what success beyond that on people who were not in the data

The control group makes the difference between learning about a population and learning about a person: what an attack
finds out about people whose data was never used is not leaked by the release.  [Giomi et al. 2023]
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import special

from tacita.common.binomial import clopper_pearson
from tacita.errors import InvalidInput
from tacita.tables.uncertainty import wilson

__all__ = ["Leak", "Rate", "guesses_for"]

_LEVEL = 0.95


def _z(level: float) -> float:
    """How many standard deviations a two-sided interval of this confidence reaches."""
    return float(special.ndtri((1 + level) / 2))


@dataclass(frozen=True, kw_only=True)
class Rate:
    """How often something worked."""

    successes: int
    trials: int

    def __post_init__(self) -> None:
        if not 0 <= self.successes <= self.trials or self.trials < 1:
            rule = "needs at least one trial, and no more successes than trials"
            raise InvalidInput(rule, field="trials", value=f"{self.successes} of {self.trials}")

    @classmethod
    def of(cls, worked: Any) -> Rate:
        """Of an array of yes and no."""
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
        """Clopper and Pearson's."""
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
    """The interval of (1 - attack) / (1 - control), from Wilson's of both, which are independent.

    With shares f, g of failures and their ends l, u, the ratios r at which f - r g is just within its own interval:
    by the square of the distances from f and g to their ends, added.  [Donner, Zou 2012]
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
    """What an attack achieved, beside what guessing and what a control group gives.

    Attributes:
        attack: On people in the data.
        baseline: Of guesses that do not look at the release. An attack that is no better was too weak to say anything.
        control: On people who are not in the data; None if there are none, and then `risk` is success itself.
        notes: What must be said with it.
    """

    name: str
    attack: Rate
    baseline: Rate
    control: Rate | None = None
    notes: tuple[str, ...] = field(default=())

    @property
    def guesses(self) -> int:
        """Trials of the smaller side."""
        return self.attack.trials if self.control is None else min(self.attack.trials, self.control.trials)

    @property
    def risk(self) -> tuple[float, float, float]:
        """The same as `risk_at`, with its 95 % interval."""
        return self.risk_at(_LEVEL)

    def risk_at(self, level: float) -> tuple[float, float, float]:
        """(attack - control) / (1 - control) with its interval, between 0 and 1; none where all control succeeds.

        By shares as they are. Centres of Wilson's intervals, which anonymeter takes, give nearly the same for as many
        trials on both sides; with fewer on one side they are drawn to one half by more there, which looks like a leak.
        """
        if self.control is None:
            return self.attack.share, *self.attack.interval(level)
        attack, control = self.attack.share, self.control.share
        value = (attack - control) / (1 - control) if control < 1 else 0.0
        low, high = _failures_ratio(self.attack, self.control, level)
        return max(value, 0.0), max(1 - high, 0.0), max(1 - low, 0.0)

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
