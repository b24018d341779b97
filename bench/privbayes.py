"""PrivBayes beside the algorithm as its authors published it, at the same budget and under the same neighbours.

The published algorithm, written here from the paper: replace-one neighbours, a public number of rows n, split 0.3 and
theta 4. It is simulated with seeded noise and serves for accuracy only.

    two levels   k parents, the most for which n e2 / ((d - k) 2^(k + 2)) >= theta; score F (R from five parents
                 on, where F takes minutes); d - k noisy tables, Laplace of scale 2 (d - k) / e2 on counts, the first
                 k conditionals from the table of attribute k + 1
    many levels  all maximal parent sets whose table has at most n e2 / (2 d theta) cells; score R; d noisy tables
    choice       the exponential mechanism over all attributes left and their parent sets, e1 / (d - 1) each

Tables: three generated ones of 16 yes-or-no columns (`bench.ldp_pairs`), Adult and credit default (TACITA_BENCH_DATA).
Error: total variation averaged over all pairs, and over 60 fixed triples; a mean of five seeds.  [Zhang et al. 2017]
"""

from __future__ import annotations

import itertools
import math

import numba
import numpy as np

from bench.frontier import Coded, _credit, _keys, _variation
from bench.ldp_pairs import LIKE, columns
from bench.rows import Row
from bench.synthesize import DATA, ROW, adult, engine_of
from tacita.noise import SeededSource
from tacita.privacy.budget import Budget
from tacita.privacy.unit import Neighbours
from tacita.synthesize import PrivBayes

EPSILONS = (0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 10.0)
SHARE, THETA, MOST_F = 0.3, 4.0, 4
Parents = list[tuple[int, tuple[int, ...]]]
Weighted = tuple[np.ndarray, np.ndarray]  # distinct rows, one column each, and how often they occur


def run(*, quick: bool) -> list[Row]:
    tables: dict[str, Coded] = {}
    for kind in LIKE[:1] if quick else LIKE:
        tables[kind] = (np.stack(list(columns(kind, 16, 91).values()), axis=1), [2] * 16)
    if (DATA / "adult.data").is_file() and not quick:
        train, _, sizes = adult()
        tables |= {"adult": (train, sizes), "credit": _credit()}
    rows = []
    for name, (codes, sizes) in tables.items():
        for epsilon in (0.1, 0.8) if quick else EPSILONS:
            rows += _compare(name, codes, sizes, epsilon, seeds=1 if quick else 5)
    return rows


def _compare(name: str, codes: np.ndarray, sizes: list[int], epsilon: float, *, seeds: int) -> list[Row]:
    names, people = [f"c{at}" for at in range(len(sizes))], len(codes)
    engine, keys = engine_of(codes, sizes, names), _keys(len(sizes))
    plan = PrivBayes(people=people).calibrate(
        engine.domain, Budget.pure(epsilon), unit=ROW, neighbours=Neighbours.REPLACE_ONE
    )
    ours, peer = [], []
    for seed in range(100, 100 + seeds):
        made = plan.run(engine, SeededSource(seed)).sample(people, np.random.default_rng(seed))
        own = np.stack([np.asarray(made.column(each)).astype(int) for each in names], axis=1)
        theirs = published(codes, sizes, epsilon, np.random.default_rng(seed))
        ours.append([_variation(codes, own, each, sizes) for each in keys])
        peer.append([_variation(codes, theirs, each, sizes) for each in keys])
    return [
        Row(
            bar=f"{name}, epsilon {epsilon:g}: {what}",
            ours=float(np.mean([each[at] for each in ours])),
            peer=float(np.mean([each[at] for each in peer])),
            peer_name="PrivBayes as published",
            unit="variation",
            goal="<= 1.0",
            note=f"{seeds} seeds; replace-one, pure epsilon, public number of rows",
        )
        for at, what in enumerate(("pairs", "triples"))
    ]


# -- the published algorithm ------------------------------------------------------------------------------------------


def published(codes: np.ndarray, sizes: list[int], epsilon: float, rng: np.random.Generator) -> np.ndarray:
    """Return as many synthetic rows as there are real ones."""
    people, count = codes.shape
    distinct, weights = np.unique(codes, axis=0, return_counts=True)
    rows = np.ascontiguousarray(distinct.T), weights
    choosing, counting = SHARE * epsilon, (1 - SHARE) * epsilon
    binary = max(sizes) == 2
    degree = _degree(people, count, counting) if binary else 0
    order: Parents = [(int(rng.integers(count)), ())]
    while len(order) < count:
        placed = tuple(at for at, _ in order)
        candidates = [
            (at, parents)
            for at in sorted(set(range(count)) - set(placed))
            for parents in (
                itertools.combinations(placed, min(degree, len(placed)))
                if binary
                else _maximal(placed, sizes, people * counting / (2 * count * THETA) / sizes[at])
            )
        ]
        scores, sensitivity = _scores(rows, sizes, candidates, binary and degree <= MOST_F)
        gumbel = rng.gumbel(size=len(candidates))
        order.append(candidates[int(np.argmax(choosing / (count - 1) / (2 * sensitivity) * np.array(scores) + gumbel))])
    return _drawn(rows, sizes, order, degree, counting, rng)


