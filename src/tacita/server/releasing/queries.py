"""Asking a dataset: plan, then answer. Shared by the route and by jobs."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from tacita.domain import Domain
from tacita.engines.base import Engine
from tacita.errors import Conflict, InvalidInput
from tacita.plans import Answer, CalibratedTables, NoisyTables, Plan
from tacita.plans.session import Session
from tacita.server.data.datasets import Dataset
from tacita.server.services import Services
from tacita.tables.workload import Workload
from tacita.wire import SqlRequest, TableQuery
from tacita.wire.refusals import without_details

if TYPE_CHECKING:
    from tacita.query.sql import CalibratedQuery

__all__ = ["answer", "check_cells", "make_plan", "make_sql_plan"]

A = TypeVar("A", bound=Answer)


def make_plan(services: Services, dataset: Dataset, request: TableQuery) -> CalibratedTables:
    """Fix the noise for the unit and neighbours of the dataset's account; reads no data."""
    workload = Workload(tuple(tuple(table) for table in request.tables), tuple(request.weights or ()))
    account = dataset.account
    check_cells(services, sum(dataset.domain.project(key).size for key in workload.check(dataset.domain)), "tables")
    return NoisyTables(workload, request.family).calibrate(
        dataset.domain, request.budget.budget(), unit=account.unit, neighbours=account.neighbours
    )


def check_cells(services: Services, cells: int, field: str) -> None:
    """Refuse a question whose answer would be too large."""
    most = services.settings.max_cells
    if cells > most:
        raise InvalidInput(
            f"must have at most {most} cells together",
            field=field,
            value=cells,
            hint="Ask for fewer tables, fewer attributes or coarser bins; an admin can raise max_cells",
        )


def make_sql_plan(services: Services, dataset: Dataset, request: SqlRequest) -> CalibratedQuery:
    """The same for a question in SQL."""
    from tacita.query.sql import Dimension, compile_sql  # the parser takes a while to load, and only SQL needs it

    account = dataset.account
    public = [Dimension.of_records(name, rows) for name, rows in request.dimensions.items()]
    recipe = compile_sql(
        request.sql,
        dataset.domain,
        family=request.family,
        level=request.level,
        dimensions=public,
        shrink=request.shrink,
    )
    check_cells(services, recipe.cells(dataset.domain), "by")
    return recipe.calibrate(dataset.domain, request.budget.budget(), unit=account.unit, neighbours=account.neighbours)


def answer(
    services: Services,
    dataset: Dataset,
    plan: Plan[A],
    *,
    principal: str,
    purpose: str,
    key: str | None,
    repeat: bool = True,
    domain: Domain | None = None,
    view: Callable[[Engine], Any] | None = None,
) -> A:
    """Reserve, run, settle. Without `repeat`, an earlier answer is returned again and costs nothing.

    With another `domain` the same data is read with other bins; with a `view` the plan reads the data through it.

    Errors of the source are raised without their details: these are for the owner, and the caller is a buyer.
    """
    try:
        with without_details("dataset", ask="the steward", value=dataset.name):
            engine = services.engine(dataset, purpose, domain)
            session = Session(
                engine=engine if view is None else view(engine),
                ledger=services.ledger,
                account=dataset.account.name,
                principal=principal,
                source=services.randomness,
                version=services.datasets.version(dataset, purpose),
            )
            return session.ask(plan, purpose=purpose, key=key, repeat=repeat)
    except Conflict as error:
        if error.field != "key":
            raise
        # the ledger's key is not what the caller sent
        rule = error.rule.replace("question", "request")
        raise Conflict(rule, field="Idempotency-Key", hint="Use a new key") from None
