"""Poisoning: the bound against enumeration of all reports, the level of the test, attacks that it must find."""

import itertools

import numpy as np
import pytest

from tacita.collect.analysis.poisoning import excess_support, influence
from tacita.collect.channels.channel import RandomizedResponse
from tacita.collect.channels.geometric import geometric_channel
from tacita.collect.channels.hadamard import HadamardResponse
from tacita.collect.channels.hashing import LocalHashing
from tacita.collect.channels.matrix import MatrixChannel
from tacita.collect.channels.subset import SubsetSelection
from tacita.collect.channels.support import SupportChannel, support_moments
from tacita.collect.channels.unary import UnaryEncoding
from tacita.errors import InvalidInput
from tacita.noise import SeededSource

K = 5


def packed(bits):
    return np.packbits(np.array(bits, dtype=np.uint8), axis=1, bitorder="little")


def all_reports(channel):
    match channel:
        case RandomizedResponse():
            return np.arange(channel.levels)
        case UnaryEncoding():
            return packed(list(itertools.product((0, 1), repeat=channel.levels)))
        case SubsetSelection():
            return packed([[v in subset for v in range(channel.levels)] for subset in channel.subsets()])
        case HadamardResponse():
            return np.arange(2 * channel.rows)
        case MatrixChannel():
            return np.arange(channel.reports)
    raise AssertionError(channel)


CHANNELS = [
    RandomizedResponse.k_ary(levels=K, epsilon=1.0),
    RandomizedResponse(keep=3, fake=(1, 2, 3, 4, 5)),
    UnaryEncoding.optimised(levels=K, epsilon=1.0),
    UnaryEncoding.symmetric(levels=K, epsilon=2.0),
    SubsetSelection.of(levels=K, epsilon=0.5),
    SubsetSelection(levels=K, size=3, on=7, bits=3),
    HadamardResponse.of(levels=K, epsilon=1.0),
    geometric_channel(levels=K, epsilon=3.0),
]


@pytest.mark.parametrize("channel", CHANNELS, ids=lambda c: type(c).__name__)
@pytest.mark.parametrize("size", [1, 2, 4, 5])
def test_the_bound_is_the_worst_of_all_replaced_reports(channel, size):
    # every honest last report exchanged for every other, and every set of levels
    reports, others = all_reports(channel), 6
    base = channel.randomize(np.arange(others) % K, SeededSource(1))
    sums = []
    for report in reports:
        estimate = channel.estimate(channel.tally(np.concatenate([base, report[None]]))).frequencies
        sums.append([estimate[list(target)].sum() for target in itertools.combinations(range(K), size)])
    moved = np.ptp(np.array(sums), axis=0).max()
    assert moved == pytest.approx(influence(channel, others + 1).target(size), abs=1e-9)


def test_liars_add_up_and_hashing_stays_below():
    channel = LocalHashing.optimised(levels=K, epsilon=1.0)
    seeds = np.arange(3000, dtype=np.uint32)
    rows = np.concatenate([np.stack([seeds, np.full_like(seeds, cell)], axis=1) for cell in range(channel.cells)])
    target, bound = [0, 3], influence(channel, 1)
    sums = [channel.estimate(channel.tally(row[None])).frequencies[target].sum() for row in rows]
    assert np.ptp(sums) == pytest.approx(bound.target(2))
    thousand = influence(channel, 1000)
    assert thousand.target(2, liars=10) == pytest.approx(bound.target(2) / 100)
    assert thousand.share() == pytest.approx(1 / (1000 * float(channel.support_law.slope)))


@pytest.mark.parametrize(
    "channel", [c for c in CHANNELS if isinstance(c, SupportChannel)], ids=lambda c: type(c).__name__
)
def test_moments_are_those_of_all_reports(channel):
    sizes = np.array([channel.tally(report[None])[:-1].sum() for report in all_reports(channel)])
    mean, variance = support_moments(channel.support_law, K)
    for row in channel.matrix():
        assert row @ sizes == pytest.approx(float(mean))
        assert row @ sizes**2 - (row @ sizes) ** 2 == pytest.approx(float(variance), abs=1e-9)


HONEST = [
    UnaryEncoding.optimised(levels=40, epsilon=1.0),
    UnaryEncoding.symmetric(levels=7, epsilon=2.0),
    LocalHashing.optimised(levels=40, epsilon=1.0),
    HadamardResponse.of(levels=12, epsilon=1.0),
]


