"""Jobs: submit, look, cancel, fetch the result. A job is seen by its owner and by admins, a release by readers too."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Response

from tacita.errors import Conflict, Forbidden, UnknownName
from tacita.server.auth.auth import Has, Services_, allow, check_scope
from tacita.server.auth.token_first import TokenFirst
from tacita.server.auth.tokens import Token
from tacita.server.http.errors import DOCUMENTED
from tacita.server.jobs.jobs import Job
from tacita.server.releasing.answers import ReleaseResponse
from tacita.server.releasing.kind import dataset_of
from tacita.server.releasing.queries import make_plan
from tacita.server.releasing.seen import may_see, seen
from tacita.server.routes.query import Key
from tacita.server.services import Services
from tacita.tables.release import Releases
from tacita.wire import JobInfo, QueryJob, ReleasesModel
from tacita.wire.refusals import rebuild

__all__ = ["router"]

router = APIRouter(tags=["jobs"], responses=DOCUMENTED, route_class=TokenFirst)

Asker = Annotated[Token, Depends(allow("steward", "analyst"))]


@router.post("/v1/jobs", status_code=202, summary="Submit a job")
def submit_job(body: QueryJob, token: Asker, services: Services_, response: Response, key: Key = None) -> JobInfo:
    """A query is planned first, so that what is wrong with it is said now; it is charged when it runs."""
    check_scope(token, body.dataset)
    make_plan(services, dataset_of(services, token, body.dataset), body)
    request = body.model_dump(exclude={"kind"}) | {"principal": token.principal}
    job = services.jobs.submit(body.kind, request, owner=token.id, key=key)
    response.headers["Location"] = f"/v1/jobs/{job.id}"
    return JobInfo.model_validate(job.as_dict())


@router.get("/v1/jobs", summary="List jobs")
def list_jobs(
    token: Has,
    services: Services_,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    offset: Annotated[int, Query(ge=0)] = 0,
) -> list[JobInfo]:
    """Newest first: one's own, for admins all, and for readers the finished releases in their scope."""
    found = seen(services.jobs, token, limit=limit, offset=offset)
    return [JobInfo.model_validate(job.as_dict()) for job in found]


@router.get("/v1/jobs/{id}", summary="How far a job is")
def get_job(id: str, token: Has, services: Services_) -> JobInfo:
    """State, progress and, if it failed, why."""
    return JobInfo.model_validate(_seen(services, token, id).as_dict())


@router.post("/v1/jobs/{id}/cancel", summary="Cancel a job")
def cancel_job(id: str, token: Has, services: Services_) -> JobInfo:
    """At once when it waits, at its next step when it runs. What it has charged stays spent."""
    _own(services, token, id)
    return JobInfo.model_validate(services.jobs.cancel(id, principal=token.principal).as_dict())


@router.get(
    "/v1/jobs/{id}/result",
    summary="The result of a job",
    response_model=None,
    responses={200: {"model": ReleasesModel}},
)
def get_result(id: str, token: Has, services: Services_) -> Response:
    """The releases of a job that is done; the problem of one that failed."""
    job = _seen(services, token, id)
    if job.error is not None:
        raise rebuild(job.error)
    if job.state != "done" or job.result is None:
        raise Conflict(f"is {job.state}, not done", field="job", value=id, hint="Look at its state until it is done")
    if job.kind != "query":
        hint = "Fetch a release at /v1/releases/ID, a model at /v1/models/ID, an assessment at /v1/assessments/ID"
        raise Conflict("has its result elsewhere", field="job", value=id, hint=hint)
    return ReleaseResponse(Releases.from_json(job.result))


def _own(services: Services, token: Token, id: str) -> Job:
    job = _seen(services, token, id)
    if token.role == "reader":
        raise Forbidden("readers change nothing", field="role", value=token.role)
    return job


def _seen(services: Services, token: Token, id: str) -> Job:
    job = services.jobs.get(id)
    if not may_see(token, job):
        raise UnknownName(id, field="job", available=())  # not even that it exists
    return job
