"""Files of headlines: any text file with a column of texts and one of topics, or the News Aggregator.

Opening a file reads its header only, so that a session can be charged before it reads a headline. The delimiter is the
one that gives the header the named columns, and the encoding is stated: neither depends on a headline.

Data:     UCI News Aggregator, `newsCorpora.csv`: tab separated, no header; topics b, t, e, m.   [Gasparetti 2016]
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pacsv

from tacita.domain import CsvDialect
from tacita.domain.dialect import DELIMITERS
from tacita.engines.base import Engine
from tacita.engines.local.files.open import GROUPS, open_source
from tacita.engines.local.files.stored import find_files
from tacita.engines.local.files.text import TEXT, header_of
from tacita.errors import DataError, InvalidInput, UnknownName
from tacita.synthesize.text.corpus import RawHeadline
from tacita.synthesize.text.tagger import Tagger, pattern_tagger
from tacita.synthesize.text.vocabulary import tokenize

__all__ = ["NEWS_TOPICS", "HeadlineFile", "open_headlines", "open_news", "read_rows", "write_headlines"]

NEWS_TOPICS = {"b": "business", "t": "technology", "e": "entertainment", "m": "health"}
_NEWS_COLUMNS = ("id", "title", "url", "publisher", "category", "story", "hostname", "timestamp")


@dataclass(frozen=True, kw_only=True)
class HeadlineFile:
    """A file of headlines, of which the header was read.

    Attributes:
        source: Its rows.
        text, topic: Names of the columns.
        tags: Column of tags with blanks between; None where there is none.
        topics: Names of topics that are written as codes.
    """

    source: Any = field(repr=False)
    text: str
    topic: str
    tags: str | None = None
    topics: dict[str, str] | None = None

    def tagger(self) -> Tagger | None:
        """Return a tagger if the file has no column of tags. It needs the extra `nets`."""
        return None if self.tags else pattern_tagger()

    def read(self) -> list[RawHeadline]:
        """Read all headlines."""
        names = [self.text, self.topic, *([self.tags] if self.tags else [])]
        schema = pa.schema([(name, pa.string()) for name in names])
        rows = pa.Table.from_batches((batch.cast(schema) for batch in self.source.batches(names)), schema)
        topics = _texts(rows.column(self.topic))
        if self.topics is not None:
            topics = [self.topics.get(each or "", "") for each in topics]
        tags = _texts(rows.column(self.tags)) if self.tags else [None] * rows.num_rows
        return _raw(_texts(rows.column(self.text)), topics, tags)


def open_headlines(
    path: str | Path, *, text: str = "text", topic: str = "topic", tags: str = "tags", encoding: str = "utf-8"
) -> HeadlineFile:
    """Open a text file with a column of texts, one of topics, and perhaps one of tags separated by blanks.

    Args:
        path: The file; its values lie between commas, semicolons, tabs or bars.
        text: Column of the headlines.
        topic: Column of the topics.
        tags: Column of the tags.
        encoding: Encoding of the file, such as cp1252.
    """
    file = find_files([path], GROUPS)[0]
    if file.suffix in TEXT:
        known = {mark: header_of(file, _dialect(delimiter=mark, encoding=encoding)) for mark in DELIMITERS}
        delimiter = max(known, key=lambda mark: ({text, topic} <= set(known[mark]), len(known[mark])))
        source = open_source(path, dialect=_dialect(delimiter=delimiter, encoding=encoding))
    else:
        source = open_source(path)
    for field_name, name in (("text-column", text), ("topic-column", topic)):
        if name not in source.columns:
            raise UnknownName(name, field=field_name, available=source.columns)
    return HeadlineFile(source=source, text=text, topic=topic, tags=tags if tags in source.columns else None)


def open_news(path: str | Path) -> HeadlineFile:
    """Open `newsCorpora.csv` of the UCI News Aggregator: its titles, with the four categories as topics."""
    dialect = CsvDialect(delimiter="	", quote="", header=False, columns=_NEWS_COLUMNS)
    try:
        source = open_source(path, dialect=dialect)
    except DataError:
        rule = "must be newsCorpora.csv of the News Aggregator: eight columns, tab separated, no header"
        raise InvalidInput(rule, field="headlines", value=Path(path).name) from None
    return HeadlineFile(source=source, text="title", topic="category", topics=NEWS_TOPICS)


def read_rows(engine: Engine, text: str, topic: str) -> list[RawHeadline]:
    """Read headlines from two columns of an engine."""
    rows = pa.Table.from_batches(list(engine.rows([text, topic])))
    texts, topics = (
        [None if each is None else str(each) for each in rows.column(name).to_pylist()] for name in (text, topic)
    )
    return _raw(texts, topics, [None] * rows.num_rows)


def write_headlines(path: str | Path, headlines: Sequence[RawHeadline]) -> None:
    """Write a CSV file that `open_headlines` opens."""
    columns = {
        "text": [" ".join(each.words) for each in headlines],
        "topic": [each.topic for each in headlines],
        "tags": [" ".join(each.tags) for each in headlines],
    }
    pacsv.write_csv(pa.table({name: pa.array(values, pa.string()) for name, values in columns.items()}), path)


def _dialect(**stated: str) -> CsvDialect:
    try:
        return CsvDialect(**stated)
    except ValueError:
        hint = "Such as utf-8, cp1252 or utf-16"
        raise InvalidInput("must be an encoding", field="encoding", value=stated["encoding"], hint=hint) from None


def _texts(column: pa.ChunkedArray) -> list[str | None]:
    """Return texts; bytes that are no text become the replacement character."""
    return [None if each is None else each.decode("utf-8", "replace") for each in column.cast(pa.binary()).to_pylist()]


def _raw(texts: Iterable[str | None], topics: Iterable[str | None], tags: Iterable[str | None]) -> list[RawHeadline]:
    return [
        RawHeadline(tuple(tokenize(text or "")), topic or "", tuple((named or "").split()))
        for text, topic, named in zip(texts, topics, tags, strict=True)
    ]
