"""Values of a document as attributes: one rule for each type of MongoDB.

    documents          flattened: the field b of the document a is the attribute `a.b`
    lists              refused, unless one is declared whose elements are the rows
    _id                never read, unless it is declared as an identifier
    whole numbers      the same number and the same text, as int, long, double or decimal (a shell writes 1 as a double)
    fractions          their shortest text: 2.5
    Decimal128         a number; rounded to the nearest double where numbers are binned
    dates              milliseconds since 1970 at UTC; as text 2024-01-31T23:59:59.999
    binary             UTF-8 text, or unknown; a UUID is its text
    ObjectId           its 24 hexadecimal digits
    NaN, null, missing missing
    all others         unknown: `other`, or out of domain

Values of different types in one field are refused when the collection is checked; counting itself never fails on one.
"""

from __future__ import annotations

import datetime as dt
import math
import uuid
from collections.abc import Callable, Collection, Sequence
from typing import Any

import pyarrow as pa

from tacita.domain import Attribute, Binned, Categorical, Date, Numeric, Ordinal
from tacita.domain.encode import check_type, encode, spell_float
from tacita.engines.checking import key_refused
from tacita.engines.mongo.driver import load
from tacita.errors import DataError

__all__ = ["ABSENT", "KEYS", "array_of", "arrow_type", "check_kinds", "code_of", "family_of", "raw", "spell"]

ABSENT = frozenset({"missing", "null", "undefined"})
KEYS = frozenset({"string", "int", "long", "decimal", "objectId"})
"""Types of a person's key: those whose equal values have equal texts."""
_FAMILIES = {
    "string": "text",
    "objectId": "text",
    "binData": "text",
    "int": "number",
    "long": "number",
    "double": "number",
    "decimal": "number",
    "bool": "boolean",
    "date": "date",
}
_ARROW = {
    "string": pa.string(),
    "objectId": pa.string(),
    "binData": pa.binary(),
    "int": pa.int64(),
    "long": pa.int64(),
    "double": pa.float64(),
    "decimal": pa.decimal128(38, 6),
    "bool": pa.bool_(),
    "date": pa.timestamp("ms", "UTC"),
}
_UUID = (3, 4)
EPOCH = dt.datetime(1970, 1, 1)
_FIRST, _LAST = ((end - EPOCH) // dt.timedelta(milliseconds=1) for end in (dt.datetime.min, dt.datetime.max))


# -- types -----------------------------------------------------------------------------------------------------


def check_kinds(attribute: Attribute, kinds: Collection[str], *, person: bool) -> None:
    """Refuse a field by the types of its values; the error reveals no value."""
    name, found = attribute.name, sorted(set(kinds) - ABSENT)
    if "array" in found:
        raise DataError(
            "holds lists, which are not declared",
            field=name,
            hint=f"If its elements are the rows, pass unwind={name!r}",
        )
    if "object" in found:
        raise DataError(
            "holds documents where a value is expected", field=name, hint=f"Name their fields: {name}.FIELD"
        )
    if person:
        stranger = next((kind for kind in found if kind not in KEYS), None)
        if stranger is not None:
            raise key_refused(name, stranger)
        return
    stranger = next((kind for kind in found if kind not in _FAMILIES), None)
    if stranger is not None:
        raise DataError("holds values that are no data", field=name, value=stranger)
    if len({_FAMILIES[kind] for kind in found}) > 1:
        raise DataError(
            "holds values of several types", field=name, value=", ".join(found), hint="Make a view that converts them"
        )
    for kind in found if attribute.countable else ():
        check_type(attribute, _ARROW[kind])


def family_of(kind: str) -> str | None:
    """Return what values of a type are: text, numbers, booleans or dates; None if they are no data."""
    return _FAMILIES.get(kind)


def arrow_type(attribute: Attribute, kinds: Collection[str], *, person: bool = False) -> pa.DataType:
    """Return the Arrow type of a field's values."""
    found = set(kinds) - ABSENT
    levels = isinstance(attribute, Categorical | Ordinal)
    if found and found <= {"int", "long"}:
        return pa.int64()
    if person:
        return pa.string()
    if found and found <= {"int", "long", "double", "decimal", "bool"} and isinstance(attribute, Numeric):
        return pa.float64()
    if found and found <= {"string", "objectId", "binData"}:
        return pa.binary() if "binData" in found else pa.string()
    if len(found) == 1 and not levels:
        (kind,) = found
        return {"bool": pa.bool_(), "date": _ARROW["date"]}.get(kind, pa.string())
    return pa.string()


# -- values ----------------------------------------------------------------------------------------------------


def code_of(attribute: Attribute, value: Any, nulls: Sequence[str]) -> int:
    """Return the code of a value that the server did not encode."""
    if value is None or _is_nan(value):
        return attribute.missing_code
    text = spell(value)
    if isinstance(attribute, Numeric) and (_is_number(value) or isinstance(value, bool)):
        column = pa.array([_number(value)], pa.float64())
    elif isinstance(attribute, Date) and isinstance(value, _dates()):
        column = pa.array([int(value)], pa.int64()).cast(_ARROW["date"])
    elif text is None or (isinstance(attribute, Binned) and not isinstance(value, str | bytes)):
        return attribute.other_code
    else:
        column = pa.array([text], pa.binary())
    return int(encode(attribute, column, nulls)[0])


def raw(text: str) -> bytes:
    """Return the bytes that a text had in the database, UTF-8 or not."""
    return text.encode(errors="surrogateescape")


def spell(value: Any) -> bytes | None:
    """Return a value as text, in bytes that need not be UTF-8; None if it has no text."""
    if isinstance(value, str):
        return raw(value)
    if isinstance(value, bytes):
        if getattr(value, "subtype", 0) in _UUID and len(value) == 16:
            return str(uuid.UUID(bytes=bytes(value))).encode()
        return bytes(value)
    if isinstance(value, bool):
        return b"true" if value else b"false"
    if isinstance(value, _dates()):
        within = min(max(int(value), _FIRST), _LAST)
        return (EPOCH + dt.timedelta(milliseconds=within)).isoformat(timespec="milliseconds").encode()
    if isinstance(value, load("bson").ObjectId):
        return str(value).encode()
    return _spell_number(value).encode() if _is_number(value) else None


def _spell_number(value: Any) -> str:
    """Write a number as text: equal numbers have equal texts, whatever their type."""
    return str(int(value)) if isinstance(value, int) else spell_float(_number(value))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | load("bson.decimal128").Decimal128) and not isinstance(value, bool)


