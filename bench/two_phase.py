"""Campaigns in two phases beside one phase: where the second design gains, by how much, and where it does not.

Populations are generated, with seeds that were not used in development: 16 yes-or-no columns of `ldp_pairs`, and random
trees over attributes of several levels, where each attribute depends on one earlier one, or on none. All pairs are
wanted. The first phase is the planner's design; the second follows from its reports. Each figure is the mean total
variation distance of all pair tables, published as `modelled`, which `auto` takes nearly always.

    gain       two phases beside one; the note has one phase published with the second estimator, too, so that the share
               of the design is seen
    coverage   95 % intervals of the published tables, of pairs that depend and of pairs that do not
    auto       what the planner takes, beside the better of both
"""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np

from bench.ldp_pairs import Codes, columns, domain_of, exact
from bench.rows import Row
from tacita.collect.analysis import findings
from tacita.collect.estimating.tally import Tally, respond
from tacita.collect.planning.design import CollectionDesign
from tacita.collect.planning.phases import FIRST, second_design
from tacita.collect.planning.plan import plan_collection
from tacita.domain import Categorical, Domain
from tacita.noise import SeededSource
from tacita.tables.release import Releases
from tacita.tables.workload import Workload

SEED = 407
COLUMNS = ("one trait", "classes", "chain", "blocks")
TREES = {
    "tree, 10 attributes of 4 levels": (10, 4, 1.0, 60_000),
    "half a tree, 10 attributes of 4 levels": (10, 4, 0.5, 60_000),
    "tree, 20 attributes of 3 levels": (20, 3, 1.0, 60_000),
}
DEPENDS = 0.05
Truth = dict[tuple[str, ...], np.ndarray]


def run(*, quick: bool) -> list[Row]:
    runs = 1 if quick else 4
    rows = []
    epsilons = (2.0,) if quick else (1.0, 2.0, 4.0)
    populations = {kind: (domain_of(16), columns(kind, 16, SEED)) for kind in (COLUMNS[2:] if quick else COLUMNS)}
    populations |= {
        name: tree(*parts, seed=SEED) for name, parts in (list(TREES.items())[:1] if quick else TREES.items())
    }
    for (name, (domain, codes)), epsilon in itertools.product(populations.items(), epsilons):
        rows += compare(name, domain, codes, epsilon, runs)
    return rows


def tree(count: int, levels: int, edges: float, people: int, *, seed: int) -> tuple[Domain, Codes]:
    """Each attribute follows one earlier attribute with this probability, and is independent otherwise."""
    rng, codes = np.random.default_rng(seed), {}
    for place in range(count):
        if place and rng.random() < edges:
            above = codes[f"x{rng.integers(place)}"]
            own = 0.5 * np.eye(levels)[rng.permutation(levels)] + 0.5 * rng.dirichlet(np.full(levels, 2.0), levels)
            drawn = (own.cumsum(axis=1)[above] < rng.random(people)[:, None]).sum(axis=1)
            codes[f"x{place}"] = np.minimum(drawn, levels - 1)
        else:
            codes[f"x{place}"] = rng.choice(levels, people, p=rng.dirichlet(np.full(levels, 2.0)))
    names = [f"l{level}" for level in range(levels)]
    return Domain(attributes=[Categorical(name=f"x{place}", levels=names) for place in range(count)]), codes


def collect(design: CollectionDesign, codes: Codes, seed: int) -> Tally:
    """A whole collection, in the phases of the design."""
    people = len(next(iter(codes.values())))
    lots = [int(each) for each in np.random.SeedSequence([seed, 1]).generate_state(3)]
    if design.first is None:
        return Tally(design).add(respond(design, codes, SeededSource(seed), seed=lots[0]))
    order, early = np.random.default_rng(lots[2]).permutation(people), round(people * design.first)
    first, later = ({name: c[part] for name, c in codes.items()} for part in (order[:early], order[early:]))
    tally = Tally(design).add(respond(design, first, SeededSource(seed), seed=lots[0]))
    second = second_design(tally, respondents=people - early)
    full = replace(design, questions=(*design.questions, *second.questions), views=())
    return tally.continued(full).add(respond(full, later, SeededSource(seed + 1), seed=lots[1], block=2))


def distance(found: Releases, truth: Truth) -> float:
    """Mean total variation distance of the pair tables."""
    return float(np.mean([np.abs(found.project(key).values - table).sum() / 2 for key, table in truth.items()]))


def covered(found: Releases, truth: Truth, *, depends: bool) -> list[float]:
    """Share of cells inside their intervals, of the pairs that depend or of the others."""
    shares = []
    for key, table in truth.items():
        gap = np.abs(table - np.outer(table.sum(axis=1), table.sum(axis=0))).sum() / 2
        if (gap > DEPENDS) == depends:
            low, high = found.project(key).interval(0.95)
            shares.append(float(((low <= table) & (table <= high)).mean()))
    return shares


def compare(name: str, domain: Domain, codes: Codes, epsilon: float, runs: int) -> list[Row]:
    """Both ways on one population."""
    workload, truth, people = Workload.all(domain, 2), exact(domain, codes), len(next(iter(codes.values())))
    taken = plan_collection(domain, workload, respondents=people, epsilon=epsilon, phases="auto")
    if taken.mode == "singles":
        return [Row(bar=f"{name}, epsilon {epsilon:g}: singles only", ours=0.0, unit="total variation", note=taken.why)]
    single, double = replace(taken, first=None), replace(taken, first=FIRST)
    errors, inside = np.zeros((runs, 3)), {True: [], False: []}
    for number in range(runs):
        one = collect(single, codes, SEED + number)
        beside = Tally.counted(double, {n: c for n in range(len(single.questions)) if (c := one.counts(n)) is not None})
        found = [
            findings.published(tally, "modelled") for tally in (one, beside, collect(double, codes, SEED + number))
        ]
        errors[number] = [distance(each, truth) for each in found]
        for depends, held in inside.items():
            held.extend(covered(found[2], truth, depends=depends))
    once, same, twice = errors.mean(axis=0)
    ours, unit = twice if taken.first else once, "total variation"
    bar = f"{name}, {people:,} people, epsilon {epsilon:g}"
    note = f"{runs} collections; one phase with the estimator of two {same:.4f}; auto takes {2 if taken.first else 1}"
    rows = [
        Row(bar=f"{bar}: two phases", ours=twice, peer=once, peer_name="one phase", unit=unit, note=note),
        Row(
            bar=f"{bar}: auto",
            ours=ours,
            peer=min(once, twice),
            peer_name="better",
            unit=unit,
            goal="<= 1.1",
            note=taken.why,
        ),
    ]
    for depends, shares in inside.items():
        if len(shares) >= 10:
            which = "that depend" if depends else "near independent"
            bar_of = f"{bar}: coverage of 95 % intervals, pairs {which}"
            rows.append(Row(bar=bar_of, ours=float(np.mean(shares)), unit="of cells", goal=">= 0.93"))
    return rows
