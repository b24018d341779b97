"""Dataclasses as plain data, for JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields
from fractions import Fraction
from typing import Any

__all__ = ["plain_fields"]


def plain_fields(value: Any) -> dict[str, Any]:
    """Return the fields of a dataclass as plain data, by name.

    Objects become what their `as_dict` returns, tuples lists, fractions texts; an infinite number becomes None.

    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Recipe:
    ...     columns: tuple[str, ...]
    ...     seconds: float = math.inf
    >>> plain_fields(Recipe(("age", "sex")))
    {'columns': ['age', 'sex'], 'seconds': None}
    """
    return {each.name: _plain(getattr(value, each.name)) for each in fields(value)}


def _plain(value: Any) -> Any:
    if hasattr(value, "as_dict"):
        return value.as_dict()
    if isinstance(value, tuple | list):
        return [_plain(part) for part in value]
    if isinstance(value, Mapping):
        return {name: _plain(part) for name, part in value.items()}
    if isinstance(value, Fraction):
        return str(value)
    return None if isinstance(value, float) and math.isinf(value) else value
