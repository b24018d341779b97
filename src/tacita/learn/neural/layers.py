"""A network as plain arrays: layers of weights and biases with tanh between them. Predicts without torch.

    h = x;   h = tanh(h W' + b) for each hidden layer;   outputs = h W' + b of the last

tanh, since its outputs are bounded: clipped gradients keep their direction longer.  [Papernot et al. 2021]
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from tacita.errors import InvalidInput
from tacita.learn.feature_map import Array

__all__ = ["Layers"]

_LARGEST = 1e100  # so that no sum of so many overflows


@dataclass(frozen=True, eq=False)
class Layers:
    """Weights (outputs by inputs) and biases of each layer, in order."""

    weights: tuple[Array, ...] = field(repr=False)
    biases: tuple[Array, ...] = field(repr=False)

    def __post_init__(self) -> None:
        if not self.weights or len(self.weights) != len(self.biases):
            raise InvalidInput("must be at least one, each with its bias", field="layers", value=len(self.weights))
        given = self.weights[0].shape[-1]
        for weight, bias in zip(self.weights, self.biases, strict=True):
            if weight.ndim != 2 or weight.shape[1] != given or bias.shape != weight.shape[:1]:
                raise InvalidInput("must fit each other", field="layers", value=list(weight.shape))
            if not (np.abs(weight) <= _LARGEST).all() or not (np.abs(bias) <= _LARGEST).all():  # NaN is refused too
                raise InvalidInput(f"must be finite numbers of at most {_LARGEST:g}", field="layers")
            given = len(bias)

    @classmethod
    def drawn(cls, sizes: Sequence[int], rng: np.random.Generator) -> Layers:
        """Draw the weights that training starts from: reads no data.  [Glorot, Bengio 2010]"""
        weights, biases = [], []
        for before, after in pairwise(sizes):
            reach = math.sqrt(6 / (before + after))
            weights.append(rng.uniform(-reach, reach, (after, before)))
            biases.append(np.zeros(after))
        return cls(tuple(weights), tuple(biases))

    @property
    def inputs(self) -> int:
        """Columns of a row."""
        return int(self.weights[0].shape[1])

    @property
    def outputs(self) -> int:
        """Numbers that come out for each row."""
        return len(self.biases[-1])

    def __call__(self, x: Array) -> Array:
        """Outputs for each row."""
        for weight, bias in zip(self.weights[:-1], self.biases[:-1], strict=True):
            x = np.tanh(x @ weight.T + bias)
        return np.asarray(x @ self.weights[-1].T + self.biases[-1])

    def as_list(self) -> list[dict[str, Any]]:
        """Plain data."""
        pairs = zip(self.weights, self.biases, strict=True)
        return [{"weights": weight.tolist(), "bias": bias.tolist()} for weight, bias in pairs]

    @classmethod
    def from_list(cls, data: Sequence[dict[str, Any]]) -> Layers:
        """Read the output of `as_list`."""
        weights = tuple(np.array(layer["weights"], float) for layer in data)
        return cls(weights, tuple(np.array(layer["bias"], float) for layer in data))
