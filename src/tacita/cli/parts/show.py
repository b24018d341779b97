"""Output in a terminal."""

from __future__ import annotations

import codecs
import json
import math
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table as Grid

from tacita.cli.parts.progress import Display
from tacita.common.number_text import number
from tacita.common.progress import step, watched_by
from tacita.errors import TacitaError

if TYPE_CHECKING:
    from tacita.plans import Calibrated, Plan
    from tacita.privacy.ledger import Balance, Quote
    from tacita.query.statistics import Statistic
    from tacita.tables.release import Release

__all__ = [
    "balance",
    "cost_text",
    "fault",
    "forget_notes",
    "grid",
    "never_fail_to_encode",
    "note",
    "plan",
    "plan_facts",
    "print_json",
    "print_notes",
    "problem",
    "progress",
    "release",
    "say",
    "shares",
    "show_no_progress",
    "showing_progress",
    "statistics",
    "stopped",
]

_display: Display | None = None


class _Console(Console):
    """A console that removes the line of progress before it prints."""

    def print(self, *objects: Any, **options: Any) -> None:
        """Print, as rich does."""
        if _display is not None:
            _display.clear()
        super().print(*objects, **options)


# no emoji: a text such as person:KEY:3 must not become a picture of a key
out, err = (_Console(highlight=False, emoji=False, stderr=stderr) for stderr in (False, True))

_BAR = 28
_MOST_ROWS = 40
_FRAMES = 8


def say(text: str) -> None:
    """One line."""
    out.print(text)


_notes: list[str] = []


def note(text: str) -> None:
    """Add a line to print at the end of a command that succeeds."""
    _notes.append(text)


def print_notes() -> None:
    """Print the notes of a command, once each, on standard error: piped output and errors in JSON stay unchanged."""
    for text in dict.fromkeys(_notes):
        err.print(text, soft_wrap=True, highlight=False, markup=False)


def forget_notes() -> None:
    """Drop all notes."""
    _notes.clear()


def print_json(data: Any) -> None:
    """Print plain JSON on standard output, whatever the terminal."""
    show_no_progress()
    print(json.dumps(data, ensure_ascii=not _holds_all(sys.stdout)))


