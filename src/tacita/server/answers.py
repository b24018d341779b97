"""How released numbers leave the server: these responses take releases and made-up rows, and nothing else."""

from __future__ import annotations

import io
import json

import pyarrow as pa
import pyarrow.csv as pacsv
from starlette.responses import Response

from tacita.errors import InternalError
from tacita.release import Release, Releases

__all__ = ["ReleaseResponse", "SyntheticResponse"]


class ReleaseResponse(Response):
    """A release, or several, as JSON; one whose noise could be repeated is refused (privacy rule 6)."""

    media_type = "application/json"

    def __init__(self, content: Release | Releases) -> None:
        if not isinstance(content, Release | Releases):
            raise InternalError("only a release can be served", field="content")
        parts = content.values() if isinstance(content, Releases) else [content]
        if any(release.provenance.simulated for release in parts):
            raise InternalError("a simulated release must not be served", field="content")
        super().__init__(content.to_json())


class SyntheticResponse(Response):
    """Made-up rows as CSV; rows that do not say of themselves that they are made up are refused."""

    media_type = "text/csv"

    def __init__(self, content: pa.Table) -> None:
        mark = (content.schema.metadata or {}).get(b"tacita") if isinstance(content, pa.Table) else None
        if mark is None or json.loads(mark).get("synthetic") is not True:
            raise InternalError("only made-up rows can be served", field="content")
        out = io.BytesIO()
        pacsv.write_csv(content, out)
        super().__init__(out.getvalue())
