"""Broken mechanisms: the published errors that this project corrects, and common implementation errors.

Each entry runs on two neighbours and claims an epsilon that it does not have. They test the auditor, which must refute
every entry. Nothing in the library uses them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacita.assess.audit.attack import Mechanism

__all__ = ["BROKEN", "Broken"]


_GRID = 2.0**16


@dataclass(frozen=True, kw_only=True)
class Broken:
    """A mechanism, two neighbours, its claim, and the reason why the claim is wrong."""

    name: str
    mechanism: Mechanism
    one: Any
    other: Any
    claimed: float
    why: str
    delta: float = 0.0


def _noise(rng: np.random.Generator, scale: float, size: Any, kind: str = "laplace") -> NDArray[np.float64]:
    """Draw noise on a fine grid, so that only the error of an entry can reveal it, and not its last digits."""
    draw: Callable[..., NDArray[np.float64]] = getattr(rng, kind)
    return np.rint(draw(scale=scale, size=size) * _GRID) / _GRID


def _float_laplace(value: float, times: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Draw Laplace noise as textbooks do: by the logarithm of a uniform number, in floating point."""
    uniform = rng.random(times) - 0.5
    noise: NDArray[np.float64] = -np.sign(uniform) * np.log1p(-2 * np.abs(uniform))
    return np.asarray(value + noise)


def _fixed_seed(value: float, times: int, rng: np.random.Generator) -> NDArray[np.float64]:
    return np.full(times, value + np.random.default_rng(0).laplace())


def _laplace(scale: float) -> Mechanism:
    """Return a mechanism that adds noise of this scale to every number of a vector."""

    def run(values: NDArray[np.float64], times: int, rng: np.random.Generator) -> NDArray[np.float64]:
        start = np.atleast_1d(values)
        return np.asarray(start + _noise(rng, scale, (times, len(start))))

    return run


def _gaussian_of_pure(value: float, times: int, rng: np.random.Generator) -> NDArray[np.float64]:
    return np.asarray(value + _noise(rng, 1.0, times, "normal"))


