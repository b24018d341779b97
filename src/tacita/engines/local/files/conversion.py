"""Texts of a file in the one form that all engines read: 1234.5, 2020-12-31, null.

A text that is no number or date in the dialect must not become one further on. It is kept with a mark in front, so
that it is out of domain (or `other`), like every other text that is no number.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from tacita.domain import CsvDialect, Date, Domain, Numeric

__all__ = ["Conversion"]

_NO_VALUE = "? "
"""Comes before a text that is no number or date in the dialect."""

Column: TypeAlias = Any
Convert: TypeAlias = Callable[[Column], Column]


class Conversion:
    """Conversion of each column by the dialect.

    Args:
        dialect: How the file is written.
        domain: Kinds of the columns; without it numbers and dates stay as they are.
    """

    def __init__(self, dialect: CsvDialect, domain: Domain | None) -> None:
        self._dialect = dialect
        self._nulls = pa.array([""] if domain is None else domain.nulls, pa.string())
        self._kinds: Mapping[str, Convert] = {}
        if domain is not None:
            numbers = [] if dialect.plain_numbers else [each for each in domain.attributes if isinstance(each, Numeric)]
            dates = [each for each in domain.attributes if isinstance(each, Date)] if dialect.dates else []
            self._kinds = {each.name: self._number for each in numbers} | {each.name: self._date for each in dates}

    @property
    def active(self) -> bool:
        """Whether it changes anything."""
        return bool(self._kinds or self._dialect.trim or self._dialect.absent)

    def apply(self, batch: pa.RecordBatch, columns: Sequence[str]) -> pa.RecordBatch:
        """Convert a batch, and give its columns these names."""
        if not self.active:
            return batch if batch.schema.names == list(columns) else batch.rename_columns(list(columns))
        converted = [self._convert(name, batch.column(at)) for at, name in enumerate(columns)]
        return pa.RecordBatch.from_arrays(converted, names=list(columns))

    def _convert(self, name: str, column: Column) -> Column:
        if self._dialect.trim:
            column = pc.utf8_trim_whitespace(column)
        absent = self._dialect.absent.get(name)
        if absent:
            column = pc.if_else(pc.is_in(column, pa.array(absent, pa.string())), None, column)
        convert = self._kinds.get(name)
        if convert is None:
            return column
        # words for missing values are no numbers, and stay what they are
        return pc.if_else(pc.is_in(column, self._nulls), column, convert(column))

    def _number(self, column: Column) -> Column:
        valid = pc.match_substring_regex(column, self._dialect.number_pattern)
        plain = column
        for mark in self._dialect.groups:
            plain = pc.replace_substring(plain, mark, "")
        plain = pc.replace_substring(plain, self._dialect.decimal, ".")
        return pc.if_else(valid, plain, _marked(column))

    def _date(self, column: Column) -> Column:
        """Dates are few, so each is read once."""
        encoded = column.dictionary_encode()
        texts = encoded.dictionary.to_pylist()
        found = [None if text is None else self._dialect.date(text) for text in texts]
        days = [
            None if text is None else (_NO_VALUE + text if day is None else day.isoformat())
            for text, day in zip(texts, found, strict=True)
        ]
        return pa.array(days, pa.string()).take(encoded.indices)


def _marked(column: Column) -> Column:
    return pc.binary_join_element_wise(pa.scalar(_NO_VALUE), column, pa.scalar(""))
