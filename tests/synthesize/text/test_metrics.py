"""The measures, by hand and by brute force."""

import math
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from tacita.synthesize.text.corpus import Headlines, RawHeadline
from tacita.synthesize.text.metrics import (
    TagGrammar,
    TopicClassifier,
    bleu,
    brevity_penalty,
    perplexity,
    repeated_words,
)
from tacita.synthesize.text.vocabulary import END, START, Vocabulary

WORDS = Vocabulary(words=("banks", "cut", "rates", "again", "shares"), topics=("business", "health"), public=True)


def test_perplexity_of_a_uniform_generator_is_the_number_of_codes(generator, held):
    flat = replace(generator, weights={name: np.zeros_like(weight) for name, weight in generator.weights.items()})
    assert perplexity(flat, held) == pytest.approx(generator.vocabulary.size, rel=1e-4)
    assert perplexity(generator, held) < generator.vocabulary.size / 3


# -- BLEU, worked by hand ----------------------------------------------------------------------------------------------


def texts(*lines):
    return [line.split() for line in lines]


def test_precision_is_clipped_by_the_best_reference():
    # Papineni et al. 2002, section 2.1: unigram precision 2/7; as long as the nearest reference, so no penalty
    references = {0: texts("the cat is on the mat", "there is a cat on the mat")}
    found = bleu([(["the", "the", "the", "the", "the", "the", "the"], 0)], references, most=1)
    assert found == pytest.approx(2 / 7)


def test_a_hand_worked_score_of_two_headlines():
    references = {0: texts("banks cut rates again"), 1: texts("doctors treat virus", "doctors find new virus today")}
    pairs = [(["banks", "cut", "rates"], 0), (["doctors", "find", "virus", "today"], 1)]
    # unigrams 3/3 and 4/4; bigrams 2/2 and 2/3, since `find virus` is in no reference
    # lengths 3 + 4 = 7 against 4 + 3 (of 3 and 5, equally near, the shorter): no penalty
    assert bleu(pairs, references, most=2) == pytest.approx(math.sqrt((7 / 7) * (4 / 5)))


def test_short_headlines_are_penalised_and_no_overlap_is_zero():
    assert brevity_penalty(3, 6) == pytest.approx(math.exp(-1))
    assert brevity_penalty(7, 6) == 1
    assert brevity_penalty(0, 6) == 0
    references = {0: texts("banks cut rates again soon")}
    assert bleu([(["banks", "cut", "rates", "again", "soon"], 0)], references) == 1
    assert bleu([(["again", "rates", "cut", "banks", "soon"], 0)], references) == 0


# -- topics ------------------------------------------------------------------------------------------------------------


def test_the_classifier_knows_topics_and_chance_when_they_are_shuffled(headlines):
    rng = np.random.default_rng(1)
    found = TopicClassifier.fit(headlines, rng)
    assert found.accuracy > 0.95
    assert found.coherence(headlines.words, headlines.topics) > 0.95
    assert found.coherence(headlines.words, rng.permutation(headlines.topics)) < 0.45


def test_smoothed_probabilities_are_those_of_laplace(headlines):
    found = TopicClassifier.fit(headlines, np.random.default_rng(2))
    rest, _ = headlines.split(0.2, np.random.default_rng(2))
    counts = np.zeros((4, headlines.vocabulary.size))
    for row, topic in zip(rest.words, rest.topics, strict=True):
        np.add.at(counts[topic], row[row != END], 1)
    smooth = counts + found.alpha
    expected = np.log(smooth / smooth.sum(axis=1, keepdims=True))
    assert found.model.feature_log_prob_ == pytest.approx(expected)


# -- grammar -----------------------------------------------------------------------------------------------------------


def tagged(*pairs):
    raw = [RawHeadline(tuple(words.split()), "business", tuple(tags.split())) for words, tags in pairs]
    return Headlines.encode(raw, WORDS, length=6)


def test_a_headline_passes_if_some_tags_fit():
    grammar = TagGrammar(
        tagged(
            ("banks cut rates again", "NNS VBP NNS RB"),
            ("shares cut banks again", "NNS VBP NNS RB"),
            ("rates cut shares again", "NNS NN NNS RB"),
        )
    )
    assert grammar.accepts(WORDS.encode(["shares", "cut", "rates", "again"]))
    assert not grammar.accepts(WORDS.encode(["cut", "shares", "rates", "again"]))
    assert not grammar.accepts(WORDS.encode(["shares", "cut", "rates"]))  # no headline ends so
    assert not grammar.accepts(WORDS.encode(["shares", "cut", "rates", "never"]))
    assert (len(grammar.lexicon[WORDS.codes["cut"]]), len(grammar.trigrams)) == (2, 5)


def test_the_search_over_tags_is_that_of_brute_force(headlines):
    grammar = TagGrammar(headlines.take(slice(0, 120)))
    rng = np.random.default_rng(3)
    seen = set()
    for row in headlines.words[120:200]:
        words = row[row != END]
        words = rng.permutation(words) if rng.random() < 0.5 else words
        choices = product(*(sorted(grammar.lexicon.get(int(word), ())) for word in words))
        expected = any(
            all(gram in grammar.trigrams for gram in zip(line, line[1:], line[2:], strict=False))
            for line in ((START, START, *tags, END) for tags in choices)
        )
        assert grammar.accepts(words) == expected
        seen.add(expected)
    assert seen == {True, False}


def test_real_headlines_pass_and_shuffled_ones_do_not(headlines, held):
    grammar, rng = TagGrammar(headlines), np.random.default_rng(4)
    assert grammar.share(held.words) > 0.85
    shuffled = np.zeros_like(held.words)
    for at, row in enumerate(held.words):
        inside = rng.permutation(row[row != END])
        shuffled[at, : len(inside)] = inside
    assert grammar.share(shuffled) < 0.1


# -- repetitions -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a b c d", 0),
        ("a b a b", 2),
        ("a b c x a b c", 3),
        ("a a a a a", 2),  # without overlap
        ("a b c d e f a b c d e f", 6),
        ("", 0),
    ],
)
def test_the_longest_repetition(text, expected):
    assert repeated_words(text.split()) == expected
