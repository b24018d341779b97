"""The respondent's side: a device that trusts no one.

It computes the loss from the integers it was sent, refuses what breaks its owner's limits, charges its own ledger
before it draws, and keeps the one report it ever gives to a question. In a series of waves it answers in those only
that it has drawn by lot. The true value and the coin are in no file and in no message. Standard library only, so that
a person can read all code that runs: the modules of this package and `tacita.errors`.
"""

from __future__ import annotations

import math
import secrets
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from tacita.collect.device.blind import is_token, report_id, split_token, verify
from tacita.collect.device.channels import Answer
from tacita.collect.device.draw import below
from tacita.collect.device.ledger import DeviceLedger, Entry, OpenLedger
from tacita.collect.device.question import SLACK, Ask, Question, Refusal, Report, check_origin, seen, shard_of
from tacita.collect.device.series import Lot, Series
from tacita.errors import InvalidInput

__all__ = ["USUAL_LIMITS", "Device", "Limits", "Offer", "Receipt", "SheetOffer"]


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Limits on the privacy loss of a device.

    Args:
        question: Of one answer.
        total: Of all answers together.
    """

    question: float
    total: float


USUAL_LIMITS = Limits(question=2.0, total=4.0)
"""The limits of a stock device, which its owner may change: those of the respondent's page."""


@dataclass(frozen=True, kw_only=True)
class Offer:
    """Preview of an answer: what the device would send and what it would cost. Nothing is sent yet.

    Args:
        campaign: Identifier of the campaign.
        question: Identifier of the question.
        asks: What is asked, and the possible answers.
        loss: The exact loss of an answer, computed here.
        charge: What answering would add to the ledger now: `loss`, or 0 when the question was charged before.
        kept: Probability that the coin keeps the true answer; for sets and bits of answers, that the true one is held.
        odds: The most that the answer can change the odds between any two true values, e to the loss.
        remaining: What is left of the device's budget before answering.
        statement: All of this in plain words.
    """

    campaign: str
    question: str
    asks: tuple[Ask, ...]
    loss: float
    charge: float
    kept: float
    odds: float
    remaining: float
    statement: str


@dataclass(frozen=True, kw_only=True)
class SheetOffer:
    """Preview of the answers to several questions together. Nothing is sent yet.

    Args:
        campaign: Identifier of the campaign.
        offers: One for each question; `remaining` of each is what is left after those before it.
        loss: The loss of all answers together.
        charge: What answering all of them would add to the ledger now.
        remaining: What is left of the device's budget before answering.
        statement: All of this in plain words.
    """

    campaign: str
    offers: tuple[Offer, ...]
    loss: float
    charge: float
    remaining: float
    statement: str


@dataclass(frozen=True, kw_only=True)
class Receipt:
    """Receipt of an answer that was given; the respondent keeps it.

    Args:
        campaign: Identifier of the campaign.
        question: Identifier of the question.
        attributes: What was asked.
        loss: What was charged.
        answer: What was sent, as the report has it.
        sent: The level of each attribute that was sent, where the answer is one of the possible answers. It may or
            may not be the true one; the receipt does not reveal which. None for answers of other kinds.
        report: Identifier of the report.
        date: The day of the charge, UTC.
        digest: Digest of the question, to prove later what was asked.
        service: The origin that the report is sent to.
    """

    campaign: str
    question: str
    attributes: tuple[str, ...]
    loss: float
    answer: Answer
    sent: tuple[str, ...] | None
    report: str
    date: str
    digest: str
    service: str

    def to_dict(self) -> dict[str, Any]:
        """The receipt as plain data."""
        return asdict(self)


