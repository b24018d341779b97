"""Local hashing: the law, the mixer, what universal hashing promises and what the mixer gives."""

from itertools import product

import numpy as np
import pytest
from scipy import stats

from tacita.collect.channels.channel import RandomizedResponse
from tacita.collect.channels.hashing import LocalHashing
from tacita.collect.channels.parts.hash import cells_of, mixed
from tacita.collect.channels.support import support_covariance
from tacita.collect.device.channels import hash32
from tacita.errors import InvalidInput
from tacita.noise.source import SeededSource
from tacita.testing.channel import LawContract, coverage, error_over_theory

EPSILONS = (0.1, 0.5, 1.0, 2.0, 4.0)


class HashingContract(LawContract):
    one_word = False

    def columns(self, channel, reports):
        return reports[:, 0].astype(np.int64) * channel.cells + reports[:, 1]


class TestCalibrated(HashingContract):
    def channels(self):
        grid = [(k, e) for k in (2, 5, 12) for e in EPSILONS]
        made = [LocalHashing.optimised(levels=k, epsilon=e) for k, e in grid]
        return [LocalHashing(levels=one.levels, inner=one.inner, seed_bits=4) for one in made]


class TestEveryWord(HashingContract):
    def channels(self):
        return [LocalHashing(levels=5, inner=RandomizedResponse(keep=3, fake=(1, 1, 1)), seed_bits=3)]

    def cases(self, channel):
        return [([seed << 29], [place << 11]) for seed in range(8) for place in range(channel.inner.total)]


class WrongInner(LocalHashing):
    """Keeps the hash one position too often."""

    def randomize(self, values, source):
        inner = RandomizedResponse(keep=self.inner.keep + 1, fake=self.inner.fake)
        return LocalHashing(levels=self.levels, inner=inner, seed_bits=self.seed_bits).randomize(values, source)


class ConstantSeed(LocalHashing):
    """Everybody uses one hash: private, and useless."""

    def _seeds(self, count, source):
        super()._seeds(count, source)
        return np.full(count, 3, dtype=np.uint32)


@pytest.mark.parametrize("broken", [WrongInner, ConstantSeed])
def test_the_contract_catches(broken):
    contract = HashingContract()
    contract.channels = lambda: [broken(levels=5, inner=RandomizedResponse(keep=20, fake=(9, 9, 9)), seed_bits=4)]
    with pytest.raises(AssertionError):
        contract.test_sampled_answers_follow_the_matrix()


def test_the_error_catches_a_constant_seed():
    inner = LocalHashing.optimised(levels=100, epsilon=1.0).inner
    assert error_over_theory(ConstantSeed(levels=100, inner=inner), people=20_000, runs=1) > 10


# -- the mixer ---------------------------------------------------------------------------------------------

VECTORS = [
    (0, 0, 0xAE6F80F1),
    (1, 2, 0x230069CE),
    (0xFFFFFFFF, 1000, 0x2A32DAFD),
]


@pytest.mark.parametrize(("seed", "level", "expected"), VECTORS)
def test_values_of_the_mixer(seed, level, expected):
    assert hash32(seed, level) == expected


def test_bulk_and_plain_mixers_agree():
    seeds = SeededSource(1).words(500).astype(np.uint32)
    levels = np.arange(500, dtype=np.uint32)
    plain = [hash32(int(s), int(v)) for s, v in zip(seeds, levels, strict=True)]
    for g in (2, 4, 1000, 2**20):
        assert cells_of(seeds, mixed(levels), g).tolist() == [h * g >> 32 for h in plain]
        assert [int(h * g / 4294967296) for h in plain] == [h * g >> 32 for h in plain]  # as JavaScript's doubles do


