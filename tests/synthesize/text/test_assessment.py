"""All figures together."""

import json

import numpy as np
import pytest

from tacita.errors import InvalidInput
from tacita.synthesize.text.assessment import assess_headlines
from tacita.synthesize.text.canaries import draw_canaries


def test_figures_of_a_generator(generator, headlines, held):
    drawn = draw_canaries((0,), np.random.default_rng(1), topic="health", digits=2)
    found = assess_headlines(generator, headlines, held, np.random.default_rng(2), per_topic=20, canaries=drawn)
    assert found.headlines == 80
    assert 1 < found.perplexity < 150
    assert found.coherence > 0.6
    assert 0 < found.bleu < 1
    assert 1 < found.novelty < 91
    assert found.grammatical_shuffled < 0.2 < found.grammatical < found.grammatical_held + 0.2
    assert found.exposures[0].most == pytest.approx(np.log2(100))
    data = json.loads(found.to_json())
    assert data["guarantee"] == "none"
    assert data["exposures"][0]["copies"] == 0


def test_the_baseline_has_no_coherence(train, headlines, held):
    baseline = train(headlines, "baseline", epochs=1)
    assert assess_headlines(baseline, headlines, held, np.random.default_rng(3), per_topic=5).coherence is None


def test_a_generator_that_only_copies_is_found(generator, headlines, held, monkeypatch):
    from tacita.synthesize.text.corpus import RawHeadline

    texts, topics = headlines.texts(), headlines.vocabulary.topics

    def copies(self, count, topic, rng, **_):
        return [RawHeadline(texts[at], topics[headlines.topics[at]]) for at in rng.permutation(len(texts))[:count]]

    monkeypatch.setattr(type(generator), "generate", copies)
    found = assess_headlines(generator, headlines, held, np.random.default_rng(4), per_topic=25)
    assert found.copied > 0.2  # as many training headlines as held-out ones are compared
    assert found.copied_held < 0.1
    assert found.longest_match > 6


def test_no_headlines_are_refused(generator, headlines, held):
    with pytest.raises(InvalidInput, match="held-out"):
        assess_headlines(generator, headlines, held.take(slice(0, 0)), np.random.default_rng(5))
