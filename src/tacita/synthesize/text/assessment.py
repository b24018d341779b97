"""All figures about a generator of headlines: six measures, copies of training headlines, exposure of canaries.

    copies   a share of generated headlines occurs whole in training headlines. Short headlines do so by chance too: the
             same share is measured for as many held-out headlines, which the training has not seen. Only a share above
             that of the held-out ones is memorised.

Privacy: none: figures come from exact headlines, for the owner.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacita import check
from tacita.common.plain import plain_fields
from tacita.errors import InvalidInput
from tacita.synthesize.text.canaries import Canary, exposure
from tacita.synthesize.text.corpus import Headlines, RawHeadline
from tacita.synthesize.text.matching import match_headlines
from tacita.synthesize.text.metrics import TagGrammar, TopicClassifier, bleu, perplexity, repeated_words
from tacita.synthesize.text.released import HeadlineGenerator

__all__ = ["Exposure", "TextAssessment", "assess_headlines"]


@dataclass(frozen=True, kw_only=True)
class Exposure:
    """Exposure of one canary: copies, bits, and the most bits it could have."""

    copies: int
    bits: float
    most: float


@dataclass(frozen=True, kw_only=True)
class TextAssessment:
    """Figures of one generator. Exact, hence for the owner.

    Attributes:
        kind: Kind of the generator.
        headlines: Number of generated headlines.
        perplexity: Of held-out headlines.
        coherence: Share assigned to the topic asked for; None for the baseline, which ignores it.
        classifier_accuracy: Of the classifier, on headlines that it has not seen.
        bleu: Against the training headlines of the topic.
        novelty: Mean number of different longest common sequences.
        grammatical, grammatical_held, grammatical_shuffled: Share of accepted headlines: generated; held-out; held-out
            with their words shuffled.
        repetitions: Generated headlines that repeat more than two words; `longest_repetition` is the worst.
        longest_match: Mean words of the longest sequence shared with a training headline.
        copied, copied_held: Share of generated headlines that occur whole in training headlines; in held-out ones,
            which are equally many.
        exposures: Of canaries.
    """

    kind: str
    headlines: int
    perplexity: float
    coherence: float | None
    classifier_accuracy: float
    bleu: float
    novelty: float
    grammatical: float
    grammatical_held: float
    grammatical_shuffled: float
    repetitions: int
    longest_repetition: int
    longest_match: float
    copied: float
    copied_held: float
    exposures: tuple[Exposure, ...] = ()

    guarantee = "none"

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        plain = plain_fields(self) | {"exposures": [plain_fields(each) for each in self.exposures]}
        finite = {
            name: None if isinstance(value, float) and not math.isfinite(value) else value
            for name, value in plain.items()
        }
        return {"tacita": "text-assessment/1", "guarantee": self.guarantee} | finite

    def to_json(self) -> str:
        """All of it as JSON text."""
        return json.dumps(self.as_dict(), allow_nan=False)


def assess_headlines(
    generator: HeadlineGenerator,
    training: Headlines,
    held: Headlines,
    rng: np.random.Generator,
    *,
    per_topic: int = 100,
    temperature: float = 0.4,
    canaries: Sequence[Canary] = (),
) -> TextAssessment:
    """Generate headlines of every topic, and measure them.

    Args:
        generator: A generator.
        training: Tagged headlines that it was trained on.
        held: Tagged headlines that it has not seen, from the same source.
        rng: Draws headlines and splits.
        per_topic: Headlines of each topic.
        temperature: Of drawing.
        canaries: Planted ones, and controls.
    """
    check.whole(per_topic, "per_topic", least=1, most=100_000)
    if not len(training) or not len(held):
        raise InvalidInput("needs training and held-out headlines", field="headlines")
    vocabulary = generator.vocabulary
    drawn: list[RawHeadline] = []
    for topic in vocabulary.topics:
        drawn += generator.generate(per_topic, topic, rng, temperature=temperature)
    words = _codes(drawn, generator)
    topics = np.repeat(np.arange(len(vocabulary.topics)), per_topic)
    classifier, grammar = TopicClassifier.fit(training, rng), TagGrammar(training)
    equal = min(len(training), len(held))
    matches = match_headlines(words, training.words)
    copied, chance = (
        match_headlines(words, part.take(rng.permutation(len(part))[:equal]).words).copied for part in (training, held)
    )
    references = {
        code: [_within(row) for row in training.words[training.topics == code]] for code in np.unique(training.topics)
    }
    asked = [(_within(row), code) for row, code in zip(words, topics, strict=True) if code in references]
    repeated = [repeated_words(_within(row)) for row in words]
    return TextAssessment(
        kind=generator.kind,
        headlines=len(words),
        perplexity=perplexity(generator, held),
        coherence=classifier.coherence(words, topics) if generator.network.topic else None,
        classifier_accuracy=classifier.accuracy,
        bleu=bleu(asked, references),
        novelty=float(matches.novelty.mean()),
        grammatical=grammar.share(words),
        grammatical_held=grammar.share(held.words),
        grammatical_shuffled=grammar.share([_shuffled(row, rng) for row in held.words]),
        repetitions=sum(each > 2 for each in repeated),
        longest_repetition=max(repeated),
        longest_match=float(matches.longest.mean()),
        copied=copied,
        copied_held=chance,
        exposures=tuple(
            Exposure(copies=each.copies, bits=exposure(generator, each), most=math.log2(each.size)) for each in canaries
        ),
    )


def _codes(drawn: Sequence[RawHeadline], generator: HeadlineGenerator) -> Any:
    words = np.zeros((len(drawn), generator.length), np.int32)
    for at, each in enumerate(drawn):
        words[at, : len(each.words)] = generator.vocabulary.encode(each.words)
    return words


def _within(row: Any) -> list[int]:
    return [int(code) for code in row if code]


def _shuffled(row: Any, rng: np.random.Generator) -> Any:
    inside = rng.permutation(row[row != 0])
    return np.concatenate([inside, np.zeros(len(row) - len(inside), row.dtype)])
