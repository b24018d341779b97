"""Small charts as SVG text, for self-contained pages: no scripts, nothing fetched, printed as they are shown.

Colours come from the page's style: `--ink`, `--soft`, `--line`, `--bar`, `--second`, `--bg`. Every chart has a
description in words for screen readers.
"""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

__all__ = ["Curve", "Interval", "Point", "curves", "heatmap", "interval_bars", "scatter", "twin_bars"]

_ROW, _LEFT, _WIDTH, _RIGHT = 26, 210, 380, 200
_MOST_LABEL = 30


@dataclass(frozen=True, kw_only=True)
class Interval:
    """A value with its interval, and a label."""

    label: str
    value: float
    low: float | None = None
    high: float | None = None
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class Point:
    """One mark of a scatter plot: its position, its label, and whether it is on the Pareto front."""

    label: str
    x: float
    y: float
    kind: str = "release"
    best: bool = False


def _cut(text: str, most: int = _MOST_LABEL) -> str:
    return html.escape(text if len(text) <= most else text[: most - 1] + "…")


def _svg(width: float, height: float, said: str, body: str) -> str:
    return (
        f'<svg viewBox="0 0 {width:.0f} {height:.0f}" role="img" aria-label="{html.escape(said)}" '
        f'style="max-width:{width:.0f}px">{body}</svg>'
    )


def interval_bars(rows: Sequence[Interval], *, most: float = 1.0, title: str = "") -> str:
    """Draw a bar for each value, from 0 to `most`, with its interval as a line."""

    def x(value: float) -> float:
        return _LEFT + _WIDTH * min(max(value / most, 0.0), 1.0)

    parts, said = [], []
    for place, row in enumerate(rows):
        y = 6 + place * _ROW
        shown = f"{row.value:.3g}"
        parts.append(f'<text x="{_LEFT - 8}" y="{y + 13}" text-anchor="end">{_cut(row.label)}</text>')
        width = max(x(row.value) - _LEFT, 0.5)
        parts.append(f'<rect class="bar" x="{_LEFT}" y="{y}" width="{width:.1f}" height="16" rx="2"/>')
        if row.low is not None and row.high is not None:
            a, b = x(row.low), x(row.high)
            lines = ((a, b, y + 8, y + 8), (a, a, y + 4, y + 12), (b, b, y + 4, y + 12))
            parts += [f'<line class="err" x1="{p:.1f}" x2="{q:.1f}" y1="{r}" y2="{s}"/>' for p, q, r, s in lines]
            shown += f" ({row.low:.3g} to {row.high:.3g})"
        parts.append(f'<text class="num" x="{_LEFT + _WIDTH + 10}" y="{y + 13}">{shown}</text>')
        said.append(f"{row.label} {shown}")
    height = 6 + len(rows) * _ROW + 22
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        at = x(share * most)
        parts.insert(0, f'<line class="axis" x1="{at:.1f}" x2="{at:.1f}" y1="0" y2="{height - 20}"/>')
        label = f"{share * most:.3g}"
        parts.append(f'<text class="num" x="{at:.1f}" y="{height - 4}" text-anchor="middle">{label}</text>')
    return _svg(_LEFT + _WIDTH + _RIGHT, height, f"{title}: " + "; ".join(said), "".join(parts))


def twin_bars(
    rows: Sequence[tuple[str, float, float]], *, names: tuple[str, str], most: float | None = None, title: str = ""
) -> str:
    """Draw two bars for each label, one under the other."""
    top = most or max((max(one, other) for _, one, other in rows), default=1.0) or 1.0
    parts, said = [], []
    for place, (label, one, other) in enumerate(rows):
        y = 24 + place * 34
        parts.append(f'<text x="{_LEFT - 8}" y="{y + 18}" text-anchor="end">{_cut(label)}</text>')
        for step, (value, style) in enumerate(((one, "bar"), (other, "second"))):
            width = max(_WIDTH * min(max(value / top, 0.0), 1.0), 0.5)
            at = y + 14 * step
            parts.append(f'<rect class="{style}" x="{_LEFT}" y="{at}" width="{width:.1f}" height="12" rx="2"/>')
            parts.append(f'<text class="num" x="{_LEFT + width + 6:.1f}" y="{at + 10}">{value:.3g}</text>')
        said.append(f"{label} {one:.3g} and {other:.3g}")
    legend = (
        f'<rect class="bar" x="{_LEFT}" y="4" width="12" height="12" rx="2"/>'
        f'<text x="{_LEFT + 18}" y="14">{_cut(names[0])}</text>'
        f'<rect class="second" x="{_LEFT + 170}" y="4" width="12" height="12" rx="2"/>'
        f'<text x="{_LEFT + 188}" y="14">{_cut(names[1])}</text>'
    )
    height = 28 + len(rows) * 34
    text = f"{title}: {names[0]} and {names[1]}: " + "; ".join(said)
    return _svg(_LEFT + _WIDTH + _RIGHT, height, text, legend + "".join(parts))


