"""The cells, against those of torch."""

import numpy as np
import pytest
import torch

from tacita.synthesize.text.example import example_vocabulary
from tacita.synthesize.text.layers import KINDS, Sizes, initial_weights, numpy_arithmetic, run_layers, tag_logs
from tacita.synthesize.text.training import torch_arithmetic

SIZES = Sizes(words=5, tags=3, topics=2, hidden=7)


def inputs(rng, rows=6, window=4):
    vocabulary = example_vocabulary()
    words = rng.integers(0, vocabulary.size, (rows, window))
    return words, rng.integers(0, vocabulary.tag_size, (rows, window)), rng.integers(0, 4, rows)


@pytest.mark.parametrize("kind", KINDS)
def test_cells_are_those_of_torch(kind):
    network, rng = KINDS[kind], np.random.default_rng(1)
    weights = initial_weights(network, SIZES, example_vocabulary(), rng)
    words, tags, topics = inputs(rng)
    parts = [weights["words"][words]]
    if network.topic:
        parts.append(np.broadcast_to(weights["topics"][topics][:, None], (*words.shape, 2)))
    if network.tags:
        parts.append(weights["tags"][tags])
    given = torch.from_numpy(np.concatenate(parts, axis=-1).astype(np.float32))
    cell = (torch.nn.LSTM if network.cell == "lstm" else torch.nn.GRU)(given.shape[-1], 7, batch_first=True)
    names = ("inputs", "states", "input_offsets", "state_offsets")
    with torch.no_grad():
        for parameter, name in zip(cell.parameters(), names, strict=True):
            parameter.copy_(torch.from_numpy(weights[name]))
        states = cell(given)[0].numpy()
    scores = states @ weights["next_word"].T + weights["next_word_offsets"]
    expected = scores - np.log(np.exp(scores).sum(axis=-1, keepdims=True))
    found = run_layers(network, weights, words, tags, topics, numpy_arithmetic())
    assert np.stack([by_word for by_word, _ in found], axis=1) == pytest.approx(expected, abs=1e-5)
    if network.tags:
        tag_scores = states @ weights["next_tag"].T + weights["next_tag_offsets"]
        assert np.stack([by_tag for _, by_tag in found], axis=1) == pytest.approx(tag_scores, abs=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_numpy_and_torch_agree(kind):
    network, rng = KINDS[kind], np.random.default_rng(2)
    weights = initial_weights(network, SIZES, example_vocabulary(), rng)
    words, tags, topics = inputs(rng)
    ours = run_layers(network, weights, words, tags, topics, numpy_arithmetic(), last=True)
    tensors = {name: torch.from_numpy(weight) for name, weight in weights.items()}
    codes = [torch.from_numpy(part) for part in (words, tags, topics)]
    theirs = run_layers(network, tensors, *codes, torch_arithmetic())
    assert len(ours) == 1
    assert ours[0][0] == pytest.approx(theirs[-1][0].numpy(), abs=1e-5)
    if network.tags:
        one = tag_logs(weights, ours[0][1], words[:, 0], numpy_arithmetic())
        other = tag_logs(tensors, theirs[-1][1], codes[0][:, 0], torch_arithmetic())
        assert one == pytest.approx(other.numpy(), abs=1e-5)
        assert np.exp(one).sum(axis=1) == pytest.approx(np.ones(6), abs=1e-5)


def test_a_tag_depends_on_its_word_only_if_heads_are_joined():
    network, rng = KINDS["sclstm"], np.random.default_rng(3)
    words, tags, topics = inputs(rng, rows=1)
    for heads, differs in (("joined", True), ("apart", False)):
        weights = initial_weights(network, SIZES, example_vocabulary(), rng, heads=heads)
        scores = run_layers(network, weights, words, tags, topics, numpy_arithmetic(), last=True)[0][1]
        found = [tag_logs(weights, scores, np.array([word]), numpy_arithmetic()) for word in (10, 200)]
        assert (abs(found[0] - found[1]).max() > 1e-4) == differs
