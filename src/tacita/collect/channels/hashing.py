"""Local hashing: a random hash of the value, through randomized response.  [Wang, Blocki, Li, Jha 2017]

Privacy: local, pure; that of the inner randomized response over g cells, exact, whatever the hash is.
Utility: unbiased if the hash is universal; covariance in `tacita.collect.channels.support`.
Cost: a report is a seed of 32 bits and a cell; the server hashes every level for every report.
Claim page: docs/claims/local-hashing.md.   Flags: unvetted, idealised hash.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from tacita.collect.channels.channel import RandomizedResponse
from tacita.collect.channels.parts.exact import check_codes, check_levels, exp_below
from tacita.collect.channels.parts.hash import MOST_CELLS, add_supports, cells_of, mixed
from tacita.collect.channels.support import SupportChannel, SupportLaw
from tacita.collect.device.channels import Hash
from tacita.errors import InvalidInput
from tacita.noise.source import Source

__all__ = ["LocalHashing"]

_REPORTS = 2**20  # added between two carries into 64 bits
_LISTED_BITS = 8
_WIRE_SEED_BITS = 32


@dataclass(frozen=True, kw_only=True)
class LocalHashing(SupportChannel):
    """A seed, drawn by the respondent, and the seed's hash of the value sent through `inner`.

    Args:
        levels: Number of levels, 2 to 2**20.
        inner: Randomized response with equal fakes over the g cells of the hash.
        seed_bits: Bits of a seed. Fewer than 32 are for enumeration in tests: collisions would not average out.
    """

    levels: int
    inner: RandomizedResponse
    seed_bits: int = 32

    def __post_init__(self) -> None:
        check_levels(self.levels)
        if len(set(self.inner.fake)) != 1 or self.inner.levels > MOST_CELLS:
            raise InvalidInput("must have equal fakes for at most 2**20 cells", field="inner")
        if type(self.seed_bits) is not int or not 1 <= self.seed_bits <= 32:
            raise InvalidInput("must be an integer from 1 to 32", field="seed_bits", value=self.seed_bits)

    @classmethod
    def optimised(cls, *, levels: int, epsilon: float) -> Self:
        """OLH: as many cells as give the least variance for rare levels, about e^epsilon + 1.

        Args:
            levels: Number of levels, 2 to 2**20.
            epsilon: The loss wanted, up to 13.8; the true one is at most this, and less by no more than 1e-9.
        """
        cells = round(exp_below(epsilon)) + 1
        if cells > MOST_CELLS:
            raise InvalidInput("must be at most 13.8 for local hashing", field="epsilon", value=epsilon)
        return cls(levels=levels, inner=RandomizedResponse.k_ary(levels=max(cells, 2), epsilon=epsilon))

    # -- the numbers -------------------------------------------------------------------------------------

    @property
    def cells(self) -> int:
        """Number g of cells that values are hashed to."""
        return self.inner.levels

    @property
    def epsilon(self) -> float:
        """The exact local loss, to the nearest float: the seed is drawn whatever the value is."""
        return self.inner.epsilon

    @property
    def epsilon_upper(self) -> float:
        """The exact local loss, rounded outward."""
        return self.inner.epsilon_upper

    @cached_property
    def support_law(self) -> SupportLaw:
        """For a hash under which any three levels fall independently and evenly.

        The true level is supported when its own cell is sent. Another level's cell is independent of what is sent,
        and so are two others': they are supported with 1 / g each.
        """
        hit = Fraction(self.inner.keep + self.inner.fake[0], self.inner.total)
        return SupportLaw.independent(hit, Fraction(1, self.cells))

    @property
    def total(self) -> int:
        """The common denominator of all reports' probabilities."""
        return int(self.inner.total << self.seed_bits)

    @property
    def report_bits(self) -> int:
        """Length of a report."""
        return self.seed_bits + (self.cells - 1).bit_length()

    def weights(self) -> NDArray[Any]:
        """Exact integer weights, for few seeds; the report of a seed and a cell is column seed * g + cell."""
        if self.seed_bits > _LISTED_BITS:
            rule = f"must be at most {_LISTED_BITS} to list all reports"
            raise InvalidInput(rule, field="seed_bits", value=self.seed_bits)
        inner = self.inner.weights()
        seeds = np.arange(2**self.seed_bits, dtype=np.uint32)
        rows = [inner[self._cells(seeds, np.full(seeds.size, v))].reshape(-1) for v in range(self.levels)]
        return np.stack(rows).astype(object)

    def matrix(self) -> NDArray[np.float64]:
        """The transition probabilities, for few seeds."""
        return (self.weights() / self.total).astype(np.float64)

    # -- sampling ----------------------------------------------------------------------------------------

    def randomize(self, values: NDArray[Any], source: Source) -> NDArray[np.uint32]:
        """A row (seed, cell) for each code in `values`.

        Args:
            values: Integer codes 0 .. levels - 1 on one axis.
            source: Where the words come from; a seeded one is for simulation only.
        """
        codes = check_codes(values, self.levels, field="values")
        seeds = self._seeds(codes.size, source)
        sent = self.inner.randomize(self._cells(seeds, codes), source)
        return np.stack([seeds, sent.astype(np.uint32)], axis=1)

    def _seeds(self, count: int, source: Source) -> NDArray[np.uint32]:
        halves = source.words(-(-count // 2)).view("<u4")[:count]
        return np.asarray(halves >> np.uint32(32 - self.seed_bits), dtype=np.uint32)

    def _cells(self, seeds: NDArray[np.uint32], codes: NDArray[np.int64]) -> NDArray[np.int64]:
        cells: NDArray[np.int64] = cells_of(seeds, self._inner_rounds[codes], self.cells)
        return cells

    @cached_property
    def _inner_rounds(self) -> NDArray[np.uint32]:
        rounds: NDArray[np.uint32] = mixed(np.arange(self.levels, dtype=np.uint32))
        return rounds

    def tally(self, reports: NDArray[Any]) -> NDArray[np.int64]:
        """Count the reports that support each level (its hash is the cell sent); the last entry is their number."""
        rows = self._checked(reports)
        counts = np.zeros(self.levels, dtype=np.int64)
        # hash * g >> 32 == cell  exactly when  ceil(cell 2**32 / g) <= hash < ceil((cell + 1) 2**32 / g)
        edges = -(-(np.arange(self.cells + 1, dtype=np.int64) << 32) // self.cells)
        lows, widths = edges[:-1].astype(np.uint32), np.diff(edges).astype(np.uint32)
        for start in range(0, len(rows), _REPORTS):
            seeds, cells = rows[start : start + _REPORTS].T
            part = np.zeros(self.levels, dtype=np.uint32)
            add_supports(np.ascontiguousarray(seeds), lows[cells], widths[cells], self._inner_rounds, part)
            counts += part
        return np.append(counts, np.int64(len(rows)))

    def _checked(self, reports: NDArray[Any]) -> NDArray[np.uint32]:
        rows = np.asarray(reports)
        if rows.ndim != 2 or rows.shape[1] != 2 or rows.dtype.kind not in "iu":
            found = f"{rows.dtype}, shape {rows.shape}"
            raise InvalidInput("must be rows of a seed and a cell", field="reports", value=found)
        limits = np.array([2**self.seed_bits, self.cells])
        if rows.size and ((rows < 0) | (rows >= limits)).any():
            rule = f"must be seeds of {self.seed_bits} bits and cells below {self.cells}"
            raise InvalidInput(rule, field="reports")
        return rows.astype(np.uint32, copy=False)

    # -- the wire ----------------------------------------------------------------------------------------

    def wire(self) -> Hash:
        """The channel as a question carries it."""
        if self.seed_bits != _WIRE_SEED_BITS:
            raise InvalidInput(f"must be {_WIRE_SEED_BITS} on the wire", field="seed_bits", value=self.seed_bits)
        return Hash(cells=self.cells, keep=self.inner.keep, fake=self.inner.fake[0])

    @classmethod
    def of_wire(cls, device: Hash, cells: int) -> Self:
        """The channel that estimates from what such devices send."""
        inner = RandomizedResponse(keep=device.keep, fake=(device.fake,) * device.cells)
        return cls(levels=cells, inner=inner, seed_bits=_WIRE_SEED_BITS)
