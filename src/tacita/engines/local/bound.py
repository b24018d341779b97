"""Contribution bounding: at most `max_rows` rows of each person, the same ones in every engine.

Of a person with more rows than allowed, those with the smallest

    md5(key as text + "|" + codes of all countable attributes joined by ",")

are counted. For such persons only, the largest digest that still counts is stored, with the number of rows with
that digest that count (they are equal rows, so it does not matter which). So the choice does not depend on the
order of the rows, and the memory grows with the persons, not with the rows. md5 is no secret here: it only has to
treat all values alike and to be available in every database.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tacita.domain.encode import read_text
from tacita.engines.checking import check_key_type
from tacita.engines.local.digests import digests_of

__all__ = ["Bound", "key_texts"]

Mask = NDArray[np.bool_]
Words = NDArray[np.uint64]
_PENDING = 1 << 20  # digests that wait to be compared with the kept ones
Keyed = Iterable[tuple[pa.DictionaryArray, NDArray[np.integer[Any]]]]
"""Keys and codes of the same rows, batch by batch; codes have a row for each attribute."""


def key_texts(values: pa.Array | pa.ChunkedArray, nulls: Sequence[str], name: str) -> pa.DictionaryArray:
    """Return persons' keys as dictionary-encoded text, null where there is no key: null, in `nulls`, or no UTF-8."""
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
    missing = pc.take(absent, encoded.indices)
    indices = pc.if_else(missing, pa.scalar(None, encoded.indices.type), encoded.indices)
    return pa.DictionaryArray.from_arrays(indices, texts)


def _shortest(text: str) -> str:
    """Write a decimal without an exponent and without trailing zeros: equal numbers, equal texts."""
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
    """Choice of the rows that count, of persons with too many rows."""

    last: dict[str, tuple[bytes, int]]
    """Largest digest that counts and how many rows with it do, by key, for persons over the bound."""

    @classmethod
    def count_persons(cls, keys: Iterable[pa.DictionaryArray]) -> dict[str, int]:
        """Count the rows of each person."""
        rows: dict[str, int] = {}
        for batch in keys:
            indices = batch.indices.drop_null().to_numpy()
            counts = np.bincount(indices, minlength=len(batch.dictionary)).tolist()
            for key, count in zip(batch.dictionary.to_pylist(), counts, strict=True):
                if count:  # the dictionary also holds texts that are no keys
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
        names = list(over)
        numbers = {key: number for number, key in enumerate(names)}
        found = _Smallest(max_rows)
        for keys, codes in data:
            chosen = _Chosen.of(keys, codes, numbers)
            number_of = np.array([numbers.get(text, -1) for text in chosen.texts], np.int64)
            found.add(number_of[chosen.who], chosen.digests)
        return cls({names[number]: (digest, ties) for number, digest, ties in found.lasts()})

    def keep(self, data: Keyed) -> Iterator[Mask]:
        """Flag the rows that count, batch by batch."""
        left = {key: ties for key, (_, ties) in self.last.items()}
        for keys, codes in data:
            mask = keys.indices.is_valid().to_numpy(zero_copy_only=False).copy()
            chosen = _Chosen.of(keys, codes, self.last)
            if len(chosen.rows):
                mask[chosen.rows] = self._counted(chosen, left)
            yield mask

    def _counted(self, chosen: _Chosen, left: dict[str, int]) -> Mask:
        """Flag the chosen rows that count; `left` holds how many rows with the last digest still do."""
        last = np.zeros((len(chosen.texts), 2), np.uint64)
        ties = np.zeros(len(chosen.texts), np.int64)
        present = np.unique(chosen.who).tolist()
        for place in present:
            key = chosen.texts[place]
            last[place], ties[place] = np.frombuffer(self.last[key][0], ">u8"), left[key]
        (high, low), (last_high, last_low) = chosen.digests.T, last[chosen.who].T
        below: Mask = (high < last_high) | ((high == last_high) & (low < last_low))
        equal = np.flatnonzero((high == last_high) & (low == last_low))
        # equal rows of a person are adjacent, in the order of the batch
        order = equal[np.argsort(chosen.who[equal], kind="stable")]
        who = chosen.who[order]
        below[order] = _ranks(who) < ties[who]
        for place, count in zip(*(part.tolist() for part in np.unique(who, return_counts=True)), strict=True):
            left[chosen.texts[place]] = max(left[chosen.texts[place]] - count, 0)
        return below


class _Smallest:
    """The smallest digests of each person so far."""

    def __init__(self, most: int) -> None:
        self._most, self._new = most, 0
        self._who, self._digests = [np.zeros(0, np.int64)], [np.zeros((0, 2), np.uint64)]

    def add(self, who: NDArray[np.int64], digests: Words) -> None:
        """Add more rows."""
        who, digests = self._least(who, digests)
        self._who.append(who)
        self._digests.append(digests)
        self._new += len(who)
        if self._new > len(self._who[0]) + _PENDING:  # so that memory grows with persons, and not with rows
            self._join()

    def lasts(self) -> Iterator[tuple[int, bytes, int]]:
        """Yield each person, the largest digest that counts, and how many rows with it do."""
        self._join()
        who, digests = self._who[0], self._digests[0]
        if not len(who):
            return
        starts = np.flatnonzero(np.diff(who, prepend=-1))
        ends = np.append(starts[1:], len(who))
        ties = np.add.reduceat((digests == np.repeat(digests[ends - 1], ends - starts, axis=0)).all(axis=1), starts)
        raw = digests[ends - 1].astype(">u8").tobytes()
        for at, (person, count) in enumerate(zip(who[starts].tolist(), ties.tolist(), strict=True)):
            yield person, raw[16 * at : 16 * at + 16], count

    def _join(self) -> None:
        who, digests = self._least(np.concatenate(self._who), np.concatenate(self._digests))
        self._who, self._digests, self._new = [who], [digests], 0

    def _least(self, who: NDArray[np.int64], digests: Words) -> tuple[NDArray[np.int64], Words]:
        order = np.lexsort((digests[:, 1], digests[:, 0], who))
        kept = order[_ranks(who[order]) < self._most]
        return who[kept], digests[kept]


@dataclass(frozen=True)
class _Chosen:
    """The rows of chosen persons in a batch."""

    texts: Sequence[str]
    """The keys of the batch."""
    rows: NDArray[np.int64]
    who: NDArray[np.int64]
    """The index of the key of each of these rows."""
    digests: Words

    @classmethod
    def of(cls, keys: pa.DictionaryArray, codes: NDArray[np.integer[Any]], chosen: Container[str]) -> _Chosen:
        texts = keys.dictionary.to_pylist()
        picked = np.array([text in chosen for text in texts] + [False])
        places = pc.fill_null(keys.indices.cast(pa.int64()), len(texts)).to_numpy(zero_copy_only=False)
        rows = np.flatnonzero(picked[places])
        who = places[rows]
        return cls(texts, rows, who, digests_of(keys.dictionary, who, codes[:, rows]))


def _ranks(groups: NDArray[np.int64]) -> NDArray[np.int64]:
    """Number the entries within each group; groups are contiguous."""
    starts = np.flatnonzero(np.diff(groups, prepend=-1))
    return np.arange(len(groups)) - np.repeat(starts, np.diff(starts, append=len(groups)))
