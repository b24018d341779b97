"""The block protocol as it was published, literally: for comparison only.

NOT PRIVATE at the epsilon it claims. The publication states ln(1 / (1 - p)) for every table; the loss of an answer is
ln(1 + p / ((1 - p) min T)), and the tables that it learns drive min T to 0. A run carries both numbers for every block
and prints them side by side; it gives no release, and it draws from a numpy generator, so that it cannot serve people.

Kept as printed, with the effects:

    version 1       the table is replaced after each client: it becomes the last answer, the next fake is no fake
    version 2       the table is replaced after each block: the error depends on the block, never on their number
    min-max repair  (T - min) / (max - min), divided by its sum: forces a cell to 0
    stopping rule   two blocks in a row agree within the width of a binomial interval that ignores the coin

Use `tacita.collect.protocols.rrba_rounds` instead.   Claim page: docs/claims/rrba.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacita import check
from tacita.collect.channels.parts.exact import check_codes
from tacita.errors import InvalidInput

__all__ = ["PaperRun", "agreement_width", "claimed_epsilon", "literal_update", "min_max", "run", "true_epsilon"]

Array = NDArray[np.float64]

_FEW = 5  # expected answers in a cell up to which the publication takes another interval


def claimed_epsilon(keep: float) -> float:
    """Loss that the publication claims: ln(1 / (1 - p)), for any table. It is not a bound on the true loss."""
    return -math.log1p(-_probability(keep))


def true_epsilon(keep: float, table: ArrayLike) -> float:
    """The local loss of one answer, ln(1 + p / ((1 - p) min T)); infinite when a cell is never faked.

    >>> round(true_epsilon(0.5, [0.5, 0.5]), 3), round(claimed_epsilon(0.5), 3)
    (1.099, 0.693)
    """
    least = float(np.min(np.asarray(table, dtype=np.float64)))
    p = _probability(keep)
    return math.inf if least <= 0 else math.log1p(p / ((1 - p) * least))


def _probability(keep: float) -> float:
    check.inside(keep, "keep", 0, 1)
    return keep


def min_max(table: ArrayLike) -> Array:
    """The published repair: (T - min) / (max - min). One cell becomes 0, one becomes 1, and the sum is not 1.

    >>> min_max([-0.05, 0.35, 0.70]).round(3).tolist()
    [0.0, 0.533, 1.0]
    """
    t = np.asarray(table, dtype=np.float64)
    low, high = t.min(), t.max()
    return np.asarray((t - low) / (high - low)) if high > low else np.full(t.shape, 1 / t.size)


def literal_update(counts: NDArray[np.int64], table: Array, keep: float, *, least: float = 0.0) -> Array:
    """The next table: (observed - (1 - p) T) / p from one block alone, repaired where a cell is negative.

    The repair is divided by its sum, without which it is no distribution and nothing can be drawn from it.
    """
    fresh = (counts / counts.sum() - (1 - keep) * table) / keep
    if (fresh < 0).any():
        fresh = min_max(fresh)
    fresh = np.maximum(fresh, least)
    return np.asarray(fresh / fresh.sum())


def agreement_width(shares: Array, answers: int, alpha: float) -> Array:
    """The published delta*: the width of an interval of a share, as if answers were not randomised.

    2 z sqrt(v (1 - v) / n) where more than five answers are expected; else the width of the interval on log odds, with
    half an answer added to each side, which is how we read a sentence that gives no formula.
    """
    z = NormalDist().inv_cdf(1 - alpha / 2)
    v = np.clip(shares, 0.0, 1.0)
    plain = 2 * z * np.sqrt(v * (1 - v) / answers)
    smoothed = (answers * v + 0.5) / (answers + 1)
    odds, half = np.log(smoothed / (1 - smoothed)), z / np.sqrt((answers + 1) * smoothed * (1 - smoothed))
    wide = 1 / (1 + np.exp(-(odds + half))) - 1 / (1 + np.exp(-(odds - half)))
    return np.asarray(np.where(answers * v > _FEW, plain, wide))


@dataclass(frozen=True, kw_only=True, eq=False)
class PaperRun:
    """Result of a literal run, with the loss it claims and the loss it had. It has no guarantee.

    Attributes:
        keep: Probability p of the truth. block_size: Clients in a block; 1 is version 1.
        sent: The table that each block drew its fakes from. learned: What each block replaced it by.
        stopped: Whether the stopping rule ended the run. table: The last table, or the mean of the last two then.
    """

    keep: float
    block_size: int
    sent: Array
    learned: Array
    stopped: bool

    guarantee = "none"

    @property
    def table(self) -> Array:
        """Table that the publication would publish."""
        return np.asarray(self.learned[-2:].mean(axis=0) if self.stopped else self.learned[-1])

    @property
    def responses(self) -> int:
        """Number of people who answered."""
        return self.block_size * len(self.sent)

    @property
    def claimed(self) -> float:
        """The epsilon that the publication states."""
        return claimed_epsilon(self.keep)

    @property
    def true(self) -> tuple[float, ...]:
        """The epsilon of an answer of each block."""
        return tuple(true_epsilon(self.keep, table) for table in self.sent)

    @property
    def worst(self) -> float:
        """The epsilon of the block that was treated worst: what the run may state, if anything."""
        return max(self.true)

    def last_disagreement(self, *, alpha: float = 0.05, cell: int | None = None) -> int:
        """Number of people who had answered when the stopping rule was last broken, for one cell or for any."""
        change = np.abs(np.diff(self.learned, axis=0))
        width = agreement_width(self.learned[:-1], self.block_size, alpha)
        broken = change >= width
        when = np.flatnonzero(broken.any(axis=1) if cell is None else broken[:, cell])
        return int((when[-1] + 2) * self.block_size) if when.size else 0

    def report(self) -> str:
        """The two losses side by side, in words."""
        true = self.true
        infinite = sum(math.isinf(loss) for loss in true)
        version = "version 1" if self.block_size == 1 else f"version 2, blocks of {self.block_size}"
        lines = [
            f"Published protocol, {version}, p = {self.keep:g}, {len(true)} tables, {self.responses} answers",
            "guarantee: none",
            f"  epsilon claimed, ln(1/(1-p))             {self.claimed:.3f}",
            f"  epsilon true, first table (uniform)      {true[0]:.3f}",
            f"  epsilon true, median table               {float(np.median(true)):.3f}",
            f"  epsilon true, worst table                {self.worst:.3f}",
            f"  tables with a cell that is never faked   {infinite} of {len(true)}",
        ]
        return "\n".join(lines)

    __str__ = report


def run(
    cells: NDArray[Any],
    *,
    levels: int,
    keep: float,
    block_size: int,
    rng: np.random.Generator,
    least: float = 0.0,
    stop_at: float | None = None,
) -> PaperRun:
    """Run the literal protocol on simulated people.

    Args:
        cells: The true cell of each person, in the order they answer; a last part of a block is left out.
        levels: Number of cells.
        keep: Probability p of a truthful answer, the same in all blocks.
        block_size: Clients in a block; 1 for version 1, the update after each client.
        rng: Of coins and fakes. No source of secure words: this is no protection.
        least: The "negligible" share that a repaired cell is raised to.
        stop_at: The alpha of the stopping rule; without it all people are asked.
    """
    codes = check_codes(cells, levels, field="cells")
    _probability(keep)
    if type(block_size) is not int or not 1 <= block_size <= codes.size:
        raise InvalidInput(f"must be an integer from 1 to {codes.size}", field="block_size", value=block_size)
    table = np.full(levels, 1 / levels)
    sent, learned, stopped = [], [], False
    for start in range(0, codes.size - block_size + 1, block_size):
        truths = codes[start : start + block_size]
        # the inverse of the distribution function, by sums that end at 1 whatever was rounded
        steps = np.cumsum(table)
        fakes = np.searchsorted(steps / steps[-1], rng.random(block_size), side="right")
        reports = np.where(rng.random(block_size) < keep, truths, fakes)
        fresh = literal_update(np.bincount(reports, minlength=levels), table, keep, least=least)
        sent.append(table)
        learned.append(fresh)
        if stop_at is not None and len(learned) > 1:
            width = agreement_width(learned[-2], block_size, stop_at)
            stopped = bool((np.abs(fresh - learned[-2]) < width).all())
        table = fresh
        if stopped:
            break
    return PaperRun(keep=keep, block_size=block_size, sent=np.stack(sent), learned=np.stack(learned), stopped=stopped)
