"""Colours and rules of all figures: one style for pages, the console, notebooks and files."""

from __future__ import annotations

__all__ = ["DARK", "LIGHT", "RULES"]

LIGHT = "--ink: #1d2733; --soft: #5b6876; --line: #dfe4ea; --bar: #5b8fc7; --second: #c78b3c; --bg: #fff;"
DARK = "--ink: #e6ebf1; --soft: #9aa7b5; --line: #323c48; --bar: #4f7fb3; --second: #a8752f; --bg: #161b22;"

RULES = (
    ("text", "fill: var(--ink); font-size: 12.5px"),
    (".num", "fill: var(--soft)"),
    (".bar", "fill: var(--bar)"),
    (".second", "fill: var(--second)"),
    (".front", "fill: none; stroke: var(--bar); stroke-width: 1.6"),
    (".point", "fill: var(--soft)"),
    (".best", "fill: var(--bar)"),
    (".reference", "fill: none; stroke: var(--soft); stroke-width: 2"),
    (".curve, .curve-second", "fill: none; stroke: var(--bar); stroke-width: 2"),
    (".curve-second", "stroke: var(--second); stroke-dasharray: 6 4"),
    (".band", "fill: var(--bar); fill-opacity: .15"),
    (".frame", "stroke: var(--line)"),
    (".err", "stroke: var(--ink); stroke-width: 1.4"),
    (".axis", "stroke: var(--line)"),
)
"""Selectors inside a figure, each with its declarations."""
