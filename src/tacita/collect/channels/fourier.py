"""Fourier coefficients of yes-or-no attributes, through devices.  [Cormode, Kulkarni, Srivastava 2018]

One parity bit of each respondent gives all tables of up to `order` attributes.

Privacy: local, pure; that of randomized response of one bit with the whole epsilon, exact. The set is drawn by the
device, whatever the truth is.
Utility: unbiased, with a covariance, given how many answered about each set.
Cost: one report of log2(sets) + 1 bits; two counts for each set on the server.
Claim page: docs/claims/fourier-marginals.md.   Flags: unvetted.

A table over attributes B is P_B(v) = 2^-|B| sum of c_S (-1)^(v over S) over all sets S inside B, with c_{} = 1. All
sets are drawn equally often, as published. `tacita.collect.protocols.fourier` has other shares, in simulations.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacita.collect.channels.channel import RandomizedResponse
from tacita.collect.channels.frequencies import FrequencyEstimate
from tacita.collect.channels.parts.exact import check_codes
from tacita.collect.channels.protocol import Reach, Traits
from tacita.collect.device.channels import Fourier, fourier_masks
from tacita.domain import Domain
from tacita.errors import InvalidInput
from tacita.noise.source import Source
from tacita.tables.uncertainty import Covariance

__all__ = ["FourierChannel", "fourier_for"]

_MOST_ASKED = 16  # attributes of one question on the wire
_MOST_LISTED = 2**22  # weights of a listed law


@dataclass(frozen=True, kw_only=True)
class FourierChannel:
    """The channel from the cells of d yes-or-no attributes to a set and a parity.

    Args:
        attributes: Number d of attributes, 1 to 16. order: Most attributes of a set.
        inner: Randomized response of the parity, with equal fakes.
    """

    traits: ClassVar[Traits] = Traits(counts_reports=True)
    attributes: int
    order: int
    inner: RandomizedResponse

    def __post_init__(self) -> None:
        self.wire().check(self.levels)

    @classmethod
    def of(cls, *, attributes: int, order: int, epsilon: float) -> Self:
        """The channel with a given loss.

        Args:
            attributes: How many. order: Most attributes of a table that will be estimated. epsilon: The loss wanted.
        """
        return cls(attributes=attributes, order=order, inner=RandomizedResponse.k_ary(levels=2, epsilon=epsilon))

    # -- the numbers -------------------------------------------------------------------------------------

    @property
    def levels(self) -> int:
        """Number of cells, 2**d."""
        return int(2**self.attributes)

    @property
    def masks(self) -> tuple[int, ...]:
        """Bits of every set."""
        return fourier_masks(self.attributes, self.order)

    @property
    def epsilon(self) -> float:
        """The exact local loss, to the nearest float."""
        return self.inner.epsilon

    @property
    def epsilon_upper(self) -> float:
        """The exact local loss, rounded outward."""
        return self.inner.epsilon_upper

    @property
    def total(self) -> int:
        """The common denominator of all probabilities."""
        return self.inner.total * len(self.masks)

    def weights(self) -> NDArray[Any]:
        """Exact integer weights, for few cells; the report of a set and a parity is column 2 * set + parity."""
        if self.levels * 2 * len(self.masks) > _MOST_LISTED:
            raise InvalidInput("has too many cells to list all reports", field="attributes", value=self.attributes)
        inner = self.inner.weights().astype(object)
        rows = [[(mask & cell).bit_count() & 1 for mask in self.masks] for cell in range(self.levels)]
        return np.stack([inner[row].reshape(-1) for row in rows])

    def matrix(self) -> NDArray[np.float64]:
        """The transition probabilities, for few cells."""
        return (self.weights() / self.total).astype(np.float64)

    # -- sampling and counting ---------------------------------------------------------------------------

    def randomize(self, values: NDArray[Any], source: Source) -> NDArray[np.int64]:
        """A set and a parity for each cell in `values`.

        Args:
            values: Cells 0 .. 2**d - 1 on one axis.
            source: Where the words come from; a seeded one is for simulation only.
        """
        codes = check_codes(values, self.levels, field="values")
        masks = np.array(self.masks, dtype=np.int64)
        numbers = np.empty(codes.size, dtype=np.int64)
        bound, done = 2**53 - 2**53 % masks.size, 0
        while done < codes.size:  # words beyond the last whole round are passed over
            drawn = (source.words(codes.size - done) >> np.uint64(11)).astype(np.int64)
            good = drawn[drawn < bound] % masks.size
            numbers[done : done + good.size] = good
            done += good.size
        parity = np.bitwise_count(masks[numbers] & codes).astype(np.int64) & 1
        return 2 * numbers + self.inner.randomize(parity, source).astype(np.int64)

    def tally(self, reports: NDArray[Any]) -> NDArray[np.int64]:
        """Count how often each report came."""
        codes = check_codes(reports, 2 * len(self.masks), field="reports")
        return np.bincount(codes, minlength=2 * len(self.masks)).astype(np.int64)

    # -- estimation --------------------------------------------------------------------------------------

    def respondents(self, counts: ArrayLike) -> int:
        """Number of reports in a tally; refuse counts of another shape."""
        return int(self._counts(counts).sum())

    def _counts(self, counts: ArrayLike) -> NDArray[np.int64]:
        seen, wanted = np.asarray(counts), 2 * len(self.masks)
        if seen.shape != (wanted,) or seen.dtype.kind not in "iu" or (seen < 0).any() or not seen.any():
            rule = f"must be {wanted} non-negative integers, at least one positive"
            raise InvalidInput(rule, field="counts", value=f"{seen.dtype}, shape {seen.shape}")
        return seen.reshape(-1, 2).astype(np.int64)

    def margin(self, counts: ArrayLike, places: Sequence[int]) -> FrequencyEstimate:
        """Unbiased shares of the table over some attributes, about a population.

        Claim: given that n_S answered about S, (even - odd) / (n_S p) has the mean c_S and the variance
        (1 - p^2 c_S^2) / (n_S p^2), independently for all S; shares are linear in these.

        Args:
            counts: A tally. places: The attributes of the table, by their places 0 .. d - 1, at most `order`.
        """
        if not 1 <= len(places) <= self.order or len(set(places)) < len(places):
            rule = f"must be 1 to {self.order} different attributes"
            raise InvalidInput(rule, field="attributes", value=list(places))
        seen = self._counts(counts)
        bits = [1 << (self.attributes - 1 - place) for place in places]
        number = {mask: index for index, mask in enumerate(self.masks)}
        p, cells = self.inner.keep_probability, 2 ** len(places)
        shares, vectors, answered = np.full(cells, 1 / cells), [], 0
        for chosen in range(1, cells):  # the sets inside the table, as cells of it
            mask = sum(bit for at, bit in enumerate(bits) if chosen >> (len(bits) - 1 - at) & 1)
            even, odd = (int(part) for part in seen[number[mask]])
            if not even + odd:
                hint = "Ask more people, or for tables of fewer attributes"
                raise InvalidInput("no one was asked about a set of this table", field="attributes", hint=hint)
            answered += even + odd
            coefficient = (even - odd) / ((even + odd) * p)
            possible = min(max(coefficient, -1.0), 1.0)
            std = math.sqrt((1 - (p * possible) ** 2) / (even + odd)) / p
            signs = np.array([(-1.0) ** (chosen & cell).bit_count() for cell in range(cells)]) / cells
            shares = shares + coefficient * signs
            vectors.append(std * signs)
        nothing = np.zeros(cells)
        return FrequencyEstimate(
            frequencies=shares,
            observed=np.full(cells, np.nan),
            offset=np.full(cells, np.nan),
            slope=np.nan,
            respondents=answered,
            about="population",
            uncertainty=Covariance(diagonal=nothing, vectors=np.array(vectors), signs=-np.ones(len(vectors))),
            binomial=False,
        )

    def margin_variance(self, size: int) -> float:
        """Mean variance of a share of a table of `size` attributes, for one respondent; all coefficients being small.

        A cell is the sum of 2**size - 1 coefficients over 2**size, each from one of `len(masks)` respondents.
        """
        return float((2**size - 1) * len(self.masks) / (4**size * self.inner.keep_probability**2))

    def reach(self) -> Reach:
        """p over the number of sets: a report moves a share of a single attribute most.

        For sets that are answered equally often; the lot makes them nearly so.
        """
        return Reach(slope=Fraction(self.inner.keep, self.inner.total * len(self.masks)))

    # -- the wire ----------------------------------------------------------------------------------------

    def wire(self) -> Fourier:
        """The channel as a question carries it."""
        return Fourier(order=self.order, keep=self.inner.keep, fake=self.inner.fake[0])

    @classmethod
    def of_wire(cls, device: Fourier, cells: int) -> Self:
        """The channel that estimates from what such devices send."""
        inner = RandomizedResponse(keep=device.keep, fake=(device.fake,) * 2)
        return cls(attributes=cells.bit_length() - 1, order=device.order, inner=inner)


def fourier_for(domain: Domain, epsilon: float, order: int | None = None) -> FourierChannel:
    """Make the channel for attributes of two levels each.

    Args:
        domain: The attributes. epsilon: The loss wanted, at most. order: Most attributes of a table; all by default.
    """
    for name in domain.names:
        if domain[name].size != 2:
            raise InvalidInput("must have two levels to be asked with fourier", field=name, value=domain[name].size)
    if len(domain.names) > _MOST_ASKED:
        rule = f"must be at most {_MOST_ASKED} attributes in one question"
        raise InvalidInput(rule, field="tables", value=len(domain.names))
    return FourierChannel.of(attributes=len(domain.names), order=order or len(domain.names), epsilon=epsilon)
