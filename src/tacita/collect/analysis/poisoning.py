"""Poisoning: a bound on how far false reports can move a published share, and a test of the tally for them.

    influence        the most that one report, or several, can move an estimated share or the sum over some levels
    excess_support   whether all reports together support as many levels as honest ones would

Privacy: nothing is spent; both use only a channel and a tally.
Utility: a bound that is attained, and a test with a stated level. Passing the test proves nothing: a liar who supports
as many levels as an honest person would is not detected.
Claim page: docs/claims/poisoning.md.   Flags: unvetted.

Legend: as in `tacita.collect.channels.support`; |s| is the number of levels that a report supports.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacita import check
from tacita.collect.channels.protocol import Randomizer, StatesReach, SupportsLevels, traits_of
from tacita.errors import InvalidInput

__all__ = ["Excess", "Influence", "excess_support", "influence"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Influence:
    """Bound on how far replaced reports can move an estimate from n reports.

    Attributes:
        respondents: n, including the liars.
        levels: Number of levels.
        slope: How much of a true share arrives in the counts: one report moves a share by up to 1 / (n slope).
        held: How many levels every report supports; None where it may be any number of them.
        effects: For a general matrix instead: what each report (column) adds to each level's estimate, times n.
    """

    respondents: int
    levels: int
    slope: Fraction | None = None
    held: int | None = None
    effects: NDArray[np.float64] | None = field(default=None, repr=False)

    def share(self, liars: int = 1) -> float:
        """The most that the estimated share of one level moves when `liars` of the reports are replaced."""
        return self.target(1, liars)

    def target(self, size: int, liars: int = 1) -> float:
        """The most that the summed shares of some `size` levels move."""
        if not 1 <= size <= self.levels:
            raise InvalidInput(f"must be 1 to {self.levels}", field="size", value=size)
        if not 0 <= liars <= self.respondents:
            raise InvalidInput(f"must be 0 to {self.respondents}", field="liars", value=liars)
        return float(Fraction(liars, self.respondents) * Fraction(self._one(size)))

    def _one(self, size: int) -> Fraction | float:
        """Effect of one report, times n.

        A report that supports exactly w of k levels supports between max(0, size - (k - w)) and min(size, w) of them;
        one that may support any levels between 0 and `size`. Replacing the one extreme by the other moves the sum of
        counts by the difference. In a general matrix: the `size` largest differences between two columns.
        """
        if self.slope is None:
            assert self.effects is not None
            if size == 1:
                return float((self.effects.max(axis=1) - self.effects.min(axis=1)).max())
            apart = self.effects[:, :, None] - self.effects[:, None, :]
            return float(np.sort(apart, axis=0)[-size:].sum(axis=0).max())
        most, fewest = size, 0
        if self.held is not None:
            most, fewest = min(size, self.held), max(0, size - (self.levels - self.held))
        return (most - fewest) / self.slope


def influence(channel: Randomizer, respondents: int) -> Influence:
    """Compute the bound, for a channel whose estimate is linear in its counts.

    Exact for randomized response, unary encoding, subsets, Hadamard (row 0 supports all levels or none) and matrices.
    For hashing it is attained where some seed sends all target levels to one cell.

    Args:
        channel: The channel of all respondents. respondents: How many answers are counted.
    """
    check.whole(respondents, "respondents", least=1)
    if not isinstance(channel, StatesReach):
        raise InvalidInput("must be informative about single levels", field="channel", value=type(channel).__name__)
    reach = channel.reach()
    return Influence(
        respondents=respondents, levels=channel.levels, slope=reach.slope, held=reach.held, effects=reach.effects
    )


@dataclass(frozen=True, kw_only=True)
class Excess:
    """Whether the total of all supports is what honest reports give.

    Attributes:
        z: Standard errors above (or below) the expected total.
        p_value: Of a total so far off, in either direction, if all were honest.
        applicable: Whether the total is informative. why: The reason if it is not, or a limit of the test.
    """

    z: float
    p_value: float
    applicable: bool
    why: str = ""


def excess_support(channel: Randomizer, counts: ArrayLike) -> Excess:
    """Compare the total of a tally with its known law, normal in the limit.

    Args:
        channel: The channel that all respondents should have used.
        counts: A tally of that channel.
    """
    if traits_of(channel).counts_reports:
        return _not_applicable("every report is one code, so the total is the number of reports, honest or not")
    if not isinstance(channel, SupportsLevels):
        return _not_applicable("its reports do not support levels")
    n, total = channel.support_total(np.asarray(counts))
    mean, variance = channel.support_size()
    surplus = total - n * mean
    if variance == 0:
        if surplus == 0:
            return _not_applicable("every report holds equally many levels; those of another size are none here")
        impossible = f"every honest report holds {mean} levels, and these do not"
        return Excess(z=math.copysign(math.inf, surplus), p_value=0.0, applicable=True, why=impossible)
    z = float(surplus) / math.sqrt(n * variance)
    return Excess(z=z, p_value=2 * NormalDist().cdf(-abs(z)), applicable=True, why=channel.support_caution(n))


def _not_applicable(why: str) -> Excess:
    return Excess(z=0.0, p_value=1.0, applicable=False, why=why)
