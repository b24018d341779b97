"""Arrow in, integer codes out, and back, a column at a time.

Encoding is total: every value gets a code (see `attributes`), so that counting never fails on a row. Decoding must
say what stands for a bin, because the value inside it is gone: see `Decode`.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tacita.domain.attributes import EPOCH, Binned, Boolean, Date, Numeric, _Attribute
from tacita.errors import InvalidInput

__all__ = ["Codes", "Decode", "code_dtype", "decode", "encode"]

Codes = npt.NDArray[np.unsignedinteger[Any]]

Decode = Literal["label", "low", "mid", "uniform"]
"""What a bin becomes: its label, its lower end, its middle, or a draw spread evenly over it."""

TRUE, FALSE = ("true", "t", "yes", "y", "1"), ("false", "f", "no", "n", "0")
_UNPARSED = math.inf  # marks text that is not a number; real infinities are clamped before


def code_dtype(size: int) -> type[np.unsignedinteger[Any]]:
    """Smallest unsigned type that holds codes 0..size, the last of which means nowhere.

    >>> code_dtype(255).__name__, code_dtype(256).__name__
    ('uint8', 'uint16')
    """
    return np.uint8 if size <= 0xFF else np.uint16 if size <= 0xFFFF else np.uint32


def encode(attribute: _Attribute, values: pa.Array | pa.ChunkedArray, nulls: Sequence[str] = ("",)) -> Codes:
    """Codes of a column.

    Args:
        attribute: What is public about the column.
        values: The column, of any Arrow type that can hold such values.
        nulls: Texts that mean "missing" besides null itself.
    """
    if not attribute.countable:
        raise InvalidInput("an identifier has no codes", field=attribute.name)
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    if pa.types.is_dictionary(values.type):
        return _through_dictionary(attribute, values, nulls)
    if _is_text(values.type):
        return _through_dictionary(attribute, values.dictionary_encode(), nulls)
    if pa.types.is_null(values.type):
        return np.full(len(values), attribute.missing_code, code_dtype(attribute.size))
    if isinstance(attribute, Binned):
        return _bin(attribute, _to_line(attribute, values))
    if pa.types.is_boolean(values.type) and isinstance(attribute, Boolean):
        codes = pc.fill_null(values.cast(pa.int32()), attribute.missing_code).to_numpy(zero_copy_only=False)
        return np.asarray(codes, code_dtype(attribute.size))
    return _through_dictionary(attribute, values.cast(pa.string()).dictionary_encode(), nulls)


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _through_dictionary(attribute: _Attribute, values: pa.DictionaryArray, nulls: Sequence[str]) -> Codes:
    """Text is looked up once for each distinct value, not once for each row."""
    distinct = values.dictionary
    if not _is_text(distinct.type):
        distinct_codes = encode(attribute, distinct, nulls)
    else:
        of_text = _reader(attribute)
        absent, missing = set(nulls), attribute.missing_code
        texts = distinct.to_pylist()
        distinct_codes = np.array(
            [missing if text is None or text in absent else of_text(text) for text in texts],
            dtype=code_dtype(attribute.size),
        )
    # one more entry stands for null, so that a plain take serves all rows
    table = np.append(distinct_codes, np.array(attribute.missing_code, distinct_codes.dtype))
    rows = pc.fill_null(values.indices.cast(pa.int64()), len(distinct)).to_numpy(zero_copy_only=False)
    return np.asarray(table[rows])


def _reader(attribute: _Attribute) -> Callable[[str], int]:
    """The code of one text."""
    other = attribute.other_code
    if isinstance(attribute, Boolean):
        spellings = dict.fromkeys(FALSE, 0) | dict.fromkeys(TRUE, 1)
        return lambda text: spellings.get(text.lower(), other)
    if isinstance(attribute, Binned):
        return lambda text: _code_on_line(attribute, _parse_line(attribute, text))
    positions = {level: code for code, level in enumerate(attribute.labels)}
    return lambda text: positions.get(text, other)


def _parse_line(attribute: Binned, text: str) -> float:
    """A text on the number line: NaN when it says so, `_UNPARSED` when it says nothing."""
    low, high = attribute.line_bounds
    try:
        if isinstance(attribute, Date):
            return float((dt.date.fromisoformat(text.strip()[:10]) - EPOCH).days)
        value = float(text)
    except ValueError:
        return _UNPARSED
    return value if math.isnan(value) else min(max(value, low), high)


def _code_on_line(attribute: Binned, value: float) -> int:
    if value == _UNPARSED:
        return attribute.other_code
    return int(_bin(attribute, np.array([value]))[0])


def _bin(attribute: Binned, line: npt.NDArray[np.float64]) -> Codes:
    """Bin of each point of the number line; NaN is missing."""
    absent = np.isnan(line)
    clamped = np.clip(line, *attribute.line_bounds)
    bins = np.searchsorted(np.asarray(attribute.starts), clamped, side="right") - 1
    return np.where(absent, attribute.missing_code, bins).astype(code_dtype(attribute.size))


def _to_line(attribute: Binned, values: pa.Array) -> npt.NDArray[np.float64]:
    """A typed column as floats, NaN where null."""
    if isinstance(attribute, Numeric):
        return np.asarray(values.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False), dtype=np.float64)
    if pa.types.is_timestamp(values.type) and values.type.tz is not None:
        values = values.cast(pa.timestamp(values.type.unit, "UTC"))
    days = values.cast(pa.date32(), safe=False).cast(pa.int32()).cast(pa.float64())
    return np.asarray(days.to_numpy(zero_copy_only=False), dtype=np.float64)


def decode(
    attribute: _Attribute,
    codes: npt.NDArray[np.integer[Any]],
    policy: Decode = "label",
    uniforms: npt.NDArray[np.float64] | None = None,
) -> pa.Array:
    """Values that stand for codes.

    Levels and booleans come back as they were. A bin comes back as `policy` says; with "uniform" the caller gives one
    uniform draw for each row. Missing and nowhere become null; the bucket `other` becomes "(other)" in a text column
    and null in a number column.
    """
    if isinstance(attribute, Binned) and policy != "label":
        return _decode_line(attribute, codes, policy, uniforms)
    if isinstance(attribute, Boolean):
        lookup = pa.array([False, True] + [None] * (attribute.size - 1), pa.bool_())
    else:
        texts: list[str | None] = list(attribute.all_labels)
        if attribute.missing:
            texts[attribute.missing_code] = None
        lookup = pa.array([*texts, None], pa.string())
    return lookup.take(pa.array(codes))


def _decode_line(
    attribute: Binned,
    codes: npt.NDArray[np.integer[Any]],
    policy: Decode,
    uniforms: npt.NDArray[np.float64] | None,
) -> pa.Array:
    low = np.asarray(attribute.starts)
    whole = isinstance(attribute, Date) or attribute.integer
    # the last bin holds the upper bound itself, so whole numbers have one more place in it
    high = np.append(low[1:], attribute.line_bounds[1] + whole)
    inside = codes < len(low)
    at = np.where(inside, codes, 0)
    if policy == "low":
        line = low[at]
    elif policy == "mid":
        line = (low[at] + high[at] - whole) / 2
    else:
        if uniforms is None or len(uniforms) != len(codes):
            raise InvalidInput('the policy "uniform" needs one draw for each row', field="uniforms")
        line = low[at] + uniforms * (high[at] - low[at])
    if whole:
        line = np.floor(line)
    masked = pa.array(line, pa.float64(), mask=~inside)
    if isinstance(attribute, Date):
        return masked.cast(pa.int32()).cast(pa.date32())
    return masked.cast(pa.int64()) if attribute.integer else masked
