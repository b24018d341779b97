"""Geometric noise, the hybrid, matrices in general, and the linear program: fixtures, traps, contract."""

import math
from fractions import Fraction

import numpy as np
import pytest

from tacita.collect.channels.channel import RandomizedResponse
from tacita.collect.channels.geometric import (
    distance_loss,
    geometric_channel,
    geometric_rows,
    hybrid_channel,
    hybrid_rows,
    optimal_channel,
    paper_optimum,
)
from tacita.collect.channels.matrix import MatrixChannel
from tacita.errors import InvalidInput
from tacita.noise.source import SeededSource
from tacita.testing.channel import ChannelContract, coverage, error_over_theory

HALF = Fraction(1, 2)
EPSILONS = (0.1, 0.5, 1.0, 2.0, 4.0, 8.0)


def fractions(text):
    return [[Fraction(part) for part in row.split()] for row in text.split(",")]


class TestGeometric(ChannelContract):
    def channels(self):
        return [geometric_channel(levels=k, epsilon=e) for k in (2, 3, 5) for e in EPSILONS[1:]]


class TestHybrid(ChannelContract):
    def channels(self):
        return [hybrid_channel(levels=k, ratio=a, keep=HALF) for k in (3, 4, 6) for a in (HALF, Fraction(9, 10))]


class TestOptimal(ChannelContract):
    def channels(self):
        prior = [0.5, 0.25, 1 / 6, 1 / 12]
        return [
            optimal_channel(prior=prior, loss=distance_loss(4, power), epsilon=e, plain=0.3).channel
            for power in (1.0, 2.0)
            for e in (1.0, 3.0)
        ]


class TestMoreReportsThanValues(ChannelContract):
    def channels(self):
        return [MatrixChannel(table=((4, 2, 1, 1), (1, 2, 4, 1), (1, 1, 2, 4)))]


class Transposed(MatrixChannel):
    """Solves with C where its transpose is needed, as the source's written-out system does."""

    @property
    def _inverse(self):
        return np.linalg.inv(self.matrix())


class AdjacentLoss(MatrixChannel):
    """States the loss of one step."""

    @property
    def worst_ratio(self):
        rows = zip(self.table, self.table[1:], strict=False)
        return max(Fraction(max(a, b), min(a, b)) for above, below in rows for a, b in zip(above, below, strict=True))


@pytest.mark.parametrize(
    ("broken", "caught_by"),
    [
        (Transposed, "test_estimator_is_unbiased"),
        (AdjacentLoss, "test_epsilon_is_the_largest_ratio_of_the_weights"),
    ],
)
def test_the_contract_catches(broken, caught_by):
    contract = ChannelContract()
    contract.channels = lambda: [broken(table=hybrid_channel(levels=4, ratio=HALF, keep=HALF).table)]
    with pytest.raises(AssertionError):
        getattr(contract, caught_by)()


# -- fixtures ----------------------------------------------------------------------------------------------


def test_six_and_four_states():
    six = geometric_rows(6, HALF)
    assert six[:3] == fractions("2/3 1/6 1/12 1/24 1/48 1/48, 1/3 1/3 1/6 1/12 1/24 1/24, 1/6 1/6 1/3 1/6 1/12 1/12")
    assert six[3:] == [row[::-1] for row in six[2::-1]]
    assert geometric_rows(4, HALF) == fractions(
        "2/3 1/6 1/12 1/12, 1/3 1/3 1/6 1/6, 1/6 1/6 1/3 1/3, 1/12 1/12 1/6 2/3"
    )


def test_hybrid_matrix():
    assert hybrid_rows(4, HALF, HALF) == fractions(
        "5/6 1/12 1/24 1/24, 1/6 2/3 1/12 1/12, 1/12 1/12 2/3 1/6, 1/24 1/24 1/12 5/6"
    )


