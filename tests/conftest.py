"""Fixtures for all tests. Nothing starts before a test asks for it."""

from __future__ import annotations

import os
from collections.abc import Iterator

# Before numpy is imported: each worker has a core of its own, and threads of the linear algebra that wait for a core
# burn it (a test of estimation: 7 CPU s instead of 31). What a test starts inherits it.
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("OMP_NUM_THREADS", "1")

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
