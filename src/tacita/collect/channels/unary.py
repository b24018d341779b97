"""Unary encoding: one bit for each level, each randomised by itself.  [Erlingsson et al. 2014; Wang et al. 2017]

Privacy: local, pure; epsilon = ln of on (T - off) / ((T - on) off), T = 2**bits, exact, from the sampler's integers.
Utility: unbiased; covariance in `tacita.collect.channels.support`, with independent bits.
Cost: k bits a report; about 1 byte of keystream a bit.
Claim page: docs/claims/unary.md.   Flags: unvetted.

Legend: on / T the probability that the bit of the truth is sent as 1, off / T that any other bit is.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product
from math import isqrt, prod
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from tacita.collect.channels.parts.bits import count_bits, fill_lanes, lanes_of, last_mask, pack, set_truths
from tacita.collect.channels.parts.exact import ExactLoss, check_codes, check_levels, exp_below
from tacita.collect.channels.support import SupportChannel, SupportLaw
from tacita.collect.device.channels import Unary
from tacita.errors import InvalidInput
from tacita.noise.source import Source

__all__ = ["UnaryEncoding"]

_LANES = 2**13  # drawn at once: lanes and words stay in the processor's cache
_MOST_LISTED = 16  # levels whose 2**k reports are still listed


@dataclass(frozen=True, kw_only=True)
class UnaryEncoding(SupportChannel, ExactLoss):
    """Each level's bit is 1 with probability on / 2**bits if it is the truth, else off / 2**bits.

    Args:
        levels: Number of levels, 2 to 2**20.
        on: Integer threshold of the true level's bit, above `off` and below 2**bits.
        off: Integer threshold of every other bit, 1 or more.
        bits: Binary digits of the thresholds, 1 to 53.

    >>> UnaryEncoding(levels=3, on=2, off=1, bits=2).worst_ratio  # (1/2)(3/4) / ((1/2)(1/4))
    Fraction(3, 1)
    """

    levels: int
    on: int
    off: int
    bits: int = 53

    def __post_init__(self) -> None:
        check_levels(self.levels)
        if type(self.bits) is not int or not 1 <= self.bits <= 53:
            raise InvalidInput("must be an integer from 1 to 53", field="bits", value=self.bits)
        if type(self.off) is not int or self.off < 1:
            hint = "A bit that only the truth can set would confess it"
            raise InvalidInput("must be an integer of 1 or more", field="off", value=self.off, hint=hint)
        if type(self.on) is not int or not self.off < self.on < self._scale:
            raise InvalidInput("must be an integer above off and below 2**bits", field="on", value=self.on)

    @classmethod
    def optimised(cls, *, levels: int, epsilon: float) -> Self:
        """OUE: the truth's bit is a fair coin, which has the least variance for rare levels.

        Args:
            levels: Number of levels, 2 to 2**20.
            epsilon: The loss wanted; the true one is at most this.
        """
        # With on = T / 2 the ratio is (T - off) / off <= e^eps, that is off >= T / (1 + e^eps).
        off = -(-(2**53) // (1 + exp_below(epsilon)))
        return cls(levels=levels, on=2**52, off=int(cls._check_off(off, 2**52, epsilon)))

    @classmethod
    def symmetric(cls, *, levels: int, epsilon: float) -> Self:
        """SUE, as in RAPPOR: every bit is flipped with one probability.

        Args:
            levels: Number of levels, 2 to 2**20.
            epsilon: The loss wanted; the true one is at most this.
        """
        # With on = T - off the ratio is ((T - off) / off)^2 <= e^eps; the root of a fraction is rounded down.
        power = exp_below(epsilon)
        root = Fraction(isqrt(power.numerator * power.denominator * 4**64), power.denominator * 2**64)
        off = int(cls._check_off(-(-(2**53) // (1 + root)), 2**52, epsilon))
        return cls(levels=levels, on=2**53 - off, off=off)

    @staticmethod
    def _check_off(off: int, half: int, epsilon: float) -> int:
        if off < half:
            return off
        raise InvalidInput("is too small for thresholds of 53 bits", field="epsilon", value=epsilon)

    # -- the numbers -------------------------------------------------------------------------------------

    @property
    def _scale(self) -> int:
        return int(2**self.bits)

    @property
    def worst_ratio(self) -> Fraction:
        """on (T - off) / ((T - on) off).

        Two inputs differ in the law of two bits. The bit of one is likelier 1 by on / off at most, that of the other
        likelier 0 by (T - off) / (T - on) at most, and one report does both.
        """
        return Fraction(self.on * (self._scale - self.off), (self._scale - self.on) * self.off)

    @cached_property
    def support_law(self) -> SupportLaw:
        """Bits are independent given the truth."""
        return SupportLaw.independent(Fraction(self.on, self._scale), Fraction(self.off, self._scale))

    @property
    def total(self) -> int:
        """The common denominator of all reports' probabilities."""
        return int(self._scale**self.levels)

    @property
    def report_bits(self) -> int:
        """Length of a report."""
        return self.levels

    def weights(self) -> NDArray[Any]:
        """Exact integer weights of all 2**k reports, for few levels; report j has the bits of the number j."""
        if self.levels > _MOST_LISTED:
            rule = f"must be at most {_MOST_LISTED} to list all reports"
            raise InvalidInput(rule, field="levels", value=self.levels)
        rows = np.empty((self.levels, 2**self.levels), dtype=object)
        for x in range(self.levels):
            chance = [self.on if v == x else self.off for v in range(self.levels)]
            for report in product((0, 1), repeat=self.levels):
                column = sum(bit << v for v, bit in enumerate(report))
                rows[x, column] = prod(c if bit else self._scale - c for c, bit in zip(chance, report, strict=True))
        return rows

    def matrix(self) -> NDArray[np.float64]:
        """The transition probabilities of all 2**k reports, for few levels."""
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
            part = codes[start : start + step]
            lanes = self._others(part.size, source)
            set_truths(lanes, part, self._truths(part.size, source))
            reports[start : start + step] = pack(lanes, self.levels)
        return reports

    def _truths(self, count: int, source: Source) -> NDArray[np.uint64]:
        drawn = source.words(count) >> np.uint64(64 - self.bits)
        return (drawn < np.uint64(self.on)).astype(np.uint64)

    def _others(self, rows: int, source: Source) -> NDArray[np.uint64]:
        lanes = np.empty((rows, lanes_of(self.levels)), dtype=np.uint64)
        flat, done = lanes.reshape(-1), 0
        while done < flat.size:
            words = source.words(8 * (flat.size - done) + 2 * self.bits)
            done = fill_lanes(words, self.off, self.bits, last_mask(self.levels), lanes.shape[1], flat, done)
        return lanes

    def tally(self, reports: NDArray[Any]) -> NDArray[np.int64]:
        """Count the reports with each bit set; the last entry is the number of reports."""
        return count_bits(reports, self.levels)

    # -- the wire ----------------------------------------------------------------------------------------

    def wire(self) -> Unary:
        """The channel as a question carries it."""
        return Unary(on=self.on, off=self.off, bits=self.bits)

    @classmethod
    def of_wire(cls, device: Unary, cells: int) -> Self:
        """The channel that estimates from what such devices send."""
        return cls(levels=cells, on=device.on, off=device.off, bits=device.bits)
