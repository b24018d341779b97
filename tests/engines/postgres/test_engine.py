from __future__ import annotations

import threading
from typing import Any

import psycopg
import pyarrow as pa
import pytest
from tests.support.postgres import PostgresServer

from tacita.domain import Boolean, Categorical, Date, Domain, Identifier, Numeric
from tacita.engines.postgres import PostgresEngine, driver
from tacita.engines.postgres.names import table_parts
from tacita.errors import DataError, InternalError, InvalidInput, SourceUnavailable
from tacita.privacy.unit import Unit
from tacita.tables.workload import Workload

pytestmark = pytest.mark.postgres

DOMAIN = Domain(attributes=[Categorical(name="x", levels=["a", "b"]), Boolean(name="y", missing=True)])
DEAD = "postgresql://user:SECRET@127.0.0.1:1/db?connect_timeout=2"


def run(url: str, *statements: str) -> None:
    with psycopg.connect(url) as connection:
        for statement in statements:
            connection.execute(statement)


@pytest.fixture
def url(postgres_url: str) -> str:
    run(
        postgres_url,
        "CREATE TABLE t (x text, y bool)",
        "INSERT INTO t VALUES ('a', true), ('b', null), ('c', true)",
    )
    return postgres_url


def column(url: str, attribute: Any, sql_type: str, *values: str) -> list[int]:
    """Counts of one column, the same pushed down and streamed."""
    rows = ", ".join(f"({value}::{sql_type})" for value in values)
    run(url, "DROP TABLE IF EXISTS c", f"CREATE TABLE c (x {sql_type})", f"INSERT INTO c VALUES {rows}")
    domain = Domain(attributes=[attribute])
    pushed, streamed = (PostgresEngine(domain, url, "c", pushed_tables=n).project(["x"]) for n in (9, 0))
    assert pushed == streamed
    counts: list[int] = pushed.values.tolist()
    return counts


def test_types_that_only_a_database_has(url: str) -> None:
    run(url, "CREATE TYPE mood AS ENUM ('sad', 'ok')", "CREATE DOMAIN short AS varchar(9)")
    moods = Categorical(name="x", levels=["ok", "sad"])
    assert column(url, moods, "mood", "'sad'", "'ok'", "'sad'", "null") == [1, 2]
    assert column(url, moods, "char(5)", "'sad'", "'ok'", "'x'") == [1, 1]
    assert column(url, moods, "short", "'sad'", "'ok'", "'x'") == [1, 1]
    name = "6f1c24d4-0f5b-4b33-9d0a-0d5ff6e8a6f5"
    assert column(url, Categorical(name="x", levels=[name]), "uuid", f"'{name}'", "null") == [1]
    assert column(url, Categorical(name="x", levels=["1.50"]), "numeric", "1.50", "1.5") == [1]
    assert column(url, Categorical(name="x", levels=["{}"], other=True), "jsonb", "'{}'", "'[1]'") == [1, 1]


def test_decimals_of_any_size(url: str) -> None:
    attribute = Numeric(name="x", bounds=(0, 1), edges=(0, 0.1, 0.5, 1), missing=True)
    values = [
        "0.1",
        "0.09999999999999999",
        "0.1000000000000000055511151231257827",
        "1e400",
        "-1e400",
        "1e-400",
    ]
    assert column(url, attribute, "numeric", *values, "'NaN'", "'Infinity'", "null") == [3, 2, 2, 2]


def test_infinite_and_ancient_dates(url: str) -> None:
    attribute = Date(name="x", bounds=("2024-01-01", "2024-03-31"), by="month")
    by_week = Date(name="x", bounds=("1994-01-03", "2024-03-31"), by="week")  # more bins than a statement holds
    for kind in ("date", "timestamp", "timestamptz"):
        last = "'5874897-12-31'" if kind == "date" else "'294276-12-31 23:59'"
        values = ["'infinity'", "'-infinity'", "'2024-02-10'", "'0044-03-15 BC'", "'4713-11-24 BC'", last, "null"]
        assert column(url, attribute, kind, *values) == [3, 1, 2]
        weeks = column(url, by_week, kind, *values)
        assert (weeks[0], weeks[-1], sum(weeks)) == (3, 2, 6)
        engine = PostgresEngine(Domain(attributes=[attribute]), url, "c")
        assert sum(batch.num_rows for batch in engine.rows(["x"])) == 7


