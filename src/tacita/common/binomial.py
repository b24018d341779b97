"""Exact confidence bounds of a binomial share, valid for every true share.  [Clopper, Pearson 1934]"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special

__all__ = ["clopper_pearson", "lower_end", "upper_end"]


def lower_end(successes: Any, trials: int, miss: float) -> Any:
    """Lower bound of the true share, wrong with probability at most `miss`; 0 without successes. Numbers or arrays."""
    counted = np.asarray(successes)
    found = special.betaincinv(np.maximum(counted, 1), trials - counted + 1, miss)
    return np.where(counted > 0, found, 0.0)


def upper_end(successes: Any, trials: int, miss: float) -> Any:
    """Upper bound of the true share, wrong with probability at most `miss`; 1 where all trials succeeded."""
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
