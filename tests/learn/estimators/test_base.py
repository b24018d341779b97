import pickle
import warnings

import numpy as np
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.exceptions import FitFailedWarning
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import check_estimator

from tacita.errors import BudgetExceeded, Conflict, InvalidInput, PrivacyWarning
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


# -- searches and keys -------------------------------------------------------------------------------------------------


@pytest.fixture
def rich(ledger):
    ledger.open("rich", unit=Unit.row(), neighbours=Neighbours.ADD_REMOVE, budget=Budget.pure(1000.0))
    return ledger


def spent(ledger, account="rich"):
    return float(ledger.balance(account).spent), ledger.balance(account).charges


@pytest.mark.parametrize("jobs", [None, 2])
def test_a_grid_search_costs_folds_times_candidates_and_the_refit(rich, jobs):
    """With two processes too: each opens the ledger's file by itself."""
    X, y = line(300)
    model = small(ledger=rich, account="rich")
    search = GridSearchCV(model, {"penalty": [0.0, 10.0]}, cv=3, error_score="raise", n_jobs=jobs)
    search.fit(X, y)
    total, charges = spent(rich)
    assert charges == 3 * 2 + 1
    assert total == pytest.approx(7 * 0.5, rel=1e-4)
    assert search.best_estimator_.ledger is not None
    assert search.best_estimator_.charge_ in {each.id for each in rich.history("rich")}


def test_in_a_pipeline_and_with_another_epsilon_each_pays_its_own(rich):
    X, y = line(300)
    model = make_pipeline(FunctionTransformer(lambda values: values / 2), small(ledger=rich, account="rich"))
    search = GridSearchCV(model, {"privatelinearregression__epsilon": [0.5, 2.0]}, cv=2, refit=False)
    search.fit(X, y)
    total, charges = spent(rich)
    assert (charges, total) == (4, pytest.approx(2 * 0.5 + 2 * 2.0, rel=1e-4))


def test_a_budget_that_ends_in_the_middle_raises_or_warns_and_the_ledger_is_right(ledger):
    """scikit-learn turns errors of fits into NaN with a warning unless error_score is "raise"."""
    X, y = line(300)
    model = small(ledger=ledger, account="rows")  # 2.0: four fits
    with pytest.raises(BudgetExceeded):
        cross_val_score(model, X, y, cv=6, error_score="raise")
    assert spent(ledger, "rows") == (pytest.approx(2.0, rel=1e-4), 4)
    ledger.open("other", unit=Unit.row(), neighbours=Neighbours.ADD_REMOVE, budget=Budget.pure(2.0))
    with pytest.warns(FitFailedWarning, match="BudgetExceeded"):
        scores = cross_val_score(small(ledger=ledger, account="other"), X, y, cv=6)
    assert np.isnan(scores).sum() == 2
    assert spent(ledger, "other") == (pytest.approx(2.0, rel=1e-4), 4)
    ledger.open("third", unit=Unit.row(), neighbours=Neighbours.ADD_REMOVE, budget=Budget.pure(1.0))
    with pytest.raises(BudgetExceeded):  # the refit is never turned into NaN
        GridSearchCV(small(ledger=ledger, account="third"), {"penalty": [0.0]}, cv=2, error_score=0.0).fit(X, y)
    with pytest.raises(ValueError, match=r"All the 2 fits failed(.|\n)*BudgetExceeded"):
        cross_val_score(small(ledger=ledger, account="third"), X, y, cv=2)


def test_the_same_key_is_the_same_fit_and_costs_nothing(rich):
    X, y = line(300)
    first = small(ledger=rich, account="rich").fit(X, y)
    again = small(ledger=rich, account="rich", key=first.key_).fit(X, y)
    assert again.coef_.tolist() == first.coef_.tolist()
    assert (again.charge_, again.key_) == (first.charge_, first.key_)
    assert spent(rich)[1] == 1
    other = X.copy()
    other[0, 0] += 1e-9
    for rows, more in ((other, {}), (X[::-1], {}), (X, {"penalty": 1.0}), (X, {"epsilon": 1.0}), (X, {"delta": 1e-6})):
        with pytest.raises(Conflict, match="another question"):
            small(ledger=rich, account="rich", key=first.key_).set_params(**more).fit(rows, y)
    with pytest.raises(Conflict):
        small(ledger=rich, account="rich", key=first.key_).fit(X, y[::-1])
    assert spent(rich)[1] == 1


def test_automatic_keys_charge_each_different_fit_once(rich):
    X, y = line(300)
    model = small(ledger=rich, account="rich", key="auto")
    scores = [cross_val_score(model, X, y, cv=3, error_score="raise").tolist() for _ in range(2)]
    assert scores[0] == scores[1]
    assert spent(rich)[1] == 3
    simulated = clone(model).set_params(random_state=1).fit(X, y)
    real = clone(model).fit(X, y)
    assert simulated.model_.provenance.simulated
    assert not real.model_.provenance.simulated


def test_the_key_of_a_simulation_stands_for_no_private_fit(rich):
    X, y = line(300)
    small(ledger=rich, account="rich", key="mine", random_state=1).fit(X, y)
    for other in (None, 2):
        with pytest.raises(Conflict, match="another question"):
            small(ledger=rich, account="rich", key="mine", random_state=other).fit(X, y)


def test_keys_and_histories_do_not_confirm_a_guess_of_the_rows(rich, tmp_path):
    """A plain digest would: anyone who knows all rows but one tries that one until the digest is the same."""
    X, y = line(100)
    other = Ledger(Database(f"sqlite:///{tmp_path}/guess.db"))
    other.open("rich", unit=Unit.row(), neighbours=Neighbours.ADD_REMOVE, budget=Budget.pure(100.0))
    fits = [small(ledger=each, account="rich", key="auto").fit(X, y) for each in (rich, other)]
    assert fits[0].key_ != fits[1].key_
    assert len({next(each.history("rich")).question for each in (rich, other)}) == 2


@pytest.mark.parametrize("where", ["X", "y", "predict", "frame"])
def test_errors_show_no_value_of_a_row(where):
    X, y = line(50)
    bad = X.astype(object)
    bad[7, 1] = "alice@example.org"
    with pytest.raises(ValueError, match="text") as refused:
        if where == "X":
            small().fit(bad, y)
        elif where == "predict":
            small().fit(X, y).predict(bad)
        else:
            rows = pl.DataFrame({"a": X[:, 0]}) if where == "frame" else X
            small().fit(rows, np.where(np.arange(50) == 7, "alice@example.org", "1"))
    assert "alice" not in str(refused.value)
    assert refused.value.__cause__ is None
    assert refused.value.__suppress_context__


def test_a_key_needs_a_ledger(ledger):
    with pytest.raises(InvalidInput, match="ledger"):
        small(key="mine").fit(*line(50))


def test_a_ledger_that_is_no_file_stays_in_its_process(ledger, monkeypatch):
    """One on a server has a password in its address."""
    monkeypatch.setattr(Database, "file", None)
    with pytest.raises(InvalidInput, match="n_jobs=1"):
        pickle.dumps(small(ledger=ledger, account="rows"))


def test_a_pickled_ledger_is_the_same_ledger(ledger):
    assert pickle.loads(pickle.dumps(ledger)).balance("rows").account == ledger.balance("rows").account


def test_a_stored_estimator_predicts(ledger):
    X, y = line(200)
    fitted = small(random_state=0).fit(X, y)
    assert pickle.loads(pickle.dumps(fitted)).predict(X).tolist() == fitted.predict(X).tolist()
