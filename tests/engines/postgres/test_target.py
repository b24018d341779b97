"""A new table of PostgreSQL: all its rows or none, in columns of the right types, under whatever names."""

from __future__ import annotations

import datetime as dt
import os
import signal
import subprocess
import sys
import textwrap
from decimal import Decimal

import psycopg
import pyarrow as pa
import pytest
from psycopg import sql

from tacita.domain import Categorical, Domain, Numeric
from tacita.engines.postgres import PostgresEngine
from tacita.engines.postgres.target import PostgresTarget, stored_type
from tacita.errors import DataError, InvalidInput, SourceUnavailable

pytestmark = pytest.mark.postgres

SECRET = "hunter2"


def run(url, *statements):
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement)


def read(url, table, schema="public"):
    with psycopg.connect(url) as connection:
        found = connection.execute(sql.SQL("SELECT * FROM {}").format(sql.Identifier(schema, table)))
        return [column.name for column in found.description], found.fetchall()


def tables(url):
    with psycopg.connect(url) as connection:
        listed = "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace ORDER BY 1"
        return [name for (name,) in connection.execute(listed).fetchall()]


def small(rows=3):
    return pa.table({"x": list(range(rows)), "y": [f"a{i}" for i in range(rows)]})


ODD = {
    "i8": (pa.int8(), [1, -128, None]),
    "i64": (pa.int64(), [2**63 - 1, -(2**63), None]),
    "u8": (pa.uint8(), [255, 0, None]),
    "u64": (pa.uint64(), [2**64 - 1, 0, None]),
    "f32": (pa.float32(), [1.5, float("inf"), None]),
    "f64": (pa.float64(), [5e-324, -1.7976931348623157e308, None]),
    "truth": (pa.bool_(), [True, False, None]),
    "text": (pa.string(), ["\\N", "a\tb\nc\\.", ""]),
    "view": (pa.string_view(), ["ä", "日本", None]),
    "levels": (pa.dictionary(pa.int32(), pa.string()), ["p", "q", None]),
    "bytes": (pa.binary(), [b"\0\xff", b"", None]),
    "day": (pa.date32(), [dt.date(1, 1, 1), dt.date(9999, 12, 31), None]),
    "at": (pa.timestamp("ns"), [dt.datetime(2020, 1, 1, 1, 2, 3, 4), dt.datetime(1960, 1, 1), None]),
    "zone": (pa.timestamp("s", "Europe/Berlin"), [dt.datetime(2020, 7, 1, 12, tzinfo=dt.UTC), None, None]),
    "time": (pa.time32("s"), [dt.time(23, 59, 59), dt.time(0), None]),
    "cents": (pa.decimal128(20, 4), [Decimal("-1.2345"), Decimal("9999999999999999.9999"), None]),
    "nothing": (pa.null(), [None, None, None]),
}


def test_values_of_all_types(postgres_url):
    table = pa.table({name: pa.array(values, kind) for name, (kind, values) in ODD.items()})
    target = PostgresTarget(postgres_url, "made")
    target.check(table.column_names)
    seen = []
    target.write(iter([table, table.slice(0, 0), table.slice(1)]), seen.append)
    assert seen == [3, 3, 5]
    names, rows = read(postgres_url, "made")
    assert names == list(ODD)
    for name, values, found in zip(ODD, (values for _, values in ODD.values()), zip(*rows, strict=True), strict=True):
        assert list(found) == [*values, *values[1:]], name


def test_no_rows_make_an_empty_table(postgres_url):
    PostgresTarget(postgres_url, "made").write(iter([small(0)]))
    assert read(postgres_url, "made") == (["x", "y"], [])


def test_what_was_written_is_a_source(postgres_url):
    PostgresTarget(postgres_url, "made").write(iter([small(30)]))
    domain = Domain(
        attributes=[Numeric(name="x", bounds=(0, 29), bins=3), Categorical(name="y", levels=["a1", "a2"], other=True)]
    )
    assert PostgresEngine(domain, postgres_url, "made").project(["y"]).values.tolist() == [1, 1, 28]


