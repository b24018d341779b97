"""Rows on standard input: whole records as they come, however their bytes arrive."""

from __future__ import annotations

import io
from typing import Any

import pytest

from tacita.cli.parts.lines import Arriving
from tacita.errors import DataError


class Pieces:
    """Standard input that gives its bytes in the pieces of the test."""

    def __init__(self, *pieces: bytes) -> None:
        self.buffer, self._pieces = self, list(pieces)

    def read1(self, _: int) -> bytes:
        return self._pieces.pop(0) if self._pieces else b""


def read(monkeypatch: pytest.MonkeyPatch, source: Any) -> tuple[list[list[dict[str, str]]], int]:
    monkeypatch.setattr("sys.stdin", source)
    arriving = Arriving(("a", "b"))
    return [table.to_pylist() for table in arriving], arriving.malformed


def test_records_that_arrive_in_pieces_are_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    found = read(monkeypatch, Pieces(b"b,c,a\n", b"1,x,2\n3,", b"y,", b'"4, 5"\r\n\n6,z,', b"7"))
    assert found == ([[{"a": "2", "b": "1"}], [{"a": "4, 5", "b": "3"}], [{"a": "7", "b": "6"}]], 0)


FORGED = b'a,b\n1,"x\nq1,2\nq2,2\ny"\n3,4\n'


@pytest.mark.parametrize("size", range(1, len(FORGED) + 1))
def test_a_value_with_line_breaks_is_one_value_however_it_arrives(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    pieces = [FORGED[at : at + size] for at in range(0, len(FORGED), size)]
    tables, malformed = read(monkeypatch, Pieces(*pieces))
    assert [row for table in tables for row in table] == [{"a": "1", "b": "x\nq1,2\nq2,2\ny"}, {"a": "3", "b": "4"}]
    assert malformed == 0


def test_records_that_do_not_fit_are_left_out_and_the_others_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    tables, malformed = read(monkeypatch, Pieces(b"\xef\xbb\xbfa,b\n1,2,3\n1\n\xe9,2\n\0,2\n5,6\n"))
    assert (tables, malformed) == ([[{"a": "5", "b": "6"}]], 4)


@pytest.mark.parametrize("header", [b"a;b\nsecret;2\n", b"a,c\n", b"a,b,a\n", b""])
def test_other_headers_are_refused(monkeypatch: pytest.MonkeyPatch, header: bytes) -> None:
    with pytest.raises(DataError, match="columns a, b") as caught:
        read(monkeypatch, Pieces(header))
    assert ("semicolons" in str(caught.value)) == (b";" in header)
    assert "secret" not in str(caught.value) + (caught.value.private or "")


def test_a_value_without_an_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DataError, match="never closed"):
        read(monkeypatch, Pieces(b"a,b\n", b'1,"' + b"x\n" * (1 << 20), b"2,3\n"))


def test_real_streams_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    found, _ = read(monkeypatch, io.TextIOWrapper(io.BufferedReader(io.BytesIO(b"a,b\n1,2\n3,4\n"))))
    assert found == [[{"a": "1", "b": "2"}, {"a": "3", "b": "4"}]]
