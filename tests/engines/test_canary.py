"""No error of an engine holds a value of a private row."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest
from tests.support.hostile_files import BROKEN, CANARY, SCHEMA, everything

from tacita.domain import Categorical, Domain, Identifier
from tacita.engines.connect import connect
from tacita.engines.mongo.driver import Server as MongoServer
from tacita.engines.postgres import PostgresEngine
from tacita.errors import TacitaError


@pytest.mark.parametrize("name", BROKEN)
def test_no_error_of_the_library_holds_a_row(name: str, tmp_path: Path) -> None:
    kind, content = BROKEN[name]
    path = tmp_path / f"rows.{kind}"
    path.write_bytes(content)
    domain = Domain.from_dict(SCHEMA)
    uses: list[Callable[[], Any]] = [
        lambda: connect(path, domain).check(),
        lambda: connect(path, domain).project(["who"]),
        lambda: list(connect(path, domain).rows(["who", "pay"])),
    ]
    said = []
    for use in uses:
        try:
            use()
        except TacitaError as error:
            said.append(everything(error))
    assert CANARY not in " ".join(said)


def test_a_frame_that_arrow_cannot_hold() -> None:
    pandas = pytest.importorskip("pandas")
    domain = Domain(attributes=[Categorical(name="x", levels=["a"])])
    with pytest.raises(TacitaError) as caught:
        connect(pandas.DataFrame({"x": [1, CANARY, object()]}), domain).project(["x"])
    assert CANARY not in everything(caught.value)


@pytest.mark.postgres
def test_casts_that_fail_in_postgres(postgres_url: str) -> None:
    with psycopg.connect(postgres_url) as connection:
        connection.execute("CREATE TABLE t (who text, x text)")
        connection.execute("INSERT INTO t VALUES ('1', %s)", [CANARY])
        connection.execute("CREATE VIEW cast_of AS SELECT who, x::int AS x FROM t")
        connection.execute("CREATE VIEW date_of AS SELECT who, x::date AS x FROM t")
        connection.execute(
            "CREATE FUNCTION shout(text) RETURNS text LANGUAGE plpgsql AS $$ BEGIN RAISE '%', $1; END $$"
        )
        connection.execute("CREATE VIEW raised AS SELECT who, public.shout(x) AS x FROM t")
    domain = Domain(attributes=[Identifier(name="who"), Categorical(name="x", levels=["1"])])
    for table in ("cast_of", "date_of", "raised"):
        for pushed in (16, 0):
            engine = PostgresEngine(domain, postgres_url, table, pushed_tables=pushed)
            for use in (lambda e=engine: e.project(["x"]), lambda e=engine: list(e.rows(["x"])), engine.check):
                with pytest.raises(TacitaError) as caught:
                    use()
                assert CANARY not in everything(caught.value)


def test_what_mongodb_says_about_a_document() -> None:
    import bson.errors
    import pymongo.errors

    server = MongoServer("mongodb://reader@127.0.0.1:1/db")
    for error in (
        pymongo.errors.OperationFailure(f"Failed to parse {CANARY}", 241),
        pymongo.errors.OperationFailure(f"time {CANARY}", 50),
        pymongo.errors.CursorNotFound(f"gone {CANARY}"),
        bson.errors.InvalidBSON(f"bad {CANARY}"),
        pymongo.errors.AutoReconnect(f"reset {CANARY}"),
    ):
        assert CANARY not in everything(server.explain(error))
