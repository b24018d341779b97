from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

from tacita.domain import Domain
from tacita.engines.base import Engine
from tacita.engines.local import LocalEngine
from tacita.testing import EngineContract


class TestArrow(EngineContract):
    def make(self, domain: Domain, table: pa.Table) -> Engine:
        return LocalEngine(domain, table)


class TestStreamedWithoutCache(EngineContract):
    def make(self, domain: Domain, table: pa.Table) -> Engine:
        return LocalEngine(domain, table, cache_bytes=0, threads=1)


class TestFullCache(EngineContract):
    """A cache that is too small for the codes."""

    def make(self, domain: Domain, table: pa.Table) -> Engine:
        return LocalEngine(domain, table, cache_bytes=60)


class TestWarmCache(EngineContract):
    """Codes that are there already, some attributes before others."""

    def make(self, domain: Domain, table: pa.Table) -> Engine:
        engine = LocalEngine(domain, table)
        engine.project(domain.countable[-1:])
        engine.project(domain.countable)
        return engine


class TestParquetParts(EngineContract):
    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path: Path) -> None:
        self.folder, self.made = tmp_path, 0

    def make(self, domain: Domain, table: pa.Table) -> Engine:
        self.made += 1
        folder = self.folder / str(self.made)
        folder.mkdir()
        half = table.num_rows // 2
        for name, part in (("a", table.slice(0, half)), ("b", table.slice(half))):
            pq.write_table(part, folder / f"{name}.parquet", row_group_size=16)
        return LocalEngine(domain, folder)


class TestPolars(EngineContract):
    def make(self, domain: Domain, table: pa.Table) -> Engine:
        frame: Any = pl.from_arrow(table)
        return LocalEngine(domain, frame)


class TestPandas(EngineContract):
    def make(self, domain: Domain, table: pa.Table) -> Engine:
        return LocalEngine(domain, table.to_pandas(types_mapper=pd.ArrowDtype))


class TestCsv(EngineContract):
    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path: Path) -> None:
        self.folder, self.made = tmp_path, 0

    def make(self, domain: Domain, table: pa.Table) -> Engine:
        self.made += 1
        path = self.folder / f"{self.made}.csv"
        pa_csv.write_csv(as_text(table), path)
        return LocalEngine(domain, path)

    def seen(self, table: pa.Table) -> pa.Table:
        path = self.folder / "seen.csv"
        pa_csv.write_csv(as_text(table), path)
        with path.open(newline="", encoding="utf-8", errors="surrogateescape") as file:
            header, *rows = csv.reader(file)
        texts = [[row[i] if row else "" for row in rows] for i in range(len(header))]  # [] is a blank line
        return pa.table({name: text_column(texts) for name, texts in zip(header, texts, strict=True)})


def as_text(table: pa.Table) -> pa.Table:
    """Bytes as texts, which the writer does not look into."""
    columns = [c.combine_chunks().view(pa.string()) if c.type == pa.binary() else c for c in table.columns]
    return pa.table(columns, names=table.column_names)


def text_column(texts: list[str]) -> pa.Array:
    """Text, or bytes where it is none."""
    try:
        return pa.array(texts, pa.string())
    except UnicodeEncodeError:
        return pa.array([text.encode(errors="surrogateescape") for text in texts], pa.binary())
