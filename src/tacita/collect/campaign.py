"""A campaign: one question asked of many, and the count of what they sent.

This is the aggregator's side. It sees reports and nothing else; it counts them and forgets them, keeping only
their ids so that none counts twice. What `accept` has returned is on disk.
"""

from __future__ import annotations

import datetime as dt
import json
import uuid
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import numpy as np
import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from tacita.collect.channel import RandomizedResponse
from tacita.collect.estimate import release_of
from tacita.collect.protocol import About
from tacita.collect.question import Question, Report
from tacita.domain import Attribute, Domain
from tacita.errors import Conflict, InvalidInput, TacitaError, UnknownName
from tacita.release import Release
from tacita.store import Database, aware, now
from tacita.store.schema import campaigns, reports, tallies

__all__ = ["Accepted", "Campaign", "Campaigns"]

MOST_REPORTS = 10_000
"""Largest batch: one transaction must stay short."""
_KEPT_QUESTIONS = 64


@dataclass(frozen=True, kw_only=True)
class Campaign:
    """One question, its state, and how many have answered."""

    id: str
    title: str
    question: Question
    domain: Domain
    state: Literal["open", "closed"]
    minimum: int
    received: int
    created: dt.datetime
    closed: dt.datetime | None

    @property
    def channel(self) -> RandomizedResponse:
        """What every answer goes through."""
        return RandomizedResponse(keep=self.question.keep, fake=self.question.fake)

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "id": self.id,
            "title": self.title,
            "question": self.question.to_dict(),
            "state": self.state,
            "minimum": self.minimum,
            "received": self.received,
            "created": self.created.isoformat(),
            "closed": self.closed.isoformat() if self.closed else None,
        }


@dataclass(frozen=True, kw_only=True)
class Accepted:
    """What became of a batch: how many counted, and which had counted before."""

    accepted: int
    replayed: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {"accepted": self.accepted, "replayed": list(self.replayed)}


