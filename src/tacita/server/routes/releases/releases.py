"""Releases of rows, and the policies that allow them."""

from __future__ import annotations

import json
from functools import reduce
from operator import or_
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Response
from fastapi.responses import JSONResponse

from tacita.domain import Domain
from tacita.errors import Conflict, Forbidden, UnknownName
from tacita.server.auth.auth import Has, Services_, allow, allow_on
from tacita.server.auth.token_first import TokenFirst
from tacita.server.auth.tokens import Token
from tacita.server.data.policies import Policy
from tacita.server.http.errors import DOCUMENTED
from tacita.server.jobs.jobs import Job
from tacita.server.releasing.answers import DocumentResponse, Format, ModelResponse, RowsResponse
from tacita.server.releasing.files import model_of, rows_of
from tacita.server.releasing.kind import ReleaseKind, dataset_of
from tacita.server.releasing.registry import KINDS, kind_of_job
from tacita.server.releasing.seen import check_rows, facts_for, may_see
from tacita.server.services import Services
from tacita.synthesize.mobility.result import SyntheticMobility
from tacita.synthesize.result import Synthesized
from tacita.synthesize.text.released import HeadlineGenerator
from tacita.wire import (
    JobInfo,
    PolicyInfo,
    PolicyModel,
    ReleasedInfo,
    StatementInfo,
)
from tacita.wire.refusals import rebuild

__all__ = ["model_of_release", "note_fetched", "router"]

router = APIRouter(tags=["releases"], responses=DOCUMENTED, route_class=TokenFirst)

Asker = Annotated[Token, Depends(allow("steward", "analyst"))]
Steward = Annotated[Token, Depends(allow_on("steward"))]
Reader = Annotated[Token, Depends(allow_on("steward", "analyst", "reader"))]
Auditor = Annotated[Token, Depends(allow_on("steward", "reader"))]


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
def list_released(name: str, token: Auditor, services: Services_) -> list[ReleasedInfo]:
    """For the owner: someone who has several of these releases could join them."""
    dataset_of(services, token, name)
    return [
        ReleasedInfo(
            id=old.id,
            kind=old.kind,
            attributes=list(old.attributes),
            classes="" if token.role == "reader" else old.classes,  # a digest of rows confirms a guess
            recipient=old.recipient,
            at=old.at,
        )
        for old in services.release_log.history(name)
    ]


@router.get(
    "/v1/releases/{id}",
    summary="Facts about a release, or the released answer",
    response_model=None,
    responses={200: {"model": reduce(or_, dict.fromkeys(each.info for each in KINDS.values() if each.info))}},
)
def get_release(id: str, token: Has, services: Services_) -> Response:
    """Rows: conditions or guarantee, loss or cost. Tables, statistics, clusters and so on: the released numbers."""
    job, kind = _done(services, token, id)
    if kind.document:
        note_fetched(services, token, id, format="json")
        return DocumentResponse(model_of(services, id))
    assert kind.info is not None
    facts = kind.info.model_validate_json(job.result or "").model_dump(mode="json")
    return JSONResponse(facts_for(token, kind, facts))


@router.get(
    "/v1/releases/{id}/model",
    summary="The model that synthetic rows were drawn from",
    response_class=Response,
    response_model=None,
    responses={200: {"content": {"application/json": {}}}},
)
def get_model(id: str, token: Has, services: Services_) -> Response:
    """As JSON, to draw more rows from or to ask for shares; costs nothing more."""
    made = model_of_release(services, token, id)
    note_fetched(services, token, id, format="model")
    return ModelResponse(made)


