"""One HTML file about releases for people: bars with error bars, their cost, and how to check it.

The file is self-contained: no scripts, no fonts, nothing fetched. It is made from releases only, so it may be released.
"""

from __future__ import annotations

import html
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from tacita.common.number_text import number
from tacita.common.whole import write_text
from tacita.errors import InvalidInput
from tacita.figures.bars import MOST_BARS, estimate_bars
from tacita.figures.style import DARK, LIGHT, RULES
from tacita.query.statistics import Statistic
from tacita.tables.release import Release
from tacita.tables.tabular import intervals_of

__all__ = ["Section", "bars", "render", "write"]

_STYLE = (
    f":root {{ color-scheme: light dark; {LIGHT} }}\n"
    f"@media (prefers-color-scheme: dark) {{ :root {{ {DARK} }} }}\n"
    """
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--bg); max-width: 54rem;
  margin: 2.5rem auto; padding: 0 1.2rem; }
h1 { font-size: 1.6rem; margin-bottom: .2rem } h2 { font-size: 1.15rem; margin: 2.2rem 0 .3rem }
p.lead, .note { color: var(--soft) } .note { font-size: .85rem }
table { border-collapse: collapse; margin: .6rem 0 }
td, th { padding: .25rem .9rem .25rem 0; text-align: left; border-bottom: 1px solid var(--line);
  font-variant-numeric: tabular-nums } th { font-weight: 600 }
svg { max-width: 100%; height: auto; display: block; margin-top: .5rem }
@media print { body { max-width: none; margin: 0 } h2, svg, table { break-inside: avoid } details { display: none } }
details { margin-top: .5rem }
pre { font-size: .75rem; overflow: auto; border: 1px solid var(--line); padding: .7rem; max-height: 20rem }
""" + "\n".join(f"svg {selector} {{ {declarations} }}" for selector, declarations in RULES)
)


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
    rows, left = intervals_of(release, level), release.values.size - MOST_BARS
    title = " by ".join(release.attributes) or "total"
    more = f'<p class="note">{left} more cells are in the data below.</p>' if left > 0 else ""
    return estimate_bars(rows, share=release.quantity == "share", title=title) + more


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
