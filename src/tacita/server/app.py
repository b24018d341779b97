"""The application: routes, gate, errors and the OpenAPI document."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache
from typing import Any

import anyio.to_thread
from fastapi import APIRouter, FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute
from starlette.routing import BaseRoute

from tacita import __version__
from tacita.server.http import errors
from tacita.server.http.cross_origin import CrossOrigin
from tacita.server.http.gate import Gate
from tacita.server.respond.routes import install as install_respond
from tacita.server.routes import (
    anonymize,
    assessments,
    audit,
    budget,
    calculators,
    compat,
    datasets,
    disclosures,
    health,
    hierarchies,
    jobs,
    query,
    sources,
    sql,
    tokens,
)
from tacita.server.routes.campaigns import campaigns, findings, reports, sheets
from tacita.server.routes.releases import deciding, drawing, holders, making, model_releases, models, releases
from tacita.server.services import EngineFor, Services
from tacita.settings import Settings

__all__ = ["create_app", "from_environment"]

_THREADS = 10  # with those of pages and intake, no more than the state database has connections for a process

_NOUNS = (
    making,
    datasets,
    sources,
    query,
    sql,
    anonymize,
    releases,
    hierarchies,
    drawing,
    deciding,
    holders,
    assessments,
    disclosures,
    model_releases,
    models,
    budget,
    calculators,
    campaigns,
    findings,
    jobs,
    audit,
    tokens,
    health,
    compat,
)
_DESCRIPTION = """Collect, release and audit sensitive data under privacy guarantees that anyone can check.

Every error is `application/problem+json` in one shape. Answers about data are releases: estimates with their
error, their privacy cost and their provenance. No route returns an exact count of sensitive
data."""


def create_app(settings: Settings, *, engine_for: EngineFor | None = None) -> FastAPI:
    """Make the server, as an ASGI application.

    Args:
        settings: From `Settings.load()`.
        engine_for: Where the data of a dataset is; the settings' named source by default.
    """
    services = Services.open(settings, engine_for=engine_for)
    app = FastAPI(
        title="Tacita",
        version=__version__,
        description=_DESCRIPTION,
        lifespan=_lifespan,
        docs_url=None,  # those pages load their scripts from a third party
        redoc_url=None,
        redirect_slashes=False,
        generate_unique_id_function=_operation_id,
        # the framework's own traces and logs would hold bodies and the messages of exceptions
        telemetry={
            "tracing": False,
            "metrics": False,
            "logs": False,
            "operation_spans": False,
            "auto_configure": False,
        },
    )
    app.state.services = services
    app.add_middleware(CrossOrigin, reports=reports.ROUTE)
    app.add_middleware(
        Gate,
        metrics=services.metrics,
        max_request_bytes=settings.max_request_bytes,
        max_upload_bytes=settings.max_upload_bytes,
    )
    errors.install(app)
    app.router.routes += [reports.ROUTE, sheets.ROUTE]
    app.router.routes += _routes()
    install_respond(app)
    app.openapi = lambda: _openapi(app)  # type: ignore[method-assign]
    return app


@cache
def _routes() -> list[BaseRoute]:
    """The routes of all nouns, once for each process: FastAPI resolves them at the first request, in 0.2 CPU s."""
    router = APIRouter(redirect_slashes=False, generate_unique_id_function=_operation_id)
    for noun in _NOUNS:
        router.include_router(noun.router)
    return router.routes


def from_environment() -> FastAPI:
    """The same with settings from the environment, for several processes: `uvicorn --factory --workers N`."""
    return create_app(Settings.load())


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    anyio.to_thread.current_default_thread_limiter().total_tokens = _THREADS
    yield
    await app.state.services.computing.close()
    app.state.services.close()


def _operation_id(route: APIRoute) -> str:
    return route.name


def _openapi(app: FastAPI) -> dict[str, Any]:
    """The contract: all routes, and those of respondents, which are not FastAPI's."""
    if app.openapi_schema is None:
        app.openapi_schema = get_openapi(
            title=app.title,
            version=app.version,
            description=app.description,
            routes=[*app.routes, sheets.DOCUMENTED, reports.DOCUMENTED],
            tags=[{"name": name, "description": text} for name, text in _TAGS.items()],
        )
    return app.openapi_schema


_TAGS = {
    "datasets": "Named sources with their public schema and account.",
    "query": "Tables with noise, planned before they are paid for.",
    "releases": "Rows that may leave, by what their owner allows.",
    "assessments": "What releases give away, for the steward of the data.",
    "models": "Functions and fitted models of private rows: released once, asked for ever.",
    "budget": "What was spent and what is left.",
    "calculators": "Figures from public numbers: losses, odds, prices and chances.",
    "campaigns": "Collection from people who randomise on their own device.",
    "jobs": "Long work: durable, cancellable, paid for once.",
    "audit": "Who did what, and when.",
    "tokens": "Who may do what.",
    "compatibility": "The two routes of the P-PPA service, for clients that exist.",
    "health": "For those who run the server.",
}