@router.get("/v1/releases/{id}/statement", summary="The signed statement of the guarantee of a release")
def get_statement(id: str, token: Has, services: Services_) -> StatementInfo:
    """With the digest of the rows as Parquet, or of the answer as JSON. `tacita verify` checks it independently."""
    job, kind = _done(services, token, id)
    check_rows(token, job, kind)
    if kind.state is None or not any(path.is_file() for path in _files(services, id)):
        raise Conflict("was deleted" if kind.state else "has no statement", field="release", value=id)
    return StatementInfo.model_validate(kind.state(services, job).as_dict())


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
    """In pieces, as CSV, NDJSON, an Arrow stream or Parquet; as a workbook with a sheet of the signed statement."""
    job, kind = _done(services, token, id)
    check_rows(token, job, kind)
    path = rows_of(services, id)
    if not path.is_file():
        raise Conflict("was deleted", field="release", value=id)
    note_fetched(services, token, id, format=format, limit=limit)
    facts = {} if format != "xlsx" or kind.state is None else _facts(kind.state(services, job).as_dict())
    return RowsResponse(path, format, limit, facts)


@router.delete("/v1/releases/{id}", summary="Delete the rows of a release")
def delete_release(id: str, token: Has, services: Services_) -> JobInfo:
    """The job stays in the list. Rows that were fetched before cannot be recalled."""
    job, _ = _seen(services, token, id)
    if token.role == "reader":
        raise Forbidden("readers change nothing", field="role", value=token.role)
    kept = [path for path in _files(services, id) if path.is_file()]
    for path in kept:
        path.unlink(missing_ok=True)
    if kept:
        services.events.record("release-deleted", _dataset(job), token.principal, job=id)
    return JobInfo.model_validate(job.as_dict())


def model_of_release(services: Services, token: Token, id: str) -> Synthesized | SyntheticMobility | HeadlineGenerator:
    """Read the model of synthetic rows that the caller may see."""
    job, kind = _done(services, token, id)
    check_rows(token, job, kind)
    path = model_of(services, id)
    if not kind.model or not path.is_file():
        raise Conflict("was deleted" if kind.model else "has no model", field="release", value=id)
    return kind.model.from_json(path.read_text(encoding="utf-8"))


def file_of_release(services: Services, token: Token, id: str) -> tuple[Path, Domain | None]:
    """Find the file of a release that the caller may see, and the schema of its rows where the file has none."""
    job, kind = _done(services, token, id)
    check_rows(token, job, kind)
    path = model_of(services, id) if kind.model is Synthesized or kind.document else rows_of(services, id)
    if not path.is_file():
        raise Conflict("was deleted", field="release", value=id)
    return path, None if path.suffix == ".json" else services.datasets.get(_dataset(job)).domain


def note_fetched(services: Services, token: Token, id: str, **how: object) -> None:
    """Write the audit log before anything is sent: if the line cannot be written, nothing is sent."""
    services.events.record("rows-fetched", _dataset(services.jobs.get(id)), token.principal, job=id, **how)


def _facts(statement: dict[str, Any]) -> dict[str, str]:
    """The statement as rows of a sheet."""
    return {
        name: value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        for name, value in statement.items()
        if value not in (None, [], {})
    }


def _files(services: Services, id: str) -> tuple[Path, Path]:
    return rows_of(services, id), model_of(services, id)


def _dataset(job: Job) -> str:
    return str(job.request.get("dataset") or "")  # a run with holders has none here


def _seen(services: Services, token: Token, id: str) -> tuple[Job, ReleaseKind[Any]]:
    try:
        job = services.jobs.get(id)
    except UnknownName:
        raise UnknownName(id, field="release", available=()) from None
    kind = kind_of_job(job.kind)
    if kind is None or kind.info is None or not may_see(token, job):
        raise UnknownName(id, field="release", available=())  # not even that it exists
    return job, kind


def _done(services: Services, token: Token, id: str) -> tuple[Job, ReleaseKind[Any]]:
    job, kind = _seen(services, token, id)
    if job.error is not None:
        raise rebuild(job.error)
    if job.state != "done" or job.result is None:
        raise Conflict(f"is {job.state}, not done", field="release", value=id, hint="Look again until it is done")
    return job, kind
