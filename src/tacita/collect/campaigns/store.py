"""All campaigns in a database: create, open, ask, count, inspect and close them.

Blocks fill and deadlines pass between calls. So every call that could notice this calls `advance`, which moves a
campaign on at most once, under a lock.
"""

from __future__ import annotations

import datetime as dt
import json
import logging
import random
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

from tacita import check
from tacita.collect.campaigns.campaign import (
    Campaign,
    Form,
    check_limits,
    check_rounds,
    check_title,
    check_two_phases,
    question_of,
)
from tacita.collect.campaigns.intake import (
    Accepted,
    Batch,
    add_counts,
    are_ids,
    count,
    packed_batch,
    parsed_batch,
    tally_of,
)
from tacita.collect.campaigns.invitations import TokenKey, count_codes, make_codes, use_code
from tacita.collect.campaigns.seen import SeenReports, number_of, stored_ids
from tacita.collect.campaigns.terms import Terms
from tacita.collect.campaigns.waves import check_next, check_series, check_wave, ids_of_waves, name_of_wave, series_of
from tacita.collect.channels.following import next_channel
from tacita.collect.channels.protocol import About, Channel, respondents_of
from tacita.collect.channels.wiring import channel_of, unpack_answers
from tacita.collect.device.question import Question, shard_of
from tacita.collect.device.refusal import is_integer
from tacita.collect.device.series import Series
from tacita.collect.estimating.pooled import pool_tables
from tacita.collect.estimating.tally import Participation, Tally
from tacita.collect.planning.design import Asked, CollectionDesign
from tacita.collect.planning.phases import second_design
from tacita.collect.planning.sizing import plan_stop
from tacita.domain import Domain
from tacita.errors import Conflict, InvalidInput, TacitaError, UnknownName
from tacita.store import Database, aware, now
from tacita.store.events import LOCAL, append
from tacita.store.schema import campaigns, questions, tallies
from tacita.tables.release import Releases

__all__ = ["Campaigns"]

_NOT_OPEN = {"draft": "is not open yet", "closed": "is closed"}
_KEPT = 64  # forms that are kept
_LOT = random.SystemRandom()
_ITSELF = "its own terms"  # the principal in the audit log when a campaign closes by its terms
_LOG = logging.getLogger(__name__)


