"""Errors through arithmetic: against simulation of the noise, and intervals that hold."""

from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse

from tacita.noise import DiscreteLaplace, SeededSource, Stepped
from tacita.query.sql.released import Noise, Quantity, apply, choose, combine, extreme, public, total

LAW = Stepped(law=DiscreteLaplace(scale=Fraction(8)), of=Fraction(1))
TRUTH = np.array([[400.0, 90.0], [300.0, 60.0], [50.0, 10.0]])
GROUPS = np.array([0, 0, 1])


def frame(noisy):
    """Two noisy columns of three rows."""
    noise = Noise((LAW,), (6,))
    slopes = [sparse.csr_matrix((np.ones(3), (range(3), [2 * r + c for r in range(3)])), (3, 6)) for c in (0, 1)]
    return noise, *(Quantity.linear(noise, noisy[:, c], slopes[c]) for c in (0, 1))


def constants(noise, value):
    return public(noise, np.full(3, float(value)))


FUNCTIONS = {
    "linear": lambda noise, a, b: combine("-", combine("*", a, constants(noise, 2)), b),
    "cancels": lambda noise, a, b: combine("-", combine("+", a, b), a),
    "shifted": lambda noise, a, _: combine("+", a, constants(noise, 5)),
    "scaled down": lambda noise, a, _: combine("/", a, constants(noise, 4)),
    "ratio": lambda _, a, b: combine("/", b, a),
    "product": lambda _, a, b: combine("*", a, b),
    "share of a constant": lambda noise, a, _: combine("/", constants(noise, 1000), a),
    "root": lambda _, a, __: apply(np.sqrt, a, 0.5 / np.sqrt(np.maximum(a.value, 1)), 0.0),
    "largest": lambda _, a, b: combine("greatest", a, combine("*", b, constants(b.noise, 4))),
    "case": lambda _, a, b: choose(np.array([0, 1, 0]), [a, b], by_noise=False),
    "case by noise": lambda _, a, b: choose((a.value < 200).astype(int), [a, b], by_noise=True),
    "total": lambda _, a, __: total(a, GROUPS, 2),
    "total of ratios": lambda _, a, b: total(combine("/", b, a), GROUPS, 2),
    "ratio of totals": lambda _, a, b: combine("/", total(b, GROUPS, 2), total(a, GROUPS, 2)),
    "maximum": lambda _, a, __: extreme(a, GROUPS, 2, np.max),
}
EXACT = {"linear", "cancels", "shifted", "scaled down", "case", "total"}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_intervals_hold_and_standard_errors_are_those_of_the_noise(name):
    of, runs, level = FUNCTIONS[name], 600, 0.9
    wanted = of(*frame(TRUTH)).value
    source, values, held, errors = SeededSource(7), [], [], []
    for _ in range(runs):
        made = of(*frame(TRUTH + LAW.draw(6, source).reshape(3, 2)))
        column = made.column(level)
        values.append(column.value)
        errors.append(column.std)
        held.append((column.low <= wanted) & (wanted <= column.high))
    share, values = np.mean(held, axis=0), np.array(values)
    assert (share >= level - 5 * np.sqrt(level * (1 - level) / runs)).all()
    if name in EXACT:
        assert made.kind == "linear"
        assert values.std(axis=0) == pytest.approx(np.mean(errors, axis=0), rel=0.1)
    elif name not in ("maximum", "case by noise", "share of a constant", "largest"):  # first order, far from zero
        assert values.std(axis=0)[0] == pytest.approx(np.mean(errors, axis=0)[0], rel=0.2)


def test_kinds_say_where_an_interval_comes_from():
    noise, a, b = frame(TRUTH)
    assert combine("/", a, b).kind == "ratio"
    assert combine("*", a, b).kind == "bounds"
    assert combine("+", constants(noise, 1), constants(noise, 2)).kind == "public"
    assert combine("*", combine("/", a, b), constants(noise, 100)).kind == "ratio"


def test_a_divisor_that_may_be_zero_leaves_the_interval_open():
    noise, a, b = frame(np.array([[400.0, 3.0], [5.0, 0.0], [-1.0, 500.0]]))
    low, high = combine("/", a, b).ends(0.95)
    assert np.isinf(low[:2]).all()
    assert np.isinf(high[:2]).all()
    assert np.isfinite([low[2], high[2]]).all()
    assert np.isnan(combine("/", a, b).value[1])
    low, _ = combine("/", constants(noise, 1), b).ends(0.95)
    assert np.isinf(low[0])


def test_what_is_public_has_no_error():
    noise, a, _ = frame(TRUTH)
    column = constants(noise, 3).column(0.95)
    assert (column.low == 3).all()
    assert (column.std == 0).all()
    assert (combine("-", a, a).column(0.95).std == 0).all()


def test_rows_are_taken_in_order():
    _, a, _ = frame(TRUTH)
    picked = a.take(np.array([2, 0]))
    assert picked.value.tolist() == [50.0, 400.0]
    assert [end.tolist() for end in picked.ends(0.95)] == [end[[2, 0]].tolist() for end in a.ends(0.95)]
