"""Recurrent layers of the generators: the same formulas for numpy, which draws, and for torch, which trains.

With word x, topic p, tag s, state h and offsets b, each gate of the LSTM (forget, input, output, candidate) is

    f_t = sigma(W_x x_t + W_h h_(t-1) + b   [+ W_p p: contextual]   [+ W_s s_t: syntacto-contextual])

and likewise each gate of the GRU. Embeddings of word, topic and tag side by side, times one matrix, are the same sum.

    kind       cell   topic   tags
    baseline   LSTM
    clstm      LSTM   yes              [Ghosh et al. 2016]
    cgru       GRU    yes
    sclstm     LSTM   yes     yes
    scgru      GRU    yes     yes

Two heads: the next word given the state; with tags, the next tag given the state and, if the heads are `joined`, the
next word. The published heads are `apart`, each given the state alone: then words and tags that are drawn do not agree,
and the next step sees pairs that no headline has.

Privacy: none by itself; weights carry the guarantee of their training.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_softmax

from tacita.synthesize.text.vocabulary import Vocabulary

__all__ = [
    "KINDS",
    "Arithmetic",
    "Heads",
    "Kind",
    "Sizes",
    "initial_weights",
    "numpy_arithmetic",
    "run_layers",
    "tag_logs",
]

Heads = Literal["joined", "apart"]
Array = NDArray[np.float32]


@dataclass(frozen=True, kw_only=True)
class Kind:
    """Cell of a generator, and what it sees besides words."""

    cell: Literal["lstm", "gru"]
    topic: bool
    tags: bool

    @property
    def gates(self) -> int:
        """Blocks of the cell's matrices."""
        return 4 if self.cell == "lstm" else 3


KINDS: Mapping[str, Kind] = MappingProxyType(
    {
        "baseline": Kind(cell="lstm", topic=False, tags=False),
        "clstm": Kind(cell="lstm", topic=True, tags=False),
        "cgru": Kind(cell="gru", topic=True, tags=False),
        "sclstm": Kind(cell="lstm", topic=True, tags=True),
        "scgru": Kind(cell="gru", topic=True, tags=True),
    }
)


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """Widths of the embeddings of words, of tags and of topics, and of the state."""

    words: int
    tags: int
    topics: int
    hidden: int


@dataclass(frozen=True)
class Arithmetic:
    """Functions that numpy and torch spell differently, and dropout before the heads."""

    take: Any
    join: Any
    sigmoid: Any
    tanh: Any
    log_softmax: Any
    zeros: Any
    drop: Any


def numpy_arithmetic() -> Arithmetic:
    """Arithmetic of numpy; torch is not needed."""
    return Arithmetic(
        take=lambda table, codes: table[codes],
        join=lambda parts: np.concatenate(parts, axis=-1),
        sigmoid=expit,
        tanh=np.tanh,
        log_softmax=lambda values: log_softmax(values, axis=-1),
        zeros=lambda like, width: np.zeros((*like.shape[:-1], width), np.float32),
        drop=lambda state: state,
    )


def initial_weights(
    kind: Kind, sizes: Sizes, vocabulary: Vocabulary, rng: np.random.Generator, *, heads: Heads = "joined"
) -> dict[str, Array]:
    """Draw weights before training, by name; reads the sizes of the vocabulary only."""
    inputs = sizes.words + (sizes.topics if kind.topic else 0) + (sizes.tags if kind.tags else 0)
    shapes: dict[str, tuple[int, ...]] = {"words": (vocabulary.size, sizes.words)}
    if kind.topic:
        shapes["topics"] = (len(vocabulary.topics), sizes.topics)
    if kind.tags:
        shapes["tags"] = (vocabulary.tag_size, sizes.tags)
    blocks = kind.gates * sizes.hidden
    shapes |= {"inputs": (blocks, inputs), "states": (blocks, sizes.hidden)}
    shapes |= {"input_offsets": (blocks,), "state_offsets": (blocks,)}
    shapes |= {"next_word": (vocabulary.size, sizes.hidden), "next_word_offsets": (vocabulary.size,)}
    if kind.tags:
        shapes |= {"next_tag": (vocabulary.tag_size, sizes.hidden), "next_tag_offsets": (vocabulary.tag_size,)}
        if heads == "joined":
            shapes["tag_of_word"] = (vocabulary.tag_size, sizes.words)
    return {name: _draw(name, shape, sizes, rng) for name, shape in shapes.items()}


def _draw(name: str, shape: tuple[int, ...], sizes: Sizes, rng: np.random.Generator) -> Array:
    if name in ("words", "topics", "tags"):
        return rng.standard_normal(shape).astype(np.float32) * np.float32(0.3)
    bound = 1 / math.sqrt(sizes.hidden)
    return rng.uniform(-bound, bound, shape).astype(np.float32)


def run_layers(
    kind: Kind, weights: Mapping[str, Any], words: Any, tags: Any, topics: Any, ops: Arithmetic, *, last: bool = False
) -> list[tuple[Any, Any]]:
    """Log-probabilities of the next word after each word of a window; scores of the next tag for `tag_logs`, or None.

    Args:
        kind: Cell and inputs.
        weights: Arrays of numpy or of torch, by name.
        words, tags: (..., window) codes.
        topics: (...) codes.
        ops: Arithmetic of these arrays.
        last: Only after the last word.
    """
    state = memory = None
    found = []
    for at in range(words.shape[-1]):
        parts = [ops.take(weights["words"], words[..., at])]
        if kind.topic:
            parts.append(ops.take(weights["topics"], topics))
        if kind.tags:
            parts.append(ops.take(weights["tags"], tags[..., at]))
        given = ops.join(parts)
        if state is None:
            state = memory = ops.zeros(given, weights["states"].shape[1])
        state, memory = _step(kind, weights, given, state, memory, ops)
        if last and at < words.shape[-1] - 1:
            continue
        seen = ops.drop(state)
        next_word = ops.log_softmax(seen @ weights["next_word"].T + weights["next_word_offsets"])
        next_tag = None
        if kind.tags:
            next_tag = seen @ weights["next_tag"].T + weights["next_tag_offsets"]
        found.append((next_word, next_tag))
    return found


def tag_logs(weights: Mapping[str, Any], scores: Any, next_words: Any, ops: Arithmetic) -> Any:
    """Log-probabilities of the next tag, given its scores of `run_layers` and the codes of the next words."""
    if "tag_of_word" in weights:
        scores = scores + ops.take(weights["words"], next_words) @ weights["tag_of_word"].T
    return ops.log_softmax(scores)


def _step(
    kind: Kind, weights: Mapping[str, Any], given: Any, state: Any, memory: Any, ops: Arithmetic
) -> tuple[Any, Any]:
    """One step of the cell; gates in the order of torch."""
    width = weights["states"].shape[1]
    new = given @ weights["inputs"].T + weights["input_offsets"]
    old = state @ weights["states"].T + weights["state_offsets"]
    if kind.cell == "lstm":
        both = new + old
        into, forget, candidate, out = (both[..., at * width : (at + 1) * width] for at in range(4))
        memory = ops.sigmoid(forget) * memory + ops.sigmoid(into) * ops.tanh(candidate)
        return ops.sigmoid(out) * ops.tanh(memory), memory
    reset = ops.sigmoid(new[..., :width] + old[..., :width])
    update = ops.sigmoid(new[..., width : 2 * width] + old[..., width : 2 * width])
    candidate = ops.tanh(new[..., 2 * width :] + reset * old[..., 2 * width :])
    return (1 - update) * candidate + update * state, memory