@dataclass(frozen=True, kw_only=True)
class Device:
    """One respondent's device, with limits that its owner set, as it faces one service.

    Devices that face several services share a ledger: the limits hold for all of them together, and no service learns
    from a report what another has asked.

    Args:
        service: The origin of the service that asks, such as https://survey.example.
        ledger_path: The file that remembers every charge; its folder must exist.
        limit_total_epsilon: The most that all answers together may lose.
        limit_question_epsilon: The most that one answer may lose.
    """

    service: str
    ledger_path: Path
    limit_total_epsilon: float
    limit_question_epsilon: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "service", str(self.service).lower().rstrip("/"))
        check_origin(self.service, "service")
        object.__setattr__(self, "ledger_path", Path(self.ledger_path))
        for name in ("limit_total_epsilon", "limit_question_epsilon"):
            limit = getattr(self, name)
            if isinstance(limit, bool) or not isinstance(limit, int | float) or not 0 < limit < math.inf:
                raise InvalidInput("must be positive and finite", field=name, value=limit)

    def review(self, question: object) -> Offer:
        """Describe what answering would mean; send and charge nothing, and draw no answer.

        For the first question of a series, the waves in which this device answers are drawn and stored.

        Args:
            question: A `Question`, its parsed JSON, or its JSON text.

        Raises:
            Refusal: If the device would not answer this question at all.
        """
        return self._review(self._addressed([_verified(question)]))[0]

    def review_sheet(self, questions: Sequence[object]) -> SheetOffer:
        """Describe what answering several questions together would mean, as `review` does for one.

        Args:
            questions: Questions of one campaign, each as in `review`, that ask for no attribute twice.

        Raises:
            Refusal: If the device would not answer all of them.
        """
        return _sheet_offer(self._review(self._addressed(_sheet(questions))))

    def answer(
        self, question: object, value: str | Mapping[str, str | None] | None, *, token: str | None = None
    ) -> tuple[Report, Receipt]:
        """Randomise the true value, at most once for a question.

        The charge is on disk before anything is drawn, and the report before it is returned. A crash in
        between leaves the charge spent; since nothing was sent then, asking again draws under that same charge.

        Args:
            question: A `Question`, its parsed JSON, or its JSON text.
            value: The true level of each attribute that is asked, or the level itself where one is asked. It is
                not stored. None, for an attribute or for all, means that the respondent has no such value: the
                answer is then purely random, and no one can distinguish it from another.
            token: In an invited campaign, what was signed for the respondent's code (`blind.buy_token`).

        Returns:
            The report to send, and a receipt to keep. For a question that was answered before, the same two again,
            without a charge.

        Raises:
            Refusal: If the question, the value or the budget breaks a rule; `reason` says which.
        """
        return self._answer(self._addressed([_verified(question)]), value, token)[0]

    def answer_sheet(
        self, questions: Sequence[object], values: Mapping[str, str | None], *, token: str | None = None
    ) -> list[tuple[Report, Receipt]]:
        """Randomise the true values for several questions together: all are charged before the first is drawn, or none.

        Args:
            questions: Questions of one campaign, each as in `answer`, that ask for no attribute twice.
            values: The true level of each attribute that any of them asks.
            token: As in `answer`; one for the whole sheet.

        Returns:
            What `answer` returns, for each question in turn.

        Raises:
            Refusal: If a question, the sheet, a value or the budget for all of them breaks a rule.
        """
        checked = self._addressed(_sheet(questions))
        return self._answer(checked, values if isinstance(values, Mapping) else {}, token)

    def remaining(self) -> float:
        """Return what is left of the device's budget."""
        with self._ledger.open() as ledger:
            return self.limit_total_epsilon - ledger.spent()

    @cached_property
    def _ledger(self) -> DeviceLedger:
        return DeviceLedger(path=self.ledger_path)

    def _review(self, questions: Sequence[Question]) -> list[Offer]:
        with self._ledger.open() as ledger:
            known = [ledger.find(question, self._asker(question)) for question in questions]
            self._check_new(_unknown(questions, known), ledger)
            remaining = self.limit_total_epsilon - ledger.spent()
        offers: list[Offer] = []
        for question, entry in zip(questions, known, strict=True):
            left = remaining - math.fsum(offer.charge for offer in offers)
            offers.append(_offer(question, left, entry))
        return offers

    def _answer(self, questions: Sequence[Question], value: object, token: str | None) -> list[tuple[Report, Receipt]]:
        truths = [question.cell_of(value) for question in questions]
        with self._ledger.open() as ledger:
            known = [ledger.find(question, self._asker(question)) for question in questions]
            new = _unknown(questions, known)
            self._check_new(new, ledger)
            _check_token(questions, known, token)
            ledger.put(_charge(question, self._asker(question)) for question in new)
            entries = [_charged(ledger, question, self._asker(question)) for question in questions]
            drawn = [
                entry if entry.report else entry.completed(_draw_report(question, truth, self.service, token, place))
                for place, (question, truth, entry) in enumerate(zip(questions, truths, entries, strict=True))
            ]
            ledger.put(after for before, after in zip(entries, drawn, strict=True) if after != before)
        return [_given(question, entry, self.service) for question, entry in zip(questions, drawn, strict=True)]

    def _addressed(self, questions: list[Question]) -> list[Question]:
        """The questions, after checking that the service which asks is one of their aggregators."""
        for question in questions:
            if question.aggregators is not None and self.service not in question.aggregators:
                raise Refusal(
                    "other-aggregator",
                    "must name the service that asks among its aggregators",
                    field="aggregators",
                    value=self.service,
                    hint="The owner names the addresses by which respondents reach each aggregator",
                )
        return questions

    def _asker(self, question: Question) -> str:
        """Return the asker's key in the ledger: aggregators that share a campaign count as one."""
        return self.service if question.aggregators is None else " ".join(question.aggregators)

    def _check_new(self, questions: Sequence[Question], ledger: OpenLedger) -> None:
        """Check questions that are not charged yet: one sheet of a campaign is ever answered, within the limits."""
        if any(ledger.has_answered(question, self._asker(question)) for question in questions):
            raise Refusal(
                "campaign-answered",
                "must be the questions that this device has answered for the campaign",
                field="campaign",
                value=questions[0].campaign,
                hint="A device answers one sheet of a campaign: each table states the loss of one",
            )
        if questions and questions[0].series is not None:
            self._check_wave(questions, questions[0].series, ledger)
        for question in questions:
            if question.charge > self.limit_question_epsilon * SLACK:
                raise Refusal(
                    "loss-over-question-limit",
                    f"one answer may lose at most {self.limit_question_epsilon:.6g}",
                    field="limit_question_epsilon",
                    value=question.charge,
                )
        spent, wanted = ledger.spent(), math.fsum(question.charge for question in questions)
        if questions and spent + wanted > self.limit_total_epsilon * SLACK:
            raise Refusal(
                "budget-spent",
                f"requested {wanted:.6g}, remaining {self.limit_total_epsilon - spent:.6g} "
                f"of {self.limit_total_epsilon:.6g}",
                field="limit_total_epsilon",
                hint="The budget that the owner of this device allows is spent",
            )

    def _check_wave(self, questions: Sequence[Question], series: Series, ledger: OpenLedger) -> None:
        """Check a new sheet of a series: same questions, once for each wave, by the lot, within the series' promise."""
        asker = self._asker(questions[0])
        lot, charged = ledger.lot(series.id, asker), ledger.of_series(series.id, asker)
        if lot is not None and lot.terms != series.terms:
            raise Refusal(
                "series-changed",
                "must have as many waves and turns as before, and the same promise",
                field="series",
                value=series.id,
                hint="Begin a series under a new identifier; that is a new charge",
            )
        before = {entry.question: entry.content for entry in charged}
        for question in questions:
            if before.get(question.question, question.content) != question.content:
                raise Refusal(
                    "question-changed",
                    "must ask what it asked in an earlier wave of the series",
                    field="question",
                    value=question.question,
                    hint="Ask something else in a series, or a campaign, of its own; that is a new charge",
                )
        if any(entry.wave == series.wave for entry in charged):
            raise Refusal(
                "campaign-answered",
                "must be a wave that this device has not answered",
                field="series.wave",
                value=series.wave,
                hint="A device answers one sheet of a wave, whatever the campaign is called",
            )
        if lot is not None:
            lot.check_turn(series)
        wanted = math.fsum([*(entry.loss for entry in charged), *(question.charge for question in questions)])
        if wanted > series.epsilon * SLACK:
            raise Refusal(
                "loss-over-series",
                f"all answers of the series may lose at most {series.epsilon:.6g}, as it promises",
                field="series.epsilon",
                value=wanted,
            )
        if lot is None:
            lot = Lot.draw(series, asker, _system_words())
            ledger.keep_lot(lot)
            lot.check_turn(series)


