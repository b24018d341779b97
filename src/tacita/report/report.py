"""One HTML file about releases for people: bars with error bars, their cost, and how to check it.

The file is self-contained: no scripts, no fonts, nothing fetched. It is made from releases only, so it may be released.
"""

from __future__ import annotations

import html
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from tacita.common.number_text import number
from tacita.common.whole import write_text
from tacita.errors import InvalidInput
from tacita.query.statistics import Statistic
from tacita.tables.release import Release

__all__ = ["Section", "bars", "render", "write"]

_MOST_BARS = 60
_ROW, _LEFT, _WIDTH, _NUMBERS = 24, 190, 420, 190

_STYLE = """
:root { color-scheme: light dark; --ink: #1d2733; --soft: #5b6876; --line: #dfe4ea; --bar: #5b8fc7; --second: #c78b3c;
  --bg: #fff; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6ebf1; --soft: #9aa7b5; --line: #323c48; --bar: #4f7fb3; --second: #a8752f;
  --bg: #161b22; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--bg); max-width: 54rem;
  margin: 2.5rem auto; padding: 0 1.2rem; }
h1 { font-size: 1.6rem; margin-bottom: .2rem } h2 { font-size: 1.15rem; margin: 2.2rem 0 .3rem }
p.lead, .note { color: var(--soft) } .note { font-size: .85rem }
table { border-collapse: collapse; margin: .6rem 0 }
td, th { padding: .25rem .9rem .25rem 0; text-align: left; border-bottom: 1px solid var(--line);
  font-variant-numeric: tabular-nums } th { font-weight: 600 }
svg { max-width: 100%; height: auto; display: block; margin-top: .5rem }
svg text { fill: var(--ink); font-size: 12.5px } svg .num { fill: var(--soft) }
.bar { fill: var(--bar) } .second { fill: var(--second) } .front { fill: none; stroke: var(--bar); stroke-width: 1.6 }
.point { fill: var(--soft) } .best { fill: var(--bar) } .reference { fill: none; stroke: var(--soft); stroke-width: 2 }
.curve, .curve-second { fill: none; stroke: var(--bar); stroke-width: 2 }
.curve-second { stroke: var(--second); stroke-dasharray: 6 4 } .band { fill: var(--bar); fill-opacity: .15 }
.frame { stroke: var(--line) } .err { stroke: var(--ink); stroke-width: 1.4 } .axis { stroke: var(--line) }
@media print { body { max-width: none; margin: 0 } h2, svg, table { break-inside: avoid } details { display: none } }
details { margin-top: .5rem }
pre { font-size: .75rem; overflow: auto; border: 1px solid var(--line); padding: .7rem; max-height: 20rem }
"""


@dataclass(frozen=True, kw_only=True)
class Section:
    """One part of a report: a release, statistics derived from it, rows of facts, and a text."""

    title: str
    text: str = ""
    release: Release | None = None
    statistics: Sequence[Statistic] = field(default=())
    facts: Sequence[tuple[str, str]] = field(default=())
    picture: str = ""
    """An SVG that we made, such as by `draw_network`: the page holds it unescaped."""