def _degree(people: int, count: int, counting: float) -> int:
    useful = [k for k in range(1, count) if people * counting / ((count - k) * 2 ** (k + 2)) >= THETA]
    return max(useful, default=0)


def _maximal(placed: tuple[int, ...], sizes: list[int], most: float) -> list[tuple[int, ...]]:
    """Return the parent sets of at most so many cells that no further attribute fits into."""
    if most < 1:
        return [()]
    if not placed:
        return [()]
    head, rest = placed[0], placed[1:]
    without = _maximal(rest, sizes, most)
    within = [(head, *each) for each in _maximal(rest, sizes, most / sizes[head])] if most >= sizes[head] else []
    return within + [each for each in without if math.prod(sizes[at] for at in (*each, head)) > most]


def _table(rows: Weighted, sizes: list[int], key: tuple[int, ...]) -> np.ndarray:
    distinct, weights = rows
    shape = [sizes[at] for at in key]
    flat = np.ravel_multi_index([distinct[at] for at in key], shape)
    counts = np.bincount(flat, weights, minlength=math.prod(shape))
    return counts.astype(np.int64).reshape(-1, shape[-1])


def _scores(rows: Weighted, sizes: list[int], candidates: Parents, binary: bool) -> tuple[list[float], float]:
    people, found = int(rows[1].sum()), []
    for at, parents in candidates:
        counts = _table(rows, sizes, (*parents, at))
        if binary:
            found.append(-_distance(counts, people) / people)
        else:
            shares = counts / people
            product = shares.sum(axis=1, keepdims=True) * shares.sum(axis=0, keepdims=True)
            found.append(float(np.abs(shares - product).sum()) / 2)
    return found, 1 / people if binary else 3 / people + 2 / people**2


@numba.njit(cache=True)
def _distance(counts: np.ndarray, people: int) -> float:
    """Return n times the distance to the nearest table of most information: score F is its negative share."""
    half = people / 2
    best = np.full(people + 1, -1, np.int64)  # most rows of level 1 for each number of rows of level 0
    best[0] = 0
    top = 0
    for row in range(counts.shape[0]):
        zero, one = counts[row, 0], counts[row, 1]
        for a in range(top, -1, -1):
            if best[a] < 0:
                continue
            if a + zero <= people and best[a] > best[a + zero]:
                best[a + zero] = best[a]
            if zero or one:
                best[a] = best[a] + one
        top = min(people, top + zero)
    least = 2.0 * people
    for a in range(top + 1):
        if best[a] >= 0:
            least = min(least, max(half - a, 0.0) + max(half - best[a], 0.0))
    return least


def _drawn(
    rows: Weighted, sizes: list[int], order: Parents, degree: int, counting: float, rng: np.random.Generator
) -> np.ndarray:
    people, count = int(rows[1].sum()), len(sizes)
    made = np.zeros((people, count), np.int64)
    first = degree + 1 if max(sizes) == 2 else 0
    scale = 2 * (count - degree) / counting
    start = 0
    if first:  # the joint table of the first k + 1 attributes gives all their conditionals
        key = tuple(at for at, _ in order[:first])
        joint = np.clip(_table(rows, sizes, key).ravel() + rng.laplace(0, scale, 2 ** len(key)), 0, None)
        share = joint / joint.sum() if joint.sum() > 0 else np.full(joint.size, 1 / joint.size)
        cells = np.unravel_index(rng.choice(joint.size, people, p=share), [2] * len(key))
        for at, column in zip(key, cells, strict=True):
            made[:, at] = column
        start = first
    for at, parents in order[start:]:
        table = np.clip(
            _table(rows, sizes, (*parents, at))
            + rng.laplace(0, scale, (math.prod(sizes[each] for each in parents), sizes[at])),
            0,
            None,
        )
        table[table.sum(axis=1) <= 0] = 1.0
        shares = np.cumsum(table / table.sum(axis=1, keepdims=True), axis=1)
        config = (
            np.ravel_multi_index([made[:, each] for each in parents], [sizes[each] for each in parents])
            if parents
            else np.zeros(people, int)
        )
        made[:, at] = (rng.random(people)[:, None] > shares[config]).sum(axis=1).clip(0, sizes[at] - 1)
    return made
