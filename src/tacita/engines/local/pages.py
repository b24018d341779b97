"""Pages of a Parquet column, by their headers: the number of values, the number of bytes, and the encoding.

A footer states only the total size of a column's pages, and a reader does not verify it. It does verify the header of
a page: a page that does not unpack to the bytes that its header states is refused. So bounds are computed from headers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

__all__ = ["DICTIONARY", "WHOLE", "Page", "pages_of"]

DICTIONARY = frozenset({2, 8})
"""Encodings whose values are indices of the dictionary."""
WHOLE = frozenset({0, 6})
"""Encodings where every text is written out: plain, and with the lengths first."""

_DATA, _DICTIONARY, _DATA_2 = 0, 2, 3  # kinds of a page; others are skipped, as a reader does
_HEADERS = {_DATA: (5, 2), _DICTIONARY: (7, 2), _DATA_2: (8, 4)}  # fields of: the header of the kind, the encoding
_FIRST, _MOST = 1 << 8, 1 << 24  # bytes in which a header is searched
_DEPTH = 4


@dataclass(frozen=True, kw_only=True)
class Page:
    """One page: its values, the bytes that it unpacks to, and its encoding; None for the dictionary itself."""

    values: int
    size: int
    encoding: int | None


def pages_of(file: BinaryIO, chunk: pq.ColumnChunkMetaData) -> list[Page]:
    """Read the headers of all pages of a column in a row group, the dictionary first if there is one."""
    at = int(chunk.data_page_offset)
    if chunk.dictionary_page_offset:
        at = min(at, int(chunk.dictionary_page_offset))
    end, missing = at + int(chunk.total_compressed_size), int(chunk.num_values)
    found: list[Page] = []
    while missing > 0:
        if at >= end:
            raise pa.ArrowInvalid("a column has fewer values than the footer says")
        header, size = _header(file, at)
        packed, unpacked = _count(header, 3), _count(header, 2)
        at += size + packed
        if header.get(1) not in _HEADERS:
            continue
        about, encoding = _HEADERS[header[1]]
        inner = header.get(about)
        if not isinstance(inner, dict):
            raise pa.ArrowInvalid("a page has no header of its kind")
        dictionary = header[1] == _DICTIONARY
        if dictionary and found:
            raise pa.ArrowInvalid("a dictionary comes after other pages")
        values = _count(inner, 1)
        found.append(
            Page(values=values, size=max(packed, unpacked), encoding=None if dictionary else _count(inner, encoding))
        )
        missing -= 0 if dictionary else values
    return found


def _count(header: dict[int, Any], field: int) -> int:
    found = header.get(field)
    if not isinstance(found, int) or found < 0:
        raise pa.ArrowInvalid("a page header lacks a count")
    return found


def _header(file: BinaryIO, at: int) -> tuple[dict[int, Any], int]:
    """Read the fields of a page header, and its size in bytes; a header that holds long texts is larger than most."""
    look = _FIRST
    while look <= _MOST:
        file.seek(at)
        data = file.read(look)
        try:
            return _struct(data, 0, 0)
        except IndexError:
            if len(data) < look:
                break
        look *= 16
    raise pa.ArrowInvalid("a page header does not end")


def _struct(data: bytes, at: int, depth: int) -> tuple[dict[int, Any], int]:
    """Parse Thrift's compact protocol, without lists and maps, which page headers do not have."""
    if depth > _DEPTH:
        raise pa.ArrowInvalid("a page header is nested too deep")
    fields: dict[int, Any] = {}
    field = 0
    while data[at]:
        step, kind = divmod(data[at], 16)
        at += 1
        if step:
            field += step
        else:
            field, at = _signed(data, at)
        if kind in (1, 2):
            fields[field] = kind == 1
        elif kind == 3:
            fields[field], at = data[at], at + 1
        elif kind in (4, 5, 6):
            fields[field], at = _signed(data, at)
        elif kind == 7:
            at += 8
        elif kind == 8:
            size, at = _varint(data, at)
            at += size
        elif kind == 12:
            fields[field], at = _struct(data, at, depth + 1)
        else:
            raise pa.ArrowInvalid("a page header has a field of an unknown kind")
    return fields, at + 1


def _signed(data: bytes, at: int) -> tuple[int, int]:
    value, at = _varint(data, at)
    return (value >> 1) ^ -(value & 1), at


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at += 1
        if byte < 128:
            return value, at
        shift += 7
        if shift > 63:
            raise pa.ArrowInvalid("a number of a page header is too long")