def bars(release: Release, level: float = 0.95) -> str:
    """Draw a release as an SVG: a bar for each cell and its confidence interval at the given level."""
    if not isinstance(release, Release):
        raise InvalidInput(
            "only a released table has bars",
            field="release",
            value=type(release).__name__,
            hint="Draw rows by assessing them (`tacita assess --report`); a model or function is asked, not drawn",
        )
    table = release.to_arrow(level)
    shown = min(table.num_rows, _MOST_BARS)
    rows = table.slice(0, shown).to_pylist()
    finite = [abs(v) for row in rows for v in (row["estimate"], row["low"], row["high"]) if math.isfinite(v)]
    top = max([*finite, 1e-12])
    low = min([0.0, *(row["low"] for row in rows if math.isfinite(row["low"]))])
    scale = _WIDTH / (top - low)

    def x(value: float) -> float:
        return float(_LEFT + (min(max(value, low), top) - low) * scale)

    share = release.quantity == "share"
    parts = []
    for index, row in enumerate(rows):
        y = index * _ROW + 4
        label = " · ".join(str(row[name]) for name in release.attributes) or "all"
        start, end = sorted((x(0), x(row["estimate"])))
        text = number(row["estimate"], share=share)
        parts.append(
            f'<text x="{_LEFT - 8}" y="{y + 13}" text-anchor="end">{html.escape(label[:28])}</text>'
            f'<rect class="bar" x="{start:.1f}" y="{y}" width="{max(end - start, 0.5):.1f}" height="16" rx="2"/>'
        )
        if math.isfinite(row["high"] - row["low"]):  # where no interval is claimed, none is drawn
            text += f" ± {number((row['high'] - row['low']) / 2, share=share)}"
            parts.append(_error_bar(x(row["low"]), x(row["high"]), y))
        parts.append(f'<text class="num" x="{_LEFT + _WIDTH + 10}" y="{y + 13}">{text}</text>')
    height = shown * _ROW + 6
    axis = f'<line class="axis" x1="{x(0):.1f}" x2="{x(0):.1f}" y1="0" y2="{height}"/>'
    more = (
        f'<p class="note">{table.num_rows - shown} more cells are in the data below.</p>'
        if table.num_rows > shown
        else ""
    )
    title = html.escape(" by ".join(release.attributes) or "total")
    return (
        f'<svg viewBox="0 0 {_LEFT + _WIDTH + _NUMBERS} {height}" role="img" aria-label="{title}">'
        f"{axis}{''.join(parts)}</svg>{more}"
    )


def _error_bar(low: float, high: float, y: int) -> str:
    lines = [(low, high, y + 8, y + 8), (low, low, y + 4, y + 12), (high, high, y + 4, y + 12)]
    return "".join(f'<line class="err" x1="{a:.1f}" x2="{b:.1f}" y1="{c}" y2="{d}"/>' for a, b, c, d in lines)


def _facts(rows: Sequence[tuple[str, str]]) -> str:
    cells = "".join(f"<tr><th>{html.escape(name)}</th><td>{html.escape(value)}</td></tr>" for name, value in rows)
    return f"<table>{cells}</table>" if rows else ""


def _statistics(statistics: Sequence[Statistic]) -> str:
    if not statistics:
        return ""
    rows = []
    for statistic in statistics:
        low, high = statistic.interval()
        share = statistic.name.startswith("share")
        shown = [number(value, share=share, digits=2) for value in (statistic.value, low, high)]
        rows.append(
            f"<tr><td>{html.escape(statistic.name)}</td><td>{shown[0]}</td><td>{shown[1]} to {shown[2]}</td></tr>"
        )
    return f"<table><tr><th>statistic</th><th>estimate</th><th>95 % interval</th></tr>{''.join(rows)}</table>"


def _privacy(release: Release) -> str:
    mean_error = float(np.mean(release.std()))
    share = release.quantity == "share"
    facts = [
        (
            "who held the data",
            "no one: answers were randomised on each device" if release.trust == "local" else "a curator",
        ),
        ("who is protected", f"{release.unit}, {release.neighbours}"),
        ("standard error of a cell", number(mean_error, share=share)),
        ("noise", "simulated: NOT private" if release.provenance.simulated else "secure randomness"),
    ]
    data = html.escape(json.dumps(release.as_dict(), indent=1, ensure_ascii=False))
    return f"{_facts(facts)}<details><summary>the release as data</summary><pre>{data}</pre></details>"


def render(title: str, lead: str, sections: Sequence[Section]) -> str:
    """The whole page."""
    parts = []
    for section in sections:
        body = [f"<h2>{html.escape(section.title)}</h2>"]
        if section.text:
            body.append(f"<p>{html.escape(section.text)}</p>")
        if section.release is not None:
            body.append(bars(section.release))
        body.append(section.picture)
        body.append(_statistics(section.statistics))
        body.append(_facts(section.facts))
        if section.release is not None:
            body.append(_privacy(section.release))
        parts.append("".join(body))
    return (
        "<!doctype html><html lang=en><meta charset=utf-8>"
        "<meta name=viewport content='width=device-width, initial-scale=1'>"
        f"<title>{html.escape(title)}</title><style>{_STYLE}</style>"
        f"<h1>{html.escape(title)}</h1><p class=lead>{html.escape(lead)}</p>{''.join(parts)}</html>\n"
    )


def write(path: Path, title: str, lead: str, sections: Sequence[Section]) -> None:
    """Write the page to a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, render(title, lead, sections))
