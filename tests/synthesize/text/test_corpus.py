"""Headlines as codes, and as a source."""

import numpy as np
import pytest

from tacita.errors import InvalidInput
from tacita.synthesize.text.corpus import (
    Headlines,
    HeadlineSource,
    RawHeadline,
)
from tacita.synthesize.text.example import example_headlines, example_vocabulary
from tacita.synthesize.text.vocabulary import END, UNKNOWN, Vocabulary

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
    assert not any(word in repr(headlines) + repr(HeadlineSource.of(headlines)) for word in ("array", "doctors"))


def test_other_vocabularies_are_not_joined(headlines):
    other = Headlines.encode(example_headlines(5), WORDS)
    with pytest.raises(InvalidInput, match="same vocabulary"):
        headlines.joined(other)
    assert len(headlines.joined(headlines)) == 2 * len(headlines)
    assert headlines.vocabulary == example_vocabulary()


def test_a_source_reads_when_it_is_asked(headlines):
    calls = []

    def read():
        calls.append(1)
        return example_headlines(5, seed=2)

    source = HeadlineSource.reading(read, headlines.vocabulary)
    assert source.domain.fingerprint == headlines.vocabulary.domain.fingerprint
    assert not calls
    assert len(source.headlines()) == 5
    assert calls
