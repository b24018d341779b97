"""Randomized response: the contract, that the contract can fail, calibration, estimates, intervals."""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacita.collect.channels.channel import RandomizedResponse
from tacita.collect.device.draw import draw
from tacita.errors import InvalidInput
from tacita.noise.source import SecureSource, SeededSource
from tacita.testing.channel import ChannelContract, worst_ratio

LEVELS = (2, 3, 5, 10, 100, 1000)
EPSILONS = (0.1, 0.5, 1.0, 2.0, 4.0, 8.0)
GRID = [(k, e) for k in LEVELS for e in EPSILONS]


class TestUniform(ChannelContract):
    def channels(self):
        return [RandomizedResponse.k_ary(levels=k, epsilon=e) for k, e in GRID]


class TestFakes(ChannelContract):
    def channels(self):
        shapes = [[0.5, 0.3, 0.2], [0.97, 0.01, 0.01, 0.01], [1, 0], [i / 5050 for i in range(1, 101)]]
        return [
            RandomizedResponse.with_fakes(distribution=shape, epsilon=e, floor=floor)
            for shape in shapes
            for e in (0.5, 3.0)
            for floor in (0.05, 1.0)
        ]


class TestSmallTotals(ChannelContract):
    def channels(self):
        fakes = [(1, 1), (1, 2, 3), (7, 1, 1, 5), tuple(range(1, 41))]
        return [RandomizedResponse(keep=keep, fake=fake) for keep in (1, 2, 101, 5000) for fake in fakes]


class TestManyRejections(ChannelContract):
    """Totals just above half of the words: nearly every second word is passed over."""

    def channels(self):
        return [
            RandomizedResponse(keep=2**52, fake=(2**20, 3)),
            RandomizedResponse(keep=2**45, fake=(2**50,) * 5),
        ]


# -- the contract must be able to fail ---------------------------------------------------------------------


class ThesisClaim(RandomizedResponse):
    """The loss that the source document claims for p: ln(1 / (1 - p)), whatever the table."""

    epsilon = property(lambda self: -math.log1p(-self.keep_probability))
    epsilon_upper = epsilon


class OffByOne(RandomizedResponse):
    """Keeps the truth one position too often."""

    def randomize(self, values, source):
        return RandomizedResponse(keep=self.keep + 1, fake=self.fake).randomize(values, source)


class NoRejection(RandomizedResponse):
    """Takes the remainder of every word, also of those that make some remainders likelier."""

    def randomize(self, values, source):
        words = (source.words(len(values)) >> np.uint64(11)) % np.uint64(self.total)
        cells = np.searchsorted(np.cumsum(self.fake), words.astype(np.int64) - self.keep, side="right")
        return np.where(words < self.keep, values, cells)


class WrongSlope(RandomizedResponse):
    """Takes the probability of sending the truth for that of keeping it: forgets that a fake may hit it."""

    @property
    def keep_probability(self):
        return (self.keep + min(self.fake)) / self.total


class RespondentsAsPopulation(RandomizedResponse):
    """Gives the covariance about the respondents for both questions."""

    def covariance(self, frequencies, *, respondents, about="population"):
        return super().covariance(frequencies, respondents=respondents, about="respondents")


@dataclass(frozen=True)
class Broken:
    channel: RandomizedResponse
    caught_by: str


BROKEN = [
    Broken(ThesisClaim(keep=2, fake=(1, 1)), "test_epsilon_is_the_largest_ratio_of_the_weights"),
    Broken(OffByOne(keep=20, fake=(30, 40)), "test_every_position_is_sampled_by_its_weight"),
    Broken(OffByOne(keep=20, fake=(30, 40)), "test_sampled_answers_follow_the_matrix"),
    Broken(NoRejection(keep=2**52, fake=(2**51, 2**20)), "test_sampled_answers_follow_the_matrix"),
    Broken(NoRejection(keep=2**52, fake=(2**51, 2**20)), "test_words_beyond_the_last_whole_round_are_passed_over"),
    Broken(WrongSlope(keep=2, fake=(1, 1)), "test_estimator_is_unbiased"),
    Broken(RespondentsAsPopulation(keep=2, fake=(1, 3)), "test_covariance_is_that_of_all_outcomes"),
]


