"""Blocks with a refitted matrix: every block within the promise; no bias; a pool with the covariance it states."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from tacita.collect.channels.channel import RandomizedResponse
from tacita.collect.channels.geometric import distance_loss, hybrid_rows, paper_optimum
from tacita.collect.protocols.adaptive_matrix import MatrixRounds
from tacita.collect.protocols.rrba_rounds import RrbaRounds, simulate
from tacita.domain import Boolean, Domain, Ordinal
from tacita.errors import InvalidInput
from tacita.noise import SeededSource

TRUTH = np.array([0.4, 0.25, 0.15, 0.1, 0.06, 0.04])
SIX = Domain(attributes=[Ordinal(name="v", levels=list("abcdef"))])


def people(count, seed):
    return np.random.default_rng(seed).choice(6, count, p=TRUTH)


@pytest.mark.parametrize("penalty", ["distance", "squared", "exact"])
@pytest.mark.parametrize(("epsilon", "floor"), [(0.5, 0.05), (1.0, 0.5), (2.0, 0.2)])
def test_every_block_keeps_the_promise_exactly(penalty, epsilon, floor):
    """Enumerated over all pairs of cells, in fractions, whatever was learnt."""
    rounds = MatrixRounds(SIX, epsilon=epsilon, floor=floor, block_size=150, penalty=penalty)
    simulate(rounds, people(1200, 1), SeededSource(1))
    assert len(rounds.blocks) == 8
    assert len({block.channel for block in rounds.blocks}) > 1
    for block, cost in zip(rounds.blocks, rounds.costs(), strict=True):
        table = block.channel.table
        pairs = itertools.product(range(6), range(6), range(6))
        worst = max(Fraction(table[i][r], table[j][r]) for i, j, r in pairs)
        assert worst <= Fraction(math.exp(epsilon)) * (1 + Fraction(1, 10**12))
        assert cost.epsilon == block.channel.epsilon_upper <= epsilon
        assert cost.epsilon == pytest.approx(math.log(worst), abs=1e-9)
    assert rounds.release().event.epsilon == max(cost.epsilon for cost in rounds.costs())
    assert rounds.release().provenance.recipe["method"] == "matrix refitted in blocks"


def test_the_published_loop_would_have_no_bound():
    """Its optimum has a column of zeros; with the truth mixed in, that report comes from one cell only."""
    rows, objective = paper_optimum(
        prior=[1 / 2, 1 / 4, 1 / 6, 1 / 12], loss=distance_loss(4, 1.5), ratio=0.5
    )  # the documents' table, by the prior that gives it
    np.testing.assert_allclose(
        rows,
        [[2 / 3, 1 / 4, 1 / 12, 0], [1 / 3, 1 / 2, 1 / 6, 0], [1 / 6, 1 / 2, 1 / 3, 0], [1 / 12, 1 / 4, 2 / 3, 0]],
        atol=1e-9,
    )
    assert objective == pytest.approx(0.680317, abs=1e-6)
    mixed = 0.5 * np.eye(4) + 0.5 * rows
    assert (mixed[:3, 3] == 0).all()
    assert mixed[3, 3] > 0
    hybrid = hybrid_rows(4, Fraction(1, 2), Fraction(1, 2))
    assert max(max(c) / min(c) for c in zip(*hybrid, strict=True)) == 20  # what the fixed hybrid loses: ln 20


def test_no_bias_though_matrices_are_refitted():
    """All outcomes of two blocks of two people with two cells: the mean of the pool is the people's shares."""
    domain = Domain(attributes=[Boolean(name="b")])
    truths, mean, total = (0, 1, 1, 1), 0.0, 0.0
    for sent in itertools.product(range(2), repeat=4):
        rounds = MatrixRounds(domain, epsilon=1.0, floor=0.3, block_size=2, penalty="exact")
        chance = 1.0
        for start in (0, 2):
            matrix = rounds.channel.matrix()
            for truth, report in zip(truths[start : start + 2], sent[start : start + 2], strict=True):
                chance *= matrix[truth, report]
            rounds.close(np.array(sent[start : start + 2]), simulated=True)
        mean += chance * rounds.estimate(about="respondents").frequencies[1]
        total += chance
    assert total == pytest.approx(1)
    assert mean == pytest.approx(0.75)


def test_the_pool_has_the_covariance_that_it_states():
    errors, stated = [], []
    for seed in range(150):
        rounds = MatrixRounds(SIX, epsilon=2.0, floor=0.5, block_size=300)
        found = simulate(rounds, people(1200, 100 + seed), SeededSource(seed)).estimate()
        errors.append(found.frequencies - TRUTH)
        stated.append(found.uncertainty.variance())
    assert (np.abs(np.mean(errors, axis=0)) < 4.5 * np.sqrt(np.mean(stated, axis=0) / 150)).all()
    np.testing.assert_allclose(np.mean(np.square(errors), axis=0) / np.mean(stated, axis=0), 1, atol=0.35)


def test_refitting_brings_reports_nearer_and_randomized_response_estimates_better():
    """At one promise: the matrix wins on the penalty of a report, plain randomized response on shares."""
    rounds = MatrixRounds(SIX, epsilon=1.0, floor=0.2, block_size=1000)
    simulate(rounds, people(8000, 3), SeededSource(3))
    plain = RandomizedResponse.k_ary(levels=6, epsilon=1.0).matrix()
    of_plain = float((TRUTH[:, None] * distance_loss(6) * plain).sum())
    assert rounds.expected_penalty(TRUTH) < 0.8 * of_plain
    uniform = simulate(RrbaRounds(SIX, epsilon=1.0, floor=1.0, block_size=1000), people(8000, 3), SeededSource(3))
    assert uniform.estimate().uncertainty.variance().sum() < rounds.estimate().uncertainty.variance().sum()
    with pytest.raises(InvalidInput, match="6 shares"):
        rounds.expected_penalty([0.5, 0.5])
