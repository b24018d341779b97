"""A quick look at speed and accuracy beside the figures of the last release: `make bench-smoke`, part of `make test`.

Speed is the CPU time of a piece of work over that of a yardstick, a fixed piece of work of numpy, timed in turns with
it, so that figures of different machines can be compared. Accuracy is an error with fixed
seeds. Smaller is better for all. A figure may be at most 1.25 times that of the last release, which lies in
`smoke.json`; speed is measured again, up to twice, before it counts as lost. `python -m bench.smoke --update` writes
the file anew: only where a loss is meant.
"""

from __future__ import annotations

import itertools
import json
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv

from bench.generated import generated
from bench.ldp_pairs import columns, domain_of, error, exact
from bench.quantiles import DOMAIN, quantile, values_of
from bench.rows import OUT, Row
from bench.synthesize import ADD, DELTA, ROW, engine_of, mean_variation
from bench.verbs import SCHEMA, table_of
from tacita.anonymize import Anonymize, Conditions
from tacita.collect.estimating.tally import respond
from tacita.collect.planning.plan import plan_collection
from tacita.domain import Domain
from tacita.engines.local import LocalEngine
from tacita.learn import Regression
from tacita.models.measurement import Measurement
from tacita.models.mixture_fit import fit_mixture
from tacita.noise import DiscreteGaussian, SecureSource, SeededSource
from tacita.privacy.budget import Budget
from tacita.query import Aggregate, Aggregates
from tacita.synthesize import PrivBayes, Synthesize
from tacita.tables.workload import Workload

BEFORE = Path(__file__).with_name("smoke.json")
WORSE = 1.25
_TURNS, _AGAIN = 5, 2
_LEVELS = 6


@dataclass(frozen=True)
class Pace:
    """A piece of work."""

    name: str
    work: Callable[[], Any]

    def figure(self, best: tuple[float, float] = (float("inf"), float("inf"))) -> tuple[float, float]:
        """Least CPU seconds of the work and of the yardstick, of some turns and of those before."""
        for _ in range(_TURNS):
            best = min(best[0], _seconds(self.work)), min(best[1], _seconds(_yardstick))
        return best


