"""Randomized response over k levels, with any table of fakes.  [Warner 1965; Kairouz, Bonawitz, Ramage 2016]

Privacy: local, pure; epsilon = ln(1 + keep / min(fake)), exact, from the integers that the sampler uses.
Utility: unbiased; covariance in `tacita.collect.channels.frequencies`.
Cost: O(1) an answer in bulk, O(k) on a device and to estimate.
Claim page: docs/claims/randomized-response.md.   Flags: unvetted.

Legend: M the total weight, p = keep / M the probability that the coin keeps the truth, b_y = fake[y] / M that
of sending y as a fake.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Decimal, localcontext
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacita.collect.channels.frequencies import FrequencyEstimate, population_covariance, respondent_covariance
from tacita.collect.channels.parts.bulk import fill_answers, guide_table
from tacita.collect.channels.protocol import About, Reach, Traits
from tacita.collect.device.channels import RR
from tacita.collect.device.draw import DIGITS, WORD_RANGE, loss, loss_upper
from tacita.errors import InvalidInput
from tacita.noise.source import Source
from tacita.tables.uncertainty import Covariance

__all__ = ["MAX_LEVELS", "RandomizedResponse"]

MAX_LEVELS = 2**20
_BLOCK = 2**16  # answers drawn at once: words, codes and answers stay in the processor's cache


@dataclass(frozen=True, kw_only=True)
class RandomizedResponse:
    """The channel weight(y | x) = fake[y] + keep * [x == y].

    Args:
        keep: Weight of keeping the truth, 0 or more.
        fake: Weight of each level as a fake answer, 1 or more each, for 2 levels or more.

    >>> warner = RandomizedResponse(keep=2, fake=(1, 1))
    >>> warner.matrix().tolist(), round(math.exp(warner.epsilon), 12)
    ([[0.75, 0.25], [0.25, 0.75]], 3.0)
    """

    traits: ClassVar[Traits] = Traits(counts_reports=True, sends_cell=True, follows_tables=True)
    keep: int
    fake: tuple[int, ...]

    def __post_init__(self) -> None:
        if type(self.keep) is not int or self.keep < 0:
            raise InvalidInput("must be an integer of 0 or more", field="keep", value=self.keep)
        if not isinstance(self.fake, tuple):
            raise InvalidInput("must be a tuple of integers", field="fake", value=type(self.fake).__name__)
        _check_levels(len(self.fake), field="fake")
        for index, weight in enumerate(self.fake):
            if type(weight) is not int or weight < 1:
                raise InvalidInput(
                    "must be an integer of 1 or more",
                    field=f"fake[{index}]",
                    value=weight,
                    hint="A report of a level that is never faked would reveal the truth",
                )
        if self.total > WORD_RANGE:
            raise InvalidInput("keep + sum(fake) must be at most 2**53", field="fake", value=self.total)

    # -- constructors ------------------------------------------------------------------------------------

    @classmethod
    def k_ary(cls, *, levels: int, epsilon: float) -> Self:
        """Uniform fakes: the best channel of this family at a given epsilon.

        Args:
            levels: Number of levels, 2 to 2**20.
            epsilon: The loss wanted; the true one is at most this, and less by no more than 1e-9.
        """
        if type(levels) is not int:
            raise InvalidInput("must be an integer", field="levels", value=levels)
        _check_levels(levels, field="levels")
        odds = _odds_below(epsilon)
        # M = f k + odds f <= 2**53
        least = int(WORD_RANGE / (levels + odds))
        return cls._calibrated((least,) * levels, odds, epsilon)

    @classmethod
    def with_fakes(cls, *, distribution: Sequence[float | Fraction], epsilon: float, floor: float) -> Self:
        """Fakes drawn from a given distribution, mixed with the uniform one.

        Args:
            distribution: Share of each level among the fakes; non-negative, sums to 1 within 1e-9.
            epsilon: The loss wanted; the true one is at most this, and less by no more than 1e-9.
            floor: Weight eta of the uniform in (1 - eta) * distribution + eta / k, above 0 and at most 1.
                The rarest fake sets the loss, so a small floor costs a small probability of keeping the
                truth.
        """
        _check_levels(len(distribution), field="distribution")
        shares = _floored(_normalised(distribution), _exact(floor, field="floor"))
        odds = _odds_below(epsilon)
        # With F the sum of the fakes, M = F + keep <= F (1 + odds * least share) <= 2**53.
        sum_of_fakes = int(WORD_RANGE / (1 + odds * min(shares)))
        return cls._calibrated(tuple(int(share * sum_of_fakes) for share in shares), odds, epsilon)

    @classmethod
    def _calibrated(cls, fake: tuple[int, ...], odds: Fraction, epsilon: float) -> Self:
        # keep / min f <= e^eps - 1 because of the floor; the step that is lost is below 1 / (min f + keep)
        # of loss.
        least = min(fake)
        keep = int(odds * least)
        if least < 1 or keep < 1 or least + keep < 10**9:
            raise InvalidInput(
                f"cannot be represented for {len(fake)} levels with integers up to 2**53",
                field="epsilon",
                value=epsilon,
                hint="Take an epsilon nearer to 1, fewer levels, or a larger floor",
            )
        return cls(keep=keep, fake=fake)

    # -- the numbers -------------------------------------------------------------------------------------

    @property
    def levels(self) -> int:
        """Number of levels k."""
        return len(self.fake)

    @cached_property
    def total(self) -> int:
        """The common denominator M = keep + sum(fake)."""
        return self.keep + sum(self.fake)

    @cached_property
    def epsilon(self) -> float:
        """The exact local loss, to the nearest float."""
        return loss(self.keep, self.fake)

    @cached_property
    def epsilon_upper(self) -> float:
        """The exact local loss, rounded outward."""
        return loss_upper(self.keep, self.fake)

    @property
    def keep_probability(self) -> float:
        """Probability p that the coin keeps the truth; a fake may still hit it."""
        return self.keep / self.total

    def fake_probabilities(self) -> NDArray[np.float64]:
        """Probability b_y that y is sent as a fake; sums to 1 - p."""
        return np.array(self.fake, dtype=np.int64) / self.total

    def weights(self) -> NDArray[np.int64]:
        """The exact integer weights, rows x and columns y; each row sums to `total`."""
        rows = np.tile(np.array(self.fake, dtype=np.int64), (self.levels, 1))
        rows[np.diag_indices(self.levels)] += self.keep
        return rows

    def matrix(self) -> NDArray[np.float64]:
        """The transition probabilities, rows x and columns y."""
        return self.weights() / self.total

    # -- sampling ----------------------------------------------------------------------------------------

    def randomize(self, values: NDArray[Any], source: Source) -> NDArray[Any]:
        """One randomised code for each code in `values`.

        Args:
            values: Integer codes 0 .. levels - 1 on one axis.
            source: Where the words come from; a seeded one is for simulation only.

        Returns:
            Codes in the smallest unsigned type that holds every level.
        """
        codes = self._codes(values, field="values")
        answers = np.empty(codes.size, dtype=np.min_scalar_type(self.levels - 1))
        sums, guide, shift = self._search
        buffer = np.empty(_BLOCK, dtype=np.int64)
        done = 0
        while done < codes.size:
            block = codes[done : done + _BLOCK].astype(np.int64)
            filled = fill_answers(block, source.words(block.size), self.keep, sums, guide, shift, buffer)
            answers[done : done + filled] = buffer[:filled]
            done += filled
        return answers

    @cached_property
    def _search(self) -> tuple[NDArray[np.int64], NDArray[np.int32], int]:
        sums = np.cumsum(np.array(self.fake, dtype=np.int64))
        return sums, *guide_table(sums)

    def tally(self, reports: NDArray[Any]) -> NDArray[np.int64]:
        """Count how often each level was sent."""
        codes = self._codes(reports, field="reports").astype(np.int64)
        return np.bincount(codes, minlength=self.levels).astype(np.int64)

    def _codes(self, values: NDArray[Any], *, field: str) -> NDArray[Any]:
        codes = np.asarray(values)
        if codes.ndim != 1 or codes.dtype.kind not in "iu":
            raise InvalidInput(
                "must be integer codes on one axis", field=field, value=f"{codes.dtype}, {codes.ndim} axes"
            )
        if codes.size and not (codes.min() >= 0 and codes.max() < self.levels):
            row = int(np.flatnonzero((codes < 0) | (codes >= self.levels))[0])
            raise InvalidInput(
                f"must be codes from 0 to {self.levels - 1}",
                field=field,
                hint="Encode the attribute with its domain first",
                private=f"row {row}",
            )
        return codes

    # -- estimation --------------------------------------------------------------------------------------

    def estimate(self, counts: ArrayLike, *, about: About = "population") -> FrequencyEstimate:
        """Unbiased frequencies from how often each level was sent.

        Args:
            counts: One non-negative integer for each level.
            about: "population" when the respondents are a sample of whom the answer is about; "respondents"
                when it is about these very people.
        """
        sent = self._counts(counts)
        n = int(sent.sum())
        # E[share of y] = p pi_y + b_y; solved for pi. Sums to 1 because b sums to 1 - p.
        observed, b, p = sent / n, self.fake_probabilities(), self.keep_probability
        frequencies = (observed - b) / p
        return FrequencyEstimate(
            frequencies=frequencies,
            observed=observed,
            offset=b,
            slope=p,
            respondents=n,
            about=about,
            uncertainty=self.covariance(frequencies, respondents=n, about=about),
        )

    def covariance(self, frequencies: ArrayLike, *, respondents: int, about: About = "population") -> Covariance:
        """The covariance of the estimate when `frequencies` is the truth: predicted error, before any
        answer is there.

        Args:
            frequencies: True share of each level, of the population or of the respondents.
            respondents: Their number, 1 or more.
            about: What the estimate is about, as in `estimate`.
        """
        pi = np.asarray(frequencies, dtype=np.float64)
        if pi.shape != (self.levels,) or not np.isfinite(pi).all() or not pi.any():
            rule = f"must be {self.levels} finite numbers, not all 0"
            raise InvalidInput(rule, field="frequencies", value=pi.shape)
        if respondents < 1:
            raise InvalidInput("must be at least 1", field="respondents", value=respondents)
        if about not in get_args(About):
            raise InvalidInput("must be 'population' or 'respondents'", field="about", value=about)
        self._check_informative()
        formula = population_covariance if about == "population" else respondent_covariance
        return formula(pi, self.fake_probabilities(), self.keep_probability, respondents)

    def second_moments(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Those of a binomial draw: the share of the cell itself decides, whatever the others are."""
        b, p = self.fake_probabilities(), self.keep_probability
        return (p + b) * (1 - p - b) / p**2 + 1, b * (1 - b) / p**2

    def reach(self) -> Reach:
        """keep / total, and one level held."""
        self._check_informative()
        return Reach(slope=Fraction(self.keep, self.total), held=1)

    def _counts(self, counts: ArrayLike) -> NDArray[Any]:
        sent = np.asarray(counts)
        if sent.shape != (self.levels,) or sent.dtype.kind not in "iu":
            raise InvalidInput(
                f"must be {self.levels} integers", field="counts", value=f"{sent.dtype}, shape {sent.shape}"
            )
        if (sent < 0).any() or not sent.any():
            raise InvalidInput("must be non-negative with at least one answer", field="counts")
        self._check_informative()
        return sent

    def _check_informative(self) -> None:
        if self.keep == 0:
            raise InvalidInput(
                "must be positive to estimate",
                field="keep",
                value=0,
                hint="These answers do not depend on the truth",
            )

    # -- the wire ----------------------------------------------------------------------------------------

    def wire(self) -> RR:
        """The channel as a question carries it."""
        return RR(keep=self.keep, fake=self.fake)

    @classmethod
    def of_wire(cls, device: RR, cells: int) -> Self:
        """The channel that estimates from what such devices send."""
        return cls(keep=device.keep, fake=device.fake)


