"""Responses that send releases: tables, statistics, synthetic rows and anonymized rows.

No other results about data have a response that would send them.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.ipc
import pyarrow.parquet as pq
from starlette.responses import Response, StreamingResponse

from tacita.errors import Conflict, InternalError, InvalidInput
from tacita.query.answer import Answer
from tacita.synthesize.mobility.result import SyntheticMobility
from tacita.synthesize.result import Synthesized
from tacita.synthesize.text.released import HeadlineGenerator
from tacita.tables.release import Release, Releases
from tacita.tables.workbook import write_workbook

__all__ = [
    "ANONYMIZED_ROWS",
    "DOCUMENT",
    "FORMATS",
    "IMPUTED_ROWS",
    "DocumentResponse",
    "DrawnResponse",
    "Format",
    "ModelResponse",
    "PageResponse",
    "ReleaseResponse",
    "RowsResponse",
    "StatisticsResponse",
    "StreamFormat",
    "SyntheticResponse",
]


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
    """Synthetic rows as CSV; rows without the mark of synthetic rows are refused."""

    media_type = "text/csv"

    def __init__(self, content: pa.Table) -> None:
        mark = (content.schema.metadata or {}).get(b"tacita") if isinstance(content, pa.Table) else None
        if mark is None or json.loads(mark).get("synthetic") is not True:
            raise InternalError("only synthetic rows can be served", field="content")
        out = io.BytesIO()
        pacsv.write_csv(content, out)
        super().__init__(out.getvalue())


class ModelResponse(Response):
    """Model that synthetic rows are drawn from, as JSON; only with a guarantee, and with real noise."""

    media_type = "application/json"

    def __init__(self, content: Synthesized | SyntheticMobility | HeadlineGenerator) -> None:
        known = isinstance(content, Synthesized | SyntheticMobility | HeadlineGenerator)
        good = known and content.guarantee != "none" and not content.provenance.simulated
        if not good:
            raise InternalError("only a private model with real noise can be served", field="content")
        super().__init__(content.to_json())


class PageResponse(Response):
    """A page about an assessment, for the steward of the data. No site may frame it, and it runs no scripts."""

    media_type = "text/html"

    def __init__(self, content: Path) -> None:
        if content.suffix != ".html" or not content.is_file():
            raise InternalError("only a page that was written can be served", field="content")
        headers = {"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"}
        super().__init__(content.read_bytes(), headers=headers)


class StatisticsResponse(Response):
    """Released statistics as JSON; one whose noise could be repeated is refused (privacy rule 6)."""

    media_type = "application/json"

    def __init__(self, content: Answer) -> None:
        if not isinstance(content, Answer) or content.provenance.simulated:
            raise InternalError("only statistics with real noise can be served", field="content")
        super().__init__(content.to_json())


ANONYMIZED_ROWS = "anonymized/1"
DOCUMENT = "document/1"
IMPUTED_ROWS = "imputed/1"
_MARKS = {ANONYMIZED_ROWS.encode(), DOCUMENT.encode(), IMPUTED_ROWS.encode()}
"""Marks of files whose rows may be sent: k-anonymous rows, tables of a paid answer, imputed rows of a steward."""


class DocumentResponse(Response):
    """A paid answer as JSON, from the file that its job wrote or from the ledger; refused if its noise is simulated."""

    media_type = "application/json"

    def __init__(self, content: Path | str) -> None:
        if isinstance(content, Path) and not content.is_file():
            raise Conflict("was deleted", field="release", value=content.stem)
        text = content if isinstance(content, str) else content.read_text(encoding="utf-8")
        if any(each["simulated"] for each in _provenances(json.loads(text))):
            raise InternalError("a simulated release must not be served", field="content")
        super().__init__(text)


def _provenances(document: dict[str, Any]) -> list[dict[str, Any]]:
    if document["tacita"] != "releases/1":
        return [document["provenance"]]
    shared = document.get("shared", {})
    return [(shared | part)["provenance"] for part in document["releases"]]


Format = Literal["csv", "ndjson", "arrow", "parquet", "xlsx"]
FORMATS: dict[Format, str] = {
    "csv": "text/csv",
    "ndjson": "application/x-ndjson",
    "arrow": "application/vnd.apache.arrow.stream",
    "parquet": "application/vnd.apache.parquet",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}
_ROWS = 65_536
_MOST_IN_WORKBOOK = 100_000  # it is made in memory


class RowsResponse(StreamingResponse):
    """The rows of a release from its file, in pieces; a file without a mark of its kind is refused.

    Args:
        content: The file.
        format: Format of the rows.
        limit: Only the first so many rows; a Parquet file is sent whole.
        facts: Guarantee and origin, for the second sheet of a workbook.
    """

    def __init__(
        self, content: Path, format: Format, limit: int | None = None, facts: Mapping[str, str] | None = None
    ) -> None:
        found = pq.ParquetFile(content)
        if not _may_leave((found.schema_arrow.metadata or {}).get(b"tacita")):
            raise InternalError(
                "only anonymized rows, paid answers, and synthetic rows with real noise, can be served", field="content"
            )
        if format == "parquet":
            if limit is not None:
                raise InvalidInput("a Parquet file is sent whole", field="limit", hint="Ask for another format")
            pieces = _bytes(content)
        elif format == "xlsx":
            pieces = _workbook(found, limit, facts or {})
        else:
            made = {"csv": _csv, "ndjson": _ndjson, "arrow": _arrow}[format]
            pieces = made(found.schema_arrow, _batches(found, limit))
        super().__init__(pieces, media_type=FORMATS[format])


StreamFormat = Literal["csv", "ndjson", "arrow"]


class DrawnResponse(StreamingResponse):
    """Rows that are drawn from a model while they are sent; rows without the mark of private ones are refused."""

    def __init__(self, schema: pa.Schema, tables: Iterator[pa.Table], format: StreamFormat) -> None:
        if not _may_leave((schema.metadata or {}).get(b"tacita")):
            raise InternalError("only synthetic rows with real noise can be served", field="content")
        batches = (batch for table in tables for batch in table.to_batches() or [_empty(schema)])
        made = {"csv": _csv, "ndjson": _ndjson, "arrow": _arrow}[format]
        super().__init__(made(schema, batches), media_type=FORMATS[format])


def _empty(schema: pa.Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([], schema=schema)


def _may_leave(mark: bytes | None) -> bool:
    if mark is None or mark in _MARKS:
        return mark is not None
    said = json.loads(mark)
    synthetic = said.get("synthetic") is True and not said.get("simulated", False)
    return synthetic and said.get("event", {}).get("kind", "non-private") != "non-private"


def _batches(found: pq.ParquetFile, limit: int | None) -> Iterator[pa.RecordBatch]:
    left = found.metadata.num_rows if limit is None else limit
    for batch in found.iter_batches(_ROWS if limit is None else min(_ROWS, limit)):
        if left <= 0:
            return
        yield batch.slice(0, left)
        left -= batch.num_rows


def _workbook(found: pq.ParquetFile, limit: int | None, facts: Mapping[str, str]) -> Iterator[bytes]:
    rows = found.metadata.num_rows if limit is None else min(limit, found.metadata.num_rows)
    if rows > _MOST_IN_WORKBOOK:
        rule = f"has {rows:,} rows; a workbook is made of at most {_MOST_IN_WORKBOOK:,}"
        raise InvalidInput(rule, field="format", value="xlsx", hint="Ask for csv or parquet, or set a limit")
    out = io.BytesIO()
    write_workbook(out, pa.Table.from_batches(_batches(found, limit), schema=found.schema_arrow), facts)
    return iter([out.getvalue()])


def _csv(_: pa.Schema, batches: Iterator[pa.RecordBatch]) -> Iterator[bytes]:
    header = True
    for batch in batches:
        out = io.BytesIO()
        pacsv.write_csv(pa.table(batch), out, pacsv.WriteOptions(include_header=header))
        header = False
        yield out.getvalue()


def _ndjson(_: pa.Schema, batches: Iterator[pa.RecordBatch]) -> Iterator[bytes]:
    for batch in batches:
        lines = [json.dumps(row, ensure_ascii=False, default=str) for row in batch.to_pylist()]
        yield ("\n".join(lines) + "\n").encode()


def _arrow(schema: pa.Schema, batches: Iterator[pa.RecordBatch]) -> Iterator[bytes]:
    out = io.BytesIO()
    with pyarrow.ipc.new_stream(out, schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
            yield _taken(out)
    yield _taken(out)


def _taken(out: io.BytesIO) -> bytes:
    piece = out.getvalue()
    out.seek(0)
    out.truncate()
    return piece


def _bytes(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while piece := file.read(1 << 20):
            yield piece
