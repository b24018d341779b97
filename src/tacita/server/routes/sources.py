"""Sources: which there are, bring a file, draft a schema from one. For stewards: a draft shows private data."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Request
from starlette.concurrency import run_in_threadpool

from tacita.errors import Conflict, InvalidInput, SourceUnavailable, UnknownName
from tacita.server.auth.auth import Services_, allow, check_scope
from tacita.server.auth.token_first import TokenFirst
from tacita.server.auth.tokens import Token
from tacita.server.http.errors import DOCUMENTED
from tacita.server.services import Services
from tacita.wire import DialectModel, DraftInfo, SourceInfo
from tacita.wire.base import Name
from tacita.wire.refusals import unreachable
from tacita.wire.sources import MEDIA

__all__ = ["router"]

router = APIRouter(tags=["datasets"], responses=DOCUMENTED, route_class=TokenFirst)

Steward = Annotated[Token, Depends(allow("steward"))]
SourceName = Annotated[Name, Path()]


@router.get("/v1/sources", summary="List the sources that data can be read from")
def list_sources(token: Steward, services: Services_) -> list[SourceInfo]:
    """By name alone; addresses stay in the settings."""
    used = _used(services)
    found = [(name, services.sources[name]) for name in services.sources]
    return [
        SourceInfo(
            name=name,
            kind="database" if place.path is None else "file",
            brought=services.sources.is_brought(name),
            dataset=used.get(name),
        )
        for name, place in found
        if token.covers(name) or token.covers(used.get(name, ""))
    ]


@router.put(
    "/v1/sources/{name}",
    summary="Upload a file",
    openapi_extra={"requestBody": {"content": {media: {} for media in MEDIA}, "required": True}},
)
async def put_source(name: SourceName, token: Steward, services: Services_, request: Request) -> SourceInfo:
    """A text file, Parquet, Arrow, a workbook, or a file of Stata, SPSS or SAS. It stays on the server, and no one can
    fetch it from there.
    """
    check_scope(token, name)
    media = request.headers.get("content-type", "").split(";")[0].strip().lower()
    if media not in MEDIA:
        raise InvalidInput("must be " + " or ".join(MEDIA), field="content-type", value=media or "nothing")
    _check_unused(services, name)
    await services.sources.bring(name, MEDIA[media], request.stream(), check=partial(_check_unused, services, name))
    await run_in_threadpool(services.events.record, "source-brought", name, token.principal, format=MEDIA[media])
    return SourceInfo(name=name, kind="file", brought=True, dataset=None)


@router.delete("/v1/sources/{name}", summary="Remove an uploaded file")
def remove_source(name: SourceName, token: Steward, services: Services_) -> SourceInfo:
    """While no dataset is registered over it."""
    check_scope(token, name)
    services.sources.remove(name, check=partial(_check_unused, services, name))
    services.events.record("source-removed", name, token.principal)
    return SourceInfo(name=name, kind="file", brought=True, dataset=None)


@router.get("/v1/sources/{name}/draft", summary="Draft a schema from a file")
def draft_schema(name: SourceName, token: Steward, services: Services_) -> dict[str, Any]:
    """Reads all of it. What it says was read off private data, and counts as private until its owner confirms it."""
    return DraftInfo.model_validate(_draft(name, token, services, None)).domain


@router.post("/v1/sources/{name}/draft", summary="Draft a schema from a file, with reasons and a preview")
def explain_draft(name: SourceName, body: DialectModel, token: Steward, services: Services_) -> DraftInfo:
    """The same, with the reason for each guess and the first rows. What is stated about the dialect is not searched."""
    return DraftInfo.model_validate(_draft(name, token, services, body.model_dump(exclude_none=True)))


def _draft(name: str, token: Token, services: Services, given: Mapping[str, Any] | None) -> dict[str, Any]:
    check_scope(token, name)
    place = services.sources.get(name)
    if place is None:
        raise UnknownName(name, field="source", available=[known for known in services.sources if token.covers(known)])
    if place.path is None:
        hint = "Write the schema by hand; docs/guides/schema.md says how"
        raise Conflict("is a database: a draft is made from files alone", field="source", value=name, hint=hint)
    services.events.record("schema-drafted", name, token.principal)
    try:
        return services.reading.draft(place, name, given)
    except SourceUnavailable as error:
        raise unreachable(error, "source", ask="the operator of the server") from error


def _used(services: Services) -> dict[str, str]:
    return {dataset.source: dataset.name for dataset in services.datasets.list()}


def _check_unused(services: Services, name: str) -> None:
    used = _used(services).get(name)
    if used is not None:
        rule = f"is the source of the dataset {used!r}: answers about it were paid for"
        raise Conflict(rule, field="source", value=name, hint="Bring the file under another name")
