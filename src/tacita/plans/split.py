"""Budget split of a method with several steps: noise and choices for a part of the budget, each with its event.

Pure budgets are split in epsilon, all others in rho. For epsilon at a delta, rho is the largest whose zCDP guarantee
gives that epsilon, as the accountant computes it; so the later charge equals the amount that was split here.
Claim: docs/claims/marginal-synthesis.md
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from tacita.noise import DiscreteGaussian, DiscreteLaplace, Law
from tacita.plans.additive import shift_event
from tacita.privacy.budget import Budget, exact
from tacita.privacy.calibrate import narrowest
from tacita.privacy.event import Event, Pure, Sequence, Zcdp
from tacita.privacy.selection import ExponentialMechanism
from tacita.privacy.unit import Neighbours, Unit

__all__ = ["BudgetSplit", "in_sequence"]


@dataclass(frozen=True, kw_only=True)
class BudgetSplit:
    """Budget to split, for one unit and one notion of neighbours."""

    amount: Fraction
    concentrated: bool
    """Whether the amount is rho; epsilon if not."""
    unit: Unit
    neighbours: Neighbours

    @classmethod
    def of(cls, budget: Budget, unit: Unit, neighbours: Neighbours) -> BudgetSplit:
        """Convert a budget to the currency in which it is split."""
        amount = exact(budget.amount)
        if budget.currency == "approx":
            amount = 1 / narrowest(lambda x: Zcdp(rho=1 / x), budget, neighbours)
        return cls(amount=amount, concentrated=budget.currency != "pure", unit=unit, neighbours=neighbours)

    @property
    def _parts(self) -> int:
        return 2 if self.neighbours is Neighbours.REPLACE_ONE else 1

    def law(self, share: Fraction, tables: int) -> Law:
        """Noise for a number of tables, which together cost at most a share of the amount.

        As in `plans.additive`, one table moves by m rows in L1 and L2, and by two parts of that if replaced.
            Laplace   tables x parts x m / scale      Gaussian   tables x parts x m^2 / (2 sigma2)
        """
        steps, amount = self.unit.max_rows, share * self.amount
        if self.concentrated:
            return DiscreteGaussian.at_least(tables * self._parts * Fraction(steps**2) / (2 * amount))
        return DiscreteLaplace.at_least(tables * self._parts * Fraction(steps) / amount)

    def table_event(self, law: Law) -> Event:
        """Cost of one table with this noise."""
        return shift_event(law, self.unit.max_rows, self._parts)

    def event(self, share: Fraction) -> Event:
        """Cost of all that is bought with a share of the amount, however many tables that are."""
        return Zcdp(rho=share * self.amount) if self.concentrated else Pure(epsilon=share * self.amount)

    def choice(self, share: Fraction, times: int) -> ExponentialMechanism:
        """A choice of which so many together cost at most a share of the amount."""
        each = share * self.amount / times
        return ExponentialMechanism.zcdp(each) if self.concentrated else ExponentialMechanism.pure(each)

    @property
    def moves(self) -> int:
        """Most that the cells of one table move in all: the L1 sensitivity of counts."""
        return self.unit.max_rows * self._parts


def in_sequence(*events: Event) -> Event:
    """The events one after the other."""
    return events[0] if len(events) == 1 else Sequence(events=events)
