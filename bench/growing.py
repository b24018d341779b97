"""Files for `growth`: the same table with more rows, columns or levels, and events of people."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from bench.verbs import SCHEMA, table_of

__all__ = ["write_chain", "write_events", "write_levels", "write_people"]


def write_people(work: Path, rows: int) -> None:
    """`data{rows}.csv`: ten columns of people."""
    (work / "people.yaml").write_text(SCHEMA)
    pa_csv.write_csv(table_of(rows), work / f"data{rows}.csv")


def write_levels(work: Path, levels: int) -> None:
    """`data{levels}.csv`: 200,000 rows of four columns, two of which have so many levels."""
    rng, rows = np.random.default_rng(5), 200_000
    first = np.minimum(rng.geometric(8 / levels, rows), levels) - 1
    second = (first + rng.integers(0, max(2, levels // 8), rows)) % levels
    few = {name: rng.integers(0, 4, rows) for name in ("c", "d")}
    pa_csv.write_csv(pa.table({"a": first, "b": second} | few), work / f"data{levels}.csv")
    _write_schema(work / f"schema{levels}.yaml", {"a": levels, "b": levels, "c": 4, "d": 4}, quasi=("a", "b"))


def write_events(work: Path, rows: int) -> None:
    """`data{rows}.csv`: visits of pages, five of each person, in the order of time."""
    rng = np.random.default_rng(7)
    visits = {
        "who": [f"p{at}" for at in rng.integers(0, max(1, rows // 5), rows).tolist()],
        "minute": np.sort(rng.integers(0, rows // 100 + 1, rows)),
        "page": [f"q{at}" for at in np.minimum(rng.geometric(0.05, rows), 60).tolist()],
    }
    pa_csv.write_csv(pa.table(visits), work / f"data{rows}.csv")
    (work / f"schema{rows}.yaml").write_text(
        "tacita: 1\nperson: who\nattributes:\n- {name: who, kind: identifier}\n"
        f"- {{name: minute, kind: numeric, bounds: [0, {rows // 100 + 1}], bins: 1, integer: true}}\n"
        f"- {{name: page, kind: categorical, levels: [{', '.join(f'q{at}' for at in range(1, 61))}]}}\n"
    )


def write_chain(work: Path, columns: int, rows: int = 100_000, form: str = "parquet") -> None:
    """`data{columns}.parquet`: columns of four levels, each like the one before it in seven rows of ten."""
    names, rng, writer = [f"c{at}" for at in range(columns)], np.random.default_rng(3), None
    _write_schema(work / f"schema{columns}.yaml", dict.fromkeys(names, 4), quasi=names[:4])
    for start in range(0, rows, 500_000):
        some = min(500_000, rows - start)
        codes, found = rng.integers(0, 4, some, dtype=np.uint8), {}
        for name in names:
            found[name] = codes
            fresh = rng.integers(0, 4, some, dtype=np.uint8)
            codes = np.where(rng.random(some, dtype=np.float32) < 0.7, codes, fresh)
        table = pa.table(found)
        writer = writer or pq.ParquetWriter(work / f"data{columns}.{form}", table.schema)
        writer.write_table(table)
    if writer is not None:
        writer.close()


def _write_schema(path: Path, sizes: dict[str, int], *, quasi: tuple[str, ...] | list[str]) -> None:
    lines = [
        f"- {{name: {name}, kind: numeric, bounds: [0, {size - 1}], bins: {size}, integer: true"
        f"{', role: quasi-identifier' if name in quasi else ''}}}"
        for name, size in sizes.items()
    ]
    path.write_text("\n".join(["tacita: 1", "attributes:", *lines]) + "\n")