def _seconds(work: Callable[[], Any]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def _yardstick() -> None:
    """Work that no processor has special instructions for, as it would have for a plain sort."""
    values = np.random.default_rng(0).random(300_000)
    order = np.argsort(values, kind="stable")
    for _ in range(4):
        np.bincount(order % 1000)
        np.cumsum(values[order])


def run(*, quick: bool) -> list[Row]:
    """Rows beside those of the last release; the same with `quick`."""
    before = json.loads(BEFORE.read_text(encoding="utf-8"))
    return [_paced(pace, before[pace.name]) for pace in paces()] + [
        _row(name, figure(), before[name], "error, fixed seeds") for name, figure in ERRORS.items()
    ]


def _paced(pace: Pace, before: float) -> Row:
    pace.work()  # compiles, fills caches
    best = pace.figure()
    for _ in range(_AGAIN):
        if best[0] / best[1] > WORSE * before:
            best = pace.figure(best)
    return _row(pace.name, best[0] / best[1], before, "yardsticks")


def _row(name: str, figure: float, before: float, unit: str) -> Row:
    return Row(bar=name, ours=figure, peer=before, peer_name="last release", unit=unit, goal=f"<= {WORSE}")


# -- speed ------------------------------------------------------------------------------------------------------------


def paces() -> list[Pace]:
    """All pieces of work, in memory but for the text file."""
    return [_counting(), _classes(), _noise(), _reports(), _fit(), _text(), _line()]


def _coded(rows: int, columns: int) -> tuple[np.ndarray, LocalEngine]:
    codes = np.random.default_rng(1).integers(0, _LEVELS, (rows, columns))
    return codes, engine_of(codes, [_LEVELS] * columns, [f"c{at}" for at in range(columns)])


def _counting() -> Pace:
    _, engine = _coded(500_000, 15)
    engine.check()
    pairs = Workload.all(engine.domain, 2)
    return Pace("105 tables of pairs counted", lambda: [engine.tables(pairs, ROW) for _ in range(8)])


def _people(rows: int) -> tuple[pa.Table, Domain]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "people.yaml"
        path.write_text(SCHEMA, encoding="utf-8")
        return table_of(rows), Domain.read(path)


def _classes() -> Pace:
    table, domain = _people(30_000)
    plan = Anonymize(conditions=Conditions(k=10)).prepare(domain)
    return Pace("k-anonymous rows", lambda: plan.run_on(table))


def _noise() -> Pace:
    law, source = DiscreteGaussian.at_least(400), SecureSource()
    return Pace("exact Gaussian noise", lambda: law.draw(1_000_000, source))


def _reports() -> Pace:
    codes, domain = columns("one trait", 8, 3), domain_of(8)
    design = plan_collection(domain, Workload.all(domain, 2), respondents=21_574, epsilon=2, mode="tables")
    return Pace(
        "local reports drawn and counted",
        lambda: [respond(design, codes, SeededSource(5), seed=seed) for seed in range(40)],
    )


def _fit() -> Pace:
    codes, engine = _coded(20_000, 8)
    rng, found = np.random.default_rng(7), []
    for one, other in itertools.combinations(range(8), 2):
        table = np.bincount(codes[:, one] * _LEVELS + codes[:, other], minlength=_LEVELS**2) / len(codes)
        noisy = table.reshape(_LEVELS, _LEVELS) + rng.normal(0, 1e-3, (_LEVELS, _LEVELS))
        found.append(Measurement(attributes=(f"c{one}", f"c{other}"), values=noisy, variance=1e-8))

    def fit() -> None:
        fit_mixture(engine.domain, found, np.random.default_rng(8), components=100, fits=1, steps=200)

    return Pace("mixture of 100 products fitted", fit)


def _text() -> Pace:
    table, domain = _people(60_000)
    OUT.mkdir(exist_ok=True)
    path = OUT / "people.csv"
    pa_csv.write_csv(table, path)

    def count() -> None:
        for _ in range(5):
            LocalEngine(domain, path).tables(Workload.of(("age", "job")), ROW)

    return Pace("text file read and counted", count)


def _line() -> Pace:
    table, domain = _people(60_000)
    names = ("age", "hours", "school", "sex")
    plan = Regression(target="income", features=names).calibrate(domain, Budget.pure(1.0), unit=ROW, neighbours=ADD)
    engine = LocalEngine(domain, table)
    return Pace("linear model fitted", lambda: [plan.run(engine, SeededSource(seed)) for seed in range(5)])


# -- accuracy ---------------------------------------------------------------------------------------------------------


def _synthetic(recipe: Callable[[int], Any], epsilon: float) -> float:
    found = []
    for seed in (16, 19, 21, 22):  # six to sixteen columns of four kinds
        _, codes, sizes = generated(seed)
        codes, sizes = codes[:12_000, :10], sizes[:10]
        engine = engine_of(codes, sizes, [f"c{at}" for at in range(len(sizes))])
        plan = recipe(len(codes)).calibrate(engine.domain, Budget.approx(epsilon, DELTA), unit=ROW, neighbours=ADD)
        made = plan.run(engine, SeededSource(seed)).sample(len(codes), np.random.default_rng(seed))
        drawn = np.stack([np.asarray(made.column(f"c{at}")).astype(int) for at in range(len(sizes))], axis=1)
        found.append(mean_variation(codes, drawn, sizes))
    return float(np.mean(found))


def _local() -> float:
    codes, domain = columns("one trait", 8, 11), domain_of(8)
    design = plan_collection(domain, Workload.all(domain, 2), respondents=21_574, epsilon=1)
    return float(np.mean([error(design, codes, seed, exact(domain, codes)) for seed in range(3)]))


def _loss() -> float:
    table, domain = _people(20_000)
    plan = Anonymize(conditions=Conditions(k=10)).prepare(domain)
    return float(plan.run_on(table).loss.gcp)


def _quantiles() -> float:
    asked = Aggregates(aggregates=[Aggregate(kind="quantile", column="x", q=0.9)])
    plan, off = asked.calibrate(DOMAIN, Budget.pure(0.5), unit=ROW, neighbours=ADD), []
    for name in ("normal", "skewed", "two peaks"):
        values = values_of(name, 3_000)
        engine = LocalEngine(DOMAIN, pa.table({"x": values}))
        for seed in range(8):
            (column,) = plan.run(engine, SeededSource(seed)).columns.values()
            off.append(abs(float(column.value[0]) - quantile(values, 0.9)))
    return float(np.mean(off))


ERRORS: dict[str, Callable[[], float]] = {
    "quality, pairs at epsilon 1": lambda: _synthetic(lambda rows: Synthesize(people=rows), 1.0),
    "quality, pairs at epsilon 0.1": lambda: _synthetic(lambda rows: Synthesize(people=rows), 0.1),
    "privbayes, pairs at epsilon 1": lambda: _synthetic(lambda rows: PrivBayes(), 1.0),
    "local reports, pairs at epsilon 1": _local,
    "k-anonymous rows, loss at k 10": _loss,
    "quantile of 3,000 rows at epsilon 0.5": _quantiles,
}


def update() -> None:
    """Write the figures of now as those of the last release."""
    found: dict[str, float] = {}
    for pace in paces():
        pace.work()
        work, yardstick = pace.figure(pace.figure())
        found[pace.name] = float(f"{work / yardstick:.3g}")
    found |= {name: float(f"{figure():.3g}") for name, figure in ERRORS.items()}
    BEFORE.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__" and "--update" in sys.argv:
    update()
