"""Intervals of paired trials cover together, at every look, and equal releases have no winner too often."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from tacita.assess.compare.trials import PairedTrials, look_sizes
from tacita.errors import InvalidInput

MOST = 24
RUNS = 400
ALLOWED = 0.05 + 4.8 * math.sqrt(0.05 * 0.95 / RUNS)  # a rate of 5 % exceeds it with a probability below 1e-6

LAWS = {
    "normal": lambda rng, shape: 0.8 + 0.01 * rng.normal(size=shape),
    "skewed": lambda rng, shape: 0.02 * rng.exponential(size=shape),
    "clipped at 0": lambda rng, shape: np.maximum(0, 0.02 * rng.normal(size=shape)),
    "two values": lambda rng, shape: 0.2 + 0.1 * (rng.random(shape) < 0.5),
    "rare": lambda rng, shape: 0.3 * (rng.random(shape) < 0.1),
    "heavy tails": lambda rng, shape: np.clip(0.5 + 0.002 * rng.standard_t(2, size=shape), 0, 1),
}


def trials_of(kept: np.ndarray, count: int, *, releases: int | None = None) -> PairedTrials:
    """The first trials of releases, a column each."""
    figures = {f"r{place}": np.stack([column[:count]] * 2, axis=1) for place, column in enumerate(kept.T)}
    return PairedTrials(figures=figures, releases=releases or len(figures), most=MOST)


def distinguished(paired: PairedTrials) -> bool:
    """Whether any two releases are distinguished; without such a pair there is no winner."""
    names = list(paired.figures)
    gaps = [paired.difference(one, other, "kept") for one in names for other in names if one < other]
    return any(gap.low > 0 or gap.high < 0 for gap in gaps)


def winner(paired: PairedTrials) -> bool:
    """Whether one release is distinguished from all others."""
    names = list(paired.figures)
    return any(all(paired.difference(one, other, "kept").low > 0 for other in names if other != one) for one in names)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("releases", [2, 4])
def test_equal_releases_have_a_winner_at_most_once_in_twenty(law: str, releases: int) -> None:
    """No two of them are distinguished at any look more often; the trials share a part, as paired ones do."""
    rng = np.random.default_rng(5)
    won = 0
    for _ in range(RUNS):
        kept = LAWS[law](rng, (MOST, releases)) / 2 + LAWS[law](rng, (MOST, 1)) / 2
        won += any(distinguished(trials_of(kept, size)) for size in look_sizes(MOST))
    assert won / RUNS <= ALLOWED


def test_all_intervals_cover_at_all_looks_together() -> None:
    rng = np.random.default_rng(6)
    centres = np.array([0.5, 0.5, 0.52, 0.6])
    missed = 0
    for _ in range(RUNS):
        kept = centres + 0.02 * rng.normal(size=(MOST, 4)) + 0.05 * rng.normal(size=(MOST, 1))
        missed += any(not covers(trials_of(kept, size), centres) for size in look_sizes(MOST))
    assert missed / RUNS <= ALLOWED


def covers(paired: PairedTrials, centres: np.ndarray) -> bool:
    """Whether every interval contains its true value."""
    names = list(paired.figures)
    for i, one in enumerate(names):
        low, high = paired.estimate(one, "kept")[1:3]
        if not low <= centres[i] <= high:
            return False
        for j, other in enumerate(names):
            gap = paired.difference(one, other, "kept")
            if i != j and not gap.low <= centres[i] - centres[j] <= gap.high:
                return False
    return True


def test_a_fixed_level_at_each_look_would_fail() -> None:
    """The same looks with plain 95 % intervals of each pair distinguish equal releases far too often."""
    rng = np.random.default_rng(7)
    won = 0
    for _ in range(RUNS):
        kept = LAWS["normal"](rng, (MOST, 4))
        won += any(naively_distinguished(kept[:size]) for size in look_sizes(MOST))
    assert won / RUNS > ALLOWED


def naively_distinguished(kept: np.ndarray) -> bool:
    """Whether a plain interval distinguishes any two releases."""
    gaps = kept[:, :, None] - kept[:, None, :]
    half = stats.t.ppf(0.975, len(kept) - 1) * gaps.std(axis=0, ddof=1) / math.sqrt(len(kept))
    return bool((gaps.mean(axis=0) - half > 0).any())


def test_a_clear_winner_is_found_at_the_first_look() -> None:
    rng = np.random.default_rng(8)
    kept = np.array([0.7, 0.8, 0.9]) + 0.002 * rng.normal(size=(6, 3)) + 0.1 * rng.normal(size=(6, 1))
    paired = trials_of(kept, 6)
    assert winner(paired)
    assert paired.difference("r2", "r1", "kept").value == pytest.approx(0.1, abs=0.01)
    apart = [paired.estimate(name, "kept") for name in ("r1", "r2")]
    assert apart[0].high > apart[1].low  # without pairing, what trials share would hide it


def test_the_interval_is_students() -> None:
    values = np.array([0.1, 0.4, 0.2, 0.35, 0.3, 0.25])
    paired = trials_of(np.stack([values, np.zeros(6)], axis=1), 6)
    assert paired.alpha == pytest.approx(0.05 / (4 * 2 * 3))
    low, high = stats.t.interval(1 - paired.alpha, 5, values.mean(), stats.sem(values))
    gap = paired.difference("r0", "r1", "kept")
    assert (gap.low, gap.high) == pytest.approx((low, high))
    assert paired.estimate("r0", "kept").low == pytest.approx(max(0, low))
    assert gap.trials == 6


def test_releases_that_ended_early_are_paired_over_common_trials() -> None:
    rng = np.random.default_rng(9)
    long, short = rng.random((10, 2)), rng.random((6, 2))
    paired = PairedTrials(figures={"long": long, "short": short}, releases=2, most=MOST)
    cut = PairedTrials(figures={"long": long[:6], "short": short}, releases=2, most=MOST)
    assert paired.difference("long", "short", "risk") == cut.difference("long", "short", "risk")
    assert paired.trials == 10


def test_equal_trials_are_known_only_when_a_sign_test_could_reject() -> None:
    """All trials alike show no spread; six equal ones of a fair coin are no rarity."""
    constant = np.tile([0.3, 0.2], (MOST, 1))
    few, many = trials_of(constant, 6), trials_of(constant, MOST)
    assert few.difference("r0", "r1", "kept")[1:3] == (-1, 1)
    assert few.estimate("r0", "kept")[1:3] == (0, 1)
    assert 2.0 ** (1 - MOST) <= many.alpha < 2.0 ** (1 - 6)
    gap = many.difference("r0", "r1", "kept")
    assert gap.low == gap.high == pytest.approx(0.1)


def test_looks() -> None:
    assert look_sizes(1) == (1,)
    assert look_sizes(6) == (6,)
    assert look_sizes(24) == (6, 10, 16, 24)
    for most in range(1, 300):
        sizes = look_sizes(most)
        assert sizes[-1] == most
        assert list(sizes) == sorted(set(sizes))
    with pytest.raises(InvalidInput):
        look_sizes(0)
