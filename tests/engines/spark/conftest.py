"""One cluster for all tests of Spark, started by the first that asks for it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tests.support.spark import SparkCluster

from tacita.engines.spark.session import session_of


@pytest.fixture(scope="session")
def cluster() -> Iterator[SparkCluster]:
    with SparkCluster() as running:
        yield running


@pytest.fixture(scope="session")
def session(cluster: SparkCluster) -> Iterator[Any]:
    """The session that all engines of this process share."""
    found = session_of(cluster.master)
    yield found
    found.stop()
