"""A released generator of headlines: its weights, its cost, headlines drawn from it, and how likely it holds others.

    draw    from the empty window of a topic: p_T(w) proportional to p(w)^(1/T), temperature T; the window moves by one
            word; until the end, or `length` words. `start` and `unknown` are never drawn.
    score   log2 p(headline) = sum over words and the end of log2 p(word | the window before it)

Drawing and scoring need no torch.

Privacy: post-processing of the training, which states the guarantee; `none` without private training.
         Claim: docs/claims/text.md
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tacita import check
from tacita.errors import InvalidInput
from tacita.synthesize.text.corpus import Headlines, RawHeadline
from tacita.synthesize.text.layers import KINDS, Array, Kind, numpy_arithmetic, run_layers, tag_logs
from tacita.synthesize.text.vocabulary import END, SPECIAL, START, TAGS, UNKNOWN, Vocabulary
from tacita.synthesize.text.windows import windows_of
from tacita.tables.envelope import Envelope

__all__ = ["HeadlineGenerator"]

_CHUNK = 512
_MOST = 1_000_000


@dataclass(frozen=True, kw_only=True, eq=False)
class HeadlineGenerator(Envelope):
    """A recurrent network that writes headlines of a topic.

    Attributes:
        kind: Name in `KINDS`.
        vocabulary: Words and topics.
        window: Words that a step sees.
        length: Words of a headline at most.
        weights: Arrays by name.
        notes: How it was trained.
    """

    mark: ClassVar[str] = "headline-generator/1"
    released: ClassVar[str] = "The generator and all headlines drawn from it are"

    kind: str
    vocabulary: Vocabulary
    window: int
    length: int
    weights: Mapping[str, Array] = field(repr=False)
    notes: Mapping[str, Any]

    def __post_init__(self) -> None:
        check.one_of(self.kind, "kind", KINDS)
        if not all(np.isfinite(weight).all() for weight in self.weights.values()):
            raise InvalidInput("must be finite", field="weights")

    @property
    def network(self) -> Kind:
        """Cell and inputs."""
        return KINDS[self.kind]

    # -- drawing ---------------------------------------------------------------------------------------------------

    def generate(
        self,
        count: int,
        topic: str,
        rng: np.random.Generator,
        *,
        temperature: float = 0.4,
        seed: Sequence[str] = (),
    ) -> list[RawHeadline]:
        """Draw headlines of a topic.

        Args:
            count: Number of headlines.
            topic: A topic of the vocabulary; the baseline ignores it.
            rng: Randomness of drawing.
            temperature: Below 1 likely words get likelier.
            seed: First words. They must be public: taken from a private headline they would reveal it.
        """
        check.whole(count, "count", least=0, most=_MOST)
        check.positive(temperature, "temperature")
        code = self.vocabulary.topic_code(topic)
        known = self.vocabulary.encode(seed)
        if UNKNOWN in known or len(known) >= self.length:
            rule = f"must be fewer than {self.length} words of the vocabulary"
            raise InvalidInput(rule, field="seed", value=" ".join(seed))
        found: list[RawHeadline] = []
        for start in range(0, count, _CHUNK):
            found += self._draw(min(_CHUNK, count - start), code, rng, temperature, known)
        return found

    def _draw(
        self, count: int, topic: int, rng: np.random.Generator, temperature: float, seed: Sequence[int]
    ) -> list[RawHeadline]:
        words = np.zeros((count, self.window + self.length), np.int64)
        words[:, : self.window] = START
        tags = words.copy()
        words[:, self.window : self.window + len(seed)] = seed
        topics, active = np.full(count, topic), np.ones(count, bool)
        for at in range(self.length):
            here = slice(at, at + self.window)
            by_word, tag_scores = self._last(words[active, here], tags[active, here], topics[active])
            drawn = _sample(by_word, temperature, rng, (START, UNKNOWN))
            if at < len(seed):
                drawn[:] = seed[at]
            words[active, at + self.window] = drawn
            if tag_scores is not None:
                by_tag = tag_logs(self.weights, tag_scores, drawn, numpy_arithmetic())
                given = _sample(by_tag, temperature, rng, (START, END))
                tags[active, at + self.window] = np.where(drawn == END, END, given)
            active[active] = drawn != END
            if not active.any():
                break
        texts = [tuple(self.vocabulary.decode(row)) for row in words[:, self.window :]]
        named = [_tag_names(row[: len(text)]) for row, text in zip(tags[:, self.window :], texts, strict=True)]
        name = self.vocabulary.topics[topic]
        has_tags = self.network.tags
        return [RawHeadline(text, name, tag if has_tags else ()) for text, tag in zip(texts, named, strict=True)]

    # -- scoring ---------------------------------------------------------------------------------------------------

    def log2_likelihoods(self, headlines: Headlines) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Log2-probability of the words of each headline with its end, and their number."""
        if headlines.vocabulary.digest != self.vocabulary.digest:
            raise InvalidInput("must have the vocabulary of the generator", field="headlines")
        scores, numbers = np.empty(len(headlines)), np.empty(len(headlines), np.int64)
        for start in range(0, len(headlines), _CHUNK):
            part = windows_of(headlines.take(slice(start, start + _CHUNK)).trimmed(), self.window)
            by_word, _ = self._last(part.words, part.tags, part.topics)
            gained = np.take_along_axis(by_word, part.next_words[..., -1:], axis=-1)[..., 0] * part.counts[..., -1]
            scores[start : start + _CHUNK] = gained.sum(axis=1, dtype=np.float64) / np.log(2)
            numbers[start : start + _CHUNK] = part.counts[..., -1].sum(axis=1)
        return scores, numbers

    def _last(self, words: Any, tags: Any, topics: Any) -> tuple[Any, Any]:
        """Log-probabilities of the word after each window, and scores of its tag."""
        return run_layers(self.network, self.weights, words, tags, topics, numpy_arithmetic(), last=True)[-1]

    # -- plain data ------------------------------------------------------------------------------------------------

    def parts(self) -> dict[str, Any]:
        """Own fields; weights as base64 of little-endian single-precision floats."""
        return {
            "guarantee": self.guarantee,
            "statement": self.statement(),
            "kind": self.kind,
            "vocabulary": self.vocabulary.as_dict(),
            "window": self.window,
            "length": self.length,
            "weights": {
                name: {"shape": list(weight.shape), "values": base64.b64encode(_bytes(weight)).decode("ascii")}
                for name, weight in self.weights.items()
            },
            "notes": dict(self.notes),
        }

    @staticmethod
    def parts_of(data: Mapping[str, Any]) -> dict[str, Any]:
        """The same as arguments again."""
        return {
            "kind": data["kind"],
            "vocabulary": Vocabulary.from_dict(data["vocabulary"]),
            "window": data["window"],
            "length": data["length"],
            "weights": {
                name: np.frombuffer(base64.b64decode(each["values"]), "<f4").astype(np.float32).reshape(each["shape"])
                for name, each in data["weights"].items()
            },
            "notes": data["notes"],
        }


def _bytes(weight: Array) -> bytes:
    return np.ascontiguousarray(weight, "<f4").tobytes()


def _sample(
    logs: NDArray[Any], temperature: float, rng: np.random.Generator, never: Sequence[int]
) -> NDArray[np.int64]:
    """Draw a code of each row by Gumbel noise: the largest of log p / T + noise has probability p^(1/T) / sum."""
    scaled = logs.astype(np.float64) / temperature
    scaled[:, list(never)] = -np.inf
    return np.asarray((scaled + rng.gumbel(size=scaled.shape)).argmax(axis=1))


def _tag_names(codes: Sequence[int]) -> tuple[str, ...]:
    return tuple(TAGS[code - SPECIAL] if code >= SPECIAL else "SYM" for code in codes)
