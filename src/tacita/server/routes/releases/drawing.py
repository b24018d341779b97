"""Post-processing of a release, which costs nothing: more rows, tables of shares, models."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Annotated

import numpy as np
from fastapi import APIRouter, Depends, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from tacita.domain import Domain
from tacita.errors import Conflict
from tacita.learn.released import fit_released, read_released
from tacita.server.auth.auth import Services_, allow
from tacita.server.auth.token_first import TokenFirst
from tacita.server.auth.tokens import Token
from tacita.server.http.errors import DOCUMENTED
from tacita.server.releasing.answers import DrawnResponse, StreamFormat
from tacita.server.releasing.queries import check_cells
from tacita.server.routes.releases.releases import file_of_release, model_of_release, note_fetched
from tacita.server.services import Services
from tacita.synthesize.intervals.answer import Intervals
from tacita.synthesize.mobility.result import SyntheticMobility
from tacita.synthesize.questions import check_drawable, restrict
from tacita.synthesize.result import Synthesized
from tacita.tables.tabular import finite
from tacita.wire import DrawRequest, ReleaseFitInfo, ReleaseFitRequest, SharesInfo, SharesRequest

__all__ = ["router"]

router = APIRouter(tags=["releases"], responses=DOCUMENTED, route_class=TokenFirst)

Asker = Annotated[Token, Depends(allow("steward", "analyst"))]
Reader = Annotated[Token, Depends(allow("steward", "analyst", "reader"))]


@router.post(
    "/v1/releases/{id}/draw",
    summary="Draw more rows from the model of synthetic rows",
    response_class=Response,
    response_model=None,
    responses={200: {"content": {"text/csv": {}, "application/x-ndjson": {}}}},
)
def draw(id: str, body: DrawRequest, token: Asker, services: Services_, format: StreamFormat = "csv") -> Response:
    """New rows in every call, as CSV, NDJSON or an Arrow stream; with `where`, rows that meet all conditions."""
    made = restrict(_model(services, token, id), body.where)
    check_drawable(made)  # before a byte is sent
    rng = np.random.default_rng()
    first = made.sample(0, rng, policy=body.decode)
    note_fetched(services, token, id, format=format, rows=body.rows, conditions=len(body.where))
    return DrawnResponse(first.schema, made.batches(body.rows, rng, policy=body.decode), format)


@router.post("/v1/releases/{id}/shares", summary="Ask the model of synthetic rows for tables of shares")
def ask(id: str, body: SharesRequest, token: Reader, services: Services_) -> SharesInfo:
    """Shares or counts of each cell under the model, with intervals of the true ones; with `where`, given conditions.

    The intervals come from the noisy tables that the model was fitted to, and hold however well it fits.
    """
    made = _model(services, token, id)
    cells = sum(made.domain.project(made.domain.check_countable(table)).size for table in body.tables)
    check_cells(services, cells, "tables")
    found = [
        made.intervals(
            table,
            where=body.where,
            level=body.level,
            together=body.together,
            quantity=body.quantity,
            required=False,
        )
        for table in body.tables
    ]
    note_fetched(services, token, id, format="shares", tables=len(body.tables), conditions=len(body.where))
    return SharesInfo(
        statement=made.statement(),
        where=body.where,
        level=body.level,
        together=body.together,
        quantity=body.quantity,
        tables=[_table_of(each) for each in found],
    )


def _table_of(found: Intervals) -> SharesInfo.Table:
    table = finite(found.to_arrow())
    labels = (table.column(name).to_pylist() for name in found.attributes)
    return SharesInfo.Table(
        attributes=list(found.attributes),
        cells=[list(cell) for cell in zip(*labels, strict=True)],
        shares=table.column(found.quantity).to_pylist(),
        low=table.column("low").to_pylist(),
        high=table.column("high").to_pylist(),
        claim=found.claim(),
        basis=found.basis,
    )


def _model(services: Services, token: Token, id: str) -> Synthesized:
    """Read the model of synthetic rows whose cells can be asked for."""
    made = model_of_release(services, token, id)
    if not isinstance(made, Synthesized):
        verb = "mobility draw" if isinstance(made, SyntheticMobility) else "text generate"
        hint = f"Fetch its model, and draw more with `tacita {verb}`"
        raise Conflict("is not a model of cells", field="release", value=id, hint=hint)
    return made


_FIT_SECONDS = 5.0
"""About how long a fit takes; it runs in a process of its own."""


@router.post("/v1/releases/{id}/fit", summary="Fit a model to released data")
async def fit(id: str, body: ReleaseFitRequest, request: Request, token: Asker, services: Services_) -> ReleaseFitInfo:
    """The model has the guarantee of the release; of rows without differential privacy it says that it has none."""
    path, domain = await run_in_threadpool(file_of_release, services, token, id)
    await run_in_threadpool(partial(note_fetched, services, token, id, format="model", model=body.kind))
    compute = partial(_fit, path, domain, body)
    statement, model = await services.computing.run(
        compute, estimate=_FIT_SECONDS, principal=token.principal, request=request
    )
    return ReleaseFitInfo(statement=statement, model=json.loads(model))


def _fit(path: Path, domain: Domain | None, body: ReleaseFitRequest) -> tuple[str, str]:
    """The statement and the text of the model, as another process can send them."""
    options = {name: tuple(value) if isinstance(value, list) else value for name, value in body.options.items()}
    model = fit_released(
        read_released(path, domain), body.kind, target=body.target, features=body.features, options=options
    )
    return model.statement(), model.to_json()
