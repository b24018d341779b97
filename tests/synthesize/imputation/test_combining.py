"""The rules against simulation with the library's own imputation, and the wrong rules beside them."""

import math

import numpy as np
import pytest

from tacita.domain import Numeric
from tacita.errors import InvalidInput
from tacita.synthesize.imputation import Linear, Replace, combine_full, combine_partial
from tacita.synthesize.imputation.columns import Column
from tacita.synthesize.imputation.sequence import Models, make_rows, replace_cells
from tacita.tables.combining import Combined

X, Y = (Numeric(name=name, bounds=(-50, 50), bins=10) for name in ("x", "y"))
MODELS = Models(backend={"": Linear()}, train_on="all")
PEOPLE, RUNS = 80, 600


def drawn(rng):
    x = rng.normal(0, 1, PEOPLE)
    return {
        "x": Column(attribute=X, values=x),
        "y": Column(attribute=Y, values=1 + 2 * x + rng.normal(0, 2, PEOPLE)),
    }


def mean(column):
    return column.values.mean(), column.values.var(ddof=1) / column.values.size


def missing_data_rule(estimates, variances):
    """Rubin's rule, right for values that were missing in truth."""
    b, m = np.var(estimates, ddof=1), len(estimates)
    total = np.mean(variances) + (1 + 1 / m) * b
    return Combined(estimate=float(np.mean(estimates)), variance=total, freedom=math.inf, within=0, between=b)


def simulated(make, rules, seed):
    """For each rule: share of intervals that hold the truth, and mean variance over the true one."""
    rng, found = np.random.default_rng(seed), []
    for _ in range(RUNS):
        people = drawn(rng)
        pairs = [mean(make(people, rng)["y"]) for _ in range(10)]
        found.append([rule([q for q, _ in pairs], [u for _, u in pairs]) for rule in rules])
    truth = np.var([each[0].estimate for each in found])
    held = [[low <= 1 <= high for low, high in (each[at].interval() for each in found)] for at in range(len(rules))]
    return [(np.mean(held[at]), np.mean([each[at].variance for each in found]) / truth) for at in range(len(rules))]


def test_partial_releases_need_their_own_rule():
    def make(people, rng):
        return replace_cells(people, [Replace(attribute="y")], MODELS, rng)[0]

    def full(estimates, variances):
        return combine_full(estimates, variances, rows=PEOPLE, people=PEOPLE)

    right, other, missing = simulated(make, [combine_partial, full, missing_data_rule], seed=1)
    assert 0.92 <= right[0] <= 0.975
    assert right[1] == pytest.approx(1, abs=0.15)
    assert other[1] < 0.8
    assert missing[1] > 1.4
    assert missing[0] > 0.975


@pytest.mark.parametrize("times", [4, 1 / 4])
def test_full_releases_need_their_own_rule(times):
    rows = int(times * PEOPLE)

    def make(people, rng):
        return make_rows(people, {}, ["x", "y"], MODELS, rows, rng)

    def full(estimates, variances):
        return combine_full(estimates, variances, rows=rows, people=PEOPLE)

    right, other, missing = simulated(make, [full, combine_partial, missing_data_rule], seed=2)
    assert missing[1] > 1.4
    if times > 1:  # releases are larger than the data: they seem to know more than they can
        assert right[1] == pytest.approx(1, abs=0.15)
        assert 0.92 <= right[0] <= 0.985
        assert other[1] < 0.7
        assert other[0] < 0.9
    else:  # small releases hide the truth behind their own error: the difference of two large numbers is rough
        assert right[0] >= 0.9
        assert other[1] > 1.5


def test_the_formulas_on_numbers_worked_by_hand():
    # q 1, 2, 3: mean 2, b 1, m 3; u 0.5
    partial = combine_partial([1, 2, 3], [0.5, 0.5, 0.5])
    assert partial.variance == pytest.approx(0.5 + 1 / 3)
    assert partial.freedom == pytest.approx(2 * (1 + 0.5 / (1 / 3)) ** 2)
    full = combine_full([1, 2, 3], [0.5, 0.5, 0.5], rows=10, people=10)
    assert full.variance == pytest.approx(4 / 3 - 0.5)
    assert full.freedom == pytest.approx(max(1, 2 * (1 - 0.5 / (4 / 3)) ** 2))
    assert not full.fallback
    low, high = partial.interval()
    assert (low + high) / 2 == pytest.approx(2)
    assert combine_partial([1, 1], [0.5, 0.5]).as_dict()["freedom"] is None


def test_a_variance_below_zero_is_replaced_and_said():
    found = combine_full([1.0, 1.1, 0.9], [2.0, 2.0, 2.0], rows=50, people=200)
    assert found.fallback
    assert found.variance == pytest.approx(50 / 200 * 2.0)
    assert found.freedom == 2


def test_refusals():
    for estimates, variances in (([1], [1]), ([1, 2], [1]), ([1, np.nan], [1, 1]), ([1, 2], [1, -1])):
        with pytest.raises(InvalidInput):
            combine_partial(estimates, variances)
    with pytest.raises(InvalidInput, match="people"):
        combine_full([1, 2], [1, 1], rows=10, people=0)
    with pytest.raises(InvalidInput, match="level"):
        combine_partial([1, 2], [1, 1]).interval(1)