def test_time_zones_are_read_at_utc(url: str) -> None:
    run(url, f"ALTER DATABASE {psycopg.conninfo.conninfo_to_dict(url)['dbname']} SET timezone = 'Asia/Tokyo'")
    attribute = Date(name="x", bounds=("2024-01-01", "2024-01-03"), by="day")
    assert column(url, attribute, "timestamptz", "'2024-01-02 08:00+09'", "'2024-01-02 09:00+09'") == [
        1,
        1,
        0,
    ]


def test_more_levels_and_bins_than_a_statement_should_hold(url: str) -> None:
    levels = [f"l{i}" for i in range(1500)]
    assert column(url, Categorical(name="x", levels=levels), "text", "'l0'", "'l1499'", "'x'")[::1499] == [
        1,
        1,
    ]
    assert column(url, Numeric(name="x", bounds=(0, 1), bins=1500), "float8", "0", "1", "2")[::1499] == [1, 2]
    assert column(url, Numeric(name="x", bounds=(0, 1), bins=1500), "numeric", "0", "1", "'NaN'")[::1499] == [
        1,
        1,
    ]
    assert column(url, Numeric(name="x", bounds=(0, 5000), integer=True), "int8", "0", "5000")[::5000] == [
        1,
        1,
    ]


def test_levels_that_no_database_text_can_be(url: str) -> None:
    attribute = Categorical(name="x", levels=["a\0b", "a"], other=True)
    assert column(url, attribute, "text", "'a'", "'ab'") == [0, 1, 1]


def test_more_columns_than_one_statement_tells_apart(url: str) -> None:
    names = [f"c{i}" for i in range(40)]
    run(url, f"CREATE TABLE wide AS SELECT {', '.join(f'{i % 3 == 0} AS c{i}' for i in range(40))}")
    engine = PostgresEngine(Domain(attributes=[Boolean(name=n) for n in names]), url, "wide", pushed_tables=99)
    tables = engine.tables(Workload.of(*[[n] for n in names], names), Unit.row())
    assert [tables[n,].values.tolist()[1] for n in names] == [int(i % 3 == 0) for i in range(40)]
    assert tables[tuple(names)].sum() == 1
    assert engine.check().fits


def test_all_tables_come_from_one_state(url: str) -> None:
    """Rows that arrive while a stream is read are in none of its tables."""
    domain = Domain(person="who", attributes=[Identifier(name="who"), Numeric(name="n", bounds=(0, 9), bins=2)])
    run(
        url,
        "CREATE TABLE p AS SELECT (i % 500)::text AS who, '1'::text AS n FROM generate_series(1, 2000) AS i",
    )
    engine = PostgresEngine(domain, url, "p")
    done = threading.Event()

    def disturb() -> None:
        while not done.is_set():
            run(
                url,
                "INSERT INTO p SELECT '7', '8' FROM generate_series(1, 50)",
                "DELETE FROM p WHERE n = '8'",
            )

    thread = threading.Thread(target=disturb)
    thread.start()
    try:
        for _ in range(3):
            tables = engine.tables(Workload.of(["n"]), Unit.of_person("who", max_rows=2))
            assert tables["n",].values.tolist() == [1000, 0]
    finally:
        done.set()
        thread.join()


