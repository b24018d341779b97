"""Arrays and frames as tables with public attributes; nothing about them is read off the values.

    NumPy arrays        columns x0, x1, ...                       bounds for each
    pandas, polars, Arrow, and other frames with an Arrow stream  columns by their names

    a column of       is declared by
    numbers           bounds={"age": (0, 120)}, one pair for all, or the schema
    true and false    its type
    texts             levels={"city": ["Bonn", "Ulm"]}, or the schema
    dates             the schema

What is not declared is refused with the lines to paste. A pandas category is no declaration: its categories were read
off the rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tacita.domain import Attribute, Boolean, Categorical, Domain, Numeric
from tacita.engines.local.files.frame import as_table
from tacita.errors import InvalidInput, UnknownName

__all__ = ["BINS", "as_frame", "as_target", "beyond", "declare", "in_order", "is_plain"]

BINS = 16
"""Of a number: trees split between them."""
_SHOWN = 8


def as_frame(X: Any) -> pa.Table | None:
    """The table of a frame; None for what has no names of columns."""
    if isinstance(X, pa.Table | pa.RecordBatch):
        return _usual(as_table(X))
    names = getattr(X, "columns", None)
    if names is None or not hasattr(X, "__arrow_c_stream__"):
        return None
    listed = list(names)
    if not all(isinstance(name, str) for name in listed):
        return None  # columns that are numbered: as an array
    if len(set(listed)) != len(listed):
        twice = next(name for name in listed if listed.count(name) > 1)
        raise InvalidInput("a column is there twice", field="X", value=twice)
    return _usual(as_table(X).select(listed))


def _usual(table: pa.Table) -> pa.Table:
    """The same with texts in the form that all of Arrow's functions take."""
    for at, field in enumerate(table.schema):
        if pa.types.is_string_view(field.type):
            table = table.set_column(at, field.name, table.column(at).cast(pa.string()))
    return table


def is_plain(X: Any, frame: pa.Table | None) -> bool:
    """Whether scikit-learn can check it as an array: no frame, or one of pandas that has numbers only."""
    if frame is None:
        return True
    return hasattr(X, "iloc") and all(_is_number(each.type) for each in frame.columns)


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def in_order(frame: pa.Table, names: Sequence[str]) -> pa.Table:
    """The columns that were there at fit, in that order; others and missing ones are refused by name."""
    missing = [name for name in names if name not in frame.column_names]
    unknown = [name for name in frame.column_names if name not in names]
    if missing or unknown:
        parts = [f"lacks {_listed(missing)}"] * bool(missing) + [f"has {_listed(unknown)}, unknown at fit"] * bool(
            unknown
        )
        raise InvalidInput(" and ".join(parts), field="X", hint="Give the columns of fit, in any order")
    return frame.select(list(names))


def declare(
    frame: pa.Table, *, bounds: Any, levels: Mapping[str, Sequence[Any]] | None, schema: Domain | None
) -> list[Attribute]:
    """The attribute of each column, from what a person declared."""
    names, known = frame.column_names, dict(levels or {})
    given = _by_name(names, bounds)
    for field, listed in (("levels", known), ("bounds", given)):
        for name in listed:
            if name not in names:
                raise UnknownName(name, field=field, available=names)
    found: list[Attribute] = []
    lacking: dict[str, pa.DataType] = {}
    for name in names:
        kind = frame.column(name).type
        if schema is not None and name in schema.names:
            if not schema[name].countable:
                raise InvalidInput("is an identifier, which no model may use", field=name, hint="Leave the column out")
            found.append(schema[name])
        elif name in known:
            found.append(Categorical(name=name, levels=tuple(_text(level) for level in known[name])))
        elif pa.types.is_boolean(kind):
            found.append(Boolean(name=name, missing=True))
        elif _is_number(kind) and name in given:
            low, high = (float(end) for end in given[name])
            found.append(Numeric(name=name, bounds=(low, high), bins=BINS, missing=True))
        else:
            lacking[name] = kind
    if lacking:
        rule = f"must be declared for {_listed(list(lacking))}: what is public is never read off the rows"
        field = "bounds" if all(_is_number(kind) for kind in lacking.values()) else "levels"
        raise InvalidInput(rule, field=field, hint=_to_paste(lacking))
    return found


def _by_name(names: Sequence[str], bounds: Any) -> dict[str, Any]:
    if bounds is None:
        return {}
    if isinstance(bounds, Mapping):
        return dict(bounds)
    ends = np.asarray(bounds, float)
    if ends.shape == (2,):
        return {name: ends.tolist() for name in names}
    if ends.shape != (len(names), 2):
        hint = "bounds={'age': (0, 120)}"
        raise InvalidInput(
            "must be one pair, one for each column, or by name", field="bounds", value=ends.shape, hint=hint
        )
    return dict(zip(names, ends.tolist(), strict=True))


def _to_paste(lacking: Mapping[str, pa.DataType]) -> str:
    numbers = [name for name, kind in lacking.items() if _is_number(kind)]
    dates = [name for name, kind in lacking.items() if pa.types.is_temporal(kind)]
    texts = [name for name in lacking if name not in (*numbers, *dates)]
    parts = []
    if numbers:
        parts.append("bounds={" + ", ".join(f"{name!r}: (low, high)" for name in numbers) + "}")
    if texts:
        parts.append("levels={" + ", ".join(f"{name!r}: ['...', '...']" for name in texts) + "}")
    if dates:
        parts.append("schema=Domain.read('schema.yaml') with the dates " + _listed(dates))
    return "Fill in public values: " + ", ".join(parts)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(repr(name) for name in names[:_SHOWN]) + (", …" if len(names) > _SHOWN else "")


def _text(level: Any) -> str:
    return str(level).lower() if isinstance(level, bool | np.bool_) else str(level)


def as_target(y: Any) -> tuple[Any, str | None]:
    """The target as an array, and its name where it has one."""
    name = getattr(y, "name", None)
    if isinstance(y, pa.Array | pa.ChunkedArray):
        y = np.array(y.to_pylist())
    elif hasattr(y, "to_numpy"):
        y = y.to_numpy()
    return y, name if isinstance(name, str) and name else None


def beyond(frame: pa.Table, attributes: Sequence[Attribute]) -> npt.NDArray[np.bool_]:
    """Rows with a number beyond its bounds."""
    found = np.zeros(frame.num_rows, np.bool_)
    for attribute in attributes:
        if isinstance(attribute, Numeric) and _is_number(frame.column(attribute.name).type):
            values = pc.cast(frame.column(attribute.name), pa.float64()).to_numpy()
            low, high = attribute.bounds
            found |= (values < low) | (values > high)
    return found
