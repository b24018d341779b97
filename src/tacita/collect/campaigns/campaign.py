"""A campaign: its questions, its state, and the number of respondents."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from tacita.collect.analysis.poisoning import influence
from tacita.collect.campaigns.terms import Rounds, Terms
from tacita.collect.channels.following import check_following
from tacita.collect.channels.protocol import traits_of
from tacita.collect.channels.wiring import wire_of
from tacita.collect.device.device import USUAL_LIMITS
from tacita.collect.device.question import SLACK, Ask, Question, fingerprint
from tacita.collect.device.series import Series
from tacita.collect.planning.design import Asked, CollectionDesign
from tacita.collect.planning.phases import check_phases
from tacita.domain import Domain
from tacita.errors import InvalidInput

__all__ = [
    "Campaign",
    "Form",
    "State",
    "check_limits",
    "check_rounds",
    "check_title",
    "check_two_phases",
    "question_of",
]

OPEN = (
    "Open: anyone may send reports, so how far one sender can move a table is not bounded. "
    "`one_report` is how far each further report can move a share."
)
INVITED = "Invited: each one-time code moves a share by at most `one_report`."
State = Literal["draft", "open", "closed"]


@dataclass(frozen=True, kw_only=True)
class Form:
    """The part of a campaign that is constant within a block: the questions and the owner's terms.

    Attributes:
        id: The campaign's identifier, which respondents are given.
        title: The title that respondents see.
        design: All questions of all blocks so far, with their channels and shares.
        questions: The same questions as they are sent to devices, in the order of the design.
        terms: When the campaign publishes, starts its next block, stops and closes.
    """

    id: str
    title: str
    design: CollectionDesign = field(repr=False)
    questions: tuple[Question, ...] = field(repr=False)
    terms: Terms

    @cached_property
    def by_id(self) -> dict[str, int]:
        """The number of each question, by its id."""
        return {question.question: number for number, question in enumerate(self.questions)}

    @property
    def key(self) -> str | None:
        """The key that signs tokens, in an invited campaign."""
        return self.questions[0].key

    @property
    def series(self) -> Series | None:
        """The series that it is a wave of, if it is one."""
        return self.questions[0].series

    @cached_property
    def places(self) -> dict[str, int]:
        """The place of each question in its view, by its id."""
        return {self.questions[number].question: at for view in self.design.views for at, number in enumerate(view)}


@dataclass(frozen=True, kw_only=True)
class Campaign:
    """One campaign at one moment.

    Attributes:
        form: Its questions and terms.
        state: draft, open or closed.
        reason: Why it is closed.
        block: The block whose questions are asked now.
        received: Reports that counted, for each question.
        looks: How often the stopping rule has looked.
    """

    form: Form
    state: State
    reason: str
    block: int
    received: tuple[int, ...]
    looks: int
    created: dt.datetime
    block_opened: dt.datetime | None
    closed: dt.datetime | None

    @property
    def id(self) -> str:
        """Its identifier."""
        return self.form.id

    @property
    def title(self) -> str:
        """Title that respondents see."""
        return self.form.title

    @property
    def design(self) -> CollectionDesign:
        """All questions with their channels and shares."""
        return self.form.design

    @property
    def questions(self) -> tuple[Question, ...]:
        """The questions as they are sent to devices."""
        return self.form.questions

    @property
    def terms(self) -> Terms:
        """The owner's terms."""
        return self.form.terms

    @cached_property
    def digests(self) -> tuple[str, ...]:
        """The digests of all questions of the open block, in their order."""
        pairs = zip(self.questions, self.design.questions, strict=True)
        return tuple(question.digest for question, asked in pairs if asked.block == self.block)

    @property
    def fingerprint(self) -> str:
        """Digest that respondents can compare: equal for all who are given the same title and questions."""
        return fingerprint(self.title, self.digests)

    @property
    def reports(self) -> int:
        """Reports that counted, of all questions."""
        return sum(self.received)

    @property
    def respondents(self) -> int:
        """Number of people who have answered: one for each view that was answered, in all blocks."""
        return sum(max(self.received[number] for number in view) for view in self.design.views)

    @cached_property
    def answers(self) -> dict[tuple[str, ...], int]:
        """Number of people who have answered for each table, in all blocks."""
        found: dict[tuple[str, ...], int] = {}
        for asked, times in zip(self.design.questions, self.received, strict=True):
            found[asked.attributes] = found.get(asked.attributes, 0) + times
        return found

    @property
    def reports_of_block(self) -> int:
        """Reports that counted in the block that is open."""
        pairs = zip(self.design.questions, self.received, strict=True)
        return sum(count for asked, count in pairs if asked.block == self.block)

    def is_over(self, moment: dt.datetime) -> bool:
        """Whether its time is up."""
        return self.terms.closes is not None and moment >= self.terms.closes

    def is_due(self, moment: dt.datetime) -> bool:
        """Whether its block is full, or has waited long enough; a first phase never waits for a clock."""
        if self.design.first is not None:
            full = self.block == 1 and self.reports_of_block >= self.design.first_respondents
            return full and self.block_opened is not None and not self.terms.follows
        rounds = self.terms.rounds
        if rounds is None or self.block_opened is None or self.terms.follows:
            return False
        waited = (moment - self.block_opened).total_seconds()
        timed_out = rounds.seconds is not None and waited >= rounds.seconds and self.reports_of_block > 0
        return timed_out or self.reports_of_block >= rounds.size

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "id": self.id,
            "title": self.title,
            "state": self.state,
            "reason": self.reason,
            "block": self.block,
            "fingerprint": self.fingerprint,
            "received": self.reports,
            "respondents": self.respondents,
            "epsilon": self.design.epsilon_upper,
            "phases": 1 if self.design.first is None else 2,
            "first_respondents": None if self.design.first is None else self.design.first_respondents,
            "series": None if self.form.series is None else self.form.series.to_dict(),
            "participation": "invited" if self.terms.invited else "open",
            "influence": INVITED if self.terms.invited else OPEN,
            "terms": self.terms.as_dict(),
            "questions": [
                {
                    "id": question.question,
                    "attributes": list(asked.attributes),
                    "channel": question.channel.kind,
                    "cells": question.cells,
                    "block": asked.block,
                    "share": asked.share,
                    "received": received,
                    "one_report": influence(asked.channel, received + 1).share(1),
                }
                for question, asked, received in zip(self.questions, self.design.questions, self.received, strict=True)
            ],
            "created": self.created.isoformat(),
            "closed": self.closed.isoformat() if self.closed else None,
        }


