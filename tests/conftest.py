"""Fixtures for all tests. Nothing starts before a test asks for it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

# Before numpy is imported: each worker has a core of its own, and threads of the linear algebra that wait for a core
# burn it (a test of estimation: 7 CPU s instead of 31). What a test starts inherits it.
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("OMP_NUM_THREADS", "1")

import pytest
from hypothesis import settings
from tests.support.postgres import PostgresServer

# Files that take longest, and long ones that would come last: begun first, so that no worker is left with one of them
# when the other is done.
LONGEST = (
    "browser/test_console_releases.py",
    "browser/test_console_datasets.py",
    "browser/test_console_people.py",
    "browser/test_console_campaigns.py",
    "browser/test_console_tour.py",
    "browser/test_console_comparisons.py",
    "browser/test_console_holders.py",
    "tools/test_faults.py",
    "tools/test_fuzz.py",
    "testing/test_clock.py",
    "synthesize/gan/test_adversarial.py",
    "test_docs.py",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the longest files first; all others stay in their order."""
    place = {str(Path(__file__).parent / name): number for number, name in enumerate(LONGEST)}
    items.sort(key=lambda item: place.get(str(item.path), len(place)))


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
