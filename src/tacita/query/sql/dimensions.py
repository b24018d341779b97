"""Public dimension tables: a key, and columns that are a function of it.

A dimension table is declared public by the person who gives it. Joined to a private table along an attribute with
declared levels, it is a public map of codes, so that a join moves no row of anyone else and costs nothing.

Privacy: none of its own; a key that is there twice would count rows twice and is refused.   Claim: docs/claims/sql.md
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as papq

from tacita.engines.local.files.sniff import sniff
from tacita.engines.local.files.stored import StoredFile
from tacita.errors import InvalidInput
from tacita.query.sql.scalar import shown

__all__ = ["Dimension", "read_dimension"]

_MOST_ROWS = 1 << 20


@dataclass(frozen=True, eq=False)
class Dimension:
    """A public table by the name that SQL uses.

    >>> Dimension("shops", {"id": [1, 2], "area": ["north", None]}).lookup("id", "area")
    {'1': 'north', '2': None}
    """

    name: str
    columns: Mapping[str, list[Any]]

    def __post_init__(self) -> None:
        sizes = {len(values) for values in self.columns.values()}
        if len(sizes) != 1:
            raise InvalidInput("must have columns of equal length", field="dimension", value=self.name)
        if sizes.pop() > _MOST_ROWS:
            raise InvalidInput(f"must have at most {_MOST_ROWS} rows", field="dimension", value=self.name)

    @classmethod
    def of_table(cls, name: str, table: pa.Table) -> Dimension:
        """A dimension from an Arrow table."""
        return cls(
            name, {column: [_plain(value) for value in table[column].to_pylist()] for column in table.column_names}
        )

    @classmethod
    def of_records(cls, name: str, records: Iterable[Mapping[str, Any]]) -> Dimension:
        """A dimension from rows, as JSON has them; a column that a row lacks is null there."""
        rows = list(records)
        names = dict.fromkeys(column for row in rows for column in row)
        if not names:
            raise InvalidInput("must have rows and columns", field="dimension", value=name)
        return cls(name, {column: [_plain(row.get(column)) for row in rows] for column in names})

    def lookup(self, key: str, column: str) -> dict[str, Any]:
        """The value of a column for each key, as text; a key that is there twice is refused."""
        found: dict[str, Any] = {}
        for each, value in zip(self.columns[key], self.columns[column], strict=True):
            if each is None:
                continue
            if shown(each) in found:
                raise InvalidInput(
                    f"JOIN: {self.name}.{key} has a key twice, so that rows would be counted twice",
                    field="sql",
                    value=shown(each),
                    hint="Make the key of the dimension table distinct",
                )
            found[shown(each)] = value
        return found


def _plain(value: Any) -> Any:
    """Text, number, truth value, date or None."""
    if isinstance(value, dt.datetime):
        return value.date()
    if isinstance(value, Decimal | int) and not isinstance(value, bool):
        return float(value)
    return value if value is None or isinstance(value, bool | float | str | dt.date) else str(value)


def read_dimension(text: str) -> Dimension:
    """Read a dimension that is given as `NAME=FILE`: CSV or Parquet."""
    name, _, path = text.partition("=")
    if not name or not path:
        raise InvalidInput("must be NAME=FILE", field="dimension", value=text, hint="--dimension shops=shops.csv")
    file = Path(path).expanduser()
    if not file.is_file():
        raise InvalidInput("does not exist", field="dimension", value=path)
    try:
        table = papq.read_table(file) if file.suffix == ".parquet" else _read_text(file)
    except pa.ArrowException:
        raise InvalidInput("cannot be read as CSV or Parquet", field="dimension", value=path) from None
    return Dimension.of_table(name, table)


def _read_text(file: Path) -> pa.Table:
    """Read a text file; its dialect may be looked for in its rows, because they are public."""
    dialect = sniff(StoredFile(str(file))).dialect
    return pacsv.read_csv(
        file,
        read_options=pacsv.ReadOptions(encoding=dialect.encoding, skip_rows=dialect.skip),
        parse_options=pacsv.ParseOptions(delimiter=dialect.delimiter or ",", quote_char=dialect.quote or False),
        convert_options=pacsv.ConvertOptions(decimal_point=dialect.decimal),
    )
