"""Functions and fitted models over HTTP: planned for nothing, released by a job that pays once, asked for ever."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

from tacita.errors import Forbidden, InternalError
from tacita.learn.functions.kernel import Kernel
from tacita.learn.functions.recipe import FunctionPlan, ReleaseFunction
from tacita.learn.functions.registry import check_name
from tacita.learn.functions.releasing import KeptPlan, activate
from tacita.learn.models import FittedPlan, choose_kind, recipe_of
from tacita.learn.neural.network import CalibratedNetwork
from tacita.server.auth.tokens import Token
from tacita.server.data.datasets import Dataset
from tacita.server.jobs.computing import QUICK_SECONDS
from tacita.server.jobs.jobs import Task
from tacita.server.releasing.kind import LOSS_SECONDS, ReleaseKind, dataset_of, quote_plan
from tacita.server.releasing.queries import answer
from tacita.server.services import Services
from tacita.wire import FitRequest, FunctionPlanInfo, FunctionRequest

__all__ = ["FUNCTION", "MODEL", "ReleasePlan", "fit_plan_of", "plan_of"]

ReleasePlan = FunctionPlan | FittedPlan

_PROGRESS_SECONDS = 0.5
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
        kind_of_fit(dataset, request)[0],
        target=request.target,
        features=others if request.features is None else request.features,
        options=request.options(),
    )
    account = dataset.account
    return recipe.calibrate(dataset.domain, request.budget.budget(), unit=account.unit, neighbours=account.neighbours)


def kind_of_fit(dataset: Dataset, request: FitRequest) -> tuple[str, str]:
    """The kind that is asked for, or the one that fits the target, with the reason."""
    if request.kind != "auto":
        return request.kind, ""
    return choose_kind(dataset.domain, request.target, request.options())


def _show_fit(services: Services, dataset: Dataset, plan: FittedPlan, request: FitRequest) -> dict[str, Any]:
    quoted = quote_plan(services, dataset, plan)
    kind, picked = kind_of_fit(dataset, request)
    why = "; ".join(part for part in (picked, quoted.get("why")) if part)
    return quoted | {"kind": kind} | ({"why": why} if why else {})


def _make_function(task: Task, request: FunctionRequest) -> str:
    return _kept(task, request, plan_of(task.services.datasets.get(request.dataset), request))


def _make_model(task: Task, request: FitRequest) -> str:
    plan = fit_plan_of(task.services.datasets.get(request.dataset), request)
    if isinstance(plan, CalibratedNetwork):  # the only kind that takes long
        plan = plan.watched(_progress_writer(task))
    return _kept(task, request, plan)


def _progress_writer(task: Task) -> Callable[[float], None]:
    """Say how far training is, now and again; ends it when the job was cancelled. What was charged stays spent."""
    last = time.monotonic()

    def write(share: float) -> None:
        nonlocal last
        if time.monotonic() - last >= _PROGRESS_SECONDS:
            task.progress.step(0.1 + 0.85 * share, "training")
            last = time.monotonic()

    return write


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
    entry = activate(registry, made)
    if entry.about["simulated"]:
        raise InternalError("simulated functions must not be served", field="model")
    return json.dumps(made.as_dict())


def _find_function(services: Services, token: Token, body: FunctionRequest) -> Dataset:
    dataset = dataset_of(services, token, body.dataset)
    if body.public_inputs and token.role not in ("steward", "admin"):
        raise Forbidden("needs a steward, who answers for what is public", field="public_inputs", value=token.role)
    return dataset


def _fit_seconds(request: FitRequest) -> float:
    if request.kind == "network":
        return 2.0
    return LOSS_SECONDS if request.budget.delta else QUICK_SECONDS


FUNCTION = ReleaseKind(
    name="function",
    job="function",
    summary="Release a function",
    plan_summary="Cost and error of a function",
    request=FunctionRequest,
    planned=FunctionPlanInfo,
    plan=plan_of,
    make=_make_function,
    find=_find_function,
    paid=True,
    place="/v1/models",
    aliases=("/v1/models",),
    command="function release",
)
MODEL = ReleaseKind(
    name="model",
    job="fit",
    summary="Fit a model",
    plan_summary="Cost and method of a fitted model",
    request=FitRequest,
    planned=FunctionPlanInfo,
    plan=fit_plan_of,
    show=_show_fit,
    make=_make_model,
    seconds=_fit_seconds,
    paid=True,
    place="/v1/models",
    aliases=("/v1/models/fit",),
    command="learn fit",
)
