"""Subset selection: a random set of levels that holds the truth a little too often.  [Ye, Barg 2018; Wang et al. 2019]

Privacy: local, pure; epsilon = ln of on (k - w) / ((T - on) w), T = 2**bits, exact, from the sampler's integers.
Utility: unbiased; the least variance known for pure local privacy. Covariance in `tacita.collect.channels.support`.
Cost: k bits a report; w draws.
Claim page: docs/claims/subset-selection.md.   Flags: unvetted.

Legend: k levels, w the size of the set, on / T the probability that the truth is in it.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from math import comb
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacita.collect.channels.frequencies import FrequencyEstimate
from tacita.collect.channels.parts.bits import count_bits, lanes_of, pack, place_subsets, set_truths
from tacita.collect.channels.parts.exact import ExactLoss, check_codes, check_levels, exp_below
from tacita.collect.channels.protocol import About, Reach
from tacita.collect.channels.support import SupportChannel, SupportLaw
from tacita.collect.device.channels import Subset
from tacita.errors import InvalidInput
from tacita.noise.source import Source

__all__ = ["SubsetSelection"]

_LANES = 2**13
_MOST_LISTED = 5_000


@dataclass(frozen=True, kw_only=True)
class SubsetSelection(SupportChannel, ExactLoss):
    """A uniform set of `size` levels that holds the truth with probability on / 2**bits.

    Args:
        levels: Number of levels k, 2 to 2**20.
        size: Number of levels in a report, 1 to k - 1.
        on: Integer threshold of holding the truth, above the share size / k that chance would give.
        bits: Binary digits of the threshold, 1 to 53.
    """

    levels: int
    size: int
    on: int
    bits: int = 53

    def __post_init__(self) -> None:
        check_levels(self.levels)
        if type(self.size) is not int or not 1 <= self.size < self.levels:
            raise InvalidInput("must be an integer from 1 to levels - 1", field="size", value=self.size)
        if type(self.bits) is not int or not 1 <= self.bits <= 53:
            raise InvalidInput("must be an integer from 1 to 53", field="bits", value=self.bits)
        if type(self.on) is not int or not self.size * self._scale < self.on * self.levels < self.levels * self._scale:
            rule = "must be an integer above 2**bits * size / levels and below 2**bits"
            raise InvalidInput(rule, field="on", value=self.on)

    @classmethod
    def of(cls, *, levels: int, epsilon: float) -> Self:
        """The set size with the least variance, w = round(k / (e^epsilon + 1)), at least 1.

        Args:
            levels: Number of levels, 2 to 2**20.
            epsilon: The loss wanted; the true one is at most this.
        """
        check_levels(levels)
        power = exp_below(epsilon)
        size = max(round(levels / (power + 1)), 1)
        # on (k - w) <= e^eps (T - on) w, solved for on and rounded down
        on = int(2**53 * power * size / (power * size + levels - size))
        if not size * 2**53 < on * levels:
            raise InvalidInput("is too small for thresholds of 53 bits", field="epsilon", value=epsilon)
        if on == 2**53:
            raise InvalidInput("is too large for thresholds of 53 bits", field="epsilon", value=epsilon)
        return cls(levels=levels, size=size, on=on)

    # -- the numbers -------------------------------------------------------------------------------------

    @property
    def _scale(self) -> int:
        return int(2**self.bits)

    @property
    def worst_ratio(self) -> Fraction:
        """on (k - w) / ((T - on) w).

        A set S is sent with probability (on / T) / C(k-1, w-1) by each value in it, ((T - on) / T) / C(k-1, w) by each
        other, and C(k-1, w) / C(k-1, w-1) = (k - w) / w.
        """
        return Fraction(self.on * (self.levels - self.size), (self._scale - self.on) * self.size)

    @cached_property
    def support_law(self) -> SupportLaw:
        """A set without its truth is uniform among the others: w - 1 of k - 1 if the truth is in it, else w."""
        k, w = self.levels, self.size
        held, not_held = Fraction(self.on, self._scale), 1 - Fraction(self.on, self._scale)
        pairs = held * (w - 1) * (w - 2) + not_held * w * (w - 1)
        return SupportLaw(
            hit=held,
            miss=(held * (w - 1) + not_held * w) / (k - 1),
            hit_and_other=held * (w - 1) / (k - 1),
            two_others=pairs / ((k - 1) * (k - 2)) if k > 2 else Fraction(0),
        )

    @property
    def total(self) -> int:
        """The common denominator of all reports' probabilities."""
        k, w = self.levels - 1, self.size
        return self._scale * comb(k, w - 1) * comb(k, w)

    @property
    def report_bits(self) -> int:
        """Length of a report."""
        return self.levels

    def subsets(self) -> list[tuple[int, ...]]:
        """All reports, for few levels, in the order of the columns of `weights`."""
        if comb(self.levels, self.size) > _MOST_LISTED:
            raise InvalidInput(f"must have at most {_MOST_LISTED} subsets to list them", field="levels")
        return list(combinations(range(self.levels), self.size))

    def weights(self) -> NDArray[Any]:
        """Exact integer weights, a column for each of `subsets`."""
        k, w = self.levels - 1, self.size
        held, not_held = self.on * comb(k, w), (self._scale - self.on) * comb(k, w - 1)
        rows = [[held if x in chosen else not_held for chosen in self.subsets()] for x in range(self.levels)]
        return np.array(rows, dtype=object)

    def matrix(self) -> NDArray[np.float64]:
        """The transition probabilities, a column for each of `subsets`."""
        return (self.weights() / self.total).astype(np.float64)

    # -- sampling ----------------------------------------------------------------------------------------

    def randomize(self, values: NDArray[Any], source: Source) -> NDArray[np.uint8]:
        """A row of packed bits for each code in `values`; level v is bit v % 8 of byte v // 8.

        Args:
            values: Integer codes 0 .. levels - 1 on one axis.
            source: Where the words come from; a seeded one is for simulation only.
        """
        codes = check_codes(values, self.levels, field="values")
        reports = np.empty((codes.size, -(-self.levels // 8)), dtype=np.uint8)
        step = max(_LANES // lanes_of(self.levels), 1)
        for start in range(0, codes.size, step):
            reports[start : start + step] = pack(self._sets(codes[start : start + step], source), self.levels)
        return reports

    def _sets(self, codes: NDArray[np.int64], source: Source) -> NDArray[np.uint64]:
        drawn = source.words(codes.size) >> np.uint64(64 - self.bits)
        held = (drawn < np.uint64(self.on)).astype(np.uint64)
        sizes = self.size - held.astype(np.int64)
        lanes = np.zeros((codes.size, lanes_of(self.levels)), dtype=np.uint64)
        set_truths(lanes, codes, held)
        state = np.zeros(2, dtype=np.int64)
        while state[0] < codes.size:
            left = int(sizes[state[0] :].sum()) - int(state[1])
            place_subsets(source.words(left // 2 + 1).view("<u4"), self.levels, codes, sizes, lanes, state)
        return lanes

    def reach(self) -> Reach:
        """The slope of the law; every report holds `size` levels."""
        return Reach(slope=self.support_law.slope, held=self.size)

    def estimate(self, counts: ArrayLike, *, about: About = "population") -> FrequencyEstimate:
        """Unbiased frequencies from a tally; one that no sets of this size give is refused."""
        tally = self._tally(counts)
        if sum(tally[:-1].tolist()) != self.size * int(tally[-1]):
            raise InvalidInput(f"must hold {self.size} levels for each report", field="counts")
        return super().estimate(tally, about=about)

    def tally(self, reports: NDArray[Any]) -> NDArray[np.int64]:
        """Count the reports that hold each level; the last entry is their number. Refuse a set of another size."""
        counts = count_bits(reports, self.levels)
        if (np.bitwise_count(np.asarray(reports)).sum(axis=1) != self.size).any():
            raise InvalidInput(f"must hold {self.size} levels each", field="reports")
        return counts

    # -- the wire ----------------------------------------------------------------------------------------

    def wire(self) -> Subset:
        """The channel as a question carries it."""
        return Subset(size=self.size, on=self.on, bits=self.bits)

    @classmethod
    def of_wire(cls, device: Subset, cells: int) -> Self:
        """The channel that estimates from what such devices send."""
        return cls(levels=cells, size=device.size, on=device.on, bits=device.bits)