def _check_levels(levels: int, *, field: str) -> None:
    if not 2 <= levels <= MAX_LEVELS:
        raise InvalidInput("must have 2 to 2**20 levels", field=field, value=levels)


def _odds_below(epsilon: float) -> Fraction:
    """A fraction just below e^epsilon - 1, so that what is floored with it errs on the private side."""
    if isinstance(epsilon, bool) or not isinstance(epsilon, int | float) or not math.isfinite(epsilon) or epsilon <= 0:
        raise InvalidInput("must be positive and finite", field="epsilon", value=epsilon)
    if epsilon > 53 * math.log(2):
        raise InvalidInput("must be at most 36.7, the largest that 53 bits can hold", field="epsilon", value=epsilon)
    with localcontext() as context:
        context.prec, context.rounding = DIGITS, ROUND_FLOOR
        # exp rounds to nearest whatever the context says: one unit of its last place is taken off.
        return Fraction(Decimal(epsilon).exp().next_minus()) - 1


def _exact(value: float | Fraction, *, field: str) -> Fraction:
    if isinstance(value, bool) or (isinstance(value, float) and not math.isfinite(value)):
        raise InvalidInput("must be a finite number", field=field, value=value)
    return Fraction(value)


def _normalised(distribution: Sequence[float | Fraction]) -> list[Fraction]:
    shares = [_exact(share, field=f"distribution[{i}]") for i, share in enumerate(distribution)]
    whole = sum(shares, Fraction(0))
    if min(shares) < 0 or abs(whole - 1) > Fraction(1, 10**9):
        raise InvalidInput(
            "must be non-negative and sum to 1",
            field="distribution",
            value=float(whole),
            hint="Project it first: norm_sub",
        )
    return [share / whole for share in shares]


def _floored(shares: list[Fraction], floor: Fraction) -> list[Fraction]:
    if not 0 < floor <= 1:
        raise InvalidInput("must be above 0 and at most 1", field="floor", value=float(floor))
    return [(1 - floor) * share + floor / len(shares) for share in shares]
