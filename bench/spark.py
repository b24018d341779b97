"""A Spark cluster of two cores on this machine: all 105 tables of pairs of 15 columns in one pass, and whole methods.

Rows are made with dependences and written as Parquet in parts of 2.5 million rows, a byte a value. The cluster is a
master and two workers with one core each, started by the script of the tests. CPU seconds are those of the whole tree
of processes (this one, Spark's driver, executors with their Python workers, master and workers), by the system's
tables; Java and Python apart. Memory is the sum of proportional sizes (PSS), sampled while work runs, since forked
workers share pages. The start of Java, and the first job of each executor (imports, compiled kernels from the cache),
are measured on 1,000 rows and stated apart. TACITA_BENCH_SPARK_ROWS sets another number of rows.
"""

from __future__ import annotations

import itertools
import os
import shutil
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from tests.support.spark import SparkCluster

from bench.rows import Row
from tacita.anonymize import Anonymize, Conditions, Mondrian, Ola
from tacita.domain import Categorical, Domain, Identifier, Numeric
from tacita.engines.connect import connect
from tacita.engines.local import LocalEngine
from tacita.engines.spark import SparkEngine
from tacita.engines.spark.session import session_of
from tacita.learn import Regression
from tacita.noise import SeededSource
from tacita.privacy.budget import Budget
from tacita.privacy.unit import Neighbours, Unit
from tacita.query import Aggregate, Aggregates
from tacita.synthesize import PrivBayes, Synthesize
from tacita.tables.workload import Workload

SIZES = (2, 30, 10, 5, 16, 3, 12, 8, 20, 4, 10, 7, 14, 6, 9)
NAMES = tuple(f"a{at:02}" for at in range(len(SIZES)))
DOMAIN = Domain(
    attributes=[
        Categorical(name=name, levels=[str(n) for n in range(size)]) for name, size in zip(NAMES, SIZES, strict=True)
    ]
)
QUASI = ("a00", "a03", "a05", "a07", "a09")
NUMBERS = Domain(
    attributes=[
        DOMAIN["a00"],
        *(Numeric(name=name, bounds=(0, 19), bins=4, integer=True) for name in ("a08", "a12")),
    ]
)
PERSONS = Domain(person="a15", attributes=[Identifier(name="a15"), *NUMBERS.attributes])
STATISTICS = Aggregates(
    aggregates=[
        *(Aggregate(kind=kind, column=name) for kind in ("mean", "var") for name in ("a08", "a12")),
        *(Aggregate(kind="quantile", column=name, q=0.25) for name in ("a08", "a12")),
    ],
    by=("a00",),
)
PAIRS = Workload(tuple(itertools.combinations(NAMES, 2)))
PART = 2_500_000
FEW = 1_000_000
"""Rows for methods that need rows, and hold them on this machine."""
ROW, ADD = Unit.row(), Neighbours.ADD_REMOVE
SETTINGS = {"spark.executor.memory": "512m", "spark.driver.memory": "1g"}
_TICK = os.sysconf("SC_CLK_TCK")


def run(*, quick: bool) -> list[Row]:
    rows = int(os.environ.get("TACITA_BENCH_SPARK_ROWS") or (5_000_000 if quick else 100_000_000))
    folder = Path(tempfile.mkdtemp(prefix="tacita-bench-spark-"))
    try:
        with SparkCluster(settings=SETTINGS) as cluster:
            session = None
            try:
                with measured() as start:
                    session = session_of(cluster.master)
                    small = _written(folder / "small", 1000)
                    for _ in range(2):
                        connect(f"{cluster.master}{small}", DOMAIN).tables(PAIRS, ROW)
                return [
                    *_start(start),
                    *_counting(cluster, session, folder, rows),
                    *_folding(cluster, folder, rows),
                    *_writing(cluster, folder, rows),
                    *_methods(cluster, folder, rows),
                ]
            finally:
                if session is not None:
                    session.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


