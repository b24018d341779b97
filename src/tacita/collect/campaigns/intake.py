"""Intake of reports: check them in bulk, then count several batches in one transaction.

A batch counts as a whole or not at all. A report counts once, no matter who sends it again or how often. When `count`
returns, its result is on disk. Committing costs far more than counting, so a server gathers the batches that arrive
while the disk is busy and passes them on together.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

from tacita.collect.campaigns.campaign import Form
from tacita.collect.campaigns.invitations import check_tokens
from tacita.collect.campaigns.seen import SeenReports, split_ids
from tacita.collect.channels.protocol import Randomizer
from tacita.collect.channels.wiring import answer_width, reports_array, unpack_answers
from tacita.collect.device.question import Report, shard_of
from tacita.errors import Conflict, InvalidInput, TacitaError, UnknownName
from tacita.store import Database
from tacita.store.schema import campaigns, kept_reports, tallies

__all__ = ["MOST_REPORTS", "Accepted", "Batch", "count", "packed_batch", "parsed_batch"]

MOST_REPORTS = 10_000
"""Largest batch: one transaction must stay short."""
MAGIC = b"TCR1"
"""First bytes of a packed batch."""
_IDS = re.compile(r"[0-9a-f]*")

Array = NDArray[Any]


@dataclass(frozen=True, kw_only=True)
class Accepted:
    """Outcome of a batch: how many reports were counted, and which had been counted before."""

    accepted: int
    replayed: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {"accepted": self.accepted, "replayed": list(self.replayed)}


@dataclass(frozen=True, kw_only=True)
class Part:
    """Reports to one question inside a batch: their indices in it, and the values that a channel tallies."""

    question: str
    channel: Randomizer
    positions: NDArray[np.int64]
    reports: Array


@dataclass(frozen=True, kw_only=True)
class Batch:
    """Reports of one campaign that have passed every check which needs no database."""

    campaign: str
    ids: Sequence[bytes]
    parts: Sequence[Part]
    kept: Sequence[str] | None = field(default=None, repr=False)


# -- checking --------------------------------------------------------------------------------------------------------


def parsed_batch(form: Form, batch: Sequence[object]) -> Batch:
    """Parse a batch of reports in the wire's JSON form.

    Raises:
        InvalidInput: One of them is not a report to a question of this campaign; the error states its index.
    """
    _check_size(len(batch))
    try:
        ids, answers = _columns(form, batch)
        parts = [_part(form, question, *columns) for question, columns in answers.items()]
    except (TacitaError, KeyError, TypeError, AttributeError):
        _explain(form, batch)  # one by one, to name what is wrong
        raise
    if form.key is not None:
        check_tokens(form.key, form.places, [dict(report) for report in batch if isinstance(report, dict)])
    kept = [json.dumps(_kept(report), sort_keys=True) for report in batch] if form.terms.keep_reports else None
    names = split_ids(bytes.fromhex("".join(ids)))
    _check_shard(form, names)
    return Batch(campaign=form.id, ids=names, parts=parts, kept=kept)


def _kept(report: object) -> dict[str, Any]:
    """Return a report without its token, which is unrelated to the answer."""
    return {name: value for name, value in dict(report).items() if name != "token"} if isinstance(report, dict) else {}


def are_ids(names: Sequence[str]) -> bool:
    """Whether all are 32 lower-case hexadecimal digits."""
    return all(len(name) == 32 for name in names) and _IDS.fullmatch("".join(names)) is not None


def _columns(form: Form, batch: Sequence[Any]) -> tuple[list[str], dict[str, tuple[list[int], list[Any]]]]:
    """Return the ids, and for each question indices and answers; raise on any fault, which a slower pass explains."""
    ids = [report["report"] for report in batch]
    if not are_ids(ids):
        raise InvalidInput("must be 32 lower-case hexadecimal digits", field="report")
    columns: dict[str, tuple[list[int], list[Any]]] = {}
    members = 5 if form.key is None else 6  # a token
    for place, report in enumerate(batch):
        known = len(report) == members and report["wire"] == 1 and report["campaign"] == form.id
        if not known or type(report["wire"]) is not int:
            raise InvalidInput("must be a report of this campaign", field="report")
        places, answers = columns.setdefault(report["question"], ([], []))
        places.append(place)
        answers.append(report["answer"])
    return ids, columns


def _part(form: Form, id: str, places: list[int], answers: list[Any]) -> Part:
    number = form.by_id[id]
    question, channel = form.questions[number], form.design.questions[number].channel
    sent = reports_array(question.channel, question.cells, answers)
    return Part(question=id, channel=channel, positions=np.array(places), reports=sent)


def _explain(form: Form, batch: Sequence[object]) -> None:
    for place, data in enumerate(batch):
        try:
            report = Report.from_dict(data)
            if (report.token is None) != (form.key is None):
                raise InvalidInput("must be there in an invited campaign, and in no other", field="token")
            if report.campaign != form.id or report.question not in form.by_id:
                raise InvalidInput("must name a question of this campaign", field="question")
            report.check_answers(form.questions[form.by_id[report.question]])
        except TacitaError as error:
            # neither the answer nor anything else that was sent is repeated
            raise InvalidInput(error.rule, field=f"reports[{place}].{error.field}") from None


def packed_batch(form: Form, data: bytes) -> Batch:
    """Parse a batch in packed form: all its reports answer one question.

    TCR1, the length of the question's id (1 byte), the id, then for each report 16 bytes of id and its answer, whose
    width depends on the channel (docs/reference/wire.md).
    """
    if form.key is not None:
        raise InvalidInput("must be JSON, with a token in each report, in an invited campaign", field="body")
    if len(data) < 5 or data[:4] != MAGIC:
        raise InvalidInput(f"must begin with {MAGIC.decode()}", field="body")
    start = 5 + data[4]
    if start > len(data):
        raise InvalidInput("must hold the id of a question", field="question")
    id = data[5:start].decode("ascii", errors="replace")
    if id not in form.by_id:
        raise InvalidInput("must name a question of this campaign", field="question")
    question = form.questions[form.by_id[id]]
    width = 16 + answer_width(question.channel, question.cells)
    if (len(data) - start) % width:
        raise InvalidInput(f"must hold whole reports of {width} bytes each", field="body", value=len(data) - start)
    rows = np.frombuffer(data, np.uint8, offset=start).reshape(-1, width)
    _check_size(len(rows))
    ids = split_ids(rows[:, :16].tobytes())
    _check_shard(form, ids)
    sent = unpack_answers(question.channel, question.cells, rows[:, 16:].tobytes())
    channel = form.design.questions[form.by_id[id]].channel
    part = Part(question=id, channel=channel, positions=np.arange(len(ids)), reports=sent)
    kept = [row.tobytes().hex() for row in rows[:, 16:]] if form.terms.keep_reports else None
    return Batch(campaign=form.id, ids=ids, parts=[part], kept=kept)


def _check_shard(form: Form, ids: Sequence[bytes]) -> None:
    """Refuse reports that belong to another aggregator by their id, so that none is counted by two."""
    if form.terms.shard is None:
        return
    place, parts = form.terms.shard
    for name in ids:
        if shard_of(name.hex(), parts) != place:
            rule = f"must belong to this aggregator: its number modulo {parts} must be {place}"
            raise InvalidInput(rule, field="report", hint="Send it to the aggregator that it belongs to")


def _check_size(size: int) -> None:
    if not 1 <= size <= MOST_REPORTS:
        raise InvalidInput(f"must be 1 to {MOST_REPORTS} reports", field="reports", value=size)


# -- counting --------------------------------------------------------------------------------------------------------


def count(database: Database, seen: SeenReports, batches: Sequence[Batch]) -> list[Accepted | TacitaError]:
    """Count batches in one transaction; return the outcome of each, in their order."""
    seen.read_ahead(database, {batch.campaign for batch in batches})
    with database.writing() as connection:
        numbers, refused = _look_up(connection, sorted({batch.campaign for batch in batches}))
        open_ones = [batch for batch in batches if batch.campaign not in refused]
        fresh = _remember(seen, connection, open_ones)
        counted = [_unseen(batch, fresh[batch.campaign]) for batch in open_ones]
        _add(connection, zip(open_ones, counted, strict=True))
        for batch, places in zip(open_ones, counted, strict=True):
            _keep(connection, numbers[batch.campaign], batch, places)
    outcomes = iter([_outcome(batch, places) for batch, places in zip(open_ones, counted, strict=True)])
    return [refused[batch.campaign] if batch.campaign in refused else next(outcomes) for batch in batches]


# statements that every transaction needs are put together once
_LOOK_UP = (
    sa.select(campaigns.c.id, campaigns.c.number, campaigns.c.state)
    .where(campaigns.c.id.in_(sa.bindparam("ids", expanding=True)))
    .order_by(campaigns.c.id)
    .with_for_update(key_share=True)
)
_HERE = (tallies.c.campaign == sa.bindparam("of")) & (tallies.c.question == sa.bindparam("to"))
_TALLY = sa.select(tallies.c.counts).where(_HERE).with_for_update()
_ADD = (
    tallies.update()
    .where(_HERE)
    .values(counts=sa.bindparam("total"), reports=tallies.c.reports + sa.bindparam("times", type_=sa.BigInteger))
)


def _look_up(connection: sa.Connection, ids: Sequence[str]) -> tuple[dict[str, int], dict[str, TacitaError]]:
    """Numbers of the campaigns, and why some take no reports.

    The others are locked: none closes now, and no other process counts their reports. In order, so that two processes
    cannot wait in a ring.
    """
    rows = {row.id: row for row in connection.execute(_LOOK_UP, {"ids": list(ids)})}
    refused: dict[str, TacitaError] = {}
    for id in ids:
        if id not in rows:
            refused[id] = UnknownName(id, field="campaign", available=())
        elif rows[id].state != "open":
            words = {"draft": "is not open yet", "closed": "is closed"}
            refused[id] = Conflict(words[rows[id].state], field="campaign", value=id)
    return {id: row.number for id, row in rows.items()}, refused


def _remember(seen: SeenReports, connection: sa.Connection, batches: Sequence[Batch]) -> dict[str, set[bytes]]:
    """Store the ids; those that were new, for each campaign."""
    wanted: dict[str, set[bytes]] = {}
    for batch in batches:
        wanted.setdefault(batch.campaign, set()).update(batch.ids)
    return {id: seen.remember(connection, id, names) for id, names in sorted(wanted.items())}


def _keep(connection: sa.Connection, campaign: int, batch: Batch, places: Sequence[int]) -> None:
    """Keep the reports that counted, where the owner asked for that."""
    if batch.kept is not None and places:
        rows = [{"campaign": campaign, "report": batch.ids[place], "kept": batch.kept[place]} for place in places]
        connection.execute(kept_reports.insert(), rows)


def _unseen(batch: Batch, fresh: set[bytes]) -> list[int]:
    """Return the indices of a batch's reports that count; remove them from `fresh`, so that each counts once."""
    places = []
    for place, name in enumerate(batch.ids):
        if name in fresh:
            fresh.remove(name)
            places.append(place)
    return places


