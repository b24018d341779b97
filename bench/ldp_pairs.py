"""All pairs of many yes-or-no columns under local privacy: the planner's choice beside designs made by hand.

Tables are generated: 16 columns, 21,574 respondents, as a survey of disabilities has them. A common trait behind all
columns (item response), two correlated traits, five latent classes, a chain, blocks of four. Seeds were not used in
development. Reports go through the real channels; tables are published as a user gets them (`auto`). The error is the
mean total variation distance of all 120 pair tables from the exact ones.

    pairs      five tables x 4 epsilons; goals for the mean of the first three, which are like the survey
    shapes     23 columns; Child and Alarm networks from the folder TACITA_BENCH_DATA (default ../shared/data)
    planning   CPU seconds of the plan
"""

from __future__ import annotations

import gzip
import itertools
import os
import time
from pathlib import Path

import numpy as np

from bench.rows import Row
from tacita.collect.analysis import findings
from tacita.collect.estimating.tally import Tally, respond
from tacita.collect.planning.calm import cover
from tacita.collect.planning.design import Asked, CollectionDesign, best_for
from tacita.collect.planning.plan import plan_collection
from tacita.domain import Categorical, Domain
from tacita.models.bif import read_bif
from tacita.noise import SeededSource
from tacita.tables.release import Releases
from tacita.tables.workload import Workload

PEOPLE, COLUMNS, SEED = 21_574, 16, 91
KINDS = ("one trait", "two traits", "classes", "chain", "blocks")
LIKE = KINDS[:3]
GOALS = {0.5: 0.085, 1.0: 0.048, 2.0: 0.026, 4.0: 0.013}
Codes = dict[str, np.ndarray]


def run(*, quick: bool) -> list[Row]:
    runs = 1 if quick else 3
    rows = []
    for epsilon, goal in GOALS.items():
        rows += _pairs(epsilon, goal, runs, quick)
    return [*rows, *_shapes(1 if quick else 2, quick)]


# -- tables --------------------------------------------------------------------------------------------------


