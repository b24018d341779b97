"""The exact ends of a share that was counted: they hold whatever the share is.  [Clopper, Pearson 1934]"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special

__all__ = ["clopper_pearson", "lower_end", "upper_end"]


def lower_end(successes: Any, trials: int, miss: float) -> Any:
    """Below the true share but for a chance of `miss`; 0 where nothing succeeded. Numbers or arrays of them."""
    counted = np.asarray(successes)
    found = special.betaincinv(np.maximum(counted, 1), trials - counted + 1, miss)
    return np.where(counted > 0, found, 0.0)


def upper_end(successes: Any, trials: int, miss: float) -> Any:
    """Above the true share but for a chance of `miss`; 1 where everything succeeded."""
    counted = np.asarray(successes)
    found = special.betaincinv(counted + 1, np.maximum(trials - counted, 1), 1 - miss)
    return np.where(counted < trials, found, 1.0)


def clopper_pearson(successes: int, trials: int, level: float = 0.95) -> tuple[float, float]:
    """The interval that holds the true share with at least this probability, whatever it is.

    >>> tuple(round(end, 4) for end in clopper_pearson(0, 10))
    (0.0, 0.3085)
    """
    miss = (1 - level) / 2
    return float(lower_end(successes, trials, miss)), float(upper_end(successes, trials, miss))
