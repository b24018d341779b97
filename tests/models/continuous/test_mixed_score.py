"""Conditional linear Gaussian scores against fits to the rows of each cell."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from tacita.errors import InvalidInput
from tacita.models.continuous import GaussianBIC, GroupedMoments, MixedScore, Moments
from tacita.models.discrete_score import DiscreteCounts, DiscreteScore
from tacita.models.search import Search

SIZES = {"kind": 2, "place": 3}


def draw(rows=2000, seed=1):
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, 2, rows)
    place = np.where(rng.random(rows) < 0.7, kind, 2)
    x = rng.normal(10 + 3 * kind, 1 + kind)
    y = np.where(kind == 1, 2.0, -1.0) * x + rng.normal(0, 2, rows)
    free = rng.normal(size=rows)
    return {"x": x, "y": y, "free": free}, {"kind": kind, "place": place}


@pytest.fixture(scope="module")
def drawn():
    numbers, codes = draw()
    return numbers, codes, MixedScore(grouped=GroupedMoments.of(numbers, SIZES, codes))


def test_moments_of_cells_are_those_of_their_rows(drawn):
    numbers, codes, score = drawn
    for discrete in ((), ("kind",), ("place",), ("place", "kind")):
        found = score.grouped.within(discrete)
        for cell in itertools.product(*(range(SIZES[name]) for name in discrete)):
            at = np.ones(2000, bool)
            index = 0
            for name, code in zip(discrete, cell, strict=True):
                at &= codes[name] == code
                index = index * SIZES[name] + code
            if not at.any():
                assert index not in found
                continue
            expected = Moments.of({name: column[at] for name, column in numbers.items()})
            assert found[index].count == at.sum()
            assert found[index].mean == pytest.approx(expected.mean)
            assert found[index].covariance == pytest.approx(expected.covariance, abs=1e-9)


def test_the_score_of_a_number_is_the_sum_over_cells(drawn):
    numbers, codes, score = drawn
    expected, cells = 0.0, 0
    for kind, place in itertools.product(range(2), range(3)):
        at = (codes["kind"] == kind) & (codes["place"] == place)
        if at.any():
            fit = stats.linregress(numbers["x"][at], numbers["y"][at])
            left = numbers["y"][at] - fit.intercept - fit.slope * numbers["x"][at]
            expected += stats.norm.logpdf(left, 0, left.std()).sum()
            cells += 1
    assert cells == 4  # two have no rows, and cost nothing
    expected -= cells * 3 / 2 * math.log(2000)
    assert score("y", ("x", "kind", "place")) == pytest.approx(expected)


def test_without_levels_it_is_gaussian_bic_and_without_numbers_discrete_bic(drawn):
    numbers, codes, score = drawn
    gaussian = GaussianBIC(moments=Moments.of(numbers))
    discrete = DiscreteScore(counts=DiscreteCounts.of(SIZES, codes))
    assert score("y", ("x", "free")) == pytest.approx(gaussian("y", ("x", "free")))
    assert score("place", ("kind",)) == pytest.approx(discrete("place", ("kind",)))
    assert score("place", ("x",)) == -math.inf
    assert score.test("x", "y", ("free",)) == gaussian.test("x", "y", ("free",))
    assert score.test("kind", "place", ()) == discrete.test("kind", "place", ())


@pytest.mark.parametrize("kind", ["exact", "hill", "rsmax2"])
def test_every_search_finds_the_structure(drawn, kind):
    _, _, score = drawn
    found = Search(kind=kind).run(score.grouped.names, score, score.test)
    pairs = {frozenset((above, name)) for name, each in found.items() for above in each}
    assert pairs == {frozenset(pair) for pair in (("x", "y"), ("kind", "x"), ("kind", "y"), ("kind", "place"))}


def test_a_rare_cell_uses_the_regression_of_all_rows(drawn):
    numbers = drawn[0]
    rare = np.zeros(2000, int)
    rare[:3] = 1  # an exact fit of three rows would have an infinite density
    score = MixedScore(grouped=GroupedMoments.of(numbers, {"rare": 2}, {"rare": rare}))
    line = Moments.of(numbers).line("y", ("x",))
    left = numbers["y"] - line.intercept - line.coefficients["x"] * numbers["x"]
    fit = stats.linregress(numbers["x"][3:], numbers["y"][3:])
    own = numbers["y"][3:] - fit.intercept - fit.slope * numbers["x"][3:]
    expected = (
        stats.norm.logpdf(left[:3], 0, math.sqrt(line.variance)).sum() + stats.norm.logpdf(own, 0, own.std()).sum()
    )
    assert score("y", ("x", "rare")) == pytest.approx(expected - 6 / 2 * math.log(2000))
    assert score("y", ("x", "rare")) < score("y", ("x",))


def test_a_number_that_is_constant_in_a_cell_has_a_finite_score():
    numbers, codes = draw()
    numbers["x"] = np.where(codes["kind"] == 0, 5.0, numbers["x"])
    score = MixedScore(grouped=GroupedMoments.of(numbers, SIZES, codes))
    assert math.isfinite(score("x", ("kind",)))
    assert math.isfinite(score("y", ("x", "kind")))


def test_p_values_of_independent_columns_are_uniform():
    rng, found = np.random.default_rng(8), []
    for _ in range(300):
        numbers, codes = draw(400, int(rng.integers(1 << 30)))
        found.append(MixedScore(grouped=GroupedMoments.of(numbers, SIZES, codes)).test("kind", "free", ("x",)))
    assert stats.kstest(found, "uniform").pvalue > 1e-4


def test_bad_input():
    numbers, codes = draw(50)
    with pytest.raises(InvalidInput, match="vary"):
        GroupedMoments.of(numbers | {"x": np.zeros(50)}, SIZES, codes)
