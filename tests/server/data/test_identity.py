from __future__ import annotations

import psycopg
import pytest

from tacita.server.data.identity import identity_of
from tacita.settings import SourceSettings

pytestmark = pytest.mark.postgres


def test_a_partition_and_its_parent_share_data_and_two_partitions_do_not(postgres_url: str) -> None:
    with psycopg.connect(postgres_url) as connection:
        for statement in (
            "CREATE TABLE whole (x int) PARTITION BY LIST (x)",
            "CREATE TABLE one PARTITION OF whole FOR VALUES IN (1)",
            "CREATE TABLE rest PARTITION OF whole DEFAULT PARTITION BY LIST (x)",
            "CREATE TABLE two PARTITION OF rest FOR VALUES IN (2)",
            "CREATE TABLE base (x int)",
            "CREATE TABLE heir () INHERITS (base)",
        ):
            connection.execute(statement)
    whole, one, rest, two, base, heir = (
        identity_of(SourceSettings(url=postgres_url, table=name))
        for name in ("whole", "one", "rest", "public.two", "base", "heir")
    )
    assert whole & one
    assert whole & two
    assert rest & two
    assert base & heir
    assert not one & rest
    assert not one & two
    assert not whole & base


def test_a_table_that_is_gone_has_no_marks(postgres_url: str) -> None:
    assert identity_of(SourceSettings(url=postgres_url, table="gone")) == frozenset()
