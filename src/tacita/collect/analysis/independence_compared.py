"""Other tests of independence, for comparison.   Claim: docs/claims/independence.md

    paper_chi_square      the textbook statistic on a noisy table against the textbook quantile; does not hold its level
    central_monte_carlo   noise on exact counts by a trusted curator, calibrated by simulation  [Gaboardi et al. 2016]

Both begin with a table of non-negative counts near the noisy one. The documents ask for the counts x that minimise
g |T - x|_1 + (1 - g) |T - x|_2^2 with x >= 0 and sum n. Claim: for every g < 1 that is the Euclidean projection,
`norm_sub`. With the multiplier l of the sum, a positive x_i has 2 (1 - g)(x_i - T_i) + g sign(x_i - T_i) = l, so all of
them are shifted by one amount; a cell at 0 has T_i below minus that shift. That is max(T_i - t, 0) for the one t that
gives the sum, which is what `norm_sub` computes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from tacita.collect.analysis.hypothesis import Hypothesis, Verdict
from tacita.collect.analysis.independence_wald import product
from tacita.errors import InvalidInput
from tacita.noise import SeededSource
from tacita.tables.release import Release
from tacita.tables.simplex import norm_sub
from tacita.tables.uncertainty import AdditiveNoise

__all__ = ["central_monte_carlo_test", "paper_chi_square"]

Array = NDArray[np.float64]
Shape = tuple[int, ...]

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
    _check_people(people)
    asked = hypothesis or Hypothesis.of(*release.attributes)
    table, shape = _counts(release, asked, people), asked.shape(release.domain)
    fitted = _two_steps(table, shape, people)
    df, statistic = asked.df(release.domain), _chi_square(fitted.near, fitted.expected)
    accepted = rule_of_five and fitted.thin
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
    people: int,
    simulations: int = 199,
    seed: int,
    rule_of_five: bool = True,
) -> Verdict:
    """Independence in counts with additive noise: the null is fitted, drawn, noised by the same law and fitted again.

    Args:
        release: Counts with additive noise, such as `NoisyTables` makes; not projected from a wider table.
        hypothesis: What to test; mutual independence of all attributes if not given.
        people: The public number of rows.
        simulations: At least 1/alpha - 1 for a test at level alpha.
        seed: Of the simulations.
        rule_of_five: Whether to accept outright when some fitted cell, or one of a simulation, has fewer than 5.
    """
    _check_people(people)
    asked = hypothesis or Hypothesis.of(*release.attributes)
    if not isinstance(release.uncertainty, AdditiveNoise) or release.quantity != "count":
        raise InvalidInput("must be counts with additive noise", field="release")
    table, shape, noise = _counts(release, asked, people), asked.shape(release.domain), release.uncertainty
    source = SeededSource(seed)
    rng, fitted = source.generator(), _two_steps(table, shape, people)
    drawn, thin = [], fitted.thin
    for _ in range(simulations):
        exact = rng.multinomial(people, fitted.expected / fitted.expected.sum())
        noisy = exact + noise.law.draw(noise.terms * exact.size, source).reshape(noise.terms, -1).sum(axis=0)
        again = _two_steps(noisy.astype(float), shape, people)
        thin |= again.thin
        drawn.append(_chi_square(noisy, again.expected))
    verdict = Verdict.simulated_from(
        _chi_square(table, fitted.expected),
        drawn,
        hypothesis=asked.words,
        method=f"Monte Carlo of noise on exact counts, {simulations} simulations",
        df=asked.df(release.domain),
    )
    return replace(verdict, p_value=1.0, caution=_ACCEPTED) if rule_of_five and thin else verdict


@dataclass(frozen=True, kw_only=True, eq=False)
class _Fit:
    near: Array
    expected: Array

    @property
    def thin(self) -> bool:
        """Whether some cell is too small for the documents' rule."""
        return bool((self.near < _FEWEST_IN_CELL).any())


def _two_steps(table: Array, shape: Shape, people: int) -> _Fit:
    """Step 1: non-negative counts near the table. Step 2: what the hypothesis expects, from their margins."""
    near = norm_sub(table, total=people).frequencies
    return _Fit(near=near, expected=people * product(near, shape))


def _chi_square(table: Array, expected: Array) -> float:
    """sum (T - m)^2 / m over the cells that the hypothesis allows."""
    kept = expected > 0
    return float(((table[kept] - expected[kept]) ** 2 / expected[kept]).sum())


def _counts(release: Release, asked: Hypothesis, people: int) -> Array:
    values = np.asarray(release.project(asked.attributes).values, dtype=np.float64).reshape(-1)
    return values * people if release.quantity == "share" else values


def _check_people(people: int) -> None:
    if isinstance(people, bool) or not isinstance(people, int) or people < 1:
        raise InvalidInput("must be a whole number of at least 1", field="people", value=people)