def _add(connection: sa.Connection, counted: Iterable[tuple[Batch, Sequence[int]]]) -> None:
    """Tally what counts, all reports to one question together."""
    found: dict[tuple[str, str], tuple[Randomizer, list[Array]]] = {}
    for batch, places in counted:
        if not places:
            continue
        mask = None
        if len(places) < len(batch.ids):
            mask = np.zeros(len(batch.ids), dtype=bool)
            mask[places] = True
        for part in batch.parts:
            reports = part.reports if mask is None else part.reports[mask[part.positions]]
            found.setdefault((batch.campaign, part.question), (part.channel, []))[1].append(reports)
    for (campaign, question), (channel, parts) in sorted(found.items(), key=lambda item: item[0]):
        reports = np.concatenate(parts)
        if len(reports):
            add_counts(connection, campaign, question, channel.tally(reports), len(reports))


def add_counts(connection: sa.Connection, campaign: str, question: str, counts: NDArray[np.int64], times: int) -> None:
    """Add to the stored tally of one question, inside a transaction."""
    here = {"of": campaign, "to": question}
    stored = connection.execute(_TALLY, here).scalar_one()
    total = np.frombuffer(stored, "<i8") + counts
    connection.execute(_ADD, here | {"total": total.astype("<i8").tobytes(), "times": times})


def _outcome(batch: Batch, places: Sequence[int]) -> Accepted | TacitaError:
    if len(places) == len(batch.ids):
        return Accepted(accepted=len(places), replayed=())
    counted = set(places)
    replayed = tuple(dict.fromkeys(name.hex() for place, name in enumerate(batch.ids) if place not in counted))
    if not places:
        return Conflict("has counted before", field="report", value=replayed[0], hint="It need not be sent again")
    return Accepted(accepted=len(places), replayed=replayed)


def tally_of(counts: bytes) -> NDArray[np.int64]:
    """A stored tally."""
    return np.frombuffer(counts, "<i8").astype(np.int64)
