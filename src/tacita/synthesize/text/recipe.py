"""Recipe of a generator of headlines: recipe, calibrate, run.

    words x, topic p, tags s -> embeddings -> LSTM or GRU -> next trigram, next tags       see `layers`, `windows`
    published sizes: 200, 200, 200 and 512, batch 32, dropout 0.5; the defaults here train in a minute on a processor

Two descriptions of the published network differ: recurrent encoders of words and of tags that are joined before the
heads, and one cell whose gates get word, tag and topic. This is the second, for which formulas are given. Headlines
end with a mark of their own, so they have up to 13 words rather than always 13.

Privacy:  with a budget: (epsilon, delta) under add-remove, for one headline, by `steps` steps of DP-SGD; words outside
          the public vocabulary are one `unknown`. Topics of headlines are trained on within the same steps.
          Without a budget: none, and every ledger refuses the event.   Claim: docs/claims/text.md
Utility:  noise costs much: read the figures of the guide before you choose an epsilon.   [Abadi et al. 2016]
Cost:     gradients are held headline by headline: weights x 8 bytes x at most 256.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, get_args

from tacita import check
from tacita.common.plain import plain_fields
from tacita.domain import Domain
from tacita.errors import InvalidInput
from tacita.models.neural.backend import check_installed
from tacita.models.neural.training import Steps
from tacita.noise import Source
from tacita.plans.recipe import CalibratedPlan
from tacita.privacy.accountant import check_sampled
from tacita.privacy.budget import Budget
from tacita.privacy.event import Event, NonPrivate
from tacita.privacy.unit import Neighbours, Unit
from tacita.synthesize.plan import generator
from tacita.synthesize.text.corpus import LENGTH, Headlines, HeadlineSource
from tacita.synthesize.text.layers import KINDS, Heads, Sizes, initial_weights
from tacita.synthesize.text.released import HeadlineGenerator
from tacita.synthesize.text.training import train_plainly, train_privately
from tacita.synthesize.text.vocabulary import Vocabulary
from tacita.tables.release import Provenance

__all__ = ["HeadlinePlan", "HeadlineRecipe"]

_REASON = "the network was trained on exact headlines without noise, and may repeat them"
_MOST_WEIGHTS = 1 << 24


@dataclass(frozen=True, kw_only=True)
class HeadlineRecipe:
    """A generator of headlines, without a budget.

    Args:
        kind: baseline, clstm, cgru, sclstm or scgru.
        words, tags, topics, hidden: Widths of embeddings and state.
        heads: "joined": the next tag is given the next word; "apart": as published. Only for kinds with tags.
        window: Words that a step sees.
        length: Words of a headline at most.
        learning_rate: Of Adam; 0.004 without a budget and 0.01 with one if not given.
        epochs, batch, dropout: Without a budget: passes at most; headlines of a step; dropout before the heads.
        stop_after, held: Without a budget: passes without gain before it stops; share of headlines that decide when.
        steps, sample, clip: With a budget: steps; headlines of a step on average; norm that gradients are clipped to.
        people: About how many headlines there are, where that is public: the rate of a step is sample / people.
    """

    kind: str = "sclstm"
    words: int = 32
    tags: int = 8
    topics: int = 8
    hidden: int = 64
    heads: Heads = "joined"
    window: int = 3
    length: int = LENGTH
    learning_rate: float | None = None
    epochs: int = 12
    batch: int = 32
    dropout: float = 0.1
    stop_after: int = 1
    held: float = 0.1
    steps: int = 200
    sample: int = 256
    clip: float = 1.0
    people: int = 4000

    def __post_init__(self) -> None:
        check.one_of(self.kind, "kind", KINDS)
        check.one_of(self.heads, "heads", get_args(Heads))
        for name, most in (("words", 4096), ("tags", 4096), ("topics", 4096), ("hidden", 4096), ("window", 20)):
            check.whole(getattr(self, name), name, least=1, most=most)
        check.whole(self.length, "length", least=4, most=100)
        for name in ("epochs", "batch", "steps", "sample", "people"):
            check.whole(getattr(self, name), name, least=1, most=1 << 31)
        check.whole(self.stop_after, "stop_after", least=0, most=1000)
        check.inside(self.held, "held", 0, 1)
        if not 0 <= self.dropout < 1:
            raise InvalidInput("must be at least 0 and below 1", field="dropout", value=self.dropout)
        check.positive(self.clip, "clip")
        if self.learning_rate is not None:
            check.positive(self.learning_rate, "learning_rate")

    @property
    def rate(self) -> float:
        """Chance of a headline to be in a private step."""
        return min(1.0, self.sample / self.people)

    @property
    def sizes(self) -> Sizes:
        """Widths."""
        return Sizes(words=self.words, tags=self.tags, topics=self.topics, hidden=self.hidden)

    def calibrate(
        self, vocabulary: Vocabulary, budget: Budget | None, *, unit: Unit, neighbours: Neighbours
    ) -> HeadlinePlan:
        """Fix the noise of the steps; reads no headlines. Without a budget the plan has no guarantee."""
        check_installed()
        size = vocabulary.size * (self.words + self.hidden)
        if size > _MOST_WEIGHTS:
            raise InvalidInput(f"may make {_MOST_WEIGHTS:,} weights at most", field="words", value=f"{size:,}")
        if unit != Unit.row():
            hint = "Keep one headline of each person, and use the unit row"
            raise InvalidInput("each headline is a unit of its own here", field="unit", value=str(unit), hint=hint)
        if budget is None:
            return HeadlinePlan(
                recipe=self, vocabulary=vocabulary, budget=None, unit=unit, neighbours=neighbours, law=None
            )
        check_sampled(neighbours)
        if not vocabulary.public:
            raise InvalidInput(
                "must be public: words that were read off private headlines reveal them",
                field="vocabulary",
                value=f"{len(vocabulary.words):,} words of the headlines",
                hint="Give a list of words that does not depend on the headlines, such as a dictionary",
            )
        law = Steps.calibrate(budget, steps=self.steps, rate=self.rate, clip=self.clip)
        return HeadlinePlan(
            recipe=self, vocabulary=vocabulary, budget=budget, unit=unit, neighbours=neighbours, law=law
        )

    def as_dict(self) -> dict[str, Any]:
        """The recipe as plain data."""
        return {"recipe": "headlines"} | plain_fields(self)


@dataclass(frozen=True, kw_only=True)
class HeadlinePlan(CalibratedPlan[HeadlineGenerator]):
    """A generator with its noise fixed, or with none. Reads no headlines until it runs."""

    answer = HeadlineGenerator

    recipe: HeadlineRecipe
    vocabulary: Vocabulary
    budget: Budget | None
    unit: Unit
    neighbours: Neighbours
    law: Steps | None

    @property
    def domain(self) -> Domain:
        """Schema; it names the vocabulary."""
        return self.vocabulary.domain

    @property
    def event(self) -> Event:
        """Cost of a run to each headline."""
        return NonPrivate(reason=_REASON) if self.law is None else self.law.event

    def parts(self) -> dict[str, Any]:
        """Own parts of the plain data."""
        return {"training": None if self.law is None else self.law.as_dict()}

    def as_dict(self) -> dict[str, Any]:
        """The plan as plain data; without a budget it has no cost that could be stated."""
        if self.budget is not None:
            return super().as_dict()  # type: ignore[misc]
        plain = {"recipe": self.recipe.as_dict(), "unit": str(self.unit), "neighbours": str(self.neighbours)}
        return plain | {"budget": None, "cost": None, "event": self.event.as_dict()} | self.parts()

    def run(self, engine: HeadlineSource, source: Source) -> HeadlineGenerator:
        """Train. Charge the event first: see `tacita.plans.session.Session`."""
        if engine.domain.fingerprint != self.domain.fingerprint:
            raise InvalidInput("must have the vocabulary that the plan was made for", field="headlines")
        return self.train(engine.headlines(), source)

    def train(self, headlines: Headlines, source: Source) -> HeadlineGenerator:
        """Train on these headlines; a session does so through `run`."""
        recipe = self.recipe
        kind, rng = KINDS[recipe.kind], generator(source)
        if headlines.length != recipe.length:
            rule = f"must be coded with the length {recipe.length}"
            raise InvalidInput(rule, field="length", value=headlines.length)
        weights = initial_weights(kind, recipe.sizes, self.vocabulary, rng, heads=recipe.heads)
        if self.law is None:
            weights = train_plainly(
                kind,
                weights,
                headlines,
                window=recipe.window,
                epochs=recipe.epochs,
                batch=recipe.batch,
                learning_rate=recipe.learning_rate or 0.004,
                dropout=recipe.dropout,
                stop_after=recipe.stop_after,
                held=recipe.held,
                rng=rng,
            )
        else:
            weights = train_privately(
                kind,
                weights,
                headlines,
                self.law,
                window=recipe.window,
                learning_rate=recipe.learning_rate or 0.01,
                expected=self.law.rate * recipe.people,
                source=source,
            )
        return HeadlineGenerator(
            kind=recipe.kind,
            vocabulary=self.vocabulary,
            window=recipe.window,
            length=recipe.length,
            weights=weights,
            notes={"training": "plain" if self.law is None else self.law.as_dict()},
            event=self.event,
            unit=self.unit,
            neighbours=self.neighbours,
            provenance=Provenance(recipe=recipe.as_dict(), simulated=source.simulated),
        )
