"""Growth of the commands with rows: CPU seconds and memory on files of three sizes, with fitted exponents.

Each command runs in a process of its own, after one run on a small file that compiles. What it takes on 2,000 rows is
its fixed cost, start and compiled kernels, and is subtracted. The exponent is that of the two largest files: 1 is
linear. Where the fixed cost is most of the time, rows hardly matter and no exponent is stated. Memory has no goal: what
a command takes for a million more rows is shown. Commands that read samples or tables have exponents near 0.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from bench.rows import Row
from bench.verbs import PAID, SCHEMA, table_of, used_by

SMALL = 2_000
SIZES = (200_000, 600_000, 1_800_000)
QUICK = (20_000, 60_000)
_NOTICEABLE = 0.3  # CPU seconds of the larger file beyond the fixed cost
_SPENT = ("--epsilon", "1", "--delta", "1e-9", "--people", "{rows}", "-n", "1000", "-o", "s.csv")

VERBS: dict[str, tuple[str, ...]] = {
    "schema infer": ("schema", "infer", "{data}", "-o", "draft.yaml", "--force"),
    "schema check": ("schema", "check", "{data}", "-s", "people.yaml"),
    "query tables": ("query", "{data}", *PAID, "--by", "age,job", "--by", "school,ill", "--epsilon", "0.1", "--fresh"),
    "query SQL": (
        "query",
        "SELECT job, COUNT(*), AVG(hours) FROM people GROUP BY job",
        "--data",
        "{data}",
        *PAID,
        "--epsilon",
        "0.1",
        "--fresh",
    ),
    "anonymize, mondrian": ("anonymize", "{data}", "-s", "people.yaml", "--k", "10", "-o", "k.csv"),
    "anonymize, mondrian with l": ("anonymize", "{data}", "-s", "people.yaml", "--k", "10", "--l", "2", "-o", "k.csv"),
    "anonymize, local": ("anonymize", "{data}", "-s", "people.yaml", "--k", "10", "--method", "local", "-o", "k.csv"),
    "mask, PRAM": ("mask", "{data}", "-s", "people.yaml", "--pram", "job=0.8", "-o", "m.csv"),
    "mask, microaggregation": ("mask", "{data}", "-s", "people.yaml", "--microaggregate", "hours=5", "-o", "m.csv"),
    "suppress": ("suppress", "{data}", "-s", "people.yaml", "--by", "region,job", "--minimum", "5", "-o", "t.csv"),
    "disclosure": ("disclosure", "{data}", "-s", "people.yaml", "--qi", "age,sex,zip"),
    "synthesize, quality": ("synthesize", "{data}", *PAID, *_SPENT),
    "synthesize, aim": ("synthesize", "{data}", *PAID, *_SPENT, "--method", "aim"),
    "synthesize, privbayes": ("synthesize", "{data}", *PAID, *_SPENT, "--method", "privbayes"),
    "synthesize, for a target": ("synthesize", "{data}", *PAID, *_SPENT, "--for", "ill"),
    "synthesize, numbers fine": ("synthesize", "{data}", *PAID, *_SPENT, "--numbers", "fine"),
    "learn, linear": ("learn", "fit", "{data}", *PAID, "--target", "hours", "--epsilon", "1", "-o", "fit.json"),
    "learn, logistic": ("learn", "fit", "{data}", *PAID, "--target", "smokes", "--epsilon", "1", "-o", "fit.json"),
    "learn, trees": (
        *("learn", "fit", "{data}", *PAID, "--target", "smokes", "--epsilon", "1", "-o", "fit.json"),
        *("--kind", "trees"),
    ),
    "collect simulate": (
        *("collect", "simulate", "{data}", "-s", "people.yaml", "--respondents", "{rows}", "--epsilon", "2"),
        *("--by", "school,job", "--by", "region,smokes", "--mode", "tables"),
    ),
}


def run(*, quick: bool) -> list[Row]:
    sizes = QUICK if quick else SIZES
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        for rows in (SMALL, *sizes):
            pa_csv.write_csv(table_of(rows), work / f"people{rows}.csv")
        (work / "people.yaml").write_text(SCHEMA)
        grown = [row for verb, command in VERBS.items() for row in _grown(work, verb, command, sizes)]
        return [*grown, *_wide(work, 200_000 if quick else 10_000_000)]


def _grown(work: Path, verb: str, command: Sequence[str], sizes: Sequence[int]) -> list[Row]:
    _used(work, command, SMALL)  # compiles
    fixed, memory = _used(work, command, SMALL)
    found = [_used(work, command, rows) for rows in sizes]
    beyond = [cpu - fixed for cpu, _ in found]
    listed = ", ".join(
        f"{rows:,} {cpu:.2f}" for rows, (cpu, _) in zip((SMALL, *sizes), [(fixed, 0), *found], strict=True)
    )
    extra = (found[-1][1] - memory) / (sizes[-1] / 1e6)
    rows = [Row(bar=f"{verb}: memory for a million rows more", ours=extra, unit="MB")]
    if beyond[-1] < _NOTICEABLE:
        note = f"{verb}, CPU s: {listed}: hardly more than its fixed cost"
        return [Row(bar=f"{verb}: CPU beyond the fixed cost", ours=beyond[-1], unit="s", note=note), *rows]
    slope = math.log(beyond[-1] / max(beyond[-2], 1e-3)) / math.log(sizes[-1] / sizes[-2])
    note = f"{verb}, CPU s: {listed}"
    return [Row(bar=f"{verb}: exponent in rows", ours=slope, unit="", goal="<= 1.1", note=note), *rows]


def _used(work: Path, command: Sequence[str], rows: int) -> tuple[float, float]:
    filled = tuple(part.replace("{rows}", str(rows)) for part in command)
    return used_by(work, filled, f"people{rows}.csv")


def _wide(work: Path, rows: int) -> list[Row]:
    _write_wide(work, rows)
    command = ("synthesize", "{data}", "-s", "wide.yaml", "-a", "people", *_SPENT, "--method", "quality")
    filled = tuple(part.replace("{rows}", str(rows)) for part in command)
    used_by(work, filled, "small.parquet")  # compiles
    seconds, memory = used_by(work, filled, "wide.parquet")
    bar = f"synthetic rows of {rows:,} rows and 300 columns"
    return [
        Row(bar=bar, ours=seconds, unit="CPU s"),
        Row(bar=f"{bar}: memory", ours=memory, unit="MB", goal="<= 16000"),
    ]


def _write_wide(work: Path, rows: int) -> None:
    names, rng = [f"c{at}" for at in range(300)], np.random.default_rng(3)
    lines = [f"- {{name: {name}, kind: numeric, bounds: [0, 3], bins: 4, integer: true}}" for name in names]
    (work / "wide.yaml").write_text("\n".join(["tacita: 1", "attributes:", *lines]) + "\n")
    for file, whole in (("small.parquet", SMALL), ("wide.parquet", rows)):
        writer = None
        for start in range(0, whole, 500_000):
            some = min(500_000, whole - start)
            codes, columns = rng.integers(0, 4, some, dtype=np.uint8), {}
            for name in names:
                columns[name] = codes
                fresh = rng.integers(0, 4, some, dtype=np.uint8)
                codes = np.where(rng.random(some, dtype=np.float32) < 0.7, codes, fresh)
            table = pa.table(columns)
            writer = writer or pq.ParquetWriter(work / file, table.schema)
            writer.write_table(table)
        if writer is not None:
            writer.close()
