"""Generated tables for tests of SQL: people, visits, patients, and public dimension tables."""

import datetime as dt

import numpy as np
import pyarrow as pa

from tacita.domain import Boolean, Categorical, Date, Domain, Identifier, Numeric, Ordinal
from tacita.query.sql import Dimension

PEOPLE = Domain(
    attributes=[
        Numeric(name="income", bounds=(-20, 100), bins=12, missing=True),
        Categorical(name="region", levels=("north", "south", "west")),
        Categorical(name="town", levels=("t1", "t2", "t3", "t4", "t5")),
        Numeric(name="age", bounds=(0, 99), edges=(0, 18, 65, 99), integer=True),
        Numeric(name="kids", bounds=(0, 5), integer=True),
        Boolean(name="smokes", missing=True),
        Ordinal(name="pain", levels=("none", "some", "much")),
        Date(name="seen", bounds=("2020-01-01", "2020-12-31")),
    ]
)
VISITS = Domain(
    person="who",
    attributes=[
        Identifier(name="who"),
        Identifier(name="code"),
        Categorical(name="ward", levels=("a", "b", "c")),
        Numeric(name="cost", bounds=(0, 100), bins=10),
    ],
)
PATIENTS = Domain(
    person="who",
    attributes=[
        Identifier(name="who"),
        Categorical(name="sex", levels=("f", "m")),
        Numeric(name="weight", bounds=(40, 120), bins=8),
    ],
)
MOST = 3
DIMENSIONS = (
    Dimension(
        "towns",
        {
            "id": ["t1", "t2", "t3", "t4"],
            "country": ["A", "A", "B", "B"],
            "area": [10.0, 12.0, 14.0, 20.0],
            "factor": [1.0, 0.5, 2.0, 1.5],
        },
    ),
    Dimension("wards", {"ward": ["a", "b", "c"], "floor_of": ["first", "second", "second"]}),
    Dimension("doubled", {"id": ["t1", "t1"], "x": [1.0, 2.0]}),
    Dimension("codes", {"id": ["c1"], "x": [1.0]}),
)


def people(n: int = 3000) -> pa.Table:
    rng = np.random.default_rng(11)
    return pa.table(
        {
            "income": pa.array(np.round(np.clip(rng.normal(45, 25, n), -20, 99.9), 2), mask=rng.random(n) < 0.1),
            "region": rng.choice(["north", "south", "west"], n, p=[0.5, 0.3, 0.2]),
            "town": rng.choice(["t1", "t2", "t3", "t4", "t5"], n, p=[0.3, 0.25, 0.2, 0.15, 0.1]),
            "age": rng.integers(0, 100, n),
            "kids": np.minimum(rng.poisson(1.3, n), 5),
            "smokes": pa.array(rng.random(n) < 0.3, mask=rng.random(n) < 0.05),
            "pain": rng.choice(["none", "some", "much"], n, p=[0.5, 0.3, 0.2]),
            "seen": pa.array([dt.date(2020, 1, 1) + dt.timedelta(days=int(day)) for day in rng.integers(0, 366, n)]),
        }
    )


def visits(persons: int = 600) -> pa.Table:
    rng = np.random.default_rng(12)
    who = np.repeat([f"p{i}" for i in range(persons)], rng.integers(1, MOST + 1, persons))
    code = rng.choice(["c1", "c2", "c3", "c4"], len(who), p=[0.4, 0.3, 0.2, 0.1]).astype(object)
    first = np.unique(who, return_index=True)[1]
    code[first[:5]] = [f"rare{i}" for i in range(5)]
    return pa.table(
        {
            "who": who,
            "code": pa.array(code, pa.string()),
            "ward": rng.choice(["a", "b", "c"], len(who), p=[0.5, 0.3, 0.2]),
            "cost": np.round(rng.uniform(0, 99.9, len(who)), 1),
        }
    )


def patients(persons: int = 600) -> pa.Table:
    rng = np.random.default_rng(13)
    return pa.table(
        {
            "who": [f"p{i}" for i in range(0, persons, 1)],
            "sex": rng.choice(["f", "m"], persons),
            "weight": np.round(rng.uniform(40, 119, persons), 1),
        }
    )