@pytest.mark.parametrize(
    "name", ['quo"te', "per%cent %s", "semi;colon -- ", "Ümlaut", "SELECT", "a.b", "'", "{x}", "\\", "$1", " "]
)
def test_hostile_names_stay_names(postgres_url, name):
    rows = pa.table({name: [1], f"{name}2": ["x"]})
    target = PostgresTarget(postgres_url, '"' + name.replace('"', '""') + '"')
    target.check(rows.column_names)
    target.write(iter([rows]))
    assert read(postgres_url, name) == ([name, f"{name}2"], [(1, "x")])
    assert tables(postgres_url) == [name]


@pytest.mark.parametrize("name", ["zero\0byte", "x" * 64, "ä" * 32, "", "\ud800"])
def test_names_that_the_server_would_cut_off_are_refused(postgres_url, name):
    with pytest.raises(InvalidInput):
        PostgresTarget(postgres_url, name)
    target = PostgresTarget(postgres_url, "made")
    with pytest.raises(InvalidInput, match="bytes"):
        target.check([name])
    with pytest.raises(InvalidInput, match="bytes"):
        target.write(iter([pa.table([[1]], names=[name])] if name != "\ud800" else [pa.table({"x" * 64: [1]})]))
    assert tables(postgres_url) == []


@pytest.mark.parametrize(
    "made",
    [
        "CREATE TABLE made (x int)",
        "CREATE VIEW made AS SELECT 1 AS x",
        "CREATE SEQUENCE made",
        "CREATE TABLE t (x int); CREATE INDEX made ON t (x)",
        "CREATE TYPE made AS ENUM ('a')",
        "CREATE TABLE made (x int) PARTITION BY LIST (x)",
    ],
)
def test_what_exists_is_refused_and_stays(postgres_url, made):
    run(postgres_url, made)
    before = tables(postgres_url)
    target = PostgresTarget(postgres_url, "made")
    for each in (target.check, lambda: target.write(iter([small()]))):
        with pytest.raises(InvalidInput, match="into: exists already"):
            each()
    assert tables(postgres_url) == before


def test_a_check_leaves_nothing(postgres_url):
    PostgresTarget(postgres_url, "made").check(["x"])
    assert tables(postgres_url) == []


def test_rights_are_checked_before(postgres_url):
    run(
        postgres_url,
        "DROP ROLE IF EXISTS no_writer",
        "CREATE ROLE no_writer LOGIN",
        "REVOKE CREATE ON SCHEMA public FROM PUBLIC",
        "CREATE SCHEMA other",
    )
    weak = postgres_url.replace("postgres@", "no_writer@")
    for table in ("public.made", "other.made"):
        with pytest.raises(SourceUnavailable, match="does not let this user create"):
            PostgresTarget(weak, table).check(["x"])
    with pytest.raises(InvalidInput, match="no such schema"):
        PostgresTarget(postgres_url, "absent.made").check()
    for schema in ("pg_temp", "pg_catalog", "information_schema"):
        with pytest.raises(InvalidInput, match="schema of the server itself"):
            PostgresTarget(postgres_url, f"{schema}.made")
    for wrong in ("a.b.c", '"made', "public.", ""):
        with pytest.raises(InvalidInput, match="into: must be a table"):
            PostgresTarget(postgres_url, wrong)
    run(
        postgres_url,
        "ALTER ROLE no_writer SET default_transaction_read_only = on",
        "GRANT ALL ON SCHEMA other TO no_writer",
    )
    with pytest.raises(SourceUnavailable, match="can only be read"):
        PostgresTarget(weak, "other.made").check()


def test_a_server_that_is_not_there():
    target = PostgresTarget(f"postgresql://user:{SECRET}@127.0.0.1:1/db?connect_timeout=2", "made")
    with pytest.raises(SourceUnavailable, match="cannot be reached") as refused:
        target.check()
    assert SECRET not in str(refused.value) + str(refused.value.private) + target.name


