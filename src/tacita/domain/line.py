"""Points of the number line from Arrow columns: values of numbers and dates, clipped to their public bounds.

Missing values and values that are no number are NaN; values beyond the bounds are moved to them. So reading never fails
on a row.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tacita.domain.attributes import Binned, Date, Numeric
from tacita.domain.encode import check_type, days_of, floats_of, parse_line, read_text

__all__ = ["points_of"]

Array = npt.NDArray[np.float64]


def points_of(attribute: Binned, values: pa.Array | pa.ChunkedArray, nulls: tuple[str, ...] = ("",)) -> Array:
    """The point of each value: a number, whole where the attribute is, or the days since 1970-01-01; NaN for none.

    >>> points_of(Numeric(name="x", bounds=(0, 10), bins=1), pa.array(["3", "", "12", "many"])).tolist()
    [3.0, nan, 10.0, nan]
    """
    check_type(attribute, values.type)
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    if pa.types.is_null(values.type):
        return np.full(len(values), np.nan)
    if not pa.types.is_dictionary(values.type) and not _has_numbers(values.type):
        values = values.dictionary_encode()  # text is read once for each distinct value
    if pa.types.is_dictionary(values.type):
        table = np.append(_of_distinct(attribute, values.dictionary, nulls), np.nan)
        places = pc.fill_null(values.indices.cast(pa.int64()), len(table) - 1).to_numpy(zero_copy_only=False)
        return np.asarray(table[places], np.float64)
    if isinstance(attribute, Date):
        return _within(attribute, days_of(values))
    return _within(attribute, floats_of(values))


def _has_numbers(kind: pa.DataType) -> bool:
    types = pa.types
    number = types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind) or types.is_boolean(kind)
    return bool(number or types.is_date(kind) or types.is_timestamp(kind))


def _of_distinct(attribute: Binned, distinct: pa.Array, nulls: tuple[str, ...]) -> Array:
    if _has_numbers(distinct.type):
        return points_of(attribute, distinct, nulls)
    texts = [None if raw is None else read_text(raw) for raw in distinct.cast(pa.large_binary()).to_pylist()]
    absent = set(nulls)
    line = [math.nan if text is None or text in absent else parse_line(attribute, text) for text in texts]
    found = np.array(line, np.float64)
    found[np.isinf(found)] = np.nan  # the reader's mark for text that is no number
    return _within(attribute, found)


def _within(attribute: Binned, line: Array) -> Array:
    whole = np.floor(line) if isinstance(attribute, Numeric) and attribute.integer else line
    return np.clip(whole, *attribute.line_bounds)
