"""Rows as numbers for attacks and measures, read from a release of any form.

A released cell may be a value, a bin of the schema, or a label of a generalised class (17..24, {a, b}, a node of a
hierarchy, *). A label that allows several values is read as one of them, drawn uniformly: an attacker who has only the
release can assume no more.

    ordered attributes    position on a line: the number, the day, the index of the level; NaN where missing
    others                the code of the level; -1 where missing or unknown

Text is read as the schema reads it, with its spellings of missing and of yes and no. An out-of-domain value is unknown
if the schema has a bucket for such values, and refused if it has none. A number that is not finite is missing.
"""

from __future__ import annotations

import datetime as dt
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tacita.domain import Attribute, Binned, Boolean, Date, Domain, Ordinal
from tacita.domain.encode import FALSE, TRUE, days_of
from tacita.errors import DataError, InvalidInput
from tacita.tables.recoding import MISSING, OTHER
from tacita.tables.recoding.axis import EPOCH

__all__ = ["Frame", "Hierarchy", "Labels", "read_frame", "write_frame"]

Hierarchy = Mapping[str, Sequence[str]]
"""The levels under each node."""

_OR_MISSING = f"{MISSING} or "
_RANGE = re.compile(r"^(?P<low>.+?)\.\.(?P<high>.+)$")


