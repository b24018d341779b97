"""Granger tests against statsmodels, on series that are drawn from a VAR."""

import warnings

import numpy as np
import pytest
from scipy import stats

from tacita.errors import InvalidInput
from tacita.models.continuous.granger import difference, granger, is_stationary, var_order

pytest.importorskip("statsmodels")
NAMES = ("a", "b", "c")


def drawn(times=400, seed=0, strength=0.4):
    """`a` drives `b` after one time and `c` after two; nothing else depends on others."""
    rng = np.random.default_rng(seed)
    values = np.zeros((times + 50, 3))
    for t in range(2, times + 50):
        e = rng.normal(size=3)
        values[t, 0] = 0.5 * values[t - 1, 0] + e[0]
        values[t, 1] = 0.3 * values[t - 1, 1] + strength * values[t - 1, 0] + e[1]
        values[t, 2] = strength * values[t - 2, 0] + e[2]
    return values[50:] * [1.0, 100.0, 0.01] + [0.0, 5.0, 3.0]


def peer(values, most, order=None):
    from statsmodels.tsa.api import VAR

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = VAR(values).fit(order) if order else VAR(values).fit(maxlags=most, ic="aic")
        k = values.shape[1]
        found = np.full((k, k), np.nan)
        for cause in range(k):
            for outcome in range(k):
                if cause != outcome:
                    found[cause, outcome] = fitted.test_causality([outcome], [cause], kind="f").pvalue
    return fitted.k_ar, found


@pytest.mark.parametrize("seed", range(3))
def test_order_and_f_tests_are_those_of_statsmodels(seed):
    values = drawn(seed=seed)
    order, expected = peer((values - values.mean(0)) / values.std(0), 6)
    found = granger(NAMES, values, most_lags=6, stationary=None)
    assert found.order == order
    # statsmodels has the freedom of all equations together in the denominator; F of one equation has its own
    equations = 3
    own = len(values) - order - (1 + order * equations)
    for cause in range(3):
        for outcome in range(3):
            if cause != outcome:
                statistic = stats.f.isf(expected[cause, outcome], order, own * equations)
                assert found.p_values[cause, outcome] == pytest.approx(stats.f.sf(statistic, order, own), rel=1e-5)
    assert np.isnan(np.diag(found.p_values)).all()


@pytest.mark.parametrize("seed", range(2))
def test_bivariate_tests_are_those_of_statsmodels(seed):
    from statsmodels.tsa.stattools import grangercausalitytests

    values = drawn(seed=seed)
    found = granger(NAMES, values, most_lags=4, conditional=False, stationary=None)
    for cause in range(3):
        for outcome in range(3):
            if cause != outcome:
                pair = values[:, [outcome, cause]]
                lags = max(1, var_order((pair - pair.mean(0)) / pair.std(0), 4))
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    theirs = grangercausalitytests(pair, [lags])[lags][0]["ssr_ftest"]
                assert found.p_values[cause, outcome] == pytest.approx(theirs[1], rel=1e-6, abs=1e-14)


def test_links_are_those_of_the_process():
    links = sum(granger(NAMES, drawn(800, seed), stationary=None).links(0.01).astype(int) for seed in range(20))
    assert links[0, 1] == links[0, 2] == 20
    assert links[1:].sum() + links[0, 0] <= 5  # 80 tests at level 0.01


def test_p_values_are_uniform_where_nothing_causes():
    found = [
        granger(NAMES, drawn(150, seed, strength=0.0), most_lags=2, stationary=None).p_values[0, 1]
        for seed in range(300)
    ]
    assert stats.kstest(found, "uniform").pvalue > 1e-4


def test_columns_are_differenced_until_they_are_stationary():
    rng = np.random.default_rng(4)
    noise = rng.normal(size=400)
    assert difference(noise) == 0
    assert difference(noise.cumsum()) == 1
    assert difference(noise.cumsum().cumsum()) == 2
    assert is_stationary(np.full(50, 1.0))
    walk = np.stack([noise.cumsum(), rng.normal(size=400)], axis=1)
    found = granger(("walk", "noise"), walk)
    assert (found.differences, found.times) == ((1, 0), 399)
    by_hand = granger(("walk", "noise"), np.stack([np.diff(walk[:, 0]), walk[1:, 1]], axis=1), stationary=None)
    assert found.p_values == pytest.approx(by_hand.p_values, nan_ok=True)


def test_a_constant_column_has_no_links():
    values = drawn()
    values[:, 1] = 7.0
    found = granger(NAMES, values, stationary=None)
    assert np.isnan(found.p_values[1]).all()
    assert not found.links()[1].any()
    assert not found.links()[:, 1].any()
    assert found.links()[0, 2]
    assert not granger(("a", "b"), np.ones((30, 2)), stationary=None).links().any()


def test_bad_input():
    with pytest.raises(InvalidInput, match="times"):
        granger(NAMES, drawn(4), stationary=None)
    with pytest.raises(InvalidInput, match="finite"):
        granger(NAMES, np.full((50, 3), np.nan))
    with pytest.raises(InvalidInput, match="column"):
        granger(("a",), drawn())
    with pytest.raises(InvalidInput, match="most_lags"):
        granger(NAMES, drawn(), most_lags=0)
    with pytest.raises(InvalidInput, match="level"):
        granger(NAMES, drawn(), stationary=None).links(1.5)
