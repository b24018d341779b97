"""Expected compensation for a loss of privacy, and the epsilon at which it is least.

    E(e)      = E_min + (E - E_min) exp(-c / e)        compensation of one person at epsilon e
    E(e; e0)  = g E(e) + (1 - g) E(n e0)               when the loss of n releases at noise level e0 stays below e
                                                       with confidence g

E is the compensation without any guarantee, E_min that with a perfect one. E(0+) = E_min and E(inf) = E; the published
form E_min + E exp(-c/e) passes E when E_min > 0.

The optimum is found by a bracketing search over (0, e0]: E(e; e0) is not convex for large e0, but had one minimum
in every case we tried. Noise, and so the error that users see, is set by e0 and not by e. Releases about the same
people add up: the loss of n of them is at most n e0, and its law is composed, not assumed.

Both calculi of `at_risk` are given: the published heuristic and the exact confidence. The mechanism and its noise are
the same in both; only the bookkeeping differs.

Privacy: arithmetic; reads no data. Claim: docs/claims/at-risk.md
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, get_args

import numpy as np
from scipy import optimize

from tacita import check
from tacita.errors import InvalidInput
from tacita.privacy.risk.at_risk import HEURISTIC, MOST_RELEASES, Sides, confidence_of
from tacita.privacy.risk.bessel import bessel_confidence

__all__ = ["Bookkeeping", "CostModel", "Optimum", "Price", "Range"]

Bookkeeping = Literal["exact", "exact-one-sided", "bessel"]

_GRID = 512
"""Where a search starts: the best of so many points, then a bracketed minimum around it."""


@dataclass(frozen=True, kw_only=True)
class Optimum:
    """The epsilon at which a holder's budget is least, and what it is."""

    epsilon: float
    confidence: float
    budget: float
    saving: float
    """Against paying for the noise level itself."""
    calculus: Bookkeeping
    note: str


@dataclass(frozen=True, kw_only=True)
class Range:
    """Noise levels and epsilons that keep both the error and the money within limits."""

    noise_at_least: float
    """From the error that users accept: noise of less than this level is too much."""
    epsilon_low: float | None
    epsilon_high: float | None
    """None and None when no epsilon keeps within the money."""
    accurate: bool = True
    """Whether the noise level that was asked about gives an error that users accept."""

    @property
    def feasible(self) -> bool:
        """Whether there is any that also has an error that users accept."""
        return self.epsilon_low is not None and self.accurate


@dataclass(frozen=True, kw_only=True)
class Price:
    """The answer to "what would it cost us?", with both calculi."""

    noise: float
    releases: int
    composed: float
    """The noise level of all releases together."""
    plain: float
    """Budget when the loss is taken to be the noise level: no privacy at risk."""
    optima: tuple[Optimum, ...]

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        optima = [{name: getattr(each, name) for name in each.__dataclass_fields__} for each in self.optima]
        return {"noise": self.noise, "releases": self.releases, "composed": self.composed, "plain": self.plain} | {
            "optima": optima
        }


