"""Bounds against linear programs, exact enumeration of the noise, and choices of tables that depend on noise."""

import itertools

import numpy as np
import pytest
from scipy.optimize import linprog

from tacita.domain import Categorical, Domain
from tacita.noise import DiscreteLaplace
from tacita.synthesize.intervals import bounds
from tacita.synthesize.intervals.bounds import count_bounds
from tacita.synthesize.intervals.measured import MeasuredTable, MeasuredTables
from tacita.synthesize.intervals.pooled import Question

NONE = DiscreteLaplace.at_least(0.01)
"""Hardly any noise: its intervals are points."""
LAW = DiscreteLaplace.at_least(1)
WIDE = DiscreteLaplace.at_least(10)
MISS = 0.3


def domain_of(*sizes):
    return Domain(
        attributes=[Categorical(name=f"c{at}", levels=[str(k) for k in range(size)]) for at, size in enumerate(sizes)]
    )


def tables_of(counts, rounds, law=NONE, rng=None):
    """Tables of exact counts over attributes by number, with noise of the law if there is a generator."""
    return MeasuredTables(rounds=tuple(tuple(table_of(counts, key, law, rng) for key in keys) for keys in rounds))


def table_of(counts, key, law=NONE, rng=None):
    values = counts.sum(axis=tuple(at for at in range(counts.ndim) if at not in key)).astype(float)
    if rng is not None:
        values = values + laplace(values.shape, float(law.scale), rng)
    return MeasuredTable(attributes=tuple(f"c{at}" for at in key), counts=values, law=law)


def laplace(shape, scale, rng):
    """Draws of discrete Laplace noise."""
    out = 1 - np.exp(-1 / scale)
    return rng.geometric(out, shape) - rng.geometric(out, shape)


def question(domain, *places, masks=None):
    return Question(domain=domain, names=tuple(f"c{at}" for at in places), masks=masks or {})


def by_linear_program(counts, keys, cell):
    """The least and the most of a cell, of all tables that have these margins."""
    rows, sums = [], []
    for key in keys:
        for levels in itertools.product(*(range(counts.shape[at]) for at in key)):
            inside = np.ones(counts.shape, bool)
            for at, level in zip(key, levels, strict=True):
                inside &= np.indices(counts.shape)[at] == level
            rows.append(inside.reshape(-1).astype(float))
            sums.append(counts[inside].sum())
    aim = np.zeros(counts.shape)
    aim[cell] = 1
    ends = [linprog(sign * aim.reshape(-1), A_eq=rows, b_eq=sums, method="highs").fun * sign for sign in (1, -1)]
    return ends[0], ends[1]


ALL_PAIRS = ((0, 1), (0, 2), (1, 2))


