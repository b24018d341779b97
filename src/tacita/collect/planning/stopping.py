"""Number of respondents for a wanted accuracy, and the rule by which a collection may stop.

    respondents_needed    for one question, before anyone is asked
    StopRule              at each look: stop, or how many more

Privacy: nothing is spent; it uses releases.
Utility: all intervals of all looks hold together with the stated level, so decisions based on them do too. Looks are
planned around the number of respondents that the rule is expected to take (`sizing`), and most of the
error is spent there.
Claim page: docs/claims/sequential-stopping.md.   Flags: unvetted, trusts its caller.

Legend: h the half-width wanted, z the normal quantile, v(pi) the variance of one report's estimate of a cell, so that
n >= z^2 v / h^2. For k-ary randomized response v = r (1 - r) / p^2: the channel, not the table, decides.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacita import check
from tacita.collect.channels.protocol import Channel, StatesMoments
from tacita.errors import InvalidInput
from tacita.tables.release import Release
from tacita.tables.uncertainty import Anchored, normal_quantile

__all__ = ["Advice", "StopRule", "respondents_needed", "worst_variance"]

Array = NDArray[np.float64]

_MOST_LISTED = 1000  # levels of a general channel, whose variances are a table of levels * levels
_MOST_LOOKS = 60
_FRACTIONS = (0.5, 0.7, 0.85, 1.0, 1.2, 1.5)
"""Looks as parts of the planned number of respondents; each later one has half as many again as the one before."""
_SHARES = (0.05, 0.1, 0.15, 0.4, 0.15, 0.05)
"""Part of the error that each of them may use; all later ones together use the rest."""


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
        share: The true share of the cell in question; the worst one if not given.
        simultaneous: Whether the level is to hold for all cells together.
    """
    _check(half_width, level)
    z = normal_quantile(1 - (1 - level) / (channel.levels if simultaneous else 1))
    return max(1, math.ceil(z * z * worst_variance(channel, share) / half_width**2))


def worst_variance(channel: Channel, share: float | None = None) -> float:
    """The variance of one report's estimate of a cell with this share; at the worst share if none is given."""
    return float(_variances(channel, share).max())


def _check(half_width: float, level: float) -> None:
    check.positive(half_width, "half_width")
    check.inside(level, "level", 0, 1)


def _moments(channel: Channel) -> tuple[Array, Array]:
    """E(estimate of cell j squared), by cell: if j is the truth, and if another level is, at worst.

    The variance of a cell with share t, the rest being of one other level, is t own + (1 - t) other - t^2.
    """
    if isinstance(channel, StatesMoments):
        return channel.second_moments()
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