@pytest.mark.parametrize("broken", BROKEN, ids=lambda b: f"{type(b.channel).__name__}-{b.caught_by}")
def test_the_contract_catches(broken):
    contract = ChannelContract()
    contract.channels = lambda: [broken.channel]
    with pytest.raises(AssertionError):
        getattr(contract, broken.caught_by)()


def test_a_contract_without_channels_fails():
    contract = ChannelContract()
    contract.channels = list
    with pytest.raises(AssertionError, match="proves nothing"):
        contract.test_estimator_is_unbiased()


# -- privacy -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("k", "epsilon"), GRID)
def test_calibration_never_exceeds_what_was_asked_and_loses_little(k, epsilon):
    channel = RandomizedResponse.k_ary(levels=k, epsilon=epsilon)
    assert channel.epsilon_upper <= epsilon
    assert epsilon - channel.epsilon < 1e-9
    assert 0.9 * 2**53 < channel.total <= 2**53
    assert len(set(channel.fake)) == 1


@given(
    st.lists(st.floats(0, 1), min_size=2, max_size=30).filter(lambda v: sum(v) > 1e-3),
    st.floats(1e-3, 10),
    st.floats(1e-3, 1),
)
@settings(max_examples=200, deadline=None)
def test_any_fakes_keep_the_promise(shape, epsilon, floor):
    shares = [Fraction(v) / sum(map(Fraction, shape)) for v in shape]
    channel = RandomizedResponse.with_fakes(distribution=shares, epsilon=epsilon, floor=floor)
    assert epsilon - 1e-9 < channel.epsilon <= channel.epsilon_upper <= epsilon
    wanted = [(1 - floor) * float(s) + floor / len(shares) for s in shares]
    np.testing.assert_allclose(np.array(channel.fake) / sum(channel.fake), wanted, rtol=1e-6)


@given(st.integers(0, 2**40), st.lists(st.integers(1, 2**40), min_size=2, max_size=6))
@settings(max_examples=200, deadline=None)
def test_stated_loss_brackets_the_exact_one(keep, fake):
    channel = RandomizedResponse(keep=keep, fake=tuple(fake))
    ratio = worst_ratio(channel.weights())
    exact = math.log1p(float(ratio - 1))
    assert math.isclose(channel.epsilon, exact, rel_tol=4e-16)
    assert channel.epsilon <= channel.epsilon_upper <= math.nextafter(channel.epsilon, math.inf)


@pytest.mark.parametrize(
    ("p", "k", "true"),
    [(0.5, 2, 1.099), (0.5, 4, 1.609), (0.5, 18, 2.944), (0.221, 8, 1.185), (0.009, 16, 0.136)],
)
def test_true_loss_at_the_documents_settings(p, k, true):
    share = Fraction(str(p))
    keep, rest = share.numerator * k, share.denominator - share.numerator
    channel = RandomizedResponse(keep=keep, fake=(rest,) * k)
    assert channel.keep_probability == pytest.approx(p)
    assert channel.epsilon == pytest.approx(true, abs=5e-4)
    assert channel.epsilon > -math.log1p(-p)


# -- validation --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({"keep": -1, "fake": (1, 1)}, "keep"),
        ({"keep": True, "fake": (1, 1)}, "keep"),
        ({"keep": 1.0, "fake": (1, 1)}, "keep"),
        ({"keep": 1, "fake": [1, 1]}, "fake"),
        ({"keep": 1, "fake": (1,)}, "fake"),
        ({"keep": 1, "fake": (1, 0)}, "fake[1]"),
        ({"keep": 1, "fake": (1, True)}, "fake[1]"),
        ({"keep": 1, "fake": (2**53 - 1, 1)}, "fake"),
    ],
)
def test_bad_weights_are_named(arguments, field):
    with pytest.raises(InvalidInput) as caught:
        RandomizedResponse(**arguments)
    assert caught.value.field == field


