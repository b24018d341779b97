"""Bars of estimates with their intervals, for values of any sign and size."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence

from tacita.common.number_text import number
from tacita.figures.charts import Interval

__all__ = ["MOST_BARS", "estimate_bars"]

MOST_BARS = 60
_CENTRED = 0.02  # of a half-width, up to which a value counts as the middle
_ROW, _LEFT, _WIDTH, _NUMBERS = 24, 190, 420, 190


def estimate_bars(rows: Sequence[Interval], *, share: bool = False, title: str = "") -> str:
    """Draw a bar from 0 to each value, with its interval as a line where there is one.

    Args:
        rows: Values; the first ones are drawn.
        share: Whether they are shares, written in per cent.
        title: Description for screen readers.
    """
    rows = rows[:MOST_BARS]
    ends = [each for row in rows for each in (row.value, row.low, row.high) if each is not None and math.isfinite(each)]
    low, high = min([0.0, *ends]), max([0.0, *ends])
    scale = _WIDTH / max(high - low, 1e-12)

    def x(value: float) -> float:
        return float(_LEFT + (min(max(value, low), high) - low) * scale)

    parts = []
    for index, row in enumerate(rows):
        y = index * _ROW + 4
        parts.append(f'<text x="{_LEFT - 8}" y="{y + 13}" text-anchor="end">{html.escape(row.label[:28])}</text>')
        text = "unknown"
        if math.isfinite(row.value):
            text = number(row.value, share=share)
            start, end = sorted((x(0), x(row.value)))
            width = max(end - start, 0.5)
            parts.append(f'<rect class="bar" x="{start:.1f}" y="{y}" width="{width:.1f}" height="16" rx="2"/>')
        if row.low is not None and row.high is not None and math.isfinite(row.high - row.low + row.value):
            text += _range(row.value, row.low, row.high, share)
            parts.append(_error_bar(x(row.low), x(row.high), y))
        parts.append(f'<text class="num" x="{_LEFT + _WIDTH + 10}" y="{y + 13}">{text}</text>')
    height = len(rows) * _ROW + 6
    axis = f'<line class="axis" x1="{x(0):.1f}" x2="{x(0):.1f}" y1="0" y2="{height}"/>'
    return (
        f'<svg viewBox="0 0 {_LEFT + _WIDTH + _NUMBERS} {height}" role="img" aria-label="{html.escape(title)}">'
        f"{axis}{''.join(parts)}</svg>"
    )


def _range(value: float, low: float, high: float, share: bool) -> str:
    """The half-width where the value is in the middle, else both ends."""
    half = (high - low) / 2
    if abs(value - low - half) <= _CENTRED * half:
        return f" ± {number(half, share=share)}"
    return f" ({number(low, share=share)} to {number(high, share=share)})"


def _error_bar(low: float, high: float, y: int) -> str:
    lines = [(low, high, y + 8, y + 8), (low, low, y + 4, y + 12), (high, high, y + 4, y + 12)]
    return "".join(f'<line class="err" x1="{a:.1f}" x2="{b:.1f}" y1="{c}" y2="{d}"/>' for a, b, c, d in lines)
