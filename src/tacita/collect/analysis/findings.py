"""Analyses of a collection, for the command line and the server.

Everything here is post-processing of reports that were randomised before they were sent. It costs no privacy, and may
be repeated at will.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from scipy import stats

from tacita.collect.analysis.hypothesis import Hypothesis, Verdict
from tacita.collect.analysis.independence import wald_test
from tacita.collect.analysis.independence_simulated import monte_carlo_test
from tacita.collect.analysis.learn_network import Learned, candidate_families, learn_network, learn_structure
from tacita.collect.analysis.poisoning import excess_support, influence
from tacita.collect.channels.protocol import respondents_of
from tacita.collect.estimating.automatic import Automatic, Way, choose_way, make_way
from tacita.collect.estimating.consistency import complete
from tacita.collect.estimating.evidence import Evidence
from tacita.collect.estimating.pooled import Pooling, pool_tables
from tacita.collect.estimating.prior import Prior
from tacita.collect.estimating.publish import model
from tacita.collect.estimating.tally import Tally
from tacita.domain import Domain
from tacita.errors import InvalidInput
from tacita.models import synthetic_rows
from tacita.privacy.event import Pure
from tacita.tables.cells import Cells
from tacita.tables.consistency import possible
from tacita.tables.release import Release, Releases
from tacita.tables.simplex import project_table
from tacita.tables.uncertainty import Anchored, Covariance, Uncertainty, Unknown, anchored

__all__ = [
    "Integrity",
    "Published",
    "explain",
    "independence",
    "integrity",
    "network",
    "prevalences",
    "published",
    "synthetic",
    "table",
]

Published = Literal["auto", "pooled", "consistent", "singles", "modelled", "raw"]
_MOST_CELLS = 1_000_000
_MOST_REPLICATED = 5_000
"""Cells of a completed table above which no interval is given: each needs its replicates."""
_REPLICATES = 30
_ROUNDS = 2
"""Rounds in which a replicate's tables are made to agree and non-negative."""
_SCALINGS = 12
_CLOSE = 1e-6
"""Rounds of iterative scaling for each replicate, and how near to the margins ends them."""
_LEVEL = 0.05
"""The usual level of one test, and of all edges of a network together."""
_LIARS = 0.01
"""Share of reports whose influence is stated beside that of one."""


def published(tally: Tally, how: Published = "auto", *, seed: int = 0, prior: Prior | None = None) -> Releases:
    """The tables that were asked for, each with intervals.

    Args:
        tally: What was counted.
        how: "raw" is unbiased, each table from its own reports. "pooled" is unbiased, each table from all reports that
            hold its attributes; both may be negative. "consistent" tables are pooled, agree and are never negative.
            "singles" are products of single attributes, "modelled" ones are fitted together. "auto" takes "modelled",
            or "consistent" where its estimated error is clearly smaller, and says so.
        seed: Of the perturbations by which errors are estimated.
        prior: Public tables or releases, for "auto" and "modelled"; how far they are trusted follows from the reports.
            Intervals stay those of the unbiased tables.
    """
    _check_prior(tally, how, prior)
    if how == "raw":
        return tally.releases()
    if _has_margins(tally):
        return _published_margins(tally, how)
    evidence = Evidence.of(tally)
    pooling = Pooling.of(evidence)
    pooled = pool_tables(tally, pooling)
    if how == "pooled":
        return pooled
    return _published(tally, pooled, _made(evidence, pooling, how, seed, prior), how)


def _check_prior(tally: Tally, how: Published, prior: Prior | None) -> None:
    if prior is None:
        return
    if how not in ("auto", "modelled"):
        hint = "Leave the prior out: this way has no place for it"
        raise InvalidInput("must be auto or modelled where a prior is given", field="published", value=how, hint=hint)
    if prior.simulated and not tally.simulated:
        hint = "Anyone who knows its seed can undo its noise: take a real release"
        raise InvalidInput("must not be a simulated release", field="prior", hint=hint)
    if _has_margins(tally):
        rule = "is for tables that were asked one by one, not for margins"
        raise InvalidInput(rule, field="prior", hint="Publish without it")


def _has_margins(tally: Tally) -> bool:
    """Whether tables come from one question about margins: they agree by themselves, and cannot be pooled."""
    return any(asked.asks_margins for asked, _ in tally.questions())


