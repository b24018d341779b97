"""A network as a picture: one SVG, drawn in layers, parents above children. No scripts, nothing fetched.

Privacy: shows the structure that it is given, and no more; a structure that was chosen on exact tables is as sensitive
as they are.
"""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence

from tacita.errors import InvalidInput, UnknownName
from tacita.models.network import topological_order

__all__ = ["draw_network"]

_WIDE, _HIGH, _GAP_X, _GAP_Y, _EDGE = 132, 34, 18, 56, 10
_SWEEPS = 8  # each pulls nodes to the middle of their relatives; later ones change next to nothing
_LONGEST = 17


def draw_network(
    parents: Mapping[str, Sequence[str]],
    *,
    weights: Mapping[tuple[str, str], float] | None = None,
    labels: Mapping[tuple[str, str], str] | None = None,
    title: str = "network",
) -> str:
    """An SVG of the attributes and of the arrows between them.

    Args:
        parents: Of each attribute; no circles.
        weights: How much an arrow (parent, child) matters; the widest is the largest. All are equal if not given.
        labels: A short text beside an arrow (parent, child), such as its share of repetitions.
        title: What the picture shows, for those who hear it read.
    """
    if not parents:
        raise InvalidInput("must have at least one attribute", field="parents")
    for above in parents.values():
        for name in above:
            if name not in parents:
                raise UnknownName(name, field="parents", available=parents)
    rows = _ordered(_layers(parents), parents)
    columns = max(len(row) for row in rows)
    wide = 2 * _EDGE + columns * _WIDE + (columns - 1) * _GAP_X
    high = 2 * _EDGE + len(rows) * _HIGH + (len(rows) - 1) * _GAP_Y
    at = {}
    for depth, row in enumerate(rows):
        left = (wide - len(row) * _WIDE - (len(row) - 1) * _GAP_X) / 2
        for place, name in enumerate(row):
            at[name] = (left + place * (_WIDE + _GAP_X) + _WIDE / 2, _EDGE + depth * (_HIGH + _GAP_Y))
    heaviest = max((weights or {}).values(), default=0.0)
    lines = []
    for child, above in parents.items():
        for parent in above:
            share = 1.0 if weights is None or heaviest <= 0 else weights.get((parent, child), 0.0) / heaviest
            lines.append(_arrow(at[parent], at[child], 0.8 + 2.4 * share))
            if labels is not None and (parent, child) in labels:
                lines.append(_label(at[parent], at[child], labels[parent, child]))
    boxes = [_box(name, *at[name]) for row in rows for name in row]
    said = html.escape(f"{title}: " + "; ".join(_said(name, above, labels) for name, above in parents.items()))
    return (
        f'<svg viewBox="0 0 {wide} {high}" width="{wide}" role="img" aria-label="{said}" class="network">'
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerUnits="userSpaceOnUse" '
        'markerWidth="10" markerHeight="10" orient="auto"><path d="M0 0 8 4 0 8z" fill="currentColor"/></marker></defs>'
        f"{''.join(lines)}{''.join(boxes)}</svg>"
    )


def _layers(parents: Mapping[str, Sequence[str]]) -> list[list[str]]:
    """Each attribute one below the lowest of its parents."""
    depth: dict[str, int] = {}
    for name in topological_order(tuple(parents), {name: tuple(above) for name, above in parents.items()}):
        depth[name] = 1 + max((depth[parent] for parent in parents[name]), default=-1)
    rows: list[list[str]] = [[] for _ in range(max(depth.values()) + 1)]
    for name in parents:
        rows[depth[name]].append(name)
    return rows


def _ordered(rows: list[list[str]], parents: Mapping[str, Sequence[str]]) -> list[list[str]]:
    """Fewer crossings: each attribute goes where its relatives are on average."""
    near: dict[str, list[str]] = {name: list(above) for name, above in parents.items()}
    for child, above in parents.items():
        for parent in above:
            near[parent].append(child)
    for _ in range(_SWEEPS):
        place = {name: (index + 0.5) / len(row) for row in rows for index, name in enumerate(row)}
        for row in rows:
            middle = {name: sum(place[o] for o in near[name]) / len(near[name]) for name in row if near[name]}
            row.sort(key=lambda name: middle.get(name, place[name]))
            place |= {name: (index + 0.5) / len(row) for index, name in enumerate(row)}
    return rows


def _arrow(start: tuple[float, float], end: tuple[float, float], width: float) -> str:
    (x, y), (u, v) = (start[0], start[1] + _HIGH), end
    bend = (v - y) / 2
    path = f"M{x:.0f} {y:.0f}C{x:.0f} {y + bend:.0f} {u:.0f} {v - bend:.0f} {u:.0f} {v:.0f}"
    return (
        f'<path d="{path}" fill="none" stroke="currentColor" stroke-opacity=".55" stroke-width="{width:.1f}" '
        'marker-end="url(#tip)"/>'
    )


def _label(start: tuple[float, float], end: tuple[float, float], text: str) -> str:
    """A text at the middle of an arrow, with a halo so that it stays readable over other arrows."""
    (x, y), (u, v) = (start[0], start[1] + _HIGH), end
    return (
        f'<text x="{(x + u) / 2 + 4:.0f}" y="{(y + v) / 2 + 4:.0f}" font-size="11" stroke="var(--bg, #fff)" '
        f'stroke-width="3" paint-order="stroke">{html.escape(text)}</text>'
    )


def _box(name: str, x: float, y: float) -> str:
    shown = name if len(name) <= _LONGEST else name[: _LONGEST - 1] + "…"
    return (
        f'<g><title>{html.escape(name)}</title><rect x="{x - _WIDE / 2:.0f}" y="{y:.0f}" width="{_WIDE}" '
        f'height="{_HIGH}" rx="8" fill="var(--bg, #fff)" stroke="currentColor"/>'
        f'<text x="{x:.0f}" y="{y + 22:.0f}" text-anchor="middle" font-size="13">{html.escape(shown)}</text></g>'
    )


def _said(name: str, above: Sequence[str], labels: Mapping[tuple[str, str], str] | None) -> str:
    said = [f"{parent} ({labels[parent, name]})" if labels and (parent, name) in labels else parent for parent in above]
    return f"{name} follows {' and '.join(said)}" if above else f"{name} stands alone or leads"
