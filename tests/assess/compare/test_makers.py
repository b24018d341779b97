"""Releases of a comparison take the criteria and methods of the registries."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from tacita.anonymize.criteria.registry import all_parameters
from tacita.anonymize.methods.registry import METHODS
from tacita.assess.compare.makers import Material, ReleaseSpec, make
from tacita.domain import Categorical, Domain, Numeric
from tacita.errors import InvalidInput, TacitaError

DOMAIN = Domain(
    attributes=[
        Numeric(name="age", bounds=(0, 99), bins=10, integer=True),
        Categorical(name="sex", levels=("f", "m")),
        Categorical(name="ill", levels=("no", "flu", "gout")),
    ]
)


def material() -> Material:
    rng = np.random.default_rng(2)
    rows = pa.table(
        {
            "age": rng.integers(20, 60, 400),
            "sex": [("f", "m")[i] for i in rng.integers(0, 2, 400)],
            "ill": [("no", "flu", "gout")[i] for i in rng.integers(0, 3, 400)],
        }
    )
    return Material(
        domain=DOMAIN, rows=rows, names=("age", "sex", "ill"), quasi=("age", "sex"), sensitive=("ill",), seed=1
    )


VALUES = {"k": 4, "l": 2, "l_kind": "entropy", "c": 2.0, "t": 0.5, "t_distance": "equal", "alpha": 0.8, "beta": 3.0,
          "disclosure": 3.0}  # fmt: skip
DROPPED = {"l_kind": {"l": 2}, "c": {"l": 2, "l_kind": "recursive"}, "t_distance": {"t": 0.5}}


@pytest.mark.parametrize("name", [each.name for each in all_parameters() if each.name != "presence"])
def test_every_criterion_can_be_asked_for(name: str) -> None:
    asked = {"k": 3} | DROPPED.get(name, {}) | {name: VALUES[name]}
    made = make(ReleaseSpec(way="anonymize", settings=asked), material())
    assert made.tables[0].num_rows == 400
    assert made.epsilon is None


@pytest.mark.parametrize("method", METHODS)
def test_every_method_can_be_asked_for(method: str) -> None:
    made = make(ReleaseSpec(way="anonymize", settings={"k": 4, "method": method, "suppress": 0.2}), material())
    classes = made.tables[0].group_by(["age", "sex"]).aggregate([([], "count_all")])
    assert min(classes.column("count_all").to_pylist()) >= 4


def test_what_no_registry_has_is_refused() -> None:
    with pytest.raises(TacitaError, match="kk"):
        make(ReleaseSpec(way="anonymize", settings={"kk": 3}), material())
    with pytest.raises(InvalidInput, match="no option of datafly"):
        make(ReleaseSpec(way="anonymize", settings={"k": 3, "method": "datafly", "mode": "strict"}), material())
