"""A simulated census: no row is about a real person.

The numbers are drawn so that the attributes depend on each other roughly as they do among people: income on age and
schooling, smoking on age and sex. They are not fitted to any data.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from tacita.domain import Boolean, Categorical, Date, Domain, Numeric, Ordinal

__all__ = ["DOMAIN", "SMOKING", "simulate"]

REGIONS = ("north", "east", "south", "west", "islands")
SCHOOLING = ("primary", "secondary", "college", "doctorate")
STATUS = ("employed", "unemployed", "retired", "student")

SMOKING = Ordinal(
    name="smoking",
    levels=("never", "formerly", "sometimes", "daily"),
    role="sensitive",
    description="How often do you smoke?",
)

DOMAIN = Domain(
    title="a simulated census",
    attributes=(
        Numeric(
            name="age",
            bounds=(0, 99),
            edges=(*range(0, 90, 5), 99),
            integer=True,
            role="quasi-identifier",
        ),
        Categorical(name="sex", levels=("female", "male"), role="quasi-identifier"),
        Categorical(name="region", levels=REGIONS, other=True, role="quasi-identifier"),
        Ordinal(name="schooling", levels=SCHOOLING, missing=True),
        Categorical(name="status", levels=STATUS),
        Numeric(name="income", bounds=(0, 100_000), bins=20, missing=True, role="sensitive"),
        Date(name="moved_in", bounds=("1990-01-01", "2025-12-31"), by="year"),
        Boolean(name="owns_home"),
        SMOKING,
    ),
)


def simulate(people: int, seed: int) -> pa.Table:
    """Draw a table of simulated people; the same one for the same seed."""
    rng = np.random.default_rng(seed)
    age = np.clip(rng.gamma(4.2, 10.5, people), 0, 99).astype(np.int64)
    sex = rng.integers(0, 2, people)
    region = rng.choice(len(REGIONS), people, p=[0.3, 0.2, 0.26, 0.2, 0.04])
    schooling = np.clip(rng.normal(1.2 - 0.012 * (age - 40) + (region == 0) * 0.2, 0.8), 0, 3.4).astype(np.int64)
    schooling = np.where(age < 18, np.minimum(schooling, 1), schooling)
    status = np.select([age >= 67, age < 19, rng.random(people) < 0.09 - 0.015 * schooling], [2, 3, 1], default=0)
    wage = np.exp(rng.normal(9.9 + 0.22 * schooling + 0.008 * np.minimum(age, 55) - 0.08 * (sex == 0), 0.45))
    income = np.select([status == 3, status == 1, status == 2], [0.05 * wage, 0.25 * wage, 0.6 * wage], default=wage)
    moved = 2026 - np.minimum(rng.exponential(9, people), np.minimum(age, 36)).astype(np.int64)
    smoking = _smoking(age, sex, rng)
    no_school, no_income = rng.random(people) < 0.02, rng.random(people) < 0.06
    return pa.table(
        {
            "age": age,
            "sex": pa.array(["female", "male"]).take(pa.array(sex)),
            "region": pa.array(REGIONS).take(pa.array(region)),
            "schooling": pa.array(SCHOOLING).take(pa.array(schooling, mask=no_school)),
            "status": pa.array(STATUS).take(pa.array(status)),
            "income": pa.array(income.round(2), mask=no_income),
            "moved_in": pa.array([f"{year}-0{1 + day % 9}-15" for day, year in enumerate(moved)]),
            "owns_home": rng.random(people) < np.clip((age - 22) / 60, 0.02, 0.8),
            "smoking": pa.array(SMOKING.levels).take(pa.array(smoking)),
        }
    )


def _smoking(age: np.ndarray, sex: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    daily = np.where(age < 15, 0.0, 0.17 + 0.05 * (sex == 1) - 0.0012 * age)
    formerly = np.where(age < 25, 0.01, 0.005 * (age - 15))
    some = np.where(age < 15, 0.0, 0.07)
    u = rng.random(len(age))
    return np.select([u < daily, u < daily + some, u < daily + some + formerly], [3, 2, 1], default=0)