def question_of(
    campaign: str,
    number: int,
    asked: Asked,
    domain: Domain,
    promise: float,
    aggregators: tuple[str, ...] | None = None,
    key: str | None = None,
    series: Series | None = None,
) -> Question:
    """A question of a design in the form that devices are sent.

    Args:
        campaign: Identifier of the campaign.
        number: Place of the combination in the design, the same in every block.
        asked: What is asked, through which channel.
        domain: What the attributes mean.
        promise: The loss that the owner promises for this question.
        aggregators: The origins that share the campaign, where there are several.
        key: The key that signs tokens, in an invited campaign.
        series: The series that the campaign is a wave of.
    """
    names = [domain[name] for name in asked.attributes]
    return Question(
        campaign=campaign,
        question=f"q{number + 1}" if asked.block == 1 else f"q{number + 1}.{asked.block}",
        asks=tuple(Ask(attribute=a.description or a.name, levels=a.all_labels) for a in names),
        channel=wire_of(asked.channel),
        epsilon=promise,
        aggregators=aggregators,
        key=key,
        series=series,
    )


def check_title(title: str) -> None:
    """Check a title: it is shown to respondents, so it has the same rules as the texts of a question."""
    Ask(attribute=title, levels=("yes", "no")).check("title")


def check_limits(design: CollectionDesign) -> None:
    """Refuse a design that stock devices refuse.

    Raises:
        InvalidInput: A question or a view loses more than the usual limits of a device.
    """
    answer = max(asked.channel.epsilon_upper for asked in design.questions)
    total = design.epsilon_upper if design.waves == 1 else design.epsilon_series
    for what, loss, limit in (
        ("with one answer", answer, USUAL_LIMITS.question),
        ("in all", total, USUAL_LIMITS.total),
    ):
        if loss > limit * SLACK:
            raise InvalidInput(
                f"a stock device loses at most {limit:g} {what}, and refuses these questions",
                field="epsilon",
                value=loss,
                hint="Plan with a smaller epsilon, or declare raised limits if respondents have raised theirs",
            )


def check_two_phases(design: CollectionDesign, terms: Terms) -> None:
    """Refuse two phases where the second could not follow from the first, and beside terms that plan one design."""
    if design.first is None:
        return
    check_phases(design)
    for name in ("rounds", "stop"):
        if getattr(terms, name) is not None:
            rule = "is for one phase: what the second phase asks is not known yet"
            raise InvalidInput(rule, field=name, hint="Plan one phase, or leave it out")
    most = max(round(design.first_respondents * question.share) for question in design.questions)
    if most < terms.minimum:
        raise InvalidInput(
            f"must be at most {most:,}: no table would have more answers when the second phase begins",
            field="minimum",
            value=terms.minimum,
            hint="The second design reveals which tables depend, so it uses those only that may be published. Plan one "
            "phase, fewer tables or more respondents",
        )


def check_rounds(design: CollectionDesign, rounds: Rounds | None) -> None:
    """Refuse rounds for channels that follow no tables, and for a loss that their integers cannot express."""
    for number, asked in enumerate(design.questions if rounds else ()):
        assert rounds is not None
        if not traits_of(asked.channel).follows_tables:
            hint = "Plan it with randomized response throughout: channel='rr'; or with channel='optimal'"
            rule = f"need randomized response or a matrix, not {type(asked.channel).__name__}"
            raise InvalidInput(rule, field="rounds", hint=hint)
        check_following(
            asked.channel,
            domain=design.domain.project(asked.attributes),
            epsilon=design.promise(number),
            floor=rounds.floor,
            penalty=design.penalty,
        )
