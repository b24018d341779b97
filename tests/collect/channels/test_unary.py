"""Unary encoding: the contract, that the contract can fail, calibration, error, coverage."""

from itertools import product

import numpy as np
import pytest

from tacita.collect.channels.unary import UnaryEncoding
from tacita.errors import InvalidInput
from tacita.noise.source import SecureSource, SeededSource
from tacita.tables.simplex import norm_sub
from tacita.testing.channel import ChannelContract, PackedBits, coverage, error_over_theory, zipf

EPSILONS = (0.1, 0.5, 1.0, 2.0, 4.0, 8.0)


class UnaryContract(PackedBits, ChannelContract):
    one_word = False


class TestOptimised(UnaryContract):
    def channels(self):
        return [UnaryEncoding.optimised(levels=k, epsilon=e) for k in (2, 3, 5) for e in EPSILONS]


class TestSymmetric(UnaryContract):
    def channels(self):
        return [UnaryEncoding.symmetric(levels=k, epsilon=e) for k in (2, 3, 5) for e in EPSILONS]


class TestEveryWord(UnaryContract):
    """All words that an answer can read, for few levels and short thresholds."""

    def channels(self):
        return [
            UnaryEncoding(levels=2, on=2, off=1, bits=2),
            UnaryEncoding(levels=3, on=3, off=2, bits=2),
            UnaryEncoding(levels=2, on=6, off=3, bits=3),
        ]

    def cases(self, channel):
        slices = product(range(2**channel.levels), repeat=channel.bits)
        coins = range(2**channel.bits)
        return [(words, [coin << 64 - channel.bits]) for words in slices for coin in coins]


# -- the contract must be able to fail ---------------------------------------------------------------------


class WrongOff(UnaryEncoding):
    """Draws the other bits with 1 - off: the q of another protocol."""

    def _others(self, rows, source):
        wrong = UnaryEncoding(levels=self.levels, on=2**self.bits - 1, off=2**self.bits - self.off, bits=self.bits)
        return UnaryEncoding._others(wrong, rows, source)


