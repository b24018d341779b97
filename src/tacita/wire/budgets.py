"""Budgets, balances and charges."""

from __future__ import annotations

import datetime as dt
from typing import Any, Literal

from pydantic import Field

from tacita.privacy.budget import Budget
from tacita.wire.base import RequestModel, ResponseModel

__all__ = ["AccountQuote", "Balance", "BudgetModel", "ChargeInfo", "ChargePage", "RaiseBudget"]


class BudgetModel(RequestModel):
    """Epsilon, epsilon at a delta, or rho."""

    epsilon: float | None = None
    delta: float = 0.0
    rho: float | None = None

    def budget(self) -> Budget:
        """The budget, checked."""
        return Budget(epsilon=self.epsilon, delta=self.delta, rho=self.rho)


class RaiseBudget(RequestModel):
    """A new, larger total."""

    budget: BudgetModel


class Balance(ResponseModel):
    """State of an account, in the currency of its budget."""

    account: str
    unit: str
    neighbours: str
    budget: dict[str, float]
    currency: str
    spent: float | None = Field(description="null when something without a guarantee was charged.")
    remaining: float
    charges: int
    closed: str | None = Field(
        default=None,
        description="Why nothing can be charged: the state was restored, and what was spent since is not known. "
        "null for an open account.",
    )


class AccountQuote(ResponseModel):
    """Cost of a plan to the account that would pay, in the currency of its budget."""

    account_cost: float | None = Field(description="Cost without the history; null when no budget would be enough.")
    account_added: float | None = Field(
        description="Amount by which the spent budget would grow if it were charged now; with a delta it depends on "
        "the history. An answer that was paid for before costs nothing."
    )
    account_remaining: float
    affordable: bool


class ChargeInfo(ResponseModel):
    """One entry of an account's history."""

    id: str
    account: str
    key: str
    event: dict[str, Any]
    principal: str
    purpose: str
    state: Literal["reserved", "settled", "failed"]
    created: dt.datetime
    settled: dt.datetime | None


class ChargePage(ResponseModel):
    """A part of the history, oldest first."""

    charges: list[ChargeInfo]
    next_offset: int | None = Field(description="Where the next page begins; null at the end.")
