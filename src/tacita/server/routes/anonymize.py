"""Anonymize a file that the caller sends: nothing of it is kept."""

from __future__ import annotations

import io
import json
import tempfile
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
from tacita.errors import DataError, InvalidInput
from tacita.server.anonymized import write_rows
from tacita.server.answers import Format, RowsResponse
from tacita.server.auth import allow
from tacita.server.errors import DOCUMENTED
from tacita.server.models import PolicyModel
from tacita.server.policies import Policy
from tacita.server.tokens import Token

__all__ = ["router"]

router = APIRouter(tags=["releases"], responses=DOCUMENTED)

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
    file: Annotated[UploadFile, File(description="CSV, or Parquet.")],
    domain: Annotated[str, Form(alias="schema", description="The schema, YAML or JSON.")],
    options: Annotated[str, Form(description="JSON: quasi, sensitive, keep, k, l, t, suppress, hierarchies.")],
    format: Annotated[Format, Form()] = "csv",
) -> Response:
    """Multipart. For the owner of the rows: they come and go with the request, and what leaves holds what was asked."""
    public, policy = Domain.from_text(domain), _policy(options)
    policy.check(public)
    plan, table = policy.recipe(k=policy.k).prepare(public), _read(file)
    for name in plan.reading:
        if name not in table.column_names:
            raise DataError("must have every column of the schema that is used", field="file", value=name)
    made = plan.run_on(table)
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


def _read(file: UploadFile) -> pa.Table:
    data = file.file.read()
    try:
        if data[:4] == b"PAR1":
            return pq.read_table(io.BytesIO(data))
        head = pacsv.open_csv(io.BytesIO(data)).schema.names
        if len(set(head)) < len(head):
            raise DataError("must not have two columns of one name", field="file")
        # as texts: 01234 is no number, and what leaves must be what came
        texts = pacsv.ConvertOptions(column_types=dict.fromkeys(head, pa.string()), strings_can_be_null=False)
        return pacsv.read_csv(io.BytesIO(data), convert_options=texts)
    except (pa.ArrowInvalid, pa.ArrowKeyError):
        raise DataError("cannot be read as CSV or Parquet", field="file") from None