def test_the_transaction_cannot_write(url: str) -> None:
    engine = PostgresEngine(DOMAIN, url, "t")
    with pytest.raises(DataError, match="25006"), engine._server.snapshot() as connection:
        connection.execute("DELETE FROM public.t")
    with pytest.raises(DataError, match="25006"), engine._server.arrow_snapshot() as connection:
        connection.cursor().execute("DELETE FROM public.t")
    with engine._server.arrow_snapshot() as connection, connection.cursor() as cursor:
        cursor.execute("SELECT current_setting('transaction_isolation') AS a, current_setting('TimeZone') AS b")
        assert cursor.fetchone() == ("repeatable read", "UTC")


def test_a_view_is_as_good_as_a_table(url: str) -> None:
    run(url, "CREATE SCHEMA s", "CREATE VIEW s.v AS SELECT * FROM t WHERE y")
    for table in ("s.v", ("s", "v"), '"s"."v"'):
        assert PostgresEngine(DOMAIN, url, table).project(["x"]).values.tolist() == [1, 0]


# -- names ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "parts"),
    [("t", ("t",)), ("s.t", ("s", "t")), ('"a.b".c', ("a.b", "c")), ('"a""b"', ('a"b',)), ("Å b", ("Å b",))],
)
def test_names_of_tables(text: str, parts: tuple[str, ...]) -> None:
    assert table_parts(text) == parts


@pytest.mark.parametrize("table", ["", ".", "a.", ".a", "a.b.c", '"a', 'a"b', '"a"b', "a\0", (), ("", "a"), ("a", 1)])
def test_names_that_are_none(table: Any) -> None:
    with pytest.raises(InvalidInput, match="table: must be a table"):
        table_parts(table)


@pytest.mark.parametrize("name", ["t; DROP TABLE t", "t--", "t' OR 1=1", "T", "pg_temp.t"])
def test_no_name_is_more_than_a_name(url: str, name: str) -> None:
    with pytest.raises(DataError, match="table: no such table"):
        PostgresEngine(DOMAIN, url, name)
    assert PostgresEngine(DOMAIN, url, "t").check().rows == 3


# -- refusals ------------------------------------------------------------------------------------------------


def test_a_database_that_is_away() -> None:
    with pytest.raises(SourceUnavailable, match=r"cannot be reached, got '127\.0\.0\.1/db'") as caught:
        PostgresEngine(DOMAIN, DEAD, "t")
    assert "SECRET" not in f"{caught.value.as_dict()} {caught.value.private} {caught.value!r}"


def test_a_database_that_goes_away(url: str) -> None:
    def outlive() -> None:
        with driver.Server(url).snapshot() as connection:
            run(url, f"SELECT pg_terminate_backend({connection.info.backend_pid})")
            connection.execute("SELECT 1")

    with pytest.raises(SourceUnavailable, match="cannot be reached"):
        outlive()


def test_the_engine_recovers_when_the_database_does(url: str) -> None:
    engine = PostgresEngine(DOMAIN, url, "t")
    run(url, "ALTER TABLE t RENAME TO away")
    with pytest.raises(DataError, match="no such table"):
        engine.check()
    run(url, "ALTER TABLE away RENAME TO t")
    assert engine.check().rows == 3


@pytest.mark.parametrize("bad", ["postgresql://user:SECRET@host:port:x/db", "host = 'SECRET", "postgresql://SECRET@["])
def test_an_address_that_is_none_is_not_repeated(bad: str) -> None:
    with pytest.raises((InvalidInput, SourceUnavailable)) as caught:
        PostgresEngine(DOMAIN, bad, "t")
    assert "SECRET" not in f"{caught.value} {caught.value.as_dict()}"


def test_a_missing_column(url: str) -> None:
    domain = Domain(attributes=[Boolean(name="z")])
    with pytest.raises(DataError, match=r"z: the schema has this column.*columns are: x, y"):
        PostgresEngine(domain, url, "t")


def test_no_right_to_read(url: str) -> None:
    run(url, "DROP ROLE IF EXISTS visitor", "CREATE ROLE visitor LOGIN")
    with pytest.raises(SourceUnavailable, match="does not let this user read"):
        PostgresEngine(DOMAIN, url.replace("postgres@", "visitor@"), "t")
    run(url, "DROP ROLE visitor")


