"""Spelling of a column: numbers, dates and words for missing values that its texts can be.

    numbers    marks of decimals and thousands that all texts of a column follow
    dates      formats that all of them follow
    words      texts that usually mean a missing value

More than one reading of a column may be possible: 1.234 is 1234 in some countries, and 03/04/2020 is in March or in
April. `Ambiguous` says so; no reading is then chosen silently.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from tacita.domain.dialect import CsvDialect, date_of

__all__ = ["DATE_FORMATS", "NULL_WORDS", "Ambiguous", "find_dates", "find_marks", "other_marks", "sentinels"]

NULL_WORDS = (
    "",
    "NA",
    "N/A",
    "n/a",
    "#N/A",
    "NULL",
    "null",
    "Null",
    "NaN",
    "nan",
    "None",
    ".",
    "..",
    "-",
    "--",
    "?",
    "missing",
    "Missing",
    "MISSING",
    "k.A.",
    "k. A.",
)
"""Texts that usually mean a missing value."""
_MARKS = ((".", ""), (",", ""), (".", ","), (",", "."), (",", " "), (".", " "), (".", "'"), (",", "'"))
"""Marks of decimals and thousands, those that are tried first."""
_DIALECTS = tuple(CsvDialect(decimal=decimal, thousands=thousands) for decimal, thousands in _MARKS)
_DAYS = ("%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y", "%Y/%m/%d", "%Y.%m.%d", "%d.%m.%y", "%d/%m/%y")
_WORDS = ("%m/%d/%y", "%d %b %Y", "%d %B %Y", "%b %d, %Y", "%B %d, %Y", "%d-%b-%Y", "%d%b%Y")
DATE_FORMATS = tuple(day + time for day in (*_DAYS, *_WORDS) for time in ("", " %H:%M", " %H:%M:%S"))
"""Formats of dates that are tried, besides 2020-12-31."""
_DIGIT = re.compile(r"\d")
_SENTINELS = (9, 99, 999, 9999, 99999, 999999, -1, -9, -99, -999, -9999)


@dataclass(frozen=True)
class Ambiguous:
    """Texts that can be read in several ways, or whose century is not written.

    Attributes:
        column: The column.
        readings: Each possible reading: what to state, and what it would mean.
        rule: What is wrong with them.
    """

    column: str
    readings: tuple[tuple[str, str], ...]
    rule: str = "can be read in more than one way"


def find_marks(columns: dict[str, Collection[str]], delimiter: str) -> tuple[CsvDialect, Ambiguous | None]:
    """Find the marks of decimals and thousands that explain most columns; a column with other marks is a doubt.

    Args:
        columns: Distinct texts of each column, without those that mean missing values.
        delimiter: Between values of the file. A comma cannot be in numbers then, except in quotes.
    """
    dialects = list(_DIALECTS)
    if delimiter == ",":  # the custom of countries with decimal points
        dialects = [each for each in dialects if each.decimal == "."]
    fits: dict[int, list[str]] = {}
    for at, dialect in enumerate(dialects):
        fits[at] = [name for name, texts in columns.items() if texts and all(_is_number(dialect, t) for t in texts)]
    best = max(fits, key=lambda at: (len(fits[at]), -at))
    equal = [at for at in fits if at != best and len(fits[at]) == len(fits[best])]
    for other in equal:
        for name in fits[best]:
            pair = (dialects[best], dialects[other])
            texts = [t for t in columns[name] if name in fits[other] and len({d.number(t) for d in pair}) == 2]
            if texts:
                return dialects[best], Ambiguous(name, tuple(_stated(each) for each in pair))
    for name, written in columns.items():
        marks = other_marks(written, dialects[best])
        if marks is not None:
            ways = ((_stated(dialects[best])[0], "as in most columns"), (_stated(marks)[0], f"as in {name!r}"))
            return dialects[best], Ambiguous(name, ways, "have other marks than those of other columns")
    return dialects[best], None


def other_marks(texts: Collection[str], used: CsvDialect) -> CsvDialect | None:
    """Return marks by which all texts are numbers, where those of a dialect do not make them numbers."""
    if not texts or all(used.number(text) is not None for text in texts):
        return None
    return next((each for each in _DIALECTS if all(_is_number(each, text) for text in texts)), None)


def _is_number(dialect: CsvDialect, text: str) -> bool:
    if dialect.number(text) is None:
        return False
    if not dialect.thousands:
        return True
    groups = re.split(f"[{re.escape(dialect.groups)}]", text.strip().lstrip("+-"))
    return len(groups) == 1 or not groups[0].startswith("0")  # 0.123 has no group of thousands


def _stated(dialect: CsvDialect) -> tuple[str, str]:
    marks = f"decimal {dialect.decimal!r}" + (f" and thousands {dialect.thousands!r}" if dialect.thousands else "")
    return marks, "decimal and thousands marks"


def find_dates(name: str, texts: Collection[str]) -> tuple[tuple[str, ...], Ambiguous | None] | None:
    """Find the format that all texts of a column follow; None if they are no dates.

    Returns:
        The formats that are needed besides 2020-12-31, and other readings that are as possible.
    """
    if not texts or not all(_DIGIT.search(text) and 6 <= len(text.strip()) <= 40 for text in texts):
        return None
    plain = CsvDialect()
    left = [text.strip() for text in texts if plain.date(text) is None]
    if not left:
        return (), None
    found = [each for each in DATE_FORMATS if all(date_of(text, (each,)) is not None for text in left)]
    if not found:
        return None
    first = found[0]
    if "%y" in first:
        return (first,), Ambiguous(name, ((first, "69 to 99 are 1969 to 1999, 00 to 68 are 2000 to 2068"),))
    for other in found[1:]:
        if any(date_of(text, (first,)) != date_of(text, (other,)) for text in left):
            return (first,), Ambiguous(name, ((first, "day before month"), (other, "month before day")))
    return (first,), None


def sentinels(numbers: Sequence[float]) -> list[int]:
    """Return numbers such as 999 that stand far from all others, and so may mean missing values."""
    ordered = sorted(set(numbers))
    if len(ordered) < 5:
        return []
    spread = ordered[-2] - ordered[1]
    ends = [(ordered[-1], ordered[-1] - ordered[-2]), (ordered[0], ordered[1] - ordered[0])]
    return [int(end) for end, gap in ends if end in _SENTINELS and gap > max(spread / 2, 1)]


def used_nulls(columns: Iterable[Collection[str]]) -> tuple[str, ...]:
    """Return the usual words for missing values that occur in some columns; the empty text always."""
    there = {text.strip() for texts in columns for text in texts}
    return tuple(word for word in NULL_WORDS if word == "" or word in there)
