"""A table of made-up people that the tests of statistics ask."""

import numpy as np
import pyarrow as pa
import pytest

from tacita.domain import Boolean, Categorical, Date, Domain, Numeric, Ordinal
from tacita.engines.local import LocalEngine

PEOPLE = Domain(
    attributes=[
        Numeric(name="income", bounds=(-20, 100), bins=12, missing=True),
        Categorical(name="region", levels=("north", "south", "west")),
        Numeric(name="age", bounds=(0, 99), edges=(0, 18, 65, 99), integer=True),
        Boolean(name="smokes", missing=True),
        Ordinal(name="pain", levels=("none", "some", "much")),
        Date(name="seen", bounds=("2020-01-01", "2020-12-31")),
    ]
)


@pytest.fixture(scope="session")
def people():
    """A table of made-up people with missing values and values beyond the bounds."""
    rng, n = np.random.default_rng(4), 3000
    income = rng.normal(45, 25, n)
    return pa.table(
        {
            "income": pa.array(income, mask=rng.random(n) < 0.1),
            "region": rng.choice(["north", "south", "west", "elsewhere"], n, p=[0.5, 0.3, 0.18, 0.02]),
            "age": rng.integers(0, 110, n),
            "smokes": pa.array(rng.random(n) < 0.3, mask=rng.random(n) < 0.05),
            "pain": rng.choice(["none", "some", "much"], n),
            "seen": pa.array((np.datetime64("2020-01-01") + rng.integers(0, 366, n)).astype("datetime64[D]")),
        }
    )


@pytest.fixture(scope="session")
def engine(people):
    return LocalEngine(PEOPLE, people)
