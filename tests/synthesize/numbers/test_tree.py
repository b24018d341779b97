"""What a tree of counts costs, by its own answers; and that it finds what is there."""

from fractions import Fraction

import numpy as np
import pytest

from tacita.domain import Numeric
from tacita.noise import DiscreteLaplace, SeededSource
from tacita.synthesize.numbers.grid import Grid
from tacita.synthesize.numbers.tree import grow, refine

AGE = Grid.of(Numeric(name="age", bounds=(0, 99), bins=2, integer=True))
WIDE = Grid.of(Numeric(name="gain", bounds=(0, 99_999), bins=2, integer=True))


def recorded(counts, grid, law, seed):
    """The edges that each round asks for, and its noisy answers."""
    upto, source, asked = np.concatenate([[0], np.cumsum(counts)]), SeededSource(seed), []

    def ask(edges):
        asked.append((edges, np.diff(upto[edges]) + law.draw(len(edges) - 1, source)))
        return asked[-1][1].astype(float)

    leaves = refine(ask, grid, law.variance)
    return asked, leaves


@pytest.mark.parametrize("grid", [AGE, WIDE], ids=["two rounds", "three rounds"])
@pytest.mark.parametrize("rows", [1, 3])
def test_the_loss_of_any_neighbour_is_at_most_that_of_its_rounds_and_can_be_reached(grid, rows):
    """Exact likelihoods of all answers of a run, for neighbours that have up to so many rows more or less anywhere."""
    law = DiscreteLaplace.at_least(Fraction(5))
    rng = np.random.default_rng(rows)
    counts = rng.multinomial(500, rng.dirichlet(np.full(len(grid), 0.05)))
    bound, worst = grid.rounds * rows / float(law.scale), 0.0
    for seed in range(3):
        asked, _ = recorded(counts, grid, law, seed)
        assert len(asked) == grid.rounds
        for _ in range(100):
            other = counts.copy()
            if rng.random() < 0.5:  # in cells of their own, or all in one
                np.add.at(other, rng.integers(0, len(grid), rows if rng.random() < 0.5 else 1), 1)
            else:
                held = rng.permutation(np.repeat(np.arange(len(grid)), counts))[:rows]
                np.subtract.at(other, held, 1)
            if rng.random() < 0.3:
                other = counts.copy()
                other[rng.integers(0, len(grid))] += rows
            loss = 0.0
            for edges, noisy in asked:
                exact, moved = (np.add.reduceat(each, edges[:-1]) for each in (counts, other))
                loss += float(np.log(law.pmf(noisy - exact)).sum() - np.log(law.pmf(noisy - moved)).sum())
            worst = max(worst, abs(loss))
    assert 0.9 * bound < worst <= bound + 1e-9


def test_edges_and_shares_are_a_function_of_the_noisy_answers_alone():
    law = DiscreteLaplace.at_least(Fraction(20))
    counts = np.random.default_rng(1).multinomial(5000, np.random.default_rng(2).dirichlet(np.full(len(WIDE), 0.01)))
    asked, leaves = recorded(counts, WIDE, law, 4)
    answers = iter(asked)

    def replay(edges):
        known, noisy = next(answers)
        assert (edges == known).all()
        return noisy.astype(float)

    again = refine(replay, WIDE, law.variance)
    assert (again.first == leaves.first).all()
    assert (again.shares == leaves.shares).all()
    drawn = grow(counts, WIDE, law, SeededSource(4))
    assert (drawn.first == leaves.first).all()


@pytest.mark.parametrize("scale", [1, 30])
def test_a_heavy_value_is_found_among_a_hundred_thousand(scale):
    rng = np.random.default_rng(0)
    values = np.where(rng.random(20_000) < 0.9, 0, rng.integers(1, 100_000, 20_000))
    counts = np.bincount(values, minlength=100_000)
    leaves = grow(counts, WIDE, DiscreteLaplace.at_least(Fraction(scale)), SeededSource(1))
    assert leaves.first[:2].tolist() == [0, 1]
    assert leaves.shares[0] == pytest.approx(0.9, abs=0.02)
    assert leaves.shares.sum() == pytest.approx(1)
    assert (leaves.shares >= 0).all()


def test_noise_alone_is_spread_evenly():
    law = DiscreteLaplace.at_least(Fraction(1000))
    even = []
    for seed in range(20):
        leaves = grow(np.ones(100, np.int64), AGE, law, SeededSource(seed))
        upto = np.append(0, np.cumsum(leaves.shares))
        ends = np.append(leaves.first, 100)
        even.append(np.interp(50, ends, upto))
    assert np.mean(even) == pytest.approx(0.5, abs=0.2)
    empty = grow(np.zeros(100, np.int64), AGE, DiscreteLaplace.at_least(Fraction(1, 50)), SeededSource(0))
    assert empty.shares.sum() == pytest.approx(1)