def test_a_type_that_cannot_hold_the_attribute(url: str) -> None:
    run(url, "CREATE TABLE w AS SELECT DATE '2024-01-01' AS x")
    with pytest.raises(DataError, match="x: a column of this type cannot hold a numeric attribute, got 'date32"):
        PostgresEngine(Domain(attributes=[Numeric(name="x", bounds=(0, 1), bins=2)]), url, "w")


KEYS = {
    "numeric": ["1", "1.0", "1.00", "1.5", "1.50", "100", "1e2", "'NaN'", "0", "0.000", "1e-20", "'Infinity'"],
    "numeric(9, 3)": ["1", "1.0", "1.5", "100", "0"],
    "int8": ["1", "01", "100", "-1"],
    "text": ["'ann'", "'Ann'", "'ann '", "'1'", "'1.0'", "'é'", "U&'e\\0301'"],
    "char(5)": ["'ann'", "'ann '", "'Ann'"],
    "uuid": ["'6f1c24d4-0f5b-4b33-9d0a-0d5ff6e8a6f5'", "'6F1C24D40F5B4B339D0A0D5FF6E8A6F5'"],
    "mood": ["'ok'", "'sad'", "'ok'"],
    "money_like": ["1.10", "1.1"],
}
REFUSED = {
    "citext": ["'ann'", "'Ann'"],
    "text COLLATE loose": ["'ann'", "'Ann'"],
    "loose_text": ["'ann'", "'Ann'"],
    "float8": ["1.5", "1.50"],
    "interval": ["'1 day'", "'24 hours'"],
    "jsonb": ["'1'", "'1.0'"],
    "timestamptz": ["'2024-01-01'"],
    "date": ["'2024-01-01'"],
    "bool": ["true"],
    "bytea": ["'a'"],
    "inet": ["'::1'"],
}


def keyed(url: str, sql_type: str, values: list[str]) -> tuple[str, int]:
    """A table with such keys, each in two rows, and how many persons the database sees in it."""
    rows = ", ".join(f"({value}::{sql_type}, '{n}')" for value in values for n in (1, 7))
    run(
        url,
        "CREATE EXTENSION citext",
        "CREATE TYPE mood AS ENUM ('sad', 'ok')",
        "CREATE DOMAIN money_like AS numeric",
        "CREATE COLLATION loose (provider = icu, locale = 'und-u-ks-level2', deterministic = false)",
        "CREATE DOMAIN loose_text AS text COLLATE loose",
        f"CREATE TABLE keyed (who {sql_type}, x text)",
        f"INSERT INTO keyed VALUES {rows}, (null, '3')",
        "CREATE VIEW seen AS SELECT x, who FROM keyed",
    )
    with psycopg.connect(url) as connection:
        (persons,) = connection.execute("SELECT count(DISTINCT who) FROM keyed").fetchone() or (0,)
    return "seen", persons


@pytest.mark.parametrize("sql_type", KEYS)
def test_equal_keys_have_equal_texts(url: str, sql_type: str) -> None:
    table, persons = keyed(url, sql_type, KEYS[sql_type])
    as_levels = Categorical(name="x", levels=["1", "7", "3"])
    parsed = Numeric(name="x", bounds=(0, 10), bins=2)  # text that is parsed is bounded on this side
    for attribute, pushed in ((as_levels, 9), (as_levels, 0), (parsed, 9)):
        domain = Domain(person="who", attributes=[Identifier(name="who"), attribute])
        engine = PostgresEngine(domain, url, table, pushed_tables=pushed)
        for max_rows in (1, 2):
            found = engine.tables(Workload.of(["x"]), Unit.of_person("who", max_rows=max_rows))
            assert found["x",].sum() == max_rows * persons
        texts = {key for batch in engine.rows(["who"]) for key in batch.column(0).to_pylist() if key is not None}
        assert len(texts) == persons