# -- reading -----------------------------------------------------------------------------------------------


def _verified(question: object) -> Question:
    if isinstance(question, Question):
        return question
    return Question.from_json(question) if isinstance(question, str | bytes) else Question.from_dict(question)


def _sheet(questions: object) -> list[Question]:
    """The questions, verified one by one and then as a whole."""
    if not isinstance(questions, list | tuple) or not questions:
        raise Refusal("sheet", "must be a list of one question or more", field="questions")
    checked = [_verified(question) for question in questions]
    if len({question.campaign for question in checked}) > 1:
        raise Refusal("sheet", "must be questions of one campaign", field="questions")
    if any(question.series != checked[0].series for question in checked):
        raise Refusal("sheet", "must be questions of one wave of one series", field="questions")
    if any(question.aggregators != checked[0].aggregators for question in checked):
        raise Refusal("sheet", "must be questions of the same aggregators", field="questions")
    names = [seen(name) for question in checked for name in question.attributes]
    if len(set(names)) < len(names):
        raise Refusal("attribute-repeated", "must ask for each attribute once", field="questions")
    if len({question.question for question in checked}) < len(checked):
        raise Refusal("sheet", "must be questions of different identifiers", field="questions")
    return checked


def _unknown(questions: Sequence[Question], known: Sequence[Entry | None]) -> list[Question]:
    return [question for question, entry in zip(questions, known, strict=True) if entry is None]


