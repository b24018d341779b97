"""A map of flows between places as SVG text: lines by weight, places by traffic. No scripts, nothing fetched.

Places with coordinates are drawn where they are; others on a circle. A flow bends to its right, so that both
directions are seen. Only the heaviest flows are drawn.
"""

from __future__ import annotations

import html
import math
from collections.abc import Sequence

__all__ = ["Flow", "flow_map"]

Flow = tuple[int, int, float]
"""Origin, destination, weight."""

_SIDE, _MARGIN = 620.0, 46.0
_MOST_FLOWS, _MOST_NAMES = 150, 14
_BEND = 0.12


def flow_map(
    names: Sequence[str],
    flows: Sequence[Flow],
    *,
    points: Sequence[tuple[float, float]] | None = None,
    title: str = "",
    most: int = _MOST_FLOWS,
) -> str:
    """Draw flows between places.

    Args:
        names: Of the places.
        flows: By index of the places; flows of a place to itself count for its size only.
        points: Coordinates; y grows to the north.
        title: Description for screen readers.
        most: Flows that are drawn at most.
    """
    traffic = [0.0] * len(names)
    for origin, destination, weight in flows:
        traffic[origin] += weight
        traffic[destination] += weight
    shown = sorted((flow for flow in flows if flow[0] != flow[1] and flow[2] > 0), key=lambda flow: -flow[2])[:most]
    at = _on_page(points) if points is not None else _on_circle(len(names))
    heaviest = shown[0][2] if shown else 1.0
    parts = []
    for origin, destination, weight in reversed(shown):
        share = weight / heaviest
        words = f"{names[origin]} to {names[destination]}: {weight:.3g}"
        parts.append(
            f'<path d="{_bent(at[origin], at[destination])}" fill="none" stroke="var(--bar)" '
            f'stroke-width="{0.6 + 5.4 * math.sqrt(share):.1f}" stroke-opacity="{0.25 + 0.6 * share:.2f}">'
            f"<title>{html.escape(words)}</title></path>"
        )
    busiest = max([*traffic, 1e-12])
    for place, (x, y) in enumerate(at):
        radius = 1.5 + 6.5 * math.sqrt(traffic[place] / busiest)
        parts.append(
            f'<circle class="second" cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}">'
            f"<title>{html.escape(names[place])}: {traffic[place]:.3g}</title></circle>"
        )
    order = sorted(range(len(names)), key=lambda place: -traffic[place])[:_MOST_NAMES]
    parts += _labels([(at[place], names[place]) for place in order if traffic[place] > 0])
    said = "; ".join(f"{names[a]} to {names[b]} {weight:.3g}" for a, b, weight in shown[:10])
    size = _SIDE + 2 * _MARGIN
    return (
        f'<svg viewBox="0 0 {size:.0f} {size:.0f}" role="img" aria-label="{html.escape(f"{title}: {said}")}" '
        f'style="max-width:{size:.0f}px">{"".join(parts)}</svg>'
    )


def _on_page(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Scale coordinates to the page, alike in both directions."""
    xs, ys = [point[0] for point in points], [point[1] for point in points]
    span = max(max(xs) - min(xs), max(ys) - min(ys), 1e-9)
    left = _MARGIN + (_SIDE - _SIDE * (max(xs) - min(xs)) / span) / 2
    top = _MARGIN + (_SIDE - _SIDE * (max(ys) - min(ys)) / span) / 2
    return [(left + _SIDE * (x - min(xs)) / span, top + _SIDE * (max(ys) - y) / span) for x, y in points]


def _on_circle(count: int) -> list[tuple[float, float]]:
    middle = _MARGIN + _SIDE / 2
    turns = [2 * math.pi * place / max(count, 1) for place in range(count)]
    return [(middle + _SIDE / 2 * math.sin(turn), middle - _SIDE / 2 * math.cos(turn)) for turn in turns]


def _bent(start: tuple[float, float], end: tuple[float, float]) -> str:
    (a, b), (c, d) = start, end
    x, y = (a + c) / 2 + _BEND * (b - d), (b + d) / 2 + _BEND * (c - a)
    return f"M{a:.1f},{b:.1f} Q{x:.1f},{y:.1f} {c:.1f},{d:.1f}"


def _labels(places: Sequence[tuple[tuple[float, float], str]]) -> list[str]:
    """Names of places, the heaviest first; one that would cover another is left out."""
    taken: list[tuple[float, float, float]] = []
    parts = []
    for (x, y), name in places:
        wide = 7.0 * min(len(name), 24)
        right = x + 9 + wide <= _SIDE + 2 * _MARGIN  # to the left of its place where the page would end
        start = x + 9 if right else x - 9 - wide
        if any(abs(y - b) < 14 and start < c and start + wide > a for a, b, c in taken):
            continue
        taken.append((start, y, start + wide))
        shown = html.escape(name if len(name) <= 24 else name[:23] + "…")
        at = f'x="{x + 9:.1f}"' if right else f'x="{x - 9:.1f}" text-anchor="end"'
        parts.append(f'<text {at} y="{y + 4:.1f}">{shown}</text>')
    return parts
