"""Tallies of an aggregator: how often each cell was supported, for every question. Tallies of disjoint people add up.

The respondents' side (`respond`) and the aggregator's side (`Tally.add`) are two functions; only reports pass from one
to the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacita.collect.analysis.poisoning import influence
from tacita.collect.channels.frequencies import FrequencyEstimate
from tacita.collect.channels.protocol import About, MarginRandomizer, Randomizer, respondents_of, traits_of
from tacita.collect.estimating.pooling import pool_blocks
from tacita.collect.planning.design import UNIT, Asked, CollectionDesign
from tacita.domain import Domain
from tacita.engines.base import Engine
from tacita.errors import InvalidInput
from tacita.noise import SeededSource, Source
from tacita.privacy.event import Pure
from tacita.privacy.unit import Neighbours
from tacita.tables.cells import Cells
from tacita.tables.release import Provenance, Release, Releases, new_run
from tacita.tables.uncertainty import Binomial, Correlated

__all__ = ["Participation", "Reports", "Tally", "respond", "simulate"]

Array = NDArray[Any]


@dataclass(frozen=True, kw_only=True)
class Participation:
    """Rules for senders of reports, which bound the influence of one sender on a table.

    Args:
        invited: Whether a report needs a one-time token. Otherwise the campaign is open: the influence of one sender
            is not bounded, because two of their reports look like those of two persons.
        reports_a_minute: Most reports that one address may send to an open campaign; None where there is no limit.
    """

    invited: bool
    reports_a_minute: int | None = None

    def influence(self, counted: Sequence[tuple[Randomizer, int]]) -> dict[str, Any]:
        """Compute how far one sender can move a share of a table, as plain data.

        m further reports beside n move an estimate that is linear in its counts as far as replacing m of n + m: by
        m / ((n + m) slope) at most. Where blocks are pooled, no more than in the block that moves furthest.

        Args:
            counted: Each channel that the table was asked through, with the reports that were counted.
        """

        def moved(further: int) -> float:
            return max(influence(channel, n + further).share(further) for channel, n in counted)

        if self.invited:
            return {"participation": "invited", "one_sender": moved(1), "one_report": moved(1)}
        minute = self.reports_a_minute
        return {
            "participation": "open",
            "one_sender": None,  # not bounded
            "one_report": moved(1),
            "reports_a_minute": minute,
            "one_minute": None if minute is None else moved(minute),
        }


@dataclass(frozen=True)
class Reports:
    """Reports by the number of their question, and whether they were drawn from a seed."""

    by_question: Mapping[int, Array]
    simulated: bool


def joint_codes(domain: Domain, asked: Asked, codes: Mapping[str, Array], source: Source) -> Array:
    """Return the cell of each person in the table of a question.

    Respondents whose value is out of domain report a uniformly random cell; not answering would reveal it.
    """
    shape = tuple(domain[name].size for name in asked.attributes)
    columns = [np.asarray(codes[name]).astype(np.int64) for name in asked.attributes]
    placed = np.logical_and.reduce([column < size for column, size in zip(columns, shape, strict=True)])
    cells = np.ravel_multi_index([np.where(placed, column, 0) for column in columns], shape)
    die = (source.words(len(cells)) % np.uint64(asked.channel.levels)).astype(np.int64)
    return np.where(placed, cells, die)


def respond(
    design: CollectionDesign, codes: Mapping[str, Array], source: Source, *, seed: int, block: int = 1
) -> Reports:
    """Return the reports of these people's devices: each gets one random view and randomises its own answers.

    The number of reports of a question depends on this assignment alone, not on the true answers.

    Args:
        design: The public design.
        codes: True codes of every attribute, one row for each person. They are not part of the result.
        source: Randomness of the channels.
        seed: Of the assignment, which is public; it must not have been used to simulate the people.
        block: Whose questions are asked.
    """
    people = len(next(iter(codes.values())))
    views = design.view_shares(block)
    lot = np.random.default_rng(seed).choice(len(views), size=people, p=np.array(list(views.values())))
    reports = {}
    for drawn, view in enumerate(views):
        chosen = lot == drawn
        for number in view if chosen.any() else ():
            asked = design.questions[number]
            own = {name: codes[name][chosen] for name in asked.attributes}
            reports[number] = asked.channel.randomize(joint_codes(design.domain, asked, own, source), source)
    return Reports(reports, source.simulated)


class Tally:
    """Supports and numbers of reports of every question of a design."""

    def __init__(
        self, design: CollectionDesign, *, simulated: bool = False, participation: Participation | None = None
    ) -> None:
        self.design, self.simulated, self.participation = design, simulated, participation
        self._counts: dict[int, NDArray[np.int64]] = {}

    def add(self, reports: Reports) -> Tally:
        """Count some reports, all of them or none; they need not be kept."""
        questions = self.design.questions
        for number in reports.by_question:
            if not 0 <= number < len(questions):
                raise InvalidInput(f"must be 0 to {len(questions) - 1}", field="question", value=number)
        counted = {number: questions[number].channel.tally(batch) for number, batch in reports.by_question.items()}
        self._join(counted, simulated=reports.simulated)
        return self

    def _join(self, counted: Mapping[int, NDArray[np.int64]], *, simulated: bool) -> None:
        for number, counts in counted.items():
            self._counts[number] = self._counts.get(number, np.zeros_like(counts)) + counts
        self.simulated = self.simulated or simulated

    def of_block(self, block: int) -> Tally:
        """The counts of one block."""
        asked = self.design.questions
        held = {number: counts for number, counts in self._counts.items() if asked[number].block == block}
        return Tally.counted(self.design, held, simulated=self.simulated, participation=self.participation)

    def continued(self, design: CollectionDesign) -> Tally:
        """The same counts in a design with further questions."""
        if design.questions[: len(self.design.questions)] != self.design.questions:
            raise InvalidInput("must begin with the questions that were asked", field="design")
        return Tally.counted(design, self._counts, simulated=self.simulated, participation=self.participation)

    def merge(self, other: Tally) -> Tally:
        """The tally of both aggregators' people."""
        if other.design is not self.design and other.design != self.design:
            raise InvalidInput("must be of the same design", field="tally")
        merged = Tally(self.design, participation=self.participation)
        for part in (self, other):
            merged._join(part._counts, simulated=part.simulated)
        return merged

    @classmethod
    def counted(
        cls,
        design: CollectionDesign,
        counts: Mapping[int, NDArray[np.int64]],
        *,
        simulated: bool = False,
        participation: Participation | None = None,
    ) -> Tally:
        """A tally of what was counted elsewhere, by the numbers of the questions."""
        tally = cls(design, participation=participation)
        tally._join(counts, simulated=simulated)
        return tally

    def __iter__(self) -> Iterator[tuple[Asked, NDArray[np.int64]]]:
        """Questions about tables, with their counts."""
        return (pair for pair in self.questions() if not (pair[0].asks_mean or pair[0].asks_margins))

    def questions(self) -> Iterator[tuple[Asked, NDArray[np.int64]]]:
        """All questions that someone has answered, with their counts; those about means too."""
        for number in sorted(self._counts):
            yield self.design.questions[number], self._counts[number]

    def __bool__(self) -> bool:
        return bool(self._counts)

    def counts(self, number: int) -> NDArray[np.int64] | None:
        """Return the counts of one question, or None if no one answered it."""
        return self._counts.get(number)

    def releases(
        self, about: About = "population", *, at: Mapping[tuple[str, ...], NDArray[np.float64]] | None = None
    ) -> Releases:
        """Unbiased shares of every table that was asked; tables may disagree. Blocks of one table are pooled.

        Args:
            about: The population. About the respondents themselves only where there is one question: otherwise each
                was answered by a random part of them.
            at: Tables at which covariances are evaluated, by their attributes; the estimates themselves by default.
        """
        if about == "respondents" and len(self.design.views) > 1:
            hint = "Each question was answered by a random part of them"
            raise InvalidInput("must be the population where several questions are asked", field="about", hint=hint)
        blocks: dict[tuple[str, ...], list[int]] = {}
        for number in sorted(self._counts):
            asked = self.design.questions[number]
            if not (asked.asks_mean or asked.asks_margins):
                blocks.setdefault(asked.attributes, []).append(number)
        margins = self._margins(about)
        if self._counts and not blocks and not margins:
            hint = "Look at its means"
            raise InvalidInput("asks for means only: there is no table", field="tables", hint=hint)
        # A device answers one sheet of a campaign and refuses others: all tables together cost what one view does.
        run = new_run()
        made = [self._release(numbers, about, run, (at or {}).get(key)) for key, numbers in blocks.items()]
        return Releases(made + margins)

    def _margins(self, about: About) -> list[Release]:
        """Wanted tables, and single attributes, of questions that estimate margins; their errors are correlated."""
        found = []
        for number in sorted(self._counts):
            asked = self.design.questions[number]
            if not isinstance(asked.channel, MarginRandomizer):
                continue
            if about != "population":
                raise InvalidInput("must be the population: each set was answered by some", field="about", value=about)
            held = [key for key in self.design.wanted if set(key) <= set(asked.attributes)]
            for key in dict.fromkeys([*held, *((name,) for name in asked.attributes)]):
                places = [asked.attributes.index(name) for name in key]
                found.append(self._margin(number, key, asked.channel.margin(self._counts[number], places)))
        return found

    def _margin(self, number: int, key: tuple[str, ...], found: FrequencyEstimate) -> Release:
        asked, domain = self.design.questions[number], self.design.domain.project(key)
        recipe: dict[str, Any] = {
            "method": "collection",
            "channel": type(asked.channel).__name__,
            "respondents": found.respondents,
            "blocks": 1,
            "sheets": 1,
            "about": found.about,
        } | self._series()
        if self.participation is not None:
            reports = respondents_of(asked.channel, self._counts[number])
            recipe |= {"influence": self.participation.influence([(asked.channel, reports)])}
        return Release(
            estimate=Cells(domain, np.asarray(found.frequencies).reshape(domain.shape)),
            quantity="share",
            uncertainty=Correlated(covariance=found.uncertainty),
            event=Pure(epsilon=self.design.loss(self.design.view_of[number])),
            unit=UNIT,
            neighbours=Neighbours.REPLACE_ONE,
            trust="local",
            provenance=Provenance(recipe=recipe, simulated=self.simulated, run=new_run()),
        )

    def _series(self) -> dict[str, Any]:
        """Loss of a device in all waves, where the campaign is a wave of a series, for a recipe."""
        design = self.design
        if design.waves == 1:
            return {}
        return {"waves": design.waves, "turns": design.turns, "epsilon_series": design.epsilon_series}

    def _release(self, numbers: list[int], about: About, run: str, at: NDArray[np.float64] | None) -> Release:
        asked = [self.design.questions[number] for number in numbers]
        domain = self.design.domain.project(asked[0].attributes)
        shares = None if at is None else at.reshape(-1)
        counts = [self._counts[number] for number in numbers]
        first = self.design.first
        planned = None if first is None else [first if q.block == 1 else 1 - first for q in asked]
        found = pool_blocks([q.oracle for q in asked], counts, about=about, at=shares, planned=planned)
        binomial = None
        if found.binomial and about == "population":  # each report is one draw of the population through the channel
            one_cell = traits_of(asked[0].channel).sends_cell
            offset = np.asarray(found.offset)
            binomial = Binomial(trials=found.respondents, slope=found.slope, offset=offset, sums=one_cell)
        recipe: dict[str, Any] = {
            "method": "collection",
            "channel": type(asked[0].channel).__name__,
            "respondents": found.respondents,
            "blocks": len(asked),
            "sheets": 1,  # that one device answers, whatever it is offered
            "about": about,
        } | self._series()
        if self.participation is not None:
            reports = [
                respondents_of(q.channel, self._counts[number]) for q, number in zip(asked, numbers, strict=True)
            ]
            counted = list(zip((q.channel for q in asked), reports, strict=True))
            recipe |= {"influence": self.participation.influence(counted)}
        # a respondent answers a whole view: the release states the loss of all its questions
        cost = max(self.design.loss(self.design.view_of[number]) for number in numbers)
        return Release(
            estimate=Cells(domain, np.asarray(found.frequencies).reshape(domain.shape)),
            quantity="share",
            uncertainty=Correlated(covariance=found.uncertainty, binomial=binomial),
            event=Pure(epsilon=cost),
            unit=UNIT,
            neighbours=Neighbours.REPLACE_ONE,
            trust="local",
            provenance=Provenance(recipe=recipe, simulated=self.simulated, run=run),
        )


def simulate(design: CollectionDesign, engine: Engine, source: SeededSource) -> Tally:
    """Run a whole collection over the rows of an engine, as if each were a respondent. For planning and studies."""
    UNIT.check(engine.domain)
    names = sorted({name for asked in design.questions for name in asked.attributes})
    tally = Tally(design)
    for batch in engine.rows(names):
        codes = engine.domain.encode(batch, names)
        tally.add(respond(design, codes, source, seed=int(source.words(1)[0])))
    return tally
