"""Rows on standard input: whole lines as they come, and nothing of a row in an error."""

from __future__ import annotations

import io
from typing import Any

import pytest

from tacita.cli.parts.lines import arriving_rows
from tacita.errors import DataError


class Pieces:
    """Standard input that gives its bytes in the pieces of the test."""

    def __init__(self, header: bytes, *pieces: bytes) -> None:
        self.buffer, self._header, self._pieces = self, header, list(pieces)

    def readline(self) -> bytes:
        return self._header

    def read1(self, _: int) -> bytes:
        return self._pieces.pop(0) if self._pieces else b""


def read(monkeypatch: pytest.MonkeyPatch, source: Any) -> list[list[dict[str, str]]]:
    monkeypatch.setattr("sys.stdin", source)
    return [table.to_pylist() for table in arriving_rows(("a", "b"))]


def test_lines_that_arrive_in_pieces_are_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    found = read(monkeypatch, Pieces(b"b,c,a\n", b"1,x,2\n3,", b"y,", b'"4, 5"\n\n6,z,', b"7"))
    assert found == [[{"a": "2", "b": "1"}], [{"a": "4, 5", "b": "3"}], [{"a": "7", "b": "6"}]]


@pytest.mark.parametrize("pieces", [(b"a;b\n", b"1;2\n"), (b"a,b\n", b"secret,2,3\n"), (b"", b"")])
def test_other_lines_are_refused_without_their_values(
    monkeypatch: pytest.MonkeyPatch, pieces: tuple[bytes, ...]
) -> None:
    with pytest.raises(DataError, match="columns a, b") as caught:
        read(monkeypatch, Pieces(*pieces))
    assert "secret" not in str(caught.value) + (caught.value.private or "")


def test_real_streams_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    found = read(monkeypatch, io.TextIOWrapper(io.BufferedReader(io.BytesIO(b"a,b\n1,2\n3,4\n"))))
    assert found == [[{"a": "1", "b": "2"}, {"a": "3", "b": "4"}]]