# -- answering ---------------------------------------------------------------------------------------------


def _charge(question: Question, asker: str) -> Entry:
    return Entry(
        service=asker,
        campaign=question.campaign,
        question=question.question,
        attributes=question.attributes,
        digest=question.digest,
        loss=question.charge,
        date=datetime.now(UTC).date().isoformat(),
        series=None if question.series is None else question.series.id,
        wave=None if question.series is None else question.series.wave,
        content=None if question.series is None else question.content,
    )


def _charged(ledger: OpenLedger, question: Question, asker: str) -> Entry:
    entry = ledger.find(question, asker)
    assert entry is not None, "charged a moment ago, under the same lock"
    return entry


def _system_words() -> Iterator[int]:
    while True:
        yield from struct.unpack("<64Q", secrets.token_bytes(512))


def _check_token(questions: Sequence[Question], known: Sequence[Entry | None], token: str | None) -> None:
    """Refuse a report that the campaign would refuse, before it is charged."""
    for question, entry in zip(questions, known, strict=True):
        if question.key is None or (entry is not None and entry.report is not None):
            continue
        if not is_token(token) or not verify(*split_token(str(token)), int(question.key, 16)):
            raise Refusal(
                "token",
                "must be signed by the key of the campaign",
                field="token",
                hint="Trade your code for one first",
            )


def _draw_report(question: Question, truth: int | None, service: str, token: str | None, place: int) -> Report:
    words = _system_words()
    # A respondent without such a value answers for a uniformly random cell: not answering would reveal it. That is a
    # mixture of the channel's laws, so it costs no more. The cell is drawn in either case: the time must not reveal it.
    die, _ = below(question.cells, words)
    answer, _ = question.channel.draw(question.cells, die if truth is None else truth, words)
    named = {"campaign": question.campaign, "question": question.question}
    if question.key is not None and token is not None:
        return Report(**named, report=report_id(token, place), answer=answer, token=token)
    return Report(**named, report=_draw_id(question, service), answer=answer)


