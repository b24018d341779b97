"""A test of (conditional) independence on private tables, with what it can and cannot find.

    private_test    central noise: the mechanism is run again on tables of the fitted hypothesis, and the threshold is
                    the ceil((l+1)(1-alpha))-th smallest of l simulated statistics  [Gaboardi et al. 2016]. The page of
                    the source that states this algorithm is lost; it is reconstructed from the text around it.
                    A tally: the whole collection is run again. A release of a collection: Wald's test.

The published variant ("paper") uses Pearson's statistic and accepts outright where a fitted cell is below 5, so that it
accepts nearly always on sparse tables. The default ("noise-aware") weighs each cell by its variance under the
hypothesis and has no such rule. Both hold their level up to the fit of the null.

A test that does not reject may have had no chance to. So each result states its power: the share of simulated releases
with the fitted margins and an effect w that it would reject, at the threshold of this test. Where even a large effect
(w = 0.5, or the largest that the margins allow) is found in less than half of them, the conclusion is "cannot say".

Privacy: post-processing of a release or a tally; free.
Claim page: docs/claims/decisions.md.   Flags: unvetted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tacita import check
from tacita.assess.decisions.flip import share_of
from tacita.collect.analysis.hypothesis import Hypothesis, Verdict
from tacita.collect.analysis.independence import wald_test
from tacita.collect.analysis.independence_counts import NoisyNull, central_monte_carlo_test
from tacita.collect.analysis.independence_simulated import AskedTable, monte_carlo_test
from tacita.collect.estimating.tally import Tally
from tacita.models.contingency import expected, stratum_margins
from tacita.noise import SeededSource
from tacita.tables.release import Release, Releases
from tacita.tables.uncertainty import AdditiveNoise

__all__ = ["Power", "PrivateTest", "private_test", "size_of_test", "tilt"]

Array = NDArray[np.float64]
Way = Literal["noise-aware", "paper"]
EFFECTS = (0.1, 0.3, 0.5)
_FEW = 5.0


@dataclass(frozen=True, kw_only=True)
class Power:
    """Share of simulated releases with an effect that would be rejected, with its 95 % interval.

    `effect` is Cohen's w; where the margins do not allow it, the largest that they allow.
    """

    effect: float
    power: float
    low: float
    high: float


@dataclass(frozen=True, kw_only=True)
class PrivateTest:
    """Outcome of a private test.

    Attributes:
        verdict: Statistic, p-value, method, caution.
        alpha: Level.
        reject: Whether the hypothesis is rejected.
        power: Against some effects; empty where it cannot be simulated.
        smallest: Smallest count that the fitted hypothesis expects; None where it is not known.
        conclusion: "dependent", "no evidence of dependence", or "cannot say".
    """

    verdict: Verdict
    alpha: float
    reject: bool
    power: tuple[Power, ...]
    smallest: float | None

    @property
    def conclusion(self) -> str:
        """Finding of the test, or that it cannot say anything."""
        if self.reject:
            return "dependent"
        if self.verdict.p_value == 1 and self.verdict.caution:
            return "cannot say"
        return "cannot say" if self.power and self.power[-1].power < 0.5 else "no evidence of dependence"

    @property
    def words(self) -> str:
        """One or two sentences."""
        found = f"{self.verdict.hypothesis}: {'rejected' if self.reject else 'not rejected'} at level {self.alpha:g}."
        if self.conclusion == "cannot say" and self.power:
            last = self.power[-1]
            found += (
                f" The test cannot say: it would find an effect of {last.effect:.2g} in {last.power:.0%} of releases."
            )
        elif self.conclusion == "cannot say":
            found += " The test cannot say."
        return found

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return self.verdict.as_dict() | {
            "alpha": self.alpha,
            "reject": self.reject,
            "conclusion": self.conclusion,
            "words": self.words,
            "smallest_expected": self.smallest,
            "power": [{name: getattr(each, name) for name in Power.__dataclass_fields__} for each in self.power],
        }


def tilt(table: Array, shape: tuple[int, ...], effect: float) -> tuple[Array, float]:
    """A table with the margins of another in every stratum, and an effect between its two parts.

    Args:
        table: Non-negative counts, flat in the layout. shape: (strata, rows, columns). effect: Cohen's w.

    Returns:
        The counts, and the effect they have: the one asked for, or the largest that leaves every cell non-negative.
    """
    means = expected(table, shape).reshape(shape)
    rows, columns = stratum_margins(np.asarray(table, dtype=np.float64).reshape(shape), 2)
    shift = _standardised(rows, 1) * _standardised(columns, 2)
    lowest = float(shift[means > 0].min()) if (means > 0).any() else 0.0
    possible = min(effect, -1 / lowest) if lowest < 0 else effect
    return np.maximum(means * (1 + possible * shift), 0.0).reshape(-1), possible


def _standardised(margin: Array, axis: int) -> Array:
    """Equally spaced scores with mean 0 and variance 1 under each stratum's margin; 0 where one level holds all."""
    places = np.arange(margin.shape[axis], dtype=np.float64).reshape([-1 if a == axis else 1 for a in range(3)])
    total = margin.sum(axis=axis, keepdims=True)
    law = np.divide(margin, total, out=np.zeros_like(margin), where=total > 0)
    centred = places - (law * places).sum(axis=axis, keepdims=True)
    variance = (law * centred**2).sum(axis=axis, keepdims=True)
    return np.asarray(np.divide(centred, np.sqrt(variance), out=np.zeros_like(centred * variance), where=variance > 0))