def _published_margins(tally: Tally, how: Published) -> Releases:
    """Each table as the nearest distribution, with the intervals of the unbiased one; `pooled` tables are raw ones."""
    raw = tally.releases()
    if how == "pooled":
        return raw
    if how not in ("auto", "consistent"):
        raise InvalidInput("must be auto, consistent, pooled or raw for margins", field="published", value=how)
    found = []
    for release in raw.values():
        recipe = dict(release.provenance.recipe) | {"published": "consistent"}
        found.append(
            replace(
                release,
                estimate=project_table(release.estimate),
                uncertainty=anchored(release.estimate, release.uncertainty),
                provenance=replace(release.provenance, recipe=recipe),
            ).derived()
        )
    return Releases(found)


def _made(
    evidence: Evidence, pooling: Pooling, how: Way | Literal["auto"], seed: int, prior: Prior | None = None
) -> Automatic:
    if how == "auto":
        return choose_way(evidence, pooling, seed=seed, prior=prior)
    return make_way(evidence, pooling, how, prior=prior)


def _published(tally: Tally, pooled: Releases, made: Automatic, how: Published) -> Releases:
    cost = Pure(epsilon=tally.design.epsilon_upper)  # made from all reports, so it costs what the dearest question does
    found = []
    for key, cells in made.tables.items():
        source = pooled.project(key)
        recipe = _recipe(source, made, how) | ({"independent": True} if key in made.to_independence else {})
        found.append(
            replace(
                source,
                estimate=cells,
                uncertainty=anchored(source.estimate, source.uncertainty),
                event=cost,
                provenance=replace(source.provenance, recipe=recipe),
            ).derived()
        )
    return Releases(found)


def _recipe(source: Release, made: Automatic, how: Published) -> dict[str, Any]:
    recipe = dict(source.provenance.recipe) | {"published": made.way}
    if made.classes is not None:
        recipe |= {"classes": made.classes}
    smoothed = {name: round(used, 1) for name, used in made.smoothed.items() if name in source.attributes}
    if smoothed:
        recipe |= {"smoothed": smoothed}
    if made.prior is not None:
        recipe |= {"prior": dict(made.prior)}
    return recipe | ({"automatic": made.as_dict()} if how == "auto" else {})


def prevalences(tally: Tally) -> Releases:
    """The share of every level of every attribute, unbiased, from all reports that hold the attribute."""
    if _has_margins(tally):
        single = [release for key, release in tally.releases().items() if len(key) == 1]
        return Releases(_prevalence(release, int(release.provenance.recipe["respondents"])) for release in single)
    evidence = Evidence.of(tally)
    pooling = Pooling.of(evidence)
    pooled = pool_tables(tally, pooling)
    names = [name for name in tally.design.domain.names if pooled.supports((name,))]
    return Releases(_prevalence(pooled.project((name,)), pooling.reports((name,))) for name in names)


def _prevalence(release: Release, reports: int) -> Release:
    recipe = dict(release.provenance.recipe) | {"reports": reports}
    return replace(release, provenance=replace(release.provenance, recipe=recipe))


def explain(releases: Releases) -> list[str]:
    """Explain how published tables were made: the estimator, the reason for it, and the tables taken as independent."""
    recipes = {key: release.provenance.recipe for key, release in releases.items()}
    chosen = next((recipe["automatic"] for recipe in recipes.values() if "automatic" in recipe), None)
    lines = [] if chosen is None else [f"Published as {chosen['way']} ({chosen['why']})."]
    smoothed = {
        name: f"{name} (about {used:.0f} of {release.domain[name].size - 1} free shares kept)"
        for release in releases.values()
        for name, used in release.provenance.recipe.get("smoothed", {}).items()
    }
    if smoothed:
        lines.append(
            f"Smoothed along the order of their levels, as far as the reports allow: {', '.join(smoothed.values())}. "
            "Intervals are those of the unbiased shares."
        )
    prior = next((recipe["prior"] for recipe in recipes.values() if "prior" in recipe), None)
    if prior is not None:
        lines.append(
            f"The prior was trusted to {prior['trust']:.0%}, by estimated error "
            f"(weights: {', '.join(f'{name} {weight:.0%}' for name, weight in prior['weights'].items())}). "
            "Intervals are those of the unbiased tables, which use no prior."
        )
    alone = [" x ".join(key) for key, recipe in recipes.items() if recipe.get("independent")]
    if alone:
        lines.append(
            "Shrunk to independence or nearly so, because dependence does not stand out of the noise: "
            f"{', '.join(alone)}. Their "
            "intervals are those of the unbiased tables, which hold any dependence that is there."
        )
    return lines


