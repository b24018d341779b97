"""The chart of the console: a picture to zoom and to hover, files, and the same numbers as a table.

    show(chart)     draw it; `update` of what it returns draws other numbers in its place
    table_of        its numbers as an HTML table
    csv_of          its numbers as CSV, in full precision

`plots` makes charts of releases, attacks, networks and so on. The picture is drawn in the browser, by ECharts as it
ships with the framework (`static/chart.js`); a page without a chart does not load it. Reports and pages to print have
pictures without scripts instead (`tacita.figures`).
"""

from __future__ import annotations

import csv
import html
import io
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import nicegui.elements.echart  # noqa: F401  # names the module of ECharts for browsers
from nicegui import ui

from tacita.console.look import kit

__all__ = ["Chart", "Place", "Shown", "csv_of", "figure", "file_name", "show", "table_of"]

_CHART = Path(__file__).parents[1] / "static" / "chart.js"
_HINT = "Arrow keys go from mark to mark."
_ZOOM_HINT = " Plus and minus zoom, 0 shows all."
_MOST_SAID = 20


@dataclass(frozen=True, kw_only=True)
class Chart:
    """Numbers and their picture.

    Attributes:
        title: What it shows; it names the picture and its files.
        columns, rows: The numbers, as a table; None is an unknown number.
        options: Of ECharts, with names of tokens for colours; see `static/chart.js`.
        height: Of the picture, in pixels.
        width: The most that it grows to, in pixels.
        zoom: Whether there is more to see when it is larger.
        share: Columns that hold shares, which the table shows in per cent.
        said: The numbers in words, for screen readers; those of the first rows by default.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    options: Mapping[str, Any] = field(repr=False)
    height: int = 320
    width: int | None = None
    zoom: bool = False
    share: frozenset[str] = frozenset()
    said: str = ""

    @property
    def label(self) -> str:
        """The title and the first numbers, in words."""
        if self.said:
            return f"{self.title}: {self.said}"
        said = "; ".join(_said(self, row) for row in self.rows[:_MOST_SAID])
        left = len(self.rows) - _MOST_SAID
        return f"{self.title}: {said}" + (f"; and {left} more" if left > 0 else "")


def figure(value: Any, *, share: bool = False) -> str:
    """A number as a table shows it: four digits.

    >>> figure(0.30000000000000004), figure(0.1234, share=True), figure(None), figure(1234567.0), figure("a")
    ('0.3', '12.34 %', 'unknown', '1,234,567', 'a')
    """
    if isinstance(value, (bool, str)):
        return str(value)
    if value is None or not math.isfinite(value):
        return "unknown"
    if share:
        return f"{100 * value:.4g} %"
    return f"{value:,.0f}" if abs(value) >= 10_000 or value == int(value) else f"{value:,.4g}"


def file_name(title: str) -> str:
    """A file's name from a title.

    >>> file_name("Risk by attack, of sample-census")
    'risk-by-attack-of-sample-census'
    """
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")[:80] or "chart"


def csv_of(chart: Chart) -> str:
    """The numbers as CSV; unknown ones are empty."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(chart.columns)
    writer.writerows(["" if each is None else each for each in row] for row in chart.rows)
    return out.getvalue()


def table_of(chart: Chart) -> str:
    """The numbers as an HTML table, which escapes what it shows."""
    numeric = [any(isinstance(row[place], (int, float)) for row in chart.rows) for place in range(len(chart.columns))]
    styles = [' class="num"' if each else "" for each in numeric]
    head = "".join(
        f'<th scope="col"{style}>{html.escape(name)}</th>' for name, style in zip(chart.columns, styles, strict=True)
    )
    body = "".join(
        "<tr>"
        + "".join(f"<td{style}>{text}</td>" for text, style in zip(_texts(chart, row), styles, strict=True))
        + "</tr>"
        for row in chart.rows
    )
    caption = f'<caption class="unseen">{html.escape(chart.title)}</caption>'
    return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _texts(chart: Chart, row: tuple[Any, ...]) -> list[str]:
    pairs = zip(chart.columns, row, strict=True)
    return [html.escape(figure(each, share=name in chart.share)) for name, each in pairs]


