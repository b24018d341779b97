"""Words, topics and codes."""

import pytest

from tacita.errors import InvalidInput
from tacita.synthesize.text.vocabulary import END, START, UNKNOWN, Vocabulary, tokenize

WORDS = Vocabulary(words=("banks", "cut", "rates"), topics=("business", "health"), public=True)


def test_words_that_are_not_listed_are_one_unknown():
    assert WORDS.encode(["banks", "hide", "rates", "secretly"]) == [3, UNKNOWN, 5, UNKNOWN]
    assert WORDS.decode([START, 3, UNKNOWN, 5, END, 4]) == ["banks", "unknown", "rates"]


def test_whatever_is_no_letter_or_digit_separates_words():
    assert tokenize("U.S. Q1-growth: 2,5 % é") == ["u", "s", "q1", "growth", "2", "5"]
    assert tokenize("") == []


def test_words_of_a_corpus_are_the_most_frequent_and_not_public():
    found = Vocabulary.from_texts([["b", "a"], ["a", "c"], ["c", "a"]], ["x"], most=2)
    assert found.words == ("a", "c")
    assert not found.public


def test_a_file_is_read_again(tmp_path):
    WORDS.write(tmp_path / "words.json")
    assert Vocabulary.read(tmp_path / "words.json") == WORDS
    (tmp_path / "other.json").write_text("[1, 2]")
    with pytest.raises(InvalidInput, match="must be a vocabulary"):
        Vocabulary.read(tmp_path / "other.json")


def test_only_a_true_flag_makes_a_vocabulary_public():
    assert not Vocabulary.from_dict(WORDS.as_dict() | {"public": "yes"}).public


def test_the_schema_names_the_words():
    other = Vocabulary(words=("banks", "cut", "taxes"), topics=WORDS.topics, public=True)
    assert WORDS.domain.fingerprint != other.domain.fingerprint
    assert WORDS.domain["topic"].levels == ("business", "health")


@pytest.mark.parametrize("words", [(), ("a", "a"), ("Bank",), ("two words",)])
def test_bad_words_are_refused(words):
    with pytest.raises(InvalidInput, match="words"):
        Vocabulary(words=words, topics=("x",), public=True)


def test_a_topic_that_is_not_listed_is_refused():
    with pytest.raises(InvalidInput, match="business, health"):
        WORDS.topic_code("sport")
