"""Headlines of the grammar."""

import numpy as np

from tacita.synthesize.text.example import TOPICS, example_headlines, example_vocabulary, tagged_words
from tacita.synthesize.text.vocabulary import TAGS


def test_the_same_seed_gives_the_same_headlines():
    assert example_headlines(50, seed=3) == example_headlines(50, seed=3)
    assert example_headlines(50, seed=3) != example_headlines(50, seed=4)


def test_every_word_has_a_tag_of_the_grammar():
    known, vocabulary = tagged_words(), example_vocabulary()
    for each in example_headlines(500, seed=5):
        assert 4 <= len(each.words) == len(each.tags) <= 13
        assert each.topic in TOPICS
        for word, tag in zip(each.words, each.tags, strict=True):
            assert tag in known[word] & set(TAGS)
            assert word in vocabulary.codes


def test_some_words_have_two_tags():
    assert {"cuts", "launch", "film"} <= {word for word, tags in tagged_words().items() if len(tags) > 1}


def test_topics_are_equally_likely_and_headlines_seldom_repeat():
    found = example_headlines(2000, seed=6)
    shares = np.array([sum(each.topic == topic for each in found) for topic in TOPICS]) / 2000
    assert abs(shares - 0.25).max() < 0.05
    assert len({each.words for each in found}) > 1950


def test_the_vocabulary_does_not_depend_on_what_is_drawn():
    assert example_vocabulary().public
    assert {word for each in example_headlines(5, seed=1) for word in each.words} < set(example_vocabulary().words)
