"""Files that commands write: the suffix names the format, and is checked before anything is charged."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from tacita.common.whole import write_text
from tacita.errors import InvalidInput, TacitaError
from tacita.query.answer import Answer
from tacita.synthesize.writing import write_file
from tacita.tables.release import Releases

__all__ = ["JSON", "PAGE", "ROWS", "SCHEMA", "TABLES", "as_table", "check_files", "paid_already", "write_answer"]

ROWS = (".csv", ".parquet")
TABLES = (".csv", ".parquet", ".json")
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
            hint = "Write .csv: spreadsheet programs open it" if workbook else None
            raise InvalidInput(f"must end in {ends}", field=field, value=path, hint=hint)
        if not path.parent.is_dir():
            raise InvalidInput("its folder must exist", field=field, value=path)
        if path.is_dir():
            raise InvalidInput("is a folder", field=field, value=path)


@contextmanager
def paid_already(hint: str) -> Iterator[None]:
    """Add to every error in the block how to get the result that was paid for."""
    try:
        yield
    except TacitaError as error:
        error.advise(hint)
        raise
    except OSError as error:
        value = f"{error.filename}: {error.strerror}"
        raise InvalidInput("cannot be written", field="output", value=value, hint=hint) from None


def write_answer(answer: Answer | Releases, path: Path) -> None:
    """Write an answer in the format of the suffix: JSON holds all of it, CSV and Parquet a row per cell or group."""
    if path.suffix.lower() in JSON:
        write_text(path, answer.to_json())
    else:
        write_file(path, iter([as_table(answer)]))


def as_table(answer: Answer | Releases) -> pa.Table:
    """Convert an answer to one table, with standard errors and 95 % intervals as columns; empty where none is claimed.

    Several tables become one: a column `table` names them, and attributes that one lacks are empty there.
    """
    if isinstance(answer, Answer):
        return _without_infinite(answer.to_arrow())
    parts = [each.to_arrow() for each in answer.values()]
    if len(parts) == 1:
        return _without_infinite(parts[0])
    names = [" x ".join(each.attributes) or "total" for each in answer.values()]
    numbers = ("estimate", "std", "low", "high")
    attributes = dict.fromkeys(name for each in answer.values() for name in each.attributes)
    labelled = [
        part.add_column(0, "table", pa.array([name] * part.num_rows)).replace_schema_metadata(None)
        for part, name in zip(parts, names, strict=True)
    ]
    whole = pa.concat_tables(labelled, promote_options="default")
    return _without_infinite(whole.select(["table", *attributes, *numbers]))


def _without_infinite(table: pa.Table) -> pa.Table:
    for at, column in enumerate(table.columns):
        if pa.types.is_floating(column.type):
            known = pc.if_else(pc.is_finite(column), column, pa.scalar(None, column.type))
            table = table.set_column(at, table.field(at), known)
    return table
