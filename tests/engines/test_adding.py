"""Formulas against exact rational arithmetic, and the operands that underflow against all there are nearby."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacita.engines.adding import MOST, Added, Clip, Formula, From, Over, Plus, Rounded, Square, Times
from tacita.query.measures import Moments, Total

EXACT = {
    Plus: lambda step, x: Fraction(x) + Fraction(step.constant),
    From: lambda step, x: Fraction(step.constant) - Fraction(x),
    Times: lambda step, x: Fraction(x) * Fraction(step.constant),
    Over: lambda step, x: Fraction(x) / Fraction(step.constant),
    Square: lambda step, x: Fraction(x) ** 2,
    Clip: lambda step, x: min(max(Fraction(x), Fraction(step.low)), Fraction(step.high)),
    Rounded: lambda step, x: Fraction(round(Fraction(x))),
}
"""The result of a step before it is rounded to a double. Python rounds halves of fractions to even."""

CONSTANTS = st.floats(1e-100, 1e100)
STEPS = st.one_of(
    st.builds(Plus, CONSTANTS | CONSTANTS.map(lambda x: -x)),
    st.builds(From, CONSTANTS),
    st.builds(Times, CONSTANTS),
    st.builds(Over, CONSTANTS),
    st.just(Square()),
)


def nearest(exact: Fraction) -> float:
    """The double next to a fraction: Python divides whole numbers with one rounding to even."""
    return exact.numerator / exact.denominator


@given(STEPS, st.floats(-1e100, 1e100))
def test_every_step_is_rounded_once(step, value):
    assert float(step(np.array([value]))[0]) == nearest(EXACT[type(step)](step, value))


@given(st.floats(-(2.0**50), 2.0**50))
def test_halves_are_rounded_to_even(value):
    assert int(Rounded()(np.array([value]))[0]) == EXACT[Rounded](Rounded(), value)
    # as MongoDB does it
    assert (value + 3 * 2.0**51) - 3 * 2.0**51 == EXACT[Rounded](Rounded(), value)


@pytest.mark.parametrize("step", [Times(0.3), Times(1e-100), Over(3.0), Over(1e100), Square()])
def test_the_largest_operand_that_is_lost_is_found(step):
    (tiny,) = Formula((step,), 0, 1).tiny(whole=False)
    assert step(np.array([tiny]))[0] == 0.0
    assert step(np.array([math.nextafter(tiny, 1)]))[0] > 0.0


@pytest.mark.parametrize("step", [Times(1.0), Times(1e100), Over(1e-100), Over(1.0)])
def test_steps_that_lose_nothing_have_no_such_operand(step):
    assert Formula((step,), 0, 1).tiny(whole=False) == (None,)


@given(st.lists(STEPS, min_size=1, max_size=4), st.floats(allow_nan=False, allow_infinity=False), st.booleans())
def test_no_underflow_goes_unseen(steps, value, whole):
    """Where a formula states no such operand, no product and no quotient of anything is lost."""
    value = math.floor(value) if whole else value
    x = float(value)
    for step, tiny in zip(steps, Formula(tuple(steps), 0, 1).tiny(whole), strict=True):
        if not abs(x) < 1e150:
            return  # formulas are of bounded numbers
        exact = EXACT[type(step)](step, x)
        x = nearest(exact)
        if isinstance(step, Times | Over | Square) and exact and x == 0:
            assert tiny is not None
            return


def test_formulas_of_statistics_are_their_definitions():
    low, high = -3.7, 12.2
    values = np.array([low, high, 0.0, 1.5, math.nextafter(low, 0), 5e-324, 4.25])
    steps = 1 << 20
    (total,) = Total(low=low, high=high).formulas
    size = float(Total(low=low, high=high).step)
    assert total(values).tolist() == [round(Fraction(x) / Fraction(size)) for x in values.tolist()]
    for formula, share in zip(
        Moments(low=low, high=high, degree=2).formulas, (lambda t: (1 - t) ** 2, lambda t: 1 - t * t), strict=True
    ):
        found = formula(values)
        exact = [
            share((Fraction(x) - Fraction(low)) / (Fraction(high) - Fraction(low))) * steps for x in values.tolist()
        ]
        assert all(abs(int(mine) - theirs) <= Fraction(5001, 10000) for mine, theirs in zip(found, exact, strict=True))


def test_only_what_has_room_fits():
    assert Formula((), -MOST, MOST).fits()
    assert not Formula((), 0, MOST + 1).fits()
    assert not Formula((), -MOST - 1, 0).fits()


def test_exact_sums_are_not_shown():
    one = np.array([[77]], np.int64)
    assert "77" not in repr(Added(codes=one, rows=one[:, 0], present=one, sums=one, counts=()))


ENDS = st.floats(-1e100, 1e100)
CLIPS = st.builds(lambda a, b: Clip(min(a, b), max(a, b)), ENDS, ENDS)


@given(st.lists(STEPS | CLIPS, min_size=1, max_size=5), ENDS, ENDS, st.lists(st.floats(0, 1), max_size=5))
def test_clips_that_are_left_out_change_nothing(steps, one, two, shares):
    low, high = min(one, two), max(one, two)
    values = np.clip(np.array([low, high, *(low + share * (high - low) for share in shares)]), low, high)
    formula = Formula(tuple(steps), 0, 1)
    short = formula.within(low, high)
    with np.errstate(all="ignore"):
        full, less = values, values
        for step in formula.steps:
            full = step(full)
        for step in short.steps:
            less = step(less)
    np.testing.assert_array_equal(full, less)


def test_clips_to_the_bounds_of_the_column_are_left_out():
    (formula,) = Moments(low=0.0, high=200.0).formulas
    assert formula.steps == (Over(200.0), Clip(0.0, 1.0), From(1.0), Times(2.0**20), Rounded())
    assert formula.within(0.0, 200.0).steps == (Over(200.0), From(1.0), Times(2.0**20), Rounded())
    assert formula.within(-1.0, 200.0) == formula
    assert formula.within(0.0, 201.0) == formula
