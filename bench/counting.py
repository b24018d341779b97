"""Counting many tables of integer codes, against numpy, pandas, polars and DuckDB.

What is timed: for us, `LocalEngine.tables` with the codes in its cache, planning included (the plan is
forgotten before each repeat). For peers, the same tables from a frame of uint8 columns in the form that is
fastest for them, over a part of the tables, scaled up. All counts are compared. CPU seconds of all threads,
best of some repeats.
"""

from __future__ import annotations

import itertools
import json
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from bench.rows import Row, cpu
from tacita.domain import Domain, Numeric
from tacita.engines.local import LocalEngine, cover
from tacita.privacy.unit import Unit
from tacita.tables.workload import Tables, Workload

GOAL = "<= 0.125"
COLUMNS = 20
MEMORY_ROWS = 10_000_000

Key = tuple[str, ...]
Counts = dict[Key, np.ndarray[Any, Any]]
Counting = Callable[[Sequence[Key]], Counts]


@dataclass(frozen=True)
class Data:
    """Uniform codes of 20 attributes with 2 to 30 levels, 10 on average."""

    domain: Domain
    codes: dict[str, np.ndarray[Any, Any]]

    @classmethod
    def make(cls, rows: int) -> Data:
        """The same rows each time."""
        rng = np.random.default_rng(1)
        sizes = [2, 30, 10, 5, 16, 3, 12, 8, 20, 4, 10, 7, 14, 6, 9, 18, 2, 11, 5, 8]
        assert sum(sizes) / COLUMNS == 10
        names = [f"a{i:02d}" for i in range(COLUMNS)]
        attributes = [
            Numeric(name=name, bounds=(0, size - 1), integer=True) for name, size in zip(names, sizes, strict=True)
        ]
        codes = {n: rng.integers(0, size, rows, np.uint8) for n, size in zip(names, sizes, strict=True)}
        return cls(Domain(attributes=attributes), codes)

    def size(self, key: Key) -> list[int]:
        """Levels along each axis of a table."""
        return [self.domain[name].size for name in key]

    def fill(self, key: Key, columns: Sequence[Any], counts: Any) -> np.ndarray[Any, Any]:
        """A dense table from the groups that a frame gives."""
        table = np.zeros(self.size(key), np.int64)
        table[tuple(np.asarray(column, np.intp) for column in columns)] = np.asarray(counts)
        return table


def run(*, quick: bool) -> list[Row]:
    rows = 300_000 if quick else 1_000_000
    data = Data.make(rows)
    pairs = Workload(tuple(itertools.combinations(data.domain.names[:15], 2)))
    triples = Workload.sample(data.domain, 3, 1000, seed=2)
    found = []
    for workload, part, name in ((pairs, 21, "all 105 pairs of 15"), (triples, 20, "1,000 triples of 20")):
        found += _against_peers(data, workload, part, f"{name}, {rows:,} rows", quick=quick)
    return [*found, _memory(), *_cold_start()]


def _against_peers(data: Data, workload: Workload, part: int, bar: str, *, quick: bool) -> list[Row]:
    engine = LocalEngine(data.domain, pa.table(data.codes))
    engine.check()  # encode once, as any first use does
    ours: list[Tables] = []

    def count() -> None:
        cover.forget_plans()
        ours[:] = [engine.tables(workload, Unit.row())]

    count()
    seconds, wall = cpu(count, 5 if quick else 8)
    chosen = workload.keys[:: math.ceil(len(workload) / part)]
    scale = len(workload) / len(chosen)
    rows = []
    for name, forms in _peers(data).items():
        times = {}
        for form, counting in forms.items():
            _compare(ours[0], counting(chosen))
            times[form] = cpu(lambda counting=counting: counting(chosen), 2 if quick else 3)[0] * scale
        best = min(times, key=lambda form: times[form])
        rows.append(
            Row(
                bar=bar,
                ours=seconds,
                peer=times[best],
                peer_name=f"{name} ({best})",
                unit="cpu_s",
                goal="shown" if name.startswith("numpy") else GOAL,
                note=f"{bar}: ours {wall:.3f} s wall; peers on {len(chosen)} tables, times {scale:.3g}.",
            )
        )
    return rows