# -- counting ----------------------------------------------------------------------------------------------------------


def _start(start: Used) -> list[Row]:
    note = "the session, and two jobs over 1,000 rows on executors that have done nothing yet"
    return [Row(bar="start of a session and of two executors", ours=start.cpu, unit="cpu_s", note=note)]


def _counting(cluster: SparkCluster, session: Any, folder: Path, rows: int) -> list[Row]:
    whole, quarter = _written(folder / "whole", rows), _quarter(folder, rows)
    what = f"all 105 pairs of 15 columns, {rows:,} rows"
    passes = []
    for source in (quarter, quarter, whole, whole):  # the first has numbers of rows that no worker has planned for
        engine = SparkEngine(DOMAIN, source, master=cluster.master, keep=False)
        with measured() as used:
            found = engine.tables(PAIRS, ROW)
        passes.append((used, found))
    small, big = (min((each for each, _ in two), key=lambda used: used.cpu) for two in (passes[:2], passes[2:]))
    with measured() as ours:
        wanted = LocalEngine(DOMAIN, whole, cache_bytes=0).tables(PAIRS, ROW)
    same = sum(found[key] == wanted[key] for _, found in passes[2:] for key in PAIRS.keys)
    per = 1e7 / rows
    note = f"{big.java * per:.2f} of it Java, {big.python * per:.2f} Python; {big.wall:.0f} s of wall time in all"
    yet = f"local engine, two threads, same files; {ours.wall:.0f} s of wall time in all"
    found_rows = [
        Row(bar=f"{what}, for 10 million", ours=big.cpu * per, unit="cpu_s", goal="<= 1.5", note=note),
        Row(bar=f"{what}, for 10 million, no Spark", ours=ours.cpu * per, unit="cpu_s", note=yet),
        Row(bar=f"{what}: tables equal to the local engine's", ours=same / 210, unit="share", goal="= 1"),
        Row(
            bar=f"CPU of {rows:,} rows over that of a quarter",
            ours=big.cpu / small.cpu,
            unit="ratio",
            goal="<= 4.6",
            note=f"a quarter took {small.cpu:.2f} CPU s, the first time {passes[0][0].cpu:.2f}",
        ),
        Row(bar=f"{what}: memory of all processes", ours=big.peak, unit="GiB", goal="<= 5"),
    ]
    return [*found_rows, *_kept(cluster, whole, rows, wanted), *_killed(cluster, session, whole, rows, wanted, big)]


def _kept(cluster: SparkCluster, whole: Path, rows: int, wanted: Any) -> list[Row]:
    """A workload that is asked again: the second keeps the codes, the third has them."""
    engine, used = SparkEngine(DOMAIN, whole, master=cluster.master), []
    for _ in range(3):
        with measured() as each:
            found = engine.tables(PAIRS, ROW)
        used.append(each)
    engine._state.drop()
    note = "from the first to the third time: " + ", ".join(f"{each.cpu * 1e7 / rows:.2f}" for each in used)
    right = all(found[key] == wanted[key] for key in PAIRS.keys)
    bar = "the same from codes that executors keep, for 10 million"
    return [Row(bar=bar, ours=used[-1].cpu * 1e7 / rows if right else float("inf"), unit="cpu_s", note=note)]


def _killed(cluster: SparkCluster, session: Any, whole: Path, rows: int, wanted: Any, undisturbed: Used) -> list[Row]:
    """Kill a worker and its executor with -9 when a third of the tasks is done."""
    engine, found = SparkEngine(DOMAIN, whole, master=cluster.master, keep=False), []
    counting = threading.Thread(target=lambda: found.append(engine.tables(PAIRS, ROW)))
    tracker, at = session.sparkContext.statusTracker(), 0.0
    with measured() as used:
        counting.start()
        while counting.is_alive():
            stages = filter(None, map(tracker.getStageInfo, tracker.getActiveStageIds()))
            shares = [stage.numCompletedTasks / stage.numTasks for stage in stages]
            if shares and max(shares) > 0:
                at = max(shares)
                cluster.kill_worker(next(iter(cluster.workers)))
                break
            time.sleep(0.01)
        counting.join()
    cluster.start_worker()
    same = sum(found[0][key] == wanted[key] for key in PAIRS.keys) / 105
    note = f"killed when {at:.0%} of tasks were done; {used.wall:.1f} s of wall time, without it {undisturbed.wall:.1f}"
    return [
        Row(
            bar=f"{rows:,} rows, a worker killed: tables that are equal", ours=same, unit="share", goal="= 1", note=note
        )
    ]


