from __future__ import annotations

from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pytest
from tests.support.mongo import MongoServer

from tacita.domain import Boolean, Domain, Identifier
from tacita.engines.connect import connect
from tacita.engines.local import LocalEngine
from tacita.engines.mongo import MongoEngine
from tacita.engines.postgres import PostgresEngine
from tacita.errors import DataError, InvalidInput

DOMAIN = Domain(attributes=[Boolean(name="x")])


def test_paths_and_frames_are_local(tmp_path: Path) -> None:
    path = tmp_path / "a b.csv"
    path.write_text("x\ntrue\n")
    for source in (path, str(path), [path], tmp_path, path.as_uri(), pa.table({"x": [True]})):
        engine = connect(source, DOMAIN)
        assert isinstance(engine, LocalEngine)
        assert engine.project(["x"]).values.tolist() == [0, 1]


@pytest.mark.postgres
def test_addresses_are_databases(postgres_url: str) -> None:
    with psycopg.connect(postgres_url) as connection:
        connection.execute("CREATE TABLE t AS SELECT true AS x")
    engine = connect(postgres_url, DOMAIN, "t")
    assert isinstance(engine, PostgresEngine)
    assert engine.project(["x"]).values.tolist() == [0, 1]


def test_collections_are_databases_too() -> None:
    with MongoServer() as server:
        server.store("d", "people", [{"x": True}, {"x": False}, {"x": True}])
        server.store("d", "lists", [{"who": 1, "x": [True, False, True]}])
        engine = connect(server.url("d"), DOMAIN, "people")
        assert isinstance(engine, MongoEngine)
        assert engine.project(["x"]).values.tolist() == [1, 2]
        by_person = Domain(person="who", attributes=[Identifier(name="who"), Boolean(name="x")])
        with pytest.raises(DataError, match="x: holds lists"):
            connect(server.url("d"), by_person, "lists")
        assert connect(server.url("d"), by_person, "lists", checked=True).project(["x"]).sum() == 0
        assert connect(server.url("d"), by_person, "lists", unwind="x").project(["x"]).values.tolist() == [1, 2]


def test_only_documents_have_lists() -> None:
    with pytest.raises(InvalidInput, match="unwind: only documents in MongoDB"):
        connect(pa.table({"x": [True]}), DOMAIN, unwind="x")


@pytest.mark.parametrize(
    ("source", "table", "rule"),
    [
        ("postgresql://user:SECRET@host/db", None, "needs the name of a table"),
        ("mysql://user:SECRET@host/db", None, "must be postgresql://"),
        ("postgresql+psycopg://user:SECRET@host/db", "t", "without a driver"),
        ("postgresql+psycopg://user:SECRET@host/db", None, "without a driver"),
        ("mongodb://user:SECRET@host/db", None, "needs the name of a collection"),
        ("mongodb://user:SECRET@host/db", ["a", "b"], "needs the name of a collection"),
        ("mongodb+srv://user:SECRET@host", "t", "must name a database"),
        ("a.csv", "t", "only a workbook or a database has tables"),
        ("a.csv", ["t"], "must be one name"),
        ("s3://user:SECRET@bucket/a.parquet", None, "must hold no credentials"),
        ("ftp://user:SECRET@host/a.parquet", None, "must be postgresql://"),
    ],
)
def test_refusals_keep_secrets(source: Any, table: Any, rule: str) -> None:
    with pytest.raises(InvalidInput, match=rule) as caught:
        connect(source, DOMAIN, table)
    assert "SECRET" not in str(caught.value)
