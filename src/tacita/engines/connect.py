"""One entry to all engines: an address, a path or a frame in, an engine out."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from tacita.domain import Domain
from tacita.engines.base import Engine
from tacita.engines.spark.address import SparkAddress, is_spark, is_spark_frame
from tacita.errors import InvalidInput

__all__ = ["connect"]

_SCHEME = re.compile(r"^([a-zA-Z][a-zA-Z0-9+.-]+):")  # two letters at least: C: is a drive
_POSTGRES = ("postgresql", "postgres")
_MONGO = ("mongodb", "mongodb+srv")
DUCKDB = "duckdb"
STORES = ("s3", "gs", "gcs", "abfs", "abfss", "hdfs")
"""Schemes of addresses in stores that Arrow's filesystems reach."""


def connect(
    source: Any,
    domain: Domain,
    table: str | Sequence[str] | None = None,
    *,
    unwind: str | None = None,
    checked: bool = False,
    timeout: float | None = None,
) -> Engine:
    """Return the engine for a source.

    Args:
        source: `postgresql://…`, `mongodb://…`, the path of a file (or a folder, a list of paths, file://…), an address
            in a store (`s3://…`), `duckdb:PATH`, `spark:PATH` or `spark://host:port/PATH`, or a frame, of
            Spark too.
        domain: The schema.
        table: The table or collection of a database or of Spark's catalog, or the sheet of a workbook; other sources
            have none.
        unwind: The list in MongoDB's documents whose elements are the rows.
        checked: Whether the engine's `check` has accepted the source before: see `MongoEngine`.
        timeout: Seconds that one statement or pipeline of a database, or one question to Spark, may take; no limit by
            default.

    >>> import pyarrow as pa
    >>> from tacita.domain import Boolean
    >>> connect(pa.table({"x": [True]}), Domain(attributes=[Boolean(name="x")])).project(["x"]).sum()
    np.int64(1)
    """
    match = _SCHEME.match(source) if isinstance(source, str) else None
    scheme = match[1].lower() if match else ""
    if scheme in _MONGO:
        return _mongo(source, domain, table, unwind, checked, timeout)
    if unwind is not None:
        raise InvalidInput("only documents in MongoDB have lists", field="unwind", value=unwind)
    if scheme in _POSTGRES:
        return _postgres(source, domain, table, timeout)
    if table is not None and not isinstance(table, str):
        raise InvalidInput("must be one name", field="table", value=table)
    if is_spark_frame(source) or (isinstance(source, str) and is_spark(source)):
        return _spark(source, domain, table, timeout)
    if scheme == "file":
        return _local(Path(unquote(urlsplit(source).path)), domain, table)
    if scheme and scheme not in (*STORES, DUCKDB):
        raise InvalidInput(
            "must be postgresql://, mongodb://, spark:, a store such as s3://, duckdb:, file:// or a path",
            field="source",
            value=f"{scheme}:",
            hint=_hint(scheme),
        )
    return _local(source, domain, table)


def _local(source: Any, domain: Domain, table: str | None) -> Engine:
    from tacita.engines.local import LocalEngine

    return LocalEngine(domain, source, table=table)


def _postgres(url: str, domain: Domain, table: str | Sequence[str] | None, timeout: float | None) -> Engine:
    if table is None:
        raise InvalidInput("a database needs the name of a table", field="table")
    from tacita.engines.postgres import PostgresEngine

    return PostgresEngine(domain, url, table, timeout=timeout)


def _mongo(
    url: str,
    domain: Domain,
    table: str | Sequence[str] | None,
    unwind: str | None,
    checked: bool,
    timeout: float | None,
) -> Engine:
    if not isinstance(table, str):
        raise InvalidInput("a database needs the name of a collection", field="table", value=table)
    from tacita.engines.mongo import MongoEngine

    return MongoEngine(domain, url, table, unwind=unwind, checked=checked, timeout=timeout)


def _spark(source: Any, domain: Domain, table: str | None, timeout: float | None) -> Engine:
    from tacita.engines.spark import SparkEngine

    if is_spark_frame(source):
        return SparkEngine(domain, source, timeout=timeout)
    address = SparkAddress.parse(source)
    return SparkEngine(domain, address.path, table=table, master=address.master, timeout=timeout)


def _hint(scheme: str) -> str | None:
    return "Write postgresql:// without a driver" if scheme.startswith(_POSTGRES) else None