class Campaigns:
    """The campaigns of one database.

    Args:
        database: Where they are.
        reports_a_minute: Most reports that one address may send without a token, where a server limits that; releases
            of open campaigns state it.
    """

    def __init__(self, database: Database, *, reports_a_minute: int | None = None) -> None:
        self._database, self._reports_a_minute = database, reports_a_minute
        self._seen = SeenReports()
        self._forms: dict[str, Form] = {}  # verified once: questions do not change, and a new block adds to them

    # -- the owner ----------------------------------------------------------------------------------------------------

    def create(
        self,
        design: CollectionDesign,
        *,
        title: str,
        terms: Terms | None = None,
        id: str | None = None,
        principal: str = LOCAL,
    ) -> Campaign:
        """Set a campaign up as a draft: nothing is asked before `open`.

        Args:
            design: From `plan_collection`, or written by hand.
            title: What respondents see.
            terms: When it publishes, goes on, stops and closes.
            id: A readable id, or that of the same campaign at another aggregator; a random one otherwise.
            principal: Who makes it.
        """
        terms = terms or Terms()
        if terms.stop is not None and design.first is None:  # the sizes of all looks are fixed before the first report
            terms = replace(terms, stop=plan_stop(design, terms.stop, least=terms.minimum))
        id = id or f"cp_{uuid.uuid4().hex}"
        design.domain.require_public()
        check_title(title)
        check_rounds(design, terms.rounds)
        check_two_phases(design, terms)
        check_series(design, terms, id)
        if not terms.raised_limits:
            check_limits(design)
        with self._database.writing() as connection:
            self._check_names(connection, id, design.waves)
            self._insert(connection, id, title, design, terms, principal, series_of(design, id, 1))
        return self.get(id)

    def _check_names(self, connection: sa.Connection, id: str, waves: int) -> None:
        """Refuse an id that a series keeps for a later wave, and a series whose later ids are taken."""
        there = sa.select(campaigns.c.id)
        later = ids_of_waves(id, waves)[1:]
        taken = connection.execute(there.where(campaigns.c.id.in_(later)).limit(1)).scalar()
        if taken is not None:
            hint = "Give the series another id"
            raise Conflict("is the id of a later wave, and exists already", field="campaign", value=taken, hint=hint)
        named = name_of_wave(id)
        if named is None or connection.execute(there.where(campaigns.c.id == named[0])).first() is None:
            return
        series = self._load(connection, named[0]).form.series
        if series is not None and series.id == named[0] and named[1] <= series.waves:
            rule = f"is kept for wave {named[1]} of the series {series.id!r}"
            raise Conflict(rule, field="campaign", value=id, hint="Give the campaign another id")

    def _insert(
        self,
        connection: sa.Connection,
        id: str,
        title: str,
        design: CollectionDesign,
        terms: Terms,
        principal: str,
        series: Series | None,
    ) -> None:
        """Store a draft with its questions."""
        stored = {
            "terms": terms.as_dict(),
            "domain": design.domain.as_dict(),
            "design": {
                "epsilon": design.epsilon,
                "respondents": design.respondents,
                "mode": design.mode,
                "wanted": design.wanted,
                "penalty": design.penalty,
                "first": design.first,
                "waves": design.waves,
                "turns": design.turns,
            },
            "why": design.why,
        }
        row = {
            "id": id,
            "title": title,
            "terms": json.dumps(stored),
            "state": "draft",
            "block": 1,
            "looks": 0,
            "created": now(),
            "reason": "",
        }
        try:
            connection.execute(campaigns.insert().values(row))
        except sa.exc.IntegrityError:
            raise Conflict("exists already", field="campaign", value=id) from None
        key = None
        if terms.invited:
            signer = TokenKey.new()
            signer.save(connection, number_of(connection, id))
            key = signer.public
        self._store_questions(connection, id, design, terms, key, block=1, known=0, series=series)
        append(connection, "campaign-made", id, principal, title=title, epsilon=design.epsilon_upper)

    def open_wave(self, id: str, wave: int, *, closes: dt.datetime | None = None, principal: str = LOCAL) -> Campaign:
        """Open the next wave of a series, with the same questions, and close the one before it.

        A wave that is open already stays as it is, so that the same call may be repeated.

        Args:
            id: Any wave of the series.
            wave: The number of the wave to open.
            closes: When it closes by itself.
            principal: Who opens it.

        Raises:
            Conflict: The campaign is in no series, its last wave is a draft, or another wave is the next one.
        """
        series = check_wave(self.get(id).form.series, id, wave)
        with self._database.writing() as connection:
            first = self._load(connection, series.id, lock=True)  # of two that come at once, the second finds it open
            names = ids_of_waves(series.id, series.waves)
            there = sa.select(campaigns.c.id).where(campaigns.c.id.in_(names[1:]))
            known = {*connection.execute(there).scalars()}
            last = next((self._load(connection, name, lock=True) for name in names[:0:-1] if name in known), first)
            if not check_next(last, series.id, wave, closes):
                return last
            terms = replace(last.terms, closes=closes)
            if closes is not None and closes <= now():
                raise InvalidInput("must lie in the future", field="closes", value=closes.isoformat())
            if last.state == "open":
                self._close(connection, last, "the next wave has begun", principal)
            name = names[wave - 1]
            self._insert(connection, name, last.title, last.design, terms, principal, replace(series, wave=wave))
            self._set(connection, name, state="open", block_opened=now())
            append(connection, "campaign-opened", name, principal, title=last.title)
        return self.get(name)

    def earlier(self, id: str, wave: int | None = None) -> str:
        """Return the id of an earlier wave of the same series.

        Args:
            id: The later wave.
            wave: The number of the earlier one; the wave before, if not given.
        """
        series = self.get(id).form.series
        if series is None:
            raise Conflict("stands alone: there is no earlier wave", field="campaign", value=id)
        if series.wave == 1:
            hint = "Name a later wave: its changes are those since an earlier one"
            raise Conflict("is the first wave: there is no earlier one", field="campaign", value=id, hint=hint)
        wave = series.wave - 1 if wave is None else wave
        check.whole(wave, "since", least=1, most=series.wave - 1)
        return ids_of_waves(series.id, series.waves)[wave - 1]

    def since(self, id: str, wave: int | None = None) -> tuple[Tally, Tally]:
        """Return the counts of an earlier wave of the same series, and those of this one; arguments as in `earlier`."""
        before, after = (self._tally_of_wave(each) for each in (self.earlier(id, wave), id))
        return before, after

    def _tally_of_wave(self, id: str) -> Tally:
        try:
            return self.tally(id)
        except Conflict as error:
            error.advise(f"It is the wave {id!r} that has too few answers")
            raise

    def waves(self, id: str) -> Sequence[Campaign]:
        """Return all waves so far of the series that a campaign is in, in order; itself where it stands alone."""
        with self._database.snapshot() as connection:
            campaign = self._load(connection, id)
            if (series := campaign.form.series) is None:
                return [campaign]
            names = ids_of_waves(series.id, series.waves)
            there = {*connection.execute(sa.select(campaigns.c.id).where(campaigns.c.id.in_(names))).scalars()}
            found = [self._load(connection, name) for name in names if name in there]
        return [each for each in found if each.form.series is not None and each.form.series.id == series.id]

    def open(self, id: str, *, principal: str = LOCAL) -> Campaign:
        """Let people answer. A campaign that is open stays so; one that is closed cannot be opened again."""
        with self._database.writing() as connection:
            campaign = self._load(connection, id, lock=True)
            if campaign.state == "closed":
                raise Conflict("is closed and cannot be opened again", field="campaign", value=id)
            if campaign.state == "draft":
                self._set(connection, id, state="open", block_opened=now())
                append(connection, "campaign-opened", id, principal, title=campaign.title)
        return self.get(id)

    def close(self, id: str, reason: str = "closed by its owner", *, principal: str = LOCAL) -> Campaign:
        """Accept no more; closing twice is the same as once."""
        with self._database.writing() as connection:
            campaign = self._load(connection, id, lock=True)
            if campaign.state != "closed":
                self._close(connection, campaign, reason, principal)
        return self.get(id)

    def get(self, id: str) -> Campaign:
        """Return the campaign with that id."""
        with self._database.snapshot() as connection:
            return self._load(connection, id)

    def form(self, id: str) -> Form:
        """Title, terms and questions, as far as they are known here: a block may have begun since."""
        return self._forms.get(id) or self.get(id).form

    def list(self) -> list[Campaign]:
        """All campaigns, oldest first."""
        with self._database.snapshot() as connection:
            ids = connection.execute(sa.select(campaigns.c.id).order_by(campaigns.c.created)).scalars().all()
            return [self._load(connection, id) for id in ids]

    # -- respondents --------------------------------------------------------------------------------------------------

    def sheet(self, id: str) -> tuple[Question, ...]:
        """Return the questions for one respondent: one view of the open block, drawn at random.

        The draw does not depend on who asks. A respondent who asks twice may get another view; the device refuses it
        if it has answered one.
        """
        return self.draw_sheet(self.advance(id))

    def draw_sheet(self, campaign: Campaign) -> tuple[Question, ...]:
        """The same for a campaign that was just looked at."""
        if campaign.state != "open":
            raise Conflict(_NOT_OPEN[campaign.state], field="campaign", value=campaign.id)
        views = campaign.design.view_shares(campaign.block)
        (view,) = _LOT.choices(list(views), weights=list(views.values()))
        return tuple(campaign.questions[number] for number in view)

    def invite(self, id: str, count: int, *, principal: str = LOCAL) -> Sequence[str]:
        """Make one-time codes for an invited campaign. They are given out once; only digests are stored."""
        with self._database.writing() as connection:
            campaign = self._load(connection, id)
            self._check_invited(campaign)
            codes = make_codes(connection, number_of(connection, id), count)
            append(connection, "invitations-made", id, principal, title=campaign.title, count=count)
        return codes

    def invited(self, id: str) -> dict[str, int]:
        """Count the codes that an invited campaign has made, and those that were used."""
        with self._database.snapshot() as connection:
            self._check_invited(self._load(connection, id))
            return count_codes(connection, number_of(connection, id))

    def redeem(self, id: str, code: str, blinded: bytes) -> bytes:
        """Sign a blinded message for a code, which is then used up.

        Sending the same message again gives the same signature, so that an answer that was lost can be repeated.

        Raises:
            Forbidden: There is no such code.
            Conflict: It was used for another message, or the campaign is not open.
        """
        with self._database.writing() as connection:
            campaign = self._load(connection, id)
            self._check_invited(campaign)
            if campaign.state != "open":
                raise Conflict(_NOT_OPEN[campaign.state], field="campaign", value=id)
            number = number_of(connection, id)
            key = TokenKey.load(connection, number)
            key.check(blinded)
            use_code(connection, number, code, blinded)
        return key.sign(blinded)  # costs most: a wrong code does not come this far

    def _check_invited(self, campaign: Campaign) -> None:
        if not campaign.terms.invited:
            raise Conflict("is open to everyone: there are no codes", field="campaign", value=campaign.id)

    def accept(self, id: str, batch: Sequence[object]) -> Accepted:
        """Count a batch of reports, all of it or nothing; a report that counted before does not count again.

        Raises:
            InvalidInput: One of them is not a report of this campaign; none was counted.
            Conflict: The campaign is not open, or every report had counted before.
        """
        (outcome,) = self.accept_all([self.parse(id, batch)])
        if isinstance(outcome, TacitaError):
            raise outcome
        return outcome

    def parse(self, id: str, batch: Sequence[object] | bytes) -> Batch:
        """Check a batch without counting it: a list in the wire's JSON form, or bytes in its packed form."""
        form = self.form(id)
        try:
            return _parse(form, batch)
        except InvalidInput:
            newer = self.get(id).form
            if len(newer.questions) == len(form.questions):
                raise
        return _parse(newer, batch)  # a block had begun since

    def accept_all(self, batches: Sequence[Batch]) -> Sequence[Accepted | TacitaError]:
        """Count several batches in one transaction; return the outcome of each."""
        forms = {id: self.form(id) for id in {batch.campaign for batch in batches}}
        for id, form in forms.items():
            if form.terms.closes is not None and now() >= form.terms.closes:
                self.advance(id)
        outcomes = count(self._database, self._seen, batches)
        for id, form in forms.items():
            if form.terms.rounds or form.terms.stop or form.design.first is not None:
                self._try_to_advance(id)
        return outcomes

    def _try_to_advance(self, id: str) -> None:
        """Advance, but log a failure instead of raising: the reports are on disk, and the next call tries again."""
        try:
            self.advance(id)
        except Exception as error:
            _LOG.warning("a campaign could not move on: %s", type(error).__name__)

    # -- moving on ----------------------------------------------------------------------------------------------------

    def advance(self, id: str) -> Campaign:
        """Close a campaign that is over or accurate enough, or open its next block; return the campaign."""
        campaign = self.get(id)
        moment = now()
        if campaign.state != "open" or not (
            campaign.is_over(moment) or campaign.is_due(moment) or self._look_is_due(campaign)
        ):
            return campaign
        # computed before the lock is taken: senders do not wait for it, and only the first to come here opens it
        second = self._second_phase(campaign) if campaign.design.first is not None else None
        with self._database.writing() as connection:
            campaign = self._load(connection, id, lock=True)
            if campaign.state == "open" and campaign.is_over(moment):
                self._close(connection, campaign, "its time is up", _ITSELF)
            elif campaign.state == "open" and self._look_is_due(campaign) and self._accurate(connection, campaign):
                self._close(connection, campaign, "accurate enough", _ITSELF)
            elif campaign.state == "open" and campaign.is_due(moment):
                if second is None:
                    self._next_block(connection, campaign)
                else:
                    self._open_block(connection, campaign, second)
        return self.get(id)

    def _look_is_due(self, campaign: Campaign) -> bool:
        """Whether as many people have answered as the stop rule planned for its next look."""
        rule = campaign.terms.stop
        return rule is not None and rule.due(campaign.respondents) > campaign.looks

    def _accurate(self, connection: sa.Connection, campaign: Campaign) -> bool:
        """One look of the stopping rule at the pooled tables that were wanted; every look counts."""
        rule = campaign.terms.stop
        assert rule is not None
        look = rule.due(campaign.respondents)  # of several looks that were passed at once, only the last is taken
        self._set(connection, campaign.id, looks=look)
        tally = self._tally(connection, campaign, published=True)
        if not tally:
            return False
        tables = pool_tables(tally)
        if not all(tables.supports(key) for key in rule.tables or ()):
            return False
        wanted = [tables.project(key) for key in rule.tables or tables]
        return rule.look_at(wanted, look, respondents=campaign.respondents).stop

    def _second_phase(self, campaign: Campaign) -> Sequence[Asked]:
        """The questions of the second phase, from the tables that may be published; the promise stays."""
        with self._database.snapshot() as connection:
            campaign = self._load(connection, campaign.id)
            tally = self._tally(connection, campaign, published=True)
        left = campaign.design.respondents - campaign.respondents
        return second_design(tally, respondents=max(left, 1)).questions

    def _next_block(self, connection: sa.Connection, campaign: Campaign) -> None:
        """Ask the same combinations through channels that follow the learnt tables; the promise stays."""
        rounds = campaign.terms.rounds
        assert rounds is not None
        # every device receives the channel, which reveals the table that it follows: only tables that may be published
        # are used
        tally = self._tally(connection, campaign, published=True)
        learnt = tally.releases() if tally else {}
        again = []
        for number, asked in enumerate(campaign.design.questions):
            if asked.block != campaign.block:
                continue
            channel = asked.channel
            if asked.attributes in learnt:
                channel = next_channel(
                    asked.channel,
                    learnt[asked.attributes].values,
                    domain=campaign.design.domain.project(asked.attributes),
                    epsilon=campaign.design.promise(number),
                    floor=rounds.floor,
                    penalty=campaign.design.penalty,
                )
            again.append(replace(asked, channel=channel, block=campaign.block + 1))
        self._open_block(connection, campaign, again)

    def _open_block(self, connection: sa.Connection, campaign: Campaign, again: Sequence[Asked]) -> None:
        """Ask the combinations of the block before through other channels, in the same views; or others, one each."""
        block = campaign.block + 1
        if campaign.design.first is not None:
            design = replace(campaign.design, questions=tuple(again), views=())
            self._ask(connection, campaign, design, block=block)
            self._set(connection, campaign.id, block=block, block_opened=now())
            return
        views = tuple(campaign.design.view_shares(campaign.block))
        first = min(number for view in views for number in view)
        moved = tuple(tuple(number - first for number in view) for view in views)
        design = replace(campaign.design, questions=tuple(again), views=moved)
        self._ask(connection, campaign, design, block=block)
        self._set(connection, campaign.id, block=block, block_opened=now())

    # -- what came out ------------------------------------------------------------------------------------------------

    def tally(self, id: str) -> Tally:
        """Return the counts so far, of all tables that enough people have answered for."""
        with self._database.snapshot() as connection:
            campaign = self._load(connection, id)
            tally = self._tally(connection, campaign, published=True)
        if not tally:
            rule = f"publishes a table from {campaign.terms.minimum} answers on"
            raise Conflict(rule, field="campaign", value=f"{max(campaign.answers.values())} so far")
        return tally

    def releases(self, id: str, about: About = "population") -> Releases:
        """Return unbiased tables with error bars; no cost, because reports were randomised before they were sent."""
        found = self.tally(id).releases(about)
        title = self.get(id).title
        return Releases(
            replace(
                release,
                provenance=replace(
                    release.provenance, recipe=dict(release.provenance.recipe) | {"campaign": id, "title": title}
                ),
            )
            for release in found.values()
        )

    # -- several aggregators ------------------------------------------------------------------------------------------

    def export(self, id: str, *, principal: str = LOCAL) -> dict[str, Any]:
        """Return the data that another aggregator of the same campaign needs to add these counts to its own, once."""
        with self._database.snapshot() as connection:
            campaign = self._load(connection, id)
            counts = self._counts(connection, campaign)
            ids = [name.hex() for name in stored_ids(connection, id)]
        with self._database.writing() as connection:
            append(connection, "tally-taken", id, principal, title=campaign.title)
        return {
            "tacita": "tally/1",
            "campaign": id,
            "questions": {question.question: question.digest for question in campaign.questions},
            "counts": {campaign.questions[number].question: found.tolist() for number, found in counts.items()},
            "received": {q.question: n for q, n in zip(campaign.questions, campaign.received, strict=True)},
            "reports": ids,
        }

    def block(self, id: str) -> dict[str, Any]:
        """The questions of the block that is open, for aggregators that share the campaign with this one."""
        return _block(self.advance(id))

    def adopt(self, id: str, exported: Mapping[str, Any], *, principal: str = LOCAL) -> Campaign:
        """Open the block that the leading aggregator of the campaign has opened, with the same questions.

        Adopting the block that is open changes nothing.

        Raises:
            InvalidInput: It is not the next block of this campaign, or asks for something else.
            Conflict: The campaign is not open here, or opens its blocks by itself.
        """
        with self._database.writing() as connection:
            campaign = self._load(connection, id, lock=True)
            blocks = campaign.terms.rounds is not None or campaign.design.first is not None
            if campaign.state != "open" or not blocks or not campaign.terms.follows:
                rule = "must be open, run in blocks, and follow another aggregator"
                raise Conflict(rule, field="campaign", value=id)
            if exported == _block(campaign):
                return campaign
            phased = campaign.design.first is not None
            asked = _adopted_phase(campaign, exported) if phased else _adopted(campaign, exported)
            self._open_block(connection, campaign, asked)
            append(connection, "block-adopted", id, principal, title=campaign.title, block=campaign.block + 1)
        return self.get(id)

    def merge(self, id: str, exported: Mapping[str, Any], *, principal: str = LOCAL) -> Campaign:
        """Add the counts of another aggregator of the same campaign, all of them or none.

        Where aggregators share the campaign by shards, the export of one may be merged again when it has counted more,
        block after block: the counts merged before are subtracted. So the next block follows the reports of all.

        Raises:
            Conflict: The campaign is not open; or some reports were sent to both, and cannot be taken out of sums.
        """
        with self._database.writing() as connection:
            campaign = self._load(connection, id, lock=True)
            if campaign.state != "open":
                rule = "must be open: the tables of a closed campaign do not change"
                raise Conflict(rule, field="campaign", value=campaign.state, hint="Merge before you close it")
            if campaign.terms.invited:
                rule = "an invited campaign counts reports with a token of its own only"
                raise Conflict(rule, field="campaign", value=id)
            counts = _check_export(campaign, exported)
            names = {bytes.fromhex(name) for name in exported["reports"]}
            before = self._merged_before(connection, campaign, exported)
            fresh = self._seen.remember(connection, id, names)
            expected = len(exported["reports"]) - sum(before["received"].values())
            if len(fresh) > expected:  # some of those that were merged before are not in it any more
                raise Conflict("must hold all that the same aggregator has exported before", field="tally")
            if len(fresh) < expected:
                hint = "Send each report to one aggregator only"
                raise Conflict("holds reports that were counted here already", field="tally", hint=hint)
            for question, found in counts.items():
                known = np.array(before["counts"].get(question, np.zeros_like(found)), dtype=np.int64)
                more = exported["received"][question] - before["received"].get(question, 0)
                if (found < known).any() or more < 0:
                    raise Conflict("must hold all that the same aggregator has exported before", field="tally")
                add_counts(connection, id, question, found - known, more)
            append(connection, "tally-merged", id, principal, title=campaign.title)
        return self.advance(id)

    def _merged_before(
        self, connection: sa.Connection, campaign: Campaign, exported: Mapping[str, Any]
    ) -> dict[str, dict[str, Any]]:
        """Return the export that was last merged from the same shard, and store this export in its place."""
        nothing: dict[str, dict[str, Any]] = {"counts": {}, "received": {}}
        shards = (
            set()
            if campaign.terms.shard is None
            else {shard_of(report, campaign.terms.shard[1]) for report in exported["reports"]}
        )
        if len(shards) != 1:  # of no shard, or merged from several: nothing can be taken off
            return nothing
        (shard,) = shards
        query = sa.select(campaigns.c.terms).where(campaigns.c.id == campaign.id)
        stored = json.loads(connection.execute(query).scalar_one())
        merged = stored.setdefault("merged", {})
        before: dict[str, dict[str, Any]] = merged.get(str(shard), nothing)
        merged[str(shard)] = {part: exported[part] for part in nothing}
        self._set(connection, campaign.id, terms=json.dumps(stored))
        return before

    # -- inside a transaction -----------------------------------------------------------------------------------------

    def _ask(self, connection: sa.Connection, campaign: Campaign, design: CollectionDesign, *, block: int) -> None:
        """Store the questions of a further block."""
        form, known = campaign.form, len(campaign.questions)
        self._store_questions(connection, form.id, design, form.terms, form.key, block=block, known=known)

    def _store_questions(
        self,
        connection: sa.Connection,
        id: str,
        design: CollectionDesign,
        terms: Terms,
        key: str | None,
        *,
        block: int,
        known: int,
        series: Series | None = None,
    ) -> None:
        """Store the questions of a block after those that are known, with empty tallies."""
        number_of_view = {number: place for place, view in enumerate(design.views) for number in view}
        rows, empty = [], []
        for number, asked in enumerate(design.questions):
            promise = design.promise(number)
            question = question_of(id, number, asked, design.domain, promise, terms.aggregators, key, series)
            rows.append(
                {
                    "campaign": id,
                    "id": question.question,
                    "number": known + number,
                    "block": block,
                    "view": number_of_view[number],
                    "share": asked.share,
                    "attributes": json.dumps(asked.attributes),
                    "wire": json.dumps(question.to_dict()),
                }
            )
            none = asked.channel.tally(unpack_answers(question.channel, question.cells, b""))
            zeros = none.astype("<i8").tobytes()
            empty.append({"campaign": id, "question": question.question, "counts": zeros, "reports": 0})
        connection.execute(questions.insert(), rows)
        connection.execute(tallies.insert(), empty)

    def _close(self, connection: sa.Connection, campaign: Campaign, reason: str, principal: str) -> None:
        self._set(connection, campaign.id, state="closed", closed=now(), reason=reason)
        append(connection, "campaign-closed", campaign.id, principal, title=campaign.title, reason=reason)

    def _set(self, connection: sa.Connection, id: str, **values: Any) -> None:
        connection.execute(campaigns.update().where(campaigns.c.id == id).values(values))

    def _load(self, connection: sa.Connection, id: str, *, lock: bool = False) -> Campaign:
        query = campaigns.select().where(campaigns.c.id == id)
        row = connection.execute(query.with_for_update() if lock else query).one_or_none()
        if row is None:
            raise UnknownName(id, field="campaign", available=())
        counted = sa.select(tallies.c.question, tallies.c.reports).where(tallies.c.campaign == id)
        received = {each.question: int(each.reports) for each in connection.execute(counted)}
        form = self._form(connection, row, len(received))
        return Campaign(
            form=form,
            state=row.state,
            reason=row.reason,
            block=row.block,
            received=tuple(received[question.question] for question in form.questions),
            looks=row.looks,
            created=aware(row.created),
            block_opened=aware(row.block_opened) if row.block_opened else None,
            closed=aware(row.closed) if row.closed else None,
        )

    def _form(self, connection: sa.Connection, row: Any, size: int) -> Form:
        kept = self._forms.get(row.id)
        if kept is not None and len(kept.questions) == size:
            return kept
        query = questions.select().where(questions.c.campaign == row.id).order_by(questions.c.number)
        if kept is not None:  # a block has begun: what was verified before stays as it is
            query = query.where(questions.c.number >= len(kept.questions))
        found = connection.execute(query).all()
        stored = json.loads(row.terms)
        wired = tuple(Question.from_json(each.wire) for each in found)
        terms = Terms.from_dict(stored["terms"])
        design = _design(stored, found, wired, kept)
        if terms.stop is not None:  # of an earlier version, which planned no looks
            terms = replace(terms, stop=plan_stop(design, terms.stop, least=terms.minimum))
        every = (*kept.questions, *wired) if kept is not None else wired
        form = Form(id=row.id, title=row.title, design=design, questions=every, terms=terms)
        while len(self._forms) >= _KEPT:
            self._forms.pop(next(iter(self._forms)), None)
        self._forms[row.id] = form
        return form

    def _counts(self, connection: sa.Connection, campaign: Campaign) -> dict[int, NDArray[np.int64]]:
        rows = connection.execute(tallies.select().where(tallies.c.campaign == campaign.id)).all()
        return {campaign.form.by_id[row.question]: tally_of(row.counts) for row in rows if row.reports}

    def _tally(self, connection: sa.Connection, campaign: Campaign, *, published: bool = False) -> Tally:
        """Return the counts; with `published`, only of tables that enough people have answered for."""
        counts, asked = self._counts(connection, campaign), campaign.design.questions
        least = campaign.terms.minimum if published else 0
        kept = {n: found for n, found in counts.items() if campaign.answers[asked[n].attributes] >= least}
        participation = Participation(invited=campaign.terms.invited, reports_a_minute=self._reports_a_minute)
        rounds = campaign.terms.rounds
        design = campaign.design if rounds is None else replace(campaign.design, floor=rounds.floor)
        return Tally.counted(design, kept, participation=participation)


