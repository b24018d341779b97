"""The respondent's side: a device that trusts nobody.

It reads the loss off the weights it was sent, refuses what breaks its owner's limits, charges its own
ledger before it draws, and keeps the one report it ever gives to a question. The true value and the coin
are in no file and in no message. Standard library only, so that a person can read all of what runs: this
module, `question`, `draw`, `device_ledger` and `tacita.errors`.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from tacita.collect.device_ledger import DeviceLedger, Entry, OpenLedger
from tacita.collect.draw import draw
from tacita.collect.question import SLACK, Question, Refusal, Report
from tacita.errors import InvalidInput

__all__ = ["Device", "Offer", "Receipt"]


@dataclass(frozen=True, kw_only=True)
class Offer:
    """What would leave the device, and at what cost, before anything does.

    Args:
        campaign: Identifier of the campaign.
        question: Identifier of the question.
        attribute: What is asked.
        levels: The possible answers.
        loss: The exact loss of an answer, computed here.
        charge: What answering would add to the ledger now: `loss`, or 0 when the question was charged before.
        kept: Probability that the coin keeps the true answer.
        odds: The most that the answer can change the odds between any two true values, e to the loss.
        remaining: What is left of the device's budget before answering.
        statement: All of this in plain words.
    """

    campaign: str
    question: str
    attribute: str
    levels: tuple[str, ...]
    loss: float
    charge: float
    kept: float
    odds: float
    remaining: float
    statement: str


@dataclass(frozen=True, kw_only=True)
class Receipt:
    """What the respondent keeps of an answer that was given.

    Args:
        campaign: Identifier of the campaign.
        question: Identifier of the question.
        attribute: What was asked.
        loss: What was charged.
        answer: Index of the level that was sent.
        level: The level that was sent; it may or may not be the true one, and nothing here tells.
        report: Identifier of the report.
        date: The day of the charge, UTC.
        digest: Digest of the question, to prove later what was asked.
    """

    campaign: str
    question: str
    attribute: str
    loss: float
    answer: int
    level: str
    report: str
    date: str
    digest: str

    def to_dict(self) -> dict[str, Any]:
        """The receipt as plain data."""
        return asdict(self)


@dataclass(frozen=True, kw_only=True)
class Device:
    """One respondent's device, with limits that its owner set.

    Args:
        ledger_path: The file that remembers every charge; its folder must exist.
        limit_total_epsilon: The most that all answers together may lose.
        limit_question_epsilon: The most that one answer may lose.
    """

    ledger_path: Path
    limit_total_epsilon: float
    limit_question_epsilon: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "ledger_path", Path(self.ledger_path))
        for name in ("limit_total_epsilon", "limit_question_epsilon"):
            limit = getattr(self, name)
            if isinstance(limit, bool) or not isinstance(limit, int | float) or not 0 < limit < math.inf:
                raise InvalidInput("must be positive and finite", field=name, value=limit)

    def review(self, question: object) -> Offer:
        """Say what answering would mean; sends, draws and charges nothing.

        Args:
            question: A `Question`, its parsed JSON, or its JSON text.

        Raises:
            Refusal: If the device would not answer this question at all.
        """
        checked = _verified(question)
        with self._ledger.open() as ledger:
            known = ledger.find(checked)
            if known is None:
                self._check_limits(checked, ledger)
            return _offer(checked, self.limit_total_epsilon - ledger.spent(), known)

    def answer(self, question: object, value: str) -> tuple[Report, Receipt]:
        """Randomise the true value, at most once for a question.

        The charge is on disk before anything is drawn, and the report before it is returned. A crash in
        between leaves the charge spent; since nothing left the device then, asking again draws under that
        same charge.

        Args:
            question: A `Question`, its parsed JSON, or its JSON text.
            value: The true level. It is written nowhere.

        Returns:
            The report to send, and a receipt to keep. For a question answered before: the very same ones,
            without a charge.

        Raises:
            Refusal: If the question, the value or the budget breaks a rule; `reason` says which.
        """
        checked = _verified(question)
        truth = _index(checked, value)
        with self._ledger.open() as ledger:
            entry = ledger.find(checked) or self._charge(checked, ledger)
            report = entry.sent()
            if report is None:
                report = _draw_report(checked, truth)
                entry = ledger.complete(entry, report)
        return report, _receipt(checked, entry, report)

    def remaining(self) -> float:
        """What is left of the device's budget."""
        with self._ledger.open() as ledger:
            return self.limit_total_epsilon - ledger.spent()

    @cached_property
    def _ledger(self) -> DeviceLedger:
        return DeviceLedger(path=self.ledger_path)

    def _charge(self, question: Question, ledger: OpenLedger) -> Entry:
        self._check_limits(question, ledger)
        entry = Entry(
            campaign=question.campaign,
            question=question.question,
            attribute=question.attribute,
            digest=question.digest,
            loss=question.charge,
            date=datetime.now(UTC).date().isoformat(),
        )
        ledger.put(entry)
        return entry

    def _check_limits(self, question: Question, ledger: OpenLedger) -> None:
        if question.charge > self.limit_question_epsilon * SLACK:
            raise Refusal(
                "loss-over-question-limit",
                f"one answer may lose at most {self.limit_question_epsilon:.6g}",
                field="limit_question_epsilon",
                value=question.charge,
            )
        spent = ledger.spent()
        if spent + question.charge > self.limit_total_epsilon * SLACK:
            raise Refusal(
                "budget-spent",
                f"requested {question.charge:.6g}, remaining {self.limit_total_epsilon - spent:.6g} "
                f"of {self.limit_total_epsilon:.6g}",
                field="limit_total_epsilon",
                hint="This device has given what its owner allows",
            )


