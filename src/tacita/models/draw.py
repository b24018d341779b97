"""A network as a picture: one SVG, drawn in layers, parents above children. No scripts, nothing fetched.

    draw_network      one network; arrows may have weights
    place_network     where its attributes are drawn
    draw_comparison   the links of several networks, between attributes on an ellipse; colour and dashes show the
                      status of a link: common, discordant or uncommon

Privacy: shows the structure that it is given, and no more; a structure that was chosen on exact tables is as sensitive
as they are.
"""

from __future__ import annotations

import html
import math
from collections.abc import Mapping, Sequence

from tacita.errors import InvalidInput, UnknownName
from tacita.models.links import LinkStatus, compare_links
from tacita.models.network import topological_order

__all__ = ["draw_comparison", "draw_network", "place_network"]

_WIDE, _HIGH, _GAP_X, _GAP_Y, _EDGE = 132, 34, 18, 56, 10
_SWEEPS = 8  # each pulls nodes to the middle of their relatives; later ones change next to nothing
_LONGEST = 17
_LINE = 22  # height of a line of the legend
_APART = 5.0  # half of the distance of two lines between the same boxes
_STYLES: Mapping[LinkStatus, tuple[str, str, str]] = {
    "common": ("#2c8a4b", "", "common: in every network, in the same direction"),
    "discordant": ("#c8641b", "7 4", "discordant: in every network, not in the same direction"),
    "uncommon": ("#7d6fc0", "2 4", "uncommon: missing in at least one network"),
}


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
    at, wide, high, rows = _placed(parents)
    heaviest = max((weights or {}).values(), default=0.0)
    lines = []
    for child, above in parents.items():
        for parent in above:
            share = 1.0 if weights is None or heaviest <= 0 else weights.get((parent, child), 0.0) / heaviest
            lines.append(_arrow(at[parent], at[child], _GREY.format(0.8 + 2.4 * share)))
            if labels is not None and (parent, child) in labels:
                lines.append(_label(at[parent], at[child], labels[parent, child]))
    boxes = [_box(name, *at[name]) for row in rows for name in row]
    said = html.escape(f"{title}: " + "; ".join(_said(name, above, labels) for name, above in parents.items()))
    return (
        f'<svg viewBox="0 0 {wide} {high}" width="{wide}" role="img" aria-label="{said}" class="network">'
        f"<defs>{_tip('tip', 'currentColor')}</defs>{''.join(lines)}{''.join(boxes)}</svg>"
    )


def draw_comparison(networks: Mapping[str, Mapping[str, Sequence[str]]], *, title: str = "links of networks") -> str:
    """An SVG of the links of several networks over the same attributes, with a legend.

    Args:
        networks: Parents of each attribute, by name of the network.
        title: What the picture shows, for those who hear it read.
    """
    compared = compare_links(networks)
    at, wide, high = _around(list(next(iter(networks.values()))))
    lines = []
    for row in compared.rows:
        colour, dashes, _ = _STYLES[row.status]
        for (above, below), labels in row.directions.items():
            style = f'stroke="{colour}" stroke-width="2" marker-end="url(#tip-{row.status})"'
            style += f' stroke-dasharray="{dashes}"' if dashes else ""
            shift = 0.0 if len(row.directions) == 1 else _APART
            lines.append(_straight(at[above], at[below], style, f"{above} to {below}: {', '.join(labels)}", shift))
    boxes = [_box(name, x, y - _HIGH / 2) for name, (x, y) in at.items()]
    legend, wide = [], max(wide, 460)
    for place, (colour, dashes, text) in enumerate(_STYLES.values()):
        y = high + place * _LINE + _LINE / 2
        dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
        legend.append(
            f'<path d="M{_EDGE} {y:.0f}h40" stroke="{colour}" stroke-width="2"{dashed}/>'
            f'<text x="{_EDGE + 50}" y="{y + 4:.0f}" font-size="13">{text}</text>'
        )
    high += _LINE * len(_STYLES) + _EDGE
    tips = "".join(_tip(f"tip-{status}", colour) for status, (colour, _, _) in _STYLES.items())
    said = "; ".join(
        f"{above} to {below} is {row.status}, in {' and '.join(labels)}"
        for row in compared.rows
        for (above, below), labels in row.directions.items()
    )
    return (
        f'<svg viewBox="0 0 {wide} {high}" width="{wide}" role="img" aria-label="{html.escape(f"{title}: {said}")}" '
        f'class="network"><defs>{tips}</defs>{"".join(lines)}{"".join(boxes)}{"".join(legend)}</svg>'
    )


