"""People with a known dependence: income grows with school and age; some incomes are missing."""

import datetime as dt

import numpy as np
import pyarrow as pa
import pytest

from tacita.domain import Boolean, Categorical, Date, Domain, Numeric, Ordinal
from tacita.engines.local import LocalEngine
from tacita.noise import SeededSource
from tacita.privacy.unit import Neighbours, Unit
from tacita.synthesize.imputation import Impute

FIRST = dt.date(2020, 1, 1)
DOMAIN = Domain(
    attributes=[
        Ordinal(name="school", levels=("none", "some", "more", "most")),
        Numeric(name="age", bounds=(18, 80), integer=True),
        Numeric(name="income", bounds=(0, 90_000), bins=30, missing=True),
        Categorical(name="job", levels=("a", "b", "c"), missing=True),
        Date(name="since", bounds=(FIRST, dt.date(2021, 12, 31))),
        Boolean(name="member"),
    ]
)


def _people(rows, seed=0):
    rng = np.random.default_rng(seed)
    school, age = rng.integers(0, 4, rows), rng.integers(18, 80, rows)
    income = np.clip(8000 * (school + 1) + 300 * age + rng.normal(0, 4000, rows), 0, 90_000)
    job = np.where(rng.random(rows) < 0.7, school % 3, rng.integers(0, 3, rows))
    return pa.table(
        {
            "school": pa.array([DOMAIN["school"].levels[code] for code in school]),
            "age": age,
            "income": pa.array(income, mask=rng.random(rows) < 0.1),
            "job": pa.array([None if rng.random() < 0.05 else "abc"[code] for code in job]),
            "since": [FIRST + dt.timedelta(days=int(days)) for days in rng.integers(0, 700, rows)],
            "member": rng.random(rows) < 0.3,
        }
    )


@pytest.fixture(scope="session")
def domain():
    return DOMAIN


@pytest.fixture(scope="session")
def people():
    return _people


@pytest.fixture(scope="session")
def table():
    return _people(1500)


@pytest.fixture(scope="session")
def engine(table):
    return LocalEngine(DOMAIN, table)


@pytest.fixture(scope="session")
def imputed(engine):
    """What a recipe gives on the people, or on others."""

    def run(source=None, *, frame=None, seed=1, **settings):
        held = engine if source is None else source
        plan = Impute(**settings).calibrate(held.domain, None, unit=Unit.row(), neighbours=Neighbours.ADD_REMOVE)
        return plan.run(held, SeededSource(seed), frame=frame)

    return run
