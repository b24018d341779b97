import itertools

import numpy as np
import pytest
from tests.support.networks import random_network

from tacita.models.pairs.dependence import MOVES, dependence, mean_of_rest, mean_of_tree, unexplained

NAMES = tuple("abcde")
OUT = -1
"""Code of a value that is out of domain."""


def tables(cells, most):
    """All tables of counts with so many cells and at most so many rows."""
    for counts in itertools.product(range(most + 1), repeat=cells):
        if sum(counts) <= most:
            yield counts


def pairs_of(rows, sizes, names):
    """Counts of all pairs; a row counts in those whose two values are in the domain."""
    found = {}
    for one, other in itertools.combinations(range(len(sizes)), 2):
        table = np.zeros((sizes[one], sizes[other]))
        for row in rows:
            if OUT not in (row[one], row[other]):
                table[row[one], row[other]] += 1
        found[names[one], names[other]] = table
    return found


def by_definition(rows, sizes, names):
    """E of all pairs, cell by cell."""
    counts = pairs_of(rows, sizes, names)

    def count(one, u, other, v):
        return sum(row[one] == u and row[other] == v for row in rows)

    def most(c, w):
        return max(1, *(sum(row[c] == w and row[at] != OUT for row in rows) for at in range(len(sizes)) if at != c))

    found = {}
    for a, b in itertools.combinations(range(len(sizes)), 2):
        left = [dependence(counts[names[a], names[b]])]
        for c in set(range(len(sizes))) - {a, b}:
            off = 0.0
            for u, v in np.ndindex(sizes[a], sizes[b]):
                given = sum(count(a, u, c, w) * count(b, v, c, w) / most(c, w) for w in range(sizes[c]))
                off += abs(count(a, u, b, v) - given)
            left.append(off / 2)
        found[names[a], names[b]] = min(left)
    return found


@pytest.mark.parametrize(("shape", "most"), [((2, 2), 6), ((2, 3), 4)])
def test_one_row_moves_the_dependence_by_no_more_than_is_said(shape, most):
    """All tables with few rows, and all rows that could be added."""
    worst = 0.0
    for counts in tables(shape[0] * shape[1], most):
        table = np.array(counts, float).reshape(shape)
        before = dependence(table)
        for cell in np.ndindex(shape):
            more = table.copy()
            more[cell] += 1
            worst = max(worst, abs(dependence(more) - before))
    assert 0.5 < worst <= MOVES


def test_large_tables_move_no_further():
    rng = np.random.default_rng(0)
    for _ in range(300):
        shape = tuple(rng.integers(2, 7, 2))
        table = rng.poisson(rng.gamma(0.3, 30, shape)).astype(float)
        before = dependence(table)
        for cell in np.ndindex(shape):
            more = table.copy()
            more[cell] += 1
            assert abs(dependence(more) - before) <= MOVES


def test_dependence_by_hand():
    assert dependence(np.array([[10.0, 0], [0, 10]])) == pytest.approx(10)
    assert dependence(np.array([[5.0, 5], [5, 5]])) == 0
    assert dependence(np.zeros((2, 2))) == 0


@pytest.mark.parametrize("seed", range(6))
def test_what_is_unexplained_is_as_defined(seed):
    rng = np.random.default_rng(seed)
    sizes = [2, 3, 2, 4]
    rows = np.stack([rng.integers(OUT if seed % 2 else 0, size, 30) for size in sizes], axis=1).tolist()
    found = unexplained(NAMES[:4], pairs_of(rows, sizes, NAMES))
    assert found == pytest.approx(by_definition(rows, sizes, NAMES))


def test_one_row_moves_no_pair_by_more_than_is_said():
    """All rows of three attributes, values out of domain among them, added to many small tables."""
    sizes, names = [2, 2, 3], NAMES[:3]
    every = list(itertools.product(*(range(OUT, size) for size in sizes)))
    rng = np.random.default_rng(1)
    worst = 0.0
    for count in (0, 1, 2, 3, 5, 8, 13, 30) * 4:
        # few of the possible rows, so that many cells are empty
        rows = [every[at] for at in rng.choice(rng.choice(len(every), 6), count)]
        before = unexplained(names, pairs_of(rows, sizes, names))
        for row in every:
            after = unexplained(names, pairs_of([*rows, row], sizes, names))
            moved = [abs(after[pair] - before[pair]) for pair in before]
            worst = max(worst, *moved)
            assert abs(mean_of_rest(names, after) - mean_of_rest(names, before)) <= MOVES
    assert 0.9 < worst <= MOVES


@pytest.mark.parametrize("seed", range(3))
def test_the_product_of_one_level_moves_by_three_at_most(seed):
    """What one row does to u v' / m, for rows that count with either attribute, with both or with none."""
    rng = np.random.default_rng(seed)
    for _ in range(2000):
        u, v = rng.poisson(rng.gamma(0.3, 4, 3)), rng.poisson(rng.gamma(0.3, 4, 2))
        rows = max(u.sum(), v.sum()) + rng.integers(0, 3)
        both, more = rng.integers(0, 2, 2)
        u2, v2 = u + both * np.eye(3, dtype=int)[rng.integers(3)], v + more * np.eye(2, dtype=int)[rng.integers(2)]
        for least in {max(rows, u2.sum(), v2.sum()), rows + 1}:
            moved = np.outer(u2, v2) / max(least, 1) - np.outer(u, v) / max(rows, 1)
            assert np.abs(moved).sum() <= 3


def test_a_tree_leaves_nothing_but_its_edges():
    network = random_network("tree", attributes=5, seed=3)
    names = network.domain.names
    counts = {pair: network.project(pair).values * 1e6 for pair in itertools.combinations(names, 2)}
    left = unexplained(names, counts)
    edges = {frozenset((name, above[0])) for name, above in network.parents.items() if above}
    assert max(left[pair] for pair in left if frozenset(pair) not in edges) < 1.0
    assert mean_of_rest(names, left) < 1.0
    assert sum(dependence(table) for table in counts.values()) > 1e4


def test_two_attributes_explain_nothing_else():
    counts = {("a", "b"): np.array([[9.0, 1], [1, 9]])}
    assert unexplained(("a", "b"), counts)["a", "b"] == pytest.approx(8.0)
    assert mean_of_rest(("a", "b"), {("a", "b"): 8.0}) == 0


def test_the_tree_is_the_best_of_all_trees():
    rng = np.random.default_rng(1)
    pairs = list(itertools.combinations(range(5), 2))
    for _ in range(20):
        weights = rng.random(10)
        best = 0.0
        for edges in itertools.combinations(range(10), 4):
            reached = {0}
            for _ in range(4):
                reached |= {end for at in edges if set(pairs[at]) & reached for end in pairs[at]}
            if len(reached) == 5:
                best = max(best, sum(weights[at] for at in edges))
        named = {(NAMES[one], NAMES[other]): weight for (one, other), weight in zip(pairs, weights, strict=True)}
        assert mean_of_tree(NAMES, named) == pytest.approx(best / 4)
        assert mean_of_rest(NAMES, named) == pytest.approx((weights.sum() - best) / 10)
