"""Asking a dataset: plan, then answer. Shared by the route and by jobs."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from tacita.errors import Conflict, DataError, SourceUnavailable
from tacita.mechanisms import CalibratedTables, NoisyTables
from tacita.privacy.accountant import INFINITE, cost
from tacita.privacy.budget import exact
from tacita.query.session import Session
from tacita.release import Releases
from tacita.server.datasets import Dataset
from tacita.server.models import QueryRequest
from tacita.server.services import Services
from tacita.tables import Workload

__all__ = ["answer", "make_plan", "show_plan"]


def make_plan(dataset: Dataset, request: QueryRequest) -> CalibratedTables:
    """Fix the noise for the unit and neighbours of the dataset's account; reads no data."""
    workload = Workload(tuple(tuple(table) for table in request.tables), tuple(request.weights or ()))
    account = dataset.account
    return NoisyTables(workload, request.family).calibrate(
        dataset.domain, request.budget.budget(), unit=account.unit, neighbours=account.neighbours
    )


def show_plan(services: Services, dataset: Dataset, plan: CalibratedTables) -> dict[str, Any]:
    """The plan, with what it would take from the account; charges nothing."""
    account, balance = dataset.account, services.ledger.balance(dataset.account.name)
    alone = cost([(plan.event, 1)], account.budget, account.neighbours)
    history = Counter(charge.event for charge in services.ledger.history(account.name))
    after = cost([*history.items(), (plan.event, 1)], account.budget, account.neighbours)
    return plan.as_dict() | {
        "account_cost": None if alone >= INFINITE else float(alone),
        "account_remaining": float(balance.remaining),
        "affordable": after <= exact(account.budget.amount),
    }


def answer(
    services: Services,
    dataset: Dataset,
    plan: CalibratedTables,
    *,
    principal: str,
    purpose: str,
    key: str | None,
) -> Releases:
    """Reserve, run, settle.

    What goes wrong at the source is told without its details: they are the owner's, and the caller is a
    buyer.
    """
    try:
        session = Session(
            engine=services.engine_for(dataset),
            ledger=services.ledger,
            account=dataset.account.name,
            principal=principal,
            source=services.randomness,
        )
        releases = session.ask(plan, purpose=purpose, key=key)
    except SourceUnavailable as error:
        raise SourceUnavailable(
            "the source of this dataset cannot be reached",
            field="dataset",
            hint="Try again later; ask the steward if it stays away",
            private=str(error.private or error),
        ) from error
    except DataError as error:
        raise DataError(
            "the data of this dataset does not fit its schema",
            field="dataset",
            value=dataset.name,
            hint="Ask the steward to check the source",
            private=str(error.private or error),
        ) from error
    _check_same(plan, releases)
    return releases


def _check_same(plan: CalibratedTables, releases: Releases) -> None:
    """A key finds its charge by cost; two requests may cost the same and still ask for other tables."""
    asked = json.loads(json.dumps(plan.recipe.as_dict()))
    if any(release.provenance.recipe != asked for release in releases.values()):
        raise Conflict("was used for another request", field="Idempotency-Key", hint="Use a new key")
