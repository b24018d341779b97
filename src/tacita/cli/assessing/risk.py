"""`tacita risk`: every calculator, with the options of its request. Reads no data."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import typer

from tacita.calculators.kind import Calculator, Result
from tacita.calculators.registry import CALCULATORS
from tacita.cli.parts import show
from tacita.cli.parts.options import Json
from tacita.cli.parts.requests import options_of, request_of

__all__ = ["app", "command_of"]

app = typer.Typer(no_args_is_help=True)
_ROWS = 20


def command_of(calculator: Calculator[Any]) -> Callable[..., None]:
    """Return the command of a calculator: the members of its request, and `--json`."""

    def command(json: bool, **given: Any) -> None:
        _show(calculator, calculator.compute(request_of(calculator.request, given)), as_json=json)

    whole = inspect.Parameter("json", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=Json)
    own = sorted(options_of(calculator.request), key=lambda each: each.default is not inspect.Parameter.empty)
    command.__signature__ = inspect.Signature([*own, whole])  # type: ignore[attr-defined]
    command.__doc__ = f"{calculator.summary}.\n\n[dim]tacita risk {calculator.name} {calculator.example}[/]"
    return command


for _calculator in CALCULATORS.values():
    app.command(_calculator.name)(command_of(_calculator))


def _show(calculator: Calculator[Any], found: Result, *, as_json: bool) -> None:
    if as_json:
        show.print_json(found.values)
        return
    show.grid(calculator.title, ("", ">"), found.facts)
    for table in found.tables:
        columns = list(table.columns.values())
        numeric = [any(isinstance(value, float | int) for value in column) for column in columns]
        headings = [f">{name}" if right else name for name, right in zip(table.columns, numeric, strict=True)]
        rows = [[_text(value) for value in row] for row in zip(*columns, strict=True)]
        step = -(-len(rows) // _ROWS)  # a long curve is thinned out
        show.grid(table.title, headings, rows[step - 1 :: step])
    for note in found.notes:
        show.say(note)


def _text(value: str | float | None) -> str:
    if value is None:
        return "unbounded"
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 10_000 else f"{value:.4g}"
    return str(value)
