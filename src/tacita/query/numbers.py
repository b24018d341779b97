"""Values as numbers between public bounds, and the bounds that are public.

Every value of a column gets a number or none: what is missing, undeclared or no number is NaN and is left out, and what
lies beyond the bounds is moved to them. So reading never fails on a row, and what it gives lies where the schema says.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tacita.domain import Attribute, Boolean, Date, Domain, Numeric
from tacita.domain.encode import encode
from tacita.domain.line import points_of
from tacita.errors import InvalidInput

_FAR = 1e100

__all__ = [
    "Array",
    "Bounds",
    "Measurable",
    "bounds_of",
    "check_reach",
    "is_whole",
    "measurable",
    "numbers",
    "presence",
]

Array = npt.NDArray[np.float64]
Bounds = tuple[float, float]
Measurable = Numeric | Date | Boolean


def measurable(domain: Domain, name: str, bounds: Bounds | None = None) -> Measurable:
    """The attribute as something that has numbers, within the schema's bounds or others that are given as public."""
    attribute = domain[name]
    if not isinstance(attribute, Numeric | Date | Boolean):
        raise InvalidInput(
            "has no public bounds, so that nothing limits what one person adds",
            field=name,
            value=attribute.kind,
            hint="Declare it as numeric with bounds, or count it",
        )
    if bounds is None:
        if isinstance(attribute, Numeric):
            check_reach(name, *attribute.line_bounds)
        return attribute
    low, high = (float(end) for end in bounds)
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise InvalidInput("must be finite and rising", field=f"bounds of {name}", value=[low, high])
    check_reach(name, low, high)
    if not isinstance(attribute, Numeric):
        raise InvalidInput("only numbers can have other bounds than the schema's", field=name, value=attribute.kind)
    whole = attribute.integer and low.is_integer() and high.is_integer()
    return Numeric(name=name, bounds=(low, high), bins=1, integer=whole, missing=True, other=True)


def check_reach(name: str, low: float, high: float) -> None:
    """Refuse bounds whose squares no float holds, before anything is charged."""
    if max(abs(low), abs(high)) > _FAR or high - low < 1 / _FAR:
        rule = f"must lie within {_FAR:g} of 0 and {1 / _FAR:g} apart at least"
        raise InvalidInput(rule, field=f"bounds of {name}", value=[low, high])


def bounds_of(attribute: Measurable) -> Bounds:
    """The least and the largest number; days since 1970-01-01 for a date, 0 and 1 for a boolean."""
    return (0.0, 1.0) if isinstance(attribute, Boolean) else attribute.line_bounds


def is_whole(attribute: Measurable) -> bool:
    """Whether all its numbers are whole."""
    return not isinstance(attribute, Numeric) or attribute.integer


def numbers(attribute: Measurable, values: pa.Array | pa.ChunkedArray, nulls: tuple[str, ...] = ("",)) -> Array:
    """The number of each value, NaN where there is none.

    >>> numbers(Numeric(name="x", bounds=(0, 10), bins=1), pa.array(["3", "", "12", "many"])).tolist()
    [3.0, nan, 10.0, nan]
    """
    if isinstance(attribute, Boolean):
        codes = encode(attribute, values, nulls)
        return np.where(codes < 2, codes, np.nan)
    return points_of(attribute, values, nulls)


def presence(attribute: Attribute, values: pa.Array | pa.ChunkedArray, nulls: tuple[str, ...] = ("",)) -> Array:
    """Zero for each value that is there, NaN for each that is missing or out of domain."""
    return np.where(encode(attribute, values, nulls) < len(attribute.labels) + attribute.other, 0.0, np.nan)