@pytest.mark.parametrize("seed", range(6))
def test_bounds_of_three_attributes_of_two_levels_are_the_sharpest(seed):
    rng = np.random.default_rng(seed)
    counts = rng.poisson(rng.choice([0.3, 3, 30], (2, 2, 2)))
    for keys in (ALL_PAIRS, ((0, 1), (1, 2)), ((0, 1), (2,))):
        found = count_bounds(tables_of(counts, [keys]), question(domain_of(2, 2, 2), 0, 1, 2), 1e-6)
        assert not found.measured
        for cell in itertools.product(range(2), repeat=3):
            low, high = by_linear_program(counts, keys, cell)
            assert (found.low[cell], found.high[cell]) == pytest.approx((low, high), abs=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_bounds_are_never_sharper_than_the_sharpest(seed):
    rng = np.random.default_rng(seed)
    counts = rng.poisson(rng.choice([0.5, 5, 50], (3, 2, 4)))
    found = count_bounds(tables_of(counts, [ALL_PAIRS]), question(domain_of(3, 2, 4), 0, 1, 2), 1e-6)
    for cell in list(np.ndindex(3, 2, 4))[::5]:
        low, high = by_linear_program(counts, ALL_PAIRS, cell)
        assert found.low[cell] <= low + 1e-6
        assert found.high[cell] >= high - 1e-6
    two = count_bounds(tables_of(counts, [((0,), (2,))]), question(domain_of(3, 2, 4), 2, 0), 1e-6)
    whole = counts.sum(axis=1)
    for one, other in np.ndindex(3, 4):  # of two margins these are the bounds of Hoeffding and Frechet
        low, high = by_linear_program(whole, ((0,), (1,)), (one, other))
        assert (two.low[other, one], two.high[other, one]) == pytest.approx((low, high), abs=1e-6)


def test_many_attributes_and_conditions_hold_the_truth():
    rng = np.random.default_rng(3)
    counts = rng.poisson(rng.choice([0.2, 2, 20], (2, 3, 2, 2)))
    domain = domain_of(2, 3, 2, 2)
    mask = {"c1": np.array([True, False, True]), "c3": np.array([False, True])}
    for keys in (list(itertools.combinations(range(4), 2)), [(0, 1, 2), (2, 3)], [(0,), (1,), (2,), (3,)]):
        tables = tables_of(counts, [keys])
        for places in ((0, 1, 2, 3), (3, 1), (0,), ()):
            exact = counts.transpose(*places, *(at for at in range(4) if at not in places))
            found = count_bounds(tables, question(domain, *places), 1e-6)
            exact = exact.sum(axis=tuple(range(len(places), 4)))
            assert ((found.low <= exact) & (exact <= found.high)).all()
            given = count_bounds(tables, question(domain, *places, masks=mask), 1e-6)
            left = counts * mask["c1"][None, :, None, None] * mask["c3"]
            left = left.transpose(*places, *(at for at in range(4) if at not in places))
            left = left.sum(axis=tuple(range(len(places), 4)))
            assert ((given.low <= left) & (left <= given.high)).all()


def test_coverage_of_a_measured_cell_by_enumeration():
    counts, domain = np.array([3, 0]), domain_of(2)
    span = np.arange(-25, 26)
    pmf = LAW.pmf(span)
    held = 0.0
    for first, second in itertools.product(range(0, len(span)), repeat=2):
        if pmf[first] * pmf[second] < 1e-7:
            held += pmf[first] * pmf[second]
            continue
        noisy = counts + np.array([span[first], span[second]])
        table = MeasuredTable(attributes=("c0",), counts=noisy.astype(float), law=LAW)
        found = count_bounds(MeasuredTables(rounds=((table,),)), question(domain, 0), 0.2)
        held += pmf[first] * pmf[second] * (found.low[0] <= 3 <= found.high[0])
    assert 0.8 <= held <= 0.95


def adversary(counts, rng):
    """Measure a pair exactly where the first round holds the truth, so that each round has its own chance to miss."""
    ones = tuple(table_of(counts, (at,), WIDE, rng) for at in range(2))
    found = count_bounds(MeasuredTables(rounds=(ones,)), question(domain_of(2, 2), 0, 1), MISS)
    good = found.low[0, 0] <= counts[0, 0] <= found.high[0, 0]
    later = [table_of(counts, (0, 1), WIDE, rng)] if good else []
    return MeasuredTables(rounds=(ones, tuple(later), ()))


def _misses(counts, rng, draws):
    asked = question(domain_of(2, 2), 0, 1)
    missed = 0
    for _ in range(draws):
        found = count_bounds(adversary(counts, rng), asked, MISS)
        missed += not found.low[0, 0] <= counts[0, 0] <= found.high[0, 0]
    return missed / draws


def test_choices_that_depend_on_noise_do_not_break_the_level(monkeypatch):
    counts = np.array([[400, 0], [0, 400]])  # the first cell is as large as its margins, so that their noise matters
    assert _misses(counts, np.random.default_rng(1), 700) <= MISS

    def careless(tables, question, miss):
        ones = [frozenset([name]) for name in question.scope]
        late = any(tables.rounds[1:])
        sets = [question.scope] if late else ones
        return [(over, tables.rounds[1:] if late else tables.rounds[:1], miss / len(sets)) for over in sets]

    monkeypatch.setattr(bounds, "_allotted", careless)
    assert _misses(counts, np.random.default_rng(1), 700) > MISS


def test_averages_are_narrower_and_keep_the_level():
    rng, counts = np.random.default_rng(5), np.full((2, 3, 20), 9)
    asked = question(domain_of(2, 3, 20), 0)
    one = count_bounds(tables_of(counts, [[(0, 1)]], LAW, rng), asked, 0.1)
    held, widths = 0, []
    for _ in range(400):
        found = count_bounds(tables_of(counts, [[(0,), (0, 1), (0, 2), (1, 2)]], LAW, rng), asked, 0.1)
        held += int(((found.low <= 540) & (found.high >= 540)).sum())
        widths.append(found.high[0] - found.low[0])
    assert held / 800 >= 0.88
    assert np.mean(widths) < (one.high - one.low)[0]
