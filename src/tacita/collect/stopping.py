"""How many respondents a wanted accuracy takes, and when a collection may stop.

    respondents_needed    before anybody is asked
    block_size            how many to ask before the first look: with fewer no look could end the collection
    StopRule              at each look: stop, or how many more

Privacy: nothing is spent; releases are looked at.
Utility: all intervals of all looks hold together with the stated level, so whatever is decided by them does.
Claim page: docs/claims/sequential-stopping.md.   Flags: unvetted, trusts its caller.

Legend: h the half-width wanted, z the normal quantile, v(pi) the variance of one report's estimate of a cell, so that
n >= z^2 v / h^2. For k-ary randomized response v = r (1 - r) / p^2: the channel, not the table, decides.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacita.collect.channel import RandomizedResponse
from tacita.collect.protocol import Channel
from tacita.collect.support import SupportChannel
from tacita.errors import InvalidInput
from tacita.release import Release
from tacita.uncertainty import normal_quantile

__all__ = ["Advice", "StopRule", "block_size", "respondents_needed"]

Array = NDArray[np.float64]

_MOST_LISTED = 1000  # levels of a general channel, whose variances are a table of levels * levels
_FEWEST_IN_CELL = 5
_MOST_DOUBLINGS = 60


def respondents_needed(
    channel: Channel,
    half_width: float,
    *,
    level: float = 0.95,
    share: float | None = None,
    simultaneous: bool = False,
) -> int:
    """The number of respondents for which every cell's interval is at most that wide.

    Args:
        channel: Through which they answer.
        half_width: Half of the width of an interval, in shares.
        level: Of each interval, or of all together.
        share: The true share of the cell in question; the worst one if nothing is said.
        simultaneous: Whether the level is to hold for all cells together.
    """
    _check(half_width, level)
    z = normal_quantile(1 - (1 - level) / (channel.levels if simultaneous else 1))
    return _respondents(z, float(_variances(channel, share).max()), half_width)


def _respondents(z: float, variance: float, half_width: float) -> int:
    return max(1, math.ceil(z * z * variance / half_width**2))


def _check(half_width: float, level: float) -> None:
    if not (math.isfinite(half_width) and half_width > 0):
        raise InvalidInput("must be positive and finite", field="half_width", value=half_width)
    if not 0 < level < 1:
        raise InvalidInput("must lie strictly between 0 and 1", field="level", value=level)


def _moments(channel: Channel) -> tuple[Array, Array]:
    """E(estimate of cell j squared), by cell: if j is the truth, and if another level is, at worst.

    The variance of a cell with share t, the rest being of one other level, is t own + (1 - t) other - t^2.
    """
    if isinstance(channel, RandomizedResponse):  # a cell's own share decides: it is one binomial draw
        b, p = channel.fake_probabilities(), channel.keep_probability
        return (p + b) * (1 - p - b) / p**2 + 1, b * (1 - b) / p**2
    if isinstance(channel, SupportChannel):  # and all levels are alike
        at_truth = np.zeros(channel.levels)
        at_truth[0] = 1.0
        variance = channel.covariance(at_truth, respondents=1).variance()
        return variance[:1] + 1, variance[1:2]
    k = channel.levels
    if k > _MOST_LISTED:
        raise InvalidInput(f"must have at most {_MOST_LISTED} levels", field="channel", value=k)
    table = np.array([channel.covariance(point, respondents=1).variance() for point in np.eye(k)])
    return np.diag(table) + 1, (table - np.diag(np.full(k, np.inf))).max(axis=0)


def _variances(channel: Channel, share: float | None) -> Array:
    """v of each cell at a share; at its worst share if none is given (the vertex of the parabola above)."""
    own, other = _moments(channel)
    if share is None:
        at = np.clip((own - other) / 2, 0, 1)
    elif 0 <= share <= 1:
        at = np.full_like(own, share)
    else:
        raise InvalidInput("must be 0 to 1", field="share", value=share)
    return np.asarray(at * own + (1 - at) * other - at**2)


def block_size(channel: Channel, half_width: float, *, level: float = 0.95) -> int:
    """How many to ask before a first look.

    Every table has a cell with a share of at most 1 / k, and the variance is concave in the share: no table gives that
    cell less than the smaller of the variances at 0 and at 1 / k. With fewer respondents than that takes, a look would
    spend some of the error budget and could not stop. Nor should a cell expect fewer than 5 reports: intervals would
    not hold. The number of cells, which has been proposed, has nothing to do with either.
    """
    _check(half_width, level)
    least = float(min(_variances(channel, share).min() for share in (0.0, 1 / channel.levels)))
    alpha = _spent(1, level) / channel.levels
    counted = math.ceil(_FEWEST_IN_CELL / _rarest_support(channel))
    return max(_respondents(normal_quantile(1 - alpha), least, half_width), counted)


def _rarest_support(channel: Channel) -> float:
    """The share of reports that a level gets which nobody holds."""
    if isinstance(channel, RandomizedResponse):
        return float(channel.fake_probabilities().min())
    return float(channel.support_law.miss) if isinstance(channel, SupportChannel) else 1.0


def _spent(number: int, level: float) -> float:
    """The error allowed to look j: alpha / (j (j + 1)), which sums to alpha over all looks."""
    return (1 - level) / (number * (number + 1))


@dataclass(frozen=True, kw_only=True)
class Advice:
    """What a look says.

    Attributes:
        stop: Whether all intervals are narrow enough.
        widest: The largest half-width. cell: Where, as codes.
        level_used: Of each interval at this look.
        more_respondents: How many more until the doubled look that should be the last; 0 if this one is, None if no
            number of people would do.
    """

    stop: bool
    widest: float
    cell: tuple[int, ...]
    level_used: float
    more_respondents: int | None


@dataclass(frozen=True, kw_only=True)
class StopRule:
    """Stop when every cell is known to within `half_width`.

    Args:
        half_width: Half of the width of an interval, in shares.
        level: With this probability all intervals of all looks cover, as many looks as there may be.
        simultaneous: All cells together; else each cell by itself.
    """

    half_width: float
    level: float = 0.95
    simultaneous: bool = True

    def __post_init__(self) -> None:
        _check(self.half_width, self.level)

    def level_at(self, number: int, cells: int) -> float:
        """The level of each interval at look `number`, counted from 1."""
        if type(number) is not int or number < 1:
            raise InvalidInput("must be a whole number of at least 1", field="number", value=number)
        return 1 - _spent(number, self.level) / (cells if self.simultaneous else 1)

    def look(self, release: Release, number: int) -> Advice:
        """Look at what has been collected so far, all blocks pooled.

        Args:
            release: Unbiased shares of all reports up to now.
            number: Which look this is, from 1. Sizes are fixed beforehand: each look has twice the respondents of the
                one before. Every look counts, also one that nobody acted on.
        """
        used = self.level_at(number, release.values.size)
        low, high = release.interval(used)
        halves = (high - low) / 2
        if not np.isfinite(halves).all():
            hint = "Look at the raw release; a published one has no intervals"
            raise InvalidInput("has no intervals", field="release", hint=hint)
        at = np.unravel_index(int(np.argmax(halves)), halves.shape)
        widest = float(halves[at])
        stop = widest <= self.half_width
        cell = tuple(int(code) for code in at)
        more = 0 if stop else self._more(release, number, widest)
        return Advice(stop=stop, widest=widest, cell=cell, level_used=used, more_respondents=more)

    def _more(self, release: Release, number: int, widest: float) -> int | None:
        """Respondents up to the first doubled look that should be narrow enough: widths fall as 1 / sqrt(n)."""
        cells, seen = release.values.size, release.provenance.recipe.get("respondents")
        if seen is None:
            raise InvalidInput("does not say how many answered", field="release")
        unit = widest / normal_quantile(self.level_at(number, cells))
        for doublings in range(1, _MOST_DOUBLINGS):
            z = normal_quantile(self.level_at(number + doublings, cells))
            if z * unit <= self.half_width * math.sqrt(2**doublings):
                return int(seen) * int(2**doublings - 1)
        return None
