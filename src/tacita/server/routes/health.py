"""For those who run the server: alive, ready, counters."""

from __future__ import annotations

import shutil

import sqlalchemy as sa
from fastapi import APIRouter, Request, Response

from tacita import __version__
from tacita.errors import SourceUnavailable
from tacita.server.auth.auth import Services_
from tacita.server.http.errors import DOCUMENTED
from tacita.wire import Health

__all__ = ["router"]

router = APIRouter(tags=["health"], responses={status: DOCUMENTED[status] for status in (500, 503)})


@router.get("/healthz", summary="Whether the process is alive")
async def healthz() -> Health:
    """Reads nothing and waits for no thread."""
    return Health(status="ok", version=__version__)


@router.get("/readyz", summary="Whether the state database can be reached, jobs are done and the disk has space")
def readyz(request: Request, services: Services_) -> Health:
    """503 otherwise, and from the signal on that ends the server."""
    if getattr(request.app.state, "draining", False):
        raise SourceUnavailable("ends, and takes no new work", field="server", hint="Ask another server process")
    worker = getattr(request.app.state, "worker", None)
    if worker is not None and worker.lost:
        raise SourceUnavailable("its worker died again and again", field="worker", hint="See the log; start it again")
    with services.database.reading() as connection:
        connection.execute(sa.select(1))
    for folder in services.folders:
        if shutil.disk_usage(folder).free < services.settings.min_free_bytes:
            hint = "Free some space; nothing is lost, but new work may be refused"
            raise SourceUnavailable("is nearly full", field="disk", hint=hint)
    return Health(status="ok", version=__version__)


@router.get("/metrics", summary="Counters for Prometheus", response_class=Response)
def metrics(services: Services_) -> Response:
    """Text format. No name of a dataset and no value of one."""
    return Response(services.metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")
