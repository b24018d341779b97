"""Probability that noise has turned a decision, or will turn it: by Monte Carlo through the mechanism that runs.

    posterior_flip   given a release: P(the decision on the true table differs), over the posterior of the true table
    design_flip      given an assumed true table or population: P(the decision on what is released differs from that on
                     the true table), over the noise

    P_flip = P[ 1{G2(true) >= c} != 1{G2(released) >= c} ],     c the chi-square quantile for the hypothesis

That is the decision of an analyst who takes the release for exact. With much noise it says "dependent" always, and then
hardly ever flips where the truth is dependent: a rare flip is no sign of a good decision. With `decide="private"` the
decision on the release is that of a test which knows the noise: the noise-aware statistic of `independence_counts`,
with a threshold that is simulated through the mechanism at the product of the margins.

Every figure is a share of independent draws and has an exact binomial interval (Clopper-Pearson). It contains the error
of the simulation only; what else is approximated is in `approximation`.

Privacy: `posterior_flip` is post-processing of a release. `design_flip` reads no data.
Claim page: docs/claims/decisions.md.   Flags: unvetted.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacita import check
from tacita.assess.decisions.mechanisms import Mechanism
from tacita.assess.decisions.posterior import Posterior, lay_out, posterior_of
from tacita.assess.decisions.rule import Rule
from tacita.collect.analysis.hypothesis import Hypothesis
from tacita.collect.estimating.tally import Tally
from tacita.common.binomial import clopper_pearson
from tacita.errors import InvalidInput
from tacita.models.contingency import expected, pearson
from tacita.tables.release import Release, Releases
from tacita.tables.simplex import norm_sub_rows

__all__ = ["Decide", "Flip", "design_flip", "flip_of_posterior", "posterior_flip", "share_of"]

_LEVEL = 0.95
Decide = Literal["same", "private"]
_DECIDES = {
    "same": "the release is decided as if it were exact",
    "private": "the release is decided by a test that knows the noise",
}


@dataclass(frozen=True, kw_only=True)
class Flip:
    """Probability that noise turned or turns a decision.

    Attributes:
        direction: "posterior": the true table's decision differs from that on the release. "design": a release's
            decision will differ from that on the true table.
        hypothesis: In words.
        rule: The decision, as plain data, with its degrees of freedom and critical value.
        statistic: Of the released table, or None in a design.
        dependent: The decision on the release; in a design, the share of true tables that are called dependent.
        probability: Of a flip.
        low, high: 95 % interval of the simulation.
        to_dependent: Share of all draws whose other table is called dependent although this one is not, and the
            reverse.
        draws: Number of draws.
        method: How the draws were made.
        approximation: What is approximated besides the simulation, or None.
    """

    direction: Literal["posterior", "design"]
    hypothesis: str
    rule: dict[str, Any]
    statistic: float | None
    dependent: float | bool
    probability: float
    low: float
    high: float
    to_dependent: float
    to_independent: float
    draws: int
    method: str
    approximation: str | None = None

    @property
    def words(self) -> str:
        """One sentence."""
        chance = f"{self.probability:.1%} ({self.low:.1%} to {self.high:.1%})"
        if self.direction == "posterior":
            called = "dependent" if self.dependent else "independent"
            return f"The release is called {called}; the true table would be called otherwise with probability {chance}"
        return f"A release would be called otherwise than its true table with probability {chance}"

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__} | {"words": self.words}


def share_of(hits: NDArray[np.bool_]) -> tuple[float, float, float]:
    """A share of draws with its 95 % interval."""
    low, high = clopper_pearson(int(hits.sum()), hits.size, _LEVEL)
    return float(hits.mean()), low, high


def _described(rule: Rule, shape: Sequence[int]) -> dict[str, Any]:
    return rule.as_dict() | {"df": rule.freedom(shape), "critical": rule.critical(shape)}


def posterior_flip(
    source: Release | Releases | Tally,
    hypothesis: Hypothesis | None = None,
    *,
    rule: Rule | None = None,
    called: bool | None = None,
    draws: int = 10_000,
    rng: np.random.Generator,
    non_negative: bool = True,
) -> Flip:
    """Probability that the true table's decision differs from that on the release, under a uniform prior on tables.

    Args:
        source: Counts with additive noise, shares of a collection, or the tally of a collection.
        hypothesis: Independence of what, given what; mutual independence of all attributes of a release by default.
        rule: The decision on a table; G2 at 5 % by default.
        called: Whether the release was called dependent by another test, such as `private_test`; by the rule if not
            given.
        draws: Of the true table.
        rng: Of the draws.
        non_negative: See `posterior_of`.
    """
    asked = hypothesis or _of_all(source)
    posterior = posterior_of(source, asked.attributes, non_negative=non_negative)
    return flip_of_posterior(posterior, asked, rule=rule, called=called, draws=draws, rng=rng)


def _of_all(source: Release | Releases | Tally) -> Hypothesis:
    if not isinstance(source, Release):
        raise InvalidInput("must say what is independent of what", field="hypothesis")
    return Hypothesis.of(*source.attributes)


def flip_of_posterior(
    posterior: Posterior,
    hypothesis: Hypothesis,
    *,
    rule: Rule | None = None,
    called: bool | None = None,
    draws: int = 10_000,
    rng: np.random.Generator,
) -> Flip:
    """The same for a posterior at hand."""
    check.whole(draws, "draws", least=1)
    rule, shape = rule or Rule(), hypothesis.shape(posterior.domain)
    hypothesis.df(posterior.domain)  # refuses attributes of one level

    def lay(tables: NDArray[np.float64]) -> NDArray[np.float64]:
        return lay_out(tables, posterior.domain, hypothesis.attributes)

    released = lay(posterior.observed[None, :])
    called = bool(rule.dependent(released, shape)[0]) if called is None else called
    others = rule.dependent(lay(posterior.draw(draws, rng)), shape)
    flipped = others != called
    probability, low, high = share_of(flipped)
    return Flip(
        direction="posterior",
        hypothesis=hypothesis.words,
        rule=_described(rule, shape),
        statistic=float(rule.statistics(released, shape)[0]),
        dependent=called,
        probability=probability,
        low=low,
        high=high,
        to_dependent=0.0 if called else probability,
        to_independent=probability if called else 0.0,
        draws=draws,
        method=posterior.method,
        approximation=posterior.approximation,
    )


def design_flip(
    table: ArrayLike,
    shape: Sequence[int],
    mechanism: Mechanism,
    *,
    people: int | None = None,
    rule: Rule | None = None,
    decide: Decide = "same",
    draws: int = 10_000,
    rng: np.random.Generator,
) -> Flip:
    """Probability that the decision on what is released differs from that on the true table.

    Args:
        table: The assumed true counts, flat in the layout; or, with `people`, shares of a population that true tables
            are drawn from. Public or assumed: never private counts, because the result depends on them.
        shape: (strata, cells of part 1, .., cells of part k).
        mechanism: That makes the release.
        people: Number of people in each true table; the counts are the true table if not given.
        rule: The decision on a table; G2 at 5 % by default.
        decide: The decision on a release: "same", or "private" for a test that knows the noise, at the same level.
        draws: Of the noise.
        rng: Of the draws.
    """
    check.whole(draws, "draws", least=1)
    check.whole(people, "people", least=1, optional=True)
    values = np.asarray(table, dtype=np.float64).reshape(-1)
    if (values < 0).any() or not np.isfinite(values).all() or not values.sum() > 0:
        raise InvalidInput("must be non-negative, and not all 0", field="table")
    if people is None and (values != np.floor(values)).any():
        raise InvalidInput("must be whole counts", field="table", hint="Shares need the number of people")
    rule = rule or Rule()
    if people is None:
        true = np.tile(values.astype(np.int64), (draws, 1))
    else:
        true = rng.multinomial(people, values / values.sum(), size=draws)
    before = rule.dependent(true[:1], shape).repeat(draws) if people is None else rule.dependent(true, shape)
    size = people or int(values.sum())
    check.one_of(decide, "decide", ("same", "private"))
    noisy = mechanism.run(true, rng)
    after = (
        rule.dependent(noisy, shape) if decide == "same" else _tested(noisy, values, shape, mechanism, rule, size, rng)
    )
    probability, low, high = share_of(before != after)
    return Flip(
        direction="design",
        hypothesis=f"mutual independence of parts of {' x '.join(map(str, shape[1:]))} cells, in {shape[0]} strata",
        rule=_described(rule, shape),
        statistic=None,
        dependent=float(before.mean()),
        probability=probability,
        low=low,
        high=high,
        to_dependent=float((after & ~before).mean()),
        to_independent=float((before & ~after).mean()),
        draws=draws,
        method=f"{mechanism.words}, {size:,} people; " + _DECIDES[decide],
        approximation=mechanism.approximation(size, draws),
    )


def _tested(
    noisy: NDArray[np.float64],
    values: NDArray[np.float64],
    shape: Sequence[int],
    mechanism: Mechanism,
    rule: Rule,
    people: int,
    rng: np.random.Generator,
) -> NDArray[np.bool_]:
    """Decisions of the noise-aware test; its threshold is simulated at the product of the assumed margins."""
    null = expected(values / values.sum(), shape)
    variance = mechanism.variance(null, people)
    level = float(variance.mean())

    def statistics(tables: NDArray[np.float64]) -> NDArray[np.float64]:
        near = norm_sub_rows(tables, total=float(people))
        return pearson(tables, shape, at=expected(near, shape), noise_variance=level)

    drawn = mechanism.run(rng.multinomial(people, null, size=len(noisy)), rng)
    rank = min(math.ceil((len(noisy) + 1) * (1 - rule.alpha)), len(noisy))
    threshold = np.sort(statistics(drawn))[rank - 1]
    return np.asarray(statistics(noisy) > threshold)
