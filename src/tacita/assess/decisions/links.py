"""Stability of the links of a network that was learnt from noisy tables.

    link_stability    after a release: true tables are drawn from their posterior, a network is learnt from each draw,
                      and each link has the share of draws in which it occurs
    planned_links     before a release: people are drawn from a public or assumed model, their tables go through the
                      planned mechanism, and a network is learnt from what would be released and from the exact tables

`relearn` scores structures by tables. From a noisy table dependence is discounted by the share of noise in it; draws of
the true tables have none. Under much noise a draw is dependent nearly always, because most tables are: a link that the
network lacks may then occur in most draws, and says that the release does not know.

Of a link are shown: how often the two attributes are linked at all, how often the arrow points this way, and how often
it is compelled, so that no network with the same independences has it the other way (`models.equivalence`). Where
nothing compels an arrow, its direction is a convention of the search.

Privacy: `link_stability` is post-processing of releases; `planned_links` reads public numbers and an assumed model.
Claim page: docs/claims/decisions.md.   Flags: unvetted.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacita import check
from tacita.assess.decisions.mechanisms import AdditiveMechanism
from tacita.assess.decisions.posterior import lay_out, posterior_of
from tacita.assess.decisions.relearn import DrawnTables, Parents, Search, choose_search, learn_each
from tacita.collect.estimating.tally import Tally, respond
from tacita.collect.planning.design import CollectionDesign
from tacita.common.binomial import clopper_pearson
from tacita.domain import Domain
from tacita.errors import InvalidInput
from tacita.models.draw import draw_network
from tacita.models.equivalence import compelled_arrows
from tacita.noise import SeededSource
from tacita.plans.additive import CalibratedTables
from tacita.synthesize.result import Model
from tacita.tables.release import Releases

__all__ = ["LinkShare", "LinkStability", "PublicRows", "link_stability", "planned_links"]

Key = tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class LinkShare:
    """Shares of the draws with a link.

    Attributes:
        parent, child: As the network has it; for a link that it lacks, the commoner direction.
        learnt: Whether the network has the link.
        linked: Share of draws that link the two, in either direction; `low` and `high` are its 95 % interval.
        arrow: Share with an arrow from parent to child.
        compelled: Share in which that arrow is compelled.
    """

    parent: str
    child: str
    learnt: bool
    linked: float
    low: float
    high: float
    arrow: float
    compelled: float


@dataclass(frozen=True, kw_only=True)
class LinkStability:
    """A network and how often each link occurs again.

    Attributes:
        parents: The network: learnt from the released tables; in a plan, the one that exact tables give most often.
        links: Its links, and others that occur in draws, the most frequent first.
        same: Share of draws whose links are exactly those of the network.
        draws: Number of draws.
        search: The structure search.
        method: How tables were drawn.
        notes: What to keep in mind.
    """

    parents: Mapping[str, Key]
    links: tuple[LinkShare, ...]
    same: float
    draws: int
    search: str
    method: str
    notes: tuple[str, ...] = ()

    def picture(self) -> str:
        """The network as an SVG; an arrow is as wide as its link is stable, and says how stable it is."""
        shares = {(link.parent, link.child): link.linked for link in self.links if link.learnt}
        labels = {arrow: f"{share:.0%}" for arrow, share in shares.items()}
        return draw_network(
            self.parents, weights=shares, labels=labels, title="network with the stability of its links"
        )

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "parents": {name: list(above) for name, above in self.parents.items()},
            "links": [{name: getattr(link, name) for name in LinkShare.__dataclass_fields__} for link in self.links],
            "same": self.same,
            "draws": self.draws,
            "search": self.search,
            "method": self.method,
            "notes": list(self.notes),
        }


# -- results -------------------------------------------------------------------------------------------------


def _arrows(parents: Mapping[str, Sequence[str]]) -> set[tuple[str, str]]:
    return {(parent, child) for child, above in parents.items() for parent in above}


def _shares(parents: Mapping[str, Key], found: Sequence[Parents], least: float) -> tuple[LinkShare, ...]:
    draws = len(found)
    arrows: dict[tuple[str, str], int] = {}
    compelled: dict[tuple[str, str], int] = {}
    for each in found:
        for arrow in _arrows(each):
            arrows[arrow] = arrows.get(arrow, 0) + 1
        for arrow in compelled_arrows(each):
            compelled[arrow] = compelled.get(arrow, 0) + 1
    own = _arrows(parents)
    listed = {frozenset(arrow): arrow for arrow in sorted(arrows, key=lambda arrow: arrows[arrow])}
    listed |= {frozenset(arrow): arrow for arrow in own}
    shares = []
    for parent, child in listed.values():
        hits = arrows.get((parent, child), 0) + arrows.get((child, parent), 0)
        learnt = (parent, child) in own
        if not learnt and hits < least * draws:
            continue
        low, high = clopper_pearson(hits, draws)
        shares.append(
            LinkShare(
                parent=parent,
                child=child,
                learnt=learnt,
                linked=hits / draws,
                low=low,
                high=high,
                arrow=arrows.get((parent, child), 0) / draws,
                compelled=compelled.get((parent, child), 0) / draws,
            )
        )
    return tuple(sorted(shares, key=lambda link: (not link.learnt, -link.linked, link.parent, link.child)))


def _same(parents: Mapping[str, Key], found: Sequence[Parents]) -> float:
    links = {frozenset(arrow) for arrow in _arrows(parents)}
    return float(np.mean([{frozenset(arrow) for arrow in _arrows(each)} == links for each in found]))


def link_stability(
    source: Releases | Tally,
    *,
    parents: Mapping[str, Sequence[str]] | None = None,
    search: Search = "auto",
    degree: int | None = None,
    draws: int = 200,
    rng: np.random.Generator,
    least: float = 0.05,
) -> LinkStability:
    """Share of networks with each link of a network, among networks learnt from tables that the noise may have hidden.

    Args:
        source: Counts with additive noise, shares of a collection, or the tally of a collection.
        parents: A network that was learnt from the release in any way; learnt here by default.
        search: "tree", "hill-climb" or "exact" (few attributes); a tree where there are only tables of two by default.
        degree: Most parents; as many as the tables allow by default.
        draws: Of the true tables.
        rng: Of the draws.
        least: Links that the network lacks are listed from this share on.
    """
    check.whole(draws, "draws", least=1)
    releases = source.releases() if isinstance(source, Tally) else source
    keys = [key for key in releases if key]
    posteriors = {key: posterior_of(source if isinstance(source, Tally) else source[key], key) for key in keys}
    observed = {key: lay_out(each.observed[None, :], each.domain, key) for key, each in posteriors.items()}
    noise = {key: each.noise_variance for key, each in posteriors.items()}
    released = DrawnTables(domain=releases.domain, tables=observed, noise=noise)
    chosen, most = choose_search(search, released, degree)
    tables = {key: lay_out(each.draw(draws, rng), each.domain, key) for key, each in posteriors.items()}
    found = learn_each(DrawnTables(domain=releases.domain, tables=tables), chosen, most)
    own = learn_each(released, chosen, most)[0] if parents is None else _checked(parents, releases.domain)
    notes = [each.approximation for each in posteriors.values() if each.approximation]
    return LinkStability(
        parents=own,
        links=_shares(own, found, least),
        same=_same(own, found),
        draws=draws,
        search=chosen,
        method=next(iter(posteriors.values())).method,
        notes=tuple(dict.fromkeys(notes)),
    )


def _checked(parents: Mapping[str, Sequence[str]], domain: Domain) -> Parents:
    if set(parents) != set(domain.names):
        raise InvalidInput("must name each attribute of the tables once", field="parents", value=sorted(parents))
    return {name: tuple(parents[name]) for name in domain.names}


@dataclass(frozen=True, kw_only=True, eq=False)
class PublicRows:
    """Reference data that anyone may know, in place of a model: people are drawn from it with replacement.

    Args:
        domain: Its attributes.
        codes: The code of every row, by attribute.
    """

    domain: Domain
    codes: Mapping[str, NDArray[Any]]

    def sample(self, rows: int, rng: np.random.Generator) -> dict[str, NDArray[Any]]:
        """Rows of people like those of the reference."""
        places = rng.integers(len(next(iter(self.codes.values()))), size=rows)
        return {name: np.asarray(column)[places] for name, column in self.codes.items()}


def planned_links(
    model: Model | PublicRows,
    plan: CalibratedTables | CollectionDesign,
    *,
    people: int,
    search: Search = "auto",
    degree: int | None = None,
    draws: int = 200,
    rng: np.random.Generator,
    least: float = 0.05,
) -> LinkStability:
    """Share of releases of a plan in which each link would be found, beside what exact tables would give.

    Args:
        model: Public or assumed: people are drawn from it. Not fitted to private rows, because the result shows it.
        plan: Calibrated tables of a curator, or the design of a collection.
        people: Their number.
        search, degree, draws, rng, least: As in `link_stability`.

    Returns:
        `parents` is what exact tables give most often; `notes` say how often that is.
    """
    check.whole(people, "people", least=2)
    check.whole(draws, "draws", least=1)
    keys = list(plan.workload) if isinstance(plan, CalibratedTables) else _tables_of(plan)
    domain = plan.domain.project(tuple(dict.fromkeys(name for key in keys for name in key)))
    exact = {key: np.empty((draws, domain.project(key).size)) for key in keys}
    noisy = {key: np.empty_like(table) for key, table in exact.items()}
    for place in range(draws):
        codes = model.sample(people, rng)
        for key in keys:
            exact[key][place] = _counted(codes, domain, key)
        if isinstance(plan, CollectionDesign):
            for key, table in _collected(plan, codes, rng).items():
                noisy[key][place] = table
    if isinstance(plan, CalibratedTables):
        laws = dict(zip(keys, plan.laws, strict=True))
        noisy = {key: AdditiveMechanism(law=laws[key]).run(exact[key].astype(np.int64), rng) for key in keys}
        noise = {key: law.variance for key, law in laws.items()}
    else:
        noise = _noise_of(plan, people)
    without = DrawnTables(domain=domain, tables=exact)
    chosen, most = choose_search(search, without, degree)
    truths = learn_each(without, chosen, most)
    found = learn_each(DrawnTables(domain=domain, tables=noisy, noise=noise), chosen, most)
    patterns = [frozenset(frozenset(arrow) for arrow in _arrows(each)) for each in truths]
    commonest = max(set(patterns), key=lambda links: (patterns.count(links), sorted(map(sorted, links))))
    own = truths[patterns.index(commonest)]
    return LinkStability(
        parents=own,
        links=_shares(own, found, least),
        same=_same(own, found),
        draws=draws,
        search=chosen,
        method=f"{people:,} people drawn from the model, tables released as planned",
        notes=(f"exact tables of as many people give these links in {patterns.count(commonest) / draws:.0%} of draws",),
    )


def _counted(codes: Mapping[str, NDArray[Any]], domain: Domain, key: Key) -> NDArray[np.int64]:
    sizes = tuple(domain[name].size for name in key)
    cells = np.ravel_multi_index([np.asarray(codes[name]).astype(np.int64) for name in key], sizes)
    return np.bincount(cells, minlength=math.prod(sizes))


def _tables_of(design: CollectionDesign) -> list[Key]:
    tables = [asked.attributes for asked in design.questions if not (asked.asks_mean or asked.asks_margins)]
    if not tables:
        raise InvalidInput("must ask for tables", field="plan")
    return list(dict.fromkeys(tables))


def _noise_of(design: CollectionDesign, people: int) -> dict[Key, float]:
    """Variance of an estimated count of each table, mean over cells, by the design."""
    found: dict[Key, float] = {}
    for asked in design.questions:
        if asked.attributes in _tables_of(design):
            answers = max(1, round(people * asked.share))
            even = np.full(asked.oracle.levels, 1 / asked.oracle.levels)
            variance = asked.oracle.covariance(even, respondents=answers, about="respondents").variance()
            found[asked.attributes] = answers**2 * float(variance.mean())
    return found


def _collected(design: CollectionDesign, codes: Mapping[str, NDArray[Any]], rng: np.random.Generator) -> dict[Key, Any]:
    """Estimated counts of one simulated collection; nothing where no one was asked."""
    source = SeededSource(int(rng.integers(2**63)))
    tally = Tally(design).add(respond(design, codes, source, seed=int(rng.integers(2**63))))
    found = dict.fromkeys(_tables_of(design), 0.0) | {
        key: release.values.reshape(-1) * release.provenance.recipe["respondents"]
        for key, release in tally.releases().items()
    }
    return {key: found[key] for key in _tables_of(design)}
