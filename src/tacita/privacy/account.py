"""Records of the ledger: accounts, balances, charges, and what a charge would cost."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal

from tacita.errors import BudgetExceeded
from tacita.privacy.accountant import INFINITE
from tacita.privacy.budget import Budget, exact
from tacita.privacy.event import Event
from tacita.privacy.filter import filter_cost
from tacita.privacy.unit import Neighbours, Unit
from tacita.store.fence import closed_error

__all__ = ["Account", "Balance", "Charge", "DataMarks", "Quote", "State"]

State = Literal["reserved", "settled", "failed"]


@dataclass(frozen=True, kw_only=True)
class DataMarks:
    """Marks by which data is recognised: digests of its files, or of its address in a database; and its schema.

    Marks catch accidents, such as the same file in another folder. A file that differs in one byte is another file.
    """

    marks: frozenset[str]
    schema: str


@dataclass(frozen=True, kw_only=True)
class Account:
    """Budget of one dataset for all who ask together, with the unit and the neighbours that it protects."""

    name: str
    unit: Unit
    neighbours: Neighbours
    budget: Budget
    opened: float | None = field(default=None, compare=False)
    """Epsilon with which it was opened; it fixes the filter's orders, which a raised budget must not move."""

    def cost(self, events: Iterable[tuple[Event, int]]) -> Fraction:
        """Cost of a history, if each event may depend on the answers before it."""
        return filter_cost(events, self.budget, self.neighbours, opened=self.opened)


@dataclass(frozen=True, kw_only=True)
class Balance:
    """Balance of an account, in the currency of its budget."""

    account: Account
    spent: Fraction
    charges: int
    closed: str | None = None
    """Why nothing can be charged: the state was restored, and what was spent since is not known. None if it is open."""

    @property
    def remaining(self) -> Fraction:
        """Remaining budget; never below zero."""
        return max(Fraction(0), exact(self.account.budget.amount) - self.spent)

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "account": self.account.name,
            "unit": str(self.account.unit),
            "neighbours": str(self.account.neighbours),
            "budget": self.account.budget.as_dict(),
            "currency": self.account.budget.currency,
            "spent": None if self.spent >= INFINITE else float(self.spent),
            "remaining": float(self.remaining),
            "charges": self.charges,
            "closed": self.closed,
        }


@dataclass(frozen=True, kw_only=True)
class Charge:
    """One entry of an account. Spent from the moment it exists, whatever its state."""

    id: str
    account: str
    key: str
    event: Event
    question: str
    principal: str
    purpose: str
    state: State
    created: dt.datetime
    settled: dt.datetime | None = None
    answer: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """Plain data, without the answer."""
        return {
            "id": self.id,
            "account": self.account,
            "key": self.key,
            "event": self.event.as_dict(),
            "question": self.question,
            "principal": self.principal,
            "purpose": self.purpose,
            "state": self.state,
            "created": self.created.isoformat(),
            "settled": self.settled.isoformat() if self.settled else None,
        }


@dataclass(frozen=True, kw_only=True)
class Quote:
    """Cost of an event to an account now, before it is charged.

    The added cost depends on the other events in the history, so `alone` and `remaining` do not show whether it fits:
    an account with a delta may add more than `alone`, or less.
    """

    account: Account
    spent: Fraction
    alone: Fraction
    after: Fraction
    closed: str | None = None

    @property
    def affordable(self) -> bool:
        """Whether `reserve` would accept it now."""
        return self.closed is None and self.after <= exact(self.account.budget.amount)

    @property
    def remaining(self) -> Fraction:
        """Remaining budget before the event; never below zero."""
        return max(Fraction(0), exact(self.account.budget.amount) - self.spent)

    @property
    def added(self) -> Fraction:
        """Amount by which the spent budget would grow."""
        return self.after - self.spent

    def check(self) -> None:
        """Refuse an event that the account cannot pay.

        Raises:
            BudgetExceeded: It costs more than remains.
            Conflict: The account is closed.
        """
        if self.closed is not None:
            raise closed_error(self.account.name, self.closed)
        if self.affordable:
            return
        raise BudgetExceeded(
            account=self.account.name,
            requested="infinite" if self.after >= INFINITE else f"{float(self.added):.6g}",
            remaining=f"{float(self.remaining):.6g}",
            budget=str(self.account.budget),
        )

    def as_dict(self) -> dict[str, Any]:
        """Plain data; an infinite cost is None."""
        return {
            "account_cost": None if self.alone >= INFINITE else float(self.alone),
            "account_added": None if self.after >= INFINITE else float(self.added),
            "account_remaining": float(self.remaining),
            "affordable": self.affordable,
        }
