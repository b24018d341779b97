"""Simulated people of four kinds, on whom methods are tried before any data is read.

    even      numbers about the middle of their bounds, mixed a little
    spread    numbers all over their bounds
    piled     numbers near one end of their bounds, with little information
    flags     one end or the other; a third of them carry all the information, and much

Except in `even`, columns are correlated through one hidden trait. A target follows the columns up to noise.
"""

from __future__ import annotations

import math
from typing import Literal, get_args

import numpy as np
from scipy.special import ndtr

from tacita.learn.feature_map import Points, Task

__all__ = ["KINDS", "PointKind", "simulate_points"]

PointKind = Literal["even", "spread", "piled", "flags"]
KINDS: tuple[PointKind, ...] = get_args(PointKind)

# the middle of the target, its spread, and its correlation with the linear predictor
_TARGETS: dict[PointKind, tuple[float, float, float]] = {
    "even": (0.15, 0.25, 0.8),
    "spread": (-0.1, 0.3, 0.7),
    "piled": (-0.3, 0.2, 0.6),
    "flags": (0.0, 0.3, 0.9),
}


def simulate_points(kind: PointKind, rows: int, columns: int, task: Task, rng: np.random.Generator) -> Points:
    """Rows with features and target from -1 to 1."""
    own, slopes = rng.normal(size=(rows, columns)), rng.normal(size=columns)
    hung = own + rng.normal(size=(rows, 1)) * rng.normal(0, 0.6, columns)
    if kind == "even":
        x = 0.3 * own @ (np.eye(columns) + 0.3 * rng.normal(size=(columns, columns)) / math.sqrt(columns))
    elif kind == "spread":
        x = 2 * ndtr(hung) - 1
    elif kind == "piled":
        x = 0.25 * np.exp(0.6 * hung) - 1
    else:
        x = np.where(hung > rng.normal(0, 0.5, columns), 1.0, -1.0)
        slopes = slopes * (rng.permutation(columns) < math.ceil(columns / 3))
    x = np.clip(x, -1, 1)
    middle, width, strength = _TARGETS[kind]
    signal = (x - x.mean(axis=0)) / np.maximum(x.std(axis=0), 1e-9) @ slopes
    signal = strength * signal / max(float(signal.std()), 1e-9) + math.sqrt(1 - strength**2) * rng.normal(size=rows)
    y = np.clip(middle + width * signal, -1, 1) if task == "linear" else np.where(signal > -middle, 1.0, -1.0)
    return Points(x=x, y=y, outside=0)
