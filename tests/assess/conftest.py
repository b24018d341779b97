"""A population with structure, people drawn from it, and two releases: a copy of rows, and nothing but marginals."""

import numpy as np
import pyarrow as pa
import pytest

from tacita.assess.case import read_case
from tacita.domain import Categorical, Domain, Numeric, Ordinal

DOMAIN = Domain(
    attributes=[
        Numeric(name="age", bounds=(0, 99), bins=10, integer=True),
        Numeric(name="income", bounds=(0, 200_000), bins=10, integer=True),
        Ordinal(name="school", levels=["none", "basic", "high", "college"]),
        Categorical(name="town", levels=[f"t{i}" for i in range(12)]),
        Categorical(name="job", levels=[f"j{i}" for i in range(8)]),
        Categorical(name="ill", levels=["no", "flu", "gout", "asthma"]),
    ]
)


def draw(people, rng):
    age = rng.integers(16, 95, people)
    school = np.clip((rng.normal(1.6, 0.8, people) + (age < 40) * 0.4).round(), 0, 3).astype(int)
    income = np.clip(rng.gamma(3, 9000, people) * (1 + school / 2), 0, 200_000).astype(int)
    job = (school * 2 + rng.integers(0, 3, people)) % 8
    ill = np.where(age > 60, rng.integers(0, 4, people), rng.integers(0, 2, people))
    return pa.table(
        {
            "age": age,
            "income": income,
            "school": np.array(["none", "basic", "high", "college"])[school],
            "town": np.array([f"t{i}" for i in range(12)])[rng.integers(0, 12, people)],
            "job": np.array([f"j{i}" for i in range(8)])[job],
            "ill": np.array(["no", "flu", "gout", "asthma"])[ill],
        }
    )


def shuffled(table, rng):
    return pa.table({name: table[name].take(pa.array(rng.permutation(len(table)))) for name in table.column_names})


@pytest.fixture(scope="session")
def domain():
    return DOMAIN


@pytest.fixture(scope="session")
def tables():
    rng = np.random.default_rng(11)
    real, control = draw(1500, rng), draw(1500, rng)
    copied = real.take(pa.array(rng.integers(0, 1500, 1500)))
    return {
        "real": real,
        "control": control,
        "copied": copied,
        "marginal": shuffled(real, rng),
        "fresh": draw(1500, rng),
    }


@pytest.fixture(scope="session")
def cases(tables):
    """The same people beside rows that were copied, rows with marginals only, and rows of others."""
    return {
        name: read_case(DOMAIN, real=tables["real"], released=[tables[name]], control=tables["control"])
        for name in ("copied", "marginal", "fresh")
    }
