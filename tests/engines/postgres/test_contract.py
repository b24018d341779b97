from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import adbc_driver_postgresql.dbapi as adbc
import pyarrow as pa
import pytest
from tests.support.postgres import PostgresServer

from tacita.domain import Domain
from tacita.engines.base import Engine
from tacita.engines.postgres import PostgresEngine
from tacita.testing import EngineContract

pytestmark = pytest.mark.postgres


@pytest.fixture(scope="module")
def database(postgres: PostgresServer) -> Iterator[tuple[str, Any]]:
    url = postgres.create_database()
    with adbc.connect(url) as connection:  # connecting is slow, so all tests write through one connection
        yield url, connection


class InPostgres(EngineContract):
    pushed_tables = 1000

    @pytest.fixture(autouse=True)
    def _connect(self, database: tuple[str, Any]) -> None:
        self.url, self.connection = database

    def make(self, domain: Domain, table: pa.Table) -> Engine:
        with self.connection.cursor() as cursor:
            cursor.adbc_ingest('a "table"', table, mode="replace")
            self.connection.commit()
        return PostgresEngine(domain, self.url, ['a "table"'], pushed_tables=self.pushed_tables)


class TestPushedDown(InPostgres):
    adds = frozenset({"rows", "persons"})


class TestStreamed(InPostgres):
    pushed_tables = 0
