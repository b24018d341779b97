"""Contribution bounding: at most so many rows of each person, the same ones in every engine.

Of a person with more rows than allowed, those with the smallest

    md5(key as text + "|" + codes of all countable attributes joined by ",")

are counted. What is remembered is the largest digest that still counts, for such persons only, and how many
rows with just that digest do (they are equal rows, so it does not matter which). So the choice does not
depend on the order of the rows, and the memory grows with the persons, not with the rows. md5 is no secret
here: it only has to treat all values alike and to be at hand in every database.
"""

from __future__ import annotations

import hashlib
import heapq
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tacita.domain.encode import read_text
from tacita.engines.checking import check_key_type

__all__ = ["Bound", "key_texts"]

Mask = NDArray[np.bool_]
Keyed = Iterable[tuple[pa.DictionaryArray, NDArray[np.integer[Any]]]]
"""Keys and codes of the same rows, batch by batch; codes have a row for each attribute."""


def key_texts(values: pa.Array | pa.ChunkedArray, nulls: Sequence[str], name: str) -> pa.DictionaryArray:
    """Persons' keys as text, each once, with null where there is none: null, a text in `nulls`, or no UTF-8."""
    check_key_type(name, values.type)
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    encoded = values.cast(pa.string()).dictionary_encode()
    texts = encoded.dictionary
    if pa.types.is_decimal(values.type):
        texts = pa.array([_shortest(text) for text in texts.to_pylist()], pa.string())
    elif not _is_utf8(texts):
        texts = pa.array([read_text(raw) for raw in texts.cast(pa.binary()).to_pylist()], pa.string())
    absent = pc.or_kleene(texts.is_null(), pc.is_in(texts, value_set=pa.array(list(nulls), pa.string())))
    nobody = pc.take(absent, encoded.indices)
    indices = pc.if_else(nobody, pa.scalar(None, encoded.indices.type), encoded.indices)
    return pa.DictionaryArray.from_arrays(indices, texts)


def _shortest(text: str) -> str:
    """A decimal without an exponent and without zeros at its end: equal numbers, equal texts."""
    plain = format(Decimal(text), "f")
    return plain.rstrip("0").rstrip(".") if "." in plain else plain


def _is_utf8(texts: pa.StringArray) -> bool:
    try:
        texts.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


@dataclass(frozen=True)
class Bound:
    """Which rows of the persons with too many rows are counted."""

    last: dict[str, tuple[bytes, int]]
    """Largest digest that counts and how many rows with it do, by key, for persons over the bound."""

    @classmethod
    def count_persons(cls, keys: Iterable[pa.DictionaryArray]) -> dict[str, int]:
        """Rows of each person."""
        rows: dict[str, int] = {}
        for batch in keys:
            indices = batch.indices.drop_null().to_numpy()
            counts = np.bincount(indices, minlength=len(batch.dictionary)).tolist()
            for key, count in zip(batch.dictionary.to_pylist(), counts, strict=True):
                if count:  # what is no key stands in the dictionary too
                    rows[key] = rows.get(key, 0) + count
        return rows

    @classmethod
    def find(cls, over: Iterable[str], max_rows: int, data: Keyed) -> Bound:
        """Read the data once more and find the digests that count.

        Args:
            over: Keys of the persons with more than `max_rows` rows.
            max_rows: Rows of each person that may be counted.
            data: Keys and the codes of all countable attributes.
        """
        # a heap of the smallest digests so far, largest first: digests are turned over to make heapq do that
        heaps: dict[str, list[bytes]] = {key: [] for key in over}
        for keys, codes in data:
            for _, key, digest in _digests(keys, codes, heaps.keys()):
                heap, turned = heaps[key], _turn(digest)
                if len(heap) < max_rows:
                    heapq.heappush(heap, turned)
                elif turned > heap[0]:
                    heapq.heapreplace(heap, turned)
        return cls({key: (_turn(heap[0]), heap.count(heap[0])) for key, heap in heaps.items() if heap})

    def keep(self, data: Keyed) -> Iterator[Mask]:
        """Which rows count, batch by batch."""
        left = {key: ties for key, (_, ties) in self.last.items()}
        for keys, codes in data:
            mask = keys.indices.is_valid().to_numpy(zero_copy_only=False).copy()
            for row, key, digest in _digests(keys, codes, self.last.keys()):
                last = self.last[key][0]
                if digest == last:
                    left[key] -= 1
                mask[row] = digest < last or (digest == last and left[key] >= 0)
            yield mask


def _digests(
    keys: pa.DictionaryArray,
    codes: NDArray[np.integer[Any]],
    chosen: Iterable[str],
) -> Iterator[tuple[int, str, bytes]]:
    """Row, key and digest of the rows of chosen persons."""
    wanted = set(chosen)
    texts = keys.dictionary.to_pylist()
    picked = np.array([text in wanted for text in texts] + [False])
    places = pc.fill_null(keys.indices, len(texts)).to_numpy(zero_copy_only=False)
    for row in np.flatnonzero(picked[places]).tolist():
        key = texts[places[row]]
        text = f"{key}|{','.join(map(str, codes[:, row].tolist()))}"
        yield row, key, hashlib.md5(text.encode(), usedforsecurity=False).digest()


def _turn(digest: bytes) -> bytes:
    return bytes(255 - byte for byte in digest)
