"""Fixtures for all tests. Nothing starts before a test asks for it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import settings
from tests.support.postgres import PostgresServer

# tests assert no times: a busy machine must not fail them
settings.register_profile("tacita", deadline=None)
settings.load_profile("tacita")


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A real PostgreSQL; each xdist worker has its own."""
    with PostgresServer() as server:
        yield server


@pytest.fixture
def postgres_url(postgres: PostgresServer) -> str:
    """Address of an empty database that only this test uses."""
    return postgres.create_database()