@pytest.mark.parametrize("g", [2, 4, 9, 56])
def test_pairs_and_triples_of_levels_fall_as_by_random_functions(g):
    seeds, rng = SeededSource(g).words(200_000).astype(np.uint32), np.random.default_rng(g)
    low = 1.0
    for first, second, third in [(0, 1, 2), (0, 512, 1024), *rng.integers(0, 2**20, (20, 3)).tolist()]:
        if len({first, second, third}) < 3:
            continue
        a, b, c = (
            cells_of(seeds, np.full(seeds.size, mixed(np.array([v], np.uint32))[0]), g) for v in (first, second, third)
        )
        low = min(low, stats.chisquare(np.bincount(a * g + b, minlength=g * g)).pvalue)
        low = min(low, stats.binomtest(int(((a == b) & (b == c)).sum()), seeds.size, g**-2).pvalue)
    assert low > 1e-4


# -- estimation with all hash functions --------------------------------------------------------------------


@pytest.mark.parametrize("about", ["population", "respondents"])
def test_estimate_and_covariance_are_those_of_all_functions(about):
    inner = RandomizedResponse(keep=3, fake=(1, 1, 1))
    channel = LocalHashing(levels=4, inner=inner)
    functions = np.array(list(product(range(3), repeat=4)))
    supports = np.concatenate([functions == y for y in range(3)]).astype(float)
    law = np.concatenate([inner.matrix()[functions, y] for y in range(3)]) / len(functions)  # reports by values
    d, q = float(channel.support_law.slope), float(channel.support_law.miss)
    each = (supports - q) / d
    np.testing.assert_allclose(law.T @ each, np.eye(4), atol=1e-12)
    pi = np.array([0.5, 0.25, 0.25, 0.0])
    if about == "population":
        chance = law @ pi
        mean = chance @ each
        wanted = (each - mean).T @ ((each - mean) * chance[:, None])
    else:
        wanted = sum(
            share * (each - np.eye(4)[x]).T @ ((each - np.eye(4)[x]) * law[:, [x]]) for x, share in enumerate(pi)
        )
    found = support_covariance(channel.support_law, pi, 7, about).dense()
    np.testing.assert_allclose(found, wanted / 7, atol=1e-12)


# -- error -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0, 4.0])
def test_error_is_what_was_predicted(epsilon):
    channel = LocalHashing.optimised(levels=1000, epsilon=epsilon)
    assert 0.9 < error_over_theory(channel, people=50_000, runs=4) < 1.1


def test_error_is_what_was_predicted_for_a_million():
    assert 0.9 < error_over_theory(LocalHashing.optimised(levels=1000, epsilon=1.0), people=10**6, runs=2) < 1.1


@pytest.mark.parametrize("about", ["population", "respondents"])
def test_intervals_cover(about):
    for epsilon, people in ((1.0, 1000), (4.0, 3000)):
        channel = LocalHashing.optimised(levels=20, epsilon=epsilon)
        assert 0.93 < coverage(channel, people=people, runs=300, about=about) < 0.97


def test_tally_is_the_plain_count():
    channel = LocalHashing.optimised(levels=37, epsilon=1.5)
    sent = channel.randomize(np.arange(300) % 37, SeededSource(2))
    plain = [sum(hash32(int(s), v) * channel.cells >> 32 == y for s, y in sent) for v in range(37)]
    assert channel.tally(sent).tolist() == [*plain, 300]


@pytest.mark.parametrize("epsilon", [*EPSILONS, 8.0, 13.8])
def test_calibration_never_exceeds_what_was_asked(epsilon):
    channel = LocalHashing.optimised(levels=1000, epsilon=epsilon)
    assert epsilon - 1e-9 < channel.epsilon <= channel.epsilon_upper <= epsilon


def test_bad_input_is_refused():
    channel = LocalHashing.optimised(levels=5, epsilon=1.0)
    for reports in ([1, 2], [[1, 4]], [[-1, 0]], [[2**32, 0]], [[0.5, 0.5]]):
        with pytest.raises(InvalidInput, match="reports"):
            channel.tally(np.array(reports))
    with pytest.raises(InvalidInput, match="epsilon"):
        LocalHashing.optimised(levels=5, epsilon=15.0)
    with pytest.raises(InvalidInput, match="inner"):
        LocalHashing(levels=5, inner=RandomizedResponse(keep=1, fake=(1, 2)))
