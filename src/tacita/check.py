"""Checks of arguments, each with one wording of its error.

check.whole(self.k, "k", least=1)
check.positive(self.bandwidth, "bandwidth")
check.inside(self.share, "share", 0, 1)
check.one_of(self.method, "method", METHODS)
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from tacita.errors import InvalidInput

__all__ = ["inside", "one_of", "positive", "whole"]


def whole(
    value: Any, field: str, *, least: int, most: int | None = None, optional: bool = False, hint: str | None = None
) -> None:
    """Refuse a value that is not an integer from `least` to `most`; with `optional`, None is allowed.

    >>> whole(3, "k", least=1)
    >>> whole(None, "k", least=1, optional=True)
    >>> whole(True, "k", least=1)
    Traceback (most recent call last):
    tacita.errors.InvalidInput: k: must be a whole number of at least 1, got 'True'
    """
    if optional and value is None:
        return
    if type(value) is not int or value < least or (most is not None and value > most):
        rule = f"of at least {least}" if most is None else f"from {least} to {most}"
        raise InvalidInput(f"must be a whole number {rule}", field=field, value=value, hint=hint)


def positive(value: Any, field: str) -> None:
    """Refuse a value that is not a positive and finite number.

    >>> positive(0.5, "scale")
    """
    if not _within(value, 0, math.inf):
        raise InvalidInput("must be positive and finite", field=field, value=value)


def inside(value: Any, field: str, low: float, high: float) -> None:
    """Refuse a value that is not a number strictly between two others.

    >>> inside(0.5, "share", 0, 1)
    """
    if not _within(value, low, high):
        raise InvalidInput(f"must lie strictly between {low:g} and {high:g}", field=field, value=value)


def one_of(value: Any, field: str, options: Iterable[str]) -> None:
    """Refuse a value that is not among some names.

    >>> one_of("cart", "backend", ["linear", "cart"])
    """
    names = list(options)
    if value not in names:
        raise InvalidInput(f"must be one of {', '.join(names)}", field=field, value=value)


def _within(value: Any, low: float, high: float) -> bool:
    try:
        return not isinstance(value, bool) and bool(low < value < high)
    except TypeError:
        return False
