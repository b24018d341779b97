"""Noise and the split of the budget: exact costs, and shares that no other split beats."""

import itertools
import math

import numpy as np
import pytest

from tacita.errors import InvalidInput
from tacita.noise import SeededSource
from tacita.plans.split import BudgetSplit, in_sequence
from tacita.privacy.accountant import cost
from tacita.privacy.budget import Budget, exact
from tacita.privacy.unit import Neighbours, Unit
from tacita.synthesize.mobility.measuring import FEW, TableSpec, plan_tables, shrink

UNIT = Unit.of_person("card", max_rows=5)
SPECS = (
    TableSpec(name="one", shape=(10,)),
    TableSpec(name="spread", shape=(4, 50), shift=120, grid=120, weight=2.0),
    TableSpec(name="counts", shape=(30,), shift=5, mean=2.5),
)


def planned(budget, neighbours, specs=SPECS, cards=100_000):
    return plan_tables(specs, BudgetSplit.of(budget, UNIT, neighbours), cards)


@pytest.mark.parametrize("neighbours", list(Neighbours))
@pytest.mark.parametrize("budget", [Budget.pure(0.5), Budget.approx(1.0, 1e-6), Budget.zcdp(0.2)])
def test_all_tables_together_cost_the_budget(budget, neighbours):
    tables = planned(budget, neighbours)
    spent = cost([(in_sequence(*(table.event for table in tables)), 1)], budget, neighbours)
    assert spent <= exact(budget.amount)
    assert spent > 0.999 * exact(budget.amount)


@pytest.mark.parametrize("concentrated", [False, True])
def test_no_other_split_has_a_smaller_error(concentrated):
    budget = Budget.zcdp(0.3) if concentrated else Budget.pure(1.0)
    tables = planned(budget, Neighbours.ADD_REMOVE)

    def error(shares):
        total = 0.0
        for table, share in zip(tables, shares, strict=True):
            scale = table.std * (table.share / share) ** (0.5 if concentrated else 1.0)
            total += table.spec.weight * table.spec.cells * scale / table.spec.mean
        return total

    ours = [table.share for table in tables]
    for a, b in itertools.permutations(range(3), 2):
        moved = list(ours)
        moved[a], moved[b] = moved[a] + 0.02, moved[b] - 0.02
        assert error(ours) < error(moved)


def test_cells_that_noise_hides_are_not_bought():
    wide = TableSpec(name="wide", shape=(10**6,))
    few, many = (planned(Budget.pure(1.0), Neighbours.ADD_REMOVE, (SPECS[0], wide), cards)[1] for cards in (40, 10**7))
    assert few.share == pytest.approx(0.5, abs=1e-3)  # 40 / FEW cells, as many as the other table has
    assert FEW == 4
    assert many.share > 0.99
    assert few.total_variation == 1.0


def test_replacing_a_card_needs_twice_the_noise():
    for budget, power in ((Budget.pure(1.0), 1), (Budget.zcdp(0.3), 0.5)):
        one, two = (planned(budget, neighbours)[0].std for neighbours in Neighbours)
        assert two / one == pytest.approx(2**power, rel=0.02)


def test_noise_is_on_every_cell_and_as_wide_as_planned():
    for table in planned(Budget.pure(2.0), Neighbours.ADD_REMOVE):
        counts = np.zeros(table.spec.shape, np.int64)
        draws = np.stack([table.measure(counts, SeededSource(seed)) for seed in range(400)])
        assert draws.shape[1:] == table.spec.shape
        assert (draws.std(axis=0) > 0).all()
        assert draws.std() == pytest.approx(table.std, rel=0.05)
        assert np.allclose(draws * table.spec.grid, np.rint(draws * table.spec.grid))


def test_predictions_are_plain_data():
    for table in planned(Budget.pure(1.0), Neighbours.ADD_REMOVE):
        plain = table.as_dict()
        expected = 0.5 * table.spec.cells * table.std / (100_000 * table.spec.mean)
        assert plain["total_variation"] == pytest.approx(expected)
    assert "total_variation" not in planned(Budget.pure(1.0), Neighbours.ADD_REMOVE, cards=None)[0].as_dict()


def test_shrinking_lowers_the_error():
    """Positive-part James-Stein beats the noisy cells, whether the prior is right or wrong."""
    rng = np.random.default_rng(0)
    prior, sigma = np.full(40, 10.0), 5.0
    for truth in (prior, prior + rng.normal(0, 3, 40), rng.uniform(0, 60, 40)):
        gain = []
        for _ in range(300):
            noisy = truth + rng.normal(0, sigma, 40)
            gain.append(((noisy - truth) ** 2).sum() - ((shrink(noisy, prior, sigma**2) - truth) ** 2).sum())
        assert np.mean(gain) > 0
    assert shrink(np.array([3.0, 4.0]), np.zeros(2), 1e6).tolist() == [3.0, 4.0], "two cells are never shrunk"
    assert shrink(prior, prior, 1.0).tolist() == prior.tolist()


def test_too_many_cells_are_refused_before_anything_is_paid():
    with pytest.raises(InvalidInput, match="tours"):
        planned(Budget.pure(1.0), Neighbours.ADD_REMOVE, (TableSpec(name="pairs", shape=(10_000, 10_000)),))
    with pytest.raises(InvalidInput, match="nothing"):
        tiny = TableSpec(name="tiny", shape=(1,), weight=1e-30)
        planned(Budget.pure(1.0), Neighbours.ADD_REMOVE, (*SPECS, tiny))
    assert math.isfinite(planned(Budget.pure(1.0), Neighbours.ADD_REMOVE)[0].std)
