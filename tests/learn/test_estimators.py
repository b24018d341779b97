import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from sklearn.utils.estimator_checks import check_estimator

from tacita.errors import BudgetExceeded, InvalidInput, PrivacyWarning
from tacita.learn.estimators import PrivateLinearRegression, PrivateLogisticRegression, PrivateTreeClassifier
from tacita.privacy.budget import Budget
from tacita.privacy.ledger import Ledger
from tacita.privacy.unit import Neighbours, Unit
from tacita.store import Database

pytestmark = pytest.mark.filterwarnings("ignore::tacita.errors.PrivacyWarning")  # asserted where it is the point

EXEMPT = {
    "check_array_api_input": "needs a setting of the environment",
}
"""Checks that are not run, and why. All others are, with noise too small to matter: they are about conventions."""

LOUD = {"epsilon": 900.0, "bounds": (-5.0, 5.0), "random_state": 0}
ESTIMATORS = [
    PrivateLinearRegression(target_bounds=(-5.0, 5.0), **LOUD),
    PrivateLogisticRegression(**LOUD),
    PrivateTreeClassifier(**LOUD),
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: type(e).__name__)
def test_conventions_of_scikit_learn(estimator):
    results = check_estimator(estimator, on_skip=None, on_fail=None)
    failed = [r["check_name"] for r in results if r["status"] == "failed"]
    skipped = {r["check_name"] for r in results if r["status"] == "skipped"}
    assert failed == []
    assert skipped <= set(EXEMPT)
    assert sum(r["status"] == "passed" for r in results) > 40


def line(rows=20_000):
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 10, (rows, 2))
    return X, 3 + 2 * X[:, 0] - X[:, 1]


def test_a_line_is_found_in_the_units_of_the_data():
    X, y = line()
    model = PrivateLinearRegression(
        epsilon=20.0, bounds=[(0, 10), (0, 10)], target_bounds=(-10, 30), random_state=1
    ).fit(X, y)
    assert model.coef_ == pytest.approx([2, -1], abs=0.2)
    assert model.intercept_ == pytest.approx(3, abs=1)
    assert model.score(X, y) > 0.95
    assert clone(model).get_params() == model.get_params()


def test_without_a_seed_noise_is_secure_and_never_the_same():
    X, y = line(200)
    model = PrivateLinearRegression(bounds=(0, 10), target_bounds=(-10, 30))
    first, second = (clone(model).fit(X, y) for _ in range(2))
    assert not first.model_.provenance.simulated
    assert first.intercept_ != second.intercept_


def test_bounds_are_never_read_off_the_data():
    X, y = line(50)
    with pytest.raises(InvalidInput, match="bounds"):
        PrivateLinearRegression(target_bounds=(0, 1)).fit(X, y)
    with pytest.raises(InvalidInput, match="target_bounds"):
        PrivateLinearRegression(bounds=(0, 10)).fit(X, y)
    with pytest.raises(InvalidInput, match="each column"):
        PrivateLinearRegression(bounds=[(0, 10)] * 3, target_bounds=(0, 1)).fit(X, y)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: type(e).__name__)
def test_rows_beyond_the_bounds_are_refused_where_that_is_declared(estimator):
    X, y = line(50)
    strict = clone(estimator).set_params(outside="refuse", bounds=(0, 10))
    far = X.copy()
    far[0, 0] = 77.125
    target = y / 10 if isinstance(strict, PrivateLinearRegression) else (y > 5)
    with pytest.raises(InvalidInput, match="beyond") as caught:
        strict.fit(far, target)
    assert "77" not in str(caught.value)
    strict.fit(X, target)
    with pytest.raises(InvalidInput, match="outside"):
        strict.set_params(outside="ignore").fit(X, target)


def test_nan_and_the_wrong_number_of_columns_are_refused():
    X, y = line(50)
    model = clone(ESTIMATORS[0]).fit(X, y)
    for wrong in (X[:, :1], np.full((2, 2), np.nan)):
        with pytest.raises(ValueError, match=r"features|NaN"):
            model.predict(wrong)


def test_classes_can_be_declared():
    X, y = line(500)
    model = PrivateLogisticRegression(bounds=(0, 10), classes=["no", "yes"], random_state=0, epsilon=50.0)
    model.fit(X, np.where(y > 13, "yes", "no"))
    assert set(model.predict(X)) == {"no", "yes"}
    only = PrivateTreeClassifier(bounds=(0, 10), classes=[0, 1, 2], random_state=0).fit(X, np.zeros(500, int))
    assert only.predict_proba(X).shape == (500, 3)


def test_trees_leave_out_what_lies_beyond_where_that_is_declared():
    """Rows far outside have the wrong class; moved to the bounds they would win there."""
    rng = np.random.default_rng(1)
    inside = rng.uniform(-1, 1, (3000, 1))
    far = np.full((6000, 1), 50.0)
    X = np.concatenate([inside, far])
    y = np.concatenate([(inside[:, 0] > 0).astype(int), np.zeros(6000, int)])
    told = {
        outside: PrivateTreeClassifier(
            epsilon=20.0, bounds=(-1, 1), classes=[0, 1], depth=3, outside=outside, random_state=1
        )
        .fit(X, y)
        .predict([[0.99]])[0]
        for outside in ("clip", "leave-out")
    }
    assert told == {"clip": 0, "leave-out": 1}


# -- who pays ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def ledger(tmp_path):
    database = Database(f"sqlite:///{tmp_path}/state.db")
    found = Ledger(database)
    found.open("rows", unit=Unit.row(), neighbours=Neighbours.ADD_REMOVE, budget=Budget.pure(2.0))
    yield found
    database.close()


def small(**more):
    return PrivateLinearRegression(epsilon=0.5, bounds=(0, 10), target_bounds=(-10, 30), **more)


@pytest.mark.parametrize("seed", [None, 3])
def test_a_fit_without_a_ledger_says_what_it_spends(seed):
    with pytest.warns(PrivacyWarning, match=r"epsilon 0\.5.*ledger="):
        small(random_state=seed).fit(*line(200))


def test_every_fit_of_a_cross_validation_is_charged_and_the_last_is_refused(ledger):
    X, y = line(300)
    model = small(ledger=ledger, account="rows")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(cross_val_score(model, X, y, cv=3, error_score="raise")) == 3
    assert float(ledger.balance("rows").spent) == pytest.approx(1.5, rel=1e-4)
    model.fit(X, y)
    with pytest.raises(BudgetExceeded):
        model.fit(X, y)
    assert ledger.balance("rows").charges == 4
    assert clone(model).ledger is ledger


def test_a_ledger_goes_with_an_account(ledger):
    with pytest.raises(InvalidInput, match="account"):
        small(ledger=ledger).fit(*line(50))
    with pytest.raises(InvalidInput, match="ledger"):
        small(account="rows").fit(*line(50))
