"""Classes have the spelling of the target, on every kind of frame."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tacita.domain import Boolean, Categorical, Domain, Numeric
from tacita.errors import InvalidInput, PrivacyWarning
from tacita.learn.estimators import PrivateLogisticRegression, PrivateTreeClassifier
from tacita.privacy.budget import Budget
from tacita.privacy.ledger import Ledger
from tacita.privacy.unit import Neighbours, Unit
from tacita.store import Database

pytestmark = pytest.mark.filterwarnings("ignore::tacita.errors.PrivacyWarning")
TYPES = [PrivateLogisticRegression, PrivateTreeClassifier]


def people(rows=3000):
    rng = np.random.default_rng(0)
    age, sex = rng.uniform(0, 100, rows), rng.integers(0, 2, rows)
    return {"age": age, "sex": np.array(["f", "m"])[sex].tolist()}, age + 20 * sex > 60


def model(kind, **more):
    given = {"bounds": {"age": (0, 100)}, "levels": {"sex": ["f", "m"]}, "random_state": 0}
    return kind(epsilon=50.0, **given | more)


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
@pytest.mark.parametrize(
    "spelled",
    [
        lambda ill: ill,
        lambda ill: np.where(ill, "yes", "no"),
        lambda ill: np.where(ill, 7, 3),
        lambda ill: pl.Series("ill", np.where(ill, "y", "n")),
        lambda ill: pd.Series(np.where(ill, "ja", "nein"), name="ill"),
        lambda ill: pa.array(ill.tolist()),
    ],
)
def test_classes_are_spelled_as_the_target(kind, make, spelled):
    columns, ill = people()
    target = spelled(ill)
    fitted = model(kind).fit(make(columns), target)
    values = np.asarray(target.to_pylist() if isinstance(target, pa.Array) else target)
    assert fitted.classes_.tolist() == sorted(set(values.tolist()))
    predicted = fitted.predict(make({"sex": columns["sex"], "age": columns["age"]}))
    assert (predicted == values).mean() > 0.8
    assert fitted.predict_proba(make(columns)).shape == (len(ill), 2)


@pytest.mark.parametrize("kind", TYPES)
def test_classes_come_from_the_schema(kind):
    columns, ill = people()
    features = [Numeric(name="age", bounds=(0, 100), bins=10), Categorical(name="sex", levels=["f", "m"])]
    frame, given = pl.DataFrame(columns), {"bounds": None, "levels": None}
    boolean = Domain(attributes=[*features, Boolean(name="ill")])
    fitted = model(kind, schema=boolean, **given).fit(frame, pl.Series("ill", ill))
    assert fitted.classes_.tolist() == [False, True]
    with pytest.raises(InvalidInput, match="classes="):
        model(kind, schema=boolean, **given).fit(frame, pl.Series("ill", np.where(ill, "yes", "no")))
    coded = Domain(attributes=[*features, Categorical(name="ill", levels=["2", "1"])])
    fitted = model(kind, schema=coded, **given).fit(frame, pl.Series("ill", np.where(ill, 1, 2)))
    assert fitted.classes_.tolist() == [2, 1]
    assert (fitted.predict(frame) == np.where(ill, 1, 2)).mean() > 0.8


def test_log_odds_of_moments_have_standard_errors():
    columns, ill = people()
    assert np.isnan(model(PrivateLogisticRegression).fit(pl.DataFrame(columns), ill).coef_se_).all()
    fitted = model(PrivateLogisticRegression, method="functional").fit(pl.DataFrame(columns), ill)
    assert fitted.coef_se_.shape == fitted.coef_.shape == (1, 3)
    assert (fitted.coef_se_ > 0).all()
    assert fitted.intercept_se_.shape == (1,)
    assert fitted.summary(0.9).to_arrow().num_rows == 4


def test_trees_leave_out_rows_beyond_the_bounds_of_a_frame():
    columns, ill = people()
    far = pl.DataFrame({"age": [500.0] * 9000, "sex": ["f"] * 9000})
    frame = pl.concat([pl.DataFrame(columns), far])
    target = np.concatenate([ill, np.zeros(9000, bool)])
    old = pl.DataFrame({"age": [99.0], "sex": ["m"]})
    found = {
        outside: model(PrivateTreeClassifier, outside=outside, classes=[False, True]).fit(frame, target).predict(old)[0]
        for outside in ("clip", "leave-out")
    }
    assert found["leave-out"]


@pytest.mark.parametrize("kind", TYPES)
def test_classes_that_are_read_off_the_target_are_warned_of_and_refused_with_a_ledger(kind, tmp_path):
    rows, ill = people(200)
    frame = pd.DataFrame(rows)
    with pytest.warns(PrivacyWarning, match="classes="):
        model(kind).fit(frame, ill)
    ledger = Ledger(Database(f"sqlite:///{tmp_path}/s.db"))
    ledger.open("ill", unit=Unit.row(), neighbours=Neighbours.ADD_REMOVE, budget=Budget.pure(50.0))
    paid = {"ledger": ledger, "account": "ill"}
    for target in (ill, np.zeros(200, bool), np.where(ill, "rare disease", "none")):
        with pytest.raises(InvalidInput, match="must be given with a ledger") as refused:
            model(kind, **paid).fit(frame, target)
        assert "disease" not in str(refused.value)
    assert ledger.balance("ill").charges == 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert model(kind, classes=[False, True], **paid).fit(frame, ill).classes_.tolist() == [False, True]
