"""A small table with a known dependence, and an engine that holds it."""

import numpy as np
import pytest

from tacita.domain import Categorical, Domain
from tacita.testing.mechanism import FixedEngine

DOMAIN = Domain(
    attributes=[
        Categorical(name="a", levels=("0", "1", "2")),
        Categorical(name="b", levels=("0", "1", "2")),
        Categorical(name="c", levels=("0", "1")),
        Categorical(name="d", levels=("0", "1", "2", "3")),
    ]
)


def _chain(rows, seed=0):
    """b follows a, c follows b, d goes its own way."""
    rng = np.random.default_rng(seed)
    a = rng.choice(3, rows, p=[0.5, 0.3, 0.2])
    b = np.where(rng.random(rows) < 0.8, a, rng.integers(0, 3, rows))
    c = np.where(rng.random(rows) < 0.8, b % 2, rng.integers(0, 2, rows))
    return np.stack([a, b, c, rng.integers(0, 4, rows)], axis=1)


@pytest.fixture(scope="session")
def chain():
    return _chain


@pytest.fixture(scope="session")
def domain():
    return DOMAIN


@pytest.fixture(scope="session")
def engine():
    return FixedEngine(DOMAIN, _chain(20_000))


@pytest.fixture(scope="session")
def engine_of():
    return lambda codes: FixedEngine(DOMAIN, np.asarray(codes, int).reshape(-1, 4))
