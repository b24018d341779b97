"""The design of a collection: which combinations are asked, through which channel, of how many.

Either every respondent answers one question with the whole epsilon, or all questions of one *view* with a share of it
each. The first is the default: splitting was measured to be worse at every epsilon that anyone would promise, because
the variance of an answer grows faster than the number of answers. `compare_budgets` computes both, so that you can
check it.

A collection in rounds asks the same combinations again in every *block*, each time through another channel.

Shares of the respondents: the error of a table, summed over its cells, is about c / sqrt(n) with c = sqrt(cells *
directions * v), where v is the variance of one report and `directions` is the number of directions in which noise is
left after the table has been shrunk to low rank. Minimising the sum over tables gives shares proportional to c^(2/3).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tacita.collect.channels.oracles import best_oracle
from tacita.collect.channels.protocol import Channel, MarginRandomizer, MeanRandomizer, Randomizer
from tacita.collect.device.channels import Penalty
from tacita.domain import Domain
from tacita.errors import InvalidInput
from tacita.privacy.unit import Unit

__all__ = ["Asked", "CollectionDesign", "Prediction", "ask", "best_for", "compare_budgets", "scaled"]

Mode = Literal["singles", "tables"]
Oracle = Callable[[Domain, float, int], Randomizer]
"""Gives the channel for the table over a domain, an epsilon, and so many answers."""

UNIT = Unit.row()
"""Who is protected: one answer. Where a person has many rows, rows are not people, and a design is refused."""
FEWEST = 50
"""Fewer answers than this to a question are not worth asking for."""
LEAST_FIRST = 0.05
"""Least share of the respondents in either of two phases."""
SINGLES_SHARE = 0.2
"""Share of respondents who are asked one attribute, when tables are asked: margins come cheap and help every table."""


@dataclass(frozen=True, kw_only=True)
class Asked:
    """One question: a combination of attributes, its channel, and which share of a block's respondents gets it."""

    attributes: tuple[str, ...]
    channel: Randomizer
    share: float
    block: int = 1

    @property
    def asks_mean(self) -> bool:
        """Whether its reports estimate a mean, and no table."""
        return isinstance(self.channel, MeanRandomizer)

    @property
    def asks_margins(self) -> bool:
        """Whether its reports estimate tables over a few of its attributes, and not the table over all."""
        return isinstance(self.channel, MarginRandomizer)

    @property
    def oracle(self) -> Channel:
        """The channel, of a question whose reports estimate its table."""
        if not isinstance(self.channel, Channel):
            rule = "is asked for its mean or for margins: its reports do not estimate its table"
            raise InvalidInput(rule, field="attributes", value=" x ".join(self.attributes))
        return self.channel


@dataclass(frozen=True, kw_only=True)
class Prediction:
    """Predicted error of a table, as total variation distance, before anyone is asked.

    Of a question about a mean (`mean` is true): the standard error as a share of the range of the number. Of a
    question about margins: the error of its largest tables.
    """

    attributes: tuple[str, ...]
    raw: float
    published: float
    mean: bool = False

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "attributes": list(self.attributes),
            "raw": self.raw,
            "published": self.published,
            "mean": self.mean,
        }


