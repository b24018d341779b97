"""Sums in PostgreSQL: types that only a database has, one statement, and nothing pasted into it."""

from __future__ import annotations

import dataclasses

import psycopg
import pytest
from psycopg import sql

from tacita.domain import Boolean, Categorical, Date, Domain, Identifier, Numeric
from tacita.engines.postgres import PostgresEngine
from tacita.errors import InvalidInput, SourceUnavailable
from tacita.privacy.unit import Unit
from tacita.query import Aggregate, Aggregates
from tacita.query.expressions import Binary, Computed, Constant, Value
from tacita.query.summing import exact_sums, request_of
from tacita.testing.sums import Streaming, plan_of

pytestmark = pytest.mark.postgres

NUMBER = Numeric(name="x", bounds=(0, 10), bins=2, missing=True)


def run(url, *statements):
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement)


def statistics(name, *, numbers=True):
    kinds = ["count", "sum", "var"] if numbers else ["count"]
    found = [Aggregate(kind=kind, column=name) for kind in kinds]
    return [*found, Aggregate(kind="quantile", column=name, q=0.5)] if numbers else found


def agree(url, domain, plan, table="t", *, pushed=True):
    engine = PostgresEngine(domain, url, table)
    request = request_of(plan)
    assert request is not None
    assert (engine.sums(request) is not None) == pushed
    found = exact_sums(plan, engine)
    for mine, theirs in zip(found, exact_sums(plan, Streaming(engine)), strict=True):
        assert mine.tolist() == theirs.tolist()
    return found


def column(url, attribute, kind, *values, pushed=True):
    """Sums of a column of any type, by the server and streamed; the number of rows that have a number."""
    listed = ", ".join(f"({value}::{kind})" for value in values)
    run(url, "DROP TABLE IF EXISTS t", f"CREATE TABLE t (x {kind})", f"INSERT INTO t VALUES {listed}")
    domain = Domain(attributes=[attribute])
    numbers = isinstance(attribute, Numeric | Date | Boolean)
    found = agree(url, domain, plan_of(domain, statistics("x", numbers=numbers)), pushed=pushed)
    return int(found[0].sum()) >> (20 if numbers else 6)  # the shares of a row are 2^20 steps together


def test_numbers_of_all_types(postgres_url):
    for kind in ("int2", "int4", "int8", "float4", "float8"):
        assert column(postgres_url, NUMBER, kind, "-1", "0", "3", "7", "99", "null") == 5
    odd = ("'NaN'", "'Infinity'", "'-Infinity'", "'1e-320'", "'0.1'", "null")
    column(postgres_url, NUMBER, "float8", *odd)
    huge = ("1e400", "-1e400", "1e-400", "9.99999999999999999999999", "2.5", "'NaN'", "'Infinity'", "null", "0")
    column(postgres_url, NUMBER, "numeric", *huge)
    column(postgres_url, NUMBER.model_copy(update={"integer": True}), "numeric", *huge)
    column(postgres_url, NUMBER, "numeric(6,3)", "1.2345", "-7", "null")
    column(postgres_url, NUMBER, "bool", "true", "false", "null")


def test_dates_of_all_types(postgres_url):
    days = Date(name="x", bounds=("2020-01-01", "2020-12-31"), by="month", missing=True)
    odd = ("'2020-05-05'", "'infinity'", "'-infinity'", "'4713-01-01 BC'", "null", "'2020-12-31'")
    for kind in ("date", "timestamp", "timestamptz"):
        column(postgres_url, days, kind, *odd)
    column(postgres_url, days, "timestamptz", "'2020-05-05 23:30:00-05'", "'2020-01-01 00:30:00+14'")


def test_levels_and_truth_values_of_all_types(postgres_url):
    levels = Categorical(name="x", levels=("a", "1"), other=True)
    run(postgres_url, "CREATE TYPE mood AS ENUM ('a', 'b')")
    for kind, values in (
        ("text", ("'a'", "'q'", "null", "''")),
        ("mood", ("'a'", "'b'", "null")),
        ("int4", ("1", "2")),
    ):
        column(postgres_url, levels, kind, *values)
    column(postgres_url, Boolean(name="x", missing=True), "text", "'yes'", "'FALSE'", "'?'", "null")
    # texts that are numbers, and floats that are levels, are read here
    column(postgres_url, NUMBER, "text", "'1.5'", "'x'", "null", pushed=False)
    column(postgres_url, levels, "float8", "1", "2.5", pushed=False)


def test_texts_that_compare_by_another_rule_are_not_summed_wrongly(postgres_url):
    run(
        postgres_url,
        "CREATE COLLATION loose (provider = icu, locale = 'und-u-ks-level2', deterministic = false)",
        "CREATE TABLE t (who text, x float8, g text COLLATE loose)",
        "INSERT INTO t SELECT 'p' || i % 7, i / 7.0, CASE i % 3 WHEN 0 THEN 'a' WHEN 1 THEN 'A' ELSE 'b' END"
        " FROM generate_series(1, 90) AS i",
    )
    domain = Domain(
        person="who",
        attributes=[
            Identifier(name="who"),
            Numeric(name="x", bounds=(0, 12), bins=1),
            Categorical(name="g", levels=("a", "b"), other=True),
        ],
    )
    for max_rows in (1, 4):
        agree(
            postgres_url,
            domain,
            plan_of(domain, [*statistics("x"), *statistics("g", numbers=False)], ["g"], max_rows=max_rows),
        )


