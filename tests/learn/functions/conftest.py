"""Small made-up data that functions are released of."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tacita.domain import Categorical, Date, Domain, Numeric
from tacita.engines.local import LocalEngine
from tacita.learn.functions import Kernel, ReleaseFunction
from tacita.learn.functions.model import FunctionModel
from tacita.learn.functions.registry import Registry
from tacita.noise import SeededSource, Source
from tacita.privacy.budget import Budget
from tacita.privacy.unit import Neighbours, Unit
from tacita.store import Database

DOMAIN = Domain(
    attributes=[
        Numeric(name="x", bounds=(0, 10), bins=5),
        Numeric(name="y", bounds=(-1, 1), bins=4, missing=True),
        Categorical(name="c", levels=("a", "b", "d")),
        Date(name="seen", bounds=("2020-01-01", "2020-12-31")),
    ]
)
PARTS: dict[str, dict[str, Any]] = {
    "histogram": {"features": ("x", "c")},
    "density": {"features": ("x", "y")},
    "gaussian-process": {"features": ("x",), "target": "y", "public_inputs": True},
    "svm": {"features": ("x", "y"), "target": "c", "kernel": Kernel(bandwidth=0.3)},
}
BUDGET = Budget.approx(1.0, 1e-5)


@pytest.fixture(scope="session")
def engine() -> LocalEngine:
    rng = np.random.default_rng(1)
    x = rng.uniform(0, 10, 300)
    return LocalEngine(
        DOMAIN,
        pa.table(
            {
                "x": x,
                "y": pa.array(np.sin(x) / 2 + rng.normal(0, 0.1, 300), mask=rng.random(300) < 0.05),
                "c": np.array(["a", "b", "d"])[(x / 3.4).astype(int)],
                "seen": pa.array((np.datetime64("2020-01-01") + rng.integers(0, 366, 300)).astype("datetime64[D]")),
            }
        ),
    )


class Kit:
    """What tests need to make functions of the made-up data."""

    domain, parts, budget = DOMAIN, PARTS, BUDGET

    def __init__(self, engine: LocalEngine) -> None:
        self.engine = engine

    def fit(
        self,
        kind: str,
        *,
        neighbours: Neighbours = Neighbours.REPLACE_ONE,
        source: Source | None = None,
        **parts: Any,
    ) -> FunctionModel:
        recipe = ReleaseFunction(kind=kind, **PARTS[kind] | parts)  # type: ignore[arg-type]
        plan = recipe.calibrate(DOMAIN, BUDGET, unit=Unit.row(), neighbours=neighbours)
        return plan.fit(self.engine, source or SeededSource(3))

    def release(self, registry: Registry, model: FunctionModel, name: str = "f") -> str:
        """A function that answers, as if somebody had paid."""
        return registry.activate(registry.put(model, name), charge="ch_1", dataset="d").id


@pytest.fixture(scope="session")
def kit(engine) -> Kit:
    return Kit(engine)


@pytest.fixture
def registry(tmp_path) -> Registry:
    return Registry(Database(f"sqlite:///{tmp_path}/state.db"))


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def url(request, tmp_path) -> str:
    """A store of each kind."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/state.db"
    found: str = request.getfixturevalue("postgres_url")
    return found
