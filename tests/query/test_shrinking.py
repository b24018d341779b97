"""Shrinkage against independent computations, and the average coverage that is claimed."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from tacita.errors import InvalidInput
from tacita.query.shrinking import critical_value, design_of, missed, ratio_values, shrink_values

EFFECTS = {
    "normal": lambda rng, n: rng.normal(0, 1, n),
    "heavy-tailed": lambda rng, n: rng.standard_t(3, n) / math.sqrt(3),
    "few differ": lambda rng, n: np.where(rng.random(n) < 0.05, rng.normal(0, math.sqrt(20), n), 0.0),
    "two kinds": lambda rng, n: rng.choice([-1.0, 1.0], n),
}


def miss(b, x, heavy):
    law = stats.laplace(scale=1 / math.sqrt(2)) if heavy else stats.norm
    return law.sf(x + b) + law.cdf(b - x)


@pytest.mark.parametrize("heavy", [False, True])
@pytest.mark.parametrize(("ratio", "kurtosis"), [(0.25, 3.0), (1.0, 3.0), (4.0, 3.0), (1.0, 30.0)])
def test_no_law_of_two_points_is_missed_more_often_than_the_bound(ratio, kurtosis, heavy):
    """Laws on 0 and another place, and on two places, with the same second moment and at most the same kurtosis."""
    x = 2.5
    bound = missed(ratio, kurtosis, x, heavy=heavy)
    worst = 0.0
    places = np.linspace(0, 4 * math.sqrt(ratio * kurtosis), 120)
    for one, two in itertools.combinations(places, 2):
        low, high = one**2, two**2
        if not low <= ratio <= high:
            continue
        share = (ratio - low) / (high - low)
        if (1 - share) * low**2 + share * high**2 <= kurtosis * ratio**2:
            found = [max(miss(b, x, False), miss(b, x, True)) if heavy else miss(b, x, False) for b in (one, two)]
            worst = max(worst, (1 - share) * found[0] + share * found[1])
    assert worst <= bound + 2e-3
    if kurtosis > 3 or ratio >= 1:  # three places may be worse than two, but not by much
        assert bound <= worst * 1.3 + 1e-3


def test_without_differences_of_groups_the_critical_value_is_that_of_the_noise():
    assert critical_value(1e-9, 3.0, 0.95, heavy=False) == pytest.approx(stats.norm.ppf(0.975), abs=1e-3)
    assert critical_value(1e-9, 3.0, 0.95, heavy=True) == pytest.approx(math.log(20) / math.sqrt(2), abs=1e-3)
    values = [critical_value(ratio, 3.0, 0.95, heavy=True) for ratio in (0.1, 1.0, 10.0)]
    assert values == sorted(values)
    assert critical_value(1.0, 20.0, 0.95, heavy=True) > values[1]
    # groups that differ as a normal law does need sqrt(1 + ratio) times as much; the bound holds for every law
    assert critical_value(1.0, 3.0, 0.95, heavy=False) >= 1.96 * math.sqrt(2) - 0.01


@pytest.mark.parametrize("noise_over_effects", [0.3, 1.0, 3.0])
@pytest.mark.parametrize("effects", EFFECTS)
def test_on_average_over_groups_intervals_hold_and_errors_shrink(effects, noise_over_effects):
    rng, groups, runs = np.random.default_rng(2), 300, 12
    inside, before, after, widths = [], 0.0, 0.0, []
    for _ in range(runs):
        truth = 40 + 10 * EFFECTS[effects](rng, groups)
        std = 10 * noise_over_effects
        value = truth + rng.laplace(0, std / math.sqrt(2), groups)
        column = shrink_values(value, np.full(groups, std), np.ones((groups, 1)), level=0.95, heavy=True)
        inside.append(np.mean((column.low <= truth) & (truth <= column.high)))
        before += np.mean((value - truth) ** 2)
        after += np.mean((column.value - truth) ** 2)
        widths.append(np.mean(column.high - column.low) / (2 * std * math.log(20) / math.sqrt(2)))
    assert np.mean(inside) >= 0.93
    best = 1 / (1 + noise_over_effects**2)  # of the linear rule that knows the law of the effects
    assert after / before <= 1 - 0.85 * (1 - best)
    assert np.mean(widths) <= 1.02


def test_normal_noise_of_different_size_in_each_group():
    rng, groups = np.random.default_rng(4), 2000
    truth, std = rng.normal(5, 1, groups), rng.uniform(0.2, 3, groups)
    value = truth + rng.normal(0, std)
    column = shrink_values(value, std, np.ones((groups, 1)), level=0.8, heavy=False)
    assert np.mean((column.low <= truth) & (truth <= column.high)) >= 0.78
    weights = (column.value - 5) / (value - 5)
    far = np.abs(value - 5) > 1
    assert np.corrcoef(weights[far], (1 / (1 + std**2))[far])[0, 1] > 0.95  # more noise, more shrinkage


def test_the_centre_can_be_a_sum_of_effects():
    rng = np.random.default_rng(1)
    groups = [(f"r{a}", f"s{b}") for a in range(20) for b in range(10)]
    truth = np.array([3.0 * int(a[1:]) - 5.0 * int(b[1:]) for a, b in groups])
    value = truth + rng.laplace(0, 4 / math.sqrt(2), len(groups))
    std = np.full(len(groups), 4.0)
    errors = {
        toward: np.mean(
            (shrink_values(value, std, design_of(groups, toward), level=0.95, heavy=True).value - truth) ** 2
        )
        for toward in ("overall", "additive")
    }
    assert errors["additive"] < 0.5 * errors["overall"]


def test_ratios_have_the_additive_noise_that_is_stated():
    rng, groups, runs = np.random.default_rng(3), 400, 200
    sizes = rng.poisson(80, groups).astype(float)
    truth = np.clip(rng.normal(0.3, 0.05, groups), 0, 1)
    scale = 8.0
    deviations = []
    for _ in range(runs):
        cells = np.stack([sizes * truth, sizes * (1 - truth)]) + rng.laplace(0, scale, (2, groups))
        top, bottom = cells[0], cells.sum(axis=0)
        v = np.full(groups, 2 * scale**2)
        value, std = ratio_values(top, bottom, v, v, 2 * v)
        deviations.append((value - truth) / std)
    found = np.array(deviations)
    assert np.sqrt(np.mean(found**2)) == pytest.approx(1.0, abs=0.1)
    assert abs(found.mean()) < 0.1


def test_few_groups_unknown_centres_and_noise_without_rows_are_refused():
    with pytest.raises(InvalidInput, match="at least 10 groups"):
        design_of([("a",)] * 5, "overall")
    with pytest.raises(InvalidInput, match="at least 30 groups"):
        design_of([(str(at),) for at in range(20)], "additive")
    with pytest.raises(InvalidInput, match="overall or additive"):
        design_of([("a",)] * 50, "parents")


def test_ratios_are_unknown_where_noise_hides_the_rows():
    ones = np.ones(12)
    for rows in (-1.0, 0.1):
        assert all(np.isnan(each).all() for each in ratio_values(ones, rows * ones, ones, ones, ones))
    value, _ = ratio_values(40 * ones, 4 * ones, ones, 0 * ones, ones)
    assert np.allclose(value, 10)