@pytest.mark.parametrize("epsilon", [0, -1, math.inf, math.nan, 37, True, "1", 1e-18])
def test_impossible_epsilon_is_refused(epsilon):
    with pytest.raises(InvalidInput) as caught:
        RandomizedResponse.k_ary(levels=10, epsilon=epsilon)
    assert caught.value.field == "epsilon"


@pytest.mark.parametrize("levels", [1, 0, 2**20 + 1, 2.0, True])
def test_impossible_levels_are_refused(levels):
    with pytest.raises(InvalidInput, match="levels"):
        RandomizedResponse.k_ary(levels=levels, epsilon=1)


@pytest.mark.parametrize(
    ("distribution", "floor", "field"),
    [
        ([0.5, 0.4], 0.1, "distribution"),
        ([1.5, -0.5], 0.1, "distribution"),
        ([0.5, math.nan], 0.1, "distribution[1]"),
        ([1.0], 0.1, "distribution"),
        ([0.5, 0.5], 0, "floor"),
        ([0.5, 0.5], 1.1, "floor"),
        ([0.5, 0.5], math.inf, "floor"),
        ([1, 0], 1e-13, "epsilon"),
    ],
)
def test_impossible_fakes_are_refused(distribution, floor, field):
    with pytest.raises(InvalidInput) as caught:
        RandomizedResponse.with_fakes(distribution=distribution, epsilon=1.0, floor=floor)
    assert caught.value.field == field


# -- sampling ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("channel", TestSmallTotals().channels() + TestManyRejections().channels())
def test_bulk_and_device_draw_the_same_from_the_same_words(channel):
    codes = np.random.default_rng(1).integers(0, channel.levels, 500)
    bulk = channel.randomize(codes, SeededSource(5))
    words = iter(SeededSource(5).words(5_000).tolist())
    assert bulk.tolist() == [draw(channel.keep, channel.fake, int(c), words)[0] for c in codes]


def test_answers_need_not_fit_the_type_of_the_codes():
    channel = RandomizedResponse.k_ary(levels=1000, epsilon=0.1)
    sent = channel.randomize(np.zeros(10_000, dtype=np.uint8), SeededSource(1))
    assert sent.dtype == np.uint16
    assert sent.max() > 255


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.uint64, np.int64])
def test_all_integer_codes_are_read(dtype):
    channel = RandomizedResponse(keep=2**52, fake=(1, 1, 1))
    codes = np.array([0, 1, 2, 1], dtype=dtype)
    assert channel.randomize(codes, SecureSource()).tolist() == [0, 1, 2, 1]
    assert channel.tally(codes).tolist() == [1, 2, 1]


def test_no_answers_is_fine():
    channel = RandomizedResponse(keep=1, fake=(1, 1))
    assert channel.randomize(np.array([], dtype=np.int64), SeededSource(1)).size == 0


@pytest.mark.parametrize("codes", [[0, 1, 3], [-1], [0.0, 1.0], [True], [[0, 1]], ["a"]])
def test_codes_out_of_range_are_refused_without_repeating_them(codes):
    channel = RandomizedResponse(keep=1, fake=(1, 1, 1))
    with pytest.raises(InvalidInput) as caught:
        channel.randomize(np.array(codes), SeededSource(1))
    assert caught.value.field == "values"
    assert "holds" not in str(caught.value)


# -- estimation --------------------------------------------------------------------------------------------


def test_a_thousand_levels_need_no_matrix():
    channel = RandomizedResponse.k_ary(levels=1000, epsilon=1.0)
    pi = np.full(1000, 1 / 1000)
    for about in ("population", "respondents"):
        covariance = channel.covariance(pi, respondents=10_000, about=about)
        dense = covariance.dense()
        contrast = np.random.default_rng(0).normal(size=1000)
        np.testing.assert_allclose(covariance.variance(), np.diag(dense), rtol=1e-12)
        assert covariance.of(contrast) == pytest.approx(contrast @ dense @ contrast)
        assert covariance.of(np.ones(1000)) == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("about", ["population", "respondents"])
