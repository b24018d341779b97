"""Numbers as text for readers."""

from __future__ import annotations

import math

__all__ = ["number"]


def number(value: float, *, share: bool = False, digits: int = 1) -> str:
    """Format a number for a reader; `digits` are those of a share in percent.

    >>> number(1234.5), number(0.1234, share=True)
    ('1,234', '12.3 %')
    """
    if not math.isfinite(value):
        return "unknown"
    if share:
        return f"{100 * value:.{digits}f} %"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:,.2f}".rstrip("0").rstrip(".")
