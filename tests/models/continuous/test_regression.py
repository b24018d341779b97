"""Held-out errors, variance inflation and Ljung-Box against scikit-learn, regressions and statsmodels' definition."""

import numpy as np
import pytest
from scipy import stats
from sklearn.linear_model import LinearRegression
from tests.models.continuous.random_gaussian import random_gaussian

from tacita.errors import InvalidInput
from tacita.models.continuous import Moments
from tacita.models.continuous.regression import cross_validate, fold_moments, ljung_box, residuals, vif


@pytest.fixture(scope="module")
def columns():
    return random_gaussian(4, 3, density=0.8).sample(503, np.random.default_rng(2))


def test_the_held_out_error_is_that_of_fits_to_the_other_rows(columns):
    folds = fold_moments(columns, 10, np.random.default_rng(5))
    assert sorted(part.count for part in folds) == [50] * 7 + [51] * 3
    owner = np.random.default_rng(5).permutation(503) % 10
    x, y = np.stack([columns["x0"], columns["x2"]], axis=1), columns["x3"]
    squared, roots = [], []
    for fold in range(10):
        held = owner == fold
        errors = (y[held] - LinearRegression().fit(x[~held], y[~held]).predict(x[held])) ** 2
        squared.append(errors)
        roots.append(np.sqrt(errors.mean()))
    found = cross_validate(folds, "x3", ("x0", "x2"))
    assert found.rmse == pytest.approx(np.sqrt(np.concatenate(squared).mean()))
    assert found.std == pytest.approx(np.std(roots, ddof=1))
    assert found.deviation == pytest.approx(y.std())
    assert found.within < found.rmse < found.deviation
    left = residuals(columns, "x3", Moments.of(columns).line("x3", ("x0", "x2")))
    assert found.within == pytest.approx(left.std())
    assert found.as_dict()["parents"] == ["x0", "x2"]
    alone = cross_validate(folds, "x3", ())
    assert alone.rmse == pytest.approx(alone.deviation, rel=0.01)


def test_variance_inflation_is_one_over_what_others_do_not_explain(columns):
    found = vif(Moments.of(columns), list(columns))
    for name, value in found.items():
        others = np.stack([columns[other] for other in columns if other != name], axis=1)
        share = LinearRegression().fit(others, columns[name]).score(others, columns[name])
        assert value == pytest.approx(1 / (1 - share))
        assert value >= 1
    assert vif(Moments.of(columns), ["x1"]) == pytest.approx({"x1": 1.0})


def test_ljung_box_is_its_formula():
    pytest.importorskip("statsmodels")
    series = np.random.default_rng(1).normal(size=200).cumsum() * 0.1 + np.random.default_rng(2).normal(size=200)
    centred = series - series.mean()
    r = np.array([centred[lag:] @ centred[: 200 - lag] for lag in range(1, 21)]) / (centred @ centred)
    q = 200 * 202 * (r**2 / (200 - np.arange(1, 21))).sum()
    statistic, p = ljung_box(series)
    assert statistic == pytest.approx(q)
    assert p == pytest.approx(stats.chi2.sf(q, 20))
    assert ljung_box(np.full(50, 2.0))[1] == 0.0


def test_bad_input(columns):
    with pytest.raises(InvalidInput, match="folds"):
        fold_moments(columns, 1, np.random.default_rng(0))
    with pytest.raises(InvalidInput, match="fold"):
        fold_moments({"a": [1.0, 2.0]}, 3, np.random.default_rng(0))
    with pytest.raises(InvalidInput, match="more than 20"):
        ljung_box(np.arange(20.0))
