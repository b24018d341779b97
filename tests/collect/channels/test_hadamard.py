"""Hadamard response: the contract, the transform, error, coverage."""

import numpy as np
import pytest
from scipy.linalg import hadamard

from tacita.collect.channels.channel import RandomizedResponse
from tacita.collect.channels.hadamard import HadamardResponse, walsh_hadamard
from tacita.errors import InvalidInput
from tacita.noise.source import SeededSource
from tacita.testing.channel import ChannelContract, coverage, error_over_theory


class HadamardContract(ChannelContract):
    one_word = False


class TestCalibrated(HadamardContract):
    def channels(self):
        return [
            HadamardResponse.of(levels=k, epsilon=e) for k in (2, 3, 4, 7, 33) for e in (0.1, 0.5, 1.0, 2.0, 4.0, 8.0)
        ]


class TestEveryWord(HadamardContract):
    def channels(self):
        return [HadamardResponse(levels=k, inner=RandomizedResponse(keep=3, fake=(2, 2))) for k in (2, 3, 8)]

    def cases(self, channel):
        return [([row], [place << 11]) for row in range(channel.rows) for place in range(7)]


class RowTellsTheValue(HadamardResponse):
    """Draws the row among those where the sign is +, as if only the sign were told."""

    def randomize(self, values, source):
        return super().randomize(values, source) & ~np.uint32(1)


class PlainSign(HadamardResponse):
    """Sends the sign as it is for the last level."""

    def randomize(self, values, source):
        sent = super().randomize(values, source)
        rows = (sent >> 1).astype(np.int64)
        sign = np.array([int(r & v).bit_count() & 1 for r, v in zip(rows.tolist(), values.tolist(), strict=True)])
        return np.where(values == self.levels - 1, 2 * rows + sign, sent)


@pytest.mark.parametrize("broken", [RowTellsTheValue, PlainSign])
def test_the_contract_catches(broken):
    contract = HadamardContract()
    contract.channels = lambda: [broken(levels=5, inner=RandomizedResponse(keep=3, fake=(2, 2)))]
    with pytest.raises(AssertionError):
        contract.test_sampled_answers_follow_the_matrix()


@pytest.mark.parametrize("size", [1, 2, 8, 64])
def test_the_transform_is_the_matrix(size):
    values = np.random.default_rng(size).integers(-50, 50, size)
    found = values.copy()
    walsh_hadamard(found)
    assert found.tolist() == (hadamard(size, dtype=int) @ values).tolist()


@pytest.mark.parametrize("levels", [100, 1000])
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 4.0])
def test_error_is_what_was_predicted(levels, epsilon):
    channel = HadamardResponse.of(levels=levels, epsilon=epsilon)
    assert 0.9 < error_over_theory(channel, people=50_000, runs=20_000 // levels) < 1.1


@pytest.mark.parametrize("about", ["population", "respondents"])
def test_intervals_cover(about):
    for epsilon, people in ((1.0, 1000), (4.0, 3000)):
        channel = HadamardResponse.of(levels=20, epsilon=epsilon)
        assert 0.93 < coverage(channel, people=people, runs=300, about=about) < 0.97


def test_tallies_of_parts_add_up():
    channel = HadamardResponse.of(levels=10, epsilon=1.0)
    sent = channel.randomize(np.arange(101) % 10, SeededSource(1))
    assert (channel.tally(sent[:40]) + channel.tally(sent[40:])).tolist() == channel.tally(sent).tolist()


def test_bad_input_is_refused():
    with pytest.raises(InvalidInput, match="inner"):
        HadamardResponse(levels=4, inner=RandomizedResponse(keep=1, fake=(1, 2)))
    with pytest.raises(InvalidInput, match="levels"):
        HadamardResponse.of(levels=1, epsilon=1.0)
    with pytest.raises(InvalidInput, match="reports"):
        HadamardResponse.of(levels=4, epsilon=1.0).tally(np.array([8]))