def _compare(ours: Tables, theirs: Counts) -> None:
    for key, counts in theirs.items():
        assert np.array_equal(ours[key].values, counts), f"counts differ for {key}"


# -- peers, each in its forms --------------------------------------------------------------------------------


def _peers(data: Data) -> dict[str, dict[str, Counting]]:
    import duckdb
    import pandas as pd
    import polars as pl

    return {
        f"numpy {np.__version__}": _numpy(data),
        f"pandas {pd.__version__}": _pandas(data),
        f"polars {pl.__version__}": _polars(data),
        f"duckdb {duckdb.__version__}": _duckdb(data),
    }


def _numpy(data: Data) -> dict[str, Counting]:
    def blocked(keys: Sequence[Key]) -> Counts:
        found = {key: np.zeros(math.prod(data.size(key)), np.int64) for key in keys}
        rows = len(next(iter(data.codes.values())))
        for start in range(0, rows, 1 << 16):
            for key in keys:
                cells = np.zeros(min(1 << 16, rows - start), np.int32)
                for name in key:
                    cells *= data.domain[name].size
                    cells += data.codes[name][start : start + (1 << 16)]
                found[key] += np.bincount(cells, minlength=len(found[key]))
        return {key: counts.reshape(data.size(key)) for key, counts in found.items()}

    return {"bincount in blocks": blocked}


def _combined(data: Data, key: Key, column: Callable[[str], Any]) -> Any:
    cells = column(key[0])
    for name in key[1:]:
        cells = cells * data.domain[name].size + column(name)
    return cells


def _from_cells(data: Data, key: Key, cells: Any, counts: Any) -> np.ndarray[Any, Any]:
    table = np.zeros(math.prod(data.size(key)), np.int64)
    table[np.asarray(cells, np.intp)] = np.asarray(counts)
    return table.reshape(data.size(key))


def _pandas(data: Data) -> dict[str, Counting]:
    import pandas as pd

    frame = pd.DataFrame(data.codes)
    labelled = frame.astype("category")

    def grouped(source: pd.DataFrame) -> Counting:
        def counting(keys: Sequence[Key]) -> Counts:
            found = {}
            for key in keys:
                sizes = source.groupby(list(key), sort=False, observed=True).size()
                columns = [sizes.index.get_level_values(name) for name in key]
                found[key] = data.fill(key, columns, sizes.to_numpy())
            return found

        return counting

    def combined(keys: Sequence[Key]) -> Counts:
        found = {}
        for key in keys:
            sizes = _combined(data, key, lambda name: frame[name].astype(np.int32)).value_counts(sort=False)
            found[key] = _from_cells(data, key, sizes.index, sizes.to_numpy())
        return found

    return {"groupby": grouped(frame), "groupby of categories": grouped(labelled), "one code": combined}


def _polars(data: Data) -> dict[str, Counting]:
    import polars as pl

    frame = pl.DataFrame(data.codes)

    def grouped(keys: Sequence[Key]) -> Counts:
        found = {}
        for key in keys:
            sizes = frame.group_by(key).len()
            found[key] = data.fill(key, [sizes[name].to_numpy() for name in key], sizes["len"].to_numpy())
        return found

    def combined(keys: Sequence[Key]) -> Counts:
        found = {}
        for key in keys:
            code = _combined(data, key, lambda name: pl.col(name).cast(pl.UInt32)).alias("code")
            sizes = frame.lazy().select(code).group_by("code").len().collect()
            found[key] = _from_cells(data, key, sizes["code"].to_numpy(), sizes["len"].to_numpy())
        return found

    def valued(keys: Sequence[Key]) -> Counts:
        found = {}
        for key in keys:
            code = _combined(data, key, lambda name: pl.col(name).cast(pl.UInt16)).alias("code")
            sizes = frame.select(code)["code"].value_counts()
            found[key] = _from_cells(data, key, sizes["code"].to_numpy(), sizes["count"].to_numpy())
        return found

    return {"group_by": grouped, "one code": combined, "value_counts": valued}


