"""Anonymize a file that the caller sends: nothing of it is kept."""

from __future__ import annotations

import io
import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
from fastapi import APIRouter, Depends, File, Form, UploadFile
from pydantic import ValidationError
from starlette.background import BackgroundTask
from starlette.responses import Response

from tacita.domain import Domain
from tacita.engines.local.unrolling import batches_of, pieces
from tacita.errors import DataError, InvalidInput, TacitaError
from tacita.server.anonymized import write_rows
from tacita.server.answers import Format, RowsResponse
from tacita.server.auth import Services_, allow
from tacita.server.errors import DOCUMENTED
from tacita.server.models import PolicyModel
from tacita.server.policies import Policy
from tacita.server.tokens import Token

__all__ = ["router"]

router = APIRouter(tags=["releases"], responses=DOCUMENTED)

_IN_MEMORY = 8  # times the largest upload: what the rows of a packed file may take
_ROWS = 65_536

Steward = Annotated[Token, Depends(allow("steward"))]


@router.post(
    "/v1/anonymize",
    summary="Anonymize a file",
    response_class=Response,
    response_model=None,
    responses={200: {"content": {"text/csv": {}}}},
)
def anonymize_file(
    token: Steward,
    services: Services_,
    file: Annotated[UploadFile, File(description="CSV, or Parquet.")],
    domain: Annotated[str, Form(alias="schema", description="The schema, YAML or JSON.")],
    options: Annotated[str, Form(description="JSON: quasi, sensitive, keep, k, l, t, suppress, hierarchies.")],
    format: Annotated[Format, Form()] = "csv",
) -> Response:
    """Multipart. For the owner of the rows: they come and go with the request, and what leaves holds what was asked."""
    public, policy = Domain.from_text(domain), _policy(options)
    policy.check(public)
    recipe = policy.recipe(k=policy.k)
    plan, about = recipe.prepare(public), recipe.method.as_dict() | policy.told
    try:
        made = plan.run_on(_read(file, plan.reading, _IN_MEMORY * services.settings.max_upload_bytes))
    except TacitaError as error:  # its code alone: its words may be about rows
        services.events.record("file-anonymized", "", token.principal, outcome=error.code, **about)
        raise
    services.events.record("file-anonymized", "", token.principal, outcome="left", **about)
    folder = tempfile.TemporaryDirectory(prefix="tacita-")
    path = Path(folder.name) / "rows.parquet"
    write_rows(made.rows, path)
    response = RowsResponse(path, format)
    response.background = BackgroundTask(folder.cleanup)
    response.headers["X-Tacita-Release"] = json.dumps(made.as_dict()["achieved"])
    return response


def _policy(text: str) -> Policy:
    try:
        return Policy.from_dict(PolicyModel.model_validate_json(text).model_dump())
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        raise InvalidInput(first["msg"].lower(), field=f"options.{place}" if place else "options") from None


def _read(file: UploadFile, columns: Sequence[str], most: int) -> pa.Table:
    """These columns of a file; as rows they may take so many bytes."""
    data = io.BytesIO(file.file.read())
    parquet = data.read(4) == b"PAR1"
    data.seek(0)
    try:
        head = pq.read_schema(data).names if parquet else pacsv.open_csv(data).schema.names
        if len(set(head)) < len(head):
            raise DataError("must not have two columns of one name", field="file")
        for name in columns:
            if name not in head:
                raise DataError("must have every column of the schema that is used", field="file", value=name)
        data.seek(0)
        return _parquet(data, columns, most) if parquet else _csv(data, head)
    except (pa.ArrowInvalid, pa.ArrowKeyError, pa.ArrowNotImplementedError, OSError):
        raise DataError("cannot be read as CSV or Parquet", field="file") from None


def _csv(data: io.BytesIO, head: Sequence[str]) -> pa.Table:
    # as texts: 01234 is no number, and what leaves must be what came
    texts = pacsv.ConvertOptions(column_types=dict.fromkeys(head, pa.string()), strings_can_be_null=False)
    return pacsv.read_csv(data, convert_options=texts)


def _parquet(data: io.BytesIO, columns: Sequence[str], most: int) -> pa.Table:
    """Piece by piece: a small file may hold a word that stands for gigabytes of rows."""
    parts, size = [], 0
    for batch in batches_of(data, columns, pieces(data, columns, _ROWS)):
        size += batch.nbytes
        if size > most:
            hint = "Bring it as a source and make a release of it, or raise max_upload_bytes"
            raise InvalidInput(f"its rows must take at most {most} bytes", field="file", hint=hint)
        parts.append(batch)
    return pa.Table.from_batches(parts, schema=None if parts else pq.read_schema(data))
