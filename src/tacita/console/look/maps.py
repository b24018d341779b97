"""Charts of tables and of links: pairs of attributes, crosstabs, regions, networks, flows.

    pair_heat    a number for each pair of attributes
    crosstab     a table of two attributes as shares, with totals
    tiles        a table of regions as tiles, by the points of the compass
    network      arrows between attributes, by strength
    flows        trips between places

Privacy: these draw what they are given. Pages give them releases and public numbers only.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from nicegui import ui

from tacita.console.look.charts import Chart, figure
from tacita.console.look.plots import range_words, short
from tacita.figures.charts import Interval
from tacita.models.draw import place_network
from tacita.tables.release import Release

__all__ = ["compass_places", "crosstab", "flows", "network", "pair_heat", "strength_legend", "tiles"]

_MOST_HIGH = 720
_LABEL = {"show": True, "formatter": "{b}", "fontSize": 12, "lineHeight": 16, "color": "--ink"}
_UNDER_WORDS = "--mark-scale"
"""The strongest colour that words are written over."""
_COMPASS = {
    "northwest": (0, 0),
    "north": (1, 0),
    "northeast": (2, 0),
    "west": (0, 1),
    "centre": (1, 1),
    "center": (1, 1),
    "central": (1, 1),
    "middle": (1, 1),
    "east": (2, 1),
    "southwest": (0, 2),
    "south": (1, 2),
    "southeast": (2, 2),
}
"""Column and row of a tile."""


# -- two attributes ---------------------------------------------------------------------------------------------------


def pair_heat(
    names: Sequence[str], values: Sequence[Sequence[float]], *, title: str, unit: str, most: float | None = None
) -> Chart:
    """A square for each pair of attributes, stronger where the number is larger; a legend shows the scale."""
    cells = [(i, j, float(values[i][j])) for i in range(len(names)) for j in range(len(names)) if i != j]
    top = most or max([value for *_, value in cells], default=0.0) or 1.0
    data = [
        {"value": [j, i, value], "tip": [f"{names[i]} and {names[j]}", f"{figure(value)} {unit}"]}
        for i, j, value in cells
    ]
    side = 34 * len(names)
    label = {"interval": 0, "width": 110, "overflow": "truncate", "color": "--ink"}
    options = {
        "grid": {"left": 4, "right": 10, "top": 6, "bottom": 60, "containLabel": True},
        "tooltip": {"trigger": "item"},
        "xAxis": {
            "type": "category",
            "data": list(names),
            "axisLabel": label | {"rotate": 40},
            "axisLine": {"show": False},
        },
        "yAxis": {
            "type": "category",
            "data": list(names),
            "inverse": True,
            "axisLabel": label,
            "axisLine": {"show": False},
        },
        "visualMap": _scale(top, unit),
        "series": [{"type": "heatmap", "data": data, "itemStyle": {"borderColor": "--bg", "borderWidth": 2}}],
        "phone": {"xAxis": {"axisLabel": {"width": 70}}, "yAxis": {"axisLabel": {"width": 70}}},
    }
    table = tuple((names[i], names[j], value) for i, j, value in cells if i < j)
    columns = ("attribute", "other attribute", unit)
    return Chart(
        title=title,
        columns=columns,
        rows=table,
        options=options,
        height=min(160 + side, _MOST_HIGH),
        width=240 + 62 * len(names),
    )


def _scale(most: float, unit: str, *, digits: int = 3, top: str = "--mark-1") -> dict[str, Any]:
    """The legend of a colour: from the surface of a page to that of marks, so that it is right in both themes."""
    return {
        "min": 0,
        "max": most,
        "calculable": True,
        "orient": "horizontal",
        "left": 0,
        "bottom": 0,
        "precision": digits,
        "itemHeight": 120,
        "text": [unit, ""],
        "inRange": {"color": ["--mark-faint", top]},
    }


def crosstab(release: Release, *, title: str) -> Chart:
    """A table of two attributes as shares of all, with totals of rows and columns; from a release."""
    values = np.asarray(release.values, float)
    total = float(values.sum())
    shares = values / total if total > 0 else np.zeros_like(values)
    low, high = (np.asarray(each, float) / (total if total > 0 else 1.0) for each in release.interval(0.95))
    rows_of, columns_of = (release.domain[name].all_labels for name in release.attributes)
    one, other = release.attributes
    down, across = [*rows_of, "all"], [*columns_of, "all"]
    full = np.block([[shares, shares.sum(1, keepdims=True)], [shares.sum(0, keepdims=True), np.ones((1, 1))]])
    data: list[dict[str, Any]] = []
    for i, j in np.ndindex(*full.shape):
        share, inside = float(full[i, j]), i < len(rows_of) and j < len(columns_of)
        tip = [f"{one} {down[i]}, {other} {across[j]}", f"{short(share, share=True)} of all"]
        if inside:
            tip.append(f"95 %: {short(float(low[i, j]), share=True)} to {short(float(high[i, j]), share=True)}")
            if full[i, -1] > 0:
                tip.append(f"{short(share / float(full[i, -1]), share=True)} of {one} {down[i]}")
            if full[-1, j] > 0:
                tip.append(f"{short(share / float(full[-1, j]), share=True)} of {other} {across[j]}")
        style = {} if inside else {"itemStyle": {"color": "--raised"}}
        data.append({"value": [int(j), int(i), share], "name": short(share, share=True), "tip": tip, **style})
    label = {"interval": 0, "width": 120, "overflow": "truncate", "color": "--ink"}
    options = {
        "grid": {"left": 4, "right": 10, "top": 6, "bottom": 64, "containLabel": True},
        "tooltip": {"trigger": "item"},
        "xAxis": {
            "type": "category",
            "data": across,
            "position": "top",
            "axisLabel": label,
            "axisLine": {"show": False},
        },
        "yAxis": {"type": "category", "data": down, "inverse": True, "axisLabel": label, "axisLine": {"show": False}},
        "visualMap": _scale(float(max(shares.max(), 1e-9)), "share", top=_UNDER_WORDS),
        "series": [
            {"type": "heatmap", "data": data, "label": _LABEL, "itemStyle": {"borderColor": "--bg", "borderWidth": 2}}
        ],
        "phone": {
            "xAxis": {"axisLabel": {"width": 60, "rotate": 40}},
            "yAxis": {"axisLabel": {"width": 70}},
            "series": [{"label": {"show": len(across) < 6}}],
        },
    }
    table = tuple((down[i], across[j], float(full[i, j])) for i, j in np.ndindex(*full.shape))
    columns = (one, other, "share of all")
    return Chart(
        title=title,
        columns=columns,
        rows=table,
        options=options,
        height=min(110 + 34 * len(down), _MOST_HIGH),
        width=200 + 110 * len(across),
        share=frozenset({"share of all"}),
    )


def compass_places(labels: Sequence[str]) -> dict[str, tuple[int, int]] | None:
    """The tile of each label that is a point of the compass; None if fewer than three are. Others follow below.

    >>> compass_places(["north", "east", "islands", "south"])
    {'north': (1, 0), 'east': (2, 1), 'islands': (0, 3), 'south': (1, 2)}
    >>> compass_places(["yes", "no"]) is None
    True
    """
    plain = {label: label.lower().replace("-", "").replace(" ", "") for label in labels}
    known = {label: _COMPASS[each] for label, each in plain.items() if each in _COMPASS}
    if len(set(known.values())) < 3 or len(set(known.values())) < len(known):
        return None
    rest = [label for label in labels if label not in known]
    below = {label: (place % 3, 3 + place // 3) for place, label in enumerate(rest)}
    return {label: (known | below)[label] for label in labels}


def tiles(rows: Sequence[Interval], *, title: str, share: bool) -> Chart | None:
    """Regions as tiles, where their names are points of the compass; None elsewhere."""
    places = compass_places([row.label for row in rows])
    if places is None:
        return None
    texts = [short(row.value, share=share) + range_words(row, share=share) for row in rows]
    most = max([1e-9, *(row.value for row in rows)])
    data = [
        {
            "value": [*places[row.label], row.value],
            "name": f"{row.label}\n{short(row.value, share=share)}",
            "tip": [row.label, text],
        }
        for row, text in zip(rows, texts, strict=True)
    ]
    high = 1 + max(y for _, y in places.values())
    hidden = {"type": "category", "show": False}
    options = {
        "grid": {"left": 0, "right": 0, "top": 0, "bottom": 64},
        "tooltip": {"trigger": "item"},
        "xAxis": hidden | {"data": ["0", "1", "2"]},
        "yAxis": hidden | {"data": [str(each) for each in range(high)], "inverse": True},
        "visualMap": _scale(most, "share" if share else "count", digits=3 if share else 0, top=_UNDER_WORDS),
        "series": [
            {"type": "heatmap", "data": data, "label": _LABEL, "itemStyle": {"borderColor": "--bg", "borderWidth": 4}}
        ],
    }
    columns = ("region", "value", "95 % from", "95 % to")
    table = tuple((row.label, _plain(row.value), _plain(row.low), _plain(row.high)) for row in rows)
    share_of = frozenset(columns[1:]) if share else frozenset[str]()
    return Chart(
        title=title, columns=columns, rows=table, options=options, height=70 + 80 * high, width=520, share=share_of
    )


# -- networks ---------------------------------------------------------------------------------------------------------


def network(
    parents: Mapping[str, Sequence[str]],
    *,
    title: str,
    weights: Mapping[tuple[str, str], float] | None = None,
    unit: str = "bits",
) -> Chart:
    """Attributes in layers, parents above children; the stronger a link, the wider its arrow.

    Args:
        parents: Of each attribute; no circles.
        title: What it shows.
        weights: Of the links (parent, child), where they are known.
        unit: Of the weights.
    """
    places = place_network(parents)
    heaviest = max((weights or {}).values(), default=0.0)
    nodes = [{"name": name, "value": [x, y], "tip": _relatives(name, parents)} for name, (x, y) in places.items()]
    links, table = [], []
    for child, above in parents.items():
        for parent in above:
            weight = None if weights is None else weights.get((parent, child))
            part = 0.5 if weight is None or heaviest <= 0 else weight / heaviest
            known = [] if weight is None else [f"{figure(weight)} {unit}"]
            links.append(
                {
                    "source": parent,
                    "target": child,
                    "tip": [f"{child} depends on {parent}", *known],
                    "lineStyle": {"width": _thickness(part), "opacity": _opacity(part)},
                }
            )
            table.append((parent, child, *(() if weights is None else (weight,))))
    rows = len({y for _, y in places.values()})
    graph = _graph(nodes, links) | {"symbolSize": 16, "edgeSymbol": ["none", "arrow"], "edgeSymbolSize": 10}
    graph["itemStyle"] = {"color": "--mark-1", "borderColor": "--bg", "borderWidth": 2}
    graph["label"] |= {"show": True, "fontWeight": "bold"}
    graph["lineStyle"]["curveness"] = 0.06
    columns = ("from", "to", *(() if weights is None else (unit,)))
    options = _plane(list(places.values()), graph, right=110)
    said = "; ".join(f"{name} follows {' and '.join(above)}" for name, above in parents.items() if above)
    return Chart(
        title=title,
        columns=columns,
        rows=tuple(table),
        options=options,
        height=min(60 + max(rows, 2) * 84, _MOST_HIGH),
        width=900,
        zoom=True,
        said=said or "no links",
    )


def _graph(nodes: Sequence[Mapping[str, Any]], links: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Marks and lines between them, on the axes of a plane."""
    label = {"color": "--ink", "position": "right", "fontSize": 12, "textBorderColor": "--bg", "textBorderWidth": 3}
    return {
        "type": "graph",
        "coordinateSystem": "cartesian2d",
        "data": list(nodes),
        "links": list(links),
        "lineStyle": {"color": "--mark-1", "curveness": 0.15},
        "label": label | {"formatter": "{b}"},
        "emphasis": {"focus": "adjacency", "lineStyle": {"color": "--mark-2"}},
    }


