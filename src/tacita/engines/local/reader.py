"""The child process that opens an untrusted file: `python -m tacita.engines.local.reader`.

A file can be made to crash its reader, to loop for ever or to unpack to gigabytes. In a process of its own, with limits
on memory and CPU time, each of these ends the child alone. `isolated` is the other end of the pipes:

    stdin         one request, JSON
    stdout        rows: a mark, then an Arrow stream, for each part of the source; a document as JSON for a draft
    descriptor    the outcome, JSON: {} when all went well, or an error; its private part is the number of a line

A child that ends without an outcome has died. It has no other output: standard error is dropped, because a reader's
messages there may quote rows.
"""

from __future__ import annotations

import json
import os
import resource
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.ipc

from tacita.domain import CsvDialect, Domain
from tacita.engines.local.files.base import RowSource
from tacita.engines.local.files.open import open_source
from tacita.engines.local.files.parquet import ParquetSource
from tacita.engines.local.files.sniff import shape_of
from tacita.engines.local.files.text import TextSource
from tacita.errors import DataError, TacitaError

__all__ = ["STREAM", "main"]

STREAM = b"S"
"""Comes before each Arrow stream."""

_PAGE = resource.getpagesize()
_THREADS = 2  # each takes a stack and a heap of its own out of the memory that the child may use


def main() -> None:
    """Run the request, within its limits."""
    request = json.load(sys.stdin.buffer)
    _limit(resource.RLIMIT_CPU, request["seconds"])
    _limit(resource.RLIMIT_CORE, 0)  # a core dump would hold rows
    outcome: dict[str, Any] = {}
    with os.fdopen(int(request["outcome"]), "w") as answer:
        try:
            _answer(request, sys.stdout.buffer)
            sys.stdout.buffer.flush()
        except BrokenPipeError:  # the parent stopped reading
            os._exit(0)
        except BaseException as error:  # whatever it is, its text may quote rows
            outcome = _describe(error)
        json.dump(outcome, answer)
    os._exit(0)  # skip all cleanup: it could fail or take time


def _limit(kind: int, most: int) -> None:
    _, hard = resource.getrlimit(kind)
    most = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(kind, (most, most))


def _describe(error: BaseException) -> dict[str, Any]:
    if isinstance(error, TacitaError):
        return error.as_dict() | ({"private": error.private} if error.private else {})
    if isinstance(error, MemoryError):
        return DataError("the file needs more memory than a reader may use", field="file").as_dict()
    return DataError("the file cannot be read", field="file").as_dict()


def _answer(request: Mapping[str, Any], out: BinaryIO) -> None:
    pa.set_cpu_count(_THREADS)
    pa.set_io_thread_count(_THREADS)
    _limit(resource.RLIMIT_AS, _in_use() + request["memory"])
    domain = None if request["domain"] is None else Domain.from_text(request["domain"])
    dialect = None if request["dialect"] is None else CsvDialect(**request["dialect"])
    if request["do"] == "draft":
        from tacita.engines.local.files.draft import draft

        drafted = draft(request["path"], title=request["title"], given=request["given"], table=request["table"])
        out.write(json.dumps(drafted.as_dict()).encode())
        return
    if domain is None and dialect is None:
        dialect = shape_of(request["path"])
    source = open_source(request["path"], domain, dialect=dialect, table=request["table"])
    if request["unrolling"] is not None and isinstance(source, ParquetSource):
        narrow = source if request["only"] is None else source.only(request["only"])
        narrow.check_unrolling(request["unrolling"])
    if request["only"] is not None and isinstance(source, ParquetSource):
        source = source.only(request["only"])
    read = source.checked if request["strict"] and isinstance(source, TextSource) else source.batches
    match request["do"]:
        case "describe":
            (schema, *_) = source.schemas(source.columns)
            _write(out, [schema.remove_metadata()], iter(()))
        case "read":
            columns = _flat(source) if request["columns"] is None else request["columns"]
            _write(out, [], read(columns))
        case "skim":
            for batch in read(_flat(source)):
                _check(batch)


def _in_use() -> int:
    """Return the address space that the bare interpreter with Arrow uses."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[0]) * _PAGE
    except OSError:  # no Linux
        return 1 << 30


def _flat(source: RowSource) -> list[str]:
    """Return the columns without lists and records: a file may have them, and no dataset can use them."""
    (schema, *_) = source.schemas(source.columns)
    return [field.name for field in schema if not pa.types.is_nested(field.type)]


def _write(out: BinaryIO, schemas: Sequence[pa.Schema], batches: Iterator[pa.RecordBatch]) -> None:
    """Write streams of these schemas without rows, and of the batches: a new stream where the schema changes."""
    options = pa.ipc.IpcWriteOptions(use_threads=False)
    for schema in schemas:
        out.write(STREAM)
        pa.ipc.new_stream(out, schema, options=options).close()
    writer, written = None, None
    for batch in batches:
        _check(batch)
        plain = batch.replace_schema_metadata(None)
        if writer is None or written != plain.schema:
            if writer is not None:
                writer.close()
            out.write(STREAM)
            writer, written = pa.ipc.new_stream(out, plain.schema, options=options), plain.schema
        writer.write_batch(plain)
        out.flush()
    if writer is not None:
        writer.close()


def _check(batch: pa.RecordBatch) -> None:
    """Check offsets, sizes and indices of all arrays, so that a broken file cannot harm the receiver."""
    for column in batch.columns:
        _check_array(column)


def _check_array(array: pa.Array) -> None:
    """Check one array; text need not be UTF-8, because the encoder handles that."""
    kind = array.type
    if pa.types.is_dictionary(kind):
        array.validate()
        array.indices.validate(full=True)
        ends = pc.min_max(array.indices).as_py()
        if ends["min"] is not None and not 0 <= ends["min"] <= ends["max"] < len(array.dictionary):
            raise pa.ArrowInvalid("an index lies outside its dictionary")
        _check_array(array.dictionary)
    elif pa.types.is_string(kind):
        array.view(pa.binary()).validate(full=True)
    elif pa.types.is_large_string(kind):
        array.view(pa.large_binary()).validate(full=True)
    elif pa.types.is_string_view(kind):
        array.view(pa.binary_view()).validate(full=True)
    else:
        array.validate(full=True)


if __name__ == "__main__":
    main()
