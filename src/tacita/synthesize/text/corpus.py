"""Headlines as codes, and as a source that a session reads.

    tokenize   lower case; whatever is no letter or digit separates words
    keep       headlines of more than 3 words, of a topic that the vocabulary lists; longer ones are cut to `length`

Each rule looks at one headline alone.

Privacy:  exact headlines, for training and for the owner. One headline is one unit: one person's record. Where a
          person or a story has several headlines, these are several units, and protection is weaker by that factor.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tacita import check
from tacita.domain import Domain
from tacita.errors import InvalidInput
from tacita.synthesize.text.vocabulary import END, SPECIAL, TAGS, UNKNOWN, Vocabulary

if TYPE_CHECKING:
    from tacita.synthesize.text.tagger import Tagger

__all__ = [
    "LEAST_WORDS",
    "LENGTH",
    "HeadlineSource",
    "Headlines",
    "RawHeadline",
]

LENGTH = 13
"""Words of a headline at most."""

LEAST_WORDS = 4
_TAG_CODES = {tag: code for code, tag in enumerate(TAGS, start=SPECIAL)}

Codes = NDArray[np.int32]


@dataclass(frozen=True)
class RawHeadline:
    """Words, topic and tags of one headline, before coding; no tags where none are known."""

    words: tuple[str, ...]
    topic: str
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, eq=False)
class Headlines:
    """Headlines as codes. Exact and private: it is not printed and cannot be stored as a release.

    Attributes:
        vocabulary: Words and topics.
        words: (headlines, length) codes, `END` after the last word.
        tags: Codes of the same shape; all `UNKNOWN` where the headlines have no tags.
        topics: Code of each headline's topic.
    """

    vocabulary: Vocabulary
    words: Codes = field(repr=False)
    tags: Codes = field(repr=False)
    topics: NDArray[np.int32] = field(repr=False)

    def __len__(self) -> int:
        return len(self.words)

    @property
    def length(self) -> int:
        """Words of a headline at most."""
        return int(self.words.shape[1])

    @property
    def tagged(self) -> bool:
        """Whether the words have tags."""
        return bool((self.tags >= SPECIAL).any())

    def take(self, chosen: Any) -> Headlines:
        """Some of the headlines."""
        return Headlines(
            vocabulary=self.vocabulary, words=self.words[chosen], tags=self.tags[chosen], topics=self.topics[chosen]
        )

    def trimmed(self) -> Headlines:
        """The same, without places that no headline fills."""
        longest = int((self.words != END).sum(axis=1).max(initial=0))
        return Headlines(
            vocabulary=self.vocabulary,
            words=self.words[:, :longest],
            tags=self.tags[:, :longest],
            topics=self.topics,
        )

    def split(self, share: float, rng: np.random.Generator) -> tuple[Headlines, Headlines]:
        """Split at random: the rest, and this share of the headlines, at least one each."""
        check.inside(share, "share", 0, 1)
        if len(self) < 2:
            raise InvalidInput("needs two headlines", field="headlines")
        order = rng.permutation(len(self))
        held = min(len(self) - 1, max(1, round(share * len(self))))
        return self.take(order[held:]), self.take(order[:held])

    def joined(self, other: Headlines) -> Headlines:
        """These headlines and others of the same vocabulary and length."""
        if other.vocabulary.digest != self.vocabulary.digest or other.length != self.length:
            raise InvalidInput("must have the same vocabulary and length", field="headlines")
        parts = {name: np.concatenate([getattr(self, name), getattr(other, name)]) for name in _ARRAYS}
        return Headlines(vocabulary=self.vocabulary, **parts)

    def texts(self) -> list[tuple[str, ...]]:
        """Words of each headline."""
        return [tuple(self.vocabulary.decode(row)) for row in self.words]

    @classmethod
    def encode(
        cls,
        raw: Iterable[RawHeadline],
        vocabulary: Vocabulary,
        *,
        length: int = LENGTH,
        tagger: Tagger | None = None,
    ) -> Headlines:
        """Code headlines, one by one; leave out those of fewer than 4 words or of a topic that is not listed.

        Args:
            raw: Headlines.
            vocabulary: Words and topics.
            length: Words that are kept of a headline.
            tagger: Gives tags to headlines that have not one for each word; without it their tags are unknown.
        """
        check.whole(length, "length", least=LEAST_WORDS, most=100)
        known = {topic: code for code, topic in enumerate(vocabulary.topics)}
        kept = [each for each in raw if len(each.words) >= LEAST_WORDS and each.topic in known]
        words = np.zeros((len(kept), length), np.int32)
        tags = np.zeros_like(words)
        for at, each in enumerate(kept):
            codes = vocabulary.encode(each.words[:length])
            words[at, : len(codes)] = codes
            named = each.tags
            if len(named) != len(each.words):  # not an error: it would reveal something of one headline
                named = tagger(each.words) if tagger else ("",) * len(each.words)
            tags[at, : len(codes)] = [_TAG_CODES.get(tag, UNKNOWN) for tag in named[:length]]
        topics = np.array([known[each.topic] for each in kept], np.int32)
        return cls(vocabulary=vocabulary, words=words, tags=tags, topics=topics)


_ARRAYS = ("words", "tags", "topics")


@dataclass(frozen=True, kw_only=True)
class HeadlineSource:
    """Headlines as a session reads them: a public vocabulary, and a function that reads data after the charge."""

    vocabulary: Vocabulary
    read: Callable[[], Headlines] = field(repr=False)

    @property
    def domain(self) -> Domain:
        """Schema; it names the vocabulary."""
        return self.vocabulary.domain

    def headlines(self) -> Headlines:
        """Read all headlines."""
        return self.read()

    @classmethod
    def of(cls, data: Headlines) -> HeadlineSource:
        """Headlines that are in memory."""
        return cls(vocabulary=data.vocabulary, read=lambda: data)

    @classmethod
    def reading(
        cls, raw: Callable[[], Iterable[RawHeadline]], vocabulary: Vocabulary, *, tagger: Tagger | None = None
    ) -> HeadlineSource:
        """Headlines that are still to be read.

        Args:
            raw: Reads them.
            vocabulary: Words and topics.
            tagger: Gives tags to headlines without them.
        """
        return cls(vocabulary=vocabulary, read=lambda: Headlines.encode(raw(), vocabulary, tagger=tagger))
