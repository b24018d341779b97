"""A table of people for masking."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tacita.anonymize.masking.columns import Columns, read_columns
from tacita.domain import Domain

ATTRIBUTES: list[dict[str, Any]] = [
    {"name": "who", "kind": "identifier"},
    {"name": "age", "kind": "numeric", "bounds": [0, 99], "bins": 5, "integer": True, "role": "quasi-identifier"},
    {"name": "sex", "kind": "categorical", "levels": ["f", "m"], "missing": True, "role": "quasi-identifier"},
    {"name": "job", "kind": "categorical", "levels": ["a", "b", "c"], "other": True, "role": "quasi-identifier"},
    {"name": "grade", "kind": "ordinal", "levels": ["low", "mid", "high"], "missing": True},
    {"name": "income", "kind": "numeric", "bounds": [0, 1e6], "bins": 5, "role": "sensitive"},
    {"name": "debt", "kind": "numeric", "bounds": [0, 1e6], "bins": 5, "role": "sensitive"},
    {"name": "born", "kind": "date", "bounds": ["1900-01-01", "2020-12-31"], "by": "year"},
    {"name": "weight", "kind": "numeric", "bounds": [0, 100], "bins": 2},
]


def people(n: int, seed: int = 0) -> pa.Table:
    rng = np.random.default_rng(seed)
    income = rng.lognormal(10, 0.8, n)
    return pa.table(
        {
            "who": pa.array([f"p{i}" for i in range(n)], pa.string()),
            "age": rng.integers(18, 90, n),
            "sex": pa.array([(None, "f", "m")[i] for i in rng.integers(0, 3, n)], pa.string()),
            "job": pa.array([("a", "b", "c", "pope")[i] for i in rng.integers(0, 4, n)], pa.string()),
            "grade": pa.array([(None, "low", "mid", "high")[i] for i in rng.integers(0, 4, n)], pa.string()),
            "income": income,
            "debt": np.round(income * rng.random(n), 2),
            "born": pa.array(rng.integers(0, 15_000, n).astype(np.int32)).cast(pa.date32()),
            "weight": rng.random(n) * 9 + 1,
        }
    )


@pytest.fixture
def domain() -> Domain:
    return Domain.from_dict({"tacita": 1, "attributes": ATTRIBUTES})


@pytest.fixture
def table() -> pa.Table:
    return people(300)


@pytest.fixture
def columns(domain: Domain, table: pa.Table) -> Columns:
    return read_columns(domain, table, [each["name"] for each in ATTRIBUTES[1:]])
