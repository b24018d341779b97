"""Each back-end draws from the conditional distribution, and its releases differ by as much as theory says."""

import datetime as dt

import numpy as np
import pytest
from scipy import stats

from tacita.domain import Boolean, Categorical, Date, Numeric
from tacita.errors import InvalidInput
from tacita.synthesize.imputation import Cart, Forest, Linear, NeuralNetwork
from tacita.synthesize.imputation.backend import Target
from tacita.synthesize.imputation.linear import draw_class, posterior_draw

BACKENDS = [Linear(), Cart(), Forest(trees=20), NeuralNetwork(width=16, passes=60)]
IDS = [each.as_dict()["backend"] for each in BACKENDS]
NUMBER = Target(attribute=Numeric(name="y", bounds=(-20, 20), bins=80))
CLASS = Target(attribute=Categorical(name="c", levels=("a", "b", "c")))


def line(rows, rng):
    x = rng.random((rows, 2))
    return x, 1 + 6 * x[:, 0] + rng.normal(0, 1.5, rows)


def classes(rows, rng):
    x = rng.random((rows, 2))
    shares = np.stack([x[:, 0], (1 - x[:, 0]) / 2, (1 - x[:, 0]) / 2], axis=1)
    return x, draw_class(shares, rng).astype(float)


@pytest.mark.parametrize("backend", BACKENDS, ids=IDS)
def test_numbers_follow_their_features_with_their_spread(backend):
    rng = np.random.default_rng(1)
    draw = backend.fit(*line(3000, rng), NUMBER, rng)
    for place in (0.2, 0.8):
        values = draw(np.column_stack([place + 0.1 * (rng.random(4000) - 0.5), rng.random(4000)]), rng)
        assert values.mean() == pytest.approx(1 + 6 * place, abs=0.5)
        assert values.std() == pytest.approx(1.5, rel=0.35), "the spread given the features is part of the draw"


@pytest.mark.parametrize("backend", BACKENDS, ids=IDS)
def test_classes_follow_their_features(backend):
    rng = np.random.default_rng(2)
    draw = backend.fit(*classes(3000, rng), CLASS, rng)
    for place in (0.2, 0.8):
        values = draw(np.column_stack([place + 0.1 * (rng.random(4000) - 0.5), rng.random(4000)]), rng)
        assert np.mean(values == 0) == pytest.approx(place, abs=0.09)
        assert np.mean(values == 2) == pytest.approx((1 - place) / 2, abs=0.09)


