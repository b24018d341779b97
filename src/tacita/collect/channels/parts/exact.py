"""Helpers of all channels: losses as logarithms of exact ratios, and a check of codes.

A channel knows the largest ratio between two inputs as a fraction of the integers it samples with. Its loss is the
logarithm of that fraction, to the nearest float and rounded outward.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacita.collect.channels.channel import MAX_LEVELS, _odds_below
from tacita.collect.device.draw import log_nearest, log_upper
from tacita.errors import InvalidInput

__all__ = ["ExactLoss", "check_codes", "check_levels", "exp_below"]


def exp_below(epsilon: float) -> Fraction:
    """A fraction just below e^epsilon: what is calibrated with it errs on the private side."""
    return 1 + _odds_below(epsilon)


class ExactLoss:
    """Reads both forms of the loss off one exact ratio."""

    @property
    def worst_ratio(self) -> Fraction:
        """The largest ratio between two inputs of the probability of one report."""
        raise NotImplementedError

    @cached_property
    def epsilon(self) -> float:
        """The exact local loss, to the nearest float."""
        return log_nearest(self.worst_ratio)

    @cached_property
    def epsilon_upper(self) -> float:
        """The exact local loss, rounded outward."""
        return log_upper(self.worst_ratio)


def check_levels(levels: int) -> None:
    """Refuse what is not a number of levels."""
    if type(levels) is not int or not 2 <= levels <= MAX_LEVELS:
        raise InvalidInput("must be an integer from 2 to 2**20", field="levels", value=levels)


def check_codes(values: NDArray[Any], levels: int, *, field: str) -> NDArray[np.int64]:
    """The values as integer codes 0 .. levels - 1 on one axis; a refusal never repeats a value."""
    codes = np.asarray(values)
    if codes.ndim != 1 or codes.dtype.kind not in "iu":
        raise InvalidInput("must be integer codes on one axis", field=field, value=f"{codes.dtype}, {codes.ndim} axes")
    if codes.size and not (codes.min() >= 0 and codes.max() < levels):
        row = int(np.flatnonzero((codes < 0) | (codes >= levels))[0])
        raise InvalidInput(
            f"must be codes from 0 to {levels - 1}",
            field=field,
            hint="Encode the attribute with its domain first",
            private=f"row {row}",
        )
    return codes.astype(np.int64)
