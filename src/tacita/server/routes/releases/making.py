"""Releases of every kind, planned and made: `POST /v1/releases/KIND/plan` and `POST /v1/releases/KIND`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request, Response
from starlette.concurrency import run_in_threadpool

from tacita.server.auth.auth import Has, Services_, allow
from tacita.server.auth.token_first import TokenFirst
from tacita.server.auth.tokens import Token
from tacita.server.http.errors import DOCUMENTED
from tacita.server.releasing.kind import ReleaseKind, plan_release, submit_release
from tacita.server.releasing.registry import KINDS
from tacita.server.routes.query import Key
from tacita.wire import JobInfo, ReleaseKindInfo

__all__ = ["router", "routes_of"]


def routes_of(kind: ReleaseKind[Any]) -> APIRouter:
    """The two routes of a kind, and those of earlier versions."""
    router = APIRouter(
        tags=["models" if kind.place == "/v1/models" else "releases"], responses=DOCUMENTED, route_class=TokenFirst
    )
    asker = Annotated[Token, Depends(allow(*kind.roles))]

    async def plan(body: Any, token: Any, services: Services_, request: Request) -> Any:
        """Reads no data and charges nothing."""
        subject, made = await plan_release(kind, body, token, services, request)
        return kind.planned.model_validate(await run_in_threadpool(kind.show, services, subject, made, body))

    async def make(
        body: Any, token: Any, services: Services_, request: Request, response: Response, key: Key = None
    ) -> JobInfo:
        """A job, charged once however often it starts. Look at it until it is done, then fetch the release."""
        job = await submit_release(kind, body, token, services, request, key)
        response.headers["Location"] = f"{kind.place}/{job.id}"
        return JobInfo.model_validate(job.as_dict())

    for path in (f"/v1/releases/{kind.name}", *kind.aliases):
        old = path in kind.aliases
        _add(router, f"{path}/plan", plan, kind, asker, summary=kind.plan_summary, returns=kind.planned, old=old)
        _add(router, path, make, kind, asker, summary=kind.summary, returns=JobInfo, status=202, old=old)
    return router


def _add(
    router: APIRouter,
    path: str,
    endpoint: Callable[..., Any],
    kind: ReleaseKind[Any],
    asker: Any,
    *,
    summary: str,
    returns: Any,
    status: int = 200,
    old: bool,
) -> None:
    # the types that FastAPI reads depend on the kind
    types = {"services": Services_, "request": Request, "response": Response, "key": Key}
    known = {name: types[name] for name in endpoint.__annotations__ if name in types}
    endpoint.__annotations__ = {"body": kind.request, "token": asker, **known, "return": returns}
    router.add_api_route(
        path,
        endpoint,
        methods=["POST"],
        status_code=status,
        summary=summary,
        name=f"{endpoint.__name__}_{kind.name}" + ("_deprecated" if old else ""),
        deprecated=True if old else None,
    )


router = APIRouter(responses=DOCUMENTED, route_class=TokenFirst)


@router.get("/v1/releases/kinds", tags=["releases"], summary="Kinds of release that this server makes")
def list_kinds(token: Has) -> list[ReleaseKindInfo]:
    """Each with the schema of its request: enough to plan and make it."""
    return [
        ReleaseKindInfo(
            name=kind.name,
            summary=kind.summary,
            job=kind.job,
            roles=list(kind.roles),
            request=kind.request.model_json_schema(by_alias=True),
        )
        for kind in KINDS.values()
    ]


for _kind in KINDS.values():
    router.include_router(routes_of(_kind))