@pytest.mark.parametrize("backend", BACKENDS[:3], ids=IDS[:3])
@pytest.mark.parametrize("target", [NUMBER, CLASS], ids=["number", "class"])
def test_releases_differ_by_what_the_data_leave_open(backend, target):
    """Without features, a mean over many draws varies between fits as the posterior of the mean does: var / n."""
    rng = np.random.default_rng(3)
    rows, nothing = 60, np.zeros((60, 1))
    values = rng.normal(0, 2, rows) if target.number else (rng.random(rows) < 0.4) * 2.0
    found = [
        backend.fit(nothing, values, target, rng)(np.zeros((6000, 1)), rng).mean()
        for _ in range(300 // (1 + 2 * (backend == BACKENDS[2])))
    ]
    expected = values.var() / rows
    assert expected / 1.6 < np.var(found) < expected * 1.6
    assert np.mean(found) == pytest.approx(values.mean(), abs=5 * np.sqrt(expected / 100) + 0.02)


def test_two_networks_differ():
    rng = np.random.default_rng(4)
    x, y = classes(300, rng)
    one, two = (BACKENDS[3].fit(x, y, CLASS, rng)(np.tile([0.5, 0.5], (4000, 1)), rng).mean() for _ in range(2))
    assert one != two


def test_coefficients_come_from_their_posterior():
    """Against the closed form: a t distribution around least squares."""
    rng = np.random.default_rng(5)
    x = np.column_stack([np.ones(30), rng.random(30)])
    y = x @ [1.0, 2.0] + rng.normal(0, 1, 30)
    slopes = np.array([posterior_draw(x, y, rng)[0][1] for _ in range(4000)])
    fitted, (residual,), *_ = np.linalg.lstsq(x, y)
    std = np.sqrt(residual / 28 * np.linalg.inv(x.T @ x)[1, 1])
    assert stats.kstest((slopes - fitted[1]) / std, stats.t(28).cdf).pvalue > 1e-3


def test_the_draw_of_class_coefficients_matches_the_curvature():
    """Two classes without features: the log odds have variance 1 / (n p (1-p)) near enough."""
    rng = np.random.default_rng(6)
    values = (np.arange(400) < 120) * 1.0
    target = Target(attribute=Boolean(name="b"))
    shares = [
        Linear().fit(np.zeros((400, 1)), values, target, rng)(np.zeros((20_000, 1)), rng).mean() for _ in range(200)
    ]
    assert np.var(shares) == pytest.approx(0.3 * 0.7 / 400, rel=0.4)


def test_columns_that_say_the_same_do_no_harm():
    rng = np.random.default_rng(7)
    x, y = line(500, rng)
    twice = np.column_stack([x, x[:, 0], np.ones(500)])
    values = Linear().fit(twice, y, NUMBER, rng)(twice, rng)
    assert values.mean() == pytest.approx(y.mean(), abs=0.5)
    with pytest.raises(InvalidInput, match="fewer rows"):
        Linear().fit(x[:3], y[:3], NUMBER, rng)


@pytest.mark.parametrize("backend", [Cart(), Forest(trees=5)], ids=["cart", "forest"])
def test_no_extreme_value_leaves_as_it_is(backend):
    """Leaves hold real values; a draw must not repeat the largest of them to the last digit."""
    rng = np.random.default_rng(8)
    x, y = line(800, rng)
    y[0] = 19.123456789
    drawn = np.concatenate([backend.fit(x, y, NUMBER, rng)(x, rng) for _ in range(10)])
    assert not np.isin(drawn, y).any()
    assert drawn.max() > 10, "the tail is still there"


@pytest.mark.parametrize("backend", BACKENDS, ids=IDS)
def test_draws_stay_within_the_schema(backend):
    rng = np.random.default_rng(9)
    x = rng.random((300, 1))
    whole = Target(attribute=Numeric(name="n", bounds=(0, 12), integer=True))
    counts = backend.fit(x, np.floor(13 * rng.random(300) ** 4), whole, rng)(x, rng)
    assert set(counts) <= set(range(13))
    first = dt.date(2020, 1, 1)
    days = Target(attribute=Date(name="d", bounds=(first, dt.date(2020, 3, 31))))
    low, high = days.attribute.line_bounds
    values = backend.fit(x, np.round(low + (high - low) * x[:, 0]), days, rng)(x, rng)
    assert low <= values.min() <= values.max() <= high
    assert (values == np.floor(values)).all()


@pytest.mark.parametrize("backend", BACKENDS, ids=IDS)
def test_a_column_with_one_value_gives_that_value(backend):
    rng = np.random.default_rng(10)
    x = rng.random((100, 2))
    assert set(backend.fit(x, np.full(100, 2.0), CLASS, rng)(x, rng)) == {2.0}
    whole = Target(attribute=Numeric(name="n", bounds=(0, 12), integer=True))
    assert set(backend.fit(x, np.full(100, 7.0), whole, rng)(x, rng)) == {7.0}


def test_bad_settings():
    for make in (lambda: Cart(least=0), lambda: Forest(trees=0), lambda: NeuralNetwork(width=0)):
        with pytest.raises(InvalidInput):
            make()
    many = Target(attribute=Categorical(name="c", levels=[str(i) for i in range(300)]))
    with pytest.raises(InvalidInput, match="cart"):
        Linear().fit(np.random.default_rng(1).random((600, 9)), np.arange(600) % 300.0, many, np.random.default_rng(1))
