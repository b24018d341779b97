"""Hypotheses of independence, and the verdicts of their tests.

Every hypothesis here has one shape: k parts (attributes, or sets of them) are mutually independent within each
combination of values of some given attributes. With nothing given that is mutual independence; with k = 2 and
something given it is X independent of Y given Z.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from scipy import stats

from tacita.domain import Domain
from tacita.errors import InvalidInput
from tacita.models.contingency import degrees_of_freedom

__all__ = ["Hypothesis", "Verdict"]


@dataclass(frozen=True, kw_only=True)
class Hypothesis:
    """Parts that are mutually independent, given some attributes.

    >>> Hypothesis.of("smokes", "age", given=["region"]).words
    'smokes and age are independent given region'
    """

    parts: tuple[tuple[str, ...], ...]
    given: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        names = self.attributes
        if len(self.parts) < 2 or not all(self.parts):
            raise InvalidInput("must be at least two, none of them empty", field="parts", value=self.parts)
        if len(set(names)) != len(names):
            raise InvalidInput("must name each attribute once", field="parts", value=list(names))

    @classmethod
    def of(cls, *parts: str | Iterable[str], given: Iterable[str] = ()) -> Hypothesis:
        """The hypothesis that these are independent; a part is one attribute, or several taken together."""
        if isinstance(given, str):
            raise InvalidInput("must be a list of names", field="given", value=given)
        tuples = tuple((part,) if isinstance(part, str) else tuple(part) for part in parts)
        return cls(parts=tuples, given=tuple(given))

    @property
    def attributes(self) -> tuple[str, ...]:
        """All names: those given first, then part by part."""
        return self.given + tuple(name for part in self.parts for name in part)

    @property
    def words(self) -> str:
        """The hypothesis as a sentence."""
        parts = [" x ".join(part) for part in self.parts]
        listed = ", ".join(parts[:-1]) + " and " + parts[-1]
        mutually = "mutually independent" if len(parts) > 2 else "independent"
        return f"{listed} are {mutually}" + (f" given {', '.join(self.given)}" if self.given else "")

    def shape(self, domain: Domain) -> tuple[int, ...]:
        """(strata, cells of part 1, .., cells of part k): how the table is laid out for testing."""
        groups = (self.given, *self.parts)
        return tuple(math.prod(domain[name].size for name in group) for group in groups)

    def df(self, domain: Domain) -> int:
        """Degrees of freedom: strata * (prod r_i - sum r_i + k - 1).

        In each stratum the saturated model has prod r_i - 1 free shares and the product model sum (r_i - 1). For two
        parts that is (r - 1)(c - 1) a stratum.
        """
        found = degrees_of_freedom(self.shape(domain))
        if found < 1:
            raise InvalidInput("must leave something to test: some attribute has one level", field="parts")
        return found


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """The outcome of one test.

    Attributes:
        hypothesis: What was tested, in words; rejecting it says that there is dependence.
        method: How.
        statistic: Larger is further from the hypothesis.
        df: Degrees of freedom of the hypothesis.
        p_value: About the probability of a statistic at least as large if the hypothesis holds.
        valid: Whether the test holds its level. False for methods that are here to be compared with.
        caution: Why it may not hold it this time, or None.
        simulated: Statistics drawn under the hypothesis, in order, where the threshold comes from them.
    """

    hypothesis: str
    method: str
    statistic: float
    df: int
    p_value: float
    valid: bool = True
    caution: str | None = None
    simulated: tuple[float, ...] | None = None

    @classmethod
    def simulated_from(cls, statistic: float, drawn: Iterable[float], **about: Any) -> Verdict:
        """p = (1 + draws at or above the statistic) / (1 + draws): exact where the draws have the statistic's law."""
        ordered = np.sort(np.fromiter(drawn, float))
        above = int((ordered >= statistic).sum())
        p_value = (1 + above) / (1 + ordered.size)
        return cls(statistic=statistic, p_value=p_value, simulated=tuple(ordered.tolist()), **about)

    def threshold(self, alpha: float) -> float:
        """Critical value: the chi-square quantile, or the ceil((l + 1)(1 - alpha))-th smallest draw."""
        level = _exact_level(alpha)
        if self.simulated is None:
            return float(stats.chi2.isf(float(level), self.df))
        rank = math.ceil((len(self.simulated) + 1) * (1 - level))
        if rank > len(self.simulated):
            hint = f"Simulate at least {math.ceil(1 / level) - 1}"
            raise InvalidInput("is too small for so few simulations", field="alpha", value=alpha, hint=hint)
        return self.simulated[rank - 1]

    def reject(self, alpha: float = 0.05) -> bool:
        """Whether the hypothesis is rejected at this level. A p-value of 1 never is: some rules accept outright."""
        return self.statistic > self.threshold(alpha) and self.p_value < 1

    def as_dict(self) -> dict[str, Any]:
        """Plain data, without the draws."""
        names = ("hypothesis", "method", "statistic", "df", "p_value", "valid", "caution")
        return {name: getattr(self, name) for name in names}


def _exact_level(alpha: float) -> Fraction:
    """The level as the decimal it was written as, so that (l + 1)(1 - alpha) is not off by one."""
    if isinstance(alpha, bool) or not 0 < alpha < 1:
        raise InvalidInput("must lie strictly between 0 and 1", field="alpha", value=alpha)
    return Fraction(str(float(alpha)))