@dataclass(frozen=True, kw_only=True)
class CollectionDesign:
    """Questions of a collection, and the share of the respondents for each. Public: it is sent to every device.

    Args:
        domain: The attributes.
        questions: All questions, of all blocks.
        epsilon: The budget of each respondent.
        respondents: The expected number of respondents.
        mode: Whether tables or only single attributes are asked.
        views: Numbers of the questions that one respondent answers together; each question alone if not given.
        why: The reason for this design.
        rehearsed: The error that a rehearsal had.
        wanted: The tables that the owner asked for; all questions, if empty. Others are asked because they help.
        waves: Number of waves of a series in which the same questions are asked; 1 for a campaign that stands alone.
            Epsilon and respondents are those of one wave.
        turns: Number of the waves in which each respondent answers, by lot.
        first: In two phases, the share of the respondents who are asked the questions of block 1; those of block 2
            follow from their reports (`phases`). None where there is one phase.
        floor: Where the channels of later blocks follow the tables learnt so far: the share of fakes that stays
            uniform, or of randomized response in a matrix.
        penalty: Cost of reporting one cell for another, for matrices that are fitted to it.
    """

    domain: Domain = field(repr=False)
    questions: tuple[Asked, ...]
    epsilon: float
    respondents: int
    mode: Mode
    views: tuple[tuple[int, ...], ...] = ()
    why: str = ""
    rehearsed: float | None = None
    floor: float | None = None
    penalty: Penalty = "distance"
    wanted: tuple[tuple[str, ...], ...] = ()
    first: float | None = None
    waves: int = 1
    turns: int = 1

    def __post_init__(self) -> None:
        if self.first is not None and not LEAST_FIRST <= self.first <= 1 - LEAST_FIRST:
            rule = f"must be {LEAST_FIRST:g} to {1 - LEAST_FIRST:g} of the respondents"
            raise InvalidInput(rule, field="first", value=self.first)
        if not self.views:
            object.__setattr__(self, "views", tuple((number,) for number in range(len(self.questions))))
        self._check_views()
        for block in {question.block for question in self.questions}:
            total = sum(share for view, share in self.view_shares(block).items())
            if not math.isclose(total, 1.0, abs_tol=1e-9):
                raise InvalidInput("shares must sum to 1", field="questions", value=total)
        if len({(frozenset(q.attributes), q.block) for q in self.questions}) < len(self.questions):
            raise InvalidInput("ask about the same attributes twice", field="questions")
        UNIT.check(self.domain)

    def _check_views(self) -> None:
        if sorted(number for view in self.views for number in view) != list(range(len(self.questions))):
            raise InvalidInput("must hold each question once", field="views", value=self.views)
        for view in self.views:
            together = [self.questions[number] for number in view]
            if len({(question.share, question.block) for question in together}) > 1:
                raise InvalidInput("must hold questions of one share and block", field="views", value=view)
            names = [name for question in together for name in question.attributes]
            if len(set(names)) < len(names):  # two answers about one attribute reveal more than either
                raise InvalidInput("must not ask about an attribute twice", field="views", value=view)

    @property
    def epsilon_upper(self) -> float:
        """The most that answering costs: that of the dearest view, rounded outward."""
        return max(self.loss(view) for view in self.views)

    @property
    def epsilon_series(self) -> float:
        """Promise to a respondent over all waves: the loss of one wave for each turn."""
        return self.turns * max(self.epsilon, self.epsilon_upper)

    def loss(self, view: Sequence[int]) -> float:
        """Cost of answering all questions of a view: the sum, rounded outward."""
        losses = [self.questions[number].channel.epsilon_upper for number in view]
        return losses[0] if len(losses) == 1 else math.nextafter(math.fsum(losses), math.inf)

    def promise(self, number: int) -> float:
        """Largest loss of one question: epsilon, split evenly among the questions of its view."""
        return self.epsilon / len(self.view_of[number])

    @cached_property
    def view_of(self) -> dict[int, tuple[int, ...]]:
        """The view of each question."""
        return {number: view for view in self.views for number in view}

    def view_shares(self, block: int = 1) -> dict[tuple[int, ...], float]:
        """The views of a block, each with its share of the respondents."""
        shares = {view: self.questions[view[0]] for view in self.views}
        return {view: first.share for view, first in shares.items() if first.block == block}

    def expected(self, question: Asked) -> int:
        """Expected number of answers to a question."""
        return max(1, round(self.respondents * question.share))

    @property
    def first_respondents(self) -> int:
        """The number of respondents after whom the second phase begins."""
        return max(1, round(self.respondents * (self.first or 1.0)))

    def predict(self) -> tuple[Prediction, ...]:
        """Error of every table that is asked for directly."""
        return tuple(_predict(self.domain, q, self.expected(q)) for q in self.questions)

    def as_dict(self) -> dict[str, Any]:
        """The plan as plain data."""
        questions = [
            {
                "attributes": list(q.attributes),
                "channel": type(q.channel).__name__,
                "levels": q.channel.levels,
                "share": q.share,
                "expected": self.expected(q),
                "view": self.views.index(self.view_of[number]) + 1,
            }
            for number, q in enumerate(self.questions)
        ]
        return {
            "mode": self.mode,
            "answers": max(len(view) for view in self.views),
            "why": self.why,
            "rehearsed": self.rehearsed,
            "epsilon": self.epsilon,
            "epsilon_exact": self.epsilon_upper,
            "respondents": self.respondents,
            "phases": 1 if self.first is None else 2,
            "first": self.first,
            "waves": self.waves,
            "turns": self.turns,
            "epsilon_series": self.epsilon_series,
            "questions": questions,
            "predictions": [prediction.as_dict() for prediction in self.predict()],
        }


def _report_variance(channel: Channel) -> float:
    """Variance of one report about a rare cell."""
    even = np.full(channel.levels, 1 / channel.levels)
    return float(np.mean(channel.covariance(even, respondents=1, about="respondents").variance()))