def _duckdb(data: Data) -> dict[str, Counting]:
    import duckdb

    connection = duckdb.connect()
    frame = pa.table(data.codes)
    connection.register("frame", frame)
    connection.execute("CREATE TABLE t AS SELECT * FROM frame")

    def each(keys: Sequence[Key]) -> Counts:
        found = {}
        for key in keys:
            listed = ", ".join(key)
            query = f"SELECT {listed}, count(*) AS n FROM t GROUP BY {listed}"
            groups = connection.cursor().execute(query).fetchnumpy()
            found[key] = data.fill(key, [groups[name] for name in key], groups["n"])
        return found

    def at_once(keys: Sequence[Key]) -> Counts:
        used = sorted({name for key in keys for name in key})
        sets = ", ".join(f"({', '.join(key)})" for key in keys)
        which = f"grouping({', '.join(used)})"
        query = f"SELECT {which} AS w, {', '.join(used)}, count(*) AS n FROM t GROUP BY GROUPING SETS ({sets})"
        groups = connection.cursor().execute(query).fetchnumpy()
        found = {}
        for key in keys:
            bits = sum(1 << (len(used) - 1 - i) for i, name in enumerate(used) if name not in key)
            mine = np.asarray(groups["w"]) == bits
            found[key] = data.fill(key, [np.asarray(groups[name])[mine] for name in key], groups["n"][mine])
        return found

    return {"one query each": each, "grouping sets": at_once}


# -- memory and the first call, in processes of their own ----------------------------------------------------

_MEMORY = """
import itertools, json, sys
import pyarrow as pa
from bench.counting import Data
from tacita.engines.local import LocalEngine
from tacita.privacy.unit import Unit
from tacita.tables.workload import Workload

def peak():
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmHWM"))

path, rows = sys.argv[1], int(sys.argv[2])
domain = Data.make(10).domain
work = Workload(tuple(itertools.combinations(domain.names[:15], 2)))
LocalEngine(domain, pa.table(Data.make(1000).codes)).tables(work, Unit.row())  # compile and import first
before = peak()
tables = LocalEngine(domain, path).tables(work, Unit.row())
assert tables[work.keys[0]].sum() == rows
print(json.dumps((peak() - before) / (15 * rows)))
"""

_WRITE = """
import sys
import pyarrow as pa, pyarrow.parquet as pq
from bench.counting import Data
pq.write_table(pa.table(Data.make(int(sys.argv[2])).codes), sys.argv[1], row_group_size=1 << 20)
"""

_FIRST = """
import json, time
start = time.process_time()
import pyarrow as pa
from bench.counting import Data
from tacita.engines.local import LocalEngine
from tacita.privacy.unit import Unit
from tacita.tables.workload import Workload
imported = time.process_time()
data = Data.make(1000)
LocalEngine(data.domain, pa.table(data.codes)).tables(Workload.all(data.domain, 2), Unit.row())
print(json.dumps(time.process_time() - imported))
"""


def _in_process(script: str, *arguments: str, **environment: str) -> Any:
    command = [sys.executable, "-c", script, *arguments]
    done = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return json.loads(done.stdout) if done.stdout else None


def _memory() -> Row:
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/codes.parquet"
        _in_process(_WRITE, path, str(MEMORY_ROWS))
        growth = _in_process(_MEMORY, path, str(MEMORY_ROWS))
    return Row(
        bar=f"peak memory, {MEMORY_ROWS:,} rows x 15, all pairs",
        ours=growth,
        unit="bytes / byte of codes",
        goal="<= 3",
        note="Memory: growth of the peak (VmHWM) while a Parquet file is read, encoded, kept and counted.",
    )


def _cold_start() -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        compiled = _in_process(_FIRST, NUMBA_CACHE_DIR=folder)
        loaded = _in_process(_FIRST, NUMBA_CACHE_DIR=folder)
    return [
        Row(bar="first call ever: kernels are compiled", ours=compiled, unit="cpu_s"),
        Row(bar="first call of a process: kernels from disk", ours=loaded, unit="cpu_s"),
    ]
