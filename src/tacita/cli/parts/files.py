"""Files and databases that commands write to: checked before anything is charged.

The suffix of a file names its format; rows may also go into a new table of a database.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tacita.engines.targets import RowTarget, row_target
from tacita.errors import InvalidInput, TacitaError

if TYPE_CHECKING:
    from tacita.query.answer import Answer
    from tacita.tables.release import Releases

__all__ = [
    "JSON",
    "PAGE",
    "ROWS",
    "SCHEMA",
    "TABLES",
    "Into",
    "RowsOutput",
    "check_files",
    "paid_already",
    "rows_target",
    "write_answer",
]

RowsOutput = Annotated[
    str,
    typer.Option(
        "--output",
        "-o",
        help="Output of the rows: .csv, .parquet, a database (postgresql://…, mongodb://…), "
        "or a folder that a cluster writes (spark:PATH).",
    ),
]
Into = Annotated[
    str | None, typer.Option("--into", help="The new table or collection, where the output is a database.")
]
ROWS = (".csv", ".parquet")
TABLES = (".csv", ".parquet", ".json", ".xlsx")
JSON = (".json",)
PAGE = (".html", ".htm")
SCHEMA = (".yaml", ".yml", ".json")
_WORKBOOK = (".xlsx", ".xls", ".ods")


def check_files(suffixes: Sequence[str] | None = None, /, **paths: Path | None) -> None:
    """Refuse files that cannot be written, by the names of their options, before anything is charged.

    Args:
        suffixes: Allowed suffixes; any if not given.
        **paths: By option; None where the option was not given.
    """
    for field, path in paths.items():
        if path is None:
            continue
        if suffixes is not None and path.suffix.lower() not in suffixes:
            ends = " or ".join([", ".join(suffixes[:-1]), suffixes[-1]] if len(suffixes) > 1 else suffixes)
            workbook = path.suffix.lower() in _WORKBOOK and ".csv" in suffixes
            known = ".xlsx" if ".xlsx" in suffixes else ".csv"
            hint = f"Write {known}: spreadsheet programs open it" if workbook else None
            raise InvalidInput(f"must end in {ends}", field=field, value=path, hint=hint)
        if not path.parent.is_dir():
            raise InvalidInput("its folder must exist", field=field, value=path)
        if path.is_dir():
            raise InvalidInput("is a folder", field=field, value=path)


def rows_target(output: str, into: str | None) -> RowTarget:
    """Return where rows are written; refuse what is neither a file nor a database.

    Call its `check` with the columns when they are known, and before anything is charged.

    Args:
        output: A file, or the address of a database.
        into: The new table of a database.
    """
    target = row_target(output, into)
    if target.path is not None:
        check_files(ROWS, output=target.path)
    return target


@contextmanager
def paid_already(hint: str) -> Iterator[None]:
    """Add to every error in the block how to get the result that was paid for."""
    try:
        yield
    except TacitaError as error:
        error.advise(hint)
        raise
    except KeyboardInterrupt as stop:
        stop.add_note(hint)
        raise
    except OSError as error:
        value = f"{error.filename}: {error.strerror}"
        raise InvalidInput("cannot be written", field="output", value=value, hint=hint) from None


def write_answer(answer: Answer | Releases, path: Path) -> None:
    """Write an answer in the format of the suffix: JSON holds all of it, others a row for each cell or group."""
    answer.save(path)