def _data_bounds(values: NDArray[np.float64], times: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Compute a mean with noise that is scaled to the range of the data itself."""
    values = np.asarray(values, np.float64)
    width = values.max() - values.min()
    return np.asarray(values.mean() + rng.laplace(scale=max(width, 1e-9) / len(values), size=times))


def _proportional(scores: NDArray[np.float64], times: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw candidates in proportion to their scores: the exponential mechanism without its exponential."""
    return rng.choice(len(scores), times, p=scores / scores.sum())


def _exponential(epsilon: float, sensitivity: float) -> Mechanism:
    def run(scores: NDArray[np.float64], times: int, rng: np.random.Generator) -> NDArray[np.int64]:
        weights = np.exp(epsilon * (scores - scores.max()) / (2 * sensitivity))
        return rng.choice(len(scores), times, p=weights / weights.sum())

    return run


def _argmax(scores: NDArray[np.float64], times: int, rng: np.random.Generator) -> NDArray[np.int64]:
    return np.full(times, int(np.argmax(scores)))


def _noisy_max_with_value(counts: NDArray[np.float64], times: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Report noisy max with noise for the choice alone, together with the winning noisy count."""
    noisy = counts + _noise(rng, 1.0, (times, len(counts)))
    return np.asarray(noisy.max(axis=1))


def _clipped_only(gradients: NDArray[np.float64], times: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Add noise to a sum of gradients that are not clipped."""
    return np.asarray(gradients.sum() + _noise(rng, 1.0, times, "normal"))


def _loss_noise(losses: NDArray[np.float64], times: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Add noise to the loss: its gradient, which trains the model, has none."""
    noisy = losses.mean() + rng.normal(scale=10.0, size=times)
    return np.asarray(np.full(times, losses.mean()) + 0.0 * noisy)


def _blocks(block: NDArray[np.int64], times: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Randomise a block of answers with one coin each, but charge for one coin."""
    flipped = rng.random((times, len(block))) < 0.25
    return np.asarray(np.where(flipped, 1 - block, block) @ (1 << np.arange(len(block))))


def _thresholded(counts: NDArray[np.float64], times: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Add noise to counts above 0 only, which reveals a person who is alone in a cell."""
    noisy = counts + _noise(rng, 1.0, (times, len(counts)))
    return np.asarray(np.where(counts > 0, noisy, 0.0).sum(axis=1))


def _averaged(value: float, times: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Give ten fresh answers to one question, charged as one."""
    return np.asarray((value + _noise(rng, 1.0, (times, 10))).mean(axis=1))


_neighbour: Callable[..., NDArray[np.float64]] = lambda *values: np.array(values, np.float64)  # noqa: E731

BROKEN: tuple[Broken, ...] = (
    Broken(
        name="laplace in floating point",
        mechanism=_float_laplace,
        one=0.0,
        other=1.0,
        claimed=1.0,
        why="the set of possible outputs depends on the answer: their last digits reveal it",
    ),
    Broken(
        name="fixed seed",
        mechanism=_fixed_seed,
        one=0.0,
        other=1.0,
        claimed=1.0,
        why="the same noise every time is no noise",
    ),
    Broken(
        name="histogram, replace-one, sensitivity 1",
        mechanism=_laplace(1.0),
        one=_neighbour(1, 0),
        other=_neighbour(0, 1),
        claimed=1.0,
        why="a replaced person leaves one cell and joins another: the counts move by 2",
    ),
    Broken(
        name="noise over k + 1 tables charged as one",
        mechanism=_laplace(1.0),
        one=_neighbour(1, 1, 1),
        other=_neighbour(0, 0, 0),
        claimed=1.0,
        why="every table moves: the noise must be for all of them",
    ),
    Broken(
        name="gaussian sold as pure",
        mechanism=_gaussian_of_pure,
        one=0.0,
        other=1.0,
        claimed=1.0,
        why="Gaussian noise has no finite epsilon without a delta",
    ),
    Broken(
        name="mean with the bounds of the data",
        mechanism=_data_bounds,
        one=_neighbour(*([0.0] * 9), 0.001),
        other=_neighbour(*([0.0] * 9), 1.0),
        claimed=1.0,
        why="the scale of the noise itself reveals the largest value",
    ),
    Broken(
        name="drawn in proportion to the score",
        mechanism=_proportional,
        one=_neighbour(0.0, 1.0),
        other=_neighbour(1.0, 1.0),
        claimed=1.0,
        why="without the exponential a score of 0 is never drawn",
    ),
    Broken(
        name="mutual information with half its sensitivity",
        mechanism=_exponential(1.0, 0.5),
        one=_neighbour(1.0, *([0.0] * 30)),
        other=_neighbour(0.0, *([1.0] * 30)),
        claimed=1.0,
        why="scores that move by 1 were given noise for one half",
    ),
    Broken(
        name="vote of the true best",
        mechanism=_argmax,
        one=_neighbour(1.0, 0.9),
        other=_neighbour(0.9, 1.0),
        claimed=1.0,
        why="majority voting over true maxima has no noise at all",
    ),
    Broken(
        name="noisy max, value included",
        mechanism=_noisy_max_with_value,
        one=_neighbour(3, 3, 3, 3),
        other=_neighbour(2, 2, 2, 2),
        claimed=1.0,
        why="the choice is paid for, the winning count is not: every count moved",
    ),
    Broken(
        name="gradients without clipping",
        mechanism=_clipped_only,
        one=_neighbour(*([0.1] * 20)),
        other=_neighbour(*([0.1] * 20), 25.0),
        claimed=5.0,
        delta=1e-5,
        why="one person's gradient has no bound",
    ),
    Broken(
        name="noise on the loss",
        mechanism=_loss_noise,
        one=_neighbour(0.2, 0.4),
        other=_neighbour(0.2, 0.4, 0.9),
        claimed=1.0,
        why="a constant has no gradient: training goes as if there were no noise",
    ),
    Broken(
        name="block of answers charged for one",
        mechanism=_blocks,
        one=np.zeros(4, np.int64),
        other=np.ones(4, np.int64),
        claimed=math.log(3),
        why="four coins cost four times one coin",
    ),
    Broken(
        name="noise on occupied cells only",
        mechanism=_thresholded,
        one=_neighbour(0, 5),
        other=_neighbour(1, 5),
        claimed=1.0,
        why="an empty cell is released as exactly nothing",
    ),
    Broken(
        name="asked ten times, charged once",
        mechanism=_averaged,
        one=0.0,
        other=1.0,
        claimed=1.0,
        why="the mean of ten answers has a tenth of the noise's variance",
    ),
    Broken(
        name="privacy at risk as probabilistic privacy",
        mechanism=_laplace(1 / 2.0),
        one=_neighbour(0.0),
        other=_neighbour(1.0),
        claimed=1.2,
        delta=1 - (1 - math.exp(-1.2)) / (1 - math.exp(-2.0)),
        why="the published confidence of 0.808 is no delta: the true one at epsilon 1.2 is 0.330",
    ),
)