def private_test(
    source: Release | Releases | Tally,
    hypothesis: Hypothesis,
    *,
    alpha: float = 0.05,
    people: int | None = None,
    way: Way = "noise-aware",
    simulations: int = 999,
    power_draws: int = 400,
    seed: int,
) -> PrivateTest:
    """Test independence on what was released or reported, and say what the test could find.

    Args:
        source: Counts with additive noise, raw shares of a collection, or the tally of a collection.
        hypothesis: Independence of what, given what.
        alpha: Level.
        people: Number of rows behind noisy counts, where it is public.
        way: "noise-aware", or "paper" for the published statistic and its rule about cells below 5.
        simulations: At least 1/alpha - 1.
        power_draws: Simulated releases for each effect; 0 for no statement of power.
        seed: Of the simulations, which protect no one.
    """
    check.inside(alpha, "alpha", 0, 1)
    check.one_of(way, "way", ("noise-aware", "paper"))
    check.whole(power_draws, "power_draws", least=0)
    if isinstance(source, Tally):
        return _tally(source, hypothesis, alpha, simulations, power_draws, seed)
    release = source.project(hypothesis.attributes)
    if not isinstance(release.uncertainty, AdditiveNoise):
        verdict = wald_test(release, hypothesis)
        return PrivateTest(verdict=verdict, alpha=alpha, reject=verdict.reject(alpha), power=(), smallest=None)
    verdict = central_monte_carlo_test(
        release,
        hypothesis,
        people=people,
        simulations=simulations,
        seed=seed,
        statistic="pearson" if way == "paper" else "noise-aware",
        rule_of_five=way == "paper",
    )
    null = _null(release, hypothesis, people, way)
    noise = SeededSource(seed + 1)
    rng = noise.generator()
    limit = verdict.threshold(alpha)

    def rejected(means: Array) -> NDArray[np.bool_]:
        drawn, _ = null.simulate(means, power_draws, rng, noise)
        return np.asarray(drawn > limit)

    power = _power(null.near, null.shape, rejected) if power_draws else ()
    if way == "paper" and verdict.p_value == 1:
        power = ()  # its rule accepts whatever the statistic is
    smallest = float(null.expected.min())
    return PrivateTest(verdict=verdict, alpha=alpha, reject=verdict.reject(alpha), power=power, smallest=smallest)


def _null(release: Release, hypothesis: Hypothesis, people: int | None, way: Way) -> NoisyNull:
    statistic: Literal["pearson", "noise-aware"] = "pearson" if way == "paper" else "noise-aware"
    return NoisyNull.of(release, hypothesis, people=people, statistic=statistic)


def _power(near: Array, shape: tuple[int, ...], rejected: Callable[[Array], NDArray[np.bool_]]) -> tuple[Power, ...]:
    """Power at each effect that the margins allow; nothing for more than two parts, which have no single effect."""
    if len(shape) != 3:
        return ()
    found: list[Power] = []
    for effect in EFFECTS:
        means, possible = tilt(near, shape, effect)
        share, low, high = share_of(rejected(means))
        found.append(Power(effect=possible, power=share, low=low, high=high))
        if possible < effect:
            break
    return tuple(found)


def _tally(
    tally: Tally, hypothesis: Hypothesis, alpha: float, simulations: int, power_draws: int, seed: int
) -> PrivateTest:
    held = [asked.attributes for asked, _ in tally if set(asked.attributes) == set(hypothesis.attributes)]
    if not held:
        # a wider question, or margins: the table was not asked by itself
        return private_test(tally.releases(), hypothesis, alpha=alpha, seed=seed)
    verdict = monte_carlo_test(tally, held[0], hypothesis, simulations=simulations, seed=seed)
    asked = AskedTable(tally, held[0], hypothesis)
    source = SeededSource(seed + 1)
    rng, limit = source.generator(), verdict.threshold(alpha)
    null = asked.null()[asked.order]

    def rejected(means: Array) -> NDArray[np.bool_]:
        shares = asked.asked_order(means / means.sum())
        drawn = [asked.statistic(*asked.again(shares, rng, source)) for _ in range(power_draws)]
        return np.asarray(np.array(drawn) > limit)

    power = _power(null, asked.shape, rejected) if power_draws else ()
    smallest = float(null.min() * sum(asked.people))
    return PrivateTest(verdict=verdict, alpha=alpha, reject=verdict.reject(alpha), power=power, smallest=smallest)


def size_of_test(
    null: NoisyNull, means: Array, *, alpha: float = 0.05, trials: int = 1000, simulations: int = 199, seed: int
) -> tuple[float, float, float]:
    """Share of releases of an independent table that the test rejects, with its 95 % interval.

    Each trial draws people, adds noise, fits its own null and simulates its own threshold, as `private_test` does.

    Args:
        null: The mechanism, layout and statistic. means: Expected counts of the true table, which should be
            independent.
        alpha: Level. trials: Number of releases. simulations: For each threshold. seed: Of all of it.
    """
    source = SeededSource(seed)
    rng = source.generator()
    people = null.people or max(round(float(means.sum())), 1)
    noisy = null.noisy(rng.multinomial(people, means / means.sum(), size=trials), source)
    rejected = np.zeros(trials, dtype=bool)
    for place, table in enumerate(noisy):
        own = NoisyNull(table=table, shape=null.shape, noise=null.noise, people=null.people, statistic=null.statistic)
        drawn, _ = own.simulate(own.expected, simulations, rng, source)
        verdict = Verdict.simulated_from(own.observed, drawn, hypothesis="", method="", df=1)
        rejected[place] = verdict.reject(alpha)
    return share_of(rejected)
