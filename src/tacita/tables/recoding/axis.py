"""One attribute as it occurs: its distinct true values in a fixed order, and the code of each.

Unlike the bins of a domain, which are public and coarse, an axis has one code for each value that occurs. Values are
compared by their meaning: numbers by their value (`1`, `1.0` and `01` are equal), dates by their day, booleans by their
truth value, all others as text. A text that is no level of its categorical attribute becomes `(other)`: the schema
withholds it, and a label must not name it. A missing value (null, NaN, or a text in `Domain.nulls`) has a code of its
own and comes first. The order does not depend on the rows: numbers and dates ascend, levels of an ordinal attribute are
in their declared order, texts are sorted.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tacita.domain import Attribute, Boolean, Categorical, Date, Numeric, Ordinal
from tacita.domain.encode import FALSE, TRUE, check_type, read_text
from tacita.errors import DataError

__all__ = ["MISSING", "OTHER", "Axis", "AxisKind", "Key", "hold_back", "level_texts", "read_keys"]

MISSING = "(missing)"
OTHER = "(other)"
AxisKind = Literal["number", "date", "order", "set"]
Key = float | int | str | None
"""A value by what it means: a number, days since 1970, a text; None when it is missing."""
Codes = NDArray[np.int32]
EPOCH = dt.date(1970, 1, 1)
_EXACT = 2**53  # whole numbers up to here are the same as floats


@dataclass(frozen=True, kw_only=True, eq=False)
class Axis:
    """The values of one attribute.

    Attributes:
        name: The attribute.
        kind: How the values lie: on a line (numbers, dates), in an order (levels), or in no order (a set).
        keys: One value for each code.
    """

    name: str
    kind: AxisKind
    keys: tuple[Key, ...]

    def __len__(self) -> int:
        return len(self.keys)

    @property
    def has_missing(self) -> bool:
        """Whether the first code means missing."""
        return bool(self.keys) and None in self.keys

    @cached_property
    def line(self) -> NDArray[np.float64]:
        """Position of each code. Missing lies a whole width away: a class that holds it spans the whole range."""
        if self.kind in ("order", "set"):
            places = [float(place) for place in range(len(self) - self.has_missing)]
        else:
            places = [float(key) for key in self.keys if key is not None]
        width = (max(places) - min(places)) if places else 0.0
        missing = (min(places) if places else 0.0) - (width or 1.0)
        present = iter(places)
        return np.array([missing if key is None else next(present) for key in self.keys])

    @property
    def width(self) -> float:
        """Range from the lowest value that occurs to the highest; 1 when the values differ only in being missing."""
        present = self.line[[key is not None for key in self.keys]]
        width = float(present.max() - present.min()) if len(present) else 0.0
        return width or (1.0 if len(self) > 1 else 0.0)

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """Text of each value."""
        return tuple(self._text(key) for key in self.keys)

    def _text(self, key: Key) -> str:
        if key is None:
            return MISSING
        if self.kind == "date":
            return (EPOCH + dt.timedelta(days=int(key))).isoformat()
        return str(key)

    @classmethod
    def of(cls, attribute: Attribute, keys: Iterable[Key], *, order: Sequence[Key] | None = None) -> Axis:
        """The axis of some values.

        Args:
            attribute: What is public about it.
            keys: The values that occur, in any order.
            order: An order of one's own, which must hold all of them.
        """
        found = set(keys)
        present = found - {None}
        if order is not None:
            return cls(name=attribute.name, kind=_kind(attribute), keys=tuple(k for k in order if k in found))
        if isinstance(attribute, Ordinal):
            ordered: list[Key] = [level for level in attribute.levels if level in present]
        else:
            ordered = sorted(present)  # type: ignore[type-var]
        return cls(name=attribute.name, kind=_kind(attribute), keys=(None,) * (None in found) + tuple(ordered))

    @cached_property
    def _places(self) -> dict[Key, int]:
        return {key: code for code, key in enumerate(self.keys)}

    def encode(self, indices: NDArray[np.int64], keys: Sequence[Key]) -> Codes:
        """Return the codes of rows, given the index of each row's value; -1 for a value that is not on the axis."""
        places = np.array([self._places.get(key, -1) for key in keys], np.int32)
        return places[indices]

    def as_dict(self) -> dict[str, Any]:
        """Plain data. It holds values as they are: for the owner of the data."""
        return {"name": self.name, "kind": self.kind, "keys": list(self.keys)}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Axis:
        """The axis that `as_dict` wrote."""
        return cls(name=data["name"], kind=data["kind"], keys=tuple(data["keys"]))


def _kind(attribute: Attribute) -> AxisKind:
    if isinstance(attribute, Numeric):
        return "number"
    if isinstance(attribute, Date):
        return "date"
    return "order" if isinstance(attribute, Ordinal) else "set"


# -- reading -------------------------------------------------------------------------------------------------------


