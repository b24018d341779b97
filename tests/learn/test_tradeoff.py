"""Curves of what privacy costs: they bend the way the claims say."""

import math

import numpy as np
import pytest

from tacita.errors import InvalidInput
from tacita.learn.functions.calibration import noise_multiplier
from tacita.learn.tradeoff import trade_off
from tacita.privacy.budget import Budget
from tacita.privacy.unit import Neighbours

SMALL = {"rows": 2000, "features": 3, "draws": 6, "methods": ("functional", "output")}


@pytest.mark.parametrize(
    ("against", "values", "better"),
    [("epsilon", (0.05, 5.0), "last"), ("n", (300, 20_000), "last"), ("dimension", (2, 12), "first")],
)
def test_errors_bend_as_they_should(against, values, better):
    found = trade_off(against, values, **SMALL | {"epsilon": 0.3})
    for line in found.lines:
        assert line.x == values
        assert (line.middle[-1] < line.middle[0]) == (better == "last")
        assert all(a <= b <= c for a, b, c in zip(line.low, line.middle, line.high, strict=True))
    functional, output = found.lines
    assert all(0 <= share <= 1 for share in functional.convexified)
    assert output.convexified == (None, None)
    assert against not in found.fixed.split()


def test_noise_is_lifted_more_often_the_less_budget_there_is():
    (line,) = trade_off("epsilon", (0.02, 20.0), **SMALL | {"methods": ("functional",)}).lines
    assert line.convexified[0] > line.convexified[-1]


def test_delta_helps_those_who_use_it():
    found = trade_off("delta", (1e-9, 1e-2), **SMALL | {"methods": ("sufficient", "objective"), "epsilon": 0.2})
    gaussian, tilted = found.lines
    assert gaussian.middle[1] < gaussian.middle[0]
    assert tilted.middle[1] == tilted.middle[0]


def test_a_function_does_not_mind_questions_and_answers_do():
    found = trade_off("queries", (1, 100, 2000), epsilon=0.5, delta=1e-5, rows=3000, draws=8)
    function, answers = found.lines
    assert function.middle[2] < 2 * function.middle[1]
    # zCDP adds up: a hundredfold of questions, ten times the noise
    assert answers.middle[2] / answers.middle[1] == pytest.approx(math.sqrt(20), rel=0.1)
    assert answers.middle[2] > 10 * function.middle[2]
    # and both are calibrated alike: a function moves by sqrt(2) kernels where an answer moves by one
    multiplier = noise_multiplier(Budget.approx(0.5, 1e-5), Neighbours.REPLACE_ONE)
    ratio = function.middle[2] / (answers.middle[2] / math.sqrt(2000))
    assert ratio == pytest.approx(math.sqrt(2), rel=0.2)
    # half the noise is what twice the budget buys, as the calibration says
    _, cheaper = trade_off("queries", (2000,), epsilon=1.0, delta=1e-5, rows=3000, draws=8).lines
    less = noise_multiplier(Budget.approx(1.0, 1e-5), Neighbours.REPLACE_ONE)
    assert answers.middle[2] / cheaper.middle[0] == pytest.approx(multiplier / less, rel=0.1)


def test_pictures_stand_for_every_line():
    found = trade_off("n", (300, 600), **SMALL | {"draws": 2, "methods": ("auto", "functional", "output")})
    pictures = found.pictures()
    assert [title for title, _ in pictures] == ["auto and functional", "auto and output"]
    assert all(picture.startswith("<svg") for _, picture in pictures)
    assert np.isfinite(found.as_dict()["lines"][0]["middle"]).all()


@pytest.mark.parametrize(
    ("against", "values", "field"),
    [
        ("colour", None, "against"),
        ("n", (10.5,), "values"),
        ("epsilon", (0.0,), "values"),
        ("epsilon", (1.0, 1.0), "values"),
        ("epsilon", (float("nan"),), "values"),
        ("queries", (10**6,), "values"),
        ("epsilon", (), "values"),
    ],
)
def test_axes_that_cannot_be(against, values, field):
    with pytest.raises(InvalidInput) as caught:
        trade_off(against, values, **{"draws": 2} if against == "queries" else SMALL)
    assert caught.value.field == field


def test_methods_that_nothing_allows():
    with pytest.raises(InvalidInput, match="none is allowed"):
        trade_off("n", (300,), **SMALL | {"methods": ("adassp",)})


@pytest.mark.parametrize(
    ("option", "value"),
    [("features", 4), ("methods", ("auto",)), ("task", "linear"), ("neighbours", Neighbours.ADD_REMOVE)],
)
def test_questions_to_a_density_refuse_what_they_would_not_hear(option, value):
    with pytest.raises(InvalidInput) as caught:
        trade_off("queries", (1,), rows=100, draws=1, **{option: value})
    assert caught.value.field == option
