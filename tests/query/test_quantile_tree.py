"""Quantiles from noisy counts in two rounds: loss of what runs, coverage, width, and reading."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

from tacita.domain import Domain, Numeric
from tacita.engines.local import LocalEngine
from tacita.errors import InvalidInput
from tacita.noise import DiscreteGaussian, DiscreteLaplace, SeededSource, Stepped
from tacita.privacy.accountant import pure_epsilon, zcdp_rho
from tacita.privacy.budget import Budget
from tacita.privacy.unit import Neighbours, Unit
from tacita.query import Aggregate, Aggregates
from tacita.query import quantile_tree as module
from tacita.query.answer import Measured
from tacita.query.quantile_tree import QuantileTree
from tacita.query.statistics import width
from tacita.tables.uncertainty import AdditiveNoise

ROW, ADD, REPLACE = Unit.row(), Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE
UNIT = Domain(attributes=[Numeric(name="x", bounds=(0, 100), bins=10)])
QS = (0.1, 0.5, 0.9, 0.99)


def tree(points=4096, qs=QS, **more):
    return QuantileTree(column="x", low=0, high=100, points=points, qs=tuple(Fraction(str(q)) for q in qs), **more)


def data(name, n, rng):
    """Values of 0 to 100: filling the range, skewed, in a hundredth of it, tied, and at its ends."""
    found = {
        "uniform": lambda: rng.uniform(0, 100, n),
        "normal": lambda: rng.normal(50, 15, n),
        "skewed": lambda: rng.lognormal(2.5, 0.6, n),
        "narrow": lambda: rng.normal(30, 0.3, n),
        "tied": lambda: rng.choice([0.0, 10.0, 20.0, 50.0, 100.0], n),
        "ends": lambda: np.where(rng.random(n) < 0.6, 100.0, 0.0),
        "one value": lambda: np.full(n, 100.0),
    }
    return np.clip(found[name](), 0, 100)


def histogram(measure, values):
    return measure.sums(1, np.zeros(len(values), np.int64), values)


def quantile(values, q):
    return np.sort(values)[max(math.ceil(Fraction(str(q)) * len(values)), 1) - 1]


class Scripted:
    """A source is not used: draws are given, and each call takes the next of them."""

    def __init__(self, law, draws):
        self.law, self.of, self.draws = law.law, law.of, iter(draws)
        self.std, self.variance, self.half_width = law.std, law.variance, law.half_width

    def draw(self, count, source):
        found = np.array(next(self.draws), np.int64)
        assert found.size == count
        return found


def run(measure, exact, laws, draws, monkeypatch):
    """What is released when noise is given, round by round."""
    with monkeypatch.context() as patch:
        first, second = (Scripted(law, [each]) for law, each in zip(laws, draws, strict=True))
        patch.setattr(QuantileTree, "first", lambda self, law: first)
        return measure.released(exact, second, None)


@pytest.mark.parametrize("neighbours", [ADD, REPLACE])
def test_no_output_of_both_rounds_reveals_more_than_is_claimed_and_some_reveal_it(monkeypatch, neighbours):
    """All neighbours of small tables, all noise of the first round in a square: the same output, from other noise."""
    monkeypatch.setattr(module, "_FIRST", 2)
    measure = tree(points=7, qs=(0.5,), bits=0)
    law = Stepped(law=DiscreteLaplace(scale=Fraction(3, 2)), of=Fraction(1))
    laws = measure.first(law), law
    claimed = float(pure_epsilon(measure.event(law, ROW, neighbours, 1), neighbours))
    rows = [values for n in range(3) for values in itertools.combinations_with_replacement(range(7), n)]
    rng = np.random.default_rng(1)
    most, partitions = 0.0, set()
    for one, two in itertools.permutations(rows, 2):
        near = {len(one) - len(two)} <= {-1, 1} if neighbours is ADD else len(one) == len(two)
        left, common = list(one), list(two)
        for value in two:
            if value in left:
                left.remove(value)
                common.remove(value)
        if not near or len(left) > 1 or len(common) > 1:
            continue
        exact = [np.bincount(np.array(values, int), minlength=7)[None, :] for values in (one, two)]
        coarse = [np.add.reduceat(each[0], measure.coarse[:-1]) for each in exact]
        for noise in itertools.product((-30, -2, 0, 3, 30), repeat=2):
            seen = coarse[0] + np.array(noise)
            edges = measure.refine(seen.astype(float), *laws)
            partitions.add(tuple(edges.tolist()))
            fine = [np.add.reduceat(each[0], edges[:-1]) for each in exact]
            wide = rng.integers(-9, 10, len(edges) - 1)
            # noise that gives the same output from the other table, round by round
            draws = (noise, wide), (seen - coarse[1], fine[0] + wide - fine[1])
            outputs = [run(measure, table, laws, each, monkeypatch) for table, each in zip(exact, draws, strict=True)]
            assert np.array_equal(*outputs)
            chances = [
                sum(float(np.log(law.pmf(np.array(part))).sum()) for law, part in zip(laws, each, strict=True))
                for each in draws
            ]
            most = max(most, abs(chances[0] - chances[1]))
            assert most <= claimed + 1e-9
    assert most == pytest.approx(claimed)
    assert len(partitions) > 1  # the second round depends on the first


@pytest.mark.parametrize("law", [DiscreteLaplace.at_least(64), DiscreteGaussian.at_least(4096)])
@pytest.mark.parametrize("points", [20, 4096])
def test_both_rounds_together_cost_what_one_of_the_full_size_would(law, points):
    measure, size = tree(points=points), Fraction(5)
    family, cost = ("laplace", pure_epsilon) if isinstance(law, DiscreteLaplace) else ("gaussian", zcdp_rho)
    found = cost(measure.event(measure.law(family, size), ROW, ADD, 1), ADD)
    wanted = 1 / size if family == "laplace" else 1 / (2 * size)
    assert float(found) == pytest.approx(float(wanted), rel=1e-6)
    assert found <= wanted * (1 + Fraction(1, 10**9))


COVERED = [
    (n, epsilon, name)
    for n, epsilon in ((100, 0.1), (300, 0.5), (3000, 0.5), (100_000, 5.0))
    for name in ("uniform", "skewed", "narrow", "tied", "ends", "one value")
]


@pytest.mark.parametrize(("n", "epsilon", "name"), COVERED)
def test_intervals_hold_their_level_at_every_quantile(n, epsilon, name):
    values, runs = data(name, n, np.random.default_rng(n)), 150
    measure = tree()
    law = measure.law("laplace", 1 / Fraction(str(epsilon)))
    exact = np.repeat(histogram(measure, values), runs, axis=0)  # runs as groups: their noise is independent
    released = measure.released(exact, law, SeededSource(2))
    for q in QS:
        column, truth = measure.read(Fraction(str(q)), released, law, 0.95), quantile(values, q)
        inside = np.mean((column.low <= truth) & (truth <= column.high))
        assert inside >= 0.95 - 4 * math.sqrt(0.05 * 0.95 / runs)
        assert ((column.low <= column.value) & (column.value <= column.high)).all()


@pytest.mark.parametrize("level", [0.5, 0.8, 0.999])
def test_an_interval_holds_at_any_level_that_is_asked_afterwards(level):
    values, runs, measure = data("skewed", 300, np.random.default_rng(3)), 400, tree(qs=(0.9,))
    law = measure.law("gaussian", Fraction(1))
    released = measure.released(np.repeat(histogram(measure, values), runs, axis=0), law, SeededSource(5))
    column, truth = measure.read(Fraction(9, 10), released, law, level), quantile(values, 0.9)
    inside = np.mean((column.low <= truth) & (truth <= column.high))
    assert inside >= level - 4 * math.sqrt(level * (1 - level) / runs)


@pytest.mark.parametrize("name", ["uniform", "normal", "skewed", "narrow", "tied"])
def test_nine_statistics_of_300_rows_have_narrow_quantiles(name):
    kinds = ("count", "sum", "mean", "var", "std")
    wanted = [Aggregate(kind=kind, column="x") for kind in kinds]
    wanted += [Aggregate(kind="quantile", column="x", q=q) for q in (0.1, 0.25, 0.5, 0.9)]
    plan = Aggregates(aggregates=wanted).calibrate(UNIT, Budget.pure(5.0), unit=ROW, neighbours=ADD)
    assert [measure.kind for measure in plan.measures] == ["moments", "tree"]
    engine = LocalEngine(UNIT, pa.table({"x": data(name, 300, np.random.default_rng(6))}))
    sums, source = plan.exact(engine), SeededSource(1)
    found = [plan.release(sums, source)["quantile(x, 0.9)"] for _ in range(40)]
    assert np.median([column.high[0] - column.low[0] for column in found]) <= 12


def test_quantiles_of_one_column_share_one_histogram_and_others_do_not():
    other = Aggregate(kind="quantile", column="x", q=0.5, bounds=(0, 50), name="narrow")
    chosen = Aggregate(kind="quantile", column="x", q=0.5, interval=False, name="chosen")
    recipe = Aggregates(aggregates=[*(Aggregate(kind="quantile", column="x", q=q) for q in QS), other, chosen])
    plan = recipe.calibrate(UNIT, Budget.pure(1.0), unit=ROW, neighbours=ADD)
    assert [(m.kind, m.high) for m in plan.measures] == [("tree", 100), ("tree", 50), ("choice", 100)]
    assert plan.measures[0].qs == tuple(Fraction(str(q)) for q in QS)
    assert plan.expect()[1].per == "rank"


@pytest.mark.parametrize("qs", [(0.5,), (0.9,), (0.1, 0.5, 0.9)])
def test_the_error_in_ranks_is_about_what_the_plan_expects(qs):
    values, measure = np.sort(data("normal", 300, np.random.default_rng(2))), tree(qs=qs)
    law = measure.law("laplace", Fraction(1))
    released = measure.released(np.repeat(histogram(measure, values), 200, axis=0), law, SeededSource(4))
    for q in measure.qs:
        ranks = np.searchsorted(values, measure.read(q, released, law, 0.95).value) - float(q) * len(values)
        assert 0.3 < np.sqrt(np.mean(ranks**2)) / measure.rank_error(q, law) < 2


def test_much_budget_finds_the_quantile_to_the_grid():
    values, measure = data("normal", 2000, np.random.default_rng(1)), tree(qs=(0.1, 0.5, 0.9))
    law = measure.law("laplace", Fraction(1, 100_000))
    released = measure.released(histogram(measure, values), law, SeededSource(1))
    for q in (0.1, 0.5, 0.9):
        column = measure.read(Fraction(str(q)), released, law, 0.95)
        assert column.low[0] - 1e-9 <= quantile(values, q) <= column.high[0] + 1e-9
        assert column.high[0] - column.low[0] <= 8 * measure.gap


def test_few_whole_numbers_are_counted_once_and_found_exactly():
    measure = QuantileTree(column="x", low=0, high=10, points=11, qs=(Fraction(1, 2),))
    law = measure.law("laplace", Fraction(1, 10))
    released = measure.released(histogram(measure, np.array([1.0, 3, 3, 3, 9])), law, SeededSource(1))
    assert released.shape == (1, 11)
    column = measure.read(Fraction(1, 2), released, law, 0.95)
    assert (column.low[0], column.value[0], column.high[0]) == (3, 3, 3)


@pytest.mark.parametrize("points", [20, 4096])
def test_without_rows_the_interval_is_the_range_and_without_groups_nothing_fails(points):
    measure = tree(points=points)
    law = measure.law("laplace", Fraction(20))
    released = measure.released(np.zeros((50, points), np.int64), law, SeededSource(1))
    column = measure.read(Fraction(1, 2), released, law, 0.95)
    assert np.mean((column.low == 0) & (column.high == 100)) > 0.7
    none = measure.released(np.zeros((0, points), np.int64), law, SeededSource(1))
    assert measure.read(Fraction(1, 2), none, law, 0.95).value.shape == (0,)


def test_groups_with_fewer_bins_are_filled_up_and_read_alike():
    rng, measure = np.random.default_rng(1), tree(qs=(0.5,))
    counts = np.concatenate([histogram(measure, data(name, 5000, rng)) for name in ("narrow", "uniform", "ends")])
    law = measure.law("laplace", Fraction(1))
    released = measure.released(counts, law, SeededSource(1))
    again = Measured.from_dict(Measured(values=(released,)).as_dict()).values[0]
    columns = [measure.read(Fraction(1, 2), rows, law, 0.95) for rows in (released, again)]
    assert np.array_equal(columns[0].value, columns[1].value)
    bins = len(measure.coarse) - 1
    size = (released.shape[1] - bins - 1) // 2
    for row in released:
        edges = row[bins : bins + size + 1].astype(int)
        cut = edges[np.append(True, np.diff(edges) > 0)]
        assert cut[0] == 0
        assert cut[-1] == measure.points
        # filled up or not, a row reads the same
        short = np.concatenate([row[:bins], cut, row[bins + size + 1 :][: len(cut) - 1]])
        found = [measure.read(Fraction(1, 2), np.array([each]), law, 0.95).low[0] for each in (row, short)]
        assert found[0] == found[1]
    assert measure.invented(3).shape == (3, bins + 3)
    assert np.isfinite(measure.read(Fraction(1, 2), measure.invented(3), law, 0.95).value).all()


@pytest.mark.parametrize("level", [0.8, 0.9, 0.92, 0.96, 0.99, 0.998])
def test_the_half_width_holds_for_weighted_sums_of_draws(level):
    """The test of a bin uses a bound for all weighted sums of draws: against the characteristic function."""
    law = DiscreteLaplace.at_least(50)
    bound = width(AdditiveNoise(law=law), level)
    t = np.linspace(1e-6, 60, 120_001)
    for q, used, bins in [(0.9, 3, 8), (0.9, 1, 2), (0.5, 4, 8), (0.99, 30, 32), (0.1, 1, 32), (0.5, 1, 1)]:
        weights = np.array([1 - q] * used + [q] * (bins - used)) if bins > 1 else np.ones(1)
        weights = weights / np.linalg.norm(weights)
        # Laplace draws of variance 1 have the characteristic function 1 / (1 + t^2 / 2)
        phi = np.prod(1 / (1 + (weights[:, None] * t) ** 2 / 2), axis=0)
        inside = 2 / math.pi * np.trapezoid(phi * np.sin(t * bound) / t, t)
        assert inside >= level - 2e-3
    assert bound >= stats.norm.ppf((1 + level) / 2) - 1e-12


def test_a_quantile_lies_strictly_between_0_and_1():
    with pytest.raises(InvalidInput, match="strictly between"):
        tree(qs=(1.0,))