def test_what_fails_in_the_middle_leaves_nothing(postgres_url):
    class Stop(Exception):
        pass

    def stopping(rows):
        if rows > 3:
            raise Stop

    def failing():
        yield small()
        raise Stop

    target = PostgresTarget(postgres_url, "made")
    with pytest.raises(Stop):
        target.write(iter([small(), small(), small()]), stopping)
    with pytest.raises(Stop):
        target.write(failing())
    secret = pa.table({"x": [1], "y": ["secret\0value"]})
    with pytest.raises(DataError, match="zero byte") as refused:
        target.write(iter([small(), secret]))
    assert "secret" not in str(refused.value)
    with pytest.raises(DataError, match="other columns"):
        target.write(iter([small(), pa.table({"z": [1]})]))
    with pytest.raises(DataError, match="does not hold"):
        target.write(iter([small(), pa.table({"x": ["no number"], "y": ["a"]})]))
    assert tables(postgres_url) == []
    target.write(iter([small()]))
    assert len(read(postgres_url, "made")[1]) == 3


def test_a_writing_that_is_cancelled_leaves_nothing(postgres_url):
    hurried = f"{postgres_url}&options=-c%20statement_timeout%3D20"
    slow = pa.table({"x": [0] * 2_000_000, "y": ["a" * 20] * 2_000_000})
    with pytest.raises(SourceUnavailable, match="the database stopped the writing"):
        PostgresTarget(hurried, "made").write(iter([slow]))
    assert tables(postgres_url) == []


def test_nobody_sees_a_part(postgres_url):
    target, seen = PostgresTarget(postgres_url, "made"), []
    target.write(iter([small(), small()]), lambda _: seen.append(tables(postgres_url)))
    assert seen == [[], []]
    assert tables(postgres_url) == ["made"]


def test_a_table_that_comes_in_between_is_refused(postgres_url):
    def batches():
        run(postgres_url, "CREATE TABLE made (mine int)")
        yield small()

    with pytest.raises(InvalidInput, match="exists already"):
        PostgresTarget(postgres_url, "made").write(batches())
    assert read(postgres_url, "made") == (["mine"], [])


def test_a_killed_process_leaves_nothing(postgres_url):
    script = textwrap.dedent(
        """
        import itertools, sys, time
        import pyarrow as pa
        from tacita.engines.postgres.target import PostgresTarget
        def batches():
            for _ in itertools.count():
                yield pa.table({"x": list(range(1000))})
        PostgresTarget(sys.argv[1], "made").write(batches(), lambda rows: print(rows, flush=True))
        """
    )
    with subprocess.Popen([sys.executable, "-c", script, postgres_url], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        for _ in range(5):
            assert process.stdout.readline()
        os.kill(process.pid, signal.SIGKILL)
    PostgresTarget(postgres_url, "made").write(iter([small()]))  # waits for the lock of the other, if it is there still
    assert len(read(postgres_url, "made")[1]) == 3


def test_types_without_a_place(postgres_url):
    for kind in (pa.list_(pa.int8()), pa.struct([("a", pa.int8())]), pa.duration("s"), pa.decimal256(60, 2)):
        assert stored_type(kind) is None
        with pytest.raises(DataError, match="x: PostgreSQL has no such type"):
            PostgresTarget(postgres_url, "made").write(iter([pa.table({"x": pa.nulls(1, kind)})]))
    twice = pa.table([[1], [2]], names=["x", "x"])
    with pytest.raises(InvalidInput, match="two columns"):
        PostgresTarget(postgres_url, "made").write(iter([twice]))
    many = pa.table({f"x{i}": [1] for i in range(1601)})
    with pytest.raises(InvalidInput, match="at most 1600"):
        PostgresTarget(postgres_url, "made").write(iter([many]))
    assert tables(postgres_url) == []