class LastBitClear(UnaryEncoding):
    """Sends the last level's bit as it is."""

    def randomize(self, values, source):
        sent = super().randomize(values, source)
        place = self.levels - 1
        sent[:, place // 8] &= 255 ^ (1 << place % 8)
        sent[:, place // 8] |= ((values == place) << place % 8).astype(np.uint8)
        return sent


class OneBitLoss(UnaryEncoding):
    """Counts the loss of one bit where two bits tell."""

    @property
    def worst_ratio(self):
        return super().worst_ratio * (self._scale - self.on) / (self._scale - self.off)


class DependentBits(UnaryEncoding):
    """Uses one coin for two levels."""

    def _others(self, rows, source):
        lanes = super()._others(rows, source)
        return lanes & ~np.uint64(2) | (lanes & np.uint64(1)) << np.uint64(1)


@pytest.mark.parametrize(
    ("broken", "caught_by"),
    [
        (WrongOff, "test_sampled_answers_follow_the_matrix"),
        (LastBitClear, "test_sampled_answers_follow_the_matrix"),
        (DependentBits, "test_sampled_answers_follow_the_matrix"),
        (OneBitLoss, "test_epsilon_is_the_largest_ratio_of_the_weights"),
    ],
)
def test_the_contract_catches(broken, caught_by):
    channel = UnaryEncoding.optimised(levels=3, epsilon=1.0)
    contract = UnaryContract()
    contract.channels = lambda: [broken(levels=3, on=channel.on, off=channel.off)]
    with pytest.raises(AssertionError):
        getattr(contract, caught_by)()


# -- calibration and input ---------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [UnaryEncoding.optimised, UnaryEncoding.symmetric])
@pytest.mark.parametrize("epsilon", [1e-6, *EPSILONS, 20.0])
def test_calibration_never_exceeds_what_was_asked_and_loses_little(make, epsilon):
    channel = make(levels=1000, epsilon=epsilon)
    assert epsilon - 1e-6 < channel.epsilon <= channel.epsilon_upper <= epsilon


@pytest.mark.parametrize("epsilon", [0, -1, float("nan"), 40, True, 1e-17])
@pytest.mark.parametrize("make", [UnaryEncoding.optimised, UnaryEncoding.symmetric])
def test_impossible_epsilon_is_refused(make, epsilon):
    with pytest.raises(InvalidInput) as caught:
        make(levels=10, epsilon=epsilon)
    assert caught.value.field == "epsilon"


@pytest.mark.parametrize(
    ("changed", "field"),
    [({"levels": 1}, "levels"), ({"off": 0}, "off"), ({"on": 1}, "on"), ({"on": 8}, "on"), ({"bits": 54}, "bits")],
)
def test_bad_thresholds_are_named(changed, field):
    with pytest.raises(InvalidInput) as caught:
        UnaryEncoding(**({"levels": 3, "on": 4, "off": 2, "bits": 3} | changed))
    assert caught.value.field == field


def test_bad_reports_are_refused():
    channel = UnaryEncoding.optimised(levels=10, epsilon=1.0)
    for reports in (np.zeros((2, 1), np.uint8), np.zeros((2, 2), np.int64), np.full((1, 2), 255, np.uint8)):
        with pytest.raises(InvalidInput, match="reports"):
            channel.tally(reports)
    for counts in ([1] * 10, [2] * 10 + [1], [0] * 11, [0.5] * 11, [-1] + [0] * 9 + [1]):
        with pytest.raises(InvalidInput, match="counts"):
            channel.estimate(counts)


@pytest.mark.parametrize("levels", [2, 8, 63, 64, 65, 1000])
def test_tally_is_the_sum_of_unpacked_bits(levels):
    channel = UnaryEncoding.optimised(levels=levels, epsilon=1.0)
    sent = channel.randomize(np.arange(600) % levels, SecureSource())
    bits = np.unpackbits(sent, axis=1, bitorder="little")
    assert not bits[:, levels:].any()
    assert channel.tally(sent).tolist() == [*bits[:, :levels].sum(axis=0, dtype=int).tolist(), 600]
    parts = channel.tally(sent[:255]) + channel.tally(sent[255:])
    assert parts.tolist() == channel.tally(sent).tolist()


def test_no_answers_is_fine():
    channel = UnaryEncoding.optimised(levels=70, epsilon=1.0)
    assert channel.tally(channel.randomize(np.array([], dtype=int), SeededSource(1))).tolist() == [0] * 71


# -- error -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [UnaryEncoding.optimised, UnaryEncoding.symmetric])
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 4.0])
def test_error_is_what_was_predicted(make, epsilon):
    assert 0.9 < error_over_theory(make(levels=1000, epsilon=epsilon), people=20_000, runs=4) < 1.1


def test_variance_is_that_of_the_literature():
    # 4 e^eps / (e^eps - 1)^2 for a rare level; e^(eps/2) / (e^(eps/2) - 1)^2 for the symmetric one
    rare = np.eye(1000)[0]
    for make, wanted in ((UnaryEncoding.optimised, 3.6827), (UnaryEncoding.symmetric, 3.9177)):
        variance = make(levels=1000, epsilon=1.0).covariance(rare, respondents=1).variance()
        assert variance[1] == pytest.approx(wanted, rel=1e-4)


@pytest.mark.parametrize("about", ["population", "respondents"])
def test_intervals_cover(about):
    for epsilon, people in ((1.0, 1000), (4.0, 3000)):
        channel = UnaryEncoding.optimised(levels=20, epsilon=epsilon)
        assert 0.93 < coverage(channel, people=people, runs=300, about=about) < 0.97


def test_published_frequencies():
    channel, people = UnaryEncoding.optimised(levels=1000, epsilon=1.0), 10**6
    values = np.random.default_rng(5).choice(1000, people, p=zipf(1000))
    truth = np.bincount(values, minlength=1000) / people
    estimate = channel.estimate(channel.tally(channel.randomize(values, SeededSource(5))))
    published = norm_sub(estimate.frequencies).frequencies
    assert ((published - truth) ** 2).mean() <= 1.0e-6