def _parse(form: Form, batch: Sequence[object] | bytes) -> Batch:
    return packed_batch(form, batch) if isinstance(batch, bytes) else parsed_batch(form, batch)


def _design(
    stored: dict[str, Any], rows: Sequence[Any], wired: Sequence[Question], kept: Form | None
) -> CollectionDesign:
    """The design of all blocks: those that are known, and what the rows add."""
    asked = [] if kept is None else [*kept.design.questions]
    views = {} if kept is None else {(asked[view[0]].block, n): [*view] for n, view in enumerate(kept.design.views)}
    for row, question in zip(rows, wired, strict=True):
        views.setdefault((row.block, row.view), []).append(len(asked))
        channel = channel_of(question.channel, question.cells)
        names = tuple(json.loads(row.attributes))
        asked.append(Asked(attributes=names, channel=channel, share=row.share, block=row.block))
    return CollectionDesign(
        domain=Domain.from_dict(stored["domain"]),
        questions=tuple(asked),
        views=tuple(tuple(numbers) for numbers in views.values()),
        why=stored["why"],
        **stored["design"] | {"wanted": tuple(tuple(key) for key in stored["design"].get("wanted", ()))},
    )


def _block(campaign: Campaign) -> dict[str, Any]:
    pairs = zip(campaign.questions, campaign.design.questions, strict=True)
    held = [(question, asked) for question, asked in pairs if asked.block == campaign.block]
    found: dict[str, Any] = {"tacita": "block/1", "campaign": campaign.id, "block": campaign.block}
    found["questions"] = [question.to_dict() for question, _ in held]
    if campaign.design.first is not None:  # a second phase asks for other tables, in other shares
        found["tables"] = [{"attributes": list(asked.attributes), "share": asked.share} for _, asked in held]
    return found


