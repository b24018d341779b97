"""More rows and tables of shares from the model of synthetic rows; post-processing, which costs nothing."""

from __future__ import annotations

import numpy as np
from fastapi import APIRouter
from starlette.responses import Response

from tacita.server.auth.auth import Has, Services_
from tacita.server.auth.token_first import TokenFirst
from tacita.server.http.errors import DOCUMENTED
from tacita.server.releasing.answers import DrawnResponse, StreamFormat
from tacita.server.routes.releases import model_of_release, note_fetched
from tacita.synthesize.questions import restrict, shares
from tacita.wire import DrawRequest, SharesInfo, SharesRequest

__all__ = ["router"]

router = APIRouter(tags=["releases"], responses=DOCUMENTED, route_class=TokenFirst)


@router.post(
    "/v1/releases/{id}/draw",
    summary="Draw more rows from the model of synthetic rows",
    response_class=Response,
    response_model=None,
    responses={200: {"content": {"text/csv": {}, "application/x-ndjson": {}}}},
)
def draw(id: str, body: DrawRequest, token: Has, services: Services_, format: StreamFormat = "csv") -> Response:
    """New rows in every call, as CSV, NDJSON or an Arrow stream; with `where`, rows that meet all conditions."""
    made = restrict(model_of_release(services, token, id), body.where)
    rng = np.random.default_rng()
    first = made.sample(min(body.rows, 1), rng, policy=body.decode)  # conditions that no row meets fail before a byte
    note_fetched(services, token, id, format=format, rows=body.rows, conditions=len(body.where))
    return DrawnResponse(first.schema, made.batches(body.rows, rng, policy=body.decode), format)


@router.post("/v1/releases/{id}/shares", summary="Ask the model of synthetic rows for tables of shares")
def ask(id: str, body: SharesRequest, token: Has, services: Services_) -> SharesInfo:
    """Shares of each cell under the model, without the error of drawing rows; with `where`, given conditions."""
    made = model_of_release(services, token, id)
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
