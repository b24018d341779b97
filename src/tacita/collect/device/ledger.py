"""Ledger of one device: its losses so far, and the reports that they paid for.

One JSON file, replaced as a whole: written beside, flushed to disk, renamed. A lock of the operating system
on a second file keeps two processes from both spending the last of the budget. A file that cannot be parsed
is never replaced: otherwise an attacker could reset the ledger by damaging it.
Standard library only.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Self

from tacita.collect.device.channels import Answer
from tacita.collect.device.question import Question, Refusal, Report
from tacita.collect.device.series import Lot
from tacita.errors import InvalidInput

__all__ = ["DeviceLedger", "Entry", "OpenLedger"]

_FORMAT = 1

if sys.platform == "win32":
    import msvcrt

    def _lock(descriptor: int) -> None:
        msvcrt.locking(descriptor, msvcrt.LK_LOCK, 1)
else:
    import fcntl

    def _lock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX)


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One charge, and the report drawn for it once there is one. The true value is not in it, nor the coin.

    Args:
        campaign: Identifier of the campaign.
        question: Identifier of the question.
        service: Who asked: its origin, or those of all aggregators that share the campaign, separated by spaces.
            Empty in ledgers written before there was such a member: such an entry counts for every service.
        token: What lets the report count, in an invited campaign.
        series: Identifier of the series, where the campaign is a wave of one.
        wave: The wave.
        content: Digest of what was asked, the same in every wave.
        attributes: What was asked for.
        digest: Digest of the whole question.
        loss: What was charged.
        date: The day of the charge, UTC.
        report: Identifier of the report; None until it is drawn.
        answer: What was sent, in the shape that the channel gives it; None until it is drawn.
    """

    campaign: str
    question: str
    attributes: tuple[str, ...]
    digest: str
    loss: float
    date: str
    report: str | None = None
    answer: Answer | None = None
    service: str = ""
    token: str | None = None
    series: str | None = None
    wave: int | None = None
    content: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.attributes, tuple) or not self.attributes:
            raise InvalidInput("must be one text or more", field="attributes")
        texts = (self.campaign, self.question, *self.attributes, self.digest, self.date)
        if not all(isinstance(text, str) and text for text in texts) or not isinstance(self.service, str):
            raise InvalidInput("must be non-empty texts", field="entry")
        if not isinstance(self.loss, int | float) or not 0 <= self.loss < math.inf:
            raise InvalidInput("must be a finite number of 0 or more", field="loss")
        if (self.report is None) != (self.answer is None):
            raise InvalidInput("must both be there or both be missing", field="report, answer")
        if len({self.series is None, self.wave is None, self.content is None}) > 1:
            raise InvalidInput("must all be there or all be missing", field="series, wave, content")
        self.sent()

    @classmethod
    def from_dict(cls, row: dict[str, Any]) -> Self:
        """Read an entry from parsed JSON, in which tuples are lists."""
        members: dict[str, Any] = {n: tuple(value) if isinstance(value, list) else value for n, value in row.items()}
        return cls(**members)

    def to_dict(self) -> dict[str, Any]:
        """The entry as it is stored."""
        left_out = ("series", "wave", "content") if self.series is None else ()
        return {name: member for name, member in asdict(self).items() if name not in left_out}

    def completed(self, report: Report) -> Self:
        """The entry with the report that its charge pays for."""
        return replace(self, report=report.report, answer=report.answer, token=report.token)

    def sent(self) -> Report | None:
        """The report that was drawn, if it was."""
        if self.report is None or self.answer is None:
            return None
        return Report(
            campaign=self.campaign, question=self.question, report=self.report, answer=self.answer, token=self.token
        )


_Key = tuple[str, str, str]


def _key(entry: Entry) -> _Key:
    return entry.service, entry.campaign, entry.question