@pytest.mark.parametrize("channel", HONEST, ids=lambda c: type(c).__name__)
@pytest.mark.parametrize("skewed", [False, True])
def test_honest_reports_reject_at_the_stated_rate(channel, skewed):
    rng, source, trials = np.random.default_rng(5), SeededSource(6), 600
    found = []
    for _ in range(trials):
        values = np.zeros(1000, np.int64) if skewed else rng.integers(0, channel.levels, 1000)
        found.append(excess_support(channel, channel.tally(channel.randomize(values, source))).p_value)
    rejected = np.mean(np.array(found) < 0.05)
    assert abs(rejected - 0.05) < 4 * np.sqrt(0.05 * 0.95 / trials)


def test_all_ones_are_found_among_a_few_percent():
    channel = UnaryEncoding.optimised(levels=100, epsilon=1.0)
    honest = channel.randomize(np.random.default_rng(1).integers(0, 100, 4900), SeededSource(2))
    fakes = packed(np.ones((100, 100)))
    assert excess_support(channel, channel.tally(honest)).p_value > 0.001
    found = excess_support(channel, channel.tally(np.concatenate([honest, fakes])))
    assert found.z > 5
    assert found.p_value < 1e-6


def test_reports_crafted_for_a_target_set_are_found():
    channel, target, fakes = LocalHashing.optimised(levels=100, epsilon=1.0), range(10), 500
    honest = channel.randomize(np.random.default_rng(1).integers(0, 100, 9500), SeededSource(3))
    # the attacker looks for the seeds and cells that support most of the target
    seeds = np.arange(20_000, dtype=np.uint32)
    cells = np.stack([channel._cells(seeds, np.full(seeds.size, v)) for v in target])
    held = np.stack([(cells == cell).sum(axis=0) for cell in range(channel.cells)])
    best = np.argsort(held.max(axis=0))[-fakes:]
    crafted = np.stack([seeds[best], held.argmax(axis=0)[best].astype(np.uint32)], axis=1)
    before = excess_support(channel, channel.tally(honest))
    after = excess_support(channel, channel.tally(np.concatenate([honest, crafted])))
    assert before.p_value > 0.001
    assert after.p_value < 0.001
    # and they moved what they were made for, within the bound
    moved = np.array(
        [
            channel.estimate(channel.tally(rows)).frequencies[list(target)].sum()
            for rows in (np.concatenate([honest, crafted]), np.concatenate([honest, honest[:fakes]]))
        ]
    )
    assert 0.1 < moved[0] - moved[1] <= influence(channel, 10_000).target(10, fakes)


def test_a_liar_who_keeps_to_the_usual_number_is_not_found():
    # said on the claim page; if this ever fails, the page is wrong
    channel, rng = UnaryEncoding.optimised(levels=100, epsilon=1.0), np.random.default_rng(4)
    honest = channel.randomize(rng.integers(0, 100, 4750), SeededSource(2))
    mean = round(float(support_moments(channel.support_law, 100)[0]))
    bits = np.zeros((250, 100))
    for row in bits:
        row[:5] = 1
        row[rng.choice(np.arange(5, 100), mean - 5, replace=False)] = 1
    assert excess_support(channel, channel.tally(np.concatenate([honest, packed(bits)]))).p_value > 0.01


def test_where_the_total_tells_nothing():
    for channel in (RandomizedResponse.k_ary(levels=4, epsilon=1.0), geometric_channel(levels=4, epsilon=1.0)):
        answer = excess_support(channel, np.array([1, 2, 3, 4]))
        assert not answer.applicable
        assert "one code" in answer.why
    subset = SubsetSelection.of(levels=9, epsilon=0.5)
    reports = subset.randomize(np.arange(9), SeededSource(1))
    assert not excess_support(subset, subset.tally(reports)).applicable
    with pytest.raises(InvalidInput, match="levels each"):
        subset.tally(np.concatenate([reports, packed(np.ones((1, 9)))]))
    counts = subset.tally(reports)
    counts[0] += 1
    wrong = excess_support(subset, counts)
    assert (wrong.applicable, wrong.z, wrong.p_value) == (True, np.inf, 0.0)
    hadamard = HadamardResponse.of(levels=8, epsilon=1.0)
    few = excess_support(hadamard, hadamard.tally(hadamard.randomize(np.arange(8), SeededSource(1))))
    assert "rough" in few.why


def test_refusals():
    channel = RandomizedResponse.k_ary(levels=4, epsilon=1.0)
    with pytest.raises(InvalidInput):
        influence(channel, 0)
    with pytest.raises(InvalidInput):
        influence(channel, 10).target(5)
    with pytest.raises(InvalidInput):
        influence(channel, 10).share(11)
    with pytest.raises(InvalidInput):
        influence(RandomizedResponse(keep=0, fake=(1, 1)), 10)