def _even(channel: Randomizer) -> NDArray[np.float64]:
    return np.full(channel.levels, 1 / channel.levels)


def _cost(domain: Domain, attributes: Sequence[str], channel: Randomizer) -> float:
    """c of a question: its error is about c / sqrt(n)."""
    if isinstance(channel, MeanRandomizer):
        return math.sqrt(channel.variance(_even(channel)))
    assert isinstance(channel, Channel), "margins are asked by one question"
    return math.sqrt(channel.levels * min(channel.levels, _directions(domain, attributes)) * _report_variance(channel))


def _directions(domain: Domain, attributes: Sequence[str]) -> int:
    """Number of noise directions left after a table is shrunk to rank one: one for each free share of each margin."""
    return 1 + sum(domain[name].size - 1 for name in attributes)


def _predict(domain: Domain, asked: Asked, answers: int) -> Prediction:
    if isinstance(asked.channel, MeanRandomizer):
        error = math.sqrt(asked.channel.variance(_even(asked.channel)) / answers)
        return Prediction(attributes=asked.attributes, raw=error, published=error, mean=True)
    if isinstance(asked.channel, MarginRandomizer):
        order = asked.channel.order
        error = 0.5 * 2**order * math.sqrt(2 / math.pi * asked.channel.margin_variance(order) / answers)
        return Prediction(attributes=asked.attributes, raw=min(error, 1.0), published=min(error, 1.0))
    attributes, channel = asked.attributes, asked.oracle
    cells, variance = channel.levels, _report_variance(channel) / answers
    # E|x| = sqrt(2/pi) sd for normal noise; total variation is half of the sum of |x|, and never above 1
    raw = 0.5 * cells * math.sqrt(2 / math.pi * variance)
    kept = (
        min(cells, _directions(domain, attributes)) if len(attributes) <= 2 else cells
    )  # larger ones stay as they are
    published = 0.5 * math.sqrt(2 / math.pi * cells * kept * variance)
    return Prediction(attributes=attributes, raw=min(raw, 1.0), published=min(published, 1.0))


def ask(
    domain: Domain, keys: Sequence[tuple[str, ...]], epsilon: float, answers: int, *, oracle: Oracle | None = None
) -> list[Asked]:
    """Questions about these combinations, shared out so that the sum of their errors is smallest.

    Args:
        domain: The attributes. keys: The combinations. epsilon: Of each answer. answers: To all questions together.
        oracle: Gives the channel of each; the best one for its table by default.
    """
    oracle, each = oracle or best_for, max(answers // len(keys), 1)
    if oracle is best_for:  # it looks at the number of cells alone: the same for many tables
        known = {cells: best_oracle(cells, epsilon, each) for cells in {domain.project(key).size for key in keys}}
        channels: list[Randomizer] = [known[domain.project(key).size] for key in keys]
    else:
        channels = [oracle(domain.project(key), epsilon, each) for key in keys]
    prices: dict[tuple[int, int, int], float] = {}
    for key, channel in zip(keys, channels, strict=True):
        kind = id(channel), channel.levels, _directions(domain, key)
        if kind not in prices:
            prices[kind] = _cost(domain, key, channel)
    costs = [prices[id(c), c.levels, _directions(domain, key)] for key, c in zip(keys, channels, strict=True)]
    weights = np.array(costs) ** (2 / 3)
    return [
        Asked(attributes=tuple(key), channel=channel, share=float(weight))
        for key, channel, weight in zip(keys, channels, weights / weights.sum(), strict=True)
    ]


def best_for(table: Domain, epsilon: float, answers: int) -> Channel:
    """The frequency oracle with the least predicted variance for a table."""
    return best_oracle(table.size, epsilon, answers)


def scaled(questions: Sequence[Asked], factor: float) -> list[Asked]:
    """The same questions for a part of the respondents."""
    return [Asked(attributes=q.attributes, channel=q.channel, share=q.share * factor) for q in questions]


def compare_budgets(levels: int, epsilon: float, respondents: int, answers: int) -> dict[str, float]:
    """Standard error of a cell: one answer out of `answers` with all of epsilon, or all of them with a share each."""
    one = best_oracle(levels, epsilon, respondents // answers)
    split = best_oracle(levels, epsilon / answers, respondents)
    return {
        "one question for each respondent": math.sqrt(_report_variance(one) / (respondents / answers)),
        "all questions with a share of epsilon": math.sqrt(_report_variance(split) / respondents),
    }
