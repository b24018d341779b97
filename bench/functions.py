"""Functions as a service: consistency under kills, latency, memory, and error against noise on each answer.

consistency    10^5 queries of 5000 points by four processes on one SQLite file; two of them are killed with
               SIGKILL while they answer, and two others take their place. All answers of a point must be one
latency        single new points on a function that has answered 10^4: with a smooth kernel, which keeps few of them,
               and in six dimensions, where every point is kept
memory         the form `features` before and after 10^5 queries
error          what `learn.tradeoff` shows: a density of 5000 rows, epsilon 0.4 at delta 1e-3, replace-one. The peer is
               Gaussian noise on each answer, with the same calibration and honest composition: m answers move by
               sqrt(m) times what one does, so rho adds up and the noise grows by sqrt(m), not by m
"""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from bench.rows import Row
from tacita.domain import Domain, Numeric
from tacita.engines.local import LocalEngine
from tacita.learn.functions import Kernel, ReleaseFunction
from tacita.learn.functions.registry import Registry
from tacita.learn.functions.service import FunctionService
from tacita.learn.tradeoff import trade_off
from tacita.noise import SecureSource
from tacita.privacy.budget import Budget
from tacita.privacy.unit import Neighbours, Unit
from tacita.store import Database

ROW, REPLACE = Unit.row(), Neighbours.REPLACE_ONE
POINTS, BATCH = 5000, 25


def run(*, quick: bool) -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        return [
            *_memory(home / "memory", 10_000 if quick else 100_000),  # first: what others need would hide it
            *_consistency(home / "kills", 10_000 if quick else 100_000),
            *_latency(home / "smooth", 2, 1_000 if quick else 10_000),
            *_latency(home / "rough", 6, 1_000 if quick else 10_000),
            *_error(3 if quick else 20),
        ]


def _release(home: Path, dimensions: int, *, rows: int = 2000, **parts: Any) -> tuple[Registry, str]:
    rng = np.random.default_rng(0)
    names = [f"x{place}" for place in range(dimensions)]
    domain = Domain(attributes=[Numeric(name=name, bounds=(0, 1), bins=4) for name in names])
    engine = LocalEngine(domain, pa.table({name: rng.random(rows) for name in names}))
    recipe = ReleaseFunction(kind="density", features=tuple(names), **parts)
    plan = recipe.calibrate(domain, Budget.approx(1.0, 1e-6), unit=ROW, neighbours=REPLACE)
    registry = Registry(Database(_url(home)))
    id = registry.put(plan.fit(engine, SecureSource()), "f")
    return registry, registry.activate(id, charge="bench", dataset="bench").id


def _url(home: Path) -> str:
    return f"sqlite:///{home}/state.db"


# -- consistency -------------------------------------------------------------------------------------------------------

_WORKER = """
import json, sys
import numpy as np
from tacita.learn.functions.registry import Registry
from tacita.learn.functions.service import FunctionService
from tacita.noise import SecureSource
from tacita.store import Database

url, id, seed, out, queries, points, batch = sys.argv[1:]
service = FunctionService(Registry(Database(url)), SecureSource())
pool = np.random.default_rng(1).random((int(points), 2)).tolist()
order = np.random.default_rng(int(seed))
with open(out, "a") as file:
    for _ in range(int(queries) // int(batch)):
        some = order.integers(0, len(pool), int(batch)).tolist()
        print(json.dumps([some, service.predict(id, [pool[i] for i in some]).values]), file=file, flush=True)
"""


