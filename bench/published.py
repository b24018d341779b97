"""Collected tables: coverage of the intervals, and which way of publishing is nearest to the truth.

Populations are random Bayesian networks (`tests.support.networks`) with known tables; every collection asks for all
pairs, through the channels that the planner takes. Methods were developed on networks of other seeds.

    coverage   4 networks x 3 epsilons x 200 collections: mean over all cells of tables that hold at 95 %
    distance   6 networks x 4 epsilons x 20 collections: mean total variation distance of the pair tables to the truth
"""

from __future__ import annotations

import itertools
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context

import numpy as np
from tests.support.networks import Kind, random_network

from bench.rows import Row
from tacita.collect.analysis import findings
from tacita.collect.estimating.tally import Tally, respond
from tacita.collect.planning.plan import plan_collection
from tacita.models import BayesianNetwork
from tacita.noise import SeededSource
from tacita.tables.release import Releases
from tacita.tables.workload import Workload

PEOPLE = 5000
SEED = 15
COVERED: tuple[Kind, ...] = ("chain", "dense", "independent", "skewed")
KINDS: tuple[Kind, ...] = ("chain", "tree", "dense", "independent", "skewed", "wide")
WAYS: tuple[findings.Published, ...] = ("consistent", "singles", "modelled")
THREE = ("x0", "x1", "x2")


def run(*, quick: bool) -> list[Row]:
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        jobs = list(itertools.product(COVERED, (0.5, 1.0, 2.0)))
        covered = list(pool.map(partial(_coverage, collections=20 if quick else 200), *zip(*jobs, strict=True)))
        rows = [row for found in covered for row in found]
        jobs = list(itertools.product(KINDS[:3] if quick else KINDS, (1.0, 4.0) if quick else (0.5, 1.0, 2.0, 4.0)))
        near = list(pool.map(partial(_distances, collections=3 if quick else 20), *zip(*jobs, strict=True)))
    return [*rows, *(row for found in near for row in found)]


def collect(network: BayesianNetwork, epsilon: float, seed: int) -> Tally:
    """One collection of all pairs."""
    workload = Workload.all(network.domain, 2)
    design = plan_collection(network.domain, workload, respondents=PEOPLE, epsilon=epsilon, mode="tables")
    for_people, for_lot = np.random.SeedSequence(seed).spawn(2)
    codes = network.sample(PEOPLE, np.random.default_rng(for_people))
    lot = int(for_lot.generate_state(1)[0])
    return Tally(design).add(respond(design, codes, SeededSource(seed), seed=lot))


@dataclass
class _Cover:
    inside: int = 0
    cells: int = 0

    def add(self, network: BayesianNetwork, releases: Releases) -> None:
        for key, release in releases.items():
            low, high = release.interval(0.95)
            truth = network.project(key).values
            self.inside += int(((low <= truth) & (truth <= high)).sum())
            self.cells += truth.size


def _coverage(kind: Kind, epsilon: float, *, collections: int) -> list[Row]:
    network = random_network(kind, seed=SEED)
    covers = {how: _Cover() for how in ("pooled", "consistent", "modelled", "completed")}
    for number in range(collections):
        tally = collect(network, epsilon, 10_000 * SEED + number)
        for how in ("pooled", "consistent", "modelled"):
            covers[how].add(network, findings.published(tally, how))
        if number % 40 == 0:  # slower, and without a goal
            covers["completed"].add(network, Releases([findings.table(tally, THREE, "modelled")]))
    rows = []
    for how, cover in covers.items():
        bar, share = f"coverage of 95 % intervals, {kind}, epsilon {epsilon:g}, {how}", cover.inside / cover.cells
        if how == "completed":
            note = "completed: a table of three attributes that no question held, from every fortieth collection"
            rows.append(Row(bar=bar, ours=share, unit="of cells", note=note))
            continue
        rows.append(Row(bar=f"{bar}, not too low", ours=share, unit="of cells", goal=">= 0.92"))
        rows.append(Row(bar=f"{bar}, not too high", ours=share, unit="of cells", goal="<= 0.98"))
    return rows


def _distances(kind: Kind, epsilon: float, *, collections: int) -> list[Row]:
    network, found = random_network(kind, seed=SEED), {how: [0.0] * 0 for how in (*WAYS, "auto")}
    chosen: dict[str, int] = {}
    for number in range(collections):
        tally = collect(network, epsilon, 20_000 * SEED + number)
        made = {how: findings.published(tally, how) for how in WAYS}
        automatic = findings.published(tally, "auto")
        way = next(iter(automatic.values())).provenance.recipe["published"]
        chosen[way] = chosen.get(way, 0) + 1
        for how, releases in (made | {"auto": automatic}).items():
            found[how].append(_distance(network, releases))
    means = {how: float(np.mean(each)) for how, each in found.items()}
    best = min(WAYS, key=lambda how: means[how])
    name = f"{kind}, epsilon {epsilon:g}"
    rows = [Row(bar=f"distance to the truth, {name}, {how}", ours=means[how], unit="total variation") for how in WAYS]
    took = ", ".join(f"{way} {times}" for way, times in sorted(chosen.items()))
    rows.append(
        Row(
            bar=f"distance to the truth, {name}, automatic (took {took})",
            ours=means["auto"],
            peer=means[best],
            peer_name=f"best fixed way: {best}",
            unit="total variation",
            goal="<= 1.05",
        )
    )
    return rows


def _distance(network: BayesianNetwork, releases: Releases) -> float:
    """Mean total variation distance of the pair tables."""
    gaps = [np.abs(r.values - network.project(key).values).sum() / 2 for key, r in releases.items() if len(key) == 2]
    return float(np.mean(gaps))