def _number(value: Any) -> float:
    return float(value) if isinstance(value, int | float) else float(value.to_decimal())


def _is_nan(value: Any) -> bool:
    return _is_number(value) and math.isnan(_number(value))


def _dates() -> Any:
    return load("bson.datetime_ms").DatetimeMS


def array_of(attribute: Attribute, kind: pa.DataType, values: Sequence[Any], *, person: bool = False) -> pa.Array:
    """Build a column of raw values."""
    try:
        return _array(kind, values, _key_text if person else _plain_text)
    except (pa.ArrowException, ValueError, TypeError, OverflowError):
        raise DataError(
            "the collection got values of other types while it was read", field=attribute.name, hint="Try again"
        ) from None


def _array(kind: pa.DataType, values: Sequence[Any], text_of: Callable[[Any], bytes | None]) -> pa.Array:
    if pa.types.is_timestamp(kind):
        return pa.array([None if value is None else int(value) for value in values], pa.int64()).cast(kind)
    if pa.types.is_floating(kind):
        return pa.array([None if value is None else _number(value) for value in values], kind)
    if kind in (pa.string(), pa.binary()):
        texts = pa.array([text_of(value) for value in values], pa.binary())
        return texts.view(kind)  # not validated: text that is not UTF-8 is encoded as unknown
    return pa.array(values, kind)


def _plain_text(value: Any) -> bytes | None:
    return None if value is None or _is_nan(value) else spell(value)


def _key_text(value: Any) -> bytes | None:
    """Return a person's key, as `compile.key_of` does: a decimal in full and without trailing zeros, and no double."""
    if not isinstance(value, load("bson.decimal128").Decimal128):
        known = isinstance(value, str | int | load("bson").ObjectId) and not isinstance(value, bool)
        return spell(value) if known else None
    text = _in_full(value)
    if not set(text) <= set("-.0123456789"):
        return None
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return b"0" if text == "-0" else text.encode()


def _in_full(value: Any) -> str:
    """Write a decimal as the server writes its sum with zero: 1E+2 is 100, if 34 digits are enough for that."""
    context = load("bson.decimal128").create_decimal128_context()
    return str(context.add(value.to_decimal(), 0))
