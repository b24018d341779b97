"""Functions of private rows: release one, ask it, delete it. Who may ask is who has its dataset in scope."""

from __future__ import annotations

import json
import time
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Response
from fastapi.responses import JSONResponse

from tacita.errors import Conflict, Forbidden, UnknownName
from tacita.learn.functions.bundle import export_bundle
from tacita.learn.functions.registry import Entry
from tacita.server.auth import Services_, allow, check_scope
from tacita.server.errors import DOCUMENTED
from tacita.server.functions import plan_of, show_function
from tacita.server.models import (
    FunctionInfo,
    FunctionParameters,
    FunctionPlanInfo,
    FunctionRequest,
    JobInfo,
    PredictionsInfo,
    PredictRequest,
)
from tacita.server.refusals import rebuild
from tacita.server.routes.datasets import dataset_of
from tacita.server.routes.query import Key
from tacita.server.services import Services
from tacita.server.tokens import Token
from tacita.signing import SigningKey

__all__ = ["router"]

router = APIRouter(tags=["models"], responses=DOCUMENTED)

Asker = Annotated[Token, Depends(allow("steward", "analyst"))]
Steward = Annotated[Token, Depends(allow("steward"))]


@router.post("/v1/models/plan", summary="What a function would cost")
def plan_function(body: FunctionRequest, token: Asker, services: Services_) -> FunctionPlanInfo:
    """Touches no data and charges nothing."""
    check_scope(token, body.dataset)
    dataset = dataset_of(services, token, body.dataset)
    if body.public_inputs and token.role not in ("steward", "admin"):
        raise Forbidden("needs a steward, who answers for what is public", field="public_inputs", value=token.role)
    return FunctionPlanInfo.model_validate(show_function(services, dataset, plan_of(dataset, body)))


@router.post("/v1/models", status_code=202, summary="Release a function")
def release_function(
    body: FunctionRequest, token: Asker, services: Services_, response: Response, key: Key = None
) -> JobInfo:
    """A job, charged once however often it starts; answers cost nothing more. Look at it until it is done."""
    plan_function(body, token, services)
    request = body.model_dump() | {"principal": token.principal}
    job = services.jobs.submit("function", request, owner=token.id, key=key)
    response.headers["Location"] = f"/v1/models/{job.id}"
    return JobInfo.model_validate(job.as_dict())


@router.get("/v1/models", summary="List functions")
def list_functions(
    token: Asker,
    services: Services_,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    offset: Annotated[int, Query(ge=0)] = 0,
) -> list[FunctionInfo]:
    """Newest first: those of the datasets in scope."""
    found = services.functions.registry.list(token.datasets, limit=limit, offset=offset)
    return [_info(entry) for entry in found]


@router.get("/v1/models/{id}", summary="What is public about a function")
def get_function(id: str, token: Asker, services: Services_) -> FunctionInfo:
    """By id, by name (the newest version), by name@version, or by the job that releases it."""
    return _info(_find(services, token, id))


@router.post("/v1/models/{id}/predict", summary="Ask a function")
def predict(id: str, body: PredictRequest, token: Asker, services: Services_) -> PredictionsInfo:
    """A batch of points. Costs no budget, and the same point has the same answer for ever."""
    entry = _served(services, token, id)
    start = time.perf_counter()
    found = services.functions.predict(entry.id, body.points)
    form = str(entry.about["form"])
    services.metrics.predicting.labels(form).observe(time.perf_counter() - start)
    services.metrics.predicted.labels(form).inc(len(body.points))
    return PredictionsInfo.model_validate(found.as_dict() | {"model": entry.id})


@router.get("/v1/models/{id}/parameters", summary="The numbers that a function answers from")
def get_parameters(id: str, token: Asker, services: Services_) -> FunctionParameters:
    """Only where they have their noise already; a function with a noise path is a service, and gives answers alone."""
    entry = _served(services, token, id)
    parameters = services.functions.registry.model(entry).parameters()
    return FunctionParameters(model=entry.id, about=dict(entry.about), parameters=parameters)


@router.post(
    "/v1/models/{id}/export",
    summary="A function as a signed bundle",
    response_class=Response,
    response_model=None,
    responses={200: {"content": {"application/json": {}}}},
)
def export_function(id: str, token: Steward, services: Services_) -> Response:
    """One with a noise path is moved: it answers no new points here any more, and its bundle is sealed."""
    entry = _served(services, token, id)
    signer = SigningKey.of(services.settings.home)
    return JSONResponse(json.loads(export_bundle(services.functions.registry, entry.id, signer)))


@router.delete("/v1/models/{id}", summary="Delete a function")
def delete_function(id: str, token: Steward, services: Services_) -> FunctionInfo:
    """Forgets what it answers from, and all answers. What it cost stays spent."""
    return _info(services.functions.registry.delete(_find(services, token, id).id))


def _find(services: Services, token: Token, id: str) -> Entry:
    if id.startswith("job_"):
        id = _of_job(services, token, id)
    entry = services.functions.registry.get(id, token.datasets)
    if not token.covers(entry.dataset):
        raise UnknownName(id, field="model", available=())  # not even that it exists
    return entry


def _served(services: Services, token: Token, id: str) -> Entry:
    entry = _find(services, token, id)
    if entry.about["simulated"]:
        raise Conflict("is simulated: its noise can be worked out, so it is not served", field="model", value=id)
    return entry


def _of_job(services: Services, token: Token, id: str) -> str:
    job = services.jobs.get(id)
    if job.kind != "function" or (token.role != "admin" and job.owner != token.id):
        raise UnknownName(id, field="model", available=())
    if job.error is not None:
        raise rebuild(job.error)
    if job.state != "done" or job.result is None:
        raise Conflict(f"is {job.state}, not done", field="model", value=id, hint="Look again until it is done")
    made: dict[str, Any] = json.loads(job.result)
    return str(made["id"])


def _info(entry: Entry) -> FunctionInfo:
    return FunctionInfo.model_validate(entry.as_dict())
