from __future__ import annotations

import hashlib

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from tacita.engines.local.digests import digests_of

ROWS = st.lists(
    st.tuples(
        st.text(st.characters(codec="utf-8"), max_size=200), st.lists(st.integers(0, 1 << 24), min_size=3, max_size=3)
    ),
    min_size=1,
    max_size=8,
)


@given(ROWS)
def test_they_are_those_of_the_library(rows: list[tuple[str, list[int]]]) -> None:
    keys = pa.array([key for key, _ in rows], pa.string())
    codes = np.array([each for _, each in rows], np.uint32).T
    found = digests_of(keys, np.arange(len(rows)), codes)
    for number, (key, each) in zip(found, rows, strict=True):
        text = f"{key}|{','.join(map(str, each))}"
        assert number.astype(">u8").tobytes() == hashlib.md5(text.encode(), usedforsecurity=False).digest()


def test_every_length_around_a_block() -> None:
    keys = pa.array(["x" * size for size in range(200)])
    found = digests_of(keys, np.arange(200), np.zeros((0, 200), np.uint8))
    for size, number in enumerate(found):
        assert number.astype(">u8").tobytes() == hashlib.md5(b"x" * size + b"|", usedforsecurity=False).digest()


def test_a_slice_of_keys() -> None:
    keys = pa.array(["no", "a", "b"]).slice(1)
    found = digests_of(keys, np.array([1, 0, 1]), np.array([[1, 2, 3]], np.uint8))
    wanted = [hashlib.md5(text, usedforsecurity=False).digest() for text in (b"b|1", b"a|2", b"b|3")]
    assert [number.astype(">u8").tobytes() for number in found] == wanted
