"""`tacita`: the commands, and how errors become exit codes.

0   done                              5   the budget does not allow it
2   an input breaks a rule            6   not confirmed as public
3   the data does not fit             7   not allowed
4   a source cannot be reached        8   clashes with what is there
1   anything else                    70   a fault in Tacita
                                   130   stopped by Ctrl-C
"""

from __future__ import annotations

import json
import sys
from typing import Annotated

import typer

from tacita import errors
from tacita._version import __version__
from tacita.cli.parts import show
from tacita.cli.verbs import Interrupted, Verbs

__all__ = ["EXIT_CODES", "app", "main"]

INTERRUPTED = 130

EXIT_CODES: dict[type[errors.TacitaError], int] = {
    errors.InvalidInput: 2,
    errors.DataError: 3,
    errors.SourceUnavailable: 4,
    errors.BudgetExceeded: 5,
    errors.NotPublic: 6,
    errors.Unauthorized: 7,
    errors.Forbidden: 7,
    errors.Conflict: 8,
    errors.InternalError: 70,
}

app = typer.Typer(
    name="tacita",
    cls=Verbs,
    help="Collect, release and audit sensitive data under privacy guarantees that anyone can check.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"tacita {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    pass


def exit_code(error: errors.TacitaError) -> int:
    """Return the exit code of an error: that of the nearest class in the table."""
    return next((EXIT_CODES[cls] for cls in type(error).__mro__ if cls in EXIT_CODES), 1)


def _notes_of(stop: BaseException) -> tuple[str, ...]:
    """Notes on what was spent, also of the first of several Ctrl-C."""
    found: list[str] = []
    at: BaseException | None = stop
    while at is not None:
        if isinstance(at, Interrupted | KeyboardInterrupt):
            found += at.notes if isinstance(at, Interrupted) else getattr(at, "__notes__", ())
        at = at.__context__
    return tuple(dict.fromkeys(found))


def main() -> None:
    """Run the command line: errors become one readable message, or one JSON object with `--json`, and an exit code."""
    show.never_fail_to_encode()
    try:
        with show.showing_progress():
            if "--json" in sys.argv:
                show.show_no_progress()
            app()
    except SystemExit as ended:
        if not ended.code:
            show.print_notes()
        raise
    except (Interrupted, KeyboardInterrupt) as stop:
        notes = _notes_of(stop)
        if "--json" in sys.argv:
            print(json.dumps({"code": "interrupted", "spent": list(notes)}), file=sys.stderr)
        else:
            show.stopped(notes)
        sys.exit(INTERRUPTED)
    except errors.TacitaError as error:
        if "--json" in sys.argv:
            print(json.dumps(error.as_dict()), file=sys.stderr)
        else:
            show.problem(error)
        sys.exit(exit_code(error))
    except Exception as error:
        show.fault(error)
        sys.exit(EXIT_CODES[errors.InternalError])
    finally:
        show.forget_notes()
