"""The dialect of text files: how rows, numbers, dates and missing values are written.

It is a part of the schema, so that every command and every surface reads a file alike. Numbers and dates are read
strictly: a text that does not follow the dialect is out of domain, never a different number. With `decimal: ","`, the
text 1.234 is no number unless `thousands: "."` says that it is 1234.
"""

from __future__ import annotations

import codecs
import datetime as dt
import re
from functools import cached_property

from pydantic import Field, field_validator, model_validator

from tacita.domain.attributes import Frozen

__all__ = ["DELIMITERS", "CsvDialect", "date_of"]

DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
"""Delimiters that files usually have, in words."""
SPACES = " \u00a0\u202f"
"""A space, a no-break space and a narrow no-break space: all of them group digits where one does."""
_GROUPS = {"", ".", ",", "'", "\u2019", " ", "_"}
_CODES = frozenset("aAbBdHIjmMpSyYfzZ%")


class CsvDialect(Frozen):
    """Dialect of a text file. The defaults are those of plain CSV: commas, UTF-8, a header, decimal points."""

    delimiter: str | None = Field(
        default=None, min_length=1, max_length=1, description="Between values; by default a tab in .tsv, else a comma."
    )
    quote: str = Field(default='"', max_length=1, description="Around values that hold a delimiter; empty for none.")
    encoding: str = Field(default="utf-8", description="Encoding of the text, such as cp1252 or utf-16.")
    decimal: str = Field(default=".", pattern="^[.,]$", description="Decimal mark of numbers: a point or a comma.")
    thousands: str = Field(default="", max_length=1, description="Mark between groups of three digits.")
    dates: tuple[str, ...] = Field(
        default=(), max_length=10, description="Formats of dates besides 2020-12-31, such as %d.%m.%Y."
    )
    header: bool = Field(default=True, description="Whether the first line has the names of the columns.")
    columns: tuple[str, ...] | None = Field(
        default=None, description="Names of the columns, for a file without a header."
    )
    skip: int = Field(default=0, ge=0, le=1000, description="Lines before the header or the first row.")
    trim: bool = Field(default=False, description="Whether spaces around values are left out.")
    absent: dict[str, tuple[str, ...]] = Field(
        default={}, description="Texts that mean a missing value in one column: {age: ['999']}."
    )

    def __hash__(self) -> int:
        return hash(self.model_dump_json())  # one member is a mapping

    @field_validator("encoding")
    @classmethod
    def _known(cls, value: str) -> str:
        try:
            return codecs.lookup(value).name
        except LookupError:
            raise ValueError("must be an encoding that Python knows, such as utf-8, cp1252 or utf-16") from None

    @field_validator("dates")
    @classmethod
    def _readable(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for each in value:
            codes = re.findall("%(.)", each)
            whole = {"d", "m"} <= set(codes) or {"d", "b"} <= set(codes) or {"d", "B"} <= set(codes)
            if not set(codes) <= _CODES or not ({"y", "Y"} & set(codes)) or not (whole or "j" in codes):
                raise ValueError(f"must be formats with day, month and year, such as %d.%m.%Y, got {each!r}")
        return value

    @model_validator(mode="after")
    def _distinct(self) -> CsvDialect:
        if self.thousands not in _GROUPS:
            raise ValueError("thousands must be one of . , ' space _ or empty")
        if self.thousands == self.decimal:
            raise ValueError("thousands and decimal must differ")
        if self.delimiter is not None and self.delimiter in (self.quote, "\n", "\r"):
            raise ValueError("delimiter must differ from quote, and be no line end")
        if self.header and self.columns is not None:
            raise ValueError("columns are for files without a header: set header to false")
        if not self.header and not self.columns:
            raise ValueError("a file without a header needs the names of its columns")
        return self

    @property
    def plain_numbers(self) -> bool:
        """Whether numbers are written as everywhere else, with a decimal point and without groups."""
        return self.decimal == "." and not self.thousands

    @cached_property
    def groups(self) -> str:
        """The marks between groups of digits: all spaces count as one."""
        return SPACES if self.thousands == " " else "'\u2019" if self.thousands in ("'", "\u2019") else self.thousands

    @cached_property
    def number_pattern(self) -> str:
        """Regular expression of a number, for engines that take RE2 or Python's."""
        mark = re.escape(self.decimal)
        grouped = f"|[0-9]{{1,3}}(?:[{re.escape(self.groups)}][0-9]{{3}})+" if self.thousands else ""
        whole = f"(?:[0-9]+{grouped})"
        return rf"^\s*[+-]?(?:{whole}(?:{mark}[0-9]*)?|{mark}[0-9]+)(?:[eE][+-]?[0-9]+)?\s*$"

    def number(self, text: str) -> float | None:
        """Read a number; None if the text is none in this dialect.

        >>> german = CsvDialect(decimal=",", thousands=".")
        >>> german.number("1.234,5"), german.number("1.23"), german.number("12")
        (1234.5, None, 12.0)
        """
        if re.match(self.number_pattern, text) is None:
            return None
        for mark in self.groups:
            text = text.replace(mark, "")
        return float(text.replace(self.decimal, "."))

    def date(self, text: str) -> dt.date | None:
        """Read a date: 2020-12-31, perhaps with a time behind it, or in one of the formats; None if it is none."""
        stripped = text.strip()
        try:
            return dt.date.fromisoformat(stripped[:10]) if len(stripped) >= 10 else date_of(stripped, self.dates)
        except ValueError:
            return date_of(stripped, self.dates)


def date_of(text: str, formats: tuple[str, ...]) -> dt.date | None:
    """Read a date in the first of some formats that fits; None if none does."""
    for each in formats:
        try:
            return dt.datetime.strptime(text, each).date()
        except ValueError:
            continue
    return None
