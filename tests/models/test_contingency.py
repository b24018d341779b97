"""Statistics of independence against scipy, tables one by one, and the mutual information of another module."""

import math

import numpy as np
import pytest
from scipy import stats

from tacita.domain import Categorical, Domain
from tacita.errors import InvalidInput
from tacita.models.contingency import degrees_of_freedom, deviance, expected, free_dimensions, pearson
from tacita.models.information import mutual_information
from tacita.tables.cells import Cells


def reference(table, statistic):
    """Sum over strata of scipy's statistic, levels that are absent left out; and its degrees of freedom."""
    total, free = 0.0, 0
    for stratum in table:
        held = stratum[stratum.sum(axis=1) > 0][:, stratum.sum(axis=0) > 0]
        if min(held.shape, default=0) < 2:
            continue
        found = stats.chi2_contingency(held, correction=False, lambda_=statistic)
        total, free = total + found.statistic, free + found.dof
    return total, free


@pytest.mark.parametrize("shape", [(1, 2, 2), (1, 3, 4), (2, 2, 2), (3, 4, 2), (5, 2, 3)])
@pytest.mark.parametrize("people", [4, 30, 2000])
def test_statistics_are_those_of_scipy_in_every_stratum(shape, people):
    rng = np.random.default_rng(sum(shape) + people)
    tables = rng.multinomial(people, rng.dirichlet(np.full(math.prod(shape), 0.5)), size=40)
    for name, ours in (("log-likelihood", deviance), ("pearson", pearson)):
        wanted = [reference(table.reshape(shape), name) for table in tables]
        np.testing.assert_allclose(ours(tables, shape), [value for value, _ in wanted], atol=1e-9)
        assert free_dimensions(tables, shape).tolist() == [free for _, free in wanted]


def test_degrees_of_freedom():
    assert degrees_of_freedom((1, 2, 2)) == 1
    assert degrees_of_freedom((2, 2, 2)) == 2  # O and S given R; O and (S, R) together have 3
    assert degrees_of_freedom((1, 2, 4)) == 3
    assert degrees_of_freedom((1, 2, 3, 4)) == 24 - 9 + 2
    assert free_dimensions([5, 0, 3, 0], (1, 2, 2)) == 0


def test_three_parts_against_sums():
    rng, shape = np.random.default_rng(1), (2, 2, 3, 2)
    table = rng.integers(1, 30, size=shape)
    means = np.zeros(shape)
    for z, a, b, c in np.ndindex(*shape):
        one, two, three = table[z, a].sum(), table[z, :, b].sum(), table[z, :, :, c].sum()
        means[z, a, b, c] = one * two * three / table[z].sum() ** 2
    np.testing.assert_allclose(expected(table.reshape(-1), shape), means.reshape(-1))
    assert float(deviance(table.reshape(-1), shape)) == pytest.approx(2 * (table * np.log(table / means)).sum())


def test_g2_is_mutual_information():
    domain = Domain(attributes=[Categorical(name=name, levels=["1", "2", "3"]) for name in "ab"])
    counts = np.random.default_rng(2).integers(0, 20, size=(3, 3))
    bits = mutual_information(Cells(domain, counts), ["a"])
    assert float(deviance(counts.reshape(-1), (1, 3, 3))) == pytest.approx(2 * counts.sum() * math.log(2) * bits)


def test_zero_tables_and_products_have_no_statistic():
    assert float(deviance(np.zeros(8), (2, 2, 2))) == 0
    assert float(pearson(np.zeros(8), (2, 2, 2))) == 0
    assert float(deviance([6, 3, 4, 2], (1, 2, 2))) == pytest.approx(0, abs=1e-12)
    assert float(pearson([0, 0, 4, 2], (1, 2, 2))) == 0


def test_noise_is_part_of_the_weight_of_a_cell():
    table, means = np.array([3.0, -2.0, 8.0, 1.0]), np.array([2.0, 1.0, 5.0, 2.0])
    by_hand = ((table - means) ** 2 / (means + 4)).sum()
    assert float(pearson(table, (1, 2, 2), at=means, noise_variance=4.0)) == pytest.approx(by_hand)


def test_other_layouts_are_refused():
    with pytest.raises(InvalidInput, match="4 cells"):
        deviance([1, 2, 3], (1, 2, 2))
    with pytest.raises(InvalidInput, match="two parts"):
        deviance([1, 2], (1, 2))
