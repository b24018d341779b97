"""Proposed bounds and bins of a number: round, beyond the data, and few.

round        steps of 1, 2, 2.5 or 5 times a power of ten, about ten of them
logarithmic  edges at 1, 2, 5, 10, 20, 50, …, for amounts whose largest values are far above most others
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

__all__ = ["log_edges", "round_edges", "round_outward"]

_LARGEST = 1e300  # bounds beyond it have no round numbers around them
_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
_MOST_BINS = 15


def round_outward(low: float, high: float, *, whole: bool) -> tuple[float, float]:
    """Bounds on round numbers around a range, never its ends; zero is a round number that says nothing.

    >>> round_outward(17.0, 90.0, whole=True), round_outward(0.0, 9.5, whole=False)
    ((10.0, 100.0), (0.0, 10.0))
    """
    low, high = max(low, -_LARGEST), min(high, _LARGEST)
    span = high - low or abs(high) or 1.0
    # no finer than the numbers are themselves
    step = 10.0 ** max(math.floor(math.log10(max(span, max(abs(low), abs(high)) * 1e-12))), -300)
    step = max(step, 1.0) if whole else step
    start, end = _plain(math.floor(low / step) * step), _plain(math.ceil(high / step) * step)
    start = start - step if start == low != 0 else start
    end = end + step if end == high != 0 else end
    return (start, end) if start < end else (start, start + step)


def round_edges(low: float, high: float, *, whole: bool) -> tuple[float, ...] | None:
    """Edges of about ten bins of a round width; None where floats are too coarse for them.

    >>> round_edges(10, 100, whole=True)
    (10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 100.0)
    """
    size = 10.0 ** math.floor(math.log10((high - low) / 10))
    for factor in _STEPS:
        step = factor * size
        if whole and not step.is_integer():
            continue
        first, last = math.ceil(low / step), math.floor(high / step)
        if (high - low) / step <= _MOST_BINS:
            near = step / 1000  # an edge that only rounding keeps apart from a bound
            inner = [_plain(at * step) for at in range(first, last + 1) if low + near < at * step < high - near]
            return _strictly([low, *inner, high])
    return None


def log_edges(high: float, *, whole: bool) -> tuple[float, ...]:
    """Edges from 0 in steps of 1, 2, 5 times powers of ten, over the four decades below the upper bound.

    >>> log_edges(1000, whole=True)
    (0.0, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0)
    """
    top = math.floor(math.log10(high))
    bottom = max(top - 3, 0) if whole else top - 3
    inner = [factor * 10.0**power for power in range(bottom, top + 1) for factor in (1, 2, 5)]
    return _strictly([0.0, *(edge for edge in inner if 0 < edge < high), high]) or (0.0, high)


def _plain(number: float) -> float:
    """A round number without what multiplication adds: 1.4 and not 1.4000000000000001."""
    short = float(f"{number:.14g}")
    return short if abs(short - number) <= 4 * math.ulp(number) else number


def _strictly(edges: Sequence[float]) -> tuple[float, ...] | None:
    """The edges, if they rise by more than floats round."""
    rising = all(b - a > abs(b) * 1e-9 for a, b in itertools.pairwise(edges))
    return tuple(float(edge) for edge in edges) if rising else None