class OpenLedger:
    """The entries while the lock is held. What one service asked is not known to another."""

    def __init__(
        self, entries: dict[_Key, Entry], lots: list[Lot], save: Callable[[list[Entry], list[Lot]], None]
    ) -> None:
        self._entries, self._lots = entries, lots
        self._save = save

    def find(self, question: Question, service: str) -> Entry | None:
        """Find the entry of this question by its service and identifiers; refuse one whose content has changed."""
        keys = [(known, question.campaign, question.question) for known in (service, "")]
        entry = next((self._entries[key] for key in keys if key in self._entries), None)
        if entry is not None and entry.digest != question.digest:
            raise Refusal(
                "question-changed",
                "was asked before with other content, and may not change",
                field="question",
                value=question.question,
                hint="Ask it under a new identifier; that is a new charge",
            )
        return entry

    def has_answered(self, question: Question, service: str) -> bool:
        """Whether any question of the same campaign of this service is charged."""
        mine = (entry for entry in self._entries.values() if entry.service in (service, ""))
        return any(entry.campaign == question.campaign for entry in mine)

    def of_series(self, id: str, service: str) -> list[Entry]:
        """The charges in all waves of a series of this service."""
        return [entry for entry in self._entries.values() if (entry.series, entry.service) == (id, service)]

    def lot(self, id: str, service: str) -> Lot | None:
        """The waves that were drawn for a series of this service."""
        return next((lot for lot in self._lots if (lot.id, lot.service) == (id, service)), None)

    def keep_lot(self, lot: Lot) -> None:
        """Add the lot of a series; on disk when this returns."""
        self._lots.append(lot)
        self._save(list(self._entries.values()), self._lots)

    def spent(self) -> float:
        """The sum of all charges, answered or not."""
        return math.fsum(entry.loss for entry in self._entries.values())

    def put(self, entries: Iterable[Entry]) -> None:
        """Add or complete entries, all of them or none; on disk when this returns."""
        changed = {_key(entry): entry for entry in entries}
        if changed:
            self._entries |= changed
            self._save(list(self._entries.values()), self._lots)


@dataclass(frozen=True, kw_only=True)
class DeviceLedger:
    """The ledger file of a device.

    Args:
        path: Where it lives; made at the first charge. Its folder must exist.
    """

    path: Path

    @contextmanager
    def open(self) -> Iterator[OpenLedger]:
        """Hold the ledger for reading and charging; other processes wait."""
        with self._reported():
            descriptor = os.open(self.path.with_name(self.path.name + ".lock"), os.O_RDWR | os.O_CREAT, 0o600)
        try:
            with self._reported():
                _lock(descriptor)
            yield OpenLedger(*self._load(), self._save)
        finally:
            os.close(descriptor)  # which gives the lock back

    def _load(self) -> tuple[dict[_Key, Entry], list[Lot]]:
        try:
            with self._reported():
                text = self.path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return {}, []
        except UnicodeDecodeError as error:
            raise self._corrupt() from error
        try:
            data = json.loads(text)
            rows, series = data["entries"], data.get("series", [])
            if data["ledger"] != _FORMAT or data["check"] != _check(rows, series):
                raise self._corrupt()
            entries, lots = [Entry.from_dict(row) for row in rows], [Lot.from_dict(row) for row in series]
        except (ValueError, TypeError, AttributeError, KeyError, InvalidInput, Refusal, RecursionError) as error:
            raise self._corrupt() from error
        return {_key(entry): entry for entry in entries}, lots

    def _save(self, entries: list[Entry], lots: list[Lot]) -> None:
        rows, series = [entry.to_dict() for entry in entries], [asdict(lot) for lot in lots]
        more = {"series": series} if series else {}  # earlier versions read a ledger without series
        text = json.dumps({"ledger": _FORMAT, "check": _check(rows, series), "entries": rows} | more)
        beside = self.path.with_name(self.path.name + ".new")
        with self._reported():
            descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            os.replace(beside, self.path)
            _sync_folder(self.path.parent)

    @contextmanager
    def _reported(self) -> Iterator[None]:
        try:
            yield
        except FileNotFoundError:
            if self.path.parent.is_dir():
                raise  # the first use: there is no ledger yet
            raise self._unavailable("its folder must exist") from None
        except OSError as error:
            raise self._unavailable("must be readable and writable") from error

    def _unavailable(self, rule: str) -> Refusal:
        return Refusal("ledger-unavailable", rule, field="ledger_path", value=str(self.path))

    def _corrupt(self) -> Refusal:
        return Refusal(
            "ledger-corrupt",
            "must be a whole ledger of this device",
            field="ledger_path",
            value=str(self.path),
            hint="Restore the file from a backup; it is not reset, because that would forget what was spent",
        )


def _check(rows: Any, series: Any = ()) -> str:
    # Against accidents (a flipped bit, an editor), not against the owner of the device.
    whole = [rows, series] if series else rows
    return hashlib.sha256(json.dumps(whole, sort_keys=True).encode()).hexdigest()


def _sync_folder(folder: Path) -> None:
    """Make a rename durable; Windows has no such call and needs none."""
    if sys.platform == "win32":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
