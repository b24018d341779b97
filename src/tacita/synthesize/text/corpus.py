"""Headlines as codes, and the files that they are read from: any CSV with a text and a topic, or the News Aggregator.

    tokenize   lower case; whatever is no letter or digit separates words
    keep       headlines of more than 3 words, of a topic that the vocabulary lists; longer ones are cut to `length`

Each rule looks at one headline alone.

Privacy:  exact headlines, for training and for the owner. One headline is one unit: one person's record. Where a
          person or a story has several headlines, these are several units, and protection is weaker by that factor.
Data:     UCI News Aggregator, `newsCorpora.csv`: tab separated, no header; topics b, t, e, m.   [Gasparetti 2016]
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
from numpy.typing import NDArray

from tacita import check
from tacita.domain import Domain
from tacita.engines.base import Engine
from tacita.errors import InvalidInput
from tacita.synthesize.text.vocabulary import END, SPECIAL, TAGS, UNKNOWN, Vocabulary, tokenize

if TYPE_CHECKING:
    from tacita.synthesize.text.tagger import Tagger

__all__ = [
    "LEAST_WORDS",
    "LENGTH",
    "NEWS_TOPICS",
    "HeadlineRows",
    "HeadlineSource",
    "Headlines",
    "RawHeadline",
    "read_headlines",
    "read_news",
    "write_headlines",
]

LENGTH = 13
"""Words of a headline at most."""

LEAST_WORDS = 4
NEWS_TOPICS = {"b": "business", "t": "technology", "e": "entertainment", "m": "health"}
_NEWS_COLUMNS = ["id", "title", "url", "publisher", "category", "story", "hostname", "timestamp"]
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
    """Headlines as a session reads them: a public schema, and one method that gives data."""

    data: Headlines = field(repr=False)

    @property
    def domain(self) -> Domain:
        """Schema; it names the vocabulary."""
        return self.data.vocabulary.domain

    def headlines(self) -> Headlines:
        """All headlines."""
        return self.data


@dataclass(frozen=True, kw_only=True)
class HeadlineRows:
    """Headlines in the rows of an engine; a session reads them after it was charged.

    Attributes:
        engine: The rows.
        vocabulary: Words and topics.
        text, topic: Names of the columns.
        tagged: Whether words need tags.
    """

    engine: Engine
    vocabulary: Vocabulary
    text: str
    topic: str
    tagged: bool

    @property
    def domain(self) -> Domain:
        """Schema; it names the vocabulary."""
        return self.vocabulary.domain

    def headlines(self) -> Headlines:
        """Read all headlines."""
        from tacita.synthesize.text.tagger import pattern_tagger

        rows = pa.Table.from_batches(list(self.engine.rows([self.text, self.topic])))
        texts = [None if each is None else str(each) for each in rows.column(self.text).to_pylist()]
        topics = [None if each is None else str(each) for each in rows.column(self.topic).to_pylist()]
        raw = _raw(texts, topics, [None] * rows.num_rows)
        return Headlines.encode(raw, self.vocabulary, tagger=pattern_tagger() if self.tagged else None)


def read_headlines(
    path: str | Path, *, text: str = "text", topic: str = "topic", tags: str = "tags"
) -> list[RawHeadline]:
    """Read a CSV or TSV file with a column of texts, one of topics, and perhaps one of tags separated by blanks."""
    separator = "\t" if Path(path).suffix.lower() in (".tsv", ".tab") else ","
    try:
        table = pacsv.read_csv(
            path,
            parse_options=pacsv.ParseOptions(delimiter=separator, newlines_in_values=True),
            convert_options=pacsv.ConvertOptions(column_types={name: pa.string() for name in (text, topic, tags)}),
        )
    except (OSError, pa.ArrowException):
        raise InvalidInput("must be a file of comma- or tab-separated text", field="headlines", value=path) from None
    for field_name, name in (("text-column", text), ("topic-column", topic)):
        if name not in table.column_names:
            raise InvalidInput("must name a column of the file", field=field_name, value=name)
    tagged = table.column(tags).to_pylist() if tags in table.column_names else [None] * table.num_rows
    return _raw(table.column(text).to_pylist(), table.column(topic).to_pylist(), tagged)


def read_news(path: str | Path) -> list[RawHeadline]:
    """Read `newsCorpora.csv` of the UCI News Aggregator: its titles, with the four categories as topics."""
    try:
        table = pacsv.read_csv(
            path,
            read_options=pacsv.ReadOptions(column_names=_NEWS_COLUMNS),
            parse_options=pacsv.ParseOptions(delimiter="\t", quote_char=False),
            convert_options=pacsv.ConvertOptions(
                include_columns=["title", "category"], column_types=dict.fromkeys(_NEWS_COLUMNS, pa.string())
            ),
        )
    except (OSError, pa.ArrowException):
        rule = "must be newsCorpora.csv of the News Aggregator: eight columns, tab separated, no header"
        raise InvalidInput(rule, field="headlines", value=path) from None
    topics = [NEWS_TOPICS.get(each or "", "") for each in table.column("category").to_pylist()]
    return _raw(table.column("title").to_pylist(), topics, [None] * len(topics))


def write_headlines(path: str | Path, headlines: Sequence[RawHeadline]) -> None:
    """Write a CSV file that `read_headlines` reads."""
    columns = {
        "text": [" ".join(each.words) for each in headlines],
        "topic": [each.topic for each in headlines],
        "tags": [" ".join(each.tags) for each in headlines],
    }
    pacsv.write_csv(pa.table({name: pa.array(values, pa.string()) for name, values in columns.items()}), path)


def _raw(texts: Iterable[str | None], topics: Iterable[str | None], tags: Iterable[str | None]) -> list[RawHeadline]:
    return [
        RawHeadline(tuple(tokenize(text or "")), topic or "", tuple((named or "").split()))
        for text, topic, named in zip(texts, topics, tags, strict=True)
    ]
