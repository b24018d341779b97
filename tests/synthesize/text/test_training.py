"""Losses and both ways to train."""

import numpy as np
import pytest
import torch

from tacita.models.neural.clipping import GRID, clipped_sum
from tacita.models.neural.training import Steps
from tacita.noise import SeededSource
from tacita.synthesize.text.layers import KINDS, Sizes, initial_weights
from tacita.synthesize.text.metrics import perplexity
from tacita.synthesize.text.training import _tensors, loss_of, train_privately
from tacita.synthesize.text.windows import windows_of

SIZES = Sizes(words=6, tags=3, topics=3, hidden=8)


def start(headlines, kind, seed=1):
    return initial_weights(KINDS[kind], SIZES, headlines.vocabulary, np.random.default_rng(seed))


def tensors(weights):
    return {name: torch.from_numpy(weight) for name, weight in weights.items()}


@pytest.mark.parametrize("kind", KINDS)
def test_the_loss_before_training_is_about_that_of_a_uniform_guess(headlines, kind):
    weights = {name: np.zeros_like(weight) for name, weight in start(headlines, kind).items()}
    found = float(loss_of(KINDS[kind])(tensors(weights), *_tensors(headlines, 3)))
    uniform = np.log(headlines.vocabulary.size) + KINDS[kind].tags * np.log(headlines.vocabulary.tag_size)
    assert found == pytest.approx(uniform, rel=1e-5)


def test_the_loss_of_a_headline_is_the_mean_over_its_words(headlines):
    one, weights = headlines.take(slice(4, 5)), start(headlines, "clstm")
    found = float(loss_of(KINDS["clstm"])(tensors(weights), *_tensors(one, 1)))
    part, total = windows_of(one, 1), 0.0
    length = int((one.words[0] != 0).sum())
    embedding = {name: weights[name].astype(float) for name in weights}
    for at in range(length + 1):  # the LSTM by hand, from an empty state: one word is the window
        given = np.concatenate([embedding["words"][part.words[0, at, 0]], embedding["topics"][one.topics[0]]])
        gates = embedding["inputs"] @ given + embedding["input_offsets"] + embedding["state_offsets"]
        into, _, candidate, out = np.split(gates, 4)
        state = np.tanh(np.tanh(candidate) / (1 + np.exp(-into))) / (1 + np.exp(-out))
        scores = embedding["next_word"] @ state + embedding["next_word_offsets"]
        total += np.log(np.exp(scores).sum()) - scores[part.next_words[0, at, 0]]
    assert found == pytest.approx(total / (length + 1), rel=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_a_headline_moves_the_clipped_sum_by_at_most_one_norm(headlines, kind):
    """Privacy: losses are of one headline each; a hostile one, or any other, moves the sum by at most 2^24 steps."""
    weights, loss = tensors(start(headlines, kind)), loss_of(KINDS[kind])
    weights["next_word"] = weights["next_word"] * 50  # steep, so that gradients are clipped
    units = _tensors(headlines.take(slice(0, 12)), 3)
    whole = clipped_sum(loss, weights, units, 0.5)
    for left_out in range(12):
        rest = [at for at in range(12) if at != left_out]
        moved = (whole - clipped_sum(loss, weights, tuple(part[rest] for part in units), 0.5)).norm()
        assert 0 < moved <= GRID


def test_gradients_of_headlines_do_not_mix(headlines):
    weights, loss = tensors(start(headlines, "scgru")), loss_of(KINDS["scgru"])
    units = _tensors(headlines.take(slice(0, 6)), 3)
    together = clipped_sum(loss, weights, units, 1e3)
    alone = sum(clipped_sum(loss, weights, tuple(part[at : at + 1] for part in units), 1e3) for at in range(6))
    assert (together - alone).abs().max() <= 6 + 1e-4 * GRID / 1e3


def test_private_steps_without_noise_learn_and_with_much_noise_do_not(headlines, held, train):
    weights = start(headlines, "clstm")
    terms = {"window": 3, "learning_rate": 0.02, "expected": 40.0, "source": SeededSource(1)}
    kind = KINDS["clstm"]
    found = {}
    for noise in (1e-3, 100.0):
        law = Steps(steps=60, rate=0.1, noise_multiplier=noise)
        found[noise] = train_privately(kind, weights, headlines, law, **terms)
    values = [float(loss_of(kind)(tensors(each), *_tensors(held, 3))) for each in (weights, *found.values())]
    assert values[1] < values[0] - 0.5
    assert values[2] > values[1] + 0.5


def test_no_headlines_at_all_can_be_trained_on(headlines):
    law = Steps(steps=2, rate=0.1, noise_multiplier=1.0)
    empty, weights = headlines.take(slice(0, 0)), start(headlines, "sclstm")
    terms = {"window": 3, "learning_rate": 0.01, "expected": 40.0, "source": SeededSource(1)}
    found = train_privately(KINDS["sclstm"], weights, empty, law, **terms)
    assert all(np.isfinite(each).all() for each in found.values())


def test_plain_training_learns_and_stops_on_held_out_headlines(headlines, held, train):
    one, many = train(headlines, "clstm", epochs=1), train(headlines, "clstm", epochs=8)
    assert perplexity(many, held) < perplexity(one, held) < headlines.vocabulary.size
    some = headlines.take(slice(0, 60))
    stopped, long = (train(some, "clstm", epochs=n, stop_after=0, learning_rate=0.05) for n in (15, 60))
    assert all((stopped.weights[name] == long.weights[name]).all() for name in stopped.weights)


def test_plain_training_repeats_itself_and_leaves_the_seed_of_torch_alone(headlines, train):
    torch.manual_seed(5)
    expected = torch.rand(1)
    torch.manual_seed(5)
    one, other = (train(headlines.take(slice(0, 40)), "cgru", epochs=1, dropout=0.5) for _ in range(2))
    assert torch.rand(1) == expected
    assert all((one.weights[name] == other.weights[name]).all() for name in one.weights)
