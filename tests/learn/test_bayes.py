import numpy as np
import pyarrow as pa
import pytest

from tacita.domain import Boolean, Categorical, Domain, Numeric
from tacita.engines.local import LocalEngine
from tacita.errors import InvalidInput
from tacita.learn import Bayes, FittedBayes
from tacita.noise import SeededSource
from tacita.privacy.accountant import cost
from tacita.privacy.budget import Budget
from tacita.privacy.unit import Neighbours, Unit

DOMAIN = Domain(
    attributes=[
        Numeric(name="age", bounds=(0, 80), bins=8),
        Categorical(name="sex", levels=("f", "m")),
        Boolean(name="ill"),
    ]
)
ROW, ADD = Unit.row(), Neighbours.ADD_REMOVE


def people(rows=5000):
    rng = np.random.default_rng(0)
    age = rng.uniform(0, 80, rows)
    return pa.table({"age": age, "sex": np.array(["f", "m"])[rng.integers(0, 2, rows)], "ill": age > 40})


def test_classes_are_told_within_the_budget_and_it_can_be_stored():
    plan = Bayes(target="ill", features=("age", "sex")).calibrate(DOMAIN, Budget.pure(1.0), unit=ROW, neighbours=ADD)
    assert cost([(plan.event, 1)], Budget.pure(1.0), ADD) <= 1
    model = plan.run(LocalEngine(DOMAIN, people()), SeededSource(0))
    rows = people()
    told = np.array(model.predict(rows).to_pylist()) == "true"
    assert (told == rows["ill"].to_numpy(zero_copy_only=False)).mean() > 0.95
    assert model.probabilities(rows).sum(axis=1) == pytest.approx(1)
    assert plan.read(model.to_json()).to_json() == model.to_json()
    assert model.with_charge("c1", "d").provenance.charge == "c1"
    assert "NOT private" in model.statement()
    assert plan.as_dict()["recipe"]["recipe"] == "bayes"


def test_what_cannot_be():
    with pytest.raises(InvalidInput, match="features"):
        Bayes(target="ill", features=())
    with pytest.raises(InvalidInput, match="bayes/1"):
        FittedBayes.from_json("{}")