@pytest.mark.parametrize(
    ("levels", "keep", "ratio"),
    [
        (4, HALF, 20.0),
        (6, HALF, math.exp(4.382)),
        (18, HALF, math.exp(12.70)),
        (4, Fraction(221, 1000), math.exp(2.434)),
        (4, Fraction(0), 8.0),
    ],
)
def test_loss_over_all_pairs(levels, keep, ratio):
    channel = hybrid_channel(levels=levels, ratio=HALF, keep=keep)
    assert math.exp(channel.epsilon) == pytest.approx(ratio, rel=5e-3)
    p, a = float(keep), 0.5
    ends = a ** -(levels - 1) * (1 + p * (1 + a) / (1 - p))
    inside = a ** -(levels - 2) * (1 + p * (1 + a) / ((1 - p) * (1 - a)))
    assert channel.epsilon == pytest.approx(math.log(max(ends, inside)), rel=1e-12)


def test_the_case_of_ln_20():
    channel = hybrid_channel(levels=4, ratio=HALF, keep=HALF)
    assert channel.worst_ratio == 20
    assert channel.condition == pytest.approx(1.79, abs=0.01)
    # at the same loss randomized response has less variance in all
    plain = RandomizedResponse(keep=19, fake=(1, 1, 1, 1))
    assert plain.epsilon == channel.epsilon
    pi = np.full(4, 0.25)
    sums = [one.covariance(pi, respondents=1).variance().sum() for one in (plain, channel)]
    np.testing.assert_allclose(sums, [1.10, 1.75], atol=0.01)


def test_the_transposed_system_gives_other_numbers():
    channel, x = hybrid_channel(levels=4, ratio=HALF, keep=HALF), np.array([0.1, 0.4, 0.3, 0.2])
    counts = np.rint(x @ channel.matrix() * 240_000).astype(int)
    np.testing.assert_allclose(channel.estimate(counts).frequencies, x, atol=1e-12)
    wrong = np.linalg.solve(channel.matrix(), counts / counts.sum())
    np.testing.assert_allclose(wrong, [0.159, 0.359, 0.253, 0.254], atol=1e-3)


def test_randomized_response_is_a_matrix_too():
    plain = RandomizedResponse(keep=7, fake=(1, 2, 5))
    channel = MatrixChannel(table=tuple(map(tuple, plain.weights().tolist())))
    assert channel.epsilon == plain.epsilon
    assert channel.epsilon_upper == plain.epsilon_upper
    counts = [5, 9, 30]
    for about in ("population", "respondents"):
        mine, theirs = channel.estimate(counts, about=about), plain.estimate(counts, about=about)
        np.testing.assert_allclose(mine.frequencies, theirs.frequencies, atol=1e-12)
        np.testing.assert_allclose(mine.covariance(), theirs.covariance(), atol=1e-12)


# -- calibration -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("levels", [2, 5, 20])
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_geometric_calibration(levels, epsilon):
    channel = geometric_channel(levels=levels, epsilon=epsilon)
    assert epsilon - 1e-8 < channel.epsilon <= channel.epsilon_upper <= epsilon


# -- the linear program ------------------------------------------------------------------------------------


def test_the_papers_table_comes_from_this_prior():
    prior, wanted = (
        [1 / 2, 1 / 4, 1 / 6, 1 / 12],
        fractions("2/3 1/4 1/12 0, 1/3 1/2 1/6 0, 1/6 1/2 1/3 0, 1/12 1/4 2/3 0"),
    )
    for power in (1.0, 1.5):
        matrix, objective = paper_optimum(prior=prior, loss=distance_loss(4, power), ratio=0.5)
        np.testing.assert_allclose(matrix, np.array(wanted, dtype=float), atol=1e-9)
    assert objective == pytest.approx(0.680317, abs=1e-6)  # with |i - r|^1.5


def test_the_papers_printed_prior_gives_another_table():
    prior, cost = np.array([1 / 2, 1 / 4, 2 / 9, 0]), distance_loss(4, 1.5)
    table = np.array(fractions("2/3 1/4 1/12 0, 1/3 1/2 1/6 0, 1/6 1/2 1/3 0, 1/12 1/4 2/3 0"), dtype=float)
    _, objective = paper_optimum(prior=prior, loss=cost, ratio=0.5)
    # the program divides the prior, which sums to 35/36, by its sum
    assert objective * prior.sum() == pytest.approx(0.5399, abs=1e-4)
    assert (prior[:, None] * cost * table).sum() == pytest.approx(0.5837, abs=1e-4)