def read_keys(
    attribute: Attribute, column: pa.Array | pa.ChunkedArray, nulls: Sequence[str]
) -> tuple[NDArray[np.int64], list[Key]]:
    """Return the index of each row's value, and the distinct values (several of which may mean the same).

    An out-of-domain value (a word in a column of numbers, an undeclared level of an order) is refused: it has no
    position among the others. The error does not reveal the value.
    """
    check_type(attribute, column.type)
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if pa.types.is_dictionary(column.type):
        distinct = column.dictionary
        used = column.indices
    elif pa.types.is_floating(column.type) and isinstance(attribute, Numeric):
        return _floats(attribute, column)
    else:
        encoded = column.dictionary_encode()
        distinct, used = encoded.dictionary, encoded.indices
    absent, levels = frozenset(nulls), frozenset(attribute.labels if isinstance(attribute, Categorical) else ())
    keys: list[Key] = [_read(attribute, value, absent, levels) for value in _values(distinct)]
    indices = pc.fill_null(used.cast(pa.int64()), len(keys)).to_numpy(zero_copy_only=False)
    return np.asarray(indices), [*keys, None]


def hold_back(attribute: Attribute, column: pa.Array, nulls: Sequence[str]) -> pa.Array:
    """A column that is released as it is, with `(other)` for texts that are no levels of a categorical attribute."""
    if not isinstance(attribute, Categorical):
        return column
    indices, keys = read_keys(attribute, column, nulls)
    kept_back = np.array([key == OTHER for key in keys])[indices]
    return _texts(indices, keys) if kept_back.any() else column


def level_texts(attribute: Attribute, column: pa.Array, nulls: Sequence[str]) -> pa.Array:
    """A column of a categorical attribute as texts, `(other)` for those that are no levels."""
    return _texts(*read_keys(attribute, column, nulls))


def _texts(indices: NDArray[np.int64], keys: Sequence[Key]) -> pa.Array:
    texts = [None if key is None else str(key) for key in keys]
    return pa.array(texts, pa.string()).take(pa.array(indices))


def _floats(attribute: Attribute, column: pa.Array) -> tuple[NDArray[np.int64], list[Key]]:
    line = column.cast(pa.float64()).to_numpy(zero_copy_only=False)  # null becomes NaN
    if np.isinf(line).any():
        raise _misfit(attribute)
    values, indices = np.unique(line, return_inverse=True)
    return indices.astype(np.int64), [None if math.isnan(value) else _number(value) for value in values.tolist()]


def _values(distinct: pa.Array) -> list[Any]:
    kind = distinct.type
    text = pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    if text or pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return list(distinct.cast(pa.large_binary()).to_pylist())
    if pa.types.is_timestamp(kind):
        distinct = distinct.cast(pa.timestamp(kind.unit, "UTC")) if kind.tz else distinct
        return list(pc.floor_temporal(distinct, unit="day").cast(pa.date32()).to_pylist())
    return list(distinct.to_pylist())


def _read(attribute: Attribute, value: Any, nulls: frozenset[str], levels: frozenset[str]) -> Key:
    if isinstance(value, bytes):
        value = read_text(value)
        if value is None and not isinstance(attribute, Categorical):
            raise _misfit(attribute)
        value = OTHER if value is None else value
    if value is None or (isinstance(value, str) and value in nulls):
        return None
    if isinstance(attribute, Categorical):
        text = _as_text(attribute, value)
        return text if text in levels else OTHER
    try:
        reader: Callable[[Any, Any], Key] = _READERS.get(type(attribute), _as_text)
        return reader(attribute, value)
    except (ValueError, OverflowError):
        raise _misfit(attribute) from None


def _misfit(attribute: Attribute) -> DataError:
    return DataError(
        f"a value is out of domain for a {attribute.kind} attribute",
        field=attribute.name,
        hint="Correct the data or the schema; `nulls` lists the texts that mean missing",
    )


def _number(value: float) -> Key:
    if not math.isfinite(value):
        raise ValueError
    return int(value) if value.is_integer() and abs(value) <= _EXACT else value


def _as_number(_: Attribute, value: Any) -> Key:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    number = float(value)
    return None if math.isnan(number) else _number(number)


def _as_day(_: Attribute, value: Any) -> Key:
    if isinstance(value, str):
        value = dt.date.fromisoformat(value.strip()[:10])
    return int((value - EPOCH).days)


def _as_truth(_: Attribute, value: Any) -> Key:
    text = str(value).lower()
    if text not in (*TRUE, *FALSE):
        raise ValueError
    return "true" if text in TRUE else "false"


def _as_level(attribute: Attribute, value: Any) -> Key:
    text = _as_text(attribute, value)
    if text not in attribute.labels:
        raise ValueError
    return text


def _as_text(_: Attribute, value: Any) -> Key:
    return str(value).lower() if isinstance(value, bool) else str(value)


_READERS: dict[Any, Callable[[Any, Any], Key]] = {
    Numeric: _as_number,
    Date: _as_day,
    Boolean: _as_truth,
    Ordinal: _as_level,
}