def _adopted_phase(campaign: Campaign, exported: Mapping[str, Any]) -> list[Asked]:
    """Return the questions of the second phase; refuse what is not about this campaign's attributes and promise."""
    listed, tables, domain = exported.get("questions"), exported.get("tables"), campaign.design.domain
    whole = exported.get("tacita") == "block/1" and exported.get("campaign") == campaign.id and campaign.block == 1
    lists = isinstance(listed, list) and isinstance(tables, list) and len(listed) == len(tables) > 0
    if not whole or exported.get("block") != 2 or not lists:
        raise InvalidInput("must be block 2 of this campaign, as the first aggregator exports it", field="block")
    assert isinstance(listed, list)
    assert isinstance(tables, list)
    found = []
    for number, (data, table) in enumerate(zip(listed, tables, strict=True)):
        field = f"block.questions[{number}]"
        names, share = (table.get("attributes"), table.get("share")) if isinstance(table, dict) else (None, None)
        known = isinstance(names, list) and len({*map(str, names)} & {*domain.names}) == len(names) > 0
        if not known or isinstance(share, bool) or not isinstance(share, int | float) or not 0 < share <= 1:
            raise InvalidInput("must ask about attributes of this campaign, in shares", field=field)
        assert isinstance(names, list)
        question = Question.from_dict(data)
        asked = Asked(
            attributes=tuple(names), channel=channel_of(question.channel, question.cells), share=float(share), block=2
        )
        promise, aggregators = campaign.design.epsilon, campaign.terms.aggregators
        same = question == question_of(campaign.id, number, asked, domain, promise, aggregators)
        if not same or not isinstance(asked.channel, Channel):
            raise InvalidInput("must ask what this campaign asks", field=field)
        found.append(asked)
    replace(campaign.design, questions=tuple(found), views=())  # refuses shares that do not sum to 1, and repetitions
    return found


