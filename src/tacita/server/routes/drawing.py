"""More rows and tables of shares from the model of synthetic rows; post-processing, which costs nothing."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from fastapi import APIRouter, Depends
from starlette.responses import Response

from tacita.server.auth.auth import Services_, allow
from tacita.server.auth.token_first import TokenFirst
from tacita.server.auth.tokens import Token
from tacita.server.http.errors import DOCUMENTED
from tacita.server.releasing.answers import DrawnResponse, StreamFormat
from tacita.server.releasing.queries import check_cells
from tacita.server.routes.releases import model_of_release, note_fetched
from tacita.synthesize.questions import check_drawable, restrict, shares
from tacita.wire import DrawRequest, SharesInfo, SharesRequest

__all__ = ["router"]

router = APIRouter(tags=["releases"], responses=DOCUMENTED, route_class=TokenFirst)

Asker = Annotated[Token, Depends(allow("steward", "analyst"))]


@router.post(
    "/v1/releases/{id}/draw",
    summary="Draw more rows from the model of synthetic rows",
    response_class=Response,
    response_model=None,
    responses={200: {"content": {"text/csv": {}, "application/x-ndjson": {}}}},
)
def draw(id: str, body: DrawRequest, token: Asker, services: Services_, format: StreamFormat = "csv") -> Response:
    """New rows in every call, as CSV, NDJSON or an Arrow stream; with `where`, rows that meet all conditions."""
    made = restrict(model_of_release(services, token, id), body.where)
    check_drawable(made)  # before a byte is sent
    rng = np.random.default_rng()
    first = made.sample(0, rng, policy=body.decode)
    note_fetched(services, token, id, format=format, rows=body.rows, conditions=len(body.where))
    return DrawnResponse(first.schema, made.batches(body.rows, rng, policy=body.decode), format)


@router.post("/v1/releases/{id}/shares", summary="Ask the model of synthetic rows for tables of shares")
def ask(id: str, body: SharesRequest, token: Asker, services: Services_) -> SharesInfo:
    """Shares of each cell under the model, without the error of drawing rows; with `where`, given conditions."""
    made = model_of_release(services, token, id)
    cells = sum(made.domain.project(made.domain.check_countable(table)).size for table in body.tables)
    check_cells(services, cells, "tables")
    found = [shares(made, table, body.where) for table in body.tables]
    note_fetched(services, token, id, format="shares", tables=len(body.tables), conditions=len(body.where))
    return SharesInfo(
        statement=made.statement(),
        where=body.where,
        tables=[
            SharesInfo.Table(
                attributes=table.column_names[:-1],
                cells=[list(cell) for cell in zip(*(part.to_pylist() for part in table.columns[:-1]), strict=True)],
                shares=table.column("share").to_pylist(),
            )
            for table in found
        ],
    )
