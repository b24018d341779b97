"""A small table of mixed types with a known dependence, and networks small enough for tests."""

import numpy as np
import pyarrow as pa
import pytest

from tacita.domain import Boolean, Categorical, Domain, Identifier, Numeric, Ordinal
from tacita.engines.local import LocalEngine

ATTRIBUTES = [
    Numeric(name="age", bounds=(0, 99), edges=(0, 18, 40, 65, 99), integer=True),
    Ordinal(name="school", levels=("none", "some", "much")),
    Categorical(name="town", levels=("x", "y"), missing=True),
    Boolean(name="works"),
]
DOMAIN = Domain(attributes=ATTRIBUTES)
PERSONS = Domain(attributes=[Identifier(name="who"), *ATTRIBUTES], person="who")
SMALL = {"latent": 4, "hidden": 16, "starts": 64}


def rows(count, seed=0):
    """School follows age, work follows school; the town goes its own way."""
    rng = np.random.default_rng(seed)
    age = rng.integers(0, 100, count)
    school = np.where(rng.random(count) < 0.8, np.minimum(age // 30, 2), rng.integers(0, 3, count))
    works = np.where(rng.random(count) < 0.9, school == 2, rng.random(count) < 0.5)
    town = np.array(["x", "y", None], object)[rng.choice(3, count, p=[0.6, 0.3, 0.1])]
    names = np.array(["none", "some", "much"])[school]
    return pa.table({"age": age, "school": names, "town": pa.array(town, pa.string()), "works": works})


@pytest.fixture(scope="session")
def engine():
    return LocalEngine(DOMAIN, rows(3000))