def never_fail_to_encode() -> None:
    """Let streams that cannot hold every character show an escape instead: what was paid for must be shown."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper) and not _holds_all(stream):
            stream.reconfigure(errors="backslashreplace")


def _holds_all(stream: Any) -> bool:
    encoding = getattr(stream, "encoding", None) or "utf-8"
    return codecs.lookup(encoding).name.startswith("utf")


def problem(error: TacitaError) -> None:
    """Print an error for the owner of the data, so with its private part."""
    err.print(f"[bold red]{escape(error.title)}[/]: {escape(str(error))}")
    if error.private:
        err.print(f"  [dim]{escape(error.private)}[/]")


def fault(error: Exception) -> None:
    """Print the kind and place of an unexpected error, without its text and its causes, which may quote a row."""
    err.print("[bold red]A fault in Tacita[/]: please report these lines. They hold no value of your data.")
    err.print(f"  {type(error).__name__}")
    for frame in traceback.extract_tb(error.__traceback__)[-_FRAMES:]:
        err.print(f"  {escape(Path(frame.filename).name)}:{frame.lineno} {escape(frame.name)}")


def stopped(notes: Iterable[str]) -> None:
    """State that the user stopped the command, and what was spent."""
    err.print("[bold]Stopped.[/]")
    for text in notes or ("Nothing was spent.",):
        err.print(f"  {escape(text)}", soft_wrap=True)


@contextmanager
def showing_progress() -> Iterator[None]:
    """Show the current step on standard error while the block runs, once it takes two seconds."""
    global _display
    with Display(err.file, terminal=err.is_terminal and not err.is_dumb_terminal) as _display:
        try:
            with watched_by(_display.step):
                yield
        finally:
            last, _display = _display, None
            last.clear()


def show_no_progress() -> None:
    """Show no progress in this command."""
    if _display is not None:
        _display.silence()


def progress(what: str, total: int) -> Callable[[int], None]:
    """Return a function that takes how many of a total are done, and shows it as a step."""
    return lambda done: step(what, done / max(total, 1))


def shares(what: str) -> Callable[[float, str], None]:
    """Return a function that takes the share of some work that is done and its part, and shows them as a step."""
    return lambda share, part: step(f"{what}: {part}" if part else what, share)


def grid(title: str, columns: Iterable[str], rows: Iterable[Iterable[str]]) -> None:
    """Print a table of texts; columns that start with > are aligned to the right."""
    table = Grid(
        title=title,
        title_justify="left",
        title_style="bold",
        header_style="dim",
        box=None,
        padding=(0, 2, 0, 0),
    )
    for column in columns:
        table.add_column(column.removeprefix(">"), justify="right" if column.startswith(">") else "left")
    for row in rows:
        table.add_row(*(escape(_printable(cell)) for cell in row))
    out.print(table)
    out.print()


def _printable(cell: str) -> str:
    """The text with its control characters spelled out: a terminal would obey them."""
    return "".join(each if each.isprintable() or each == "\n" else repr(each)[1:-1] for each in cell)


def plan_facts(plan: Plan[Any], quote: Quote, facts: Iterable[tuple[str, str]], *, as_json: bool) -> None:
    """Print a plan: some facts and its cost, or all of it as JSON with the members that REST has."""
    planned = plan.as_dict()
    if as_json:
        print_json(planned | quote.as_dict())
        return
    cost = ("cost", cost_text(planned, quote))
    protected = ("who is protected", f"{plan.unit}, {plan.neighbours}")
    grid("Plan", ("", ""), [*facts, cost, protected])


def cost_text(planned: Mapping[str, Any], quote: Quote | None = None) -> str:
    """Cost of a plan by itself and, before it is paid, to the account, in words."""
    cost = f"{planned['cost']:.6g}"
    if quote is None:
        return cost
    amount = quote.as_dict()["account_added"]
    added = "more than any budget" if amount is None else f"{amount:.6g}"
    enough = "" if quote.affordable else ", too little"
    return f"{cost}; adds {added} to the account, {float(quote.remaining):.6g} remain{enough}"


def plan(calibrated: Calibrated, quote: Quote | None = None) -> None:
    """Print the cost of a plan and its expected errors."""
    data = calibrated.as_dict()
    rows = [
        (" x ".join(p.attributes) or "total", str(p.cells), f"{p.std:.4g}", f"± {p.half_width:g}")
        for p in calibrated.predict()
    ]
    grid(
        f"Plan: costs {cost_text(data, quote)}; protects {data['unit']} under {data['neighbours']}",
        ("table", ">cells", ">standard error", ">95 % of cells within"),
        rows,
    )


def release(released: Release, title: str | None = None, level: float = 0.95) -> None:
    """Print a release as rows with error bars drawn in text."""
    table = released.to_arrow(level)
    share = released.quantity == "share"
    rows = table.slice(0, _MOST_ROWS).to_pylist()
    ends = [abs(row[name]) for row in rows for name in ("estimate", "high")]
    top = max([end for end in ends if math.isfinite(end)] + [1e-12])
    shown = []
    for row in rows:
        labels = [str(row[name]) for name in released.attributes] or ["all"]
        numbers = [number(row[name], share=share) for name in ("estimate", "low", "high")]
        known = math.isfinite(row["low"]) and math.isfinite(row["high"])
        interval = f"{numbers[1]} … {numbers[2]}" if known else "not claimed"
        shown.append((*labels, numbers[0], interval, _bar(row, top)))
    names = tuple(released.attributes) or ("",)
    grid(
        title or " by ".join(released.attributes) or "total",
        (*names, ">estimate", ">95 % interval", ""),
        shown,
    )
    if table.num_rows > len(rows):
        say(f"[dim]… and {table.num_rows - len(rows)} more cells[/]\n")


def _bar(row: dict[str, float], top: float) -> str:
    """Draw a bar up to the lower end, then a line over the interval; up to the estimate if there is no interval."""
    ends = [row[name] if math.isfinite(row[name]) else row["estimate"] for name in ("low", "high")]
    low, high = (round(max(0.0, end) / top * _BAR) for end in ends)
    return "█" * low + "─" * (high - low)


def statistics(found: Iterable[Statistic]) -> None:
    """Print statistics with their intervals."""
    rows = []
    for statistic in found:
        share = statistic.name.startswith("share")
        numbers = [number(value, share=share, digits=2) for value in (statistic.value, *statistic.interval())]
        rows.append((statistic.name, numbers[0], f"{numbers[1]} … {numbers[2]}"))
    grid("Statistics, from the releases at no further cost", ("", ">estimate", ">95 % interval"), rows)


def balance(found: Balance) -> None:
    """Print the balance of an account."""
    data = found.as_dict()
    spent = "infinite" if data["spent"] is None else f"{data['spent']:.6g}"
    grid(
        f"Account {found.account.name}",
        ("budget", ">spent", ">remaining", ">charges", "protects"),
        [
            (
                str(found.account.budget),
                spent,
                f"{data['remaining']:.6g}",
                str(found.charges),
                f"{data['unit']}, {data['neighbours']}",
            )
        ],
    )
    if found.closed is not None:
        say(f"The account is closed: {found.closed}. State what was spent since: tacita budget reopen")
