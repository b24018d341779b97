"""Consents as records: in memory, or in a CSV file that is read again whenever it has changed.

    person,purpose,answer,since,until
    ann,research,yes,2024-01-01,
    bob,*,no,2025-03-01,

A record holds from `since` until just before `until` (forever, when empty); a date is its first moment at UTC. A
purpose `*` means all. A person's data may be used for a purpose if a record says yes and no record says no: an opt-out
wins over any earlier record and over any record for a narrower purpose.
"""

from __future__ import annotations

import csv
import datetime as dt
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tacita.engines.consent.filter import Who
from tacita.errors import DataError, InvalidInput, SourceUnavailable

__all__ = ["Consent", "ConsentFile", "ConsentRecords"]

ALL = "*"
_COLUMNS = ("person", "purpose", "answer", "since", "until")
_ANSWERS = {"yes": True, "no": False}


@dataclass(frozen=True, kw_only=True)
class Consent:
    """Answer of one person about one purpose."""

    person: str
    purpose: str
    answer: bool
    since: dt.datetime
    until: dt.datetime | None = None

    def __post_init__(self) -> None:
        for name in ("since", "until"):
            time = getattr(self, name)
            if time is not None and time.tzinfo is None:
                raise InvalidInput("must have a time zone", field=name)
        if not self.person or not self.purpose:
            raise InvalidInput("must name a person and a purpose", field="consent")

    def holds(self, purpose: str, at: dt.datetime) -> bool:
        """Return whether it is about this purpose at this moment."""
        return self.purpose in (purpose, ALL) and self.since <= at and (self.until is None or at < self.until)


class ConsentRecords:
    """Consents in memory."""

    def __init__(self, records: Iterable[Consent]) -> None:
        self._records = tuple(records)

    def who(self, purpose: str, at: dt.datetime) -> Who:
        """Return whose data may be used for a purpose at a moment."""
        if not purpose or purpose == ALL:
            raise InvalidInput("must be one purpose", field="purpose", value=purpose)
        said: dict[bool, set[str]] = {True: set(), False: set()}
        for record in self._records:
            if record.holds(purpose, at):
                said[record.answer].add(record.person)
        allowed = said[True] - said[False]

        def who(persons: Sequence[str]) -> Sequence[bool]:
            return [person in allowed for person in persons]

        return who


class ConsentFile:
    """Consents in a CSV file. A missing or broken file raises, so that no one's data is used."""

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)
        self._version: object = None
        self._records = ConsentRecords(())

    def who(self, purpose: str, at: dt.datetime) -> Who:
        """Return whose data may be used for a purpose at a moment, by the current file."""
        try:
            stat = self._path.stat()
            version = (stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns)
            if version != self._version:
                self._records, self._version = ConsentRecords(_read(self._path)), version
        except OSError as error:
            reason = error.strerror or "it cannot be opened"
            raise SourceUnavailable(f"cannot be read: {reason}", field="consent", value=self._path) from None
        return self._records.who(purpose, at)


def _read(path: Path) -> list[Consent]:
    """Read all records of a file; only the private part of an error names the wrong line."""
    records = []
    with path.open(newline="", encoding="utf-8-sig") as file:
        lines = csv.DictReader(file, strict=True)
        try:
            if tuple(lines.fieldnames or ()) != _COLUMNS:
                raise DataError(f"must have the columns {', '.join(_COLUMNS)}", field="consent", value=path.name)
            for line in lines:
                records.append(_record(line))
        except (ValueError, KeyError, TypeError, InvalidInput, csv.Error) as error:
            raise DataError(
                "holds a line that is no record of a consent",
                field="consent",
                value=path.name,
                hint="The private part of this error names the line",
                private=f"line {lines.reader.line_num}: {type(error).__name__}",
            ) from None
    return records


def _record(line: dict[str, Any]) -> Consent:
    if set(line) != set(_COLUMNS) or None in line.values():
        raise ValueError
    return Consent(
        person=line["person"],
        purpose=line["purpose"],
        answer=_ANSWERS[line["answer"]],
        since=_moment(line["since"]),
        until=_moment(line["until"]) if line["until"] else None,
    )


def _moment(text: str) -> dt.datetime:
    time = dt.datetime.fromisoformat(text)
    return time if time.tzinfo else time.replace(tzinfo=dt.UTC)
