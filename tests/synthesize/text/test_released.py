"""Drawing, scoring and writing."""

import math

import numpy as np
import pytest
import torch

from tacita.errors import InvalidInput
from tacita.synthesize.text.corpus import Headlines
from tacita.synthesize.text.example import TOPICS
from tacita.synthesize.text.layers import run_layers
from tacita.synthesize.text.released import HeadlineGenerator, _sample
from tacita.synthesize.text.training import torch_arithmetic
from tacita.synthesize.text.vocabulary import END, START, TAGS, UNKNOWN, Vocabulary


def test_headlines_have_words_tags_and_a_topic(generator):
    found = generator.generate(50, "health", np.random.default_rng(1))
    assert len(found) == 50
    for each in found:
        assert each.topic == "health"
        assert len(each.words) == len(each.tags) <= generator.length
        assert set(each.words) <= set(generator.vocabulary.words)
        assert set(each.tags) <= set(TAGS)
    assert found == generator.generate(50, "health", np.random.default_rng(1))


def test_a_seed_begins_every_headline(generator):
    rng = np.random.default_rng(2)
    for each in generator.generate(10, "business", rng, seed=("why", "banks", "cut")):
        assert each.words[:3] == ("why", "banks", "cut")
    for wrong in (("zzz",), ("why",) * 13):
        with pytest.raises(InvalidInput, match="words of the vocabulary"):
            generator.generate(1, "business", rng, seed=wrong)
    with pytest.raises(InvalidInput, match="must be one of"):
        generator.generate(1, "sport", rng)


def test_likelihoods_are_products_of_probabilities(generator, headlines):
    some = headlines.take(slice(0, 5))
    scores, numbers = generator.log2_likelihoods(some)
    weights = {name: torch.from_numpy(each.copy()) for name, each in generator.weights.items()}
    for at in range(5):
        words = [int(code) for code in some.words[at] if code] + [END]
        tags = [int(code) for code in some.tags[at] if code]
        total, window, window_tags = 0.0, [START] * 3, [START] * 3
        for place, word in enumerate(words):
            codes = [torch.tensor([each]) for each in (window, window_tags)]
            topic = torch.tensor([int(some.topics[at])])
            logs = run_layers(generator.network, weights, *codes, topic, torch_arithmetic())[-1][0]
            total += float(logs[0, word]) / math.log(2)
            if word != END:
                window, window_tags = [*window[1:], word], [*window_tags[1:], tags[place]]
        assert scores[at] == pytest.approx(total, abs=1e-3)
        assert numbers[at] == len(words)


def test_codes_are_drawn_by_their_probabilities_at_a_temperature():
    logs = np.log(np.tile([0.1, 0.2, 0.3, 0.4], (40_000, 1)))
    drawn = _sample(logs, 0.5, np.random.default_rng(3), never=(2,))
    shares = np.bincount(drawn, minlength=4) / len(drawn)
    expected = np.array([0.01, 0.04, 0, 0.16]) / 0.21
    assert shares == pytest.approx(expected, abs=0.012)


def test_topics_guide_words(generator):
    rng = np.random.default_rng(4)
    words = {topic: {w for each in generator.generate(60, topic, rng) for w in each.words} for topic in TOPICS}
    assert len(words["health"] & words["business"]) < len(words["health"]) / 2


def test_a_file_is_read_again(generator, headlines):
    again = HeadlineGenerator.from_json(generator.to_json())
    assert again.guarantee == "none"
    rng = [np.random.default_rng(5) for _ in range(2)]
    assert again.generate(5, "health", rng[0]) == generator.generate(5, "health", rng[1])
    assert (again.log2_likelihoods(headlines)[0] == generator.log2_likelihoods(headlines)[0]).all()


def test_other_vocabularies_are_refused(generator):
    other = Vocabulary(words=("banks",), topics=("business",), public=True)
    with pytest.raises(InvalidInput, match="vocabulary of the generator"):
        generator.log2_likelihoods(Headlines.encode([], other))


def test_unknown_words_count_but_are_not_drawn(generator, headlines):
    words = headlines.words[:1].copy()
    words[0, 1] = UNKNOWN
    strange = Headlines(
        vocabulary=headlines.vocabulary, words=words, tags=headlines.tags[:1], topics=headlines.topics[:1]
    )
    assert generator.log2_likelihoods(strange)[1][0] == generator.log2_likelihoods(headlines)[1][0]
    assert np.isfinite(generator.log2_likelihoods(strange)[0]).all()
