"""Assessments of the disclosure risk of releases, for the steward of the data."""

from __future__ import annotations

import json
from typing import Annotated, Any

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
from tacita.server.routes.releases.models import find
from tacita.server.services import Services
from tacita.tables.release import Releases
from tacita.wire import AssessmentInfo, AssessmentRequest, AttackInfo, ComparisonInfo, ComparisonRequest, JobInfo
from tacita.wire.refusals import rebuild

__all__ = ["Steward", "finished", "router"]

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
    """A job: attacks on released rows, a model or tables, and measures of rows, all with the exact rows.

    For the steward: charges and releases nothing.
    """
    dataset = _check(body, token, services)
    request = body.model_dump() | {"dataset": dataset}
    if body.model is not None:
        request["model"] = _model(services, token, body.model, dataset)
    for place, each in enumerate(body.tables):
        _check_tables(each, f"tables[{place}]")
    job = services.jobs.submit("assess", request, owner=token.id, key=key)
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
    return ComparisonInfo.model_validate(json.loads(finished(services, token, id, "compare")))


@router.get(
    "/v1/comparisons/{id}/page",
    summary="The same as a page",
    response_class=Response,
    response_model=None,
    responses={200: {"content": {"text/html": {}}}},
)
def get_comparison_page(id: str, token: Steward, services: Services_) -> Response:
    """One self-contained file that can be printed."""
    finished(services, token, id, "compare")
    return PageResponse(page_of(services, id))


@router.get("/v1/assessments/{id}", summary="Results of an assessment")
def get_assessment(id: str, token: Steward, services: Services_) -> AssessmentInfo:
    """Figures from exact rows: for the steward of the data."""
    return AssessmentInfo.model_validate(json.loads(finished(services, token, id)))


@router.get(
    "/v1/assessments/{id}/page",
    summary="The same as a page",
    response_class=Response,
    response_model=None,
    responses={200: {"content": {"text/html": {}}}},
)
def get_page(id: str, token: Steward, services: Services_) -> Response:
    """One self-contained file that can be printed."""
    finished(services, token, id)
    return PageResponse(page_of(services, id))


def _check(body: AssessmentRequest, token: Token, services: Services) -> str:
    """Return the dataset that a request is about; refuse releases and datasets that do not fit."""
    if body.release is None and not (body.dataset and (body.model or body.tables)):
        raise InvalidInput("must be released rows, or a dataset with a model or tables", field="release")
    if body.release is None and body.others:
        raise InvalidInput("are further to a release", field="others", hint="Name the first one as `release`")
    releases = [_release(services, id, field) for id, field in _named(body)]
    dataset = str(releases[0].request["dataset"]) if releases else str(body.dataset)
    for name in (dataset, *([body.control] if body.control else [])):
        check_scope(token, name)
        dataset_of(services, token, name)
    if body.control == dataset:
        raise InvalidInput(
            "must be people who are not in the data of the release, not the data itself",
            field="control",
            value=body.control,
        )
    if body.dataset not in (None, dataset) or any(each.request["dataset"] != dataset for each in releases):
        raise InvalidInput("must be releases of the same dataset", field="others" if body.others else "dataset")
    if len({each.id for each in releases}) < len(releases):
        raise InvalidInput("must be further releases, each once", field="others")
    if len(releases) > 1 and any(each.kind == "mobility" for each in releases):
        raise InvalidInput("cannot be joined: tap records are assessed one release at a time", field="others")
    for each in releases:
        if each.state != "done":
            raise Conflict(f"is {each.state}, not done", field="release", value=each.id)
    return dataset


def _named(body: AssessmentRequest) -> list[tuple[str, str]]:
    first = [] if body.release is None else [(body.release, "release")]
    return [*first, *((id, "others") for id in body.others)]


def _model(services: Services, token: Token, id: str, dataset: str) -> str:
    """Return the id of a fitted model of the dataset."""
    entry = find(services, token, id)
    if entry.dataset != dataset:
        raise InvalidInput("must be a model of the dataset", field="model", value=id)
    if entry.about.get("tacita") != "model/1":
        raise InvalidInput("must be a fitted model, not a function", field="model", value=id)
    return entry.id


def _check_tables(given: dict[str, Any], field: str) -> None:
    try:
        Releases.from_dict(given)
    except (InvalidInput, ValueError, LookupError, TypeError, AttributeError):
        raise InvalidInput("must be released tables, as a query answers them", field=field) from None


def _release(services: Services, id: str, field: str) -> Job:
    """Return the job of released rows."""
    found: Job = services.jobs.get(id)
    if found.kind not in ("anonymize", "synthesize", "impute", "mask", "mobility"):
        raise UnknownName(id, field=field, available=())
    return found


def finished(services: Services, token: Token, id: str, kind: str = "assess") -> str:
    """Return the result of a job of this kind that the token may see; raises the error of one that failed."""
    job: Job = services.jobs.get(id)
    if job.kind != kind or (token.role != "admin" and job.owner != token.id):
        raise UnknownName(id, field="assessment", available=())  # not even that it exists
    if job.error is not None:
        raise rebuild(job.error)
    if job.state != "done" or job.result is None:
        raise Conflict(f"is {job.state}, not done", field="assessment", value=id, hint="Look again until it is done")
    return job.result
