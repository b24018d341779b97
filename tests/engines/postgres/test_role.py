from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from tacita.domain import Boolean, Domain
from tacita.engines.postgres import PostgresEngine

pytestmark = pytest.mark.postgres

DOMAIN = Domain(attributes=[Boolean(name="x")])
ROLES = ("reader", "writer", "grower", "owner")


@pytest.fixture
def url(postgres_url: str) -> Iterator[str]:
    database = conninfo_to_dict(postgres_url)["dbname"]
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        for role in ROLES:
            connection.execute(f"CREATE ROLE {role} LOGIN")
        for statement in (
            'CREATE TABLE "a ""table" (x bool)',
            'GRANT SELECT ON "a ""table" TO reader, writer, grower',
            'GRANT INSERT, DELETE ON "a ""table" TO writer',
            f"GRANT CREATE ON DATABASE {database} TO grower",
            'ALTER TABLE "a ""table" OWNER TO owner',
            "REVOKE CREATE ON SCHEMA public FROM PUBLIC",
        ):
            connection.execute(statement)
        yield postgres_url
        connection.execute(f"DROP OWNED BY {', '.join(ROLES)}")
        connection.execute(f"DROP ROLE {', '.join(ROLES)}")


@pytest.mark.parametrize(
    ("role", "said"),
    [
        ("reader", ()),
        ("writer", ("can write to the table (INSERT, DELETE)",)),
        ("grower", ("can create tables",)),
        ("owner", ("owns the table",)),
        ("postgres", ("is a superuser",)),
    ],
)
def test_a_role_that_can_do_more_than_read_is_told(url: str, role: str, said: tuple[str, ...]) -> None:
    found = PostgresEngine(DOMAIN, url.replace("postgres@", f"{role}@"), ['a "table']).check()
    assert len(found.advice) == len(said)
    for sentence, part in zip(found.advice, said, strict=True):
        assert part in sentence
        assert "SELECT alone" in sentence
    assert found.fits


def test_the_advice_is_true(url: str) -> None:
    """What the reader is not warned of, it cannot do."""
    reader = url.replace("postgres@", "reader@")
    for statement in (
        'DELETE FROM "a ""table"',
        'INSERT INTO "a ""table" VALUES (true)',
        'TRUNCATE "a ""table"',
        "CREATE TABLE other (x bool)",
    ):
        with pytest.raises(psycopg.errors.InsufficientPrivilege), psycopg.connect(reader) as connection:
            connection.execute(statement)
