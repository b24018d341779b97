"""Computed numbers: bounds against brute force, values against Python."""

import itertools
import math

import numpy as np
import pytest

from tacita.errors import InvalidInput
from tacita.query.expressions import Binary, Call, Choice, Coded, Computed, Constant, Value
from tacita.query.where import OneOf

RANGES = {"x": (-3.0, 5.0), "y": (1.0, 4.0)}
NORTH = OneOf("g", (0,))
X, Y = Value("x"), Value("y")
EXPRESSIONS = {
    "sum": Binary("+", X, Y),
    "difference": Binary("-", X, Y),
    "product": Binary("*", X, Y),
    "square": Binary("*", X, X),
    "quotient": Binary("/", X, Y),
    "abs": Call("abs", (X,)),
    "round": Call("round", (X,)),
    "floor": Call("floor", (X,)),
    "ceil": Call("ceil", (X,)),
    "sqrt": Call("sqrt", (Y,)),
    "ln": Call("ln", (Y,)),
    "exp": Call("exp", (X,)),
    "least": Call("least", (X, Y)),
    "greatest": Call("greatest", (X, Y)),
    "coalesce": Call("coalesce", (X, Constant(9.0))),
    "case": Choice(((NORTH, Binary("*", X, Constant(-2.0))),), Y),
    "half a case": Choice(((NORTH, X),), Constant(math.nan)),
    "coded": Binary("+", Coded(("g",), (3,), (1.0, None, -4.0)), X),
}


class Rows:
    def __init__(self, x, y, g):
        self.known, self.codes, self.count = {"x": x, "y": y}, {"g": g}, len(x)

    def numbers(self, column):
        return self.known[column]


def every():
    xs = [*np.linspace(-3, 5, 33), 0.0, math.nan]
    points = list(itertools.product(xs, [*np.linspace(1, 4, 13), math.nan], range(4)))
    x, y, g = (np.array(each) for each in zip(*points, strict=True))
    return Rows(x, y, g.astype(np.int64))


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_no_value_leaves_the_bounds(name):
    made = Computed(name=name, of=EXPRESSIONS[name])
    low, high = made.range(RANGES.__getitem__)
    found = made.of.evaluate(every())
    assert np.nanmin(found) >= low
    assert np.nanmax(found) <= high
    if name not in ("square", "coded"):  # interval arithmetic is rough where a value occurs twice
        assert np.nanmin(found) == pytest.approx(low)
        assert np.nanmax(found) == pytest.approx(high)
    assert made.as_dict()["name"] == name


def test_values_are_those_of_the_expression():
    rows = Rows(np.array([2.5, -1.0, math.nan]), np.array([2.0, 4.0, 1.0]), np.array([0, 1, 2]))
    found = {name: each.evaluate(rows).tolist() for name, each in EXPRESSIONS.items()}
    assert found["quotient"][:2] == [1.25, -0.25]
    assert found["round"][:2] == [3.0, -1.0]
    assert found["case"] == [-5.0, 4.0, 1.0]
    assert found["least"] == [2.0, -1.0, 1.0]
    assert found["coalesce"] == [2.5, -1.0, 9.0]
    assert found["coded"][0] == 3.5
    assert math.isnan(found["coded"][1])
    assert math.isnan(found["half a case"][1])


def test_columns_and_attributes_that_are_read():
    assert EXPRESSIONS["case"].columns == ("x", "y")
    assert EXPRESSIONS["case"].coded == ("g",)
    assert EXPRESSIONS["coded"].coded == ("g",)
    assert Constant(math.nan) == Constant(math.nan)
    assert len({Constant(math.nan), Constant(math.nan), Constant(1.0)}) == 2


def test_a_constant_has_bounds_that_rise_and_null_has_none():
    assert Computed(name="1", of=Constant(1.0)).range(RANGES.__getitem__) == (0.0, 1.0)
    assert Computed(name="-2", of=Constant(-2.0)).range(RANGES.__getitem__) == (-2.0, 0.0)
    assert Computed(name="0", of=Constant(0.0)).range(RANGES.__getitem__) == (0.0, 1.0)
    with pytest.raises(InvalidInput, match="NULL"):
        Computed(name="nothing", of=Constant(math.nan)).range(RANGES.__getitem__)


@pytest.mark.parametrize("of", [Binary("/", Y, X), Call("sqrt", (X,)), Call("ln", (X,))])
def test_without_bounds_it_is_refused(of):
    with pytest.raises(InvalidInput, match=r"zero|negative"):
        of.bounds(RANGES.__getitem__)
