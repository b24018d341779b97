"""Any channel as a matrix of integers: sampler, loss, inversion, covariance and EM are all read off it.

Privacy: local, pure; epsilon = the largest log ratio within a column, over all pairs of values, exact.
Utility: unbiased by inversion, if the matrix has full rank; covariance below.
Cost: k m integers; a bisection an answer. For few levels: k-RR and the oracles have forms that need no matrix.
Claim page: docs/claims/geometric-hybrid.md.   Flags: unvetted.

Legend: C_xy = weights[x][y] / M = P(y | x), rows the k values, columns the m reports; r = C' pi the law of a report.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import lcm
from typing import Any, ClassVar, Self, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacita.collect.channels.frequencies import FrequencyEstimate
from tacita.collect.channels.parts.em import Fitted, expectation_maximisation
from tacita.collect.channels.parts.exact import ExactLoss, check_codes, check_levels, exp_below
from tacita.collect.channels.protocol import About, Reach, Traits
from tacita.collect.device.channels import Matrix
from tacita.collect.device.draw import WORD_RANGE
from tacita.common.compiled import compiled
from tacita.errors import InvalidInput
from tacita.noise.source import Source
from tacita.tables.uncertainty import Covariance

__all__ = ["InvertedMatrix", "MatrixChannel", "fill_rows"]

_BLOCK = 2**16
Rows = Sequence[Sequence[Fraction]]


@compiled
def fill_rows(
    values: NDArray[np.int64], words: NDArray[np.uint64], sums: NDArray[np.int64], sent: NDArray[np.int64]
) -> int:
    """Draw a column for each value by its row of cumulative sums; returns how many were drawn from the words."""
    word_range = np.int64(1) << 53
    total = sums[0, -1]
    bound = word_range - word_range % total
    done = 0
    for i in range(words.size):
        word = np.int64(words[i] >> np.uint64(11))
        if word >= bound:
            continue
        sent[done] = np.searchsorted(sums[values[done]], word % total, side="right")
        done += 1
    return done


class InvertedMatrix(ABC):
    """Estimation by inversion, for a channel with a listed law: unbiased if it has full rank."""

    @property
    @abstractmethod
    def levels(self) -> int:
        """Number of values k."""

    @property
    @abstractmethod
    def reports(self) -> int:
        """Number of reports m."""

    @abstractmethod
    def matrix(self) -> NDArray[np.float64]:
        """The transition probabilities."""

    # -- estimation --------------------------------------------------------------------------------------

    @cached_property
    def _inverse(self) -> NDArray[np.float64]:
        # A with A C' = 1. The law of the reports is r = C' pi, with the transpose: report y collects column y of C.
        # Solving with C instead answers another question, and gives plausible numbers.
        matrix = self.matrix()
        if np.linalg.matrix_rank(matrix) < self.levels:
            hint = "Some values give the same reports: only `distribution` can be used, and it is one of many"
            raise InvalidInput("must have full rank to estimate without bias", field="table", hint=hint)
        return np.asarray(np.linalg.pinv(matrix.T), dtype=np.float64)

    def estimate(self, counts: ArrayLike, *, about: About = "population") -> FrequencyEstimate:
        """Unbiased frequencies: the least-squares solution of C' pi = observed shares.

        Args:
            counts: One non-negative integer for each report.
            about: "population" when the respondents are a sample of whom the answer is about; "respondents"
                when it is about these very people.
        """
        seen = np.asarray(counts)
        if seen.shape != (self.reports,) or seen.dtype.kind not in "iu" or (seen < 0).any() or not seen.any():
            rule = f"must be {self.reports} non-negative integers, at least one positive"
            raise InvalidInput(rule, field="counts", value=f"{seen.dtype}, shape {seen.shape}")
        if seen[~self.matrix().any(axis=0)].any():
            raise InvalidInput("must be 0 for reports that are never sent", field="counts")
        n = int(seen.sum())
        frequencies = self._inverse @ (seen / n)
        return FrequencyEstimate(
            frequencies=frequencies,
            observed=seen / n,
            offset=np.full(self.levels, np.nan),
            slope=np.nan,
            respondents=n,
            about=about,
            uncertainty=self.covariance(frequencies, respondents=n, about=about),
            binomial=False,
        )

    def covariance(self, frequencies: ArrayLike, *, respondents: int, about: About = "population") -> Covariance:
        """The covariance that the estimate will have when `frequencies` is the truth.

        Claim: n Cov = A diag(r) A' - pi pi' about a population, A diag(r) A' - diag(pi) about the respondents.
        One report is a unit vector with law r: covariance diag r - r r', and A r = pi. Given the value x its law is
        P_x, and A P_x = e_x: the mean over x of A (diag P_x - P_x P_x') A' is A diag(r) A' - sum_x pi_x e_x e_x'.

        Args:
            frequencies: True share of each level. respondents: Their number. about: As in `estimate`.
        """
        pi = np.asarray(frequencies, dtype=np.float64)
        if pi.shape != (self.levels,) or not np.isfinite(pi).all():
            raise InvalidInput(f"must be {self.levels} finite numbers", field="frequencies", value=pi.shape)
        if respondents < 1:
            raise InvalidInput("must be at least 1", field="respondents", value=respondents)
        if about not in get_args(About):
            raise InvalidInput("must be 'population' or 'respondents'", field="about", value=about)
        r = pi @ self.matrix()
        vectors, signs = (self._inverse * np.sqrt(np.abs(r))).T, -np.sign(r)
        diagonal = -pi if about == "respondents" else np.zeros_like(pi)
        if about == "population":
            vectors, signs = np.vstack([vectors, pi]), np.append(signs, 1.0)
        return Covariance(diagonal=diagonal / respondents, vectors=vectors / np.sqrt(respondents), signs=signs)

    def reach(self) -> Reach:
        """Effects of all reports that are ever sent."""
        return Reach(effects=self._inverse[:, self.matrix().any(axis=0)])

    def distribution(self, counts: ArrayLike, *, tolerance: float = 1e-10) -> Fitted:
        """The most likely distribution, by the iterative Bayesian update; never negative, and biased for that."""
        return expectation_maximisation(self.matrix(), counts, tolerance=tolerance)


@dataclass(frozen=True, kw_only=True)
class MatrixChannel(InvertedMatrix, ExactLoss):
    """The channel with the given integer weights.

    Args:
        table: A row for each value, a column for each report; integers of 1 or more, all rows with one sum, at most
            2**53.

    >>> MatrixChannel(table=((3, 1), (1, 3))).matrix().tolist()
    [[0.75, 0.25], [0.25, 0.75]]
    """

    traits: ClassVar[Traits] = Traits(counts_reports=True, follows_tables=True)
    table: tuple[tuple[int, ...], ...]

    def __post_init__(self) -> None:
        check_levels(len(self.table))
        for x, row in enumerate(self.table):
            if len(row) != len(self.table[0]) or any(type(weight) is not int or weight < 1 for weight in row):
                hint = "A report that some value never gives would confess"
                raise InvalidInput("must hold equally many integers of 1 or more", field=f"table[{x}]", hint=hint)
            if sum(row) != self.total or self.total > WORD_RANGE:
                raise InvalidInput("must sum to what row 0 sums to, at most 2**53", field=f"table[{x}]", value=sum(row))

    @classmethod
    def from_probabilities(cls, rows: Rows) -> Self:
        """The integers for given fractions: exact if a common denominator fits into 53 bits, else nearest to them.

        What is lost by rounding down goes to the largest entry of the row, where it changes ratios least.
        """
        common = lcm(*(share.denominator for row in rows for share in row))
        scale = common if common <= WORD_RANGE else WORD_RANGE
        table = []
        for row in rows:
            if sum(row) != 1:
                raise InvalidInput("must sum to 1, exactly", field="rows", value=float(sum(row)))
            weights = [int(share * scale) for share in row]
            weights[weights.index(max(weights))] += scale - sum(weights)
            table.append(tuple(weights))
        return cls(table=tuple(table))

    @classmethod
    def within(cls, rows: Rows, epsilon: float) -> Self:
        """The integers for fractions near the given ones whose exact loss is at most epsilon.

        Rounding, of our integers or of a solver's numbers, may exceed the promise by a trifle. Mixing a share of the
        uniform law into every row lowers all ratios; the least power of two that is enough is taken.
        """
        wanted = exp_below(epsilon)
        columns = len(rows[0])
        for share in (Fraction(0), *(Fraction(1, 2**power) for power in range(50, 5, -1))):
            mixed = [[(1 - share) * entry + share / columns for entry in row] for row in rows]
            try:
                channel = cls.from_probabilities(mixed)
            except InvalidInput:  # an entry that is 0 in integers
                continue
            if channel.worst_ratio <= wanted:
                return channel
        raise InvalidInput("cannot be kept with integers up to 2**53", field="epsilon", value=epsilon)

    # -- the numbers -------------------------------------------------------------------------------------

    @property
    def levels(self) -> int:
        """Number of values k."""
        return len(self.table)

    @property
    def reports(self) -> int:
        """Number of reports m."""
        return len(self.table[0])

    @cached_property
    def total(self) -> int:
        """The common denominator M."""
        return sum(self.table[0])

    @cached_property
    def worst_ratio(self) -> Fraction:
        """The largest ratio within a column: every value may be exchanged for every other."""
        return max(Fraction(max(column), min(column)) for column in zip(*self.table, strict=True))

    @property
    def report_bits(self) -> int:
        """Length of a report."""
        return (self.reports - 1).bit_length()

    def weights(self) -> NDArray[np.int64]:
        """The exact integer weights."""
        return np.array(self.table, dtype=np.int64)

    def matrix(self) -> NDArray[np.float64]:
        """The transition probabilities."""
        return self.weights() / self.total

    @cached_property
    def condition(self) -> float:
        """The condition number of the matrix: how much inversion may blow up an error."""
        return float(np.linalg.cond(self.matrix()))

    # -- sampling ----------------------------------------------------------------------------------------

    def randomize(self, values: NDArray[Any], source: Source) -> NDArray[np.int64]:
        """A report for each code in `values`.

        Args:
            values: Integer codes 0 .. levels - 1 on one axis.
            source: Where the words come from; a seeded one is for simulation only.
        """
        codes = check_codes(values, self.levels, field="values")
        sums = np.cumsum(self.weights(), axis=1)
        sent = np.empty(codes.size, dtype=np.int64)
        done = 0
        while done < codes.size:
            block = codes[done : done + _BLOCK]
            done += fill_rows(block, source.words(block.size), sums, sent[done : done + block.size])
        return sent

    def tally(self, reports: NDArray[Any]) -> NDArray[np.int64]:
        """Count how often each report was received."""
        codes = check_codes(reports, self.reports, field="reports")
        return np.bincount(codes, minlength=self.reports).astype(np.int64)

    # -- the wire ----------------------------------------------------------------------------------------

    def wire(self) -> Matrix:
        """The channel as a question carries it."""
        return Matrix(weights=self.table)

    @classmethod
    def of_wire(cls, device: Matrix, cells: int) -> Self:
        """The channel that estimates from what such devices send."""
        sent = device.sent_indexes(cells)  # columns that are never sent are not estimated with
        return cls(table=tuple(tuple(row[y] for y in sent) for row in device.weights))
