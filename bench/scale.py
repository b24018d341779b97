"""Past one machine, by simulation: a campaign of 10^9 respondents, and tables of 10^10 rows.

What one core does is measured here and now: reports posted and counted, by the server and by its PostgreSQL, rows of
Parquet and of text counted into 105 tables of pairs, and the bytes that a report and a row take. The rest is a
simulation with these rates, not a measurement; docs/design/scale.md states what it leaves out.

    collection   30 days; respondents come by day and night, and a fifth on the first day. Server processes of one core
                 die and restart; clients try again, so nothing is lost and only the wait grows. Second by second.
    counting     parts of 2.5 million rows; a worker takes the next one. Times of parts are lognormal, workers die, and
                 their part is counted again by another. Tables are summed by a tree. Event by event.
"""

from __future__ import annotations

import heapq
import itertools
import math
import signal
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
from tests.support.postgres import PostgresServer

from bench import ingest
from bench.rows import Row
from bench.synthesize import ROW
from tacita.domain import Domain, Numeric
from tacita.engines.local import LocalEngine
from tacita.tables.workload import Workload

COLUMNS, LEVELS = 15, 10
PART = 2_500_000  # rows of a part
DAYS, PEAK, FIRST_DAY = 30, 2.5, 0.2
DEATHS = 1 / 200  # of a process or worker, an hour
RESTART = 30.0  # seconds
BUSY = 0.6  # of a core, that a server process may be
START = 15.0  # seconds of a worker before its first part: Java, Python, compiled kernels (bench/spark.py)
SPREAD = 0.35  # of the logarithm of the time of a part
HOUR, DAY = 3600, 86_400


@dataclass(frozen=True)
class Rates:
    """What one core of this machine does.

    Attributes:
        posts, packed: Reports in a CPU second of a server, one in each request or 10,000.
        stored: Single posts in a CPU second of the database.
        parquet, text: Rows in a CPU second, counted into all pairs of 15 columns.
        report, row: Bytes of a report in the state, and of a row in Parquet.
        merge: Seconds to add the tables of two parts.
    """

    posts: float
    packed: float
    stored: float
    parquet: float
    text: float
    report: float
    row: float
    merge: float


def run(*, quick: bool) -> list[Row]:
    rates = measured(quick)
    rows = [
        Row(bar="reports posted one by one", ours=rates.posts, unit="a CPU s of the server"),
        Row(bar="the same", ours=rates.stored, unit="a CPU s of PostgreSQL"),
        Row(bar="reports in packed batches", ours=rates.packed, unit="a CPU s of both"),
        Row(bar="a report in the state", ours=rates.report, unit="bytes"),
        Row(bar="rows of Parquet in 105 tables", ours=rates.parquet, unit="a CPU s"),
        Row(bar="rows of text in 105 tables", ours=rates.text, unit="a CPU s"),
        Row(bar="a row of Parquet", ours=rates.row, unit="bytes"),
        Row(bar="tables of two parts added", ours=rates.merge, unit="s"),
    ]
    for people in (10**7, 10**9):
        rows += _collection(people, rates)
    for count in (10**8, 10**10):
        for workers in (4, 16, 64, 256):
            rows += _counting(count, workers, rates)
    return rows


# -- rates ------------------------------------------------------------------------------------------------------------


def measured(quick: bool) -> Rates:
    """All rates, by CPU time."""
    with tempfile.TemporaryDirectory() as folder:
        return Rates(
            *_posted(Path(folder), 2000 if quick else 20_000),
            *_counted(Path(folder), 1_000_000 if quick else 5_000_000),
        )


def _posted(folder: Path, posts: int) -> tuple[float, float, float]:
    with PostgresServer(fsync=True) as postgres:
        server = ingest.Server(postgres.create_database(), folder, postmaster=postgres.pid)
        server.start()
        try:
            single = _sent(server, ingest.SINGLE_SENDERS, [ingest.json_request, posts, 1])
            packed = _sent(server, ingest.BATCH_SENDERS, [ingest.packed_request, 40, 10_000])
        finally:
            server.kill(signal.SIGTERM)
    return posts / single[0], 400_000 / sum(packed), posts / single[1]


def _sent(server: ingest.Server, senders: int, what: list[Any]) -> tuple[float, float]:
    """CPU seconds of the server and of its database, for so many requests of so many reports: the best of three."""
    make, count, size = what
    best = (math.inf, math.inf)
    for _ in range(3):
        id = ingest.open_campaign(server)
        requests = [make(id, size) for _ in range(count)]
        both, alone = server.cpu_with_database(), server.cpu()
        ingest.Sending([server.port], iter(enumerate(requests))).run(senders)
        both, alone = server.cpu_with_database() - both, server.cpu() - alone
        best = min(best, (alone, both - alone), key=sum)
    return best


def _counted(folder: Path, rows: int) -> tuple[float, float, float, float, float]:
    rng, names = np.random.default_rng(1), [f"c{at}" for at in range(COLUMNS)]
    table = pa.table({name: rng.integers(0, LEVELS, rows).astype(np.uint8) for name in names})
    attributes = [Numeric(name=name, bounds=(0, LEVELS - 1), integer=True) for name in names]
    domain, pairs = Domain(attributes=attributes), Workload(tuple(itertools.combinations(names, 2)))
    pq.write_table(table, folder / "rows.parquet", compression="lz4")
    pa_csv.write_csv(table, folder / "rows.csv")
    seconds = []
    for file in ("rows.parquet", "rows.csv"):
        best = math.inf
        for _ in range(3):
            start = time.process_time()
            LocalEngine(domain, folder / file).tables(pairs, ROW)
            best = min(best, time.process_time() - start)
        seconds.append(best)
    report = _report_bytes(folder)
    tables = [np.zeros((len(pairs), LEVELS * LEVELS), np.int64) for _ in range(2)]
    start = time.process_time()
    for _ in range(100):
        tables[0] += tables[1]
    merge = (time.process_time() - start) / 100
    size = (folder / "rows.parquet").stat().st_size / rows
    return rows / seconds[0], rows / seconds[1], report, size, merge


