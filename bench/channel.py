"""k-ary randomized response: the epsilon that runs, the law that is drawn, the intervals that are stated.

Everything is compared with a computation of its own: epsilon by exact enumeration of all integer weights, the law by
a chi-square test of a million secure answers, coverage by a thousand simulated collections. Speed stands beside
OpenDP's.
"""

from __future__ import annotations

import itertools
from fractions import Fraction
from importlib.metadata import version

import mpmath
import numpy as np
import opendp.prelude as dp
from scipy import stats

from bench.rows import Row, cpu
from tacita.collect import RandomizedResponse
from tacita.noise import SecureSource, SeededSource

LEVELS, EPSILONS = (2, 3, 5, 10, 100, 1000), (0.1, 0.5, 1.0, 2.0, 4.0, 8.0)


def run(*, quick: bool) -> list[Row]:
    grid = list(itertools.product(LEVELS, EPSILONS))
    return [
        _epsilon(grid),
        _asked(grid),
        _law(grid, 10**5 if quick else 10**6),
        *_coverage(200 if quick else 1000),
        _speed(),
    ]


def _channels(grid: list[tuple[int, float]]) -> list[tuple[float, RandomizedResponse]]:
    return [(epsilon, RandomizedResponse.k_ary(levels=levels, epsilon=epsilon)) for levels, epsilon in grid]


def _epsilon(grid: list[tuple[int, float]]) -> Row:
    worst = 0.0
    with mpmath.workdps(40):
        for _, channel in _channels(grid):
            weights = channel.weights()
            top, bottom = weights.max(axis=0), weights.min(axis=0)
            ratio = max(Fraction(int(a), int(b)) for a, b in zip(top, bottom, strict=True))
            exact = mpmath.log(mpmath.mpf(ratio.numerator) / ratio.denominator)
            worst = max(worst, float(abs(exact - channel.epsilon)))
    note = f"grid of {len(grid)}: k in {LEVELS}, epsilon in {EPSILONS}"
    return Row(bar="stated minus enumerated epsilon, largest", ours=worst, unit="epsilon", goal="<= 1e-12", note=note)


def _asked(grid: list[tuple[int, float]]) -> Row:
    over = sum(channel.epsilon_upper > epsilon for epsilon, channel in _channels(grid))
    return Row(bar="channels that lose more than was asked for", ours=over, unit="channels", goal="= 0")


def _law(grid: list[tuple[int, float]], answers: int) -> Row:
    lowest = 1.0
    for _, channel in _channels(grid):
        truth = np.full(answers, channel.levels // 2)
        seen = np.bincount(channel.randomize(truth, SecureSource()), minlength=channel.levels)
        lowest = min(lowest, stats.chisquare(seen, channel.matrix()[channel.levels // 2] * answers).pvalue)
    # the smallest of as many p-values, so that the whole grid passes by chance in 999 of 1,000 runs
    limit = 1 - 0.999 ** (1 / len(grid))
    note = f"{answers:,} secure answers for each channel of the grid; limit for the smallest of {len(grid)} p-values"
    return Row(bar="chi-square of drawn answers, smallest p", ours=lowest, unit="p", goal=f">= {limit:.2g}", note=note)


def _coverage(collections: int) -> list[Row]:
    rows = []
    for about in ("population", "respondents"):
        shares = []
        for levels, epsilon, people in ((3, 0.5, 2000), (5, 1.0, 2000), (10, 2.0, 5000), (20, 4.0, 2000)):
            shares.append(_covered(levels, epsilon, people, about, collections))
        note = f"{collections} simulated collections for each of 4 settings, truth about Zipf"
        for name, figure, goal in (("lowest", min(shares), ">= 0.93"), ("highest", max(shares), "<= 0.97")):
            bar = f"95 % intervals about {about}, {name} coverage"
            rows.append(Row(bar=bar, ours=figure, unit="share", goal=goal, note=note))
    return rows


def _covered(levels: int, epsilon: float, people: int, about: str, collections: int) -> float:
    channel = RandomizedResponse.k_ary(levels=levels, epsilon=epsilon)
    truth = 1 / np.arange(1, levels + 1)
    truth /= truth.sum()
    source, rng = SeededSource(levels), np.random.default_rng(levels)
    inside = []
    for _ in range(collections):
        values = rng.choice(levels, people, p=truth)
        counts = np.bincount(channel.randomize(values, source), minlength=levels)
        actual = truth if about == "population" else np.bincount(values, minlength=levels) / people
        inside.append(channel.estimate(counts, about=about).interval(0.95).covers(actual).mean())
    return float(np.mean(inside))


def _speed() -> Row:
    channel = RandomizedResponse.k_ary(levels=100, epsilon=1.0)
    truth, source = np.arange(10**6) % 100, SecureSource()
    channel.randomize(truth[:1000], source)
    ours = cpu(lambda: channel.randomize(truth, source), 5)[0]
    dp.enable_features("contrib")
    peer = dp.m.make_randomized_response([str(i) for i in range(100)], prob=float(channel.keep_probability))
    few = 2000
    theirs = cpu(lambda: [peer(str(i % 100)) for i in range(few)], 3)[0] * 10**6 / few
    note = f"OpenDP answers one at a time; {few:,} answers, scaled up"
    return Row(
        bar="a million answers, k = 100",
        ours=ours,
        peer=theirs,
        peer_name=f"opendp {version('opendp')}",
        unit="cpu_s",
        note=note,
    )
