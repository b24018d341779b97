"""A budget that is split costs no more than the whole, as the accountant counts it, and hardly less."""

from fractions import Fraction

import pytest

from tacita.plans.split import BudgetSplit, in_sequence
from tacita.privacy.accountant import epsilon_at, pure_epsilon, zcdp_rho
from tacita.privacy.budget import Budget, exact
from tacita.privacy.event import Zcdp
from tacita.privacy.unit import Neighbours, Unit

BUDGETS = [Budget.pure(1.0), Budget.zcdp(0.3), Budget.approx(1.0, 1e-6)]
UNITS = [Unit.row(), Unit.parse("person:who:3")]


@pytest.mark.parametrize("neighbours", Neighbours)
@pytest.mark.parametrize("unit", UNITS, ids=str)
@pytest.mark.parametrize("budget", BUDGETS, ids=lambda budget: budget.currency)
def test_parts_together_cost_the_budget(budget, unit, neighbours):
    split = BudgetSplit.of(budget, unit, neighbours)
    tables = [split.table_event(split.law(Fraction(2, 3), 4))] * 4
    choices = [split.choice(Fraction(1, 3), 5).event] * 5
    spent = (zcdp_rho if split.concentrated else pure_epsilon)(in_sequence(*tables, *choices), neighbours)
    assert 0.99 * split.amount <= spent <= split.amount
    if budget.currency == "approx":
        whole = epsilon_at(Zcdp(rho=split.amount), budget.delta, neighbours)
        assert 0.99 * budget.amount <= whole <= budget.amount
    else:
        assert split.amount == exact(budget.amount)


def test_one_event_is_no_sequence():
    split = BudgetSplit.of(Budget.pure(1.0), Unit.row(), Neighbours.ADD_REMOVE)
    event = split.table_event(split.law(Fraction(1), 1))
    assert in_sequence(event) is event
    assert in_sequence(event, event).events == (event, event)


@pytest.mark.parametrize(("neighbours", "parts"), [(Neighbours.ADD_REMOVE, 1), (Neighbours.REPLACE_ONE, 2)])
def test_a_person_moves_as_many_cells_as_rows(neighbours, parts):
    split = BudgetSplit.of(Budget.pure(1.0), Unit.parse("person:who:3"), neighbours)
    assert split.moves == 3 * parts
