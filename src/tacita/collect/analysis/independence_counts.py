"""Tests of independence on counts with a curator's noise: free, because they use only what is released.

    central_monte_carlo_test   the mechanism is run again under the hypothesis  [Gaboardi et al. 2016]
    paper_chi_square           the textbook statistic and quantile on a noisy table; does not hold its level

Claim pages: docs/claims/independence.md, docs/claims/decisions.md.   Flags: unvetted.

Both begin with a table of non-negative counts near the noisy one. The documents ask for the counts x that
minimise g |T - x|_1 + (1 - g) |T - x|_2^2 with x >= 0 and sum n. Claim: for every g < 1 that is the Euclidean
projection, `norm_sub`. With the multiplier l of the sum, a positive x_i has 2 (1 - g)(x_i - T_i) + g sign(x_i - T_i) =
l, so all of them are shifted by one amount; a cell at 0 has T_i below minus that shift. That is max(T_i - t, 0) for the
one t that gives the sum, which is what `norm_sub` computes.

Statistics of the Monte Carlo test, with m the counts that the hypothesis expects from the margins of x:

    pearson       sum (T - m)^2 / m                the published one; a cell expected near 0 dominates it
    noise-aware   sum (T - m)^2 / (m + variance)   each cell weighed by its variance under the hypothesis

The threshold comes from the same statistic on simulated tables, so both hold their level up to the fit of the null; the
second has more power where noise is large, and needs no rule about small cells.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from tacita import check
from tacita.collect.analysis.hypothesis import Hypothesis, Verdict
from tacita.errors import InvalidInput
from tacita.models.contingency import expected, pearson
from tacita.noise import SeededSource
from tacita.tables.release import Release
from tacita.tables.simplex import norm_sub_rows
from tacita.tables.uncertainty import AdditiveNoise

__all__ = ["CountStatistic", "NoisyNull", "central_monte_carlo_test", "paper_chi_square"]

Array = NDArray[np.float64]
Shape = tuple[int, ...]
CountStatistic = Literal["pearson", "noise-aware"]

_FEWEST_IN_CELL = 5.0
_ACCEPTED = "accepted by rule, because a fitted cell is below 5: this says nothing about independence"


def paper_chi_square(
    release: Release, hypothesis: Hypothesis | None = None, *, people: int, rule_of_five: bool = True
) -> Verdict:
    """The textbook test on a reconstructed or noisy table, as if its cells were counts. **Not valid.**

    Noise multiplies the variance of a cell; the quantile does not know. What it rejects may well be true.

    Args:
        release: Shares or counts.
        hypothesis: What to test; mutual independence of all attributes if not given.
        people: How many the table is of; public.
        rule_of_five: Whether to accept outright when some cell has fewer than 5, as the documents do.
    """
    check.whole(people, "people", least=1)
    asked = hypothesis or Hypothesis.of(*release.attributes)
    values = np.asarray(release.project(asked.attributes).values, dtype=np.float64).reshape(1, -1)
    fit = _two_steps(values * people if release.quantity == "share" else values, asked.shape(release.domain), people)
    df, statistic = asked.df(release.domain), float(pearson(fit.near, fit.shape, at=fit.means)[0])
    accepted = rule_of_five and bool(fit.thin[0])
    return Verdict(
        hypothesis=asked.words,
        method="paper: chi-square of reconstructed counts, which is not valid: the noise is left out",
        statistic=statistic,
        df=df,
        p_value=1.0 if accepted else float(stats.chi2.sf(statistic, df)),
        valid=False,
        caution=_ACCEPTED if accepted else None,
    )


def central_monte_carlo_test(
    release: Release,
    hypothesis: Hypothesis | None = None,
    *,
    people: int | None = None,
    simulations: int = 199,
    seed: int,
    statistic: CountStatistic = "pearson",
    rule_of_five: bool = True,
) -> Verdict:
    """Independence in counts with additive noise: the null is fitted, drawn, noised by the same law and fitted again.

    Args:
        release: Counts with additive noise, such as `NoisyTables` makes.
        hypothesis: What to test; mutual independence of all attributes if not given.
        people: The public number of rows. Where it is not public (add-remove), the noisy total is used, in each
            simulation its own.
        simulations: At least 1/alpha - 1 for a test at level alpha.
        seed: Of the simulations.
        statistic: "pearson", as published, or "noise-aware".
        rule_of_five: Whether to accept outright when some fitted cell, or one of a simulation, has fewer than 5.
    """
    check.whole(people, "people", least=1, optional=True)
    check.whole(simulations, "simulations", least=1)
    asked = hypothesis or Hypothesis.of(*release.attributes)
    null = NoisyNull.of(release, asked, people=people, statistic=statistic)
    source = SeededSource(seed)
    drawn, thin = null.simulate(null.expected, simulations, source.generator(), source)
    verdict = Verdict.simulated_from(
        null.observed,
        drawn,
        hypothesis=asked.words,
        method=f"Monte Carlo of noise on exact counts, {statistic} statistic, {simulations} simulations",
        df=asked.df(release.domain),
    )
    return replace(verdict, p_value=1.0, caution=_ACCEPTED) if rule_of_five and (null.thin or thin) else verdict


@dataclass(frozen=True, kw_only=True, eq=False)
class NoisyNull:
    """A noisy table of counts, the hypothesis fitted to it, and the mechanism that adds noise to another table.

    Attributes:
        table: The noisy counts, flat, in the layout of the hypothesis.
        shape: (strata, parts ..).
        noise: What was added to each count.
        people: The public number of rows, or None.
        statistic: The statistic of the test.
    """

    table: Array
    shape: Shape
    noise: AdditiveNoise
    people: int | None
    statistic: CountStatistic

    @classmethod
    def of(
        cls, release: Release, hypothesis: Hypothesis, *, people: int | None, statistic: CountStatistic
    ) -> NoisyNull:
        """The parts of a release that a test needs."""
        check.one_of(statistic, "statistic", ("pearson", "noise-aware"))
        held = release.project(hypothesis.attributes)
        if not isinstance(held.uncertainty, AdditiveNoise) or held.quantity != "count":
            raise InvalidInput("must be counts with additive noise", field="release")
        return cls(
            table=np.asarray(held.values, dtype=np.float64).reshape(-1),
            shape=hypothesis.shape(release.domain),
            noise=held.uncertainty,
            people=people,
            statistic=statistic,
        )

    @property
    def expected(self) -> Array:
        """Counts that the hypothesis expects."""
        return np.asarray(self._fit(self.table[None, :]).means[0])

    @property
    def near(self) -> Array:
        """Non-negative counts near the noisy ones."""
        return np.asarray(self._fit(self.table[None, :]).near[0])

    @property
    def thin(self) -> bool:
        """Whether some fitted cell is too small for the documents' rule."""
        return bool(self._fit(self.table[None, :]).thin[0])

    @property
    def observed(self) -> float:
        """The statistic of the noisy table."""
        return float(self.statistics(self.table[None, :])[0])

    def _fit(self, tables: Array) -> _Fit:
        totals = np.maximum(tables.sum(axis=1), 1.0) if self.people is None else float(self.people)
        return _two_steps(tables, self.shape, totals)

    def statistics(self, tables: Array) -> Array:
        """The statistic of each noisy table, a row each."""
        variance = self.noise.terms * self.noise.law.variance if self.statistic == "noise-aware" else 0.0
        return pearson(tables, self.shape, at=self._fit(tables).means, noise_variance=variance)

    def simulate(self, means: Array, count: int, rng: np.random.Generator, source: SeededSource) -> tuple[Array, bool]:
        """Statistics of so many noisy tables of people drawn with these expected counts; whether a fit was too thin."""
        people = self.people or max(round(float(means.sum())), 1)
        noisy = self.noisy(rng.multinomial(people, means / means.sum(), size=count), source)
        return self.statistics(noisy), bool(self._fit(noisy).thin.any())

    def noisy(self, exact: NDArray[np.int64], source: SeededSource) -> Array:
        """The mechanism, on each row of exact counts."""
        law, terms = self.noise.law, self.noise.terms
        draws = law.draw(terms * exact.size, source).reshape(terms, *exact.shape).sum(axis=0)
        return np.asarray(exact + draws * float(law.step), dtype=np.float64)


@dataclass(frozen=True, kw_only=True, eq=False)
class _Fit:
    shape: Shape
    near: Array
    means: Array

    @property
    def thin(self) -> NDArray[np.bool_]:
        """Whether some cell of a table is too small for the documents' rule."""
        return np.asarray((self.near < _FEWEST_IN_CELL).any(axis=1))


def _two_steps(tables: Array, shape: Shape, people: float | Array) -> _Fit:
    """Step 1: non-negative counts near each table. Step 2: what the hypothesis expects, from their margins."""
    near = norm_sub_rows(tables, total=people)
    return _Fit(shape=shape, near=near, means=expected(near, shape))