def table(
    tally: Tally, attributes: Sequence[str], how: Published = "auto", *, seed: int = 0, prior: Prior | None = None
) -> Release:
    """The table over some attributes, also over more than any question asked for together.

    A larger table is completed from those that were asked: its interval holds if no interaction of three or more
    attributes is missing from them, which no report can show.

    Args:
        tally: What was counted.
        attributes: All asked about, in some question.
        how: "raw" and "pooled" only give what a question holds; "consistent" completes the rest with the largest
            entropy that the published tables allow; "singles" and "modelled" read it off the fitted model; "auto"
            takes the one of these that `published` takes.
        seed: Of perturbations and replicates.
        prior: Public tables or releases, for "auto" and "modelled", as in `published`.
    """
    _check_prior(tally, how, prior)
    names = tuple(attributes)
    match how:
        case "raw" | "pooled":
            return published(tally, how, seed=seed).project(names)
    if tally.releases().supports(names):
        return published(tally, how, seed=seed, prior=prior).project(names)
    domain = tally.design.domain.project(names)
    if domain.size > _MOST_CELLS:
        rule = f"must be a table of at most {_MOST_CELLS:,} cells to be completed"
        raise InvalidInput(rule, field="attributes", value=f"{domain.size:,}")
    evidence = Evidence.of(tally)
    pooling = Pooling.of(evidence)
    made = _made(evidence, pooling, how, seed, prior)
    like = next(iter(_published(tally, pool_tables(tally, pooling), made, how).values()))
    cells = complete(made.tables.values(), domain) if made.latent is None else made.latent.project(names)
    recipe = dict(like.provenance.recipe) | {"reconstructed": True, "independent": made.way == "singles"}
    provenance = replace(like.provenance, recipe=recipe)
    uncertainty = _replicated(evidence, pooling, domain, seed)
    return replace(like, estimate=cells, uncertainty=uncertainty, provenance=provenance).derived()


def _replicated(evidence: Evidence, pooling: Pooling, domain: Domain, seed: int) -> Uncertainty:
    """The intervals of a completed table, by a parametric bootstrap through the channels.

    Reports are simulated from the consistent tables, which keep all dependence that was measured, and the table is
    completed again from each simulation. A model that was shrunk is not simulated from: it would not show its bias.
    """
    if domain.size > _MOST_REPLICATED:
        return Unknown()
    variances = {key: float(np.mean(c.variance())) for key, c in pooling.covariances.items()}
    names = set(domain.names)

    def completed(tables: Mapping[tuple[str, ...], Any]) -> Any:
        held = {k: Cells(evidence.domain.project(k), v) for k, v in tables.items() if names & set(k)}
        agreed = possible(held, variances, rounds=_ROUNDS)
        return complete(agreed.values(), domain, rounds=_SCALINGS, tolerance=_CLOSE).values.reshape(-1)

    made = make_way(evidence, pooling, "consistent").tables
    truth, rng = {key: cells.values for key, cells in made.items()}, np.random.default_rng(seed)
    centre = completed(pooling.tables)
    drawn = [completed(pooling(evidence.simulate(truth, rng).values)) for _ in range(_REPLICATES)]
    # the spread of few replicates is itself uncertain: at 95 % the interval is Student's, not the normal law's
    wider = stats.t.ppf(0.975, _REPLICATES - 1) / stats.norm.ppf(0.975)
    spread = wider * (np.array(drawn) - np.mean(drawn, axis=0)) / np.sqrt(_REPLICATES - 1)
    nothing = np.zeros(domain.size)
    return Anchored(centre=centre, covariance=Covariance(diagonal=nothing, vectors=spread, signs=-np.ones(len(spread))))