class Campaigns:
    """All campaigns in a database."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._questions = lru_cache(_KEPT_QUESTIONS)(lambda id: self.get(id).question)

    def create(self, *, attribute: Attribute, epsilon: float, title: str, minimum: int = 100) -> Campaign:
        """Open a campaign that asks for one attribute through k-ary randomized response.

        Args:
            attribute: What is asked; its levels, bins and buckets are the possible answers.
            epsilon: The most that answering may cost a respondent.
            title: What respondents see.
            minimum: Nothing is published before so many have answered.
        """
        domain = Domain(attributes=(attribute,))
        domain.require_public()
        domain.check_countable(domain.names)
        if isinstance(minimum, bool) or not isinstance(minimum, int) or minimum < 1:
            raise InvalidInput("must be a whole number of at least 1", field="minimum", value=minimum)
        channel = RandomizedResponse.k_ary(levels=attribute.size, epsilon=epsilon)
        id = f"cp_{uuid.uuid4().hex}"
        question = Question(
            campaign=id,
            question="q1",
            attribute=attribute.description or attribute.name,
            levels=attribute.all_labels,
            keep=channel.keep,
            fake=channel.fake,
            epsilon=epsilon,
        )
        row = {
            "id": id,
            "title": title,
            "question": json.dumps({"wire": question.to_dict(), "domain": domain.as_dict()}),
            "state": "open",
            "minimum": minimum,
            "created": now(),
        }
        with self._database.writing() as connection:
            connection.execute(campaigns.insert().values(row))
            connection.execute(
                tallies.insert(), [{"campaign": id, "answer": y, "times": 0} for y in range(channel.levels)]
            )
        return self.get(id)

    def get(self, id: str) -> Campaign:
        """The campaign with that id."""
        with self._database.reading() as connection:
            return self._get(connection, id)

    def question(self, id: str) -> Question:
        """The question of a campaign, kept once it is verified: it never changes."""
        return self._questions(id)

    def list(self) -> list[Campaign]:
        """All campaigns, oldest first."""
        with self._database.reading() as connection:
            ids = connection.execute(sa.select(campaigns.c.id).order_by(campaigns.c.created)).scalars().all()
            return [self._get(connection, id) for id in ids]

    def accept(self, id: str, batch: Sequence[object]) -> Accepted:
        """Count a batch of reports, all of it or nothing; a report that counted before does not count again.

        Raises:
            InvalidInput: One of them is not a report of this campaign; none was counted.
            Conflict: The campaign is closed, or every report had counted before.
        """
        if not 1 <= len(batch) <= MOST_REPORTS:
            raise InvalidInput(f"must be 1 to {MOST_REPORTS} reports", field="reports", value=len(batch))
        question = self.question(id)
        parsed = [_parse(question, number, report) for number, report in enumerate(batch)]
        with self._database.writing() as connection:
            # shared lock: many may report at once, but none while the campaign closes
            state = connection.execute(
                sa.select(campaigns.c.state).where(campaigns.c.id == id).with_for_update(read=True)
            ).scalar_one()
            if state != "open":
                raise Conflict("is closed", field="campaign", value=id)
            fresh = self._insert_ids(connection, id, sorted({report.report for report in parsed}))
            counted: dict[str, int] = {}
            for report in parsed:
                if report.report in fresh:
                    counted.setdefault(report.report, report.answer)
            self._add(connection, id, Counter(counted.values()))
        replayed = [report.report for report in parsed if report.report not in counted]
        replayed += [name for name, times in Counter(r.report for r in parsed).items() if times > 1 and name in counted]
        if not counted:
            raise Conflict("has counted before", field="report", value=replayed[0], hint="It need not be sent again")
        return Accepted(accepted=len(counted), replayed=tuple(dict.fromkeys(replayed)))

    def close(self, id: str) -> Campaign:
        """Accept no more; closing twice is the same as once."""
        self.get(id)
        with self._database.writing() as connection:
            connection.execute(
                campaigns.update()
                .where(campaigns.c.id == id, campaigns.c.state == "open")
                .values(state="closed", closed=now())
            )
        return self.get(id)

    def release(self, id: str, about: About = "population") -> Release:
        """Shares with error bars from what has been counted so far; the channel has protected everybody already."""
        campaign = self.get(id)
        if campaign.received < campaign.minimum:
            raise Conflict(
                f"publishes from {campaign.minimum} reports on",
                field="campaign",
                value=f"{campaign.received} so far",
            )
        recipe = {"method": "randomized-response", "campaign": id, "title": campaign.title}
        return release_of(
            campaign.channel,
            campaign.domain,
            self._counts(campaign),
            about=about,
            simulated=False,
            recipe=recipe,
        )

    # -- inside a transaction -------------------------------------------------------------------------------------

    def _get(self, connection: sa.Connection, id: str) -> Campaign:
        row = connection.execute(campaigns.select().where(campaigns.c.id == id)).one_or_none()
        if row is None:
            raise UnknownName(id, field="campaign", available=())
        received = connection.execute(
            sa.select(sa.func.coalesce(sa.func.sum(tallies.c.times), 0)).where(tallies.c.campaign == id)
        ).scalar_one()
        stored = json.loads(row.question)
        return Campaign(
            id=row.id,
            title=row.title,
            question=Question.from_dict(stored["wire"]),
            domain=Domain.from_dict(stored["domain"]),
            state=row.state,
            minimum=row.minimum,
            received=int(received),
            created=aware(row.created),
            closed=aware(row.closed) if row.closed else None,
        )

    def _insert_ids(self, connection: sa.Connection, id: str, names: Sequence[str]) -> set[str]:
        """Remember ids; returns those that were new. Sorted names keep two batches from waiting for each other."""
        insert = postgresql.insert if self._database.is_postgres else sqlite.insert
        fresh: set[str] = set()
        for start in range(0, len(names), 500):
            rows = [{"campaign": id, "report": name} for name in names[start : start + 500]]
            statement = insert(reports).values(rows).on_conflict_do_nothing().returning(reports.c.report)
            fresh |= set(connection.execute(statement).scalars())
        return fresh

    def _add(self, connection: sa.Connection, id: str, answers: Counter[int]) -> None:
        for answer, times in sorted(answers.items()):
            here = (tallies.c.campaign == id) & (tallies.c.answer == answer)
            connection.execute(tallies.update().where(here).values(times=tallies.c.times + times))

    def _counts(self, campaign: Campaign) -> np.ndarray[Any, Any]:
        query = sa.select(tallies.c.times).where(tallies.c.campaign == campaign.id).order_by(tallies.c.answer)
        with self._database.reading() as connection:
            return np.array(connection.execute(query).scalars().all(), np.int64)


def _parse(question: Question, number: int, data: object) -> Report:
    try:
        report = Report.from_dict(data)
        report.check_answers(question)
    except TacitaError as error:
        raise InvalidInput(error.rule, field=f"reports[{number}].{error.field}", value=error.value) from None
    return report