def _plane(points: Sequence[tuple[float, float]], graph: Mapping[str, Any], *, right: int) -> dict[str, Any]:
    """Options of a graph at points; y grows downwards."""
    ends: list[dict[str, Any]] = []
    for each in zip(*points, strict=True):
        spare = 0.06 * (max(each) - min(each)) or 1.0
        ends.append({"type": "value", "show": False, "min": min(each) - spare, "max": max(each) + spare})
    zoomed = {"type": "inside", "zoomOnMouseWheel": "ctrl", "moveOnMouseMove": True, "filterMode": "none"}
    return {
        "grid": {"left": 20, "right": right, "top": 10, "bottom": 10},
        "tooltip": {"trigger": "item"},
        "xAxis": ends[0],
        "yAxis": ends[1] | {"inverse": True},
        "series": [dict(graph)],
        "dataZoom": [zoomed | {"xAxisIndex": 0}, zoomed | {"yAxisIndex": 0}],
        "phone": {"grid": {"left": 36, "right": 56}, "series": [{"label": {"position": "bottom"}}]},
    }


def strength_legend(weights: Mapping[tuple[str, str], float], unit: str = "bits") -> None:
    """Legend of the width of arrows: three lines, the same in both themes."""
    heaviest = max(weights.values(), default=0.0)
    samples = "".join(
        f'<i style="height:{_thickness(part):.1f}px;opacity:{_opacity(part):.2f}"></i>'
        f"<span>{figure(part * heaviest)}</span>"
        for part in (0.1, 0.5, 1.0)
    )
    ui.html(f"<span>Strength, in {unit}:</span>{samples}", sanitize=False).classes("strength")


