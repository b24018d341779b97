"""A role that may create functions, and may not read the table, tries to run its own as the engine's role."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pyarrow as pa
import pytest

from tacita.domain import Boolean, Categorical, Domain, Identifier, Numeric
from tacita.engines.postgres import PostgresEngine
from tacita.engines.postgres.target import PostgresTarget
from tacita.privacy.unit import Unit
from tacita.query import Aggregate
from tacita.query.summing import exact_sums, request_of
from tacita.tables.workload import Workload
from tacita.testing.sums import plan_of

pytestmark = pytest.mark.postgres

DOMAIN = Domain(
    attributes=[
        Identifier(name="who"),
        Numeric(name="x", bounds=(0, 30), edges=(0, 7, 20, 30)),
        Boolean(name="y"),
        Categorical(name="z", levels=["a", "b"]),
    ],
    person="who",
)
WORKLOAD = Workload.of(("x",), ("y", "z"))
RAISE = "LANGUAGE plpgsql AS $$ BEGIN RAISE 'the function of a stranger runs as %', current_user; END $$"
# overloads that match the arguments of our statements, and of ADBC's own, more closely than the built-in functions do
OVERLOADS = (
    "FUNCTION public.width_bucket(float8, float8[]) RETURNS int LANGUAGE sql AS 'SELECT 3'",
    f"FUNCTION public.convert_to(text, text) RETURNS bytea {RAISE}",
    f"FUNCTION public.lower(text) RETURNS text {RAISE}",
    f"FUNCTION public.differ(regproc, int) RETURNS bool {RAISE}",
    f"FUNCTION public.equal(name, text) RETURNS bool {RAISE}",
    "OPERATOR public.<> (LEFTARG = regproc, RIGHTARG = int, FUNCTION = public.differ)",
    "OPERATOR public.= (LEFTARG = name, RIGHTARG = text, FUNCTION = public.equal)",
)


@pytest.fixture
def url(postgres_url: str) -> Iterator[str]:
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        for statement in (
            "CREATE ROLE counter LOGIN",
            "CREATE ROLE stranger LOGIN",
            "CREATE TABLE t (who text, x float8, y text, z text)",
            "INSERT INTO t VALUES ('1', 1, 'yes', 'a'), ('1', 8, 'no', 'b')",
            "INSERT INTO t VALUES ('2', 25, 'yes', 'b'), ('3', 2, 'no', 'a')",
            "GRANT SELECT ON t TO counter",
            "GRANT CREATE ON SCHEMA public TO stranger",
        ):
            connection.execute(statement)
        with psycopg.connect(postgres_url.replace("postgres@", "stranger@")) as stranger:
            for overload in OVERLOADS:
                stranger.execute(f"CREATE {overload}")
        with (
            pytest.raises(psycopg.errors.InsufficientPrivilege),
            psycopg.connect(postgres_url.replace("postgres@", "stranger@")) as stranger,
        ):
            stranger.execute("SELECT * FROM t")
        yield postgres_url.replace("postgres@", "counter@")
        connection.execute("DROP OWNED BY counter, stranger CASCADE")
        connection.execute("DROP ROLE counter, stranger")


@pytest.mark.parametrize("pushed", [16, 0])
def test_functions_of_strangers_do_not_run(url: str, pushed: int) -> None:
    engine = PostgresEngine(DOMAIN, url, "t", pushed_tables=pushed)
    assert engine.project(["x"]).values.tolist() == [2, 1, 1]
    bounded = engine.tables(WORKLOAD, Unit.of_person("who", max_rows=2))
    assert bounded.project(["x"]).values.tolist() == [2, 1, 1]
    assert bounded.project(["y", "z"]).values.tolist() == [[1, 1], [1, 1]]


def test_rows_and_the_check_run_no_function_of_a_stranger(url: str) -> None:
    engine = PostgresEngine(DOMAIN, url, "t")
    assert sum(batch.num_rows for batch in engine.rows(["x", "y"])) == 4
    assert engine.check().fits


def test_sums_run_no_function_of_a_stranger(url: str) -> None:
    wanted = [Aggregate(kind="var", column="x"), Aggregate(kind="quantile", column="x", q=0.5)]
    plan = plan_of(DOMAIN, wanted, ["y"], max_rows=2)
    engine, request = PostgresEngine(DOMAIN, url, "t"), request_of(plan)
    assert request is not None
    assert engine.sums(request) is not None
    assert int(exact_sums(plan, engine)[0].sum()) == 4 << 20


def test_writing_runs_no_function_of_a_stranger(url: str) -> None:
    with psycopg.connect(url.replace("counter@", "postgres@"), autocommit=True) as owner:
        owner.execute("GRANT CREATE ON SCHEMA public TO counter")
    target = PostgresTarget(url, "made")
    target.check(["x"])
    target.write(iter([pa.table({"x": [1, 2], "y": ["a", None]})]))
    with psycopg.connect(url) as connection:
        assert connection.execute("SELECT pg_catalog.count(*) FROM public.made").fetchone() == (2,)


def test_the_path_is_set_beside_options_of_the_address(url: str) -> None:
    engine = PostgresEngine(DOMAIN, f"{url}&options=-c%20statement_timeout%3D120s", "t", pushed_tables=0)
    assert engine.project(["y"]).values.tolist() == [2, 2]


def test_a_schema_that_everyone_may_write_to_is_advised_against(url: str) -> None:
    with psycopg.connect(url.replace("counter@", "postgres@"), autocommit=True) as owner:
        owner.execute("GRANT CREATE ON SCHEMA public TO PUBLIC")
        advice = PostgresEngine(DOMAIN, url, "t").check().advice
        owner.execute("REVOKE CREATE ON SCHEMA public FROM PUBLIC")
    assert any("REVOKE CREATE ON SCHEMA public FROM PUBLIC" in sentence for sentence in advice)
    assert PostgresEngine(DOMAIN, url, "t").check().advice == ()


def test_a_table_is_found_by_the_search_path_of_the_role(url: str) -> None:
    with psycopg.connect(url.replace("counter@", "postgres@"), autocommit=True) as owner:
        owner.execute("CREATE SCHEMA mine")
        owner.execute("CREATE VIEW mine.t AS SELECT * FROM public.t WHERE who <> '1'")
        owner.execute("GRANT USAGE ON SCHEMA mine TO counter")
        owner.execute("GRANT SELECT ON mine.t TO counter")
        owner.execute("ALTER ROLE counter SET search_path = mine, public")
    assert PostgresEngine(DOMAIN, url, "t").project(["x"]).values.tolist() == [1, 0, 1]
    assert PostgresEngine(DOMAIN, url, "public.t").project(["x"]).values.tolist() == [2, 1, 1]
