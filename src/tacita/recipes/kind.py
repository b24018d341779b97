"""One kind of paid answer: request -> recipe -> plan -> answer, as a document and as a table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from tacita.domain import Domain
from tacita.plans import Plan
from tacita.privacy.ledger import Account
from tacita.wire import PaidRequest
from tacita.wire.base import ResponseModel

__all__ = ["RecipeKind", "Subject"]

R = TypeVar("R", bound=PaidRequest)


class Subject(Protocol):
    """Data that a plan is made for: its schema, and the account that pays."""

    @property
    def domain(self) -> Domain:
        """Schema of the data."""

    @property
    def account(self) -> Account:
        """Account whose unit and neighbours decide the noise."""


class Calibratable(Protocol):
    """Recipe without a budget."""

    def calibrate(self, domain: Domain, budget: Any, *, unit: Any, neighbours: Any) -> Plan[Any]:
        """Fix the noise so that a run costs at most the budget."""


@dataclass(frozen=True, kw_only=True)
class RecipeKind(Generic[R]):
    """One kind of answer that an account pays for.

    Attributes:
        name: In paths, commands and clients: `/v1/releases/NAME`, `tacita release NAME`.
        summary: What is released, in one line, as an imperative sentence.
        example: Options of an example on the command line.
        request: Model of the request; its members are the options of the command.
        answer: Model of the answer's JSON.
        recipe: Make the recipe of a request.
        cells: Number of cells of the answer, which a server limits.
    """

    name: str
    summary: str
    example: str
    request: type[R]
    answer: type[ResponseModel]
    recipe: Callable[[Domain, R], Calibratable]
    cells: Callable[[Domain, R], int] = lambda _, __: 0

    def plan(self, subject: Subject, request: R) -> Plan[Any]:
        """Fix the noise for the unit and neighbours of the account; reads no data."""
        account, recipe = subject.account, self.recipe(subject.domain, request)
        budget = request.budget.budget()
        return recipe.calibrate(subject.domain, budget, unit=account.unit, neighbours=account.neighbours)
