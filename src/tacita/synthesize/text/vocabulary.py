"""Public description of headlines: words, topics, part-of-speech tags, and the codes of each.

    code 0   end of a headline, and padding after it
    code 1   start: fills the window before the first word
    code 2   unknown: every word that is not listed; for tags, every tag that is not in `TAGS`

Privacy: a vocabulary that was read off private headlines reveals words of single people. `public` states whether the
         words were declared without reading the headlines; private training refuses a vocabulary that was not.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from tacita.common.whole import write_text
from tacita.domain import Categorical, Domain
from tacita.errors import InvalidInput

__all__ = ["END", "SPECIAL", "START", "TAGS", "UNKNOWN", "Vocabulary", "tokenize"]

END, START, UNKNOWN = 0, 1, 2
SPECIAL = 3
"""Number of codes that are no words."""

# fmt: off
TAGS = (
    "CC", "CD", "DT", "EX", "FW", "IN", "JJ", "JJR", "JJS", "LS", "MD", "NN",
    "NNS", "NNP", "NNPS", "PDT", "POS", "PRP", "PRP$", "RB", "RBR", "RBS", "RP", "SYM",
    "TO", "UH", "VB", "VBD", "VBG", "VBN", "VBP", "VBZ", "WDT", "WP", "WP$", "WRB",
)
# fmt: on
"""Tags of the Penn Treebank, without punctuation."""

_MARK = "headline-vocabulary/1"
_WORD = re.compile(r"[a-z0-9]+")
_MOST = 1 << 17


def tokenize(text: str) -> list[str]:
    """Split a headline into words of lower-case ASCII letters and digits; all other characters separate words.

    >>> tokenize("Fed's Evans: 2.5% is 'too low'")
    ['fed', 's', 'evans', '2', '5', 'is', 'too', 'low']
    """
    return _WORD.findall(text.lower())


@dataclass(frozen=True, kw_only=True)
class Vocabulary:
    """Words and topics of headlines.

    Args:
        words: Different words as `tokenize` makes them.
        topics: Different names.
        public: Whether words and topics were declared without reading private headlines.
    """

    words: tuple[str, ...] = field(repr=False)
    topics: tuple[str, ...]
    public: bool

    def __post_init__(self) -> None:
        object.__setattr__(self, "words", tuple(self.words))
        object.__setattr__(self, "topics", tuple(self.topics))
        for name, least, most in (("words", 1, _MOST), ("topics", 1, 1000)):
            values = getattr(self, name)
            if not least <= len(values) <= most or len(set(values)) != len(values):
                raise InvalidInput(f"must be {least} to {most:,} different texts", field=name, value=len(values))
        wrong = next((word for word in self.words if tokenize(word) != [word]), None)
        if wrong is not None:
            raise InvalidInput("must be lower-case letters and digits only", field="words", value=wrong)
        if not all(isinstance(topic, str) and topic for topic in self.topics):
            raise InvalidInput("must be texts that are not empty", field="topics", value=list(self.topics))

    @classmethod
    def from_texts(cls, texts: Iterable[Sequence[str]], topics: Sequence[str], *, most: int = 20_000) -> Vocabulary:
        """List the most frequent words of tokenised headlines. Not public: it reveals words of single headlines."""
        counts = Counter(word for words in texts for word in words)
        listed = sorted(counts, key=lambda word: (-counts[word], word))[:most]
        return cls(words=tuple(listed), topics=tuple(topics), public=False)

    @cached_property
    def codes(self) -> Mapping[str, int]:
        """Code of each word."""
        return {word: code for code, word in enumerate(self.words, start=SPECIAL)}

    @property
    def size(self) -> int:
        """Number of codes of words."""
        return len(self.words) + SPECIAL

    @property
    def tag_size(self) -> int:
        """Number of codes of tags."""
        return len(TAGS) + SPECIAL

    def encode(self, words: Sequence[str]) -> list[int]:
        """Codes of words; `UNKNOWN` for those that are not listed."""
        return [self.codes.get(word, UNKNOWN) for word in words]

    def decode(self, codes: Iterable[int]) -> list[str]:
        """Words of codes, up to the end; unknown words are `unknown`."""
        found = []
        for code in codes:
            if code == END:
                break
            if code != START:
                found.append("unknown" if code == UNKNOWN else self.words[code - SPECIAL])
        return found

    def topic_code(self, topic: str) -> int:
        """Code of a topic."""
        if topic not in self.topics:
            raise InvalidInput(f"must be one of {', '.join(self.topics)}", field="topic", value=topic)
        return self.topics.index(topic)

    @cached_property
    def digest(self) -> str:
        """Digest of words and topics."""
        return hashlib.sha256(json.dumps([self.words, self.topics]).encode()).hexdigest()

    @cached_property
    def domain(self) -> Domain:
        """Schema of the headlines, for sessions and ledgers: the topic, and a title with the digest of the words."""
        return Domain(
            title=f"headlines over the vocabulary {self.digest[:16]}",
            attributes=(Categorical(name="topic", levels=self.topics),),
        )

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {"tacita": _MARK, "public": self.public, "topics": list(self.topics), "words": list(self.words)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Vocabulary:
        """Read the output of `as_dict`."""
        if data.get("tacita") != _MARK:
            raise InvalidInput(f"must be `{_MARK}`", field="vocabulary", value=data.get("tacita"))
        return cls(words=tuple(data["words"]), topics=tuple(data["topics"]), public=data["public"] is True)

    def write(self, path: str | Path) -> None:
        """Write it as JSON."""
        write_text(path, json.dumps(self.as_dict(), ensure_ascii=False, indent=1))

    @classmethod
    def read(cls, path: str | Path) -> Vocabulary:
        """Read a file of `write`."""
        try:
            data = json.loads(Path(path).read_text(encoding="utf-8"))
            return cls.from_dict(data)
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            raise InvalidInput("must be a vocabulary as JSON", field="vocabulary", value=path) from None
