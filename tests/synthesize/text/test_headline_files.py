"""Files of headlines."""

import csv

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tacita.domain import Categorical, Domain, Identifier
from tacita.engines.local import LocalEngine
from tacita.errors import InvalidInput, TacitaError
from tacita.synthesize.text.corpus import Headlines, RawHeadline
from tacita.synthesize.text.example import example_headlines, example_vocabulary
from tacita.synthesize.text.headline_files import open_headlines, open_news, read_rows, write_headlines
from tacita.synthesize.text.vocabulary import Vocabulary, tokenize


def test_a_written_file_is_read_again(tmp_path):
    raw = example_headlines(20, seed=4)
    write_headlines(tmp_path / "some.csv", raw)
    assert open_headlines(tmp_path / "some.csv").read() == raw


def test_columns_may_have_other_names(tmp_path):
    (tmp_path / "some.tsv").write_text('title\tkind\n"Banks, ""cut"" rates again"\thealth\n\tbusiness\n')
    found = open_headlines(tmp_path / "some.tsv", text="title", topic="kind").read()
    assert found == [RawHeadline(("banks", "cut", "rates", "again"), "health"), RawHeadline((), "business")]
    with pytest.raises(InvalidInput, match="no such name") as refused:
        open_headlines(tmp_path / "some.tsv", text="titel", topic="kind")
    assert refused.value.hint == "Did you mean 'title'?"
    with pytest.raises(TacitaError, match=r"none\.csv"):
        open_headlines(tmp_path / "none.csv")


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("encoding", ["utf-8", "cp1252", "utf-16"])
def test_files_of_several_dialects_are_read_alike(delimiter, encoding, tmp_path):
    rows = [("text", "topic"), ("Bank, senkt; Zinsen | f\u00fcr alle", "business"), ("two\nlines here now", "health")]
    with (tmp_path / "some.csv").open("w", encoding=encoding, newline="") as out:
        csv.writer(out, delimiter=delimiter).writerows(rows)
    found = open_headlines(tmp_path / "some.csv", encoding=encoding).read()
    assert [each.words for each in found] == [tuple(tokenize(text)) for text, _ in rows[1:]]
    assert [each.topic for each in found] == ["business", "health"]


def test_one_headline_does_not_change_how_others_are_read(tmp_path):
    start = "text;topic\nBanks cut rates f\u00fcr alle;business\n".encode()
    (tmp_path / "one.csv").write_bytes(start)
    (tmp_path / "two.csv").write_bytes(start + b"a, b, c, d, e, f \xfc g;health\n")
    one, two = (open_headlines(tmp_path / name).read() for name in ("one.csv", "two.csv"))
    assert two[:1] == one
    assert len(two) == 2


def test_frames_of_other_formats_are_read(tmp_path):
    pq.write_table(pa.table({"text": ["Banks cut rates again"], "topic": ["business"]}), tmp_path / "some.parquet")
    assert open_headlines(tmp_path / "some.parquet").read() == [
        RawHeadline(("banks", "cut", "rates", "again"), "business")
    ]


def test_an_encoding_must_exist(tmp_path):
    (tmp_path / "some.csv").write_text("text,topic\n")
    with pytest.raises(InvalidInput, match="must be an encoding"):
        open_headlines(tmp_path / "some.csv", encoding="latin-99")


def test_the_news_aggregator_is_read(tmp_path):
    lines = [
        '1\tFed official says "weak data" caused by weather\thttp://a\tTimes\tb\tddUy\twww.a\t1394470370698',
        "2\tA new phone\thttp://b\tPost\tt\tddUz\twww.b\t1394470371207",
        "3\tActor\u2019s secret wedding in town\thttp://c\tPost\te\tddUz\twww.b\t1394470371207",
    ]
    (tmp_path / "newsCorpora.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    found = open_news(tmp_path / "newsCorpora.csv").read()
    assert found[0] == RawHeadline(tuple(tokenize("fed official says weak data caused by weather")), "business")
    assert found[2] == RawHeadline(tuple(tokenize("actor s secret wedding in town")), "entertainment")
    vocabulary = Vocabulary(words=("phone",), topics=("business", "technology", "entertainment", "health"), public=True)
    assert len(Headlines.encode(found, vocabulary)) == 2
    (tmp_path / "other.csv").write_text("one\ttwo\n")
    with pytest.raises(InvalidInput, match="eight columns"):
        open_news(tmp_path / "other.csv")


def test_rows_of_an_engine_are_read_as_headlines():
    raw = example_headlines(20, seed=1)
    words = example_vocabulary()
    rows = pa.table({"title": [" ".join(each.words) for each in raw], "about": [each.topic for each in raw]})
    domain = Domain(attributes=[Identifier(name="title"), Categorical(name="about", levels=words.topics)])
    assert read_rows(LocalEngine(domain, rows), "title", "about") == [
        RawHeadline(each.words, each.topic) for each in raw
    ]
