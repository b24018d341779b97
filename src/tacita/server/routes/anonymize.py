"""Anonymize a file that the caller sends: nothing of it is kept."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import pyarrow as pa
from fastapi import APIRouter, Depends, File, Form, UploadFile
from pydantic import ValidationError
from starlette.background import BackgroundTask
from starlette.responses import Response

from tacita.anonymize.criteria.registry import all_parameters
from tacita.anonymize.methods.registry import METHODS, all_options
from tacita.common.wellformed import check_characters, check_json
from tacita.domain import Domain
from tacita.errors import DataError, InvalidInput, TacitaError
from tacita.server.auth.auth import Services_, allow
from tacita.server.auth.token_first import TokenFirst
from tacita.server.auth.tokens import Token
from tacita.server.data.policies import Policy
from tacita.server.data.sources import ReadingLimits
from tacita.server.http.errors import DOCUMENTED
from tacita.server.releasing.answers import ANONYMIZED_ROWS, Format, RowsResponse
from tacita.server.releasing.files import write_rows
from tacita.wire import AnonymizeOptions

__all__ = ["router"]

router = APIRouter(tags=["releases"], responses=DOCUMENTED, route_class=TokenFirst)

_IN_MEMORY = 8  # times the largest upload: what the rows of a packed file may take

_OPTIONS = "JSON: quasi, sensitive, keep, suppress, hierarchies; criteria: {}; method: {}, with its options {}.".format(
    ", ".join(each.name for each in all_parameters()),
    ", ".join(METHODS),
    ", ".join(each.name for each in all_options()),
)

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
    options: Annotated[str, Form(description=_OPTIONS)],
    format: Annotated[Format, Form()] = "csv",
) -> Response:
    """Multipart. For the owner of the rows: nothing is kept, and the returned rows satisfy the conditions."""
    public, chosen = Domain.from_text(domain), _chosen(options)
    policy = Policy.from_dict(chosen.policy())
    policy.check(public)
    recipe = policy.recipe(method=chosen.method_made())
    plan, about = recipe.prepare(public), recipe.method.as_dict() | policy.audit_details
    try:
        made = plan.run_on(_read(file, plan.reading, services.reading, _IN_MEMORY * services.settings.max_upload_bytes))
    except TacitaError as error:  # its code alone: its words may be about rows
        services.events.record("file-anonymized", "", token.principal, outcome=error.code, **about)
        raise
    services.events.record("file-anonymized", "", token.principal, outcome="left", **about)
    folder = tempfile.TemporaryDirectory(prefix="tacita-")
    path = Path(folder.name) / "rows.parquet"
    write_rows(made.rows, path, ANONYMIZED_ROWS)
    response = RowsResponse(path, format)
    response.background = BackgroundTask(folder.cleanup)
    response.headers["X-Tacita-Release"] = json.dumps(made.as_dict()["achieved"] | {"warnings": made.warnings})
    return response


def _chosen(text: str) -> AnonymizeOptions:
    check_characters(text, field="options")
    check_json(text.encode(), field="options")
    try:
        return AnonymizeOptions.model_validate_json(text)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        raise InvalidInput(first["msg"].lower(), field=f"options.{place}" if place else "options") from None


def _read(file: UploadFile, columns: Sequence[str], limits: ReadingLimits, most: int) -> pa.Table:
    """These columns of a file, texts of CSV as they came; as rows they may take so many bytes."""
    content = file.file.read()
    kind = "parquet" if content.startswith(b"PAR1") else "csv"
    with tempfile.TemporaryDirectory(prefix="tacita-") as folder:
        path = Path(folder) / f"rows.{kind}"
        path.write_bytes(content)
        try:
            source = limits.open_brought(path, strict=True, whole=True)
            for name in columns:
                if name not in source.columns:
                    raise DataError("must have every column of the schema that is used", field="file", value=name)
            parts, size = [], 0
            for batch in source.only(columns).batches(columns):
                size += batch.nbytes
                if size > most:
                    hint = "Bring it as a source and make a release of it, or raise max_upload_bytes"
                    raise InvalidInput(f"its rows must take at most {most} bytes", field="file", hint=hint)
                parts.append(batch)
            (schema,) = source.schemas(columns)
        except DataError as error:
            raise DataError(error.rule, field="file", value=error.value, hint=error.hint) from None
    return pa.Table.from_batches(parts, schema=None if parts else schema)
