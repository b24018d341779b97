from __future__ import annotations

import hashlib
import itertools
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from tacita.engines.local import bound as bound_module
from tacita.engines.local.bound import Bound, key_texts
from tacita.errors import DataError


def digest(key: str, *codes: int) -> bytes:
    return hashlib.md5(f"{key}|{','.join(map(str, codes))}".encode(), usedforsecurity=False).digest()


def batch(keys: list[str | None], *codes: list[int]) -> tuple[pa.DictionaryArray, np.ndarray]:
    return key_texts(pa.array(keys, pa.string()), ("",), "who"), np.array(codes, np.uint8)


def test_the_smallest_digests_stay() -> None:
    data = [batch(["p"] * 6, [0, 1, 2, 3, 4, 5], [9] * 6)]
    bound = Bound.find(["p"], 2, data)
    (mask,) = bound.keep(data)
    ranked = sorted(range(6), key=lambda i: digest("p", i, 9))
    assert set(np.flatnonzero(mask)) == set(ranked[:2])


def test_of_equal_rows_just_enough_stay_in_any_order() -> None:
    codes = [1, 1, 1, 2, 2, 3]
    for max_rows in range(1, 6):
        kept = set()
        for order in itertools.islice(itertools.permutations(codes), 0, 720, 7):
            data = [batch(["p"] * 3, list(order[:3])), batch(["p"] * 3, list(order[3:]))]
            masks = np.concatenate(list(Bound.find(["p"], max_rows, data).keep(data)))
            assert masks.sum() == max_rows
            kept.add(tuple(sorted(np.array(order)[masks].tolist())))
        assert len(kept) == 1


@pytest.mark.parametrize("pending", [0, 3, 1 << 20])
def test_many_persons_over_many_batches(monkeypatch: pytest.MonkeyPatch, pending: int) -> None:
    monkeypatch.setattr(bound_module, "_PENDING", pending)
    rng = np.random.default_rng(7)
    rows = [(f"p{who}", int(x), int(y)) for who, x, y in rng.integers(0, (9, 3, 2), (400, 3))]
    data = [
        batch([r[0] for r in part], [r[1] for r in part], [r[2] for r in part])
        for part in (rows[:7], rows[7:250], rows[250:])
    ]
    for most in (1, 4, 30, 60):
        over = [key for key, times in Bound.count_persons(keys for keys, _ in data).items() if times > most]
        masks = np.concatenate(list(Bound.find(over, most, data).keep(data)))
        kept = sorted(row for row, counts in zip(rows, masks, strict=True) if counts)
        wanted = []
        for who in {row[0] for row in rows}:
            wanted += sorted((row for row in rows if row[0] == who), key=lambda row: digest(*row))[:most]
        assert kept == sorted(wanted)


def test_persons_below_the_bound_and_rows_of_nobody() -> None:
    data = [batch(["p", None, "q", "", "p"], [0, 1, 2, 3, 4])]
    assert Bound.count_persons(keys for keys, _ in data) == {"p": 2, "q": 1}
    (mask,) = Bound({}).keep(data)
    assert mask.tolist() == [True, False, True, False, True]


def test_keys_are_texts() -> None:
    assert key_texts(pa.array([7, None, 7]), ("",), "who").to_pylist() == ["7", None, "7"]
    assert key_texts(pa.array(["a", ""]).dictionary_encode(), ("",), "who").to_pylist() == ["a", None]
    assert key_texts(pa.chunked_array([["a"], ["b"]]), (), "who").to_pylist() == ["a", "b"]
    assert key_texts(pa.array(["a"], pa.large_string()), ("",), "who").to_pylist() == ["a"]


def test_equal_decimals_have_equal_texts_whatever_their_scale() -> None:
    def texts(kind: pa.DataType, *values: str) -> list[str | None]:
        return key_texts(pa.array([Decimal(value) for value in values], kind), (), "who").to_pylist()

    for kind in (pa.decimal128(9, 2), pa.decimal128(20, 8), pa.decimal64(12, 3)):
        assert texts(kind, "1", "1.50", "100", "0", "-2.5") == ["1", "1.5", "100", "0", "-2.5"]
    assert texts(pa.decimal128(5, -2), "100", "1200") == ["100", "1200"]
    assert texts(pa.decimal128(9, 8), "0.00000001") == ["0.00000001"]


def test_text_that_is_not_utf8_is_no_key() -> None:
    raw = pa.array([b"a", b"\xff", b"b", None, b"\xff"], pa.binary())
    for kind in (pa.string(), pa.large_string()):
        broken = raw.cast(pa.binary() if kind == pa.string() else pa.large_binary()).view(kind)
        assert key_texts(broken, ("b",), "who").to_pylist() == ["a", None, None, None, None]


@pytest.mark.parametrize(
    "values",
    [
        pa.array([1.5]),
        pa.array([[1]]),
        pa.array([b"x"]),
        pa.array([b"x"], pa.large_binary()),
        pa.array([b"x"], pa.binary(1)),
        pa.array([b"x"]).dictionary_encode(),
        pa.array([True]),
    ],
    ids=lambda values: str(values.type),
)
def test_keys_that_have_no_one_text_are_refused(values: pa.Array) -> None:
    with pytest.raises(DataError, match="who: a person's key must be text, a whole number or a decimal"):
        key_texts(values, ("",), "who")