def _thickness(part: float) -> float:
    return 1.2 + 5 * part


def _opacity(part: float) -> float:
    return 0.45 + 0.55 * part


def _relatives(name: str, parents: Mapping[str, Sequence[str]]) -> list[str]:
    above = parents[name]
    return [name, f"depends on {', '.join(above)}" if above else "depends on no other attribute"]


def flows(
    names: Sequence[str],
    moved: Sequence[tuple[int, int, float]],
    *,
    points: Sequence[tuple[float, float]] | None,
    title: str,
    most: int = 150,
) -> Chart:
    """Trips between places: the heaviest, as lines that bend to their right, so that both directions are seen."""
    traffic = np.zeros(len(names))
    for origin, destination, weight in moved:
        traffic[origin] += weight
        traffic[destination] += weight
    drawn = sorted((each for each in moved if each[0] != each[1] and each[2] > 0), key=lambda each: -each[2])[:most]
    heaviest = drawn[0][2] if drawn else 1.0
    if points is None:
        turns = [2 * math.pi * place / max(len(names), 1) for place in range(len(names))]
        points = [(math.sin(turn), math.cos(turn)) for turn in turns]
    named = set(np.argsort(-traffic)[:14].tolist())
    nodes = [
        {
            "name": name,
            "value": [x, -y],
            "symbolSize": 4 + 14 * math.sqrt(traffic[at] / max(float(traffic.max()), 1e-12)),
            "tip": [name, f"{short(float(traffic[at]))} trips begin or end here"],
            "label": {"show": at in named},
        }
        for at, (name, (x, y)) in enumerate(zip(names, points, strict=True))
    ]
    links = [
        {
            "source": origin,
            "target": destination,
            "tip": [f"{names[origin]} to {names[destination]}", f"{short(weight)} trips"],
            "lineStyle": {"width": 0.6 + 5.4 * math.sqrt(weight / heaviest), "opacity": 0.25 + 0.6 * weight / heaviest},
        }
        for origin, destination, weight in drawn
    ]
    graph = _graph(nodes, links) | {"itemStyle": {"color": "--mark-2"}}
    table = tuple((names[origin], names[destination], float(weight)) for origin, destination, weight in drawn)
    options = _plane([(x, -y) for x, y in points], graph, right=90)
    columns = ("from", "to", "trips")
    return Chart(title=title, columns=columns, rows=table, options=options, height=560, width=760, zoom=True)


def _plain(value: float | None) -> float | None:
    return float(value) if value is not None and math.isfinite(value) else None
