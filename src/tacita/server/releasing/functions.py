"""Functions and fitted models over HTTP: planned for nothing, released by a job that pays once, asked for ever."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

from tacita.errors import InternalError
from tacita.learn.functions.kernel import Kernel
from tacita.learn.functions.recipe import FunctionPlan, ReleaseFunction
from tacita.learn.functions.registry import check_name
from tacita.learn.functions.releasing import KeptPlan, activated
from tacita.learn.models import FittedPlan, recipe_of
from tacita.learn.neural.network import CalibratedNetwork
from tacita.privacy.accountant import INFINITE
from tacita.server.data.datasets import Dataset
from tacita.server.jobs.jobs import Task, register
from tacita.server.releasing.queries import answer
from tacita.server.services import Services
from tacita.wire import FitRequest, FunctionRequest

__all__ = ["ReleasePlan", "fit_plan_of", "plan_of", "show_function"]

ReleasePlan = FunctionPlan | FittedPlan

_TELL_SECONDS = 0.5
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


def fit_plan_of(dataset: Dataset, request: FitRequest) -> FittedPlan:
    """The same for a model that is released as parameters."""
    check_name(request.name)
    others = [name for name in dataset.domain.countable if name != request.target]
    recipe = recipe_of(
        request.kind,
        target=request.target,
        features=others if request.features is None else request.features,
        options=request.options(),
    )
    account = dataset.account
    return recipe.calibrate(dataset.domain, request.budget.budget(), unit=account.unit, neighbours=account.neighbours)


def show_function(services: Services, dataset: Dataset, plan: ReleasePlan) -> dict[str, Any]:
    """The plan, with what it would take from the account; charges nothing."""
    quote = services.ledger.quote(dataset.account.name, plan.event)
    return plan.as_dict() | {
        "account_cost": None if quote.alone >= INFINITE else float(quote.alone),
        "account_remaining": float(quote.remaining),
        "affordable": quote.affordable,
    }


@register("function")
def _release(task: Task) -> str:
    request = FunctionRequest.model_validate(_sent(task))
    return _kept(task, request, plan_of(task.services.datasets.get(request.dataset), request))


@register("fit")
def _fit(task: Task) -> str:
    request = FitRequest.model_validate(_sent(task))
    plan = fit_plan_of(task.services.datasets.get(request.dataset), request)
    if isinstance(plan, CalibratedNetwork):  # the only kind that takes long
        plan = plan.watched(_telling(task))
    return _kept(task, request, plan)


def _telling(task: Task) -> Callable[[float], None]:
    """Say how far training is, now and again; ends it when the job was cancelled. What was charged stays spent."""
    last = time.monotonic()

    def tell(share: float) -> None:
        nonlocal last
        if time.monotonic() - last >= _TELL_SECONDS:
            task.progress.step(0.1 + 0.85 * share, "training")
            last = time.monotonic()

    return tell


def _sent(task: Task) -> dict[str, Any]:
    return {name: value for name, value in task.job.request.items() if name != "principal"}


def _kept(task: Task, request: FunctionRequest | FitRequest, plan: ReleasePlan) -> str:
    """Charge, fit, write down, activate. Every attempt has the job's key, so a killed one is charged once."""
    services = task.services
    registry = services.functions.registry
    kept = KeptPlan(plan=plan, registry=registry, name=request.name)
    task.progress.step(0.1, "fitting")
    made = answer(
        services,
        services.datasets.get(request.dataset),
        kept,
        principal=task.job.request["principal"],
        purpose=request.purpose,
        key=task.job.key,
    )
    entry = activated(registry, made)
    if entry.about["simulated"]:
        raise InternalError("simulated functions must not be served", field="model")
    return json.dumps(made.as_dict())
