"""Encoding of Arrow columns as integer codes, and decoding.

Encoding is total: every value of a type that can hold the attribute gets a code (see `attributes`), so that counting
never fails on a row. Bytes are read as UTF-8 text; text that is not valid UTF-8, which Arrow lets through, counts as an
undeclared value. Whether a type can hold an attribute is checked before values are read: see `holds`.

Decoding needs a rule for bins, because the value inside a bin is lost: see `Decode`.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tacita.domain.attributes import EPOCH, Binned, Boolean, Date, Numeric, _Attribute
from tacita.errors import DataError, InvalidInput

__all__ = [
    "Codes",
    "Decode",
    "check_type",
    "code_dtype",
    "days_of",
    "decode",
    "encode",
    "floats_of",
    "holds",
    "parse_line",
    "read_text",
    "spell_float",
]

Codes = npt.NDArray[np.unsignedinteger[Any]]

Decode = Literal["auto", "label", "low", "mid", "uniform"]
"""What a bin becomes: its label, its lower end, its middle, or a draw spread over it; with auto, a number where the
spread of numbers inside bins is known, and else its label."""

TRUE, FALSE = ("true", "t", "yes", "y", "1"), ("false", "f", "no", "n", "0")
_EXACT = 2**53  # beyond it, floats skip whole numbers
_FEW = 256  # texts that are looked up one by one
_BYTES = {pa.int8(): np.int8, pa.uint8(): np.uint8}
_UNPARSED = math.inf  # marks text that is not a number; real infinities are clamped before
_TICKS = {"s": 86_400, "ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}  # of a day


def code_dtype(size: int) -> type[np.unsignedinteger[Any]]:
    """Smallest unsigned type that holds codes 0..size, the last of which means out of domain.

    >>> code_dtype(255).__name__, code_dtype(256).__name__
    ('uint8', 'uint16')
    """
    return np.uint8 if size <= 0xFF else np.uint16 if size <= 0xFFFF else np.uint32


def holds(attribute: _Attribute, kind: pa.DataType) -> bool:
    """Whether `encode` takes columns of this Arrow type; then it takes each value of it.

    >>> age = Numeric(name="age", bounds=(0, 99), integer=True)
    >>> holds(age, pa.int64()), holds(age, pa.string()), holds(age, pa.date32()), holds(age, pa.list_(pa.int64()))
    (True, True, False, False)
    """
    types = pa.types
    if types.is_dictionary(kind):
        return holds(attribute, kind.value_type)
    if _is_text(kind) or types.is_null(kind):
        return True
    number = types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind) or types.is_boolean(kind)
    day = types.is_date(kind) or types.is_timestamp(kind)
    if isinstance(attribute, Binned):
        return bool(day if isinstance(attribute, Date) else number)
    # durations have no text that all sources share
    return bool(attribute.countable and (number or day or types.is_time(kind)))


def check_type(attribute: _Attribute, kind: pa.DataType) -> None:
    """Refuse a column by its type, whatever its values are."""
    if not holds(attribute, kind):
        raise DataError(
            f"a column of this type cannot hold a {type(attribute).__name__.lower()} attribute",
            field=attribute.name,
            value=str(kind),
            hint="Correct the schema or the type of the column",
        )


def encode(attribute: _Attribute, values: pa.Array | pa.ChunkedArray, nulls: Sequence[str] = ("",)) -> Codes:
    """Codes of a column.

    Args:
        attribute: What is public about the column.
        values: The column, of a type that `holds` such values.
        nulls: Texts that mean "missing" besides null itself.
    """
    if not attribute.countable:
        raise InvalidInput("an identifier has no codes", field=attribute.name)
    check_type(attribute, values.type)
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    if pa.types.is_dictionary(values.type):
        return _through_dictionary(attribute, values, nulls)
    if _is_text(values.type):
        if isinstance(attribute, Numeric):
            line = _numbers_of(values, nulls)
            if line is not None:
                return _bin(attribute, line)
        return _through_dictionary(attribute, values.dictionary_encode(), nulls)
    if pa.types.is_null(values.type):
        return np.full(len(values), attribute.missing_code, code_dtype(attribute.size))
    if isinstance(attribute, Date):
        return _bin(attribute, days_of(values))
    if values.type in _BYTES and len(values) > _FEW:
        return _by_byte(attribute, values, nulls)
    if isinstance(attribute, Numeric):
        return _bin(attribute, floats_of(values))
    if pa.types.is_boolean(values.type) and isinstance(attribute, Boolean):
        codes = pc.fill_null(values.cast(pa.int32()), attribute.missing_code).to_numpy(zero_copy_only=False)
        return np.asarray(codes, code_dtype(attribute.size))
    if pa.types.is_floating(values.type):
        return _through_dictionary(attribute, _spelled(values), nulls)
    if pa.types.is_time(values.type) or pa.types.is_decimal(values.type):
        return _through_dictionary(attribute, _spelled_in_full(values), nulls)
    encoded = _at_utc(values).dictionary_encode()
    return _through_dictionary(
        attribute, pa.DictionaryArray.from_arrays(encoded.indices, encoded.dictionary.cast(pa.string())), nulls
    )


def _by_byte(attribute: _Attribute, values: pa.Array, nulls: Sequence[str]) -> Codes:
    """Codes of whole numbers of one byte: each of the 256 is encoded once, and null."""
    every = np.arange(256, dtype=np.uint8).view(_BYTES[values.type])
    table = encode(attribute, pa.array(every), nulls)
    codes: Codes = table.take(pc.fill_null(values, 0).to_numpy(zero_copy_only=False).view(np.uint8))
    if values.null_count:
        codes[values.is_null().to_numpy(zero_copy_only=False)] = encode(attribute, pa.nulls(1, values.type), nulls)[0]
    return codes


def _numbers_of(values: pa.Array, nulls: Sequence[str]) -> npt.NDArray[np.float64] | None:
    """Texts as numbers, all at once; None if one of them is no plain number and is read by `parse_line`.

    What Arrow reads as a number, Python reads as the same one.
    """
    if len(values) < _FEW or not (pa.types.is_string(values.type) or pa.types.is_large_string(values.type)):
        return None
    try:
        numbers = values.cast(pa.float64())
    except pa.ArrowInvalid:
        try:
            absent = pc.is_in(values, pa.array(nulls, values.type))
            numbers = pc.if_else(absent, None, values).cast(pa.float64())
        except pa.ArrowInvalid:
            return None
    else:
        if any(_reads_as_number(word) for word in nulls):  # 999, or nan: a number that means a missing value
            numbers = pc.if_else(pc.is_in(values, pa.array(nulls, values.type)), None, numbers)
    return np.asarray(numbers.to_numpy(zero_copy_only=False), np.float64)


def _reads_as_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def floats_of(values: pa.Array) -> npt.NDArray[np.float64]:
    """Numbers as the nearest floats, NaN where null. Arrow itself rounds long decimals to some float nearby."""
    if not pa.types.is_decimal(values.type):
        return np.asarray(values.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False), np.float64)
    encoded = _folded(values)
    distinct = [math.nan if number is None else float(number) for number in encoded.dictionary.to_pylist()]
    table = np.array([*distinct, math.nan])
    return np.asarray(table[pc.fill_null(encoded.indices, len(distinct)).to_numpy(zero_copy_only=False)])


def _folded(values: pa.Array) -> pa.DictionaryArray:
    """Each value once; Arrow does not fold narrow decimals."""
    kind = values.type
    narrow = pa.types.is_decimal32(kind) or pa.types.is_decimal64(kind)
    return (values.cast(pa.decimal128(kind.precision, kind.scale)) if narrow else values).dictionary_encode()


def spell_float(number: float) -> str:
    """The text by which a float is compared with levels, the same in every engine: whole numbers as such.

    >>> spell_float(1.0), spell_float(-0.0), spell_float(2.5), spell_float(1e16)
    ('1', '0', '2.5', '1e+16')
    """
    return str(int(number)) if number.is_integer() and abs(number) < _EXACT else repr(number)


def _spelled(values: pa.Array) -> pa.DictionaryArray:
    """Floats by their texts; NaN is missing. Narrow floats have the shortest text that is theirs."""
    encoded = values.dictionary_encode()
    wide = pa.types.is_float64(values.type)
    # NumPy's text of a narrow float is its own, and not that of the nearest wide one
    numbers = encoded.dictionary.to_numpy(zero_copy_only=False)
    distinct = [float(number) if wide else float(str(number)) for number in numbers]
    texts = pa.array([None if math.isnan(number) else spell_float(number) for number in distinct], pa.string())
    return pa.DictionaryArray.from_arrays(encoded.indices, texts)


def _spelled_in_full(values: pa.Array) -> pa.DictionaryArray:
    """Decimals and times of day as databases write them: 0.0000001 without an exponent, 10:00:00.5 without zeros."""
    encoded = _folded(values)
    if pa.types.is_decimal(values.type):
        texts = [None if number is None else format(number, "f") for number in encoded.dictionary.to_pylist()]
    else:
        texts = encoded.dictionary.cast(pa.string()).to_pylist()
        texts = [text.rstrip("0").rstrip(".") if text is not None and "." in text else text for text in texts]
    return pa.DictionaryArray.from_arrays(encoded.indices, pa.array(texts, pa.string()))


def _is_text(kind: pa.DataType) -> bool:
    """Whether values are bytes that are read as text."""
    types = pa.types
    views = types.is_string_view(kind) or types.is_binary_view(kind)
    plain = types.is_string(kind) or types.is_binary(kind) or types.is_fixed_size_binary(kind)
    return bool(views or plain or types.is_large_string(kind) or types.is_large_binary(kind))


def read_text(raw: bytes) -> str | None:
    """Bytes as text; None if they are not UTF-8.

    >>> read_text(b"a"), read_text(b"\\xff")
    ('a', None)
    """
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return None


def _at_utc(values: pa.Array) -> pa.Array:
    kind = values.type
    return values.cast(pa.timestamp(kind.unit, "UTC")) if pa.types.is_timestamp(kind) and kind.tz else values


def _through_dictionary(attribute: _Attribute, values: pa.DictionaryArray, nulls: Sequence[str]) -> Codes:
    """Text is looked up once for each distinct value, not once for each row."""
    distinct = values.dictionary
    if not _is_text(distinct.type):
        distinct_codes = encode(attribute, distinct, nulls)
    else:
        raws = distinct.cast(pa.large_binary()).to_pylist()
        distinct_codes = _text_codes(attribute, raws, nulls)
    # one more entry stands for null, so that a plain take serves all rows
    table = np.append(distinct_codes, np.array(attribute.missing_code, distinct_codes.dtype))
    rows = pc.fill_null(values.indices.cast(pa.int64()), len(distinct)).to_numpy(zero_copy_only=False)
    return np.asarray(table[rows])


def _text_codes(attribute: _Attribute, raws: Sequence[bytes | None], nulls: Sequence[str]) -> Codes:
    """Codes of texts that come as bytes."""
    absent, missing, other = set(nulls), attribute.missing_code, attribute.other_code
    codes = np.full(len(raws), missing, code_dtype(attribute.size))
    texts = [None if raw is None else read_text(raw) for raw in raws]
    codes[[raw is not None and text is None for raw, text in zip(raws, texts, strict=True)]] = other
    at = [place for place, text in enumerate(texts) if text is not None and text not in absent]
    codes[at] = _present_codes(attribute, [str(texts[place]) for place in at])
    return codes


def _present_codes(attribute: _Attribute, texts: Sequence[str]) -> Codes:
    """Codes of texts that mean a value."""
    kind, other = code_dtype(attribute.size), attribute.other_code
    if isinstance(attribute, Binned):
        line = np.array([parse_line(attribute, text) for text in texts], np.float64)
        return np.where(line == _UNPARSED, other, _bin(attribute, line)).astype(kind)
    if isinstance(attribute, Boolean):
        spellings = dict.fromkeys(FALSE, 0) | dict.fromkeys(TRUE, 1)
        return np.array([spellings.get(text.lower(), other) for text in texts], kind)
    positions = {level: code for code, level in enumerate(attribute.labels)}
    return np.array([positions.get(text, other) for text in texts], kind)


def parse_line(attribute: Binned, text: str) -> float:
    """Parse a text as a point of the number line: NaN for a text that means NaN, `_UNPARSED` if it is no number."""
    low, high = attribute.line_bounds
    try:
        if isinstance(attribute, Date):
            return float((dt.date.fromisoformat(text.strip()[:10]) - EPOCH).days)
        value = float(text)
    except ValueError:
        return _UNPARSED
    return value if math.isnan(value) else min(max(value, low), high)


def _bin(attribute: Binned, line: npt.NDArray[np.float64]) -> Codes:
    """Bin of each point of the number line; NaN is missing."""
    absent = np.isnan(line)
    clamped = np.clip(line, *attribute.line_bounds)
    bins = np.searchsorted(np.asarray(attribute.starts), clamped, side="right") - 1
    return np.where(absent, attribute.missing_code, bins).astype(code_dtype(attribute.size))


def days_of(values: pa.Array) -> npt.NDArray[np.float64]:
    """Days since 1970-01-01 at UTC, NaN where null; exact for whatever a date or timestamp can be."""
    kind = values.type
    ticks = 1 if pa.types.is_date32(kind) else _TICKS["ms" if pa.types.is_date64(kind) else kind.unit]
    line = values.cast(pa.int32() if ticks == 1 else pa.int64())
    days = pc.fill_null(line, 0).to_numpy(zero_copy_only=False) // ticks
    return np.where(values.is_null().to_numpy(zero_copy_only=False), np.nan, days)


def decode(
    attribute: _Attribute,
    codes: npt.NDArray[np.integer[Any]],
    policy: Decode = "label",
    uniforms: npt.NDArray[np.float64] | None = None,
) -> pa.Array:
    """Return a value for each code.

    Levels and booleans are decoded exactly. A bin is decoded by `policy`; with "uniform" the caller gives one uniform
    draw for each row. Missing and out-of-domain become null; the bucket `other` becomes "(other)" in a text column
    and null in a number column.
    """
    if isinstance(attribute, Binned) and policy not in ("auto", "label"):
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
        # a draw next to 1 may round up to the next bin, or beyond the bounds
        line = np.minimum(low[at] + uniforms * (high[at] - low[at]), np.nextafter(high[at], low[at]))
    if whole:
        line = np.floor(line)
    masked = pa.array(line, pa.float64(), mask=~inside)
    if isinstance(attribute, Date):
        return masked.cast(pa.int32()).cast(pa.date32())
    return masked.cast(pa.int64()) if attribute.integer else masked
