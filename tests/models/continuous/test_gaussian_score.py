"""Gaussian scores against likelihoods of rows, predictive densities one row after the other, and scipy's tests."""

import math

import numpy as np
import pytest
from scipy import stats
from tests.models.continuous.random_gaussian import random_gaussian

from tacita.errors import InvalidInput, UnknownName
from tacita.models.continuous import BGe, GaussianBIC, GaussianNetwork, Moments
from tacita.models.links import shd
from tacita.models.search import Search, total_score


@pytest.fixture(scope="module")
def network():
    return random_gaussian(4, 2, density=0.7)


@pytest.fixture(scope="module")
def columns(network):
    return network.sample(200, np.random.default_rng(1))


def test_bic_is_the_likelihood_of_the_rows_less_half_the_parameters_times_ln_n(network, columns):
    moments = Moments.of(columns)
    fitted = GaussianNetwork.fit(moments, network.parents)
    parameters = sum(len(above) + 2 for above in network.parents.values())
    expected = fitted.log_likelihood(columns) - parameters / 2 * math.log(200)
    assert total_score(GaussianBIC(moments=moments), network.parents) == pytest.approx(expected)
    by_scipy = sum(
        stats.norm.logpdf(
            columns[name],
            line.intercept + sum(w * columns[a] for a, w in line.coefficients.items()),
            math.sqrt(line.variance),
        ).sum()
        for name, line in fitted.lines.items()
    )
    assert fitted.log_likelihood(columns) == pytest.approx(by_scipy)


def sequential(rows, strength, freedom, centre, t):
    """ln p(rows) under a normal-Wishart prior: each row's predictive density given those before, a multivariate t.

    With k rows seen, mean m and scatter matrix R: t of freedom a - d + 1 around m, shape R (k' + 1) / (k' (a - d + 1)).
    """
    d = rows.shape[1]
    mean, scatter, weight, a, total = np.array(centre, float), np.diag(t), strength, freedom, 0.0
    for row in rows:
        shape = scatter * (weight + 1) / (weight * (a - d + 1))
        total += stats.multivariate_t.logpdf(row, mean, shape, df=a - d + 1)
        scatter = scatter + weight / (weight + 1) * np.outer(row - mean, row - mean)
        mean = (weight * mean + row) / (weight + 1)
        weight, a = weight + 1, a + 1
    return total


@pytest.mark.parametrize("scale", [None, (1.0, 1.0, 1.0), (0.5, 2.0, 3.0)])
@pytest.mark.parametrize("centre", [None, (0.3, -1.0, 0.0)])
def test_bge_of_a_complete_network_is_the_marginal_likelihood_of_the_rows(scale, centre):
    rows = np.random.default_rng(3).normal(size=(30, 3)) @ np.array([[1, 0.5, 0], [0, 1, -0.4], [0, 0, 2]]) + 0.5
    names = ("a", "b", "c")
    strength, freedom = 1.7, 6.5
    score = BGe(
        moments=Moments.of(dict(zip(names, rows.T, strict=True))),
        strength=strength,
        freedom=freedom,
        centre=None if centre is None else dict(zip(names, centre, strict=True)),
        scale=None if scale is None else dict(zip(names, scale, strict=True)),
    )
    t = strength * (freedom - 3 - 1) / (strength + 1)
    used = rows.std(axis=0) if scale is None else np.array(scale)
    expected = sequential(rows, strength, freedom, rows.mean(axis=0) if centre is None else centre, t * used**2)
    found = score("a", ()) + score("b", ("a",)) + score("c", ("a", "b"))
    assert found == pytest.approx(expected)
    # one column alone: a prior of the margin has freedom a - d + 1
    alone = sequential(
        rows[:, 1:2], strength, freedom - 2, [rows[:, 1].mean() if centre is None else centre[1]], t * used[1:2] ** 2
    )
    assert score("b", ()) == pytest.approx(alone)


@pytest.mark.parametrize("score", [GaussianBIC, BGe])
def test_equivalent_structures_score_alike(columns, score):
    local = score(moments=Moments.of(columns))
    assert local("x1", ("x0",)) + local("x0", ()) == pytest.approx(local("x0", ("x1",)) + local("x1", ()))
    chain = local("x0", ()) + local("x1", ("x0",)) + local("x2", ("x0", "x1"))
    assert chain == pytest.approx(local("x2", ()) + local("x1", ("x2",)) + local("x0", ("x1", "x2")))


def test_units_do_not_change_what_bge_prefers(columns):
    other = columns | {"x2": 1000 * columns["x2"] + 7}
    one, two = (BGe(moments=Moments.of(each)) for each in (columns, other))
    assert one("x2", ("x0",)) - one("x2", ()) == pytest.approx(two("x2", ("x0",)) - two("x2", ()))


@pytest.mark.parametrize("score", [GaussianBIC, BGe])
def test_the_exact_search_finds_the_class_of_the_network(network, score):
    drawn = network.sample(50_000, np.random.default_rng(5))
    found = Search().run(network.names, score(moments=Moments.of(drawn)))
    assert shd(found, network.parents, classes=True) == 0


def test_the_test_is_scipys(columns):
    score = GaussianBIC(moments=Moments.of(columns))
    expected = stats.pearsonr(columns["x0"], columns["x3"]).pvalue
    assert score.test("x0", "x3", ()) == pytest.approx(expected)
    few = Moments.of({name: column[:4] for name, column in columns.items()})
    assert GaussianBIC(moments=few).test("x0", "x1", ("x2", "x3")) == 1.0


def test_p_values_given_others_are_uniform_where_nothing_depends():
    rng, found = np.random.default_rng(6), []
    for _ in range(500):
        z = rng.normal(size=12)
        columns = {"z": z, "a": z + rng.normal(size=12), "b": 2 * z + rng.normal(size=12)}
        found.append(BGe(moments=Moments.of(columns)).test("a", "b", ("z",)))
    assert stats.kstest(found, "uniform").pvalue > 1e-6


def test_bad_input(columns):
    moments = Moments.of(columns)
    with pytest.raises(InvalidInput, match="strength"):
        BGe(moments=moments, strength=0.0)
    with pytest.raises(InvalidInput, match="freedom"):
        BGe(moments=moments, freedom=5.0)
    for field in ("centre", "scale"):
        with pytest.raises(UnknownName):
            BGe(moments=moments, **{field: {"x9": 1.0}})
