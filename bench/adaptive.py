"""Ordered levels at one true epsilon: randomized response, the fixed hybrid, and a matrix that is refitted in blocks.

Three errors, over distributions of eight ordered levels: the mean penalty of a report |i - r| under the true shares,
the total variance of the estimated shares, and the distance between estimated and true distribution along the order
(Wasserstein, in levels). Every channel loses at most the same epsilon over all pairs of levels, in its integers.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
from numpy.typing import NDArray

from bench.rows import Row
from tacita.collect.channels.channel import RandomizedResponse
from tacita.collect.channels.geometric import distance_loss, geometric_channel, hybrid_channel
from tacita.collect.channels.matrix import MatrixChannel
from tacita.collect.channels.protocol import EnumerableChannel
from tacita.collect.protocols.adaptive_matrix import MatrixRounds
from tacita.collect.protocols.rrba_rounds import simulate
from tacita.domain import Domain, Ordinal
from tacita.errors import InvalidInput
from tacita.noise import SeededSource
from tacita.tables.simplex import norm_sub

LEVELS, PEOPLE, BLOCKS = 8, 8000, 8
COST = distance_loss(LEVELS)
Array = NDArray[np.float64]


def _truths() -> dict[str, Array]:
    places = np.arange(LEVELS)
    shapes = {
        "even": np.ones(LEVELS),
        "falling": 0.6**places,
        "middle": np.exp(-((places - 3.5) ** 2) / 3),
        "two ends": np.exp(-(np.minimum(places, LEVELS - 1 - places) ** 2)),
    }
    return {name: shape / shape.sum() for name, shape in shapes.items()}


def run(*, quick: bool) -> list[Row]:
    rows = []
    for epsilon, (name, truth) in product((1.0, 2.0), _truths().items()):
        found = _compared(truth, epsilon, trials=5 if quick else 40)
        for what, unit in (("penalty of a report", "levels"), ("total variance", "x 1e-3"), ("Wasserstein", "levels")):
            plain = found["randomized response"][what]
            best = min(found, key=lambda way: found[way][what])
            for way in ("geometric", "hybrid", "refitted, floor 0.5", "refitted, floor 0.1"):
                rows.append(
                    Row(
                        bar=f"{what}: {way}, {name}, epsilon {epsilon:g}",
                        ours=found[way][what],
                        peer=plain,
                        peer_name="randomized response",
                        unit=unit,
                        note=f"least: {best}",
                    )
                )
    return rows


def _compared(truth: Array, epsilon: float, trials: int) -> dict[str, dict[str, float]]:
    fixed: dict[str, EnumerableChannel] = {
        "randomized response": RandomizedResponse.k_ary(levels=LEVELS, epsilon=epsilon),
        "geometric": geometric_channel(levels=LEVELS, epsilon=epsilon),
        "hybrid": _best_hybrid(epsilon),
    }
    found = {name: _fixed(channel, truth, trials) for name, channel in fixed.items()}
    for floor in (0.5, 0.1):
        found[f"refitted, floor {floor:g}"] = _refitted(truth, epsilon, floor, trials)
    return found


def _best_hybrid(epsilon: float) -> MatrixChannel:
    """The mixture of truth and geometric noise with the least total variance among those within epsilon."""
    best, least = None, np.inf
    even = np.full(LEVELS, 1 / LEVELS)
    for keep, ratio in product(np.arange(0, 60) / 100, np.arange(20, 99) / 100):
        try:
            channel = hybrid_channel(levels=LEVELS, ratio=_fraction(ratio), keep=_fraction(keep))
            variance = float(channel.covariance(even, respondents=1).variance().sum())
        except InvalidInput:
            continue
        if channel.epsilon_upper <= epsilon and variance < least:
            best, least = channel, variance
    assert best is not None, "some hybrid is within every epsilon"
    return best


def _fraction(value: float) -> Fraction:
    return Fraction(round(100 * float(value)), 100)


def _errors(estimate: Array, truth: Array) -> tuple[float, float]:
    near = np.asarray(norm_sub(estimate).frequencies)
    return float(((estimate - truth) ** 2).sum()), float(np.abs(np.cumsum(near - truth)).sum())


def _fixed(channel: EnumerableChannel, truth: Array, trials: int) -> dict[str, float]:
    rng, errors = np.random.default_rng(1), []
    for _ in range(trials):
        counts = rng.multinomial(PEOPLE, truth @ channel.matrix())
        errors.append(_errors(np.asarray(channel.estimate(counts).frequencies), truth))
    return _summary(float((truth[:, None] * COST * channel.matrix()).sum()), errors)


def _refitted(truth: Array, epsilon: float, floor: float, trials: int) -> dict[str, float]:
    domain = Domain(attributes=[Ordinal(name="level", levels=[str(level) for level in range(LEVELS)])])
    rng, errors, penalties = np.random.default_rng(1), [], []
    for trial in range(trials):
        rounds = MatrixRounds(domain, epsilon=epsilon, floor=floor, block_size=PEOPLE // BLOCKS)
        simulate(rounds, rng.choice(LEVELS, PEOPLE, p=truth), SeededSource(trial))
        assert rounds.epsilon_upper <= epsilon
        errors.append(_errors(np.asarray(rounds.estimate().frequencies), truth))
        each = [float((truth[:, None] * COST * block.channel.matrix()).sum()) for block in rounds.blocks]
        penalties.append(float(np.mean(each)))
    return _summary(float(np.mean(penalties)), errors)


def _summary(penalty: float, errors: list[tuple[float, float]]) -> dict[str, float]:
    variance, along = np.mean(errors, axis=0)
    return {"penalty of a report": penalty, "total variance": 1000 * float(variance), "Wasserstein": float(along)}
