"""What can be read off a collection: one place for the command line and the server to ask.

Everything here is post-processing of reports that were randomised before they were sent. It costs nothing, and may be
asked as often as anybody likes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from tacita.collect.consistency import complete, consistent
from tacita.collect.hypothesis import Hypothesis, Verdict
from tacita.collect.independence_simulated import monte_carlo_test
from tacita.collect.independence_wald import wald_test
from tacita.collect.learn_network import Learned, learn_network, learn_structure
from tacita.collect.poisoning import excess_support, influence
from tacita.collect.publish import model
from tacita.collect.tally import Tally
from tacita.errors import InvalidInput
from tacita.networks import synthetic_rows
from tacita.privacy.event import Pure
from tacita.release import Release, Releases
from tacita.uncertainty import Unknown

__all__ = ["Integrity", "Published", "independence", "integrity", "network", "published", "synthetic", "table"]

Published = Literal["raw", "consistent", "modelled"]
_MOST_CELLS = 1_000_000
_LIARS = 0.01
"""Share of reports whose influence is stated beside that of one."""


def published(tally: Tally, how: Published) -> Releases:
    """The tables that were asked for.

    Args:
        tally: What was counted.
        how: "raw" is unbiased and has intervals, but cells may be negative and tables disagree. "consistent" tables
            agree and are never negative. "modelled" ones are fitted together, and come nearest to the truth where
            there are many tables.
    """
    if how == "raw":
        return tally.releases()
    made = consistent(tally.releases()) if how == "consistent" else model(tally).releases()
    return Releases(release.derived() for release in made.values())


def table(tally: Tally, attributes: Sequence[str], how: Published) -> Release:
    """The table over some attributes, also over more than any question asked for together.

    Args:
        tally: What was counted.
        attributes: All asked about, in some question.
        how: "raw" only gives what a question holds; "consistent" completes the rest with the largest entropy that the
            published tables allow; "modelled" reads it off the latent classes.
    """
    names = tuple(attributes)
    raw = tally.releases()
    if how == "raw" or raw.supports(names):
        return (raw if how == "raw" else published(tally, how)).project(names)
    domain = tally.design.domain.project(names)
    if domain.size > _MOST_CELLS:
        rule = f"must be a table of at most {_MOST_CELLS:,} cells to be completed"
        raise InvalidInput(rule, field="attributes", value=f"{domain.size:,}")
    if how == "consistent":
        agreed = consistent(raw)
        like, cells = next(iter(agreed.values())), complete([each.estimate for each in agreed.values()], domain)
    else:
        fitted = model(tally)
        like, cells = next(iter(fitted.releases().values())), fitted.project(names)
    recipe = dict(like.provenance.recipe) | {"published": how, "reconstructed": True}
    provenance = replace(like.provenance, recipe=recipe)
    return replace(like, estimate=cells, uncertainty=Unknown(), provenance=provenance).derived()


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
        return wald_test(releases.project(hypothesis.attributes), hypothesis)
    for key in releases:
        if set(key) == set(hypothesis.attributes):
            return monte_carlo_test(tally, key, hypothesis, simulations=simulations, seed=seed)
    hint = "Ask without simulations"
    raise InvalidInput("must be all attributes of one question to be simulated", field="attributes", hint=hint)


def network(
    tally: Tally, *, degree: int = 1, level: float = 0.05, root: str | None = None, structure: Tally | None = None
) -> Learned:
    """A Bayesian network.

    Args:
        tally: What was counted; the parameters come from it.
        degree: Most parents of an attribute.
        level: Of all tests of edges together.
        root: Placed first.
        structure: Of another group of people, who tell which attributes depend on which. Without it both are read off
            the same reports: that costs no privacy, but edges look a little stronger than they are.
    """
    releases = tally.releases()
    first = releases if structure is None else structure.releases()
    return learn_network(learn_structure(first, degree=degree, level=level, root=root), releases)


def synthetic(
    tally: Tally, rows: int, rng: np.random.Generator, *, by: Literal["classes", "network"] = "classes", degree: int = 1
) -> pa.Table:
    """Made-up rows with about the tables that were collected.

    Args:
        tally: What was counted.
        rows: How many.
        rng: For the draws, which protect nobody.
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
    """How far liars could have moved one table, and whether its tally looks like honest reports.

    Attributes:
        attributes: Of the table. block: Of the question.
        reports: How many were counted.
        one_report: The most that one report moves a share.
        one_percent: The most that one in a hundred of them moves it.
        excess: Standard errors by which the total of all supports is off; None where the channel cannot tell.
        p_value: Of so much, if all were honest.
        note: What the test cannot see.
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
    for asked, counts in tally:
        reports = asked.channel.estimate(counts).respondents
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