@pytest.mark.parametrize("sql_type", REFUSED)
def test_keys_whose_text_says_too_little_are_refused(url: str, sql_type: str) -> None:
    table, _ = keyed(url, sql_type, REFUSED[sql_type])
    domain = Domain(person="who", attributes=[Identifier(name="who"), Categorical(name="x", levels=["1"])])
    kind = "text" if "loose" in sql_type else sql_type
    with pytest.raises(DataError, match=f"who: a person's key must be text.*got '{kind}"):
        PostgresEngine(domain, url, table)


def test_codes_that_sql_got_wrong_are_not_counted(url: str) -> None:
    for pushed in (9, 0):
        engine = PostgresEngine(DOMAIN, url, "t", pushed_tables=pushed)
        for wrong in ("-1", "7", "300"):
            engine._codes["x"] = psycopg.sql.SQL(wrong)
            with pytest.raises(InternalError, match="x: a code lies outside the domain"):
                engine.project(["x"])


def test_a_database_in_another_encoding(postgres: PostgresServer) -> None:
    levels = Domain(attributes=[Categorical(name="x", levels=["größe", "a"])])
    for encoding in ("LATIN1", "SQL_ASCII"):
        name = f"in_{encoding.lower()}"
        with psycopg.connect(postgres.url(), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name} ENCODING '{encoding}' TEMPLATE template0")
        url = postgres.url(name)
        run(url, "SET client_encoding = 'UTF8'", "CREATE TABLE t AS SELECT 'größe'::text AS x")
        if encoding == "SQL_ASCII":
            with pytest.raises(DataError, match="must have a text encoding"):
                PostgresEngine(levels, url, "t")
            continue
        for pushed in (9, 0):
            engine = PostgresEngine(levels, url, "t", pushed_tables=pushed)
            assert engine.project(["x"]).values.tolist() == [1, 0]
            assert [batch.to_pylist() for batch in engine.rows(["x"])] == [[{"x": "größe"}]]


def test_a_slow_statement_is_stopped(url: str) -> None:
    run(url, "CREATE VIEW slow AS SELECT *, pg_sleep(20)::text AS z FROM t")
    domain = Domain(attributes=[*DOMAIN.attributes, Categorical(name="z", levels=["a"])])
    engine = PostgresEngine(domain, url, "slow", timeout=0.2)
    with pytest.raises(SourceUnavailable, match=r"in time.*limit is 0\.2 s"):
        engine.project(["z"])
    with pytest.raises(SourceUnavailable, match="in time"):
        list(engine.rows(["z"]))


@pytest.mark.parametrize("arguments", [{"timeout": 0}, {"timeout": float("nan")}, {"pushed_tables": -1}])
def test_arguments_are_checked(arguments: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        PostgresEngine(DOMAIN, DEAD, "t", **arguments)


def test_what_is_missing_says_how_to_get_it() -> None:
    with pytest.raises(InvalidInput, match=r'pip install "tacita\[postgres\]"'):
        driver.load("no_such_driver.sql")


def test_rows_stream_and_may_be_left_early(url: str) -> None:
    run(url, "CREATE TABLE many AS SELECT i AS x, i::numeric / 4 AS n FROM generate_series(1, 300000) AS i")
    domain = Domain(attributes=[Numeric(name=name, bounds=(0, 9), bins=3) for name in ("x", "n")])
    engine = PostgresEngine(domain, url, "many")
    batches = engine.rows(["n", "x"], batch_rows=1000)
    first = next(batches)
    assert first.schema.types == [pa.float64(), pa.int32()]
    assert first.num_rows == 1000
    batches.close()  # type: ignore[attr-defined]
    assert sum(batch.num_rows for batch in engine.rows(["x"])) == 300_000


def test_the_address_is_not_shown(url: str) -> None:
    assert "SECRET" not in repr(driver.Server("postgresql://u:SECRET@h/d"))
