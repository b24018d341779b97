"""Releases of rows, and the policies that allow them."""

from __future__ import annotations

import json
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Response

from tacita.errors import Conflict, UnknownName
from tacita.server.auth.auth import Has, Services_, allow, allow_on
from tacita.server.auth.token_first import TokenFirst
from tacita.server.auth.tokens import Token
from tacita.server.data.policies import Policy
from tacita.server.http.errors import DOCUMENTED
from tacita.server.jobs.jobs import Job
from tacita.server.releasing.anonymized import state_anonymized
from tacita.server.releasing.answers import Format, ModelResponse, RowsResponse
from tacita.server.releasing.files import model_of, rows_of
from tacita.server.releasing.kind import dataset_of
from tacita.server.releasing.synthetic import statement_of
from tacita.server.services import Services
from tacita.synthesize.result import Synthesized
from tacita.wire import (
    AnonymizedInfo,
    JobInfo,
    PolicyInfo,
    PolicyModel,
    ReleasedInfo,
    StatementInfo,
    SyntheticInfo,
)
from tacita.wire.refusals import rebuild

__all__ = ["router"]

MADE_UP = ("synthesize", "federate")
"""Kinds of job that make synthetic rows."""

router = APIRouter(tags=["releases"], responses=DOCUMENTED, route_class=TokenFirst)

Asker = Annotated[Token, Depends(allow("steward", "analyst"))]
Steward = Annotated[Token, Depends(allow_on("steward"))]
Reader = Annotated[Token, Depends(allow_on("steward", "analyst"))]


@router.put("/v1/datasets/{name}/policy", summary="Set the release policy of a dataset")
def put_policy(name: str, body: PolicyModel, token: Steward, services: Services_) -> PolicyInfo:
    """The owner, not the buyer, chooses the quasi-identifiers and the columns that are released unchanged."""
    dataset = dataset_of(services, token, name)
    policy = Policy.from_dict(body.policy())
    policy.check(dataset.domain)
    return PolicyInfo.model_validate(services.policies.put(name, policy, principal=token.principal).as_dict())


@router.get("/v1/datasets/{name}/policy", summary="The release policy of a dataset")
def get_policy(name: str, token: Reader, services: Services_) -> PolicyInfo:
    """Least conditions on a release, and the columns that it may have."""
    dataset_of(services, token, name)
    return PolicyInfo.model_validate(services.policies.get(name).as_dict())


@router.get("/v1/datasets/{name}/releases", summary="Past releases of rows, and their recipients")
def list_released(name: str, token: Steward, services: Services_) -> list[ReleasedInfo]:
    """For the owner: someone who has several of these releases could join them."""
    dataset_of(services, token, name)
    return [
        ReleasedInfo(
            id=old.id,
            kind=old.kind,
            attributes=list(old.attributes),
            classes=old.classes,
            recipient=old.recipient,
            at=old.at,
        )
        for old in services.release_log.history(name)
    ]


@router.get("/v1/releases/{id}", summary="Facts about a release")
def get_release(id: str, token: Has, services: Services_) -> AnonymizedInfo | SyntheticInfo:
    """Conditions asked for, conditions that hold, and the loss or the cost."""
    known = json.loads(_done(services, token, id))
    kind = SyntheticInfo if known["tacita"] == "synthesized/1" else AnonymizedInfo
    return kind.model_validate(known)


@router.get(
    "/v1/releases/{id}/model",
    summary="The model that synthetic rows were drawn from",
    response_class=Response,
    response_model=None,
    responses={200: {"content": {"application/json": {}}}},
)
def get_model(id: str, token: Has, services: Services_) -> Response:
    """As JSON, to draw more rows from or to ask for shares; costs nothing more."""
    _done(services, token, id)
    path = model_of(services, id)
    if not path.is_file():
        rule = "was deleted" if _own(services, token, id).kind in MADE_UP else "has no model"
        raise Conflict(rule, field="release", value=id)
    _note_fetched(services, token, id, format="model")
    return ModelResponse(Synthesized.from_json(path.read_text(encoding="utf-8")))


@router.get("/v1/releases/{id}/statement", summary="The signed statement of the guarantee of a release")
def get_statement(id: str, token: Has, services: Services_) -> StatementInfo:
    """With the digest of the rows as Parquet. `tacita verify` checks it independently."""
    _done(services, token, id)
    job = _own(services, token, id)
    if not (model_of if job.kind in MADE_UP else rows_of)(services, id).is_file():
        raise Conflict("was deleted", field="release", value=id)
    made = (statement_of if job.kind in MADE_UP else state_anonymized)(services, job)
    return StatementInfo.model_validate(made.as_dict())


@router.get(
    "/v1/releases/{id}/rows",
    summary="The rows of a release",
    response_class=Response,
    response_model=None,
    responses={200: {"content": {"text/csv": {}, "application/x-ndjson": {}}}},
)
def get_rows(
    id: str,
    token: Has,
    services: Services_,
    format: Format = "csv",
    limit: Annotated[int | None, Query(ge=1, description="Only so many, the first.")] = None,
) -> Response:
    """In pieces, as CSV, NDJSON, an Arrow stream or Parquet."""
    _done(services, token, id)
    path = rows_of(services, id)
    if not path.is_file():
        raise Conflict("was deleted", field="release", value=id)
    _note_fetched(services, token, id, format=format, limit=limit)
    return RowsResponse(path, format, limit)


@router.delete("/v1/releases/{id}", summary="Delete the rows of a release")
def delete_release(id: str, token: Has, services: Services_) -> JobInfo:
    """The job stays in the list. Rows that were fetched before cannot be recalled."""
    job = _own(services, token, id)
    kept = [path for path in (rows_of(services, id), model_of(services, id)) if path.is_file()]
    for path in kept:
        path.unlink(missing_ok=True)
    if kept:
        services.events.record("release-deleted", _dataset(job), token.principal, job=id)
    return JobInfo.model_validate(job.as_dict())


def _note_fetched(services: Services, token: Token, id: str, **how: object) -> None:
    """Write the audit log before anything is sent: if the line cannot be written, nothing is sent."""
    services.events.record("rows-fetched", _dataset(services.jobs.get(id)), token.principal, job=id, **how)


def _dataset(job: Job) -> str:
    return str(job.request.get("dataset") or "")  # a run with holders has none here


def _own(services: Services, token: Token, id: str) -> Job:
    job = services.jobs.get(id)
    if job.kind not in ("anonymize", *MADE_UP) or (token.role != "admin" and job.owner != token.id):
        raise UnknownName(id, field="release", available=())  # not even that it exists
    return job


def _done(services: Services, token: Token, id: str) -> str:
    job = _own(services, token, id)
    if job.error is not None:
        raise rebuild(job.error)
    if job.state != "done" or job.result is None:
        raise Conflict(f"is {job.state}, not done", field="release", value=id, hint="Look again until it is done")
    return job.result
