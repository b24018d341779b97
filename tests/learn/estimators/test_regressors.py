"""Frames in, coefficients with errors out."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tacita.domain import Categorical, Domain, Numeric
from tacita.errors import InvalidInput
from tacita.learn.estimators import PrivateLinearRegression

pytestmark = pytest.mark.filterwarnings("ignore::tacita.errors.PrivacyWarning")
LEVELS = ["Bonn", "Rome", "Ulm"]


def people(rows=4000, seed=0):
    rng = np.random.default_rng(seed)
    age, city, smokes = rng.uniform(20, 80, rows), rng.integers(0, 3, rows), rng.random(rows) < 0.3
    cost = 100 + 5 * age + np.array([0.0, 60.0, -60.0])[city] + 50 * smokes + rng.normal(0, 10, rows)
    return {"age": age, "city": np.array(LEVELS)[city].tolist(), "smokes": smokes}, cost


def model(**more):
    given = {"bounds": {"age": (0, 100)}, "levels": {"city": LEVELS}, "target_bounds": (0, 1000), "random_state": 0}
    return PrivateLinearRegression(**{"epsilon": 100.0} | given | more)


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_frames_with_texts_and_booleans(make):
    columns, cost = people()
    fitted = model().fit(make(columns), pd.Series(cost, name="cost"))
    assert fitted.feature_names_in_.tolist() == ["age", "city", "smokes"]
    assert fitted.n_features_in_ == 3
    assert fitted.model_.target == "cost"
    named = dict(zip(fitted.model_.named, fitted.coef_, strict=True))
    assert named["age"] == pytest.approx(5, abs=0.3)
    assert named["city=Rome"] - named["city=Ulm"] == pytest.approx(120, abs=15)
    turned = make({name: columns[name] for name in ("smokes", "city", "age")})
    assert fitted.predict(turned).tolist() == fitted.predict(make(columns)).tolist()
    assert fitted.score(make(columns), cost) > 0.9
    with pytest.raises(InvalidInput, match="lacks 'city'"):
        fitted.predict(make({"age": columns["age"], "smokes": columns["smokes"]}))
    with pytest.raises(InvalidInput, match="frame"):
        fitted.predict(np.zeros((2, 3)))


def test_frames_of_numbers_are_reordered_too_and_the_three_give_the_same_model():
    columns, cost = people()
    numbers = {"age": columns["age"], "smokes": columns["smokes"].astype(float)}
    plain = {"bounds": {"age": (0, 100), "smokes": (0, 1)}, "levels": None}
    found = [model(**plain).fit(make(numbers), cost) for make in (pd.DataFrame, pl.DataFrame, pa.table)]
    assert len({tuple(each.coef_) for each in found}) == 1
    swapped = pd.DataFrame(numbers)[["smokes", "age"]]
    assert found[0].predict(swapped).tolist() == found[1].predict(pl.DataFrame(numbers)).tolist()


def test_numbers_of_a_frame_are_named_where_bounds_lack():
    columns, cost = people(50)
    with pytest.raises(InvalidInput, match=r"bounds=\{'age': \(low, high\)\}"):
        model(bounds=None, levels=None).fit(pd.DataFrame({"age": columns["age"]}), cost)


def test_a_schema_declares_features_and_target():
    columns, cost = people()
    schema = Domain(
        attributes=[
            Numeric(name="age", bounds=(0, 100), bins=10),
            Categorical(name="city", levels=LEVELS),
            Numeric(name="cost", bounds=(0, 1000), bins=10),
        ]
    )
    frame = pl.DataFrame(columns).drop("smokes")
    fitted = model(bounds=None, levels=None, schema=schema, target_bounds=None).fit(frame, pl.Series("cost", cost))
    assert fitted.model_.named["age"] == pytest.approx(5, abs=0.3)
    with pytest.raises(InvalidInput, match="target_bounds"):
        model(bounds=None, levels=None, schema=schema, target_bounds=None).fit(frame, cost)


def test_missing_values_are_refused_unless_the_schema_has_them():
    frame = pl.DataFrame({"age": [20.0, None, 40.0], "city": ["Bonn", "Ulm", "Rome"]})
    with pytest.raises(InvalidInput, match="NaN"):
        model().fit(frame, [1.0, 2.0, 3.0])
    schema = Domain(attributes=[Numeric(name="age", bounds=(0, 100), bins=4, missing=True)])
    model(bounds=None, schema=schema).fit(frame, [1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="inconsistent"):
        model().fit(frame.drop_nulls(), [1.0])
    with pytest.raises(ValueError, match="sample"):
        model().fit(frame.head(0), [])


def test_summary_has_standard_errors_that_the_noise_explains():
    columns, cost = people()
    fitted = model(epsilon=2.0, random_state=5).fit(pl.DataFrame(columns), cost)
    found = fitted.summary().to_pandas().set_index("term")
    assert list(found.columns) == ["coefficient", "standard_error", "low", "high"]
    assert (found["low"] < found["high"]).all()
    assert found.loc["age", "standard_error"] == pytest.approx(fitted.coef_se_[0])
    assert found.loc["(intercept)", "standard_error"] == pytest.approx(fitted.intercept_se_)
    loud = model(epsilon=20.0).fit(pl.DataFrame(columns), cost)
    assert (loud.coef_se_ < fitted.coef_se_ / 5).all()
    shrunk = model(penalty=100.0).fit(pl.DataFrame(columns), cost)
    assert np.isnan(shrunk.coef_se_).all()
    assert "penalty" in shrunk.summary().facts()["note"]


def test_population_errors_are_wider_and_need_a_line():
    columns, cost = people(2000)
    sample = model(epsilon=500.0).fit(pl.DataFrame(columns), cost)
    population = model(epsilon=500.0, inference="population").fit(pl.DataFrame(columns), cost)
    assert (population.coef_se_ > sample.coef_se_).all()
    assert "population" in population.summary().facts()["note"]