@dataclass(frozen=True, kw_only=True, eq=False)
class Labels:
    """Cells of an attribute as they were written, for those who compare a value with all that a label allows.

    Attributes:
        rows: The index of each row's label.
        allowed: For each label, the values that it allows: an array, or (low, high, 1 if only whole numbers).
        missing: For each label, whether it allows a missing value.
        ordered: Whether values are positions on a line, where NaN is missing; otherwise codes, where -1 is.
    """

    rows: NDArray[np.int64]
    allowed: tuple[Any, ...]
    missing: NDArray[np.bool_]
    ordered: bool

    def fits(self, values: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return, for each label and value, whether the label allows it."""
        absent = np.isnan(values) if self.ordered else values == -1
        found = np.empty((len(self.allowed), len(values)), bool)
        for label, (allowed, missing) in enumerate(zip(self.allowed, self.missing, strict=True)):
            if isinstance(allowed, np.ndarray):
                inside = np.isin(values, allowed)
            else:
                inside = (values >= allowed[0]) & (values <= allowed[1])  # false where a value is missing
            found[label] = inside | (missing & absent)
        return found


@dataclass(frozen=True, kw_only=True, eq=False)
class Frame:
    """Rows over some attributes of a domain.

    Attributes:
        domain: Public description of the attributes, in the order of the columns.
        values: One row for each record; see the module.
        labels: For each attribute in which some cell allowed several values, one of which was drawn, its cells.
    """

    domain: Domain
    values: NDArray[np.float64]
    labels: Mapping[str, Labels] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.values.ndim != 2 or self.values.shape[1] != len(self.domain.names):
            raise InvalidInput("must have a column for each attribute", field="values", value=self.values.shape)
        values = np.ascontiguousarray(self.values, np.float64)
        values.setflags(write=False)
        object.__setattr__(self, "values", values)

    def __len__(self) -> int:
        return len(self.values)

    @property
    def names(self) -> tuple[str, ...]:
        """The attributes."""
        return self.domain.names

    @property
    def opened(self) -> frozenset[str]:
        """Attributes in which some cell allowed several values."""
        return frozenset(self.labels)

    @property
    def open_cells(self) -> bool:
        """Whether any cell allowed several values."""
        return bool(self.opened)

    @cached_property
    def ordered(self) -> NDArray[np.bool_]:
        """Whether each column is ordered."""
        return np.array([_ordered(attribute) for attribute in self.domain.attributes])

    @cached_property
    def widths(self) -> NDArray[np.float64]:
        """Largest distance of two values of each attribute, by the schema; 1 for those without an order."""
        return np.array([_width(attribute) for attribute in self.domain.attributes])

    @cached_property
    def lows(self) -> NDArray[np.float64]:
        """Least value of each attribute, by the schema."""
        return np.array([float(getattr(each, "line_bounds", (0.0,))[0]) for each in self.domain.attributes])

    @cached_property
    def codes(self) -> NDArray[np.int64]:
        """Cells of the schema: bins, levels; -1 where missing or unknown."""
        columns = []
        for place, attribute in enumerate(self.domain.attributes):
            column = self.values[:, place]
            if isinstance(attribute, Binned):
                low, high = attribute.line_bounds
                clamped = np.clip(np.nan_to_num(column, nan=low), low, high)
                bins = np.searchsorted(np.asarray(attribute.starts), clamped, side="right") - 1
                columns.append(np.where(np.isnan(column), -1, bins))
            else:
                columns.append(np.nan_to_num(column, nan=-1).astype(np.int64))
        return np.stack(columns, axis=1).astype(np.int64)

    def column(self, name: str) -> NDArray[np.float64]:
        """One attribute."""
        return self.values[:, self.place(name)]

    def place(self, name: str) -> int:
        """Return the column index of an attribute."""
        return self.names.index(self.domain[name].name)

    def places(self, names: Sequence[str]) -> list[int]:
        """Return the column indices of some attributes."""
        return [self.place(name) for name in names]

    def take(self, rows: Any) -> Frame:
        """Some rows."""
        labels = {name: replace(each, rows=each.rows[rows]) for name, each in self.labels.items()}
        return Frame(domain=self.domain, values=self.values[rows], labels=labels)

    def only(self, names: Sequence[str]) -> Frame:
        """Some attributes."""
        domain = self.domain.project(names)
        labels = {name: self.labels[name] for name in domain.names if name in self.labels}
        return Frame(domain=domain, values=self.values[:, self.places(names)], labels=labels)


def _ordered(attribute: Attribute) -> bool:
    return isinstance(attribute, Binned | Ordinal)


def _width(attribute: Attribute) -> float:
    if isinstance(attribute, Binned):
        low, high = attribute.line_bounds
        return float(high - low) or 1.0
    return float(max(len(attribute.labels) - 1, 1)) if isinstance(attribute, Ordinal) else 1.0


# -- reading ----------------------------------------------------------------------------------------------------------


def read_frame(
    domain: Domain,
    table: pa.Table,
    *,
    names: Sequence[str] | None = None,
    hierarchies: Mapping[str, Hierarchy] | None = None,
    rng: np.random.Generator | None = None,
    nulls: Sequence[str] | None = None,
) -> Frame:
    """Read the rows of a table, real or released.

    Args:
        domain: The schema.
        table: Holds a column for each requested attribute; others are ignored.
        names: The attributes; by default all columns that can be counted.
        hierarchies: For each attribute, the levels under each node that may occur in it.
        rng: For labels that allow several values.
        nulls: Texts that mean missing; by default those of the schema.
    """
    wanted = domain.countable if names is None else domain.check_countable(names)
    if names is None:
        wanted = tuple(name for name in wanted if name in table.column_names)
    absent = [name for name in wanted if name not in table.column_names]
    if absent or not wanted:
        raise DataError("must have the columns of the schema", field="table", value=", ".join(absent) or None)
    rng = rng or np.random.default_rng(0)
    absences = frozenset(domain.nulls if nulls is None else nulls)
    columns = [_column(domain[name], table[name], (hierarchies or {}).get(name, {}), rng, absences) for name in wanted]
    return Frame(
        domain=domain.project(wanted),
        values=np.stack([column for column, _ in columns], axis=1),
        labels={name: labels for name, (_, labels) in zip(wanted, columns, strict=True) if labels is not None},
    )


def write_frame(frame: Frame) -> pa.Table:
    """Return the rows as a table that the schema can read; missing and unknown values are null."""
    columns = {}
    for attribute in frame.domain.attributes:
        column = frame.column(attribute.name)
        if isinstance(attribute, Date):
            days = pa.array(np.nan_to_num(column).astype(np.int32), mask=np.isnan(column))
            columns[attribute.name] = days.cast(pa.date32())
        elif isinstance(attribute, Binned):
            columns[attribute.name] = pa.array(column, mask=np.isnan(column))
        else:
            codes = np.nan_to_num(column, nan=-1).astype(np.int64)
            columns[attribute.name] = pa.array(attribute.labels).take(pa.array(codes, mask=codes < 0))
    return pa.table(columns)


def _column(
    attribute: Attribute,
    column: pa.ChunkedArray,
    hierarchy: Hierarchy,
    rng: np.random.Generator,
    nulls: frozenset[str],
) -> tuple[NDArray[np.float64], Labels | None]:
    """Return the values, and the labels if a cell allowed several."""
    kind = column.type
    if isinstance(attribute, Binned):
        if isinstance(attribute, Date) and (pa.types.is_date(kind) or pa.types.is_timestamp(kind)):
            return days_of(column.combine_chunks()), None
        if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
            line = np.asarray(column.cast(pa.float64(), safe=False).to_numpy(), np.float64)
            return np.where(np.isfinite(line), line, np.nan), None
    encoded = column.cast(pa.string()).combine_chunks().dictionary_encode()
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.combine_chunks()
    texts = encoded.dictionary.to_pylist()
    readings = [_read(attribute, text, hierarchy, nulls) for text in texts]
    several = any(map(_several, readings)) or any(text.startswith(_OR_MISSING) for text in texts)
    readings.append(np.array([np.nan if _ordered(attribute) else -1.0]))  # null
    indices = pc.fill_null(encoded.indices.cast(pa.int64()), len(readings) - 1).to_numpy(zero_copy_only=False)
    drawn = _drawn(readings, indices, rng)
    if not several:
        return drawn, None
    missing = [text in nulls or text in (MISSING, "*") or text.startswith(_OR_MISSING) for text in texts]
    return drawn, Labels(
        rows=indices,
        allowed=tuple(readings),
        missing=np.array([*missing, True]),
        ordered=_ordered(attribute),
    )


def _several(reading: Any) -> bool:
    """Return whether a text allows more than one value."""
    return bool(len(np.unique(reading)) > 1 if isinstance(reading, np.ndarray) else reading[1] > reading[0])


def _drawn(readings: list[Any], indices: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.float64]:
    """Draw one of the values that each row's text allows."""
    sizes = np.array([len(reading) if isinstance(reading, np.ndarray) else 0 for reading in readings])
    spans = np.array([(0.0, 0.0, 0.0) if isinstance(reading, np.ndarray) else reading for reading in readings])
    flat = np.concatenate([reading if isinstance(reading, np.ndarray) else np.zeros(0) for reading in readings])
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    uniform = rng.random(len(indices)) if (sizes != 1).any() else np.zeros(len(indices))
    size = sizes[indices]
    listed = flat[np.minimum(starts[indices] + (uniform * size).astype(np.int64), max(len(flat) - 1, 0))]
    low, high, whole = spans[indices].T
    line = low + uniform * (high + whole - low)
    return np.asarray(np.where(size > 0, listed, np.where(whole > 0, np.floor(line), line)))


def _read(attribute: Attribute, text: str, hierarchy: Hierarchy, nulls: frozenset[str]) -> Any:
    """Return the values that a text allows: an array, or (low, high, 1 if only whole numbers lie between)."""
    missing = np.array([np.nan if _ordered(attribute) else -1.0])
    if text in nulls or text == MISSING:
        return missing
    if text.startswith(_OR_MISSING):
        return _read(attribute, text.removeprefix(_OR_MISSING), hierarchy, nulls)
    if text in hierarchy:
        return np.concatenate([_read(attribute, level, {}, nulls) for level in hierarchy[text]])
    found = _on_line(attribute, text) if isinstance(attribute, Binned) else _levels(attribute, text)
    if found is None and (attribute.other or attribute.missing) and not _generalised(attribute, text):
        return missing
    if found is None:
        hint = "A release may hold values, bins of the schema, ranges and sets; give the hierarchy of other labels"
        raise DataError("has a text that cannot be read", field=attribute.name, hint=hint)
    return found


def _generalised(attribute: Attribute, text: str) -> bool:
    """Return whether a text is written as a label of several values, and not as an out-of-domain value."""
    return text[:1] + text[-1:] == "{}" or bool(_ordered(attribute) and _RANGE.match(text))


def _on_line(attribute: Any, text: str) -> Any:
    whole = float(isinstance(attribute, Date) or attribute.integer)
    low, high = attribute.line_bounds
    if text == "*":
        return (low, high, whole)
    if text in attribute.labels:
        place = attribute.labels.index(text)
        last = place + 1 == len(attribute.starts)
        return (attribute.starts[place], high if last else attribute.starts[place + 1] - whole, whole)
    value = _number(attribute, text)
    if value is not None:
        return np.array([value])
    ends = _RANGE.match(text)
    if ends is None:
        return None
    first, last_value = _number(attribute, ends["low"]), _number(attribute, ends["high"])
    known = first is not None and last_value is not None and math.isfinite(first) and math.isfinite(last_value)
    return (first, last_value, whole) if known else None


def _number(attribute: Any, text: str) -> float | None:
    """Parse a whole text as a number; NaN where it is not finite."""
    try:
        if isinstance(attribute, Date):
            return float((dt.date.fromisoformat(text.strip()) - EPOCH).days)
        value = float(text)
        return value if math.isfinite(value) else math.nan
    except ValueError:
        return None


def _levels(attribute: Attribute, text: str) -> NDArray[np.float64] | None:
    labels = list(attribute.labels)
    if isinstance(attribute, Boolean) and text.lower() in (*FALSE, *TRUE):
        return np.array([float(text.lower() in TRUE)])
    if text in labels:
        return np.array([float(labels.index(text))])
    if text == "*":
        return np.arange(len(labels), dtype=np.float64)
    if text.startswith('"'):
        return _levels(attribute, str(json.loads(text)))
    if text.startswith("{") and text.endswith("}"):
        parts = [_levels(attribute, part) for part in _split(text[1:-1])]
        return (
            None
            if any(part is None for part in parts)
            else np.concatenate([part for part in parts if part is not None])
        )
    ends = _RANGE.match(text)
    if ends is not None and isinstance(attribute, Ordinal) and {ends["low"], ends["high"]} <= set(labels):
        return np.arange(labels.index(ends["low"]), labels.index(ends["high"]) + 1, dtype=np.float64)
    return np.array([-1.0]) if text in (*attribute.all_labels, MISSING, OTHER) else None


def _split(text: str) -> list[str]:
    """Split the members of a set: separated by commas, quoted as JSON where ambiguous."""
    return re.findall(r'"(?:[^"\\]|\\.)*"|[^,\s][^,]*', text)
