"""Headlines as codes, and files."""

import numpy as np
import pyarrow as pa
import pytest

from tacita.domain import Categorical, Domain, Identifier
from tacita.engines.local import LocalEngine
from tacita.errors import InvalidInput
from tacita.synthesize.text.corpus import (
    HeadlineRows,
    Headlines,
    HeadlineSource,
    RawHeadline,
    read_headlines,
    read_news,
    write_headlines,
)
from tacita.synthesize.text.example import example_headlines, example_vocabulary
from tacita.synthesize.text.vocabulary import END, UNKNOWN, Vocabulary, tokenize

WORDS = Vocabulary(words=("banks", "cut", "rates", "again"), topics=("business", "health"), public=True)


def test_each_headline_is_coded_by_itself():
    raw = [
        RawHeadline(("banks", "cut", "rates", "again"), "business", ("NNS", "VBP", "NNS", "RB")),
        RawHeadline(("banks", "cut", "rates"), "business"),  # too short
        RawHeadline(("banks", "cut", "rates", "again"), "sport"),  # no such topic
        RawHeadline(("banks", "hide", "rates", "again", "banks", "cut"), "health"),
    ]
    found = Headlines.encode(raw, WORDS, length=5)
    assert found.words.tolist() == [[3, 4, 5, 6, END], [3, UNKNOWN, 5, 6, 3]]
    assert found.topics.tolist() == [0, 1]
    assert found.tags[1].tolist() == [UNKNOWN] * 5
    assert found.texts()[1] == ("banks", "unknown", "rates", "again", "banks")
    for at in (0, 3):
        alone = Headlines.encode([raw[at]], WORDS, length=5)
        assert (alone.words[0] == found.words[at // 3]).all()


def test_tags_come_from_the_file_or_from_the_tagger():
    raw = [RawHeadline(("banks", "cut", "rates", "again"), "business")]
    tagged = Headlines.encode(raw, WORDS, tagger=lambda words: ("NN",) * len(words))
    assert tagged.tagged
    assert not Headlines.encode(raw, WORDS).tagged
    short = [RawHeadline(raw[0].words, "business", ("NN", "VBP"))]  # tags of other words: not used
    assert not Headlines.encode(short, WORDS).tagged
    again = Headlines.encode(short, WORDS, tagger=lambda words: ("NN",) * len(words))
    assert (again.tags == tagged.tags).all()


def test_splits_have_every_headline_once(headlines):
    rest, held = headlines.split(0.25, np.random.default_rng(0))
    assert len(held) == 100
    both = sorted(map(tuple, np.concatenate([rest.words, held.words]).tolist()))
    assert both == sorted(map(tuple, headlines.words.tolist()))


def test_trimming_removes_only_places_that_are_empty(headlines):
    some = headlines.take(slice(0, 7))
    assert some.trimmed().texts() == some.texts()
    assert (some.trimmed().words[:, -1] != END).any()
    assert len(headlines.take(slice(0, 0)).trimmed()) == 0


def test_headlines_are_not_printed(headlines):
    assert not any(word in repr(headlines) + repr(HeadlineSource(data=headlines)) for word in ("array", "doctors"))


def test_a_written_file_is_read_again(tmp_path):
    raw = example_headlines(20, seed=4)
    write_headlines(tmp_path / "some.csv", raw)
    assert read_headlines(tmp_path / "some.csv") == raw


def test_columns_may_have_other_names(tmp_path):
    (tmp_path / "some.tsv").write_text('title\tkind\n"Banks, ""cut"" rates again"\thealth\n\tbusiness\n')
    found = read_headlines(tmp_path / "some.tsv", text="title", topic="kind")
    assert found == [RawHeadline(("banks", "cut", "rates", "again"), "health"), RawHeadline((), "business")]
    with pytest.raises(InvalidInput, match="must name a column"):
        read_headlines(tmp_path / "some.tsv")
    with pytest.raises(InvalidInput, match="comma- or tab-separated"):
        read_headlines(tmp_path / "none.csv")


def test_the_news_aggregator_is_read(tmp_path):
    lines = [
        '1\tFed official says "weak data" caused by weather\thttp://a\tTimes\tb\tddUy\twww.a\t1394470370698',
        "2\tA new phone\thttp://b\tPost\tt\tddUz\twww.b\t1394470371207",
        "3\tActor\u2019s secret wedding in town\thttp://c\tPost\te\tddUz\twww.b\t1394470371207",
    ]
    (tmp_path / "newsCorpora.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    found = read_news(tmp_path / "newsCorpora.csv")
    assert found[0] == RawHeadline(tuple(tokenize("fed official says weak data caused by weather")), "business")
    assert found[2] == RawHeadline(tuple(tokenize("actor s secret wedding in town")), "entertainment")
    vocabulary = Vocabulary(words=("phone",), topics=("business", "technology", "entertainment", "health"), public=True)
    assert len(Headlines.encode(found, vocabulary)) == 2
    (tmp_path / "other.csv").write_text("one\ttwo\n")
    with pytest.raises(InvalidInput, match="eight columns"):
        read_news(tmp_path / "other.csv")


def test_other_vocabularies_are_not_joined(headlines):
    other = Headlines.encode(example_headlines(5), WORDS)
    with pytest.raises(InvalidInput, match="same vocabulary"):
        headlines.joined(other)
    assert len(headlines.joined(headlines)) == 2 * len(headlines)
    assert headlines.vocabulary == example_vocabulary()


def test_rows_of_an_engine_are_read_as_headlines():
    raw = example_headlines(20, seed=1)
    words = example_vocabulary()
    rows = pa.table({"title": [" ".join(each.words) for each in raw], "about": [each.topic for each in raw]})
    domain = Domain(attributes=[Identifier(name="title"), Categorical(name="about", levels=words.topics)])
    source = HeadlineRows(engine=LocalEngine(domain, rows), vocabulary=words, text="title", topic="about", tagged=False)
    assert source.domain.fingerprint == words.domain.fingerprint
    assert np.array_equal(source.headlines().words, Headlines.encode(raw, words).words)
