"""Hadamard response: one random coefficient of the value's transform, one bit, randomised.  [Acharya, Sun, Zhang 2019]

Privacy: local, pure; that of the inner randomized response of one bit, exact.
Utility: unbiased; covariance in `support`. The variance of a share is ((e^eps + 1) / (e^eps - 1))^2 / n:
near the best for small epsilon, not below 1 / n however large epsilon is, because a report holds only one bit.
Cost: log2 K + 1 bits a report; a fast transform of K log2 K additions on the server.
Claim page: docs/claims/hadamard.md.   Flags: unvetted.

Legend: K the least power of two that is not below the number of levels; H_rv = (-1)^popcount(r & v), rows r, levels v.

Why a row and a bit, and not one index out of the value's own half of all indices (the other known form): the
probabilities of supporting a level are the same, so is the variance; but levels then meet in pairs as independent coins
whatever the truth is (in the other form not: H_u = H_v H_w ties three levels), which gives a covariance of one vector;
and level 0, whose column is constant, can be used, so that a power of two needs no doubling.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from tacita.collect.channels.channel import RandomizedResponse
from tacita.collect.channels.parts.exact import check_codes, check_levels
from tacita.collect.channels.support import SupportChannel, SupportLaw
from tacita.collect.device.channels import Hadamard
from tacita.common.compiled import compiled
from tacita.errors import InvalidInput
from tacita.noise.source import Source

__all__ = ["HadamardResponse", "walsh_hadamard"]

_LISTED_ROWS = 2**10
_FEWEST_RARE = 20
"""Expected reports of row 0 below which a normal law of the total of supports is not to be trusted."""


@compiled
def walsh_hadamard(values: NDArray[np.int64]) -> None:
    """Replace the values a_r (a power of two of them) by sum_r a_r (-1)^popcount(r & v), in place."""
    half = 1
    while half < values.size:
        for start in range(0, values.size, 2 * half):
            for i in range(start, start + half):
                a, b = values[i], values[i + half]
                values[i], values[i + half] = a + b, a - b
        half *= 2


@compiled
def _signs(rows: NDArray[np.uint32], codes: NDArray[np.int64]) -> NDArray[np.int64]:
    # 1 where H = -1: the parity of the bits that row and level share, folded together
    signs = np.empty(codes.size, dtype=np.int64)
    for i in range(codes.size):
        shared = np.int64(rows[i]) & codes[i]
        shared ^= shared >> 16
        shared ^= shared >> 8
        shared ^= shared >> 4
        shared ^= shared >> 2
        signs[i] = (shared ^ (shared >> 1)) & 1
    return signs


@dataclass(frozen=True, kw_only=True)
class HadamardResponse(SupportChannel):
    """A uniform row r, and the sign of H at r and the value sent through `inner`.

    Args:
        levels: Number of levels, 2 to 2**20; need not be a power of two.
        inner: Randomized response of the sign, with equal fakes.
    """

    levels: int
    inner: RandomizedResponse

    def __post_init__(self) -> None:
        check_levels(self.levels)
        if self.inner.levels != 2 or self.inner.fake[0] != self.inner.fake[1] or not self.inner.keep:
            raise InvalidInput("must be over 2 levels, with equal fakes and a positive keep", field="inner")

    @classmethod
    def of(cls, *, levels: int, epsilon: float) -> Self:
        """The channel with a given loss.

        Args:
            levels: Number of levels, 2 to 2**20.
            epsilon: The loss wanted; the true one is at most this, and less by no more than 1e-9.
        """
        return cls(levels=levels, inner=RandomizedResponse.k_ary(levels=2, epsilon=epsilon))

    # -- the numbers -------------------------------------------------------------------------------------

    @property
    def rows(self) -> int:
        """Number K of rows of the transform."""
        return int(1 << (self.levels - 1).bit_length())

    @property
    def epsilon(self) -> float:
        """The exact local loss, to the nearest float: the row is drawn whatever the value is."""
        return self.inner.epsilon

    @property
    def epsilon_upper(self) -> float:
        """The exact local loss, rounded outward."""
        return self.inner.epsilon_upper

    @cached_property
    def support_law(self) -> SupportLaw:
        """A report (r, sign) supports the levels v with H_rv = sign.

        The true level's sign is sent with probability p. For v != x the product H_rv H_rx takes both values in half of
        the rows, so that q = 1/2 and t = p / 2. For v, w, x all different, H_rv H_rw takes both values in half of the
        rows too, and where it is 1 the sign sent is that of v in half of the cases: if H_x is not H_v H_w its sign is
        even there, and if it is, H_rx = 1 there while H_rv is even. So u = 1/4, and all is as for independent bits.
        """
        hit = Fraction(self.inner.keep + self.inner.fake[0], self.inner.total)
        return SupportLaw.independent(hit, Fraction(1, 2))

    @property
    def total(self) -> int:
        """The common denominator of all reports' probabilities."""
        return self.inner.total * self.rows

    @property
    def report_bits(self) -> int:
        """Length of a report."""
        return self.rows.bit_length()

    def weights(self) -> NDArray[Any]:
        """Exact integer weights, for few levels; the report of a row and a sign is column 2 * row + sign."""
        if self.rows > _LISTED_ROWS:
            rule = f"must be at most {_LISTED_ROWS} to list all reports"
            raise InvalidInput(rule, field="levels", value=self.levels)
        inner, rows = self.inner.weights().astype(object), np.arange(self.rows, dtype=np.uint32)
        return np.stack([inner[_signs(rows, np.full(self.rows, v))].reshape(-1) for v in range(self.levels)])

    def matrix(self) -> NDArray[np.float64]:
        """The transition probabilities, for few levels."""
        return (self.weights() / self.total).astype(np.float64)

    def support_caution(self, reports: int) -> str:
        """Nearly all of the variance of the total comes from reports of row 0, which support all levels or none."""
        if reports < _FEWEST_RARE * self.rows:
            return "few reports have row 0, which makes nearly all of the variance: the normal law is rough"
        return "only reports of row 0 support more or fewer levels than half: others' lies do not show"

    # -- sampling ----------------------------------------------------------------------------------------

    def randomize(self, values: NDArray[Any], source: Source) -> NDArray[np.uint32]:
        """The code 2 * row + sign for each code in `values`; sign is 1 for H = -1.

        Args:
            values: Integer codes 0 .. levels - 1 on one axis.
            source: Where the words come from; a seeded one is for simulation only.
        """
        codes = check_codes(values, self.levels, field="values")
        rows = source.words(-(-codes.size // 2)).view("<u4")[: codes.size] & np.uint32(self.rows - 1)
        sent = self.inner.randomize(_signs(rows, codes), source)
        return np.asarray(rows << np.uint32(1) | sent, dtype=np.uint32)

    def tally(self, reports: NDArray[Any]) -> NDArray[np.int64]:
        """Count the reports that support each level; the last entry is the number of reports.

        With D_r the reports of row r with sign + less those with sign -, level v is supported by
        (n + sum_r D_r H_rv) / 2 reports: a fast transform of D.
        """
        codes = check_codes(reports, 2 * self.rows, field="reports")
        seen = np.bincount(codes, minlength=2 * self.rows).reshape(-1, 2)
        surplus = (seen[:, 0] - seen[:, 1]).astype(np.int64)
        walsh_hadamard(surplus)
        return np.append((codes.size + surplus[: self.levels]) // 2, np.int64(codes.size))

    # -- the wire ----------------------------------------------------------------------------------------

    def wire(self) -> Hadamard:
        """The channel as a question carries it."""
        return Hadamard(keep=self.inner.keep, fake=self.inner.fake[0])

    @classmethod
    def of_wire(cls, device: Hadamard, cells: int) -> Self:
        """The channel that estimates from what such devices send."""
        return cls(levels=cells, inner=RandomizedResponse(keep=device.keep, fake=(device.fake,) * 2))