def test_estimated_covariance_is_right_on_average(about):
    # Exactly unbiased given the respondents; (n - 1) / n of the truth for a population.
    channel = RandomizedResponse(keep=3, fake=(1, 2, 4))
    held = [0, 0, 1, 2]
    pi, n = np.bincount(held) / len(held), len(held)
    rows = channel.matrix()[held] if about == "respondents" else np.tile(pi @ channel.matrix(), (n, 1))
    mean = np.zeros((3, 3))
    for outcome in np.ndindex(3, 3, 3, 3):
        chance = math.prod(rows[i, y] for i, y in enumerate(outcome))
        mean += chance * channel.estimate(np.bincount(outcome, minlength=3), about=about).covariance()
    truth = channel.covariance(pi, respondents=n, about=about).dense()
    factor = 1 if about == "respondents" else (n - 1) / n
    np.testing.assert_allclose(mean, factor * truth, atol=1e-12)


def test_estimates_are_frozen_and_sum_to_one():
    channel = RandomizedResponse.k_ary(levels=5, epsilon=1.0)
    estimate = channel.estimate([10, 0, 3, 4, 5])
    assert estimate.frequencies.sum() == pytest.approx(1)
    assert estimate.respondents == 22
    with pytest.raises(ValueError, match="read-only"):
        estimate.frequencies[0] = 1


@pytest.mark.parametrize("counts", [[1, 2], [1.0, 2.0, 3.0], [-1, 2, 3], [0, 0, 0], [[1, 2, 3]]])
def test_bad_counts_are_refused(counts):
    with pytest.raises(InvalidInput, match="counts"):
        RandomizedResponse(keep=1, fake=(1, 1, 1)).estimate(counts)


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({"frequencies": [1.0], "respondents": 1}, "frequencies"),
        ({"frequencies": [math.nan, 1.0], "respondents": 1}, "frequencies"),
        ({"frequencies": [0.0, 0.0], "respondents": 1}, "frequencies"),
        ({"frequencies": [0.5, 0.5], "respondents": 0}, "respondents"),
        ({"frequencies": [0.5, 0.5], "respondents": 1, "about": "everyone"}, "about"),
    ],
)
def test_bad_covariance_requests_are_refused(arguments, field):
    with pytest.raises(InvalidInput) as caught:
        RandomizedResponse(keep=1, fake=(1, 1)).covariance(arguments.pop("frequencies"), **arguments)
    assert caught.value.field == field


def test_a_channel_that_tells_nothing_estimates_nothing():
    silent = RandomizedResponse(keep=0, fake=(1, 1))
    assert silent.epsilon == silent.epsilon_upper == 0.0
    with pytest.raises(InvalidInput, match="do not depend on the truth"):
        silent.estimate([1, 1])


@pytest.mark.parametrize("level", [0, 1, -1, math.nan])
def test_bad_interval_level_is_refused(level):
    with pytest.raises(InvalidInput, match="level"):
        RandomizedResponse(keep=1, fake=(1, 1)).estimate([3, 4]).interval(level)


@pytest.mark.parametrize("about", ["population", "respondents"])
@pytest.mark.parametrize(("k", "epsilon", "n"), [(2, 1.0, 500), (10, 1.0, 2_000), (10, 4.0, 1_000), (100, 2.0, 5_000)])
def test_intervals_cover(k, epsilon, n, about):
    channel = RandomizedResponse.k_ary(levels=k, epsilon=epsilon)
    shape = 1.0 / np.arange(1, k + 1)
    pi = shape / shape.sum()
    rng, source = np.random.default_rng(17), SeededSource(17)
    covered = []
    for _ in range(1_000):
        held = rng.choice(k, size=n, p=pi)
        target = pi if about == "population" else np.bincount(held, minlength=k) / n
        estimate = channel.estimate(channel.tally(channel.randomize(held, source)), about=about)
        covered.append(estimate.interval(0.95).covers(target).mean())
    assert 0.93 <= np.mean(covered) <= 0.97, np.mean(covered)
