"""A Bayesian network from a collection: one group of people for the structure, another for the parameters.

    learn_structure    parents of each attribute, from tables with a covariance
    learn_network      conditional tables for these parents, from another group's tables

Privacy: post-processing of releases. People who answered for the structure are not asked again for the parameters, so
the loss is that of one answer: the larger of the two, not the sum. If the same people answer both, losses add.
Utility: mutual information is corrected for the noise of its table, which would favour large ones. A parent must be
informative beyond the others, by Wald's test, at a level shared by all candidates: independent attributes get a false
edge with at most about that probability.
Claim page: docs/claims/independence.md.   Flags: unvetted, trusts its caller.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from tacita import check
from tacita.collect.analysis.hypothesis import Hypothesis
from tacita.collect.analysis.independence import known_total, wald_test
from tacita.domain import Domain
from tacita.errors import InvalidInput
from tacita.models import BayesianNetwork, chow_liu, fit_network, greedy_parents, mutual_information, noise_bits
from tacita.privacy import event as events
from tacita.privacy.accountant import pure_epsilon
from tacita.privacy.event import Event, Pure
from tacita.tables.cells import Cells
from tacita.tables.release import Release, Releases
from tacita.tables.simplex import project_table
from tacita.tables.uncertainty import Correlated

__all__ = ["Learned", "Link", "Structure", "candidate_families", "learn_network", "learn_structure"]


@dataclass(frozen=True, kw_only=True)
class Link:
    """Mutual information between a child and its parents.

    Attributes:
        child, parents: The attributes.
        raw_bits: Mutual information of the table as it is.
        bits: The same, corrected for the bias that noise adds.
        p_value: Of the hypothesis that some parent is uninformative given the others.
    """

    child: str
    parents: tuple[str, ...]
    raw_bits: float
    bits: float
    p_value: float


@dataclass(frozen=True, kw_only=True)
class Structure:
    """Parents of each attribute, and why.

    Attributes:
        domain: The attributes.
        parents: Of each of them.
        links: The mutual information of the chosen parents.
        candidates: How many families shared the level.
        event: The cost to each person who answered.
        simulated: Whether the reports came from a seed.
        level: Of all candidates together.
        doubtful: Pairs without an edge that a test of that pair alone would call dependent at the same level.
    """

    domain: Domain
    parents: Mapping[str, tuple[str, ...]]
    links: tuple[Link, ...]
    candidates: int
    event: Event
    simulated: bool
    level: float = 0.05
    doubtful: tuple[Link, ...] = ()

    @property
    def near_misses(self) -> tuple[str, ...]:
        """The doubtful pairs in words."""
        shared = self.level / max(self.candidates, 1)
        return tuple(
            f"No edge between {link.parents[0]} and {link.child}, though p = {link.p_value:.2g}: alone that is below "
            f"{self.level:g}, but {self.candidates} candidates share the level, so that an edge needs {shared:.2g}."
            for link in self.doubtful
        )

    @property
    def families(self) -> tuple[tuple[str, ...], ...]:
        """The tables that the parameters need: each attribute with its parents."""
        return tuple((*above, name) for name, above in self.parents.items())


@dataclass(frozen=True, kw_only=True, eq=False)
class Learned:
    """A network and what it was made from."""

    network: BayesianNetwork
    structure: Structure
    event: Event
    simulated: bool


def learn_structure(
    releases: Releases, *, degree: int = 1, level: float = 0.05, root: str | None = None, most_cells: int | None = None
) -> Structure:
    """The best tree, or with `degree` above 1 a greedy network, with edges where dependence is beyond doubt.

    Args:
        releases: Unbiased shares about the population. A family that no table holds is no candidate.
        degree: Most parents of an attribute.
        level: Of all tests together, by Bonferroni.
        root: Placed first; it has no meaning by itself.
        most_cells: Largest table of a family; see `tacita.models.useful_cells`.
    """
    check.inside(level, "level", 0, 1)
    domain = releases.domain
    families = candidate_families(releases, degree=degree)
    if not families:
        raise InvalidInput("must hold a table of two attributes or more", field="releases")
    seen: dict[tuple[str, tuple[str, ...]], Link] = {}

    def score(child: str, parents: tuple[str, ...]) -> float:
        if not releases.supports((*parents, child)):
            return -np.inf
        link = seen[child, parents] = _link(releases.project((*parents, child)), child, parents)
        return link.bits if link.p_value <= level / len(families) else -np.inf

    if degree == 1 and most_cells is None:
        parents = chow_liu(domain.names, lambda a, b: score(b, (a,)), root=root)
    else:
        parents = greedy_parents(domain, score, degree=degree, root=root, most_cells=most_cells)
    links = tuple(_found(seen, name, above) for name, above in parents.items() if above)
    return Structure(
        domain=domain,
        parents=parents,
        links=links,
        candidates=len(families),
        event=_cost(releases),
        simulated=any(release.provenance.simulated for release in releases.values()),
        level=level,
        doubtful=_doubtful(seen, level, len(families)),
    )


def candidate_families(releases: Releases, *, degree: int) -> list[tuple[str, ...]]:
    """The families that share the level of a network: those that some table holds."""
    return [family for family in _families(releases.domain.names, degree) if releases.supports(family)]


def _doubtful(seen: Mapping[tuple[str, tuple[str, ...]], Link], level: float, candidates: int) -> tuple[Link, ...]:
    """Pairs that were rejected alone but not at the shared level, each once."""
    found = {
        frozenset((link.child, *link.parents)): link
        for link in seen.values()
        if len(link.parents) == 1 and level / candidates < link.p_value <= level
    }
    return tuple(found.values())


def _families(names: Sequence[str], degree: int) -> Iterator[tuple[str, ...]]:
    """All candidates, the child last; a pair is one candidate, whichever way it points."""
    yield from combinations(names, 2)
    for size in range(2, degree + 1):
        for child in names:
            for parents in combinations([name for name in names if name != child], size):
                yield (*parents, child)


def _found(seen: Mapping[tuple[str, tuple[str, ...]], Link], child: str, parents: tuple[str, ...]) -> Link:
    if (child, parents) in seen:
        return seen[child, parents]
    return replace(seen[parents[0], (child,)], child=child, parents=parents)  # mutual information is symmetric


def _link(release: Release, child: str, parents: tuple[str, ...]) -> Link:
    uncertainty = release.uncertainty
    if not isinstance(uncertainty, Correlated):
        hint = "Take the raw releases of a tally; published ones have no covariance"
        raise InvalidInput("has no covariance", field="releases", hint=hint)
    values, covariance = known_total(release.values.reshape(-1).astype(np.float64), uncertainty.covariance)
    table = project_table(Cells(release.domain, values.reshape(release.values.shape)))
    raw = mutual_information(table, [child])
    bits = raw - noise_bits(table, [child], Correlated(covariance=covariance))
    worst = max(_p_value(release, child, parent, parents) for parent in parents)
    return Link(child=child, parents=parents, raw_bits=raw, bits=bits, p_value=worst)


def _p_value(release: Release, child: str, parent: str, parents: tuple[str, ...]) -> float:
    others = tuple(name for name in parents if name != parent)
    try:
        return wald_test(release, Hypothesis.of(child, parent, given=others)).p_value
    except InvalidInput:  # too few reports for so many cells: nothing can be said
        return 1.0


def _cost(releases: Releases) -> Event:
    """Return the largest cost, since each respondent of a collection answered for one of the tables."""
    return Pure(epsilon=max(pure_epsilon(release.event, release.neighbours) for release in releases.values()))


def learn_network(structure: Structure, parameters: Releases, *, same_people: bool = False) -> Learned:
    """Fit a network with these parents to another group's tables.

    Args:
        structure: The parents, learnt from one group.
        parameters: Tables that hold every attribute with its parents: `structure.families`.
        same_people: Whether some answered for both, so that their losses add up.
    """
    for family in structure.families:
        if not parameters.supports(family):
            hint = "Ask the second group about structure.families"
            raise InvalidInput("must hold every family", field="parameters", value=" x ".join(family), hint=hint)

    def table(names: tuple[str, ...]) -> Cells:
        return parameters.project(names).estimate

    network = fit_network(structure.domain, structure.parents, table, repair=project_table)
    costs = (structure.event, _cost(parameters))
    if same_people:
        event: Event = events.Sequence(events=costs)
    else:
        event = max(costs, key=lambda cost: pure_epsilon(cost, next(iter(parameters.values())).neighbours))
    simulated = structure.simulated or any(release.provenance.simulated for release in parameters.values())
    return Learned(network=network, structure=structure, event=event, simulated=simulated)
