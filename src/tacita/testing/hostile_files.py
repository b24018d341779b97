"""Files that are made to harm whoever reads them."""

from __future__ import annotations

import base64
import io

import pyarrow as pa
import pyarrow.parquet as pq

__all__ = ["ABORTS", "bomb", "footer_with_fewer_rows"]

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
