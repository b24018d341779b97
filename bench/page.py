"""One page of all figures in a folder: ratios to peers as bars, goals, machines and versions. Needs no network."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any

__all__ = ["write_page"]

_DECADES = 3  # a bar ends at a thousandth and at a thousand

_STYLE = """
:root { color-scheme: light dark; --soft: #8886; --good: #1a7f4b; --bad: #c0392b; --bar: #3b6fb5; }
@media (prefers-color-scheme: dark) { :root { --good: #5fc992; --bad: #ff8a7a; --bar: #86b2ee; } }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 78rem; margin: 2rem auto; padding: 0 1rem; }
nav { columns: 4 11rem; margin: 1rem 0 2rem; } nav a { display: block; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: .25rem .6rem; border-bottom: 1px solid var(--soft); vertical-align: top; }
td.n, th.n { text-align: right; white-space: nowrap; }
.bar { position: relative; width: 9rem; height: .7rem; margin-top: .4rem; background: var(--soft); }
.bar i { position: absolute; top: 0; bottom: 0; background: var(--bar); }
.bar b { position: absolute; left: 50%; top: -.2rem; bottom: -.2rem; width: 1px; background: currentColor; }
.yes { color: var(--good); } .no { color: var(--bad); font-weight: 600; }
.note { font-size: .85em; opacity: .8; }
"""


def write_page(folder: Path) -> Path:
    """Write `index.html` from `NAME.json` and `runs.json` of a folder; return its path."""
    about = folder / "runs.json"
    runs = json.loads(about.read_text(encoding="utf-8")) if about.is_file() else {}
    found = {
        file.stem: json.loads(file.read_text(encoding="utf-8"))
        for file in sorted(folder.glob("*.json"))
        if file != about
    }
    parts = [_bench(name, rows, runs.get(name, {})) for name, rows in found.items()]
    links = "".join(f'<a href="#{escape(name)}">{escape(name)} {_met(rows)}</a>' for name, rows in found.items())
    rows = [row for each in found.values() for row in each]
    head = (
        f"<p>{len(rows)} figures of {len(found)} benches; {_met(rows)} goals are met. A ratio is ours over the peer's, "
        f"both from one run; bars are on a logarithmic scale, with 1 in the middle, and smaller is to the left.</p>"
    )
    page = folder / "index.html"
    page.write_text(
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Tacita: benches</title>'
        f'<meta name="viewport" content="width=device-width"><style>{_STYLE}</style></head><body>'
        f"<h1>Benches</h1>{head}<nav>{links}</nav>{''.join(parts)}</body></html>\n",
        encoding="utf-8",
    )
    return page


def _met(rows: list[Mapping[str, Any]]) -> str:
    goals = [row for row in rows if row["goal"] != "shown"]
    return f"{sum(row['holds'] for row in goals)} of {len(goals)}"


def _bench(name: str, rows: list[Mapping[str, Any]], run: Mapping[str, Any]) -> str:
    lines = "".join(_line(row) for row in rows)
    notes = "".join(f"<li>{escape(note)}</li>" for note in dict.fromkeys(row["note"] for row in rows) if note)
    heads = "".join(
        f"<th{' class=n' if number else ''}>{text}</th>"
        for text, number in (
            *(("figure", False), ("ours", True), ("peer", True), ("unit", False), ("ratio", True), ("", False)),
            *(("peer's name", False), ("goal", False), ("met", False)),
        )
    )
    return (
        f'<section id="{escape(name)}"><h2>{escape(name)}</h2>{_where(run)}<table><thead><tr>{heads}</tr></thead>'
        f'<tbody>{lines}</tbody></table><ul class="note">{notes}</ul></section>'
    )


def _where(run: Mapping[str, Any]) -> str:
    """When and where it ran, if that is known."""
    if not run:
        return ""
    versions = ", ".join(f"{name} {version}" for name, version in run["versions"].items())
    size = "quick form, " if run["quick"] else ""
    return (
        f'<p class="note">{escape(run["when"])}, {size}{run["seconds"]} s; {escape(run["processor"])}, '
        f"{run['cores']} cores, {escape(run['memory'])}, {escape(run['system'])}; commit {escape(run['commit'])}; "
        f"{escape(versions)}</p>"
    )


def _line(row: Mapping[str, Any]) -> str:
    ours, peer = float(row["ours"]), row["peer"]
    ratio = ours / peer if peer else math.nan
    word, style = ("shown", "") if row["goal"] == "shown" else (("yes", "yes") if row["holds"] else ("no", "no"))
    return (
        f"<tr><td>{escape(row['bar'])}</td><td class=n>{_number(ours)}</td>"
        f"<td class=n>{_number(peer) if peer is not None else ''}</td><td>{escape(row['unit'])}</td>"
        f"<td class=n>{_number(ratio) if peer else ''}</td><td>{_bar(ratio)}</td><td>{escape(row['peer_name'])}</td>"
        f'<td>{escape(row["goal"])}</td><td class="{style}">{word}</td></tr>'
    )


def _number(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.4g}"


def _bar(ratio: float) -> str:
    """A bar from 1 to the ratio, on a logarithmic scale."""
    if not ratio > 0 or math.isinf(ratio):
        return ""
    end = 50 + 50 * max(-1.0, min(1.0, math.log10(ratio) / _DECADES))
    low, high = sorted((50.0, end))
    return f'<div class="bar"><i style="left:{low:.1f}%;width:{high - low:.1f}%"></i><b></b></div>'
