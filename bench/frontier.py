"""The automatic choice of a synthesizer beside every own method, on seven public tables; rows beside their model.

Adult (13 columns) and credit default (24) as they are; Child, Alarm, Asia and Survey drawn from their networks; white
wine with every column in eight bins. Error: total variation averaged over all pairs, or over 60 fixed triples, of as
many synthetic rows as there are real ones; a mean of five seeds, or of `TACITA_BENCH_SEEDS`. Neighbours are add-remove,
delta is 1e-9 or 0. The number of rows is public. Shares of a tree and factors of expected errors were fitted to
generated tables (`bench/generated.py`), not to these. Peers on Adult: `python -m bench synthesize`.

    automatic    error of `quality` over the least error of independent, mst, aim, privbayes and pairs, which is known
                 only with hindsight
    floor        error of as many rows drawn from the real ones with replacement
    downstream   error of a tree ensemble that predicts the last column, trained on synthetic rows, less that of one
                 trained on real rows
    wide         100 and 300 columns, a chain of 100,000 rows; CPU seconds, peak memory, error of neighbouring pairs
"""

from __future__ import annotations

import csv
import gzip
import json
import math
import os
import subprocess
import sys
from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np

from bench.rows import Row
from bench.synthesize import ADD, DATA, DELTA, ROW, adult, engine_of
from tacita.models.bif import read_bif
from tacita.noise import SeededSource
from tacita.privacy.budget import Budget
from tacita.synthesize import Adaptive, Independent, Pairs, PrivBayes, SpanningTree, Synthesize

SEEDS = int(os.environ.get("TACITA_BENCH_SEEDS", "5"))
EPSILONS = (0.05, 0.1, 0.3, 1.0, 3.0, 10.0)
OWN: dict[str, Callable[[], Any]] = {
    "independent": Independent,
    "mst": SpanningTree,
    "aim": Adaptive,
    "privbayes": PrivBayes,
    "pairs": Pairs,
}
Coded = tuple[np.ndarray, list[int]]


def run(*, quick: bool) -> list[Row]:
    if not (DATA / "adult.data").is_file():
        return [Row(bar="tables", ours=float("nan"), unit="", note=f"no data in {DATA}: set TACITA_BENCH_DATA")]
    rows = _wide(quick)
    for name, load in TABLES.items():
        if quick and name not in ("asia", "wine"):
            continue
        rows += _automatic(name, *load(), quick=quick)
    return rows


# -- tables -----------------------------------------------------------------------------------------------------------


def _credit() -> Coded:
    with open(DATA / "credit-default.csv", encoding="utf-8") as file:
        body = np.array(list(csv.reader(file))[1:], float)
    return _binned(body, most=12)


def _wine() -> Coded:
    with open(DATA / "winequality-white.csv", encoding="utf-8") as file:
        body = np.array(list(csv.reader(file, delimiter=";"))[1:], float)
    return _binned(body, most=8)


def _binned(body: np.ndarray, most: int) -> Coded:
    """Columns with few values as they are, others cut into eight by their quantiles, which count as public here."""
    columns = []
    for column in body.T:
        values = np.unique(column)
        if len(values) > most:
            values = np.unique(np.quantile(column, np.linspace(0, 1, 9)[1:-1]))
            columns.append(np.searchsorted(values, column, side="right"))
        else:
            columns.append(np.searchsorted(values, column))
    codes = np.stack(columns, axis=1)
    return codes, [int(size) + 1 for size in codes.max(axis=0)]


def _network(name: str, rows: int) -> Coded:
    with gzip.open(DATA / f"{name}.bif.gz", "rt") as file:
        network = read_bif(file.read())
    drawn = network.sample(rows, np.random.default_rng(0))
    return np.stack([drawn[each] for each in network.domain.names], axis=1).astype(int), list(network.domain.shape)


def _adult() -> Coded:
    train, _, sizes = adult()
    return train, sizes


