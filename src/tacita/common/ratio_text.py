"""Ratios as text: `3/7`, `12`, `0.5`. A short hostile text can denote a number that fills the memory."""

from __future__ import annotations

import re
from fractions import Fraction

from tacita.errors import InvalidInput

__all__ = ["ratio_from_text"]

_RATIO = re.compile(r"[+-]?[0-9]{1,300}(?:\.[0-9]{1,300}|/[0-9]{1,300})?")  # within what a float can hold


def ratio_from_text(text: str) -> Fraction:
    """The ratio; without exponents, and of no more digits than a number has that means something.

    >>> ratio_from_text("3/6")
    Fraction(1, 2)
    """
    if not _RATIO.fullmatch(text):
        raise InvalidInput("must be a ratio such as 3/7, of at most 300 digits", field="ratio", value=text)
    return Fraction(text)