def heatmap(names: Sequence[str], values: Sequence[Sequence[float]], *, most: float = 1.0, title: str = "") -> str:
    """Draw a square for each pair, in a stronger colour where the value is larger."""
    size = max(18.0, min(36.0, 520 / max(len(names), 1)))
    parts = []
    for i, row in enumerate(values):
        for j, value in enumerate(row):
            shade = min(abs(value) / most, 1.0) if math.isfinite(value) and most > 0 else 0.0
            parts.append(
                f'<rect x="{150 + j * size:.1f}" y="{110 + i * size:.1f}" width="{size - 1:.1f}" '
                f'height="{size - 1:.1f}" class="bar" fill-opacity="{0.06 + 0.94 * shade:.2f}">'
                f"<title>{html.escape(names[i])}, {html.escape(names[j])}: {value:.3g}</title></rect>"
            )
    for i, name in enumerate(names):
        middle = (i + 0.62) * size
        parts.append(f'<text x="144" y="{110 + middle:.1f}" text-anchor="end">{_cut(name, 18)}</text>')
        parts.append(f'<text transform="translate({150 + middle:.1f} 104) rotate(-55)">{_cut(name, 18)}</text>')
    return _svg(190 + len(names) * size, 120 + len(names) * size, f"{title}: {', '.join(names)}", "".join(parts))


def _start(lowest: float) -> float:
    """Return the start of an axis: 0, or the tenth below the lowest value if that is far above 0."""
    return 0.0 if lowest < 0.3 else min(0.9, math.floor(lowest * 10) / 10)


def scatter(points: Sequence[Point], *, across: str, up: str, title: str = "") -> str:
    """Draw named marks; a line joins the Pareto front. Axes end at 1, and begin at 0 or below all marks."""
    left, top, side = 60, 16, 460
    starts = [_start(min((getattr(point, axis) for point in points), default=0.0)) for axis in ("x", "y")]

    def at(point: Point) -> tuple[float, float]:
        x, y = (min(max((v - s) / (1 - s), 0), 1) for v, s in zip((point.x, point.y), starts, strict=True))
        return left + side * x, top + side * (1 - y)

    parts = [f'<rect x="{left}" y="{top}" width="{side}" height="{side}" fill="none" class="frame"/>']
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        x, y = left + side * share, top + side * (1 - share)
        parts.append(f'<line class="axis" x1="{x:.1f}" x2="{x:.1f}" y1="{top}" y2="{top + side}"/>')
        parts.append(f'<line class="axis" x1="{left}" x2="{left + side}" y1="{y:.1f}" y2="{y:.1f}"/>')
        across_at, up_at = (start + share * (1 - start) for start in starts)
        parts.append(f'<text class="num" x="{x:.1f}" y="{top + side + 16}" text-anchor="middle">{across_at:.3g}</text>')
        parts.append(f'<text class="num" x="{left - 6}" y="{y + 4:.1f}" text-anchor="end">{up_at:.3g}</text>')
    best = sorted((point for point in points if point.best), key=lambda point: point.x)
    if len(best) > 1:
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in map(at, best))
        parts.append(f'<polyline class="front" points="{path}"/>')
    taken: list[tuple[float, float]] = []
    for point in sorted(points, key=lambda each: (each.y, each.x)):
        x, y = at(point)
        style = "reference" if point.kind == "reference" else ("best" if point.best else "point")
        words = html.escape(point.label)
        parts.append(
            f'<circle class="{style}" cx="{x:.1f}" cy="{y:.1f}" r="6">'
            f"<title>{words}: {across} {point.x:.3g}, {up} {point.y:.3g}</title></circle>"
        )
        shift, line = (-10, "end") if x > left + 0.72 * side else (10, "start")
        height = y + 4
        wide = 7 * min(len(point.label), _MOST_LABEL) + 8
        while any(abs(height - b) < 13 and abs(x - a) < wide for a, b in taken):
            height += 13
        taken.append((x, height))
        parts.append(f'<text x="{x + shift:.1f}" y="{height:.1f}" text-anchor="{line}">{_cut(point.label)}</text>')
    parts.append(f'<text x="{left + side / 2}" y="{top + side + 38}" text-anchor="middle">{html.escape(across)}</text>')
    parts.append(
        f'<text transform="translate(16 {top + side / 2}) rotate(-90)" text-anchor="middle">{html.escape(up)}</text>'
    )
    said = f"{title}: " + "; ".join(f"{p.label} at {across} {p.x:.2f}, {up} {p.y:.2f}" for p in points)
    return _svg(left + side + 40, top + side + 50, said, "".join(parts))


@dataclass(frozen=True, kw_only=True, eq=False)
class Curve:
    """A line through points from left to right, with an optional uncertainty band."""

    label: str
    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float] | None = None
    high: Sequence[float] | None = None
    steps: bool = False
    """Whether the value is constant until the next point."""