TABLES: dict[str, Callable[[], Coded]] = {
    "adult": _adult,
    "credit": _credit,
    "child": lambda: _network("child", 30_000),
    "alarm": lambda: _network("alarm", 20_000),
    "asia": lambda: _network("asia", 20_000),
    "survey": lambda: _network("survey", 20_000),
    "wine": _wine,
}


def _variation(one: np.ndarray, other: np.ndarray, keys: list[tuple[int, ...]], sizes: list[int]) -> float:
    found = []
    for key in keys:
        shape = [sizes[at] for at in key]
        cells = math.prod(shape)
        shares = [
            np.bincount(np.ravel_multi_index([each[:, at] for at in key], shape), minlength=cells) / len(each)
            for each in (one, other)
        ]
        found.append(np.abs(shares[0] - shares[1]).sum() / 2)
    return float(np.mean(found))


def _keys(columns: int) -> tuple[list[tuple[int, ...]], list[tuple[int, ...]]]:
    triples: list[tuple[int, ...]] = list(combinations(range(columns), 3))
    picked = np.random.default_rng(1).choice(len(triples), min(60, len(triples)), replace=False)
    return list(combinations(range(columns), 2)), [triples[at] for at in picked]


# -- the automatic choice ---------------------------------------------------------------------------------------------


def _made(recipe: Any, engine: Any, budget: Budget, rows: int, seed: int, names: list[str]) -> np.ndarray:
    plan = recipe.calibrate(engine.domain, budget, unit=ROW, neighbours=ADD)
    made = plan.run(engine, SeededSource(seed)).sample(rows, np.random.default_rng(seed))
    return np.stack([np.asarray(made.column(name)).astype(int) for name in names], axis=1)


def _automatic(name: str, codes: np.ndarray, sizes: list[int], *, quick: bool) -> list[Row]:
    names = [f"c{at}" for at in range(len(sizes))]
    engine, people = engine_of(codes, sizes, names), len(codes)
    pairs, triples = _keys(len(sizes))
    again = codes[np.random.default_rng(0).integers(0, people, people)]
    floors = [_variation(codes, again, keys, sizes) for keys in (pairs, triples)]
    rows = []
    for delta in (0.0, DELTA):
        for epsilon in (0.1, 1.0) if quick else EPSILONS:
            budget = Budget.approx(epsilon, delta) if delta else Budget.pure(epsilon)
            error: dict[str, tuple[float, float]] = {}
            for method in ("automatic", *OWN):
                recipe = Synthesize(people=people) if method == "automatic" else OWN[method]()
                drawn = [
                    _made(recipe, engine, budget, people, seed, names)
                    for seed in range(100, 101 if quick else 100 + SEEDS)
                ]
                error[method] = (
                    float(np.mean([_variation(codes, each, pairs, sizes) for each in drawn])),
                    float(np.mean([_variation(codes, each, triples, sizes) for each in drawn])),
                )
            best = min(OWN, key=lambda method: error[method][0])
            setting = f"{name}, epsilon {epsilon:g}, {'delta 1e-9' if delta else 'pure'}"
            others = ", ".join(f"{method} {error[method][0]:.4f}/{error[method][1]:.4f}" for method in OWN)
            rows.append(
                Row(
                    bar=f"{setting}: pairs",
                    ours=error["automatic"][0],
                    peer=error[best][0],
                    peer_name=best,
                    unit="variation",
                    goal="<= 1.05",
                    note=f"floor {floors[0]:.4f}; pairs/triples of {others}",
                )
            )
            rows.append(
                Row(
                    bar=f"{setting}: triples",
                    ours=error["automatic"][1],
                    peer=floors[1],
                    peer_name="rows drawn again",
                    unit="variation",
                    goal="<= 1.875" if (epsilon, bool(delta), name) == (1.0, True, "adult") else "shown",
                )
            )
            if name == "alarm" and epsilon == 0.1 and delta:
                rows += _downstream(setting, codes, engine, budget, sizes, names, seeds=1 if quick else SEEDS)
    return rows


