"""Spark's answers, cell by cell: over Parquet that executors read themselves, and over frames of Spark."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.support.spark import SparkCluster

from tacita.domain import Attribute, Domain
from tacita.engines.base import Engine
from tacita.engines.spark import SparkEngine
from tacita.testing import EngineContract


class TestParquetParts(EngineContract):
    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path: Path, session: Any, cluster: SparkCluster) -> None:
        self.folder, self.made, self.master = tmp_path, 0, cluster.master

    def make(self, domain: Domain, table: pa.Table) -> Engine:
        self.made += 1
        folder = self.folder / str(self.made)
        folder.mkdir()
        half = table.num_rows // 2
        for name, part in (("a", table.slice(0, half)), ("b", table.slice(half))):
            pq.write_table(part, folder / f"{name}.parquet", row_group_size=16)
        return SparkEngine(domain, folder, master=self.master)


class TestFrames(EngineContract):
    """Frames have their own types and their own way to executors; there, rows are encoded as those of files are."""

    @pytest.fixture(autouse=True)
    def _session(self, session: Any) -> None:
        self.session = session

    def make(self, domain: Domain, table: pa.Table) -> Engine:
        return SparkEngine(domain, self.session.createDataFrame(table))

    def column(self, attribute: Attribute, values: pa.Array, nulls: Sequence[str] = ("",)) -> None:
        """Count with both buckets alone: all four choices are tried over files."""
        both = attribute.model_copy(update={"missing": True, "other": True})
        for cached in ("size", "all_labels"):
            both.__dict__.pop(cached, None)
        self.agree(Domain(attributes=[both], nulls=tuple(nulls)), pa.table({attribute.name: values}), ways=1)