def _consistency(home: Path, queries: int) -> list[Row]:
    _, id = _release(home, 2, kernel=Kernel(bandwidth=0.1))
    outs = [home / f"out{i}" for i in range(6)]

    def start(i: int) -> subprocess.Popen[bytes]:
        sizes = [str(queries // 4), str(POINTS), str(BATCH)]
        return subprocess.Popen([sys.executable, "-c", _WORKER, _url(home), id, str(i), str(outs[i]), *sizes])

    begun = time.perf_counter()
    running = [start(i) for i in range(4)]
    for i in (0, 1):
        while not outs[i].exists() or outs[i].stat().st_size < 20_000:
            time.sleep(0.01)
        os.kill(running[i].pid, signal.SIGKILL)
        running.append(start(4 + i))
    failed = sum(process.wait() != 0 for process in running[2:])
    wall = time.perf_counter() - begun
    answers: dict[int, set[float]] = {}
    told = 0
    for out in outs:
        for line in out.read_text().splitlines():
            if line.endswith("]]"):  # the last line of a killed one may be cut off
                for point, value in zip(*json.loads(line), strict=True):
                    answers.setdefault(point, set()).add(value)
                    told += 1
    wrong = sum(len(values) > 1 for values in answers.values())
    note = f"{told:,} answers of {len(answers):,} points in {wall:.0f} s, four processes, two killed"
    return [
        Row(bar="points with two answers", ours=wrong, unit="points", goal="= 0", note=note),
        Row(bar="workers that failed", ours=failed, unit="processes", goal="= 0", note=note),
        Row(bar="answers", ours=told / wall, unit="1/s", note=note),
    ]


# -- latency and memory ------------------------------------------------------------------------------------------------


def _latency(home: Path, dimensions: int, answered: int) -> list[Row]:
    registry, id = _release(home, dimensions, kernel=Kernel(bandwidth=0.1))
    service, rng = FunctionService(registry, SecureSource()), np.random.default_rng(2)
    for _ in range(0, answered, 500):
        service.predict(id, rng.random((500, dimensions)).tolist())
    path = service._held[id].path
    assert path is not None
    new, old = [], []
    for point in rng.random((60, dimensions)).tolist():
        for times in (new, old):
            begun = time.perf_counter()
            service.predict(id, [point])
            times.append(1e3 * (time.perf_counter() - begun))
    begun = time.perf_counter()
    FunctionService(registry, SecureSource()).predict(id, rng.random((1, dimensions)).tolist())
    again = time.perf_counter() - begun
    where = f"{dimensions} dimensions, {path.kept:,} of {answered:,} points kept"
    return [
        Row(bar=f"a new point, {where}", ours=float(np.median(new)), unit="ms", goal="<= 50", note="Median of 60."),
        Row(bar="the slowest of them", ours=max(new), unit="ms"),
        Row(bar="a known point", ours=float(np.median(old)), unit="ms", goal="<= 50"),
        Row(bar="the first new point after a restart", ours=again, unit="s"),
    ]


def _memory(home: Path, queries: int) -> list[Row]:
    registry, id = _release(home, 2, form="features", kernel=Kernel(bandwidth=0.1))
    service, rng = FunctionService(registry, SecureSource()), np.random.default_rng(3)

    def state() -> int:
        held = sum(array.nbytes for array in service._held[id].model.arrays.values())
        return held + registry.get(id).points + len(json.dumps(registry.get(id).as_dict()))

    def ask() -> float:
        points = rng.random((1000, 2)).tolist()
        begun = time.perf_counter()
        service.predict(id, points)
        return time.perf_counter() - begun

    ask()
    before, first, peak = state(), min(ask() for _ in range(5)), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(queries // 1000):
        ask()
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak
    return [
        Row(
            bar=f"state after {queries:,} queries",
            ours=state(),
            peer=before,
            peer_name="before",
            unit="bytes",
            goal="= 1",
        ),
        Row(bar="most memory of the process, more than before", ours=grown / 1024, unit="MiB", goal="<= 16"),
        Row(
            bar="1000 points then",
            ours=min(ask() for _ in range(5)),
            peer=first,
            peer_name="before",
            unit="s",
            goal="<= 1.5",
        ),
    ]


# -- error -------------------------------------------------------------------------------------------------------------


def _error(draws: int) -> list[Row]:
    counts = (1, 10, 100, 1000, 10_000)
    found = trade_off("queries", counts, epsilon=0.4, delta=1e-3, rows=5000, draws=draws)
    ours, peer = found.lines
    return [
        Row(
            bar=f"density, noise of {count:,} answers",
            ours=ours.middle[place],
            peer=peer.middle[place],
            peer_name=peer.label,
            unit="RMSE",
            goal="shown" if count < 10 else "<= 1",
            note=f"Median of {draws} draws; {found.fixed}.",
        )
        for place, count in enumerate(counts)
    ]
