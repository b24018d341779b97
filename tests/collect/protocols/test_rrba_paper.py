"""What was published, literally: the claims it makes, the losses it has, and that it does not converge."""

import math

import numpy as np
import pytest

from tacita.collect.protocols import rrba_paper as paper
from tacita.collect.protocols.rrba_rounds import RrbaRounds, simulate
from tacita.domain import Categorical, Domain
from tacita.errors import InvalidInput
from tacita.noise import SeededSource
from tacita.tables.simplex import norm_sub

TRUTH = np.array([0.446, 0.224, 0.116, 0.072, 0.071, 0.071])
SIX = Domain(attributes=[Categorical(name="v", levels=list("abcdef"))])

# p: claimed, then true for uniform tables of 2, 4, 6, 8, 16 and 18 cells
LOSSES = {
    0.009: (0.009, 0.018, 0.036, 0.053, 0.070, 0.136, 0.151),
    0.048: (0.049, 0.096, 0.184, 0.264, 0.339, 0.592, 0.646),
    0.095: (0.100, 0.191, 0.351, 0.488, 0.610, 0.986, 1.061),
    0.139: (0.150, 0.280, 0.498, 0.677, 0.829, 1.276, 1.362),
    0.221: (0.250, 0.449, 0.758, 0.994, 1.185, 1.712, 1.809),
    0.295: (0.350, 0.608, 0.983, 1.256, 1.470, 2.041, 2.144),
    0.5: (0.693, 1.099, 1.609, 1.946, 2.197, 2.833, 2.944),
}


def literal(seed, *, people=3600, block_size=18, **more):
    rng = np.random.default_rng(seed)
    return paper.run(rng.choice(6, people, p=TRUTH), levels=6, keep=0.5, block_size=block_size, rng=rng, **more)


@pytest.mark.parametrize("keep", LOSSES)
def test_claimed_and_true_losses(keep):
    claimed, *true = LOSSES[keep]
    assert paper.claimed_epsilon(keep) == pytest.approx(claimed, abs=0.00051)
    for cells, loss in zip((2, 4, 6, 8, 16, 18), true, strict=True):
        assert paper.true_epsilon(keep, np.full(cells, 1 / cells)) == pytest.approx(loss, abs=0.00051)


def test_the_true_loss_is_the_largest_ratio_of_the_channel():
    table, keep = np.array([0.7, 0.2, 0.1]), 0.4
    matrix = keep * np.eye(3) + (1 - keep) * table
    worst = max(math.log(column.max() / column.min()) for column in matrix.T)
    assert paper.true_epsilon(keep, table) == pytest.approx(worst)
    assert paper.claimed_epsilon(keep) < worst / 3
    assert paper.true_epsilon(0.5, [1.0, 0.0]) == math.inf
    assert paper.true_epsilon(0.5, [1 - 1e-6, 1e-6]) == pytest.approx(13.8, abs=0.05)


def test_the_repair_is_no_projection():
    table = [-0.05, 0.35, 0.70]
    repaired = paper.min_max(table)
    np.testing.assert_allclose(repaired, [0, 0.533, 1], atol=5e-4)
    np.testing.assert_allclose(repaired / repaired.sum(), [0, 0.348, 0.652], atol=5e-4)
    np.testing.assert_allclose(norm_sub(table).frequencies, [0, 0.325, 0.675], atol=5e-4)


def test_the_update_is_the_published_one():
    table, counts = np.full(3, 1 / 3), np.array([5, 3, 2])
    np.testing.assert_allclose(paper.literal_update(counts, table, 0.5), [2 / 3, 4 / 15, 1 / 15])
    one_answer = paper.literal_update(np.array([0, 1, 0]), table, 0.5)
    np.testing.assert_allclose(one_answer, [0, 1, 0], atol=1e-12)  # the next fake is the last answer


def test_literal_blocks_do_not_converge_and_pooled_ones_do():
    """The same people, the same p of the first block: after 200 blocks of 18, and after 20 of them."""
    misses = {"literal": [], "early": [], "pooled": []}
    for seed in range(12):
        done = literal(seed)
        cells = np.random.default_rng(seed).choice(6, 3600, p=TRUTH)
        rounds = simulate(RrbaRounds(SIX, epsilon=done.true[0], floor=1.0, block_size=18), cells, SeededSource(seed))
        misses["literal"].append(np.abs(done.table - TRUTH).sum())
        misses["early"].append(np.abs(done.learned[19] - TRUTH).sum())
        misses["pooled"].append(np.abs(rounds.estimate().frequencies - TRUTH).sum())
    mean = {name: np.mean(values) for name, values in misses.items()}
    assert mean["literal"] > 0.35
    assert mean["literal"] > 0.7 * mean["early"]  # ten times the people have not helped
    assert mean["pooled"] < 0.11
    assert mean["pooled"] < mean["literal"] / 4


def test_the_stopping_rule_never_settles():
    """On average it is broken again within thirty blocks of the end, however many blocks there are."""
    ends = [literal(seed, people=18 * blocks).last_disagreement() / 18 for seed in range(6) for blocks in (100, 300)]
    assert np.mean(ends[0::2]) > 70
    assert np.mean(ends[1::2]) > 270


def test_a_run_that_stops_gives_the_mean_of_two_blocks():
    done = literal(1, block_size=250, people=50_000, stop_at=0.01)
    assert done.stopped
    assert done.responses < 50_000
    np.testing.assert_allclose(done.table, (done.learned[-1] + done.learned[-2]) / 2)
    assert not literal(1, block_size=250).stopped


def test_the_width_forgets_the_coin():
    assert paper.agreement_width(np.array([0.4]), 100, 0.05)[0] == pytest.approx(
        2 * 1.96 * math.sqrt(0.24 / 100), rel=1e-4
    )
    few = paper.agreement_width(np.array([0.0, 0.02, 0.05]), 100, 0.05)
    assert (few > 0).all()
    assert few.max() < 0.2


def test_version_one_is_degenerate():
    """The table becomes the last answer, so that nearly every client is sent a cell that is never faked."""
    done = literal(3, people=4000, block_size=1)
    assert np.isinf(done.true[1:]).mean() > 0.99
    assert done.learned.max(axis=1).mean() > 0.6
    mean = done.learned.mean(axis=0)
    assert mean[0] < 0.36  # biased towards even, where the truth is 0.446
    kept_up = literal(3, people=4000, block_size=1, least=1e-6)
    assert 13 < kept_up.worst < 15  # a "negligible" share is a loss of about 13.8


def test_it_does_not_present_itself_as_private():
    done = literal(4)
    assert done.guarantee == "none"
    assert done.worst == max(done.true) == math.inf
    text = str(done)
    assert "guarantee: none" in text
    assert "0.693" in text
    assert "inf" in text
    assert "1.946" in text
    assert not hasattr(done, "release")
    assert not hasattr(done, "epsilon")


def test_refusals():
    cells, rng = np.array([0, 1, 2]), np.random.default_rng(0)
    with pytest.raises(InvalidInput, match="keep"):
        paper.run(cells, levels=3, keep=1.0, block_size=1, rng=rng)
    with pytest.raises(InvalidInput, match="block_size"):
        paper.run(cells, levels=3, keep=0.5, block_size=4, rng=rng)
    with pytest.raises(InvalidInput, match="cells"):
        paper.run(cells, levels=2, keep=0.5, block_size=1, rng=rng)
