"""Functions as a service over HTTP: planned for nothing, released by a job that pays once, asked for ever."""

from __future__ import annotations

import json
from typing import Any

from tacita.errors import InternalError
from tacita.learn.functions.kernel import Kernel
from tacita.learn.functions.recipe import FunctionPlan, ReleaseFunction
from tacita.learn.functions.registry import check_name
from tacita.learn.functions.releasing import KeptPlan, activated
from tacita.privacy.accountant import INFINITE
from tacita.server.datasets import Dataset
from tacita.server.jobs import Task, register
from tacita.server.models import FunctionRequest
from tacita.server.queries import answer
from tacita.server.services import Services

__all__ = ["plan_of", "show_function"]

_OF_THE_RELEASE = {"dataset", "name", "budget", "kernel", "purpose", "features"}


def plan_of(dataset: Dataset, request: FunctionRequest) -> FunctionPlan:
    """Fix the noise for the unit and neighbours of the dataset's account; reads no data."""
    check_name(request.name)
    recipe = ReleaseFunction(
        **request.model_dump(exclude=_OF_THE_RELEASE),
        features=tuple(request.features),
        kernel=Kernel(name=request.kernel.name, bandwidth=request.kernel.bandwidth),
    )
    account = dataset.account
    return recipe.calibrate(dataset.domain, request.budget.budget(), unit=account.unit, neighbours=account.neighbours)


def show_function(services: Services, dataset: Dataset, plan: FunctionPlan) -> dict[str, Any]:
    """The plan, with what it would take from the account; charges nothing."""
    quote = services.ledger.quote(dataset.account.name, plan.event)
    return plan.as_dict() | {
        "account_cost": None if quote.alone >= INFINITE else float(quote.alone),
        "account_remaining": float(quote.remaining),
        "affordable": quote.affordable,
    }


@register("function")
def _release(task: Task) -> str:
    """Charge, fit, write down, activate. Every attempt has the job's key, so a killed one is charged once."""
    given = dict(task.job.request)
    principal = given.pop("principal")
    request = FunctionRequest.model_validate(given)
    services = task.services
    registry = services.functions.registry
    dataset = services.datasets.get(request.dataset)
    plan = KeptPlan(plan=plan_of(dataset, request), registry=registry, name=request.name)
    task.progress.step(0.1, "fitting")
    made = answer(services, dataset, plan, principal=principal, purpose=request.purpose, key=task.job.key)
    entry = activated(registry, made)
    if entry.about["simulated"]:
        raise InternalError("simulated functions must not be served", field="model")
    return json.dumps(made.as_dict())