def place_network(parents: Mapping[str, Sequence[str]]) -> dict[str, tuple[float, float]]:
    """Position of each attribute: in layers, parents above children; x grows to the right, y downwards."""
    return _placed(parents)[0]


def _placed(
    parents: Mapping[str, Sequence[str]],
) -> tuple[dict[str, tuple[float, float]], int, int, list[list[str]]]:
    """The middle of the top of each box, the size of the picture, and the layers."""
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
    at: dict[str, tuple[float, float]] = {}
    for depth, row in enumerate(rows):
        left = (wide - len(row) * _WIDE - (len(row) - 1) * _GAP_X) / 2
        for place, name in enumerate(row):
            at[name] = (left + place * (_WIDE + _GAP_X) + _WIDE / 2, _EDGE + depth * (_HIGH + _GAP_Y))
    return at, wide, high, rows


def _around(names: Sequence[str]) -> tuple[dict[str, tuple[float, float]], int, int]:
    """The middle of each box on an ellipse, and the size of the picture."""
    far = max(150.0, 34.0 * len(names))  # so that boxes do not overlap
    wide, high = 2 * (1.5 * far + _WIDE / 2 + _EDGE), 2 * (far + _HIGH / 2 + _EDGE)
    angles = [2 * math.pi * place / len(names) - math.pi / 2 for place in range(len(names))]
    at = {
        name: (wide / 2 + 1.5 * far * math.cos(angle), high / 2 + far * math.sin(angle))
        for name, angle in zip(names, angles, strict=True)
    }
    return at, round(wide), round(high)


def _straight(start: tuple[float, float], end: tuple[float, float], style: str, label: str, shift: float) -> str:
    """A line between the edges of two boxes, moved aside to leave room for one in the other direction."""
    across, down = end[0] - start[0], end[1] - start[1]
    length = math.hypot(across, down)
    aside, below = -down / length * shift, across / length * shift
    # the share of the way from the middle of a box to its edge
    edge = min((_WIDE / 2 + 3) / max(abs(across), 1e-9), (_HIGH / 2 + 3) / max(abs(down), 1e-9), 0.45)
    x, y = start[0] + edge * across + aside, start[1] + edge * down + below
    u, v = end[0] - edge * across + aside, end[1] - edge * down + below
    title = f"<title>{html.escape(label)}</title>"
    return f'<path d="M{x:.0f} {y:.0f}L{u:.0f} {v:.0f}" fill="none" {style}>{title}</path>'


def _tip(name: str, colour: str) -> str:
    return (
        f'<marker id="{name}" viewBox="0 0 8 8" refX="7" refY="4" markerUnits="userSpaceOnUse" '
        f'markerWidth="10" markerHeight="10" orient="auto"><path d="M0 0 8 4 0 8z" fill="{colour}"/></marker>'
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


_GREY = 'stroke="currentColor" stroke-opacity=".55" stroke-width="{:.1f}" marker-end="url(#tip)"'


def _arrow(start: tuple[float, float], end: tuple[float, float], style: str) -> str:
    (x, y), (u, v) = (start[0], start[1] + _HIGH), end
    bend = (v - y) / 2
    path = f"M{x:.0f} {y:.0f}C{x:.0f} {y + bend:.0f} {u:.0f} {v - bend:.0f} {u:.0f} {v:.0f}"
    return f'<path d="{path}" fill="none" {style}/>'


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