def _verified(question: object) -> Question:
    if isinstance(question, Question):
        return question
    return Question.from_json(question) if isinstance(question, str | bytes) else Question.from_dict(question)


def _index(question: Question, value: object) -> int:
    if not isinstance(value, str) or value not in question.levels:
        # The value is the respondent's own: the message must not carry it.
        raise Refusal("value", "must be one of the levels of the question", field="value")
    return question.levels.index(value)


def _system_words() -> Iterator[int]:
    while True:
        yield int.from_bytes(secrets.token_bytes(8), "little")


def _draw_report(question: Question, truth: int) -> Report:
    answer, _ = draw(question.keep, question.fake, truth, _system_words())
    return Report(campaign=question.campaign, question=question.question, report=secrets.token_hex(16), answer=answer)


def _receipt(question: Question, entry: Entry, report: Report) -> Receipt:
    return Receipt(
        campaign=entry.campaign,
        question=entry.question,
        attribute=entry.attribute,
        loss=entry.loss,
        answer=report.answer,
        level=question.levels[report.answer],
        report=report.report,
        date=entry.date,
        digest=entry.digest,
    )


def _offer(question: Question, remaining: float, known: Entry | None) -> Offer:
    kept = question.keep / question.total
    odds = 1.0 + question.keep / min(question.fake)
    charge = question.charge if known is None else 0.0
    return Offer(
        campaign=question.campaign,
        question=question.question,
        attribute=question.attribute,
        levels=question.levels,
        loss=question.charge,
        charge=charge,
        kept=kept,
        odds=odds,
        remaining=remaining,
        statement=_statement(question, kept, odds, charge, remaining),
    )


def _statement(question: Question, kept: float, odds: float, charge: float, remaining: float) -> str:
    lines = [
        f"The campaign {question.campaign!r} asks for {question.attribute!r}"
        f" ({len(question.levels)} possible answers).",
        "One of these answers and a random number leave this device."
        f" With probability {kept:.3g} it is your own; otherwise it is drawn by chance,"
        " and nobody who sees it can tell which.",
        "Whatever is sent, it changes the odds between any two answers you may have"
        f" by a factor of {odds:.4g} at most (epsilon {question.charge:.6g}).",
    ]
    if charge:
        left = max(remaining - charge, 0.0)
        lines.append(f"Your device has {remaining:.6g} of its budget left; after this answer, {left:.6g}.")
    else:
        lines.append("Answering it costs nothing more: it is charged already, and only one report is ever given.")
    return " ".join(lines)