# -- raw rows, where they are -----------------------------------------------------------------------------------------


def _folding(cluster: SparkCluster, folder: Path, rows: int) -> list[Row]:
    """Moments, a quantile and distinct persons by group, from raw values; with persons, over a quarter of the rows."""
    whole, quarter, found = folder / "whole", folder / "quarter", []
    cases = (
        ("moments and quartiles of two columns by group", NUMBERS, ROW, whole, rows, "<= 8"),
        ("the same of 2 rows a person", PERSONS, Unit.of_person("a15", max_rows=2), quarter, rows // 4, "<= 45"),
    )
    for what, domain, unit, source, size, goal in cases:
        plan = STATISTICS.calibrate(domain, Budget.pure(1.0), unit=unit, neighbours=ADD)
        with measured() as used:
            mine = plan.exact(SparkEngine(domain, source, master=cluster.master))
        bar = f"{what}, {size:,} rows"
        per = 1e7 / size
        note = f"{used.wall:.0f} s of wall time; {used.driver:.2f} GiB on the driver, {used.peak:.2f} in all processes"
        found.append(Row(bar=f"{bar}, for 10 million", ours=used.cpu * per, unit="cpu_s", goal=goal, note=note))
        small = source if unit == ROW else _few_parts(folder, source)
        if small != source:
            mine = plan.exact(SparkEngine(domain, small, master=cluster.master))
        wanted = plan.exact(LocalEngine(domain, small))
        same = [bool((one == other).all()) for one, other in zip(mine, wanted, strict=True)]
        found.append(Row(bar=f"{bar}: sums equal to streaming", ours=sum(same) / len(same), unit="share", goal="= 1"))
    return found


def _few_parts(folder: Path, source: Path) -> Path:
    """Return the first part alone: bounding persons without Spark holds all rows."""
    (made := folder / "first").mkdir()
    (made / "000.parquet").symlink_to(sorted(source.iterdir())[0].resolve())
    return made


def _writing(cluster: SparkCluster, folder: Path, rows: int) -> list[Row]:
    """k-anonymous and synthetic rows, written by executors."""
    recipe = Anonymize(conditions=Conditions(k=20), quasi=QUASI, keep=("a01",), suppress=0.05, method=Mondrian())
    peaks, found = [], []
    for name, size in (("quarter", rows // 4), ("whole", rows)):
        engine = SparkEngine(DOMAIN, folder / name, master=cluster.master)
        with measured() as used:
            made = recipe.prepare(DOMAIN).write(engine, str(folder / f"anonymous-{name}"))
        kept = sum(pq.read_metadata(file).num_rows for file in (folder / f"anonymous-{name}").glob("*.parquet"))
        assert made.achieved.k >= 20
        assert kept == made.size == size - made.loss.suppressed
        peaks.append(used.driver)
        bar = f"k-anonymous rows, k = 20, Mondrian, written by executors, {size:,} rows, for 10 million"
        note = f"{used.wall:.0f} s of wall time; {used.driver:.2f} GiB on the driver, {used.peak:.2f} in all processes"
        goal = "<= 25" if name == "whole" else "shown"
        found.append(Row(bar=bar, ours=used.cpu * 1e7 / size, unit="cpu_s", goal=goal, note=note))
        shutil.rmtree(folder / f"anonymous-{name}")
    found.append(
        Row(
            bar=f"the same: memory of the driver's Python for {rows:,} rows over that for a quarter",
            ours=peaks[1] / peaks[0],
            unit="ratio",
            goal="<= 1.3",
            note=f"{peaks[0]:.2f} GiB, then {peaks[1]:.2f}",
        )
    )
    plan = Synthesize().calibrate(DOMAIN, Budget.approx(1.0, 1e-9), unit=ROW, neighbours=ADD)
    result = plan.run(SparkEngine(DOMAIN, folder / "quarter", master=cluster.master), SeededSource(0))
    with measured() as used:
        result.write(f"spark:{folder / 'synthetic'}", rows // 4, np.random.default_rng(0))
    drawn = LocalEngine(DOMAIN, folder / "synthetic")
    gap = max(
        float(np.abs(drawn.project(pair).values * 4 / rows - np.asarray(result.project(pair).values)).sum() / 2)
        for pair in itertools.islice(itertools.combinations(NAMES, 2), 10)
    )
    bar = f"synthetic rows, drawn and written by executors, {rows // 4:,} rows"
    note = f"{used.wall:.0f} s of wall time; {used.driver:.2f} GiB on the driver, {used.peak:.2f} in all processes"
    found.append(Row(bar=f"{bar}, for 10 million", ours=used.cpu * 4e7 / rows, unit="cpu_s", note=note))
    # half of the sum over cells of a standard error of a share, doubled
    chance = max(a * b for a, b in itertools.combinations(SIZES, 2)) ** 0.5 / (rows / 4) ** 0.5
    found.append(Row(bar=f"{bar}: furthest of 10 pairs from the model", ours=gap, unit="tv", goal=f"<= {chance:.4f}"))
    shutil.rmtree(folder / "synthetic")
    return found


# -- methods from end to end ------------------------------------------------------------------------------------------


def _methods(cluster: SparkCluster, folder: Path, rows: int) -> list[Row]:
    """Fit or release over Spark: by tables alone on a quarter of the rows, by rows on as many as this machine holds."""
    quarter, n = folder / "quarter", rows // 4
    few = min(rows, FEW)
    part = _written(folder / "few", few)
    budget = Budget.approx(1.0, 1e-9)
    quasi = QUASI
    paid: list[tuple[str, Path, int, Any]] = [
        ("quality", quarter, n, Synthesize()),
        ("PrivBayes", quarter, n, PrivBayes()),
        ("logistic regression", part, few, Regression(target="a00", features=quasi[1:], task="logistic", people=few)),
    ]
    found = []
    for name, source, size, recipe in paid:
        engine = SparkEngine(DOMAIN, source, master=cluster.master)
        with measured() as used:
            plan = recipe.calibrate(DOMAIN, budget, unit=ROW, neighbours=ADD)
            result = plan.run(engine, SeededSource(0))
            if name != "logistic regression":
                result.model.sample(100_000, np.random.default_rng(0))
        engine._state.drop()
        found.append(_method(f"{name}, epsilon 1, {size:,} rows, end to end", used))
    for name, method in (("Mondrian", Mondrian()), ("OLA", Ola())):
        recipe = Anonymize(conditions=Conditions(k=20), quasi=quasi, keep=("a01",), suppress=0.05, method=method)
        with measured() as used:
            made = recipe.prepare(DOMAIN).run(SparkEngine(DOMAIN, part, master=cluster.master))
        assert made.achieved.k >= 20
        found.append(_method(f"k-anonymous rows, k = 20, {name}, {few:,} rows, end to end", used))
    return found


def _method(bar: str, used: Used) -> Row:
    note = f"{bar}: {used.wall:.0f} s of wall time, {used.peak:.2f} GiB in all processes"
    return Row(bar=bar, ours=used.cpu, unit="cpu_s", note=note)


# -- rows --------------------------------------------------------------------------------------------------------------


def _written(folder: Path, rows: int) -> Path:
    """Write rows in parts; a column depends on the one before in a third of the rows."""
    folder.mkdir()
    for part, start in enumerate(range(0, rows, PART)):
        rng = np.random.default_rng(part)
        size = min(PART, rows - start)
        columns: dict[str, pa.Array] = {}
        before = rng.integers(0, SIZES[0], size, np.uint8)
        for name, levels in zip(NAMES, SIZES, strict=True):
            own = rng.integers(0, levels, size, np.uint8)
            before = np.where(rng.integers(0, 3, size, np.uint8) == 0, before % levels, own).astype(np.uint8)
            columns[name] = pa.array(before.view(np.int8))
        columns["a15"] = pa.array(rng.integers(0, max(rows // 3, 1), size, np.int32))
        pq.write_table(pa.table(columns), folder / f"{part:03}.parquet", row_group_size=PART // 2)
    return folder


def _quarter(folder: Path, rows: int) -> Path:
    """Return a quarter of the rows: links to parts, or parts of their own when there are too few."""
    parts = sorted((folder / "whole").iterdir())
    if len(parts) < 8:
        return _written(folder / "quarter", rows // 4)
    (folder / "quarter").mkdir()
    for part in parts[: len(parts) // 4]:
        (folder / "quarter" / part.name).symlink_to(part)
    return folder / "quarter"


# -- what processes use ------------------------------------------------------------------------------------------------


@dataclass
class Used:
    """What a tree of processes has used."""

    java: float = 0.0
    python: float = 0.0
    wall: float = 0.0
    peak: float = 0.0
    driver: float = 0.0
    samples: list[float] = field(default_factory=list, repr=False)

    @property
    def cpu(self) -> float:
        """CPU seconds of all processes."""
        return self.java + self.python


@contextmanager
def measured() -> Iterator[Used]:
    """Measure this process and all below it while the block runs; memory twice a second."""
    used, done = Used(), threading.Event()

    def sample() -> None:
        while not done.wait(0.5):
            used.samples.append(_memory())
            used.driver = max(used.driver, _own_memory())

    sampler = threading.Thread(target=sample, daemon=True)
    before, start = _times(), time.perf_counter()
    sampler.start()
    try:
        yield used
    finally:
        after = _times()
        used.wall = time.perf_counter() - start
        done.set()
        sampler.join()
        used.peak = max([*used.samples, _memory()])
        for pid, (name, ticks) in after.items():
            seconds = (ticks - before.get(pid, (name, 0))[1]) / _TICK
            if name == "java":
                used.java += seconds
            else:
                used.python += seconds


def _tree() -> Iterator[tuple[int, str, list[str]]]:
    """Yield this process and all below it: id, name, and the fields of its line in the system's table."""
    lines: dict[int, tuple[str, list[str]]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                head, _, rest = (entry / "stat").read_text().rpartition(")")
            except OSError:
                continue
            lines[int(entry.name)] = (head.partition("(")[2], rest.split())
    left, seen = [os.getpid()], set[int]()
    while left:
        pid = left.pop()
        if pid in lines and pid not in seen:
            seen.add(pid)
            yield pid, *lines[pid]
            left += [child for child, (_, fields) in lines.items() if int(fields[1]) == pid]


def _times() -> dict[int, tuple[str, int]]:
    """Ticks of each process, with those of its children that have ended."""
    return {pid: (name, sum(map(int, fields[11:15]))) for pid, name, fields in _tree()}


def _own_memory() -> float:
    text = Path("/proc/self/smaps_rollup").read_text()
    return next((int(line.split()[1]) for line in text.splitlines() if line.startswith("Pss:")), 0) / (1 << 20)


def _memory() -> float:
    total = 0
    for pid, _, _ in _tree():
        try:
            text = Path(f"/proc/{pid}/smaps_rollup").read_text()
        except OSError:
            continue
        total += next((int(line.split()[1]) for line in text.splitlines() if line.startswith("Pss:")), 0)
    return total / (1 << 20)