def independence(tally: Tally, hypothesis: Hypothesis, *, simulations: int | None = None, seed: int = 0) -> Verdict:
    """Test independence on a table that was asked for, or on one that holds its attributes.

    Args:
        tally: What was counted.
        hypothesis: What is tested.
        simulations: Run the whole protocol again so often under the hypothesis, for small samples; Wald's test if not.
        seed: Of the simulations.
    """
    releases = tally.releases()
    if not releases.supports(hypothesis.attributes):
        names = " x ".join(hypothesis.attributes)
        raise InvalidInput("no table that was asked holds all of them", field="attributes", value=names)
    if simulations is None:
        return _beside_network(wald_test(releases.project(hypothesis.attributes), hypothesis), releases, hypothesis)
    for key in releases:
        if set(key) == set(hypothesis.attributes):
            found = monte_carlo_test(tally, key, hypothesis, simulations=simulations, seed=seed)
            return _beside_network(found, releases, hypothesis)
    hint = "Ask without simulations"
    raise InvalidInput("must be all attributes of one question to be simulated", field="attributes", hint=hint)


def _beside_network(verdict: Verdict, releases: Releases, hypothesis: Hypothesis) -> Verdict:
    """Explain where this test alone rejects and a network, which tests all pairs at once, draws no edge."""
    pairs = len(candidate_families(releases, degree=1))
    if len(hypothesis.attributes) != 2 or not _LEVEL / max(pairs, 1) < verdict.p_value <= _LEVEL:
        return verdict
    words = (
        f"This test looks at one pair. A network looks at {pairs} pairs and shares its level of {_LEVEL:g} among them: "
        f"it draws an edge from p = {_LEVEL / pairs:.2g} down, so that it shows none here"
    )
    return replace(verdict, caution=f"{verdict.caution}. {words}" if verdict.caution else words)


def network(
    tally: Tally, *, degree: int = 1, level: float = _LEVEL, root: str | None = None, structure: Tally | None = None
) -> Learned:
    """Learn a Bayesian network.

    Args:
        tally: The counts; the parameters come from them.
        degree: Most parents of an attribute.
        level: Of all tests of edges together.
        root: Placed first.
        structure: Tally of another group of people, from which the edges are learnt. Without it edges and parameters
            come from the same reports: that costs no privacy, but edges look a little stronger than they are.
    """
    releases = tally.releases()
    first = releases if structure is None else structure.releases()
    return learn_network(learn_structure(first, degree=degree, level=level, root=root), releases)


def synthetic(
    tally: Tally, rows: int, rng: np.random.Generator, *, by: Literal["classes", "network"] = "classes", degree: int = 1
) -> pa.Table:
    """Draw synthetic rows whose tables approximate the collected ones.

    Args:
        tally: The counts.
        rows: How many.
        rng: For the draws, which need no secure randomness.
        by: The latent classes that all tables were fitted with, or a learned network.
        degree: Most parents of an attribute, in a network.
    """
    domain = tally.design.domain
    if by == "network":
        learned = network(tally, degree=degree)
        return synthetic_rows(domain, learned.network, rows, rng, event=learned.event, simulated=learned.simulated)
    cost = Pure(epsilon=tally.design.epsilon_upper)
    return synthetic_rows(domain, model(tally).latent, rows, rng, event=cost, simulated=tally.simulated)


@dataclass(frozen=True, kw_only=True)
class Integrity:
    """Influence that false reports could have on one table, and a test of its tally for them.

    Attributes:
        attributes: Of the table. block: Of the question.
        reports: How many were counted.
        one_report: The most that one report moves a share; of a mean, as a share of the range of the number.
        one_percent: The most that one in a hundred of them moves it.
        excess: Standard errors by which the total of all supports is off; None where the channel has no such test.
        p_value: Of such an excess, if all reports were honest.
        note: Limits of the test.
    """

    attributes: tuple[str, ...]
    block: int
    reports: int
    one_report: float
    one_percent: float
    excess: float | None
    p_value: float | None
    note: str

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__} | {"attributes": list(self.attributes)}


def integrity(tally: Tally) -> Sequence[Integrity]:
    """The influence bound and the excess-support test of every question."""
    found = []
    for asked, counts in tally.questions():
        reports = respondents_of(asked.channel, counts)
        bound, seen = influence(asked.channel, reports), excess_support(asked.channel, counts)
        found.append(
            Integrity(
                attributes=asked.attributes,
                block=asked.block,
                reports=reports,
                one_report=bound.share(1),
                one_percent=bound.share(max(1, round(_LIARS * reports))),
                excess=seen.z if seen.applicable else None,
                p_value=seen.p_value if seen.applicable else None,
                note=seen.why,
            )
        )
    return found
