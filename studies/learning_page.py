"""The figures of the learning study as one HTML page that stands alone."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from pathlib import Path

from studies.learning import Result

__all__ = ["write_page"]

_W, _H, _L, _B, _RIGHT = 560, 240, 46, 34, 20
_COLOURS = ("#3b6fb6", "#c2572b", "#3f8f5f", "#8a5aa8")


def write_page(results: Sequence[Result], path: Path) -> None:
    """Loss by k, macro F1 by k for each table and model, and what happens to the two classes."""
    tables = list(dict.fromkeys(result.dataset for result in results))
    parts = [_loss(results, tables)]
    for name in tables:
        here = [result for result in results if result.dataset == name]
        note = " These people are made up." if here[0].simulated else ""
        best = here[0].majority
        parts.append(
            f"<h2>{html.escape(name)}</h2><p>Always saying the majority class is right in {best:.1%}.{note}</p>"
        )
        parts.append(_scores(here))
        parts.append(_table(here))
    style = "body{font:15px/1.5 system-ui;max-width:46rem;margin:2rem auto;padding:0 1rem}svg{max-width:100%}"
    style += "td,th{padding:.15rem .7rem .15rem 0;text-align:left}table{border-collapse:collapse;font-size:.85rem}"
    page = (
        f"<!doctype html><html lang=en><meta charset=utf-8><title>Learning from anonymized rows</title><style>{style}"
    )
    page += f"</style><h1>Learning from anonymized rows</h1>{''.join(parts)}</html>"
    path.write_text(page, encoding="utf-8")


def _loss(results: Sequence[Result], tables: Sequence[str]) -> str:
    lines = {}
    for name in tables:
        found = {result.k: result.gcp for result in results if result.dataset == name}
        lines[name] = sorted(found.items())
    return "<h2>Information loss</h2>" + _chart(
        lines, "GCP", top=max(1e-9, *(y for line in lines.values() for _, y in line))
    )


def _scores(results: Sequence[Result]) -> str:
    lines = {}
    for model in dict.fromkeys(result.model for result in results):
        for phase in ("retrained", "retuned"):
            found = {r.k: r.macro_f1 for r in results if r.model == model and r.phase in (phase, "original")}
            lines[f"{model}, {phase}"] = sorted(found.items())
    return _chart(lines, "macro F1", top=1.0)


def _chart(lines: dict[str, list[tuple[int, float]]], label: str, top: float) -> str:
    """Lines over k on a logarithmic axis; the second half of a pair is dashed."""
    ks = sorted({k for line in lines.values() for k, _ in line})
    span = math.log(max(ks[-1], 2)) or 1.0

    def place(k: int, y: float) -> str:
        x = _L + (_W - _L - _RIGHT) * math.log(k) / span
        return f"{x:.1f},{_H - _B - (_H - _B - 10) * y / top:.1f}"

    parts = []
    for k in ks:
        x = place(k, 0).split(",")[0]
        parts.append(f'<text x="{x}" y="{_H - 14}" text-anchor="middle" font-size="11">{k}</text>')
    for share in (0.0, 0.5, 1.0):
        y = place(1, share * top).split(",")[1]
        parts.append(f'<line x1="{_L}" x2="{_W}" y1="{y}" y2="{y}" stroke="#ccc"/>')
        parts.append(f'<text x="4" y="{y}" font-size="11">{share * top:.2f}</text>')
    legend = []
    for number, (name, line) in enumerate(lines.items()):
        half = number // 2 if "," in name else number
        colour = _COLOURS[half % len(_COLOURS)]
        dash = ' stroke-dasharray="5 4"' if name.endswith("retuned") else ""
        points = " ".join(place(k, y) for k, y in line)
        parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"{dash}/>')
        legend.append(f'<span style="color:{colour}">{"╌" if dash else "─"} {html.escape(name)}</span>')
    drawn = f'<svg viewBox="0 0 {_W} {_H}" role="img">{"".join(parts)}</svg>'
    return f"<p>{html.escape(label)} by k</p>{drawn}<p>{' &nbsp; '.join(legend)}</p>"


def _table(results: Sequence[Result]) -> str:
    heads = ("model", "phase", "k", "macro F1", "micro F1", "majority P / R", "minority P / R", "spread", "GCP")
    rows = "".join(
        "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in _cells(result)) + "</tr>" for result in results
    )
    return f"<table><tr>{''.join(f'<th>{head}</th>' for head in heads)}</tr>{rows}</table>"


def _cells(result: Result) -> tuple[str, ...]:
    (p0, p1), (r0, r1) = result.precision, result.recall
    spread = "" if result.spread is None else f"{result.spread:.3f}"
    return (
        result.model,
        result.phase,
        str(result.k),
        f"{result.macro_f1:.3f}",
        f"{result.micro_f1:.3f}",
        f"{p0:.2f} / {r0:.2f}",
        f"{p1:.2f} / {r1:.2f}",
        spread,
        f"{result.gcp:.3f}",
    )
