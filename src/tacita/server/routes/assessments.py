"""Assessments of the disclosure risk of releases, for the steward of the data."""

from __future__ import annotations

import json
from typing import Annotated

from fastapi import APIRouter, Depends, Response

from tacita.assess.attacks.registry import select
from tacita.assess.compare.plan import ComparePlan
from tacita.errors import Conflict, InvalidInput, UnknownName
from tacita.server.auth.auth import Services_, allow, check_scope
from tacita.server.auth.token_first import TokenFirst
from tacita.server.auth.tokens import Token
from tacita.server.http.errors import DOCUMENTED
from tacita.server.jobs.jobs import Job
from tacita.server.releasing.answers import PageResponse
from tacita.server.releasing.files import page_of
from tacita.server.releasing.kind import dataset_of
from tacita.server.routes.query import Key
from tacita.server.services import Services
from tacita.wire import AssessmentInfo, AssessmentRequest, AttackInfo, ComparisonInfo, ComparisonRequest, JobInfo
from tacita.wire.refusals import rebuild

__all__ = ["router"]

router = APIRouter(tags=["assessments"], responses=DOCUMENTED, route_class=TokenFirst)

Steward = Annotated[Token, Depends(allow("steward"))]


@router.get("/v1/attacks", summary="Attacks of an assessment")
def list_attacks(token: Steward) -> list[AttackInfo]:
    """All attacks, in the order in which an assessment runs those that apply."""
    return [AttackInfo.model_validate(attack.as_dict()) for attack in select()]


@router.post("/v1/assessments", status_code=202, summary="Assess a release")
def make_assessment(
    body: AssessmentRequest, token: Steward, services: Services_, response: Response, key: Key = None
) -> JobInfo:
    """A job: attacks and measures with the exact rows. For the steward: charges and releases nothing."""
    release = _release(services, body.release, "release")
    for name in (str(release.request["dataset"]), *([body.control] if body.control else [])):
        check_scope(token, name)
        dataset_of(services, token, name)
    if body.control == release.request["dataset"]:
        raise InvalidInput(
            "must be people who are not in the data of the release, not the data itself",
            field="control",
            value=body.control,
        )
    others = [_release(services, each, "others") for each in body.others]
    if any(each.request["dataset"] != release.request["dataset"] for each in others):
        raise InvalidInput("must be releases of the same dataset", field="others")
    if len({release.id, *(each.id for each in others)}) <= len(others):
        raise InvalidInput("must be further releases, each once", field="others")
    for each in (release, *others):
        if each.state != "done":
            raise Conflict(f"is {each.state}, not done", field="release", value=each.id)
    job = services.jobs.submit("assess", body.model_dump(), owner=token.id, key=key)
    response.headers["Location"] = f"/v1/assessments/{job.id}"
    return JobInfo.model_validate(job.as_dict())


@router.post("/v1/comparisons", status_code=202, summary="Compare releases in simulation")
def make_comparison(
    body: ComparisonRequest, token: Steward, services: Services_, response: Response, key: Key = None
) -> JobInfo:
    """A job: several releases, made with repeatable noise, assessed alike, with a recommendation; charges nothing."""
    check_scope(token, body.dataset)
    dataset_of(services, token, body.dataset)
    ComparePlan.from_dict(body.plan())  # reports a fault of the plan now, before the job
    job = services.jobs.submit("compare", body.model_dump(), owner=token.id, key=key)
    response.headers["Location"] = f"/v1/comparisons/{job.id}"
    return JobInfo.model_validate(job.as_dict())


@router.get("/v1/comparisons/{id}", summary="Results of a comparison")
def get_comparison(id: str, token: Steward, services: Services_) -> ComparisonInfo:
    """Figures from exact rows: for the steward of the data."""
    return ComparisonInfo.model_validate(json.loads(_done(services, token, id, "compare")))


@router.get(
    "/v1/comparisons/{id}/page",
    summary="The same as a page",
    response_class=Response,
    response_model=None,
    responses={200: {"content": {"text/html": {}}}},
)
def get_comparison_page(id: str, token: Steward, services: Services_) -> Response:
    """One self-contained file that can be printed."""
    _done(services, token, id, "compare")
    return PageResponse(page_of(services, id))


@router.get("/v1/assessments/{id}", summary="Results of an assessment")
def get_assessment(id: str, token: Steward, services: Services_) -> AssessmentInfo:
    """Figures from exact rows: for the steward of the data."""
    return AssessmentInfo.model_validate(json.loads(_done(services, token, id)))


@router.get(
    "/v1/assessments/{id}/page",
    summary="The same as a page",
    response_class=Response,
    response_model=None,
    responses={200: {"content": {"text/html": {}}}},
)
def get_page(id: str, token: Steward, services: Services_) -> Response:
    """One self-contained file that can be printed."""
    _done(services, token, id)
    return PageResponse(page_of(services, id))


def _release(services: Services, id: str, field: str) -> Job:
    """Return the job of released rows."""
    found: Job = services.jobs.get(id)
    if found.kind not in ("anonymize", "synthesize"):
        raise UnknownName(id, field=field, available=())
    return found


def _done(services: Services, token: Token, id: str, kind: str = "assess") -> str:
    job: Job = services.jobs.get(id)
    if job.kind != kind or (token.role != "admin" and job.owner != token.id):
        raise UnknownName(id, field="assessment", available=())  # not even that it exists
    if job.error is not None:
        raise rebuild(job.error)
    if job.state != "done" or job.result is None:
        raise Conflict(f"is {job.state}, not done", field="assessment", value=id, hint="Look again until it is done")
    return job.result