def test_hostile_names_stay_names(postgres_url):
    name, table = 'x"); DROP TABLE t; --%s{}', 'o"dd %s . {table}'
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(
            sql.SQL("CREATE TABLE {} ({} float8, {} text)").format(
                sql.Identifier(table), sql.Identifier(name), sql.Identifier("v0")
            )
        )
        connection.execute(sql.SQL("INSERT INTO {} VALUES (1, 'it''s'), (2, '%s')").format(sql.Identifier(table)))
    domain = Domain(
        attributes=[Numeric(name=name, bounds=(0, 4), bins=1), Categorical(name="v0", levels=("it's", "%s", "{}"))]
    )
    found = agree(postgres_url, domain, plan_of(domain, statistics(name), ["v0"]), [table])
    assert found[0][:, 0].sum() > 0


def test_views_partitions_and_empty_tables(postgres_url):
    run(
        postgres_url,
        "CREATE TABLE t (x float8, g int) PARTITION BY LIST (g)",
        "CREATE TABLE t0 PARTITION OF t FOR VALUES IN (0)",
        "CREATE TABLE t1 PARTITION OF t DEFAULT",
        "INSERT INTO t SELECT i / 10.0, i % 4 FROM generate_series(1, 100) AS i",
        "CREATE VIEW v AS SELECT * FROM t WHERE x > 2",
        "CREATE MATERIALIZED VIEW m AS SELECT * FROM t WHERE x > 4",
        "CREATE TABLE e (x float8, g int)",
    )
    domain = Domain(attributes=[NUMBER, Numeric(name="g", bounds=(0, 3), integer=True)])
    counts = [
        int(agree(postgres_url, domain, plan_of(domain, statistics("x"), ["g"]), each)[0].sum()) for each in "tvme"
    ]
    assert counts == [rows << 20 for rows in (100, 80, 60, 0)]


def test_one_statement_reads_one_state(postgres_url, monkeypatch):
    run(postgres_url, "CREATE TABLE t (x float8, g int)", "INSERT INTO t VALUES (1, 0)")
    domain = Domain(attributes=[NUMBER, Numeric(name="g", bounds=(0, 3), integer=True)])
    engine, sent = PostgresEngine(domain, postgres_url, "t"), []
    execute = engine._execute
    monkeypatch.setattr(engine, "_execute", lambda *given: sent.append(given) or execute(*given))
    monkeypatch.setattr(engine, "rows", lambda *_: pytest.fail("the rows were streamed"))
    exact_sums(plan_of(domain, [*statistics("x"), *statistics("g"), Aggregate(kind="count")], ["g"]), engine)
    assert len(sent) == 1


def test_computed_columns_and_much_too_many_groups_are_streamed(postgres_url):
    wide = Numeric(name="x", bounds=(0, 999), integer=True)
    others = [wide.model_copy(update={"name": name}) for name in ("y", "z")]
    domain = Domain(attributes=[wide, *others])
    plan = plan_of(domain, [Aggregate(kind="sum", column="x")], ["y"])
    assert request_of(plan) is not None
    made = Computed(name="m", of=Binary("+", Value("x"), Constant(1.0)))
    recipe = Aggregates(aggregates=[Aggregate(kind="sum", column="m")], computed=[made])
    assert request_of(dataclasses.replace(plan, recipe=recipe, measures=recipe.measures(domain))) is None
    many = plan_of(domain, [Aggregate(kind="quantile", column="x", q=0.5)], ["y", "z"])
    assert request_of(many) is None


def test_refusals_are_those_of_streaming(postgres_url):
    run(postgres_url, "CREATE TABLE t (who text, x float8)", "INSERT INTO t VALUES ('p', 1)")
    domain = Domain(person="who", attributes=[Identifier(name="who"), NUMBER])
    plan = plan_of(domain, statistics("x"))
    engine, wrong = PostgresEngine(domain, postgres_url, "t"), dataclasses.replace(plan, unit=Unit.row())
    errors = []
    for each in (engine, Streaming(engine)):
        with pytest.raises(InvalidInput) as refused:
            exact_sums(wrong, each)
        errors.append(str(refused.value))
    assert errors[0] == errors[1]


def test_a_statement_that_takes_too_long_says_no_more(postgres_url):
    run(
        postgres_url,
        "CREATE VIEW slow AS SELECT 7.5::float8 AS x FROM generate_series(1, 1000) WHERE pg_sleep(1) IS NOT NULL",
    )
    domain = Domain(attributes=[NUMBER])
    engine = PostgresEngine(domain, postgres_url, "slow", timeout=1)
    with pytest.raises(SourceUnavailable, match="did not answer in time") as late:
        exact_sums(plan_of(domain, statistics("x")), engine)
    assert "7.5" not in str(late.value)