def _draw_id(question: Question, service: str) -> str:
    """Draw a random id that belongs to the service which asks."""
    if question.aggregators is None:
        return secrets.token_hex(16)
    mine = question.aggregators.index(service)
    drawn = iter(partial(secrets.token_hex, 16), "")
    return next(id for id in drawn if shard_of(id, len(question.aggregators)) == mine)


def _taker(question: Question, report: Report, service: str) -> str:
    """The origin that takes a report: the one that asks, unless another aggregator of the campaign asked first."""
    shared = question.aggregators
    return service if shared is None else shared[shard_of(report.report, len(shared))]


def _given(question: Question, entry: Entry, service: str) -> tuple[Report, Receipt]:
    report = entry.sent()
    assert report is not None, "drawn a moment ago"
    cell = report.answer if question.channel.sends_cell else None
    receipt = Receipt(
        campaign=entry.campaign,
        question=entry.question,
        attributes=entry.attributes,
        loss=entry.loss,
        answer=report.answer,
        sent=question.levels_of(cell) if isinstance(cell, int) else None,
        report=report.report,
        date=entry.date,
        digest=entry.digest,
        service=_taker(question, report, service),
    )
    return report, receipt


# -- what a person reads -----------------------------------------------------------------------------------


def _offer(question: Question, remaining: float, known: Entry | None) -> Offer:
    return Offer(
        campaign=question.campaign,
        question=question.question,
        asks=question.asks,
        loss=question.charge,
        charge=question.charge if known is None else 0.0,
        kept=float(question.channel.keep_probability(question.cells)),
        odds=float(question.channel.worst_ratio(question.cells)),
        remaining=remaining,
        statement=_statement(question, remaining, known),
    )


def _statement(question: Question, remaining: float, known: Entry | None) -> str:
    names = " and ".join(repr(name) for name in question.attributes) + " together" * (len(question.asks) > 1)
    odds = float(question.channel.worst_ratio(question.cells))
    lines = [
        f"The campaign {question.campaign!r} asks for {names} ({question.cells} possible answers).",
        question.channel.describe(question.cells),
        "Whatever is sent, it changes the odds between any two answers you may have"
        f" by a factor of {odds:.4g} at most (epsilon {question.charge:.6g}).",
    ]
    if question.series is not None:
        lines.append(_promise(question.series))
    if known is None:
        lines.append(_left(question.charge, remaining, "this answer"))
    else:
        lines.append("Answering it costs nothing more: it is charged already, and only one report is ever given.")
    return " ".join(lines)


def _promise(series: Series) -> str:
    return (
        f"This is wave {series.wave} of {series.waves} of the series {series.id!r}. Your device answers in"
        f" {series.turns} of them, which it has drawn by lot, and all its answers in all waves together lose at most"
        f" {series.epsilon:.6g}."
    )


def _left(charge: float, remaining: float, what: str) -> str:
    left = max(remaining - charge, 0.0)
    return f"Your device has {remaining:.6g} of its budget left; after {what}, {left:.6g}."


def _sheet_offer(offers: Sequence[Offer]) -> SheetOffer:
    loss, charge = (math.fsum(getattr(offer, name) for offer in offers) for name in ("loss", "charge"))
    odds = math.exp(loss) if loss < 700 else math.inf
    lines = [
        f"{len(offers)} questions are answered together or not at all.",
        *(offer.statement for offer in offers),
        "All answers together change the odds between any two persons you may be by a factor of"
        f" {odds:.4g} at most (epsilon {loss:.6g}).",
        _left(charge, offers[0].remaining, "all of them"),
    ]
    return SheetOffer(
        campaign=offers[0].campaign,
        offers=tuple(offers),
        loss=loss,
        charge=charge,
        remaining=offers[0].remaining,
        statement=" ".join(lines) if len(offers) > 1 else offers[0].statement,
    )