def columns(kind: str, count: int, seed: int) -> Codes:
    """A generated table of yes-or-no columns."""
    rng = np.random.default_rng(seed)
    if kind in ("one trait", "two traits", "blocks"):
        traits = rng.normal(size=(PEOPLE, count))
        if kind == "two traits":
            traits[:, 1] = 0.6 * traits[:, 0] + 0.8 * traits[:, 1]
        owner = {"one trait": np.zeros(count, int), "two traits": np.arange(count) % 3 // 2}
        own = traits[:, owner.get(kind, np.arange(count) // 4)]
        yes = 1 / (1 + np.exp(-rng.uniform(1.2, 3, count) * (own - rng.uniform(0.0, 1.6, count))))
        held = rng.random((PEOPLE, count)) < yes
    elif kind == "classes":
        shares, tables = rng.dirichlet([6, 2, 2, 1, 1]), np.sort(rng.beta(0.6, 1.2, (5, count)), axis=0)
        tables[0] = rng.uniform(0.01, 0.12, count)
        held = rng.random((PEOPLE, count)) < tables[rng.choice(5, PEOPLE, p=shares)]
    else:
        held = np.zeros((PEOPLE, count), bool)
        held[:, 0] = rng.random(PEOPLE) < 0.4
        for place in range(1, count):
            yes = np.where(held[:, place - 1], rng.uniform(0.5, 0.9), rng.uniform(0.05, 0.35))
            held[:, place] = rng.random(PEOPLE) < yes
    return {f"x{place}": held[:, place].astype(np.int64) for place in range(count)}


def domain_of(count: int) -> Domain:
    """Yes-or-no columns."""
    return Domain(attributes=[Categorical(name=f"x{place}", levels=["no", "yes"]) for place in range(count)])


def exact(domain: Domain, codes: Codes) -> dict[tuple[str, ...], np.ndarray]:
    """All pair tables."""
    found = {}
    for a, b in itertools.combinations(domain.names, 2):
        found[a, b] = np.zeros((domain[a].size, domain[b].size))
        np.add.at(found[a, b], (codes[a], codes[b]), 1 / len(codes[a]))
    return found


# -- collections ---------------------------------------------------------------------------------------------


def by_hand(domain: Domain, workload: Workload, epsilon: float, size: int) -> CollectionDesign:
    """Views of one size, each of an equal share of the respondents."""
    views = [tuple(key) for key in workload] if size == 2 else cover(domain, workload, size)
    share = 1 / len(views)
    return CollectionDesign(
        domain=domain,
        questions=tuple(
            Asked(attributes=v, channel=best_for(domain.project(v), epsilon, round(PEOPLE * share)), share=share)
            for v in views
        ),
        epsilon=epsilon,
        respondents=PEOPLE,
        mode="tables",
        wanted=tuple(workload),
    )


def error(design: CollectionDesign, codes: Codes, seed: int, truth: dict[tuple[str, ...], np.ndarray]) -> float:
    """Mean distance of the published pair tables."""
    lot = int(np.random.SeedSequence([seed, 1]).generate_state(1)[0])
    tally = Tally(design).add(respond(design, codes, SeededSource(seed), seed=lot))
    if design.mode == "singles":
        single = findings.published(tally, "auto")
        found = {(a, b): np.outer(single[a,].values, single[b,].values) for a, b in truth}
    else:
        releases: Releases = findings.published(tally, "auto")
        found = {key: releases.project(key).values for key in truth}
    return float(np.mean([np.abs(found[key] - table).sum() / 2 for key, table in truth.items()]))


def _pairs(epsilon: float, goal: float, runs: int, quick: bool) -> list[Row]:
    domain = domain_of(COLUMNS)
    workload = Workload.all(domain, 2)
    start = time.process_time()
    planned = plan_collection(domain, workload, respondents=PEOPLE, epsilon=epsilon)
    seconds = time.process_time() - start
    hand = {
        "single attributes": plan_collection(domain, workload, respondents=PEOPLE, epsilon=epsilon, mode="singles"),
        **{f"views of {size}": by_hand(domain, workload, epsilon, size) for size in ((2, 4) if quick else (2, 3, 4))},
    }
    rows, means, note = [], [], f"{runs} collections a table; {planned.why}"
    for kind in LIKE if quick else KINDS:
        codes = columns(kind, COLUMNS, SEED)
        truth = exact(domain, codes)
        ours = float(np.mean([error(planned, codes, SEED + run, truth) for run in range(runs)]))
        others = {
            name: float(np.mean([error(design, codes, SEED + run, truth) for run in range(runs)]))
            for name, design in hand.items()
        }
        best = min(others, key=lambda name: others[name])
        if kind in LIKE:
            means.append(ours)
        bar, near = f"pairs of 16 columns, {kind}, epsilon {epsilon:g}", f"best by hand: {best}"
        unit, listed = "total variation", ", ".join(f"{name} {value:.4f}" for name, value in others.items())
        rows.append(Row(bar=bar, ours=ours, peer=others[best], peer_name=near, unit=unit, goal="<= 1.15", note=listed))
    bar = f"pairs of 16 columns, mean of {', '.join(LIKE)}, epsilon {epsilon:g}"
    rows.append(Row(bar=bar, ours=float(np.mean(means)), unit="total variation", goal=f"<= {goal:g}", note=note))
    rows.append(Row(bar=f"planning, 120 pairs, epsilon {epsilon:g}", ours=seconds, unit="cpu_s", goal="<= 2"))
    return rows


def _shapes(runs: int, quick: bool) -> list[Row]:
    rows = []
    folder = Path(os.environ.get("TACITA_BENCH_DATA", "../shared/data"))
    shapes = {"23 columns, two traits": (domain_of(23), columns("two traits", 23, SEED + 1))}
    for name in () if quick else ("child", "alarm"):
        path = folder / f"{name}.bif.gz"
        if path.is_file():
            network = read_bif(gzip.decompress(path.read_bytes()).decode())
            shapes[name] = network.domain, network.sample(PEOPLE, np.random.default_rng(SEED))
    for name, (domain, codes) in shapes.items():
        workload, truth = Workload.all(domain, 2), exact(domain, codes)
        for epsilon in (1.0, 4.0):
            start = time.process_time()
            planned = plan_collection(domain, workload, respondents=PEOPLE, epsilon=epsilon)
            seconds = time.process_time() - start
            ours = float(np.mean([error(planned, codes, SEED + run, truth) for run in range(runs)]))
            bar = f"all pairs of {name}, epsilon {epsilon:g}"
            rows.append(Row(bar=bar, ours=ours, unit="total variation", note=f"{seconds:.1f} CPU s; {planned.why}"))
    return rows
