"""Training a network of `layers`: privately with the loop of `nets`, or plainly on what is released. Needs torch.

    loss of a row    classes: minus the log of its class's probability;   number: (output - y)^2 / 2
    what leaves      the mean of the weights after the last half of the steps: post-processing, and less noise

Privacy:  that of `PrivateTraining`; nothing else here reads a row.   Claim: docs/claims/dp-sgd.md
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tacita.common.progress import step as note_step
from tacita.learn.feature_map import Array, Points
from tacita.learn.neural.layers import Layers
from tacita.models.neural.backend import load_torch
from tacita.models.neural.clipping import UnitLoss
from tacita.models.neural.training import PrivateTraining, Steps
from tacita.noise import Source

__all__ = ["Progress", "loss_of", "module_of", "train_plainly", "train_privately"]

Progress = Callable[[float], None]

_STEPS = 1500
_ROWS = 256
_LEARNING = 0.01


def module_of(layers: Layers) -> Any:
    """The same network in torch."""
    torch = load_torch()
    parts: list[Any] = []
    for weight, bias in zip(layers.weights, layers.biases, strict=True):
        linear = torch.nn.Linear(weight.shape[1], weight.shape[0], dtype=torch.float64)
        with torch.no_grad():
            linear.weight.copy_(torch.from_numpy(weight))
            linear.bias.copy_(torch.from_numpy(bias))
        parts += [linear, torch.nn.Tanh()]
    return torch.nn.Sequential(*parts[:-1])


def loss_of(module: Any, *, classes: bool) -> UnitLoss:
    """The loss of one row, of the weights by name."""
    torch = load_torch()

    def loss(weights: Any, row: Any, target: Any) -> Any:
        output = torch.func.functional_call(module, weights, (row,))
        if classes:
            return torch.nn.functional.cross_entropy(output, target)
        return (output[0] - target) ** 2 / 2

    return loss


def train_privately(
    layers: Layers,
    points: Points,
    law: Steps,
    *,
    classes: bool,
    learning_rate: float,
    expected: float,
    source: Source,
    progress: Progress | None = None,
) -> Layers:
    """Run all steps that are paid for, on these rows; each row is a unit. The number of steps is public."""
    torch = load_torch()
    module = module_of(layers)
    rows, targets = _tensors(points.x, points.y, classes)
    training = PrivateTraining(
        law,
        module,
        torch.optim.SGD(module.parameters(), lr=learning_rate),
        loss_of(module, classes=classes),
        units=len(points),
        take=lambda chosen: (rows[chosen], targets[chosen]),
        expected=expected,
        source=source,
    )
    return _mean_of(module, law.steps, training.step, progress)


def train_plainly(
    layers: Layers, x: Array, y: Array, weights: Array, rng: np.random.Generator, *, classes: bool
) -> Layers:
    """Steps without noise on released rows, drawn by what they weigh."""
    torch = load_torch()
    if not len(y) or not weights.sum():  # nothing was released: the network as it starts
        return layers
    module = module_of(layers)
    optimiser = torch.optim.Adam(module.parameters(), lr=_LEARNING)
    loss = torch.nn.functional.cross_entropy if classes else torch.nn.functional.mse_loss
    rows, targets = _tensors(x, y, classes)
    chances = weights / weights.sum()

    def step() -> None:
        chosen = torch.from_numpy(rng.choice(len(y), _ROWS, p=chances))
        optimiser.zero_grad()
        output = module(rows[chosen])
        loss(output if classes else output[:, 0], targets[chosen]).backward()
        optimiser.step()

    return _mean_of(module, _STEPS, step)


def _tensors(x: Array, y: Array, classes: bool) -> tuple[Any, Any]:
    torch = load_torch()
    targets = torch.from_numpy(np.array(y, float))
    return torch.from_numpy(np.ascontiguousarray(x)), targets.long() if classes else targets


def _mean_of(module: Any, steps: int, step: Callable[[], None], progress: Progress | None = None) -> Layers:
    """Make all steps; the mean of the weights over the last half."""
    torch = load_torch()
    total, count = [torch.zeros_like(weight) for weight in module.parameters()], 0
    for done in range(1, steps + 1):
        note_step("training", done / steps)
        step()
        if progress is not None:
            progress(done / steps)
        if done > math.floor(steps / 2):
            total, count = [a + b.detach() for a, b in zip(total, module.parameters(), strict=True)], count + 1
    found = [(weight / count).numpy() for weight in total]
    return Layers(tuple(found[0::2]), tuple(found[1::2]))
