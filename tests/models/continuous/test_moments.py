"""Moments and regressions against least squares on the rows."""

import numpy as np
import pytest
from tests.models.continuous.random_gaussian import random_gaussian

from tacita.errors import InvalidInput, UnknownName
from tacita.models.continuous import Moments


@pytest.fixture(scope="module")
def columns():
    drawn = random_gaussian(5, 1).sample(300, np.random.default_rng(4))
    return drawn | {"x4": 1e4 + 1e-3 * drawn["x4"]}  # another unit, far from 0


def least_squares(columns, child, parents):
    x = np.column_stack([np.ones(len(columns[child])), *(columns[name] for name in parents)])
    weights, *_ = np.linalg.lstsq(x, columns[child], rcond=None)
    return weights, columns[child] - x @ weights


@pytest.mark.parametrize("parents", [(), ("x0",), ("x3", "x0", "x4"), ("x0", "x1", "x3", "x4")])
def test_a_line_is_that_of_least_squares(columns, parents):
    line = Moments.of(columns).line("x2", parents)
    weights, left = least_squares(columns, "x2", parents)
    assert list(line.coefficients) == list(parents)
    assert list(line.coefficients.values()) == pytest.approx(weights[1:], rel=1e-6)
    assert line.intercept == pytest.approx(weights[0], rel=1e-6)
    assert line.variance == pytest.approx(np.mean(left**2), rel=1e-8)


def test_a_partial_correlation_is_that_of_residuals(columns):
    given = ("x1", "x4")
    one, other = (least_squares(columns, name, given)[1] for name in ("x0", "x3"))
    expected = np.corrcoef(one, other)[0, 1]
    assert Moments.of(columns).partial_correlation("x0", "x3", given) == pytest.approx(expected, abs=1e-9)


def test_parts_add_up_and_can_be_taken_out(columns):
    whole = Moments.of(columns)
    cut = [slice(0, 17), slice(17, 200), slice(200, 300)]
    parts = [Moments.of({name: column[at] for name, column in columns.items()}) for at in cut]
    for found in (Moments.merge(parts), Moments.merge([Moments.merge(parts[:2]), parts[2]])):
        assert found.count == 300
        assert found.mean == pytest.approx(whole.mean)
        assert found.covariance == pytest.approx(whole.covariance, rel=1e-9)
    left = whole.without(parts[1])
    expected = Moments.merge([parts[0], parts[2]])
    assert left.mean == pytest.approx(expected.mean)
    assert left.covariance == pytest.approx(expected.covariance, rel=1e-7, abs=1e-12)
    chosen = whole.select(["x3", "x0"])
    assert chosen.covariance == pytest.approx(np.cov(columns["x3"], columns["x0"], bias=True))


def test_exact_moments_show_no_number(columns):
    assert repr(Moments.of(columns)) == "Moments(names=('x0', 'x1', 'x2', 'x3', 'x4'))"
    assert not hasattr(Moments, "as_dict")


def test_columns_without_a_density_are_refused_by_name():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 50))
    with pytest.raises(InvalidInput, match=r"flat: must vary"):
        Moments.of({"a": a, "flat": np.full(50, 3.7)}).check_regular()
    with pytest.raises(InvalidInput, match="linear functions") as error:
        Moments.of({"a": a, "b": b, "sum": 2 * a - b + 1, "free": rng.normal(size=50)}).check_regular()
    assert "free" not in str(error.value)
    Moments.of({"a": a, "b": b}).check_regular()


def test_bad_input(columns):
    for wrong in ({}, {"a": [1.0], "b": [1.0, 2.0]}, {"a": [np.nan]}, {"a": [[1.0]]}, {"a": []}):
        with pytest.raises(InvalidInput):
            Moments.of(wrong)
    moments = Moments.of(columns)
    with pytest.raises(UnknownName):
        moments.line("x9", ())
    with pytest.raises(InvalidInput, match="leave"):
        moments.without(moments)
    with pytest.raises(InvalidInput, match="same columns"):
        Moments.merge([moments, moments.select(["x0"])])
    with pytest.raises(InvalidInput, match="distinct"):
        Moments(names=("a", "a"), count=1.0, mean=np.zeros(2), covariance=np.eye(2))
    with pytest.raises(InvalidInput, match="mean"):
        Moments(names=("a",), count=1.0, mean=np.zeros(2), covariance=np.eye(1))
