"""Functions and fitted models leave and come: planned, released, moved as bundles, deleted."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import Annotated, TypeVar

from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import JSONResponse
from starlette.concurrency import run_in_threadpool

from tacita.errors import Forbidden
from tacita.learn.functions.bundle import dataset_of_bundle, export_bundle, load_bundle
from tacita.report.signing import SigningKey
from tacita.server.auth.auth import Services_, allow, check_scope
from tacita.server.auth.token_first import TokenFirst
from tacita.server.auth.tokens import Token
from tacita.server.data.datasets import Dataset
from tacita.server.http.errors import DOCUMENTED
from tacita.server.releasing.functions import ReleasePlan, fit_plan_of, plan_of, show_function
from tacita.server.releasing.planning import calibrated
from tacita.server.routes.datasets import dataset_of
from tacita.server.routes.models import Asker, find, info_of, served
from tacita.server.routes.query import Key
from tacita.server.services import Services
from tacita.wire import BundleRequest, FitRequest, FunctionInfo, FunctionPlanInfo, FunctionRequest, JobInfo

__all__ = ["router"]

router = APIRouter(tags=["models"], responses=DOCUMENTED, route_class=TokenFirst)

Steward = Annotated[Token, Depends(allow("steward"))]


@router.post("/v1/models/plan", summary="What a function would cost")
async def plan_function(body: FunctionRequest, token: Asker, services: Services_, request: Request) -> FunctionPlanInfo:
    """Touches no data and charges nothing."""
    check_scope(token, body.dataset)
    if body.public_inputs and token.role not in ("steward", "admin"):
        raise Forbidden("needs a steward, who answers for what is public", field="public_inputs", value=token.role)
    return await _planned(plan_of, body, token, services, request)


@router.post("/v1/models", status_code=202, summary="Release a function")
async def release_function(
    body: FunctionRequest,
    token: Asker,
    services: Services_,
    response: Response,
    request: Request,
    key: Key = None,
) -> JobInfo:
    """A job, charged once however often it starts; answers cost nothing more. Look at it until it is done."""
    await plan_function(body, token, services, request)
    return await _submitted("function", body, token, services, response, key)


@router.post("/v1/models/fit/plan", summary="What a fitted model would cost")
async def plan_fit(body: FitRequest, token: Asker, services: Services_, request: Request) -> FunctionPlanInfo:
    """Touches no data and charges nothing. Says which method, and why."""
    return await _planned(fit_plan_of, body, token, services, request)


@router.post("/v1/models/fit", status_code=202, summary="Fit a model")
async def fit_model(
    body: FitRequest, token: Asker, services: Services_, response: Response, request: Request, key: Key = None
) -> JobInfo:
    """A job, charged once however often it starts. The model is released as parameters; predicting costs nothing."""
    await plan_fit(body, token, services, request)
    return await _submitted("fit", body, token, services, response, key)


Asked = TypeVar("Asked", FunctionRequest, FitRequest)


async def _planned(
    plan: Callable[[Dataset, Asked], ReleasePlan], body: Asked, token: Token, services: Services, request: Request
) -> FunctionPlanInfo:
    check_scope(token, body.dataset)
    dataset = await run_in_threadpool(dataset_of, services, token, body.dataset)
    compute = partial(plan, dataset, body)
    found = await calibrated(compute, body, token=token, services=services, request=request)
    return FunctionPlanInfo.model_validate(await run_in_threadpool(show_function, services, dataset, found))


async def _submitted(
    kind: str, body: FunctionRequest | FitRequest, token: Token, services: Services, response: Response, key: str | None
) -> JobInfo:
    asked = body.model_dump() | {"principal": token.principal}
    job = await run_in_threadpool(services.jobs.submit, kind, asked, owner=token.id, key=key)
    response.headers["Location"] = f"/v1/models/{job.id}"
    return JobInfo.model_validate(job.as_dict())


@router.post("/v1/models/bundles", status_code=201, summary="Take up a function or model from a signed bundle")
def load_function(body: BundleRequest, token: Steward, services: Services_) -> FunctionInfo:
    """Refused unless the signature is right and by a key that is named, or by this installation's own.

    Its dataset must be one of this server.
    """
    trusted = body.signed_by or [SigningKey.of(services.settings.home).public]
    text = json.dumps(body.bundle)
    dataset = dataset_of_bundle(text, trusted=trusted)
    check_scope(token, dataset)
    dataset_of(services, token, dataset)  # whose it would be must be known here
    entry = load_bundle(services.functions.registry, text, trusted=trusted, principal=token.principal, older=body.older)
    return info_of(entry)


@router.post(
    "/v1/models/{id}/export",
    summary="A function or model as a signed bundle",
    response_class=Response,
    response_model=None,
    responses={200: {"content": {"application/json": {}}}},
)
def export_function(id: str, token: Steward, services: Services_) -> Response:
    """One with a noise path is moved: it answers no new points here any more, and its bundle is sealed."""
    entry = served(services, token, id)
    signer = SigningKey.of(services.settings.home)
    text = export_bundle(services.functions.registry, entry.id, signer, principal=token.principal)
    return JSONResponse(json.loads(text))


@router.delete("/v1/models/{id}", summary="Delete a function or model")
def delete_function(id: str, token: Steward, services: Services_) -> FunctionInfo:
    """Forgets what it answers from, and all answers. What it cost stays spent."""
    return info_of(services.functions.registry.delete(find(services, token, id).id, principal=token.principal))