def test_the_papers_optimum_confesses_when_the_truth_is_mixed_in():
    matrix, _ = paper_optimum(prior=[1 / 2, 1 / 4, 1 / 6, 1 / 12], loss=distance_loss(4), ratio=0.5)
    mixed = (np.eye(4) + matrix) / 2
    assert mixed[:3, 3].max() < 1e-9
    assert mixed[3, 3] > 0.4
    rows = [[Fraction(round(2400 * entry), 2400) for entry in row] for row in mixed]
    with pytest.raises(InvalidInput, match="confess"):
        MatrixChannel.from_probabilities(rows)


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
@pytest.mark.parametrize("power", [0.0, 1.0, 2.0])
def test_the_optimum_keeps_its_promise_and_beats_the_others(epsilon, power):
    prior = np.array([0.5, 0.25, 1 / 6, 1 / 12])
    cost = distance_loss(4, power) if power else 1 - np.eye(4)
    best = optimal_channel(prior=prior, loss=cost, epsilon=epsilon)
    assert best.channel.epsilon_upper <= epsilon
    for other in (geometric_channel(levels=4, epsilon=epsilon), RandomizedResponse.k_ary(levels=4, epsilon=epsilon)):
        assert best.expected_loss <= (prior[:, None] * cost * other.matrix()).sum() + 1e-6


def test_a_share_of_plain_response_keeps_levels_apart():
    setting = {"prior": [0.97, 0.01, 0.01, 0.01], "loss": distance_loss(4), "epsilon": 1.0}
    kept = optimal_channel(**setting, keep=0.3).channel
    assert min(np.diag(kept.matrix())) >= 0.3 - 1e-6
    for merged in (optimal_channel(**setting).channel, kept):
        assert merged.condition > 1e6
        with pytest.raises(InvalidInput, match="rank"):
            merged.estimate([1, 1, 1, 1])
    apart = optimal_channel(**setting, plain=0.3)
    assert apart.channel.condition < 100
    assert apart.channel.epsilon_upper <= 1.0
    with pytest.raises(InvalidInput, match="keep"):
        optimal_channel(**setting, keep=0.9)


# -- estimates ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [1.0, 4.0])
def test_error_is_what_was_predicted(epsilon):
    assert 0.9 < error_over_theory(geometric_channel(levels=6, epsilon=epsilon), people=5_000, runs=600) < 1.1


@pytest.mark.parametrize("about", ["population", "respondents"])
def test_intervals_cover(about):
    channel = hybrid_channel(levels=6, ratio=HALF, keep=HALF)
    assert 0.93 < coverage(channel, people=2000, runs=500, about=about) < 0.97


def test_the_bayesian_update_agrees_with_inversion_inside_the_simplex():
    channel, x = hybrid_channel(levels=4, ratio=HALF, keep=HALF), np.array([0.1, 0.4, 0.3, 0.2])
    values = np.repeat(np.arange(4), (x * 10**5).astype(int))
    tally = channel.tally(channel.randomize(values, SeededSource(4)))
    np.testing.assert_allclose(
        channel.distribution(tally, tolerance=1e-14).frequencies, channel.estimate(tally).frequencies, atol=1e-4
    )


def test_levels_that_are_merged_cannot_be_inverted():
    channel = MatrixChannel(table=((2, 1, 1), (2, 1, 1), (1, 1, 2)))
    with pytest.raises(InvalidInput, match="rank"):
        channel.estimate([1, 2, 3])
    assert channel.distribution([1, 2, 3]).frequencies.sum() == pytest.approx(1)


@pytest.mark.parametrize(
    "table", [((1, 0), (1, 1)), ((1, 2), (1, 1)), ((1, 1),), ((1, 1), (1,)), ((2**53, 1), (1, 2**53))]
)
def test_bad_tables_are_refused(table):
    with pytest.raises(InvalidInput):
        MatrixChannel(table=table)


def test_bad_requests_are_refused():
    for arguments in ({"prior": [1.0], "loss": [[0.0]]}, {"prior": [1.0, 1.0], "loss": [[0.0]]}):
        with pytest.raises(InvalidInput):
            optimal_channel(**arguments, epsilon=1.0)
    with pytest.raises(InvalidInput, match="ratio"):
        geometric_rows(4, Fraction(1))
    with pytest.raises(InvalidInput, match="keep"):
        hybrid_rows(4, HALF, Fraction(1))
