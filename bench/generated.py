"""Tables that are drawn from random models, to develop methods of synthesis on: none of them is reported by a bench.

    network   a Bayesian network with one to three parents, strong links
    tree      each column depends on one earlier column
    chain     each column repeats the one before with some probability
    latent    classes, in each of which columns are independent
    factors   normal columns with common factors, cut into levels: many weak dependences, as in tables of numbers
    blocks    groups of columns with strong dependence inside and hardly any between, as repeated measurements have
    mixed     columns of 2 to 40 levels that follow classes or factors, some near-copies of an earlier column
    rare      a network of columns most of whose levels are rare: dependence is strong, and of few rows

Columns, levels, rows, skewness and strength differ from seed to seed. The populations of the benches that are reported
(`bench/frontier.py`) play no part in them.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

__all__ = ["KINDS", "generated"]

Coded = tuple[np.ndarray, list[int]]


def _draw(shares: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A level for each row of shares."""
    heights = np.cumsum(shares, axis=1)
    drawn = (rng.random((len(shares), 1)) * heights[:, -1:] > heights).sum(axis=1)
    return np.minimum(drawn, shares.shape[1] - 1)


def _levels(columns: int, rng: np.random.Generator) -> list[int]:
    most = int(rng.choice([2, 4, 6, 12]))
    return [int(size) for size in rng.integers(2, most + 1, columns)]


def _parents(most: int) -> Callable[[int, list[int], np.random.Generator], np.ndarray]:
    def codes(rows: int, sizes: list[int], rng: np.random.Generator) -> np.ndarray:
        sparse = float(rng.choice([0.15, 0.4, 1.0]))
        found = np.zeros((rows, len(sizes)), int)
        for at, size in enumerate(sizes):
            near = np.arange(max(0, at - 6), at)
            above = rng.choice(near, min(len(near), int(rng.integers(0 if most > 1 else 1, most + 1))), replace=False)
            if at and rng.random() < 0.08:
                above = above[:0]
            row = np.zeros(rows, int)
            for parent in above:
                row = row * sizes[parent] + found[:, parent]
            base = rng.dirichlet(np.full(size, 0.7)) + 0.02
            table = np.stack(
                [rng.dirichlet(base / base.sum() * size * sparse + 1e-3) for _ in range(int(row.max()) + 1)]
            )
            found[:, at] = _draw(table[row], rng)
        return found

    return codes


def _chain(rows: int, sizes: list[int], rng: np.random.Generator) -> np.ndarray:
    same = rng.uniform(0.3, 0.9)
    found = np.zeros((rows, len(sizes)), int)
    for at, size in enumerate(sizes):
        fresh = _draw(np.tile(rng.dirichlet(np.full(size, 1.5)), (rows, 1)), rng)
        found[:, at] = np.where(rng.random(rows) < same, found[:, at - 1] % size, fresh) if at else fresh
    return found


def _latent(rows: int, sizes: list[int], rng: np.random.Generator) -> np.ndarray:
    classes = int(rng.integers(2, 9))
    each = _draw(np.tile(rng.dirichlet(np.full(classes, 1.5)), (rows, 1)), rng)
    sharp = float(rng.choice([0.4, 1.0, 3.0]))
    tables = [rng.dirichlet(np.full(size, sharp), classes) for size in sizes]
    return np.stack([_draw(table[each], rng) for table in tables], axis=1)


def _factors(rows: int, sizes: list[int], rng: np.random.Generator) -> np.ndarray:
    common = rng.normal(size=(rows, int(rng.integers(1, 5))))
    found = []
    for size in sizes:
        load = rng.normal(size=common.shape[1]) * rng.gamma(1.0, 0.8)
        values = common @ load + rng.normal(size=rows)
        cuts = np.quantile(values, np.sort(rng.beta(1.0, rng.choice([1.0, 0.5]), size - 1)))
        found.append(np.searchsorted(cuts, values))
    return np.stack(found, axis=1)


def _blocks(rows: int, sizes: list[int], rng: np.random.Generator) -> np.ndarray:
    found: list[np.ndarray] = []
    link = rng.uniform(0.0, 0.3)  # of a block's trait with the one before
    trait = rng.normal(size=rows)
    while len(found) < len(sizes):
        trait = link * trait + np.sqrt(1 - link**2) * rng.normal(size=rows)
        load, state = rng.uniform(0.5, 0.97), trait
        for size in sizes[len(found) : len(found) + int(rng.integers(1, 7))]:
            state = load * state + np.sqrt(1 - load**2) * rng.normal(size=rows)
            found.append(np.searchsorted(np.quantile(state, np.sort(rng.beta(1.0, 0.8, size - 1))), state))
    return np.stack(found, axis=1)


def _mixed(rows: int, sizes: list[int], rng: np.random.Generator) -> np.ndarray:
    sizes[:] = [int(size) for size in np.minimum(2 + rng.geometric(rng.uniform(0.08, 0.3), len(sizes)), 40)]
    traits, factors = _latent(rows, sizes, rng), _factors(rows, sizes, rng)
    found = np.zeros((rows, len(sizes)), int)
    for at, size in enumerate(sizes):
        found[:, at] = (traits if rng.random() < 0.4 else factors)[:, at]
        if at and rng.random() < 0.2:  # near-copy of an earlier column
            fresh, copied = found[:, at].copy(), found[:, int(rng.integers(at))] % size
            found[:, at] = np.where(rng.random(rows) < rng.uniform(0.6, 0.98), copied, fresh)
    return found


def _rare(rows: int, sizes: list[int], rng: np.random.Generator) -> np.ndarray:
    found = np.zeros((rows, len(sizes)), int)
    for at, size in enumerate(sizes):
        usual = rng.uniform(0.6, 0.99)
        shares = np.append(usual, (1 - usual) * rng.dirichlet(np.full(size - 1, 0.7)))
        found[:, at] = _draw(np.tile(shares, (rows, 1)), rng)
        for parent in rng.choice(at, min(at, int(rng.integers(0, 3))), replace=False):
            follows = (found[:, parent] > 0) & (rng.random(rows) < rng.uniform(0.2, 0.9))
            found[:, at] = np.where(follows, 1 + found[:, parent] % (size - 1), found[:, at])
    return found


KINDS: dict[str, Callable[[int, list[int], np.random.Generator], np.ndarray]] = {
    "network": _parents(3),
    "tree": _parents(1),
    "chain": _chain,
    "latent": _latent,
    "factors": _factors,
    "blocks": _blocks,
    "mixed": _mixed,
    "rare": _rare,
}


def generated(seed: int) -> tuple[str, np.ndarray, list[int]]:
    """Name, codes and numbers of levels of a table; its kind goes round with the seed."""
    rng = np.random.default_rng([77, seed])
    kind = list(KINDS)[seed % len(KINDS)]
    columns, rows = int(rng.choice([6, 10, 16, 24, 36])), int(rng.choice([4_000, 12_000, 30_000, 60_000]))
    sizes = _levels(columns, rng)
    codes = KINDS[kind](rows, sizes, rng)  # may change the numbers of levels
    return f"{kind} {seed}: {columns} columns, {rows} rows", codes, sizes
