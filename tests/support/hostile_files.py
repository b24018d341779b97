"""Files that are made to harm whoever reads them, and broken files of private rows."""

from __future__ import annotations

import base64
import io
import traceback
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

__all__ = ["ABORTS", "BROKEN", "CANARY", "SCHEMA", "bomb", "everything", "footer_with_fewer_rows"]

ABORTS = base64.b64decode(
    "UEFSMRUEFTAVMEwVBhUAEgAABAAAAEJhcmkEAAAAUGlzYQQAAABSb21hFQAVGBUYLBUSFRAVBhUGHAAAAAIAAAASAQIFJEkCABUE"
    "FZABFZABTBUSFQASAAAAAAAAAAAAAAEAAAAAAAAAAgAAAAAAAAADAAAAAAAAAAQAAAAAAAAABQAAAAAAAAAGAAAAAAAAAAcAAAAA"
    "AAAACAAAAAAAAAAVABUgFSAsFRIVEBUGFQYcAAAAAgAAABIBBAUQMlR2CAAAABUEGTw1ABgGc2NoZW1hFQQAFQwlIRgEdG93biUA"
    "TBwAAAAVBCUCGANhZ2UAFhIZHBksJgAcFQwZNQAGEBkYBHRvd24VABYSFooBFooBJlQmCCksFQQVABUCABUAFRAVAgA8FkgZBhkm"
    "ABIAAAAmABwVBBk1AAYQGRgDYWdlFQAWEhb2ARb2ASbCAiaSASksFQQVABUCABUAFRAVAgA8KQYZJgASAAAAFoADFhImCBaAAwAo"
    "IHBhcnF1ZXQtY3BwLWFycm93IHZlcnNpb24gMjYuMC4xGSwcAAAcAAAA3QAAAFBBUjE="
)
"""A Parquet file of 425 bytes, found by mutation, that ends a process with Arrow 26 by SIGABRT."""


def footer_with_fewer_rows() -> bytes:
    """A Parquet file whose footer says 8,500 rows where its row group says 12,345."""
    out = io.BytesIO()
    pq.write_table(pa.table({"town": ["Bari"] * 12_345}), out)
    whole = out.getvalue()
    start = len(whole) - 8 - int.from_bytes(whole[-8:-4], "little")
    return whole[:start] + whole[start:].replace(_varint(12_345), _varint(8_500), 1)


def bomb(rows: int = 3_000_000, length: int = 900) -> bytes:
    """A Parquet file of some kilobytes whose rows are one long text each: gigabytes, where nothing bounds them."""
    out = io.BytesIO()
    texts = pa.DictionaryArray.from_arrays(pa.array([0] * rows, pa.int8()), pa.array(["x" * length]))
    pq.write_table(pa.table({"town": texts}), out, store_schema=False, compression="zstd", row_group_size=rows)
    return out.getvalue()


def _varint(value: int) -> bytes:
    """As Thrift's compact protocol writes a positive number, in two or more bytes."""
    left, out = value * 2, bytearray()
    while left > 127:
        out.append(left & 127 | 128)
        left >>= 7
    return bytes([*out, left])


CANARY = "zqcanary"
"""A text that rows of `BROKEN` hold, and that no error, log or answer may."""
SCHEMA: dict[str, Any] = {
    "tacita": 1,
    "attributes": [
        {"name": "who", "kind": "categorical", "levels": ["ann", "bob"], "role": "quasi-identifier"},
        {"name": "born", "kind": "date", "bounds": ["1900-01-01", "2029-12-31"], "by": "year"},
        {"name": "pay", "kind": "numeric", "bounds": [0, 100], "bins": 5},
    ],
}
_GOOD = "who,born,pay\n" + "ann,2001-02-03,17\nbob,1999-01-01,20\n" * 30


def _corrupt_parquet() -> bytes:
    """A Parquet file whose texts can be seen in its bytes, and whose page is not what its header says."""
    out = io.BytesIO()
    table = pa.table({"who": [f"{CANARY}{at}" for at in range(50)], "born": ["2001-02-03"] * 50, "pay": [1] * 50})
    pq.write_table(table, out, compression="none", use_dictionary=False, write_statistics=False)
    whole = bytearray(out.getvalue())
    at = whole.index(CANARY.encode()) - 4
    whole[at : at + 4] = b"\xff\xff\xff\x7f"  # the length of the first text
    return bytes(whole)


BROKEN: dict[str, tuple[str, bytes]] = {
    "latin-1": ("csv", (_GOOD + f"{CANARY}é,2001-02-03,17\n").encode("latin-1")),
    "latin-1 with semicolons": ("csv", f"who;born\n{CANARY}é;x\n{CANARY};é;y\n".encode("latin-1")),
    "latin-1 and ragged": ("csv", (_GOOD + f"é,x,1\n{CANARY},1\n").encode("latin-1")),
    "utf-16": ("csv", (_GOOD + f"{CANARY},2001-02-03,17\n").encode("utf-16")),
    "too few": ("csv", (_GOOD + f"{CANARY},17\n").encode()),
    "too many": ("csv", (_GOOD + f"{CANARY},17,18,19,20\n").encode()),
    "open quote": ("csv", (_GOOD + f'"{CANARY},2001-02-03,17\n').encode()),
    "long field": ("csv", (_GOOD + f"{CANARY * 30_000},17\n").encode()),
    "zero byte": ("csv", (_GOOD + f"{CANARY}\0,2001-02-03,17\n").encode()),
    "dates and numbers": ("csv", (_GOOD + f"{CANARY},{CANARY}-02-30,{CANARY}\n").encode()),
    "parquet": ("parquet", _corrupt_parquet()),
    "cut parquet": ("parquet", _corrupt_parquet()[:-30]),
}
"""Broken files of private rows: the kind and the content, by what is wrong."""


def everything(error: BaseException) -> str:
    """All texts of an error that a person or a log could see."""
    parts = "".join(traceback.format_exception(error))
    return f"{parts} {error!r} {getattr(error, 'private', '')} {getattr(error, '__dict__', '')}"