def curves(
    lines: Sequence[Curve],
    *,
    across: str,
    up: str,
    title: str = "",
    logarithmic: bool = False,
    most: float | None = None,
    level: tuple[str, float] | None = None,
    at: float | None = None,
    ends: tuple[str, str] | None = None,
) -> str:
    """Draw lines over one axis, from 0 up; of two lines, the second is dashed.

    Args:
        lines: The lines.
        across: Label of the horizontal axis.
        up: Label of the vertical axis.
        title: Description for screen readers.
        logarithmic: Whether the horizontal axis is logarithmic.
        most: End of the vertical axis; above all lines by default.
        level: A named height to draw across, such as a limit.
        at: A position on the horizontal axis to mark, such as the chosen value.
        ends: Words for the two ends of the horizontal axis, if numbers would be meaningless.
    """
    left, top, width, height = 64, 34, 520, 240
    places = [float(v) for each in lines for v in each.x if math.isfinite(v) and (v > 0 or not logarithmic)]
    reached = [float(v) for each in lines for v in (*each.y, *(each.high or ())) if math.isfinite(v)]
    first, last = (min(places), max(places)) if places else (0.0, 1.0)
    peak = most or _above(max([*reached, *([level[1]] if level else []), 1e-12]))
    scale = math.log if logarithmic else float
    span = (scale(last) - scale(first)) or 1.0

    def x_of(value: float) -> float:
        inside = min(max(value, first), last)
        return left + width * (scale(inside) - scale(first)) / span

    def y_of(value: float) -> float:
        return top + height * (1 - min(max(value / peak, 0.0), 1.0))

    parts = [f'<rect class="frame" x="{left}" y="{top}" width="{width}" height="{height}" fill="none"/>']
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        x, y = left + width * share, top + height * (1 - share)
        parts.append(f'<line class="axis" x1="{left}" x2="{left + width}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(
            f'<text class="num" x="{left - 6}" y="{y + 4:.1f}" text-anchor="end">{_short(peak * share)}</text>'
        )
        if ends is None:
            shown = math.exp(scale(first) + span * share) if logarithmic else first + span * share
            words = _short(shown)
        else:
            words = {0.0: html.escape(ends[0]), 1.0: html.escape(ends[1])}.get(share, "")
        side = "end" if ends is not None and share == 1.0 else "middle"
        parts.append(f'<text class="num" x="{x:.1f}" y="{top + height + 16}" text-anchor="{side}">{words}</text>')
    said = []
    for place, each in enumerate(lines):
        style = "curve" if place == 0 else "curve-second"
        points = [(x_of(a), y_of(b)) for a, b in zip(each.x, each.y, strict=True) if math.isfinite(b)]
        if each.low is not None and each.high is not None:
            upper = [(x_of(a), y_of(b)) for a, b in zip(each.x, each.high, strict=True) if math.isfinite(b)]
            lower = [(x_of(a), y_of(b)) for a, b in zip(each.x, each.low, strict=True) if math.isfinite(b)]
            parts.append(f'<polygon class="band" points="{_path([*upper, *reversed(lower)])}"/>')
        if each.steps and points:
            points = [points[0], *((x, y) for a, b in pairwise(points) for x, y in ((b[0], a[1]), b))]
        parts.append(f'<polyline class="{style}" points="{_path(points)}"/>')
        legend_x = left + 8 + place * 230
        parts.append(f'<line class="{style}" x1="{legend_x}" x2="{legend_x + 22}" y1="14" y2="14"/>')
        parts.append(f'<text x="{legend_x + 28}" y="18">{_cut(each.label)}</text>')
        if each.y:
            said.append(f"{each.label} from {each.y[0]:.3g} to {each.y[-1]:.3g}")
    if level is not None:
        y = y_of(level[1])
        parts.append(f'<line class="err" x1="{left}" x2="{left + width}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text x="{left + width - 4}" y="{y - 5:.1f}" text-anchor="end">{_cut(level[0])}</text>')
        said.append(f"{level[0]} at {level[1]:.3g}")
    if at is not None:
        parts.append(f'<line class="err" x1="{x_of(at):.1f}" x2="{x_of(at):.1f}" y1="{top}" y2="{top + height}"/>')
    middle = left + width / 2
    parts.append(f'<text x="{middle}" y="{top + height + 36}" text-anchor="middle">{html.escape(across)}</text>')
    turned = f"translate(14 {top + height / 2}) rotate(-90)"
    parts.append(f'<text transform="{turned}" text-anchor="middle">{html.escape(up)}</text>')
    return _svg(left + width + 30, top + height + 46, f"{title}: " + "; ".join(said), "".join(parts))


def _above(value: float) -> float:
    """Return the end of an axis: the next larger number whose quarters have few digits."""
    power = 10.0 ** math.floor(math.log10(value))
    return next(step for step in (1.2, 1.6, 2.0, 2.4, 3.2, 4.0, 6.0, 8.0, 10.0, 12.0) if step * power >= value) * power


def _short(value: float) -> str:
    """Format a number for an axis: three digits, and thousands and millions by letter."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size * 0.9995:
            return f"{value / size:.3g}{letter}"
    return f"{value:.3g}"


def _path(points: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