def _said(chart: Chart, row: tuple[Any, ...]) -> str:
    """A row in words: its first cell, then its numbers."""
    first, *rest = [figure(each, share=name in chart.share) for name, each in zip(chart.columns, row, strict=True)]
    return f"{first} {', '.join(each for each in rest if each not in ('', 'unknown'))}".strip()


class _Picture(ui.element, component=_CHART):
    """The picture of a chart, drawn in the browser."""

    def __init__(self, chart: Chart) -> None:
        super().__init__()
        self._update_method = "update_chart"
        self.draw(chart)

    def draw(self, chart: Chart) -> None:
        """Send the options of a chart to the browser."""
        self._props["options"] = dict(chart.options)
        self._props["label"] = chart.label
        self._props["title"] = chart.title
        self._props["height"] = chart.height
        self._props["wide"] = chart.width


class Shown:
    """A chart on a page."""

    def __init__(self, chart: Chart) -> None:
        self.chart = chart
        with ui.element("figure").classes("chart") as self.element:
            self._picture = _Picture(chart)
            ui.element("div").classes("unseen chart-said").props("aria-live=polite")
            self._tools()
            with ui.element("details"):
                kit.text("Show the numbers", tag="summary")
                room = ui.element("div").classes("wide").props("tabindex=0 role=region")
                self._region = kit.set_attributes(room, **{"aria-label": f"Numbers: {chart.title}"})
                with room:
                    self._table = ui.html(table_of(chart), sanitize=False)

    def update(self, chart: Chart) -> None:
        """Draw other numbers in the same place."""
        self.chart = chart
        self._picture.draw(chart)
        self._picture.update()
        kit.set_attributes(self._region, **{"aria-label": f"Numbers: {chart.title}"})
        self._table.set_content(table_of(chart))

    def _tools(self) -> None:
        with ui.element("div").classes("chart-tools"):
            if self.chart.zoom:
                for words, sign, factor in (("Zoom in", "+", 1.4), ("Zoom out", "−", 1 / 1.4), ("Show all", "", 0)):
                    self._tool(sign or "All", words, f"runMethod({self._picture.id}, 'zoom', [{factor}])")
            for kind in ("PNG", "SVG"):
                name = file_name(self.chart.title)
                run = f"runMethod({self._picture.id}, 'save', ['{kind.lower()}', '{name}'])"
                self._tool(kind, f"Save the picture as {kind}: {self.chart.title}", run)
            made = self._tool("CSV", f"Save the numbers as CSV: {self.chart.title}")
            made.on("click", self._save_numbers)
            kit.text(_HINT + (_ZOOM_HINT if self.chart.zoom else ""), "unseen", tag="span")

    def _tool(self, shown: str, words: str, run: str = "") -> ui.element:
        button = ui.element("button").props("type=button")
        kit.set_attributes(button, **{"aria-label": words, "title": words})
        with button:
            kit.text(shown, tag="span")
        if run:
            button.on("click", js_handler=f"() => {run}")
        return button

    def _save_numbers(self) -> None:
        ui.download(csv_of(self.chart).encode(), f"{file_name(self.chart.title)}.csv")


def show(chart: Chart) -> Shown:
    """Draw a chart."""
    return Shown(chart)


class Place:
    """A place for a chart that is not known yet, and that is drawn again as its numbers change."""

    def __init__(self) -> None:
        self._room = ui.element("div")
        self._shown: Shown | None = None

    def draw(self, chart: Chart) -> None:
        """Draw a chart here, in place of the last one."""
        if self._shown is None:
            self._room.clear()
            with self._room:
                self._shown = Shown(chart)
        else:
            self._shown.update(chart)

    def clear(self) -> None:
        """Draw nothing."""
        self._room.clear()
        self._shown = None

    def wait(self, words: str) -> None:
        """Show that the chart is being computed, where there is none yet."""
        if self._shown is None:
            self._room.clear()
            with self._room:
                kit.skeleton(words, 5)
