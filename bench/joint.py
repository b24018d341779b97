"""Joint tables from local reports on the Adult census extract: 8 categorical attributes, all 28 pairs.

Mean total variation distance of the published pair tables from the exact ones, with what the planner picks, and
beside it both ways of asking. Reports go through the real channels. The goals are the best combinations of known
methods that were measured on the same data. It is read from `adult.data` in the folder TACITA_BENCH_DATA (default
../shared/data) and is not part of the project.
"""

from __future__ import annotations

import csv
import itertools
import os
import time
from pathlib import Path

import numpy as np
import pyarrow as pa

from bench.rows import Row
from tacita.collect.estimating.publish import model
from tacita.collect.estimating.tally import Tally, respond
from tacita.collect.planning.design import CollectionDesign
from tacita.collect.planning.plan import plan_collection
from tacita.domain import Categorical, Domain
from tacita.noise import SeededSource
from tacita.tables.workload import Workload

COLUMNS = {
    "workclass": 1,
    "education": 3,
    "marital": 5,
    "occupation": 6,
    "relationship": 7,
    "race": 8,
    "sex": 9,
    "income": 14,
}
GOALS = {
    (32_561, 1): 0.19,
    (32_561, 2): 0.11,
    (32_561, 4): 0.07,
    (10**6, 1): 0.09,
    (10**6, 2): 0.055,
    (10**6, 4): 0.023,
}
RUNS = 3


def run(*, quick: bool) -> list[Row]:
    path = Path(os.environ.get("TACITA_BENCH_DATA", "../shared/data")) / "adult.data"
    if not path.is_file():
        return [Row(bar="Adult, pair tables", ours=0, peer_name=f"no {path.name}; set TACITA_BENCH_DATA", unit="none")]
    domain, codes = _read(path)
    rows = []
    for (people, epsilon), goal in GOALS.items():
        if not quick or people < 10**5:
            rows += _setting(domain, codes, people, epsilon, goal)
    return rows


def _read(path: Path) -> tuple[Domain, dict[str, np.ndarray]]:
    with path.open(newline="") as file:
        lines = [[cell.strip() for cell in line] for line in csv.reader(file) if len(line) > max(COLUMNS.values())]
    table = pa.table({name: [line[column] for line in lines] for name, column in COLUMNS.items()})
    levels = {name: sorted(set(table[name].to_pylist())) for name in COLUMNS}
    domain = Domain(attributes=[Categorical(name=name, levels=levels[name]) for name in COLUMNS])
    return domain, domain.encode(table)


def _setting(domain: Domain, codes: dict, people: int, epsilon: float, goal: float) -> list[Row]:
    held = len(codes["sex"])
    chosen = np.arange(held) if people == held else np.random.default_rng(0).integers(0, held, people)
    sample = {name: column[chosen] for name, column in codes.items()}
    pairs = Workload.all(domain, 2)
    truth = {}
    for a, b in itertools.combinations(COLUMNS, 2):
        table = np.zeros((domain[a].size, domain[b].size))
        np.add.at(table, (sample[a], sample[b]), 1 / people)
        truth[a, b] = table
    start = time.process_time()
    design = plan_collection(domain, pairs, respondents=people, epsilon=epsilon)
    planning = time.process_time() - start
    name = f"Adult, n={people:,}, eps {epsilon}"
    rows = [
        Row(
            bar=f"{name}: planner ({design.mode})",
            ours=_miss(design, sample, truth),
            unit="mean TV",
            goal=f"<= {goal}",
            note=f"{name}: {design.why}; planned in {planning:.1f} CPU s",
        )
    ]
    for mode in ("singles", "tables"):
        other = plan_collection(domain, pairs, respondents=people, epsilon=epsilon, mode=mode)
        rows.append(Row(bar=f"{name}: {mode}", ours=_miss(other, sample, truth), unit="mean TV"))
    return rows


def _miss(design: CollectionDesign, codes: dict, truth: dict) -> float:
    errors = []
    for seed in range(RUNS):
        reports = respond(design, codes, SeededSource(1000 + seed), seed=seed)
        found = model(Tally(design).add(reports))
        errors.append(np.mean([0.5 * np.abs(found.project(key).values - table).sum() for key, table in truth.items()]))
    return float(np.mean(errors))
