"""Subset selection: the contract, the sampler draw by draw, error, coverage."""

from itertools import product
from math import prod

import numpy as np
import pytest

from tacita.collect.channels.channel import RandomizedResponse
from tacita.collect.channels.subset import SubsetSelection
from tacita.errors import InvalidInput
from tacita.noise.source import SeededSource
from tacita.testing.channel import ChannelContract, coverage, error_over_theory

EPSILONS = (0.1, 0.5, 1.0, 2.0, 4.0, 8.0)


class SubsetContract(ChannelContract):
    one_word = False

    def columns(self, channel, reports):
        places = np.zeros(2**channel.levels, dtype=np.int64)
        places[[sum(1 << v for v in subset) for subset in channel.subsets()]] = np.arange(len(channel.subsets()))
        bits = np.unpackbits(reports, axis=1, bitorder="little", count=channel.levels)
        assert (bits.sum(axis=1) == channel.size).all()
        return places[bits.astype(np.int64) @ (1 << np.arange(channel.levels))]

    def reports(self, channel):
        bits = np.zeros((len(channel.subsets()), channel.levels), np.uint8)
        for row, subset in enumerate(channel.subsets()):
            bits[row, list(subset)] = 1
        return np.packbits(bits, axis=1, bitorder="little")


class TestCalibrated(SubsetContract):
    def channels(self):
        return [SubsetSelection.of(levels=k, epsilon=e) for k in (2, 3, 5, 9) for e in EPSILONS]


class TestSizes(SubsetContract):
    def channels(self):
        return [SubsetSelection(levels=5, size=w, on=7, bits=3) for w in (1, 2, 3, 4)]


class TestEveryDraw(SubsetContract):
    """Every choice of every draw; a draw t of s is made with a word in the middle of those that mean t."""

    def channels(self):
        return [
            SubsetSelection(levels=4, size=1, on=3, bits=2),
            SubsetSelection(levels=4, size=2, on=3, bits=2),
            SubsetSelection(levels=5, size=3, on=7, bits=3),
        ]

    def cases(self, channel):
        others, cases = channel.levels - 1, []
        lists = {
            size: [range(s) for s in range(others - size + 1, others + 1)] for size in (channel.size - 1, channel.size)
        }
        most = prod(len(one) for one in lists[channel.size])
        for coin in range(2**channel.bits):
            bounds = lists[channel.size - (coin < channel.on)]
            draws = list(product(*bounds))
            for draw in draws * (most // len(draws)):
                halves = [((2 * t + 1) << 31) // len(s) for t, s in zip(draw, bounds, strict=True)]
                halves += [0] * (len(halves) % 2)
                words = [low | high << 32 for low, high in zip(halves[::2], halves[1::2], strict=True)]
                cases.append(([coin << 64 - channel.bits], words))
        return cases


class NotUniform(SubsetSelection):
    """Takes the first levels instead of a uniform subset."""

    def _sets(self, codes, source):
        lanes = super()._sets(codes, source)
        return np.where(lanes == 0b11000, np.uint64(0b00011), lanes)


class TooOften(SubsetSelection):
    """Holds the truth more often than it says."""

    def randomize(self, values, source):
        return SubsetSelection(levels=self.levels, size=self.size, on=self.on + 1, bits=self.bits).randomize(
            values, source
        )


@pytest.mark.parametrize("broken", [NotUniform, TooOften])
def test_the_contract_catches(broken):
    contract = SubsetContract()
    contract.channels = lambda: [broken(levels=5, size=2, on=20, bits=5)]
    with pytest.raises(AssertionError):
        contract.test_sampled_answers_follow_the_matrix()


def test_words_that_would_bias_a_draw_are_passed_over():
    channel = SubsetSelection(levels=4, size=1, on=3, bits=2)

    class Words:
        calls = iter([[3 << 62], [0], [0x80000000]])

        def words(self, count):
            return np.array([next(self.calls)[0]] + [0] * (count - 1), dtype=np.uint64)

    # the word 0 is passed over for 3 choices (2**32 mod 3 = 1); the third call's word means the middle one
    assert channel.randomize(np.array([0]), Words()).tolist() == [[0b0100]]


@pytest.mark.parametrize("levels", [2, 10, 1000])
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_calibration_never_exceeds_what_was_asked(levels, epsilon):
    channel = SubsetSelection.of(levels=levels, epsilon=epsilon)
    assert epsilon - 1e-9 < channel.epsilon <= channel.epsilon_upper <= epsilon
    sent = channel.randomize(np.arange(200) % levels, SeededSource(1))
    assert set(np.unpackbits(sent, axis=1).sum(axis=1).tolist()) == {channel.size}


def test_one_of_many_is_randomized_response():
    subset, plain = SubsetSelection.of(levels=6, epsilon=4.0), RandomizedResponse.k_ary(levels=6, epsilon=4.0)
    assert subset.size == 1
    np.testing.assert_allclose(subset.matrix(), plain.matrix(), rtol=1e-12)
    pi = np.array([0.5, 0.1, 0.1, 0.1, 0.1, 0.1])
    for about in ("population", "respondents"):
        found, wanted = (one.covariance(pi, respondents=9, about=about).dense() for one in (subset, plain))
        np.testing.assert_allclose(found, wanted, rtol=1e-9)


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 4.0])
def test_error_is_what_was_predicted(epsilon):
    assert 0.9 < error_over_theory(SubsetSelection.of(levels=1000, epsilon=epsilon), people=20_000, runs=4) < 1.1


@pytest.mark.parametrize("about", ["population", "respondents"])
def test_intervals_cover(about):
    for epsilon, people in ((1.0, 1000), (4.0, 3000)):
        channel = SubsetSelection.of(levels=20, epsilon=epsilon)
        assert 0.93 < coverage(channel, people=people, runs=300, about=about) < 0.97


def test_estimates_sum_to_one():
    channel = SubsetSelection.of(levels=30, epsilon=1.0)
    estimate = channel.estimate(channel.tally(channel.randomize(np.arange(500) % 30, SeededSource(1))))
    assert estimate.frequencies.sum() == pytest.approx(1)


@pytest.mark.parametrize(
    ("changed", "field"),
    [({"size": 0}, "size"), ({"size": 4}, "size"), ({"on": 4}, "on"), ({"on": 8}, "on"), ({"bits": 0}, "bits")],
)
def test_bad_numbers_are_named(changed, field):
    with pytest.raises(InvalidInput) as caught:
        SubsetSelection(**({"levels": 4, "size": 2, "on": 6, "bits": 3} | changed))
    assert caught.value.field == field


def test_a_tally_that_no_sets_give_is_refused():
    channel = SubsetSelection.of(levels=6, epsilon=1.0)
    tally = channel.tally(channel.randomize(np.arange(6), SeededSource(1)))
    channel.estimate(tally)
    for change in (1, -1):
        wrong = tally.copy()
        wrong[np.argmin(wrong[:-1] * change)] += change
        with pytest.raises(InvalidInput, match="levels for each report"):
            channel.estimate(wrong)