@dataclass(frozen=True, kw_only=True)
class CostModel:
    """Compensation as a function of epsilon.

    Args:
        compensation: E, of one person with no guarantee at all.
        people: How many would have to be compensated.
        steepness: c, how fast compensation grows with epsilon.
        least: E_min, of one person under a perfect guarantee.
    """

    compensation: float
    people: int
    steepness: float = 1.0
    least: float = 0.0

    def __post_init__(self) -> None:
        for name in ("compensation", "steepness"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value > 0):
                raise InvalidInput("must be positive and finite", field=name, value=value)
        check.whole(self.people, "people", least=1)
        if not 0 <= self.least < self.compensation:
            rule = "must be 0 or more, and below the compensation without a guarantee"
            raise InvalidInput(rule, field="least", value=self.least)

    # -- one person -----------------------------------------------------------------------------------------------

    def each(self, epsilon: float) -> float:
        """Compensation of one person at an epsilon: E_min at 0, E at infinity, growing in between."""
        if math.isnan(epsilon) or epsilon < 0:
            raise InvalidInput("must be 0 or more", field="epsilon", value=epsilon)
        decay = math.exp(-self.steepness / epsilon) if epsilon > 0 else 0.0
        return self.least + (self.compensation - self.least) * decay

    def each_at_risk(
        self,
        epsilon: float,
        noise: float,
        calculus: Bookkeeping = "exact",
        *,
        dimensions: int = 1,
        releases: int = 1,
    ) -> float:
        """The same when the loss stays below epsilon only with a confidence, and is as large as it can be otherwise."""
        share = confidence(epsilon, noise, calculus, dimensions=dimensions, releases=releases)
        return share * self.each(epsilon) + (1 - share) * self.each(releases * noise)

    # -- all people -----------------------------------------------------------------------------------------------

    def budget(self, epsilon: float) -> float:
        """Compensation of all people together."""
        return self.people * self.each(epsilon)

    def optimum(
        self, noise: float, calculus: Bookkeeping = "exact", *, dimensions: int = 1, releases: int = 1
    ) -> Optimum:
        """The epsilon, up to what all releases can lose together, at which the budget is least."""
        _positive("noise", noise)
        _known(calculus)
        worst = releases * noise

        def at(epsilon: float) -> float:
            return self.each_at_risk(epsilon, noise, calculus, dimensions=dimensions, releases=releases)

        grid = np.linspace(0, worst, _GRID + 1)[1:-1]  # at 0 and at the worst nothing is saved
        best = int(np.argmin([at(float(epsilon)) for epsilon in grid]))
        low, high = grid[best - 1] if best else 0.0, grid[min(best + 1, len(grid) - 1)]
        found = optimize.minimize_scalar(at, bounds=(low, high), method="bounded", options={"xatol": 1e-12})
        epsilon = float(found.x)
        if at(epsilon) >= self.each(worst):  # being sure of the worst is then the better bargain
            epsilon = worst
        least = self.people * at(epsilon)
        return Optimum(
            epsilon=epsilon,
            confidence=confidence(epsilon, noise, calculus, dimensions=dimensions, releases=releases),
            budget=least,
            saving=self.budget(worst) - least,
            calculus=calculus,
            note=HEURISTIC if calculus == "bessel" else "",
        )

    def price(self, noise: float, *, releases: int = 1, dimensions: int = 1) -> Price:
        """Cost of a noise level over a number of releases: plainly, and by every calculus that covers them."""
        _positive("noise", noise)
        check.whole(releases, "releases", least=1, most=MOST_RELEASES)
        calculi = [each for each in get_args(Bookkeeping) if releases == 1 or each != "bessel"]  # it knows one release
        return Price(
            noise=noise,
            releases=releases,
            composed=releases * noise,
            plain=self.budget(releases * noise),
            optima=tuple(self.optimum(noise, each, dimensions=dimensions, releases=releases) for each in calculi),
        )

    def most_releases(self, noise: float, money: float) -> int:
        """Number of releases at this noise level that the money pays for, when losses add up."""
        _positive("noise", noise)
        _positive("money", money)
        if money >= self.people * self.compensation:
            raise InvalidInput(
                "pays for any number of releases: it compensates all people in full", field="money", value=money
            )
        share = (money / self.people - self.least) / (self.compensation - self.least)
        if share <= 0:
            return 0
        return math.floor(-self.steepness / math.log(share) / noise + 1e-12)

    def feasible(
        self,
        noise: float,
        *,
        money: float,
        error: float,
        sensitivity: float = 1.0,
        calculus: Bookkeeping = "exact",
        dimensions: int = 1,
        releases: int = 1,
    ) -> Range:
        """Find the epsilons that keep the budget within the money, and the noise level that the error requires.

        The mean absolute error is sensitivity / noise, so the error bounds the noise level. The money bounds epsilon,
        through a confidence that depends on epsilon itself: solved by search, not by the published closed form, which
        takes the confidence as fixed.
        """
        for name, value in (("noise", noise), ("money", money), ("error", error), ("sensitivity", sensitivity)):
            _positive(name, value)
        grid = np.linspace(0, releases * noise, 4 * _GRID + 1)[1:]
        at = partial(self.each_at_risk, noise=noise, calculus=calculus, dimensions=dimensions, releases=releases)
        budgets = {float(each): self.people * at(float(each)) for each in grid}
        within = [epsilon for epsilon, budget in budgets.items() if budget <= money]
        return Range(
            noise_at_least=sensitivity / error,
            epsilon_low=within[0] if within else None,
            epsilon_high=within[-1] if within else None,
            accurate=noise >= sensitivity / error * (1 - 1e-12),
        )

    def sensitivity_to_inputs(
        self, noise: float, *, change: float = 0.1, calculus: Bookkeeping = "exact"
    ) -> dict[str, tuple[float, float]]:
        """Compute the least budget with each input lower and higher by a share: a sensitivity analysis."""
        _positive("change", change)
        found = {}
        for name in ("compensation", "steepness", "least"):
            value = getattr(self, name)
            if value:
                ends = (value * (1 - change), value * (1 + change))
                if name == "least":  # which stays below the whole
                    ends = (ends[0], min(ends[1], (self.compensation + value) / 2))
                elif name == "compensation":  # which stays above the least
                    ends = (max(ends[0], (self.least + value) / 2), ends[1])
                low, high = (replace(self, **{name: end}) for end in ends)
                found[name] = (low.optimum(noise, calculus).budget, high.optimum(noise, calculus).budget)
        low_noise, high_noise = (self.optimum(noise * (1 + sign * change), calculus).budget for sign in (-1, 1))
        return found | {"noise": (low_noise, high_noise)}


def confidence(epsilon: float, noise: float, calculus: Bookkeeping, *, dimensions: int = 1, releases: int = 1) -> float:
    """P(loss <= epsilon) as a calculus has it."""
    _known(calculus)
    if calculus == "bessel":
        if releases > 1:
            raise InvalidInput("the heuristic covers one release only", field="releases", value=releases)
        return bessel_confidence(epsilon, noise, dimensions)
    sides: Sides = "two" if calculus == "exact" else "one"
    return confidence_of(epsilon, noise, sides=sides, releases=releases)


def _known(calculus: str) -> None:
    if calculus not in get_args(Bookkeeping):
        raise InvalidInput(f"must be one of {', '.join(get_args(Bookkeeping))}", field="calculus", value=calculus)


def _positive(name: str, value: float) -> None:
    if not (math.isfinite(value) and value > 0):
        raise InvalidInput("must be positive and finite", field=name, value=value)
