"""Fourier marginals: 8 yes-or-no attributes, 2^18 people, all 28 pair tables.

Mean total variation distance of the published tables from those of the very people, for three made-up populations:

    independent   every attribute is a fair coin
    classes       three kinds of people, drawn once; within a kind the attributes are independent
    chain         each attribute repeats the one before with probability 0.8

The goals are what the published method (all coefficients asked alike) gave in another simulation, whose population is
not known; it is run here too. Reports go through the real channel. A mean over 40 runs is uncertain by about 2 %.
"""

from __future__ import annotations

import itertools

import numpy as np

from bench.rows import Row, cpu
from tacita.collect.protocols.fourier import FourierDesign, FourierTally
from tacita.domain import Boolean, Domain
from tacita.noise import SeededSource

DOMAIN = Domain(attributes=[Boolean(name=f"x{i}") for i in range(8)])
PAIRS = list(itertools.combinations(DOMAIN.names, 2))
GOALS = {0.4: 0.037, 1.1: 0.018, 1.4: 0.014}
PEOPLE = 2**18


def run(*, quick: bool) -> list[Row]:
    runs = 2 if quick else 40
    rows = []
    for name, make in POPULATIONS.items():
        codes = make(np.random.default_rng(0), PEOPLE)
        exact = {pair: _table(codes, pair) for pair in PAIRS}
        for epsilon, goal in GOALS.items():
            ours, published = (_miss(codes, exact, epsilon, even, runs) for even in (False, True))
            note = "peer: the same code with all coefficients asked alike, as published"
            bar = f"{name}, eps {epsilon}"
            rows.append(Row(bar=bar, ours=ours, unit="mean TV", goal=f"<= {goal}"))
            rows.append(
                Row(bar=f"{bar}, against even", ours=ours, peer=published, peer_name="even", unit="mean TV", note=note)
            )
    rows.append(_speed())
    return rows


def _independent(rng: np.random.Generator, people: int) -> dict[str, np.ndarray]:
    return {name: rng.integers(0, 2, people) for name in DOMAIN.names}


def _classes(rng: np.random.Generator, people: int) -> dict[str, np.ndarray]:
    chances = rng.random((3, len(DOMAIN)))
    kind = rng.choice(3, people, p=[0.5, 0.3, 0.2])
    return {name: (rng.random(people) < chances[kind, i]).astype(int) for i, name in enumerate(DOMAIN.names)}


def _chain(rng: np.random.Generator, people: int) -> dict[str, np.ndarray]:
    columns = [rng.integers(0, 2, people)]
    for _ in DOMAIN.names[1:]:
        columns.append(columns[-1] ^ (rng.random(people) >= 0.8))
    return dict(zip(DOMAIN.names, columns, strict=True))


POPULATIONS = {"independent": _independent, "classes": _classes, "chain": _chain}


def _table(codes: dict, pair: tuple[str, str]) -> np.ndarray:
    return np.bincount(2 * codes[pair[0]] + codes[pair[1]], minlength=4).reshape(2, 2) / PEOPLE


def _miss(codes: dict, exact: dict, epsilon: float, even: bool, runs: int) -> float:
    design = FourierDesign(domain=DOMAIN, order=2, epsilon=epsilon, even=even)
    errors = []
    for seed in range(runs):
        tally = FourierTally(design).add(design.respond(codes, SeededSource(1000 + seed), seed=seed))
        errors += [0.5 * np.abs(tally.published(pair).values - table).sum() for pair, table in exact.items()]
    return float(np.mean(errors))


def _speed() -> Row:
    people = 10**6
    codes = _chain(np.random.default_rng(1), people)
    design = FourierDesign(domain=DOMAIN, order=2, epsilon=1.1)

    def once() -> None:
        tally = FourierTally(design).add(design.respond(codes, SeededSource(1), seed=1))
        tally.coefficients()

    seconds, _ = cpu(once, 3)
    return Row(bar="1e6 people, respond and count", ours=seconds, unit="CPU s", goal="<= 1")