def _downstream(
    setting: str, codes: np.ndarray, engine: Any, budget: Budget, sizes: list[int], names: list[str], seeds: int
) -> list[Row]:
    """Mean over six targets with several common levels."""
    from sklearn.ensemble import RandomForestClassifier

    fresh, _ = _network("alarm", 40_000)
    fresh = fresh[20_000:]
    spread = [np.sort(np.bincount(codes[:, at]))[-2] / len(codes) for at in range(len(sizes))]
    targets = np.argsort(spread)[-6:]

    def wrong(train: np.ndarray, target: int) -> float:
        rest = [at for at in range(len(sizes)) if at != target]
        forest = RandomForestClassifier(100, min_samples_leaf=5, random_state=0, n_jobs=1)
        forest.fit(train[:, rest], train[:, target])
        return float((forest.predict(fresh[:, rest]) != fresh[:, target]).mean())

    rows, real = [], {int(at): wrong(codes, at) for at in targets}
    for what in ("any use", "each target"):
        excess = []
        for seed in range(100, 100 + seeds):
            given = dict.fromkeys(real) if what == "any use" else {at: names[at] for at in real}
            made: dict[str | None, np.ndarray] = {
                name: _made(Synthesize(people=len(codes), target=name), engine, budget, len(codes), seed, names)
                for name in set(given.values())
            }
            excess += [wrong(made[name], at) - real[at] for at, name in given.items()]
        rows.append(
            Row(
                bar=f"{setting}: error of predictions over that from real rows, rows for {what}",
                ours=float(np.mean(excess)),
                unit="share",
                goal="<= 0.04",
                note=f"{len(targets)} targets, {seeds} seeds; most {max(excess):.3f}",
            )
        )
    return rows


# -- wide tables ------------------------------------------------------------------------------------------------------


_WIDE = """
import json, resource, sys, time
import numpy as np
from bench.frontier import ADD, DELTA, ROW, Budget, SeededSource, Synthesize, engine_of, chain_of, _variation
columns, rows = int(sys.argv[1]), int(sys.argv[2])
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
codes, names = chain_of(rows, columns), [f"c{at}" for at in range(columns)]
engine = engine_of(codes, [4] * columns, names)
before, start = peak(), time.process_time()
plan = Synthesize(people=rows).calibrate(engine.domain, Budget.approx(1.0, DELTA), unit=ROW, neighbours=ADD)
made = plan.run(engine, SeededSource(0)).sample(rows, np.random.default_rng(0))
seconds, after = time.process_time() - start, peak()
drawn = np.stack([np.asarray(made.column(name)).astype(int) for name in names], axis=1)
near = [(at, at + 1) for at in range(columns - 1)]
again = codes[np.random.default_rng(4).integers(0, rows, rows)]
errors = [_variation(codes, each, near, [4] * columns) for each in (drawn, again)]
print(json.dumps([seconds, before, after, *errors]))
"""


def chain_of(rows: int, columns: int) -> np.ndarray:
    """Columns of four levels, each of which repeats the one before with a probability of 0.7."""
    rng = np.random.default_rng(3)
    codes = np.empty((rows, columns), int)
    codes[:, 0] = rng.integers(0, 4, rows)
    for at in range(1, columns):
        codes[:, at] = np.where(rng.random(rows) < 0.7, codes[:, at - 1], rng.integers(0, 4, rows))
    return codes


def _wide(quick: bool) -> list[Row]:
    """Each in a process of its own, whose peak memory is read."""
    rows = []
    for columns, most, memory in ((100, "<= 20", "<= 1000"), (300, "<= 60", "shown")):
        command = [sys.executable, "-c", _WIDE, str(columns), "20000" if quick else "100000"]
        done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=1800)
        seconds, before, peak, error, floor = json.loads(done.stdout.splitlines()[-1])
        at, note = f"{columns} columns", f"{columns} columns: {before:.0f} MB of the peak before, libraries and rows"
        rows += [
            Row(bar=f"{at}: automatic", ours=seconds, unit="CPU s", goal=most),
            Row(bar=f"{at}: peak memory", ours=peak, unit="MB", goal=memory, note=note),
            Row(bar=f"{at}: neighbouring pairs", ours=error, unit="variation", note=f"{at}: floor {floor:.4f}"),
        ]
    return rows