def _adopted(campaign: Campaign, exported: Mapping[str, Any]) -> list[Asked]:
    """Return the questions of the next block; refuse one that differs from this block in more than its channels."""
    block = campaign.block + 1
    mine = [asked for asked in campaign.design.questions if asked.block == campaign.block]
    listed = exported.get("questions")
    whole = exported.get("tacita") == "block/1" and exported.get("campaign") == campaign.id
    if not whole or exported.get("block") != block or not isinstance(listed, list) or len(listed) != len(mine):
        raise InvalidInput(f"must be block {block} of this campaign, as the first aggregator exports it", field="block")
    again = []
    for number, (asked, data) in enumerate(zip(mine, listed, strict=True)):
        question = Question.from_dict(data)
        channel = channel_of(question.channel, question.cells)
        moved = replace(asked, channel=channel, block=block)
        domain, promise = campaign.design.domain, campaign.design.promise(number)
        same = type(channel) is type(asked.channel) and question == question_of(
            campaign.id, number, moved, domain, promise, campaign.terms.aggregators
        )
        if not same:
            raise InvalidInput("must ask what this campaign asks", field=f"block.questions[{number}]")
        again.append(moved)
    return again


def _check_export(campaign: Campaign, exported: Mapping[str, Any]) -> dict[str, NDArray[np.int64]]:
    try:
        return _exported_counts(campaign, exported)
    except (KeyError, TypeError, ValueError, AttributeError):
        raise InvalidInput("must be a tally as another aggregator exports it", field="tally") from None


