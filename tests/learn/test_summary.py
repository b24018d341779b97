import json

import numpy as np
import pyarrow as pa
import pytest

from tacita.domain import Categorical, Domain, Numeric
from tacita.engines.local import LocalEngine
from tacita.errors import InvalidInput
from tacita.learn import NarrowedRegression, Regression, summarise
from tacita.learn.models import read_model
from tacita.noise import SeededSource
from tacita.privacy.budget import Budget
from tacita.privacy.unit import Neighbours, Unit

DOMAIN = Domain(
    attributes=[
        Numeric(name="age", bounds=(20, 80), bins=6),
        Numeric(name="height", bounds=(100, 220), bins=6),
        Numeric(name="cost", bounds=(0, 1000), bins=10),
    ]
)


def rows(n=5000):
    rng = np.random.default_rng(0)
    age, height = rng.uniform(20, 80, n), rng.uniform(100, 220, n)
    return pa.table({"age": age, "height": height, "cost": 100 + 5 * age + height + rng.normal(0, 5, n)})


def fitted(recipe, epsilon=1.0, seed=0):
    plan = recipe.calibrate(DOMAIN, Budget.pure(epsilon), unit=Unit.row(), neighbours=Neighbours.ADD_REMOVE)
    return plan.run(LocalEngine(DOMAIN, rows()), SeededSource(seed))


def line(**more):
    return Regression(target="cost", features=("age", "height"), **more)


def test_intervals_are_in_units_of_the_data_and_cover():
    """Over draws, against least squares of the rows themselves."""
    table = rows()
    x = np.column_stack([np.ones(table.num_rows), table["age"], table["height"]])
    exact = np.linalg.lstsq(x, table["cost"].to_numpy(), rcond=None)[0]
    held = []
    for seed in range(200):
        found = summarise(fitted(line(), seed=seed)).to_arrow()
        held.append((np.array(found["low"]) <= exact) & (exact <= np.array(found["high"])))
    share = np.mean(held, axis=0)
    assert ((share > 0.9) & (share < 0.995)).all()


def test_levels_are_compared_with_their_mean_and_covered():
    """Against least squares of dummies without the redundant ones."""
    rng = np.random.default_rng(3)
    group, age = rng.integers(0, 3, 6000), rng.uniform(20, 80, 6000)
    cost = 200 + 3 * age + np.array([0.0, 90.0, 30.0])[group] + rng.normal(0, 5, 6000)
    domain = Domain(attributes=[DOMAIN["age"], Categorical(name="g", levels=["a", "b", "c"]), DOMAIN["cost"]])
    table = pa.table({"age": age, "g": np.array(["a", "b", "c"])[group], "cost": cost})
    dummies = np.column_stack([np.ones(6000), age, group == 1, group == 2]).astype(float)
    level, slope, b, c = np.linalg.lstsq(dummies, cost, rcond=None)[0]
    mean = (b + c) / 3
    exact = np.array([level + mean, slope, -mean, b - mean, c - mean])
    recipe = Regression(target="cost", features=("age", "g"))
    plan = recipe.calibrate(domain, Budget.pure(1.0), unit=Unit.row(), neighbours=Neighbours.ADD_REMOVE)
    engine, held, wide = LocalEngine(domain, table), [], []
    for seed in range(200):
        model = plan.run(engine, SeededSource(seed))
        found = summarise(model).to_arrow()
        held.append((np.array(found["low"]) <= exact) & (exact <= np.array(found["high"])))
        wide.append(model.errors)
        by_hand = model.effects["(intercept)"] + 50 * model.effects["age"] + model.effects["g=b"]
        assert model.predict(pa.table({"age": [50.0], "g": ["b"]}))[0].as_py() == pytest.approx(by_hand)
    share = np.mean(held, axis=0)
    assert ((share > 0.9) & (share < 0.995)).all()
    assert np.mean(wide, axis=0)[2:].max() < 40  # of 90: what cannot be separated from the intercept is not in it


def test_errors_survive_the_file_and_say_what_they_are_about():
    model = fitted(line(inference="population"))
    again = read_model(model.to_json())
    assert again.errors.tolist() == model.errors.tolist()
    found = summarise(again)
    assert "population" in found.facts()["note"]
    assert "differentially private" in found.facts()["guarantee"] or "simulat" in found.facts()["guarantee"].lower()
    plain = json.loads(json.dumps(found.as_dict()))
    assert [row["term"] for row in plain["terms"]] == ["(intercept)", "age", "height"]
    assert plain["terms"][1]["low"] < plain["terms"][1]["high"]
    assert "<svg" in found.chart()
    with pytest.raises(InvalidInput, match="level"):
        summarise(again, 1.0)


@pytest.mark.parametrize(
    ("recipe", "epsilon", "words"),
    [
        (line(method="output"), 5.0, "output has none"),
        (line(penalty=50.0), 5.0, "penalty"),
        (line(), 0.001, "noise is too large"),
        (NarrowedRegression(base=line(), narrow=0.2), 50.0, "narrowed"),
    ],
)
def test_where_none_is_claimed_it_says_why(recipe, epsilon, words):
    model = fitted(recipe, epsilon)
    found = summarise(model)
    assert words in found.facts()["note"]
    assert found.to_arrow()["standard_error"].to_pylist() == pytest.approx([np.nan] * 3, nan_ok=True)
    assert found.as_dict()["terms"][0]["low"] is None
    assert np.isnan(model.centres).all()
    assert "<svg" in found.chart()


def test_population_errors_need_a_line_of_moments():
    for more in ({"method": "output"}, {"task": "logistic"}):
        with pytest.raises(InvalidInput, match="moments of a line"):
            line(inference="population", **more)
    assert "inference" not in line().as_dict()