def _report_bytes(folder: Path) -> float:
    """Growth of the state by half a million reports; SQLite, whose files can be measured."""
    state = folder / "state.db"
    server = ingest.Server(f"sqlite:///{state}", folder)
    server.start()
    try:
        id = ingest.open_campaign(server)
        before = sum(file.stat().st_size for file in folder.glob("state.db*"))
        ingest.fill(server, id, 500_000)
        return (sum(file.stat().st_size for file in folder.glob("state.db*")) - before) / 500_000
    finally:
        server.kill(signal.SIGTERM)


# -- collection -------------------------------------------------------------------------------------------------------


def arrivals(people: int, rng: np.random.Generator) -> np.ndarray:
    """Reports of each second: by day more than by night, a share on the first day."""
    second = np.arange(DAYS * DAY)
    daily = 1 + (PEAK - 1) * np.clip(np.sin(2 * np.pi * (second / DAY - 0.25)), 0, None) ** 2
    first = second < DAY
    weight = daily * np.where(first, FIRST_DAY / daily[first].sum(), (1 - FIRST_DAY) / daily[~first].sum())
    return rng.poisson(people * weight)


def waits(coming: np.ndarray, processes: int, rate: float, rng: np.random.Generator) -> np.ndarray:
    """Seconds that a report of each second waits: a queue in front of processes, some of which are restarting."""
    down = np.zeros(len(coming) + 1)
    deaths = rng.poisson(processes * DEATHS * len(coming) / HOUR)
    for start in rng.integers(0, len(coming), deaths):
        down[start : start + int(RESTART)] += 1
    capacity = np.maximum(processes - down[:-1], 0) * rate
    # the queue is how far the sum of what came over what could be done lies above its least value so far
    walk = np.cumsum(coming - capacity)
    queue = walk - np.minimum(np.minimum.accumulate(walk), 0)
    return np.asarray(queue / (processes * rate))


def processes_for(coming: np.ndarray, rate: float) -> int:
    """The fewest processes with which 99.9 % of the reports wait for a second at most."""

    def served(processes: int) -> float:
        late = waits(coming, processes, rate, np.random.default_rng(5)) > 1
        return 1 - float(coming[late].sum() / coming.sum())

    low, high = 1, max(2, math.ceil(2 * coming.max() / rate))
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if served(middle) >= 0.999 else (middle + 1, high)
    return low


def _collection(people: int, rates: Rates) -> list[Row]:
    coming = arrivals(people, np.random.default_rng(4))
    rate = BUSY * rates.posts
    needed = processes_for(coming, rate)
    longest = float(waits(coming, needed, rate, np.random.default_rng(6)).max())
    bar, work = f"{people:.0e} respondents", people * (1 / rates.posts + 1 / rates.stored) / HOUR
    packed = f"{people / rates.packed / HOUR:.3g} core-hours if a gateway packs them"
    note = f"{bar}: {coming.max():,} reports in the busiest second; {packed}"
    return [
        Row(bar=f"{bar}: work", ours=work, unit="core-hours", note=note),
        Row(bar=f"{bar}: server processes for a wait of 1 s", ours=needed, unit="cores"),
        Row(bar=f"{bar}: PostgreSQL in the busiest second", ours=coming.max() / rates.stored, unit="cores"),
        Row(bar=f"{bar}: server processes held for 30 days", ours=needed * 24 * DAYS, unit="core-hours"),
        Row(bar=f"{bar}: longest wait", ours=longest, unit="s"),
        Row(bar=f"{bar}: state", ours=people * rates.report / 1e9, unit="GB"),
    ]


# -- counting ---------------------------------------------------------------------------------------------------------


def counted_by(parts: int, workers: int, seconds: float, rng: np.random.Generator) -> tuple[float, float]:
    """Wall seconds, and core seconds of all attempts, until all parts were counted once.

    Args:
        parts: Their number.
        workers: Cores.
        seconds: Mean time of a part.
        rng: Randomness.
    """
    left, used, end = parts, START * workers, 0.0
    free = [START] * workers
    mean = math.log(seconds) - SPREAD**2 / 2
    while left:
        start = heapq.heappop(free)
        needed = float(np.exp(rng.normal(mean, SPREAD)))
        dies = float(rng.exponential(HOUR / DEATHS))
        if dies < needed:
            used += dies
            heapq.heappush(free, start + dies + RESTART)
            continue  # the part is still to be counted
        left -= 1
        used += needed
        end = max(end, start + needed)
        heapq.heappush(free, start + needed)
    return end, used


def _counting(rows: int, workers: int, rates: Rates) -> list[Row]:
    parts = math.ceil(rows / PART)
    wall, used = counted_by(parts, workers, PART / rates.parquet, np.random.default_rng(7))
    wall += math.ceil(math.log2(min(parts, workers) + 1)) * rates.merge
    bar = f"{rows:.0e} rows, {workers} cores"
    ideal, note = rows / rates.parquet, f"{rows:.0e} rows: {rows * rates.row / 1e9:.3g} GB of Parquet"
    return [
        Row(bar=f"{bar}: wall", ours=wall / 60, unit="minutes", note=note),
        Row(bar=f"{bar}: work", ours=used / HOUR, unit="core-hours"),
        Row(bar=f"{bar}: held over needed", ours=wall * workers, peer=ideal, peer_name="work alone", unit="core s"),
    ]