def _exported_counts(campaign: Campaign, exported: Mapping[str, Any]) -> dict[str, NDArray[np.int64]]:
    wanted = {"tacita", "campaign", "questions", "counts", "received", "reports"}
    if set(exported) != wanted or exported["tacita"] != "tally/1":
        raise ValueError
    known = {question.question: question.digest for question in campaign.questions}
    if exported["campaign"] != campaign.id or exported["questions"] != known:
        raise InvalidInput("must be of the same campaign with the same questions", field="tally")
    numbers = [*exported["received"].values(), *(number for found in exported["counts"].values() for number in found)]
    if not all(is_integer(number) for number in numbers):
        raise InvalidInput("must be whole numbers of 0 to 2**53 - 1", field="tally.counts")
    counts = {name: np.array(found, dtype=np.int64) for name, found in exported["counts"].items()}
    received = {name: times for name, times in exported["received"].items() if times}
    if set(counts) != set(received) or not set(counts) <= set(campaign.form.by_id):
        raise InvalidInput("must hold the counts of every question that was answered", field="tally.counts")
    for name, found in counts.items():
        channel = campaign.design.questions[campaign.form.by_id[name]].channel
        if respondents_of(channel, found) != received[name]:  # refuses what no channel tallies
            raise InvalidInput("must state how many reports were counted", field=f"tally.received.{name}")
    if sum(received.values()) != len(exported["reports"]) or not are_ids(exported["reports"]):
        raise InvalidInput("must hold as many ids as reports were counted", field="tally.reports")
    if campaign.terms.shard is not None:
        place, parts = campaign.terms.shard
        if any(shard_of(report, parts) == place for report in exported["reports"]):
            raise InvalidInput("must hold no reports that belong to this aggregator", field="tally.reports")
    return counts
