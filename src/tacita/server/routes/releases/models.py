"""Functions and fitted models: list them, ask them, read their parameters. Who may is who has the dataset in scope."""

from __future__ import annotations

import json
import time
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query

from tacita.errors import Conflict, UnknownName
from tacita.learn.functions.inputs import points_of
from tacita.learn.functions.registry import Entry
from tacita.server.auth.auth import Services_, allow
from tacita.server.auth.token_first import TokenFirst
from tacita.server.auth.tokens import Token
from tacita.server.http.errors import DOCUMENTED
from tacita.server.releasing.seen import may_see
from tacita.server.services import Services
from tacita.wire import FunctionInfo, FunctionParameters, PredictionsInfo, PredictRequest
from tacita.wire.refusals import rebuild

__all__ = ["Asker", "find", "info_of", "router", "served"]

router = APIRouter(tags=["models"], responses=DOCUMENTED, route_class=TokenFirst)

Asker = Annotated[Token, Depends(allow("steward", "analyst"))]
Reader = Annotated[Token, Depends(allow("steward", "analyst", "reader"))]


@router.get("/v1/models", summary="List functions and models")
def list_functions(
    token: Reader,
    services: Services_,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    offset: Annotated[int, Query(ge=0)] = 0,
    name: Annotated[str | None, Query(description="All versions of one name.")] = None,
) -> list[FunctionInfo]:
    """Newest first: those of the datasets in scope."""
    found = services.functions.registry.list(token.datasets, limit=limit, offset=offset, name=name)
    return [info_of(entry) for entry in found]


@router.get("/v1/models/{id}", summary="Public facts about a function or model")
def get_function(id: str, token: Reader, services: Services_) -> FunctionInfo:
    """By id, by name (the newest version), by name@version, or by the job that releases it."""
    return info_of(find(services, token, id))


@router.post("/v1/models/{id}/predict", summary="Ask a function or model")
def predict(id: str, body: PredictRequest, token: Asker, services: Services_) -> PredictionsInfo:
    """A batch of points. Costs no budget, and the same point has the same answer for ever."""
    entry = served(services, token, id)
    start = time.perf_counter()
    points = body.points if body.points is not None else points_of(body.rows or (), entry.about["features"])
    found = services.functions.predict(entry.id, points)
    form = str(entry.about["form"])
    services.metrics.predicting.labels(form).observe(time.perf_counter() - start)
    services.metrics.predicted.labels(form).inc(len(points))
    return PredictionsInfo.model_validate(found.as_dict() | {"model": entry.id})


@router.get("/v1/models/{id}/parameters", summary="The numbers that a function or model answers from")
def get_parameters(id: str, token: Reader, services: Services_) -> FunctionParameters:
    """Only where they have their noise already: a fitted model as a whole, or a function of features or bins.

    A function with a noise path is a service, and gives answers alone.
    """
    entry = served(services, token, id)
    parameters = services.functions.registry.model(entry).parameters()
    return FunctionParameters(model=entry.id, about=dict(entry.about), parameters=parameters)


def find(services: Services, token: Token, id: str) -> Entry:
    """The entry of an id, a name, a name@version or a job; unknown where it is out of scope."""
    if id.startswith("job_"):
        id = _of_job(services, token, id)
    entry = services.functions.registry.get(id, token.datasets)
    if not token.covers(entry.dataset):
        raise UnknownName(id, field="model", available=())  # not even that it exists
    return entry


def served(services: Services, token: Token, id: str) -> Entry:
    """The same, if it may be asked."""
    entry = find(services, token, id)
    if entry.about["simulated"]:
        raise Conflict("is simulated: its noise can be worked out, so it is not served", field="model", value=id)
    return entry


def _of_job(services: Services, token: Token, id: str) -> str:
    try:
        job = services.jobs.get(id)
    except UnknownName:
        raise UnknownName(id, field="model", available=()) from None
    if job.kind not in ("function", "fit") or not may_see(token, job):
        raise UnknownName(id, field="model", available=())
    if job.error is not None:
        raise rebuild(job.error)
    if job.state != "done" or job.result is None:
        raise Conflict(f"is {job.state}, not done", field="model", value=id, hint="Look again until it is done")
    made: dict[str, Any] = json.loads(job.result)
    return str(made["id"])


def info_of(entry: Entry) -> FunctionInfo:
    """Return the public facts, to be sent."""
    return FunctionInfo.model_validate(entry.as_dict())