@dataclass(frozen=True, kw_only=True)
class Advice:
    """Result of one look.

    Attributes:
        stop: Whether all intervals are narrow enough.
        widest: The largest half-width. cell: Its cell, as codes.
        level_used: Of each interval at this look.
        more_respondents: Number of respondents until the look that should be the last; 0 if this is the last, None if
            no number of people suffices.
        table: The table with the widest interval.
    """

    stop: bool
    widest: float
    cell: tuple[int, ...]
    level_used: float
    more_respondents: int | None
    table: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class StopRule:
    """Stop when every share of the wanted tables is known to within `half_width`.

    Args:
        half_width: Half of the width of an interval, in shares.
        level: With this probability all intervals of all looks cover, as many looks as there may be.
        simultaneous: All cells of all tables together; else each cell by itself.
        planned: How many respondents it is expected to take. It fixes the sizes of all looks beforehand, and most of
            the error is spent there. Without it each look has twice the respondents of the one before.
        tables: The tables that must be known so well; all, if none is named.
    """

    half_width: float
    level: float = 0.95
    simultaneous: bool = True
    planned: int | None = None
    tables: tuple[tuple[str, ...], ...] | None = None

    def __post_init__(self) -> None:
        _check(self.half_width, self.level)
        if self.planned is not None and self.planned < 1:
            raise InvalidInput("must be at least 1", field="planned", value=self.planned)
        if self.tables is not None:
            object.__setattr__(self, "tables", tuple(tuple(key) for key in self.tables))

    def level_at(self, number: int, cells: int) -> float:
        """The level of each interval at look `number`, counted from 1."""
        check.whole(number, "number", least=1)
        return 1 - (1 - self.level) * self._share(number) / (cells if self.simultaneous else 1)

    def _share(self, number: int) -> float:
        """The part of the error that look j may use; all parts sum to 1.

        1 / (j (j + 1)) without a plan. With one, the planned looks have fixed parts, and what is left is spent in the
        same way on later ones.
        """
        if self.planned is None:
            return 1 / (number * (number + 1))
        if number <= len(_SHARES):
            return _SHARES[number - 1]
        later = number - len(_SHARES)
        return (1 - math.fsum(_SHARES)) / (later * (later + 1))

    def size_of(self, number: int) -> int:
        """Number of respondents at look `number`, where a number was planned."""
        if self.planned is None:
            raise InvalidInput("must state how many respondents are planned", field="planned")
        last = len(_FRACTIONS)
        part = _FRACTIONS[number - 1] if number <= last else _FRACTIONS[-1] * 1.5 ** (number - last)
        return math.ceil(part * self.planned)

    def due(self, respondents: int) -> int:
        """The number of the last look whose size has been reached; 0 before the first."""
        found = 0
        while found < _MOST_LOOKS and self.size_of(found + 1) <= respondents:
            found += 1
        return found

    def look(self, release: Release, number: int) -> Advice:
        """Look at one table.

        Args:
            release: Unbiased shares of all reports up to now, all blocks pooled.
            number: Which look this is, from 1. Sizes are fixed beforehand. Every look counts, also one that was not
                acted on.
        """
        seen = release.provenance.recipe.get("respondents")
        if seen is None:
            raise InvalidInput("does not state how many people answered", field="release")
        return self.look_at([release], number, respondents=int(seen))

    def look_at(self, releases: Iterable[Release], number: int, *, respondents: int) -> Advice:
        """Look at several tables together, which share the error of the look.

        Args:
            releases: Unbiased shares of all reports up to now.
            number: Which look this is, from 1.
            respondents: How many have answered so far.
        """
        tables = list(releases)
        cells = sum(release.values.size for release in tables)
        used = self.level_at(number, cells)
        found = [(float(halves.max()), halves, release) for release in tables for halves in [_halves(release, used)]]
        widest, halves, release = max(found, key=lambda one: one[0])
        stop = widest <= self.half_width
        cell = tuple(int(code) for code in np.unravel_index(int(np.argmax(halves)), halves.shape))
        more = 0 if stop else self._more(cells, number, widest, respondents)
        return Advice(
            stop=stop, widest=widest, cell=cell, level_used=used, more_respondents=more, table=release.attributes
        )

    def _more(self, cells: int, number: int, widest: float, seen: int) -> int | None:
        """Respondents up to the first look that should be narrow enough: widths fall as 1 / sqrt(n)."""
        unit = widest / normal_quantile(self.level_at(number, cells))
        for later in range(number + 1, number + _MOST_LOOKS):
            size = seen * 2 ** (later - number) if self.planned is None else max(self.size_of(later), seen)
            if normal_quantile(self.level_at(later, cells)) * unit <= self.half_width * math.sqrt(size / seen):
                return size - seen
        return None


def _halves(release: Release, level: float) -> Array:
    if isinstance(release.uncertainty, Anchored):
        hint = "Look at the raw or pooled release; a published one is biased"
        raise InvalidInput("must be unbiased", field="release", hint=hint)
    low, high = release.interval(level)
    halves = (high - low) / 2
    if not np.isfinite(halves).all():
        raise InvalidInput("has no intervals", field="release", hint="Look at the raw or pooled release")
    return np.asarray(halves)
