"""One fitter of mixtures beside the two that it replaced, through both callers: error of tables, and CPU.

Populations are random Bayesian networks (`tests.support.networks`) with known tables. Both sides run the same script,
in turns, each in a process of its own: ours from this tree, the peer from the commit before the fitters were merged.

    collect      local randomizers, 5,000 respondents, all pairs; the published tables (`modelled`) and the model
    synthesize   noisy tables of all pairs, 20,000 rows; the model

Error: mean total variation distance to the truth, over tables of one, two and three attributes. The peer's collected
tables were fitted by L-BFGS, two starts to the minimum; its synthetic rows by the descent that both use now.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
import tempfile
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from bench.rows import Row

HERE = Path(__file__).resolve().parent.parent
BEFORE = "be47842"
KINDS = ("chain", "tree", "dense", "skewed", "wide")
GOALS = {"1": "<= 1.02", "2": "<= 1.02", "3": "<= 1.02", "cpu": "<= 1.05"}
SETTINGS = {"collect": {5: (1.0, 4.0), 8: (1.0, 4.0)}, "synthesize": {6: (0.5, 5.0), 12: (0.5, 5.0)}}

SCRIPT = """
import itertools, json, sys, time
import numpy as np
import pyarrow as pa
from bench.published import collect
from tests.support.networks import random_network
from tacita.collect.estimating.publish import model
from tacita.domain import decode
from tacita.engines.local import LocalEngine
from tacita.noise import SeededSource
from tacita.privacy.budget import Budget
from tacita.privacy.unit import Neighbours, Unit
from tacita.synthesize import Pairs

def collected(network, epsilon, seed):
    tally = collect(network, epsilon, seed)
    return lambda: model(tally)

def synthesized(network, epsilon, seed):
    codes = network.sample(20_000, np.random.default_rng(seed))
    domain = network.domain
    rows = pa.table({name: decode(domain[name], codes[name], "label") for name in domain.names})
    engine = LocalEngine(domain, rows)
    plan = Pairs().calibrate(domain, Budget.pure(epsilon), unit=Unit.row(), neighbours=Neighbours.ADD_REMOVE)
    engine.project(domain.names[:2])
    return lambda: plan.run(engine, SeededSource(seed)).model

def gap(found, network, order):
    keys = list(itertools.combinations(network.domain.names, order))
    return float(np.mean([np.abs(found.project(k).values - network.project(k).values).sum() / 2 for k in keys]))

caller, size, epsilon, kinds, seeds = json.loads(sys.argv[1])
make, out = {"collect": collected, "synthesize": synthesized}[caller], []
make(random_network("chain", attributes=3, seed=1), 1.0, 0)()  # loads and compiles
for kind, seed in itertools.product(kinds, range(seeds)):
    network = random_network(kind, attributes=size, seed=700 + seed)
    work = make(network, epsilon, 900 + seed)
    start = time.process_time()
    found = work()
    seconds = time.process_time() - start
    out.append({str(order): gap(found, network, order) for order in (1, 2, 3)} | {"cpu": seconds})
print(json.dumps(out))
"""


def run(*, quick: bool) -> list[Row]:
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        before = _unpack(Path(folder))
        for caller, sizes in SETTINGS.items():
            for size, epsilons in sizes.items():
                for epsilon in epsilons:
                    seeds = 2 if quick else 12
                    case = (caller, size, epsilon, KINDS, seeds)
                    both = {"ours": _measure(HERE, *case), "peer": _measure(before, *case) if before else []}
                    rows += _rows(f"{caller}, {size} attributes, epsilon {epsilon:g}", both)
    return rows


def _unpack(folder: Path) -> Path | None:
    """The tree of the commit before, where this is a clone that has it."""
    done = subprocess.run(
        ["git", "archive", BEFORE, "src", "tests", "bench"], cwd=HERE, capture_output=True, check=False
    )
    if done.returncode:
        return None
    with tarfile.open(fileobj=BytesIO(done.stdout)) as packed:
        packed.extractall(folder, filter="data")
    return folder


def _measure(tree: Path, *case: Any) -> list[dict[str, float]]:
    environment = os.environ | {"PYTHONPATH": f"{tree / 'src'}:{tree}", "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-c", SCRIPT, json.dumps(case)]
    done = subprocess.run(command, cwd=tree, env=environment, check=True, capture_output=True, text=True)
    found: list[dict[str, float]] = json.loads(done.stdout)
    return found


def _rows(name: str, both: dict[str, list[dict[str, float]]]) -> list[Row]:
    rows = []
    for what, goal in GOALS.items():
        ours, peer = ([each[what] for each in both[side]] for side in ("ours", "peer"))
        label = "one fit" if what == "cpu" else f"tables of {what}"
        note = f"mean over {len(ours)} networks ({', '.join(KINDS)}), goals for the ratio"
        if peer:
            apart = np.subtract(ours, peer)
            chance = 2 * float(np.std(apart, ddof=1)) / len(apart) ** 0.5 / float(np.mean(peer))
            label += "" if what == "cpu" else f" (ratio +- {chance:.3f})"
        rows.append(
            Row(
                bar=f"{name}, {label}",
                ours=float(np.mean(ours)),
                peer=float(np.mean(peer)) if peer else None,
                peer_name=f"commit {BEFORE}" if peer else f"no commit {BEFORE} in this clone",
                unit="cpu_s" if what == "cpu" else "total variation",
                goal=goal if peer else "shown",
                note=note,
            )
        )
    return rows
