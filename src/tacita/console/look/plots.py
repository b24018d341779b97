"""Charts of numbers with their intervals, of curves, and of risk and utility.

    interval_bars    values with their intervals
    attack_bars      the risk of each attack
    twin_bars        the same cells in two sources
    lines            curves over one axis, with a level and a mark
    front            risk and utility of releases, with the limit

Privacy: these draw what they are given. Pages give them releases and public numbers only; an assessment and a
comparison are for the steward.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tacita.console.look.charts import Chart, figure
from tacita.figures.charts import Curve, Interval, Point

__all__ = ["attack_bars", "front", "interval_bars", "lines", "range_words", "short", "twin_bars"]

_ROW, _EDGE = 26, 46
_MOST_HIGH = 720
_LABEL, _LABEL_PHONE = 190, 96
_MARKS = ("--mark-1", "--mark-2", "--mark-3", "--mark-4")


# -- bars -------------------------------------------------------------------------------------------------------------


def _known(value: float | None) -> bool:
    return value is not None and math.isfinite(value)


def _number(value: float | None) -> float | None:
    return float(value) if value is not None and math.isfinite(value) else None


def range_words(row: Interval, *, share: bool) -> str:
    """The interval of a value in words: its half-width where the value is in its middle."""
    if not (_known(row.low) and _known(row.high)):
        return ""
    assert row.low is not None
    assert row.high is not None
    half = (row.high - row.low) / 2
    if abs(row.value - row.low - half) <= 0.02 * half:
        return f" ± {short(half, share=share)}"
    return f" ({short(row.low, share=share)} to {short(row.high, share=share)})"


def short(value: float, *, share: bool = False) -> str:
    """A number beside a mark: three digits."""
    if share:
        return f"{100 * value:.1f} %"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _categories(labels: Sequence[str], texts: Sequence[str]) -> list[dict[str, Any]]:
    """The labels to the left of bars, and the numbers to their right."""
    shared: dict[str, Any] = {"type": "category", "inverse": True}
    label = {"interval": 0, "width": _LABEL, "overflow": "truncate", "color": "--ink"}
    return [
        shared | {"data": list(labels), "axisLabel": label},
        shared | {"data": list(texts), "axisLabel": {"interval": 0}, "axisLine": {"show": False}},
    ]


_BARS_PHONE = {"grid": {"right": 26}, "yAxis": [{"axisLabel": {"width": _LABEL_PHONE}}, {"axisLabel": {"show": False}}]}


def _height(rows: int, each: int = _ROW, more: int = _EDGE) -> int:
    return min(rows * each + more, _MOST_HIGH)


def interval_bars(
    rows: Sequence[Interval],
    *,
    title: str,
    what: str = "cell",
    share: bool = False,
    limit: tuple[str, float] | None = None,
    most: float | None = None,
) -> Chart:
    """A bar from 0 to each value, with its interval as a line.

    Args:
        rows: Values.
        title: What it shows.
        what: Heading of the labels in the table.
        share: Whether they are shares.
        limit: A named value to draw across.
        most: End of the axis; above all intervals by default.
    """
    texts = [
        short(row.value, share=share) + range_words(row, share=share) if _known(row.value) else "unknown"
        for row in rows
    ]
    tips = [[row.label, text, *([row.note] if row.note else [])] for row, text in zip(rows, texts, strict=True)]
    data = [{"value": _number(row.value), "tip": tip} for row, tip in zip(rows, tips, strict=True)]
    bars: dict[str, Any] = {"type": "bar", "data": data, "itemStyle": {"color": "--mark-1"}, "barMaxWidth": 16}
    if limit is not None:
        bars["markLine"] = _level(limit, "xAxis")
    spans = [[place, _number(row.low), _number(row.high)] for place, row in enumerate(rows)]
    end = {} if most is None else {"max": most}
    options = {
        "grid": {"left": 4, "right": 12, "top": 22 if limit else 6, "bottom": 6, "containLabel": True},
        "tooltip": {"trigger": "axis", "axisPointer": {"type": "shadow"}},
        "xAxis": {"type": "value", **end} | ({"axisLabel": {"formatter": "{value}"}}),
        "yAxis": _categories([row.label for row in rows], texts),
        "series": [
            bars,
            {"type": "custom", "renderItem": "interval", "data": spans, "z": 5, "encode": {"x": [1, 2], "y": 0}},
        ],
        "phone": _BARS_PHONE,
    } | _zoomed(_height(len(rows)) < len(rows) * _ROW, "yAxisIndex")
    columns = (what, "value", "95 % from", "95 % to")
    table = tuple((row.label, _number(row.value), _number(row.low), _number(row.high)) for row in rows)
    return Chart(
        title=title,
        columns=columns,
        rows=table,
        options=options,
        height=_height(len(rows)),
        zoom="dataZoom" in options,
        share=frozenset(columns[1:]) if share else frozenset(),
    )


def attack_bars(found: Sequence[Mapping[str, Any]], *, worst: str | None = None, limit: float | None = None) -> Chart:
    """The risk of each attack with its interval, the worst first."""
    rows = [
        Interval(
            label=str(each["name"]),
            value=each["risk"],
            low=each["low"],
            high=each["high"],
            note="the worst attack" if each["name"] == worst else "",
        )
        for each in sorted(found, key=lambda each: -each["risk"])
    ]
    level = None if limit is None else ("largest risk allowed", limit)
    ends = [each for row in rows for each in (row.value, row.high, limit) if each is not None]
    # risks are compared with certainty, unless all of them are small
    most = next(end for end in (0.1, 0.25, 0.5, 1.0, math.inf) if max(ends, default=0.0) <= end)
    end = None if math.isinf(most) else most
    return interval_bars(rows, title="Risk by attack", what="attack", limit=level, most=end)


def twin_bars(
    labels: Sequence[str],
    sources: Mapping[str, Sequence[Interval]],
    *,
    title: str,
    what: str = "cell",
    share: bool = False,
) -> Chart:
    """The same cells in two sources, one bar under the other, each with its interval where it has one."""
    names = list(sources)
    series: list[dict[str, Any]] = []
    for place, (name, rows) in enumerate(sources.items()):
        tips = [f"{name}: {short(row.value, share=share)}{range_words(row, share=share)}" for row in rows]
        data = [
            {"value": _number(row.value), "tip": [label, tip] if place == 0 else ["", tip]}
            for row, label, tip in zip(rows, labels, tips, strict=True)
        ]
        colour = {"color": _MARKS[place]}
        series.append({"type": "bar", "name": name, "data": data, "itemStyle": colour, "barWidth": 11, "barGap": "0%"})
    for place, rows in enumerate(sources.values()):
        shift = 0.5 if len(names) == 2 and place else -0.5 if len(names) == 2 else 0
        spans = [[at, _number(row.low), _number(row.high), shift] for at, row in enumerate(rows)]
        series.append(
            {"type": "custom", "renderItem": "interval", "data": spans, "z": 5, "encode": {"x": [1, 2], "y": 0}}
        )
    texts = ["  ".join(short(rows[at].value, share=share) for rows in sources.values()) for at in range(len(labels))]
    options = {
        "grid": {"left": 4, "right": 12, "top": 34, "bottom": 6, "containLabel": True},
        "legend": {"data": names, "left": 0, "top": 4, "itemWidth": 14, "type": "scroll"},
        "tooltip": {"trigger": "axis", "axisPointer": {"type": "shadow"}},
        "xAxis": {"type": "value"},
        "yAxis": _categories(labels, texts),
        "series": series,
        "phone": _BARS_PHONE,
    } | _zoomed(_height(len(labels), 36, 70) < len(labels) * 36, "yAxisIndex")
    columns = [what]
    for name in names:
        columns += [name, f"{name}, from", f"{name}, to"]
    table = tuple(
        (
            label,
            *(
                each
                for rows in sources.values()
                for each in (_number(rows[at].value), _number(rows[at].low), _number(rows[at].high))
            ),
        )
        for at, label in enumerate(labels)
    )
    kept = [at for at in range(len(columns)) if at == 0 or any(row[at] is not None for row in table)]
    return Chart(
        title=title,
        columns=tuple(columns[at] for at in kept),
        rows=tuple(tuple(row[at] for at in kept) for row in table),
        options=options,
        height=_height(len(labels), 36, 70),
        zoom="dataZoom" in options,
        share=frozenset(columns[1:]) if share else frozenset(),
    )


def _zoomed(many: bool, axis: str) -> dict[str, Any]:
    """Options of a chart that is zoomed: by its buttons, by keys, and by the wheel with Ctrl."""
    if not many:
        return {}
    places: Any = [0, 1] if axis == "yAxisIndex" else 0
    return {
        "dataZoom": [
            {"type": "inside", axis: places, "zoomOnMouseWheel": "ctrl", "moveOnMouseMove": True, "filterMode": "none"}
        ]
    }


def _level(level: tuple[str, float], axis: str, colour: str = "--bad") -> dict[str, Any]:
    name, at = level
    return {
        "silent": True,
        "symbol": "none",
        "data": [{axis: at, "name": name}],
        "lineStyle": {"color": colour, "type": "dashed", "width": 1.5},
        "label": {
            "formatter": f"{name}: {short(at)}",
            "color": colour,
            "position": "insideEndTop" if axis == "yAxis" else "end",
        },
    }


# -- curves -----------------------------------------------------------------------------------------------------------


def lines(
    curves: Sequence[Curve],
    *,
    across: str,
    up: str,
    title: str,
    logarithmic: bool = False,
    most: float | None = None,
    level: tuple[str, float] | None = None,
    at: float | None = None,
    times: bool = False,
    height: int = 300,
) -> Chart:
    """Curves over one axis; the second is dashed.

    Args:
        curves: The lines.
        across, up: What the axes hold.
        title: What it shows.
        logarithmic: Whether the horizontal axis is.
        most: End of the vertical axis.
        level: A named height to draw across, such as a limit.
        at: A position to mark, such as the chosen value.
        times: Whether x are seconds since 1970.
        height: In pixels.
    """
    series: list[dict[str, Any]] = []
    table: list[tuple[Any, ...]] = []
    several = len(curves) > 1
    for place, each in enumerate(curves):
        data = []
        for x, y in zip(each.x, each.y, strict=True):
            if not (math.isfinite(x) and math.isfinite(y)) or (logarithmic and x <= 0):
                continue
            words = _moment(x) if times else f"{across} {short(x)}"
            data.append(
                {"value": [x * 1000 if times else x, y], "tip": [words, f"{each.label}: {figure(y)} {up}".strip()]}
            )
            table.append((*((each.label,) if several else ()), _moment(x) if times else float(x), float(y)))
        style = {"color": _MARKS[place % 4], "width": 2, "type": "dashed" if place % 2 else "solid"}
        line: dict[str, Any] = {"type": "line", "name": each.label, "data": data, "lineStyle": style}
        line |= {"itemStyle": {"color": _MARKS[place % 4]}, "showSymbol": len(data) < 3, "symbolSize": 7}
        if each.steps:
            line["step"] = "end"
        if place == 0 and level is not None:
            line["markLine"] = _level(level, "yAxis")
        series.append(line)
    if at is not None:
        series.append(
            {
                "type": "line",
                "data": [],
                "markLine": {
                    "silent": True,
                    "symbol": "none",
                    "data": [{"xAxis": at}],
                    "lineStyle": {"color": "--soft", "type": "solid"},
                    "label": {"show": False},
                },
            }
        )
    end = {"max": most} if most is not None else {}
    if level is not None and most is None:
        tops = [row[-1] for row in table] + [level[1]]
        end = {"max": _above(max(tops))}
    options = {
        "grid": {"left": 10, "right": 24, "top": 56 if several else 30, "bottom": 28, "containLabel": True},
        "tooltip": {"trigger": "axis"},
        "xAxis": {
            "type": "time" if times else "log" if logarithmic else "value",
            "name": "" if times else across,
            "nameLocation": "middle",
            "nameGap": 28,
            "min": "dataMin",
            "max": "dataMax",
            "splitLine": {"show": False},
            "axisLine": {"show": True},
        },
        "yAxis": {"type": "value", "name": up, "nameTextStyle": {"align": "left"}, **end},
        "series": series,
        "dataZoom": [{"type": "inside", "zoomOnMouseWheel": "ctrl", "filterMode": "none"}],
    }
    if several:
        names = [each.label for each in curves]
        options["legend"] = {"data": names, "right": 0, "top": 2, "type": "scroll", "itemWidth": 22}
    columns = (*(("line",) if several else ()), "time" if times else across, up or "value")
    return Chart(title=title, columns=columns, rows=tuple(table), options=options, height=height, zoom=True)


def _moment(seconds: float) -> str:
    return np.datetime_as_string(np.datetime64(round(seconds), "s"), unit="m").replace("T", " ")


def _above(value: float) -> float:
    """The end of an axis: the next larger number with few digits."""
    if value <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    return next(step for step in (1.2, 1.6, 2.0, 2.4, 3.2, 4.0, 6.0, 8.0, 10.0, 12.0) if step * power >= value) * power


# -- releases that are compared ---------------------------------------------------------------------------------------


Spans = tuple[float | None, float | None, float | None, float | None]
"""Low and high risk, low and high utility."""
_UNKNOWN: Spans = (None, None, None, None)
_POINTS = (
    ("releases", {"color": "--mark-1"}),
    ("references", {"color": "--bg", "borderColor": "--soft", "borderWidth": 2}),
)


def front(
    points: Sequence[Point], *, limit: float, intervals: Mapping[str, Spans], joined: Sequence[str] = ()
) -> Chart:
    """Risk and utility of releases, with their intervals, their names, and the largest risk allowed.

    Args:
        points: x is the risk, y the utility; references are open circles. Labels begin with a number.
        limit: The largest risk allowed.
        intervals: Low and high risk, low and high utility, by label.
        joined: Labels of the releases that no other one dominates.
    """
    least = min([point.y for point in points] + [each[2] for each in intervals.values() if each[2] is not None])
    start = max(0.0, math.floor((least - 0.02) * 20) / 20)
    places = _label_places(points, start)
    label = {"show": True, "formatter": "{b}", "color": "--ink", "fontSize": 12}
    label |= {"textBorderColor": "--bg", "textBorderWidth": 3}
    series: list[dict[str, Any]] = []
    for (name, style), reference in zip(_POINTS, (False, True), strict=True):
        data = [
            {
                "value": [point.x, point.y, point.label.partition(" ")[0]],
                "name": point.label,
                "tip": _tip_of(point, intervals.get(point.label, _UNKNOWN)),
                "label": places[point.label],
                "symbolSize": 16 if point.best else 11,
            }
            for point in points
            if (point.kind == "reference") == reference
        ]
        series.append({"type": "scatter", "name": name, "data": data, "itemStyle": style, "label": label, "z": 6})
    series[0]["markLine"] = _level(("largest risk allowed", limit), "xAxis")
    best = sorted((point for point in points if point.label in joined), key=lambda point: point.x)
    series.append(
        {
            "type": "line",
            "name": "best for their risk",
            "data": [[point.x, point.y] for point in best],
            "lineStyle": {"color": "--mark-1", "width": 1.5},
            "itemStyle": {"color": "--mark-1"},
            "showSymbol": False,
            "silent": True,
            "z": 2,
        }
    )
    spans = [[point.x, point.y, *intervals[point.label]] for point in points if point.label in intervals]
    series.append({"type": "custom", "renderItem": "cross", "data": spans, "z": 4, "encode": {"x": 0, "y": 1}})
    names = [each["name"] for each in series if each.get("name")]
    zoomed = {"type": "inside", "zoomOnMouseWheel": "ctrl", "filterMode": "none"}
    number = {"label": {"formatter": "{@[2]}"}}
    options = {
        "grid": {"left": 34, "right": 24, "top": 64, "bottom": 30, "containLabel": True},
        "legend": {"data": names, "left": 0, "top": 2, "type": "scroll"},
        "tooltip": {"trigger": "item"},
        "xAxis": {"type": "value", "name": "risk", "nameLocation": "middle", "nameGap": 28, "min": 0, "max": 1},
        "yAxis": {"type": "value", "name": "utility", "nameLocation": "middle", "nameGap": 42, "min": start, "max": 1},
        "series": series,
        "dataZoom": [zoomed | {"xAxisIndex": 0}, zoomed | {"yAxisIndex": 0}],
        "phone": {"series": [number, number]},
    }
    columns = ("release", "risk", "risk from", "risk to", "utility", "utility from", "utility to")
    table = []
    for point in points:
        low, high, low_kept, high_kept = intervals.get(point.label, _UNKNOWN)
        table.append((point.label, point.x, low, high, point.y, low_kept, high_kept))
    return Chart(title="Risk and utility", columns=columns, rows=tuple(table), options=options, height=460, zoom=True)


def _label_places(points: Sequence[Point], start: float) -> dict[str, dict[str, Any]]:
    """Place the name of each point beside it, and lower where it would cover another."""
    taken: list[tuple[float, float, float]] = []
    found: dict[str, dict[str, Any]] = {}
    for point in sorted(points, key=lambda each: (-each.y, each.x)):
        x, y = 640 * point.x, 340 * (1 - (point.y - start) / max(1 - start, 1e-9))
        wide, left = 7.0 * len(point.label), point.x > 0.6
        first = x - 12 - wide if left else x + 12
        down = -11.0  # above the line of its interval
        while any(abs(y + down - b) < 15 and first < c and first + wide > a for a, b, c in taken):
            down += 24
        taken.append((first, y + down, first + wide))
        found[point.label] = {"position": "left" if left else "right", "offset": [0, down]}
    return found


def _tip_of(point: Point, spans: Spans) -> list[str]:
    low, high, least, most = spans
    risk = f"risk {point.x:.3f}" + (f" ({low:.3f} to {high:.3f})" if low is not None else "")
    kept = f"utility {point.y:.3f}" + (f" ({least:.3f} to {most:.3f})" if least is not None else "")
    return [point.label, risk, kept]
