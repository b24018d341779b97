"""Waves of a panel at one epsilon for all of them: in how many waves should each person answer?

A panel of 12,000 people is asked one question of three levels in four waves. In each wave a tenth of the people draw a
new answer, from shares that move from wave to wave. Each person answers in 1, 2 or all 4 waves, drawn by lot as devices
draw them, with the promise divided among the turns. Each figure is a mean over waves and panels.

    wave        total variation distance of the table of a wave to the shares of the population
    change      standard error of the change of a share between neighbouring waves, and how wide intervals are beside it
    coverage    95 % intervals of the changes
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field

import numpy as np

from bench.rows import Row
from tacita.collect.analysis.changes import find_changes
from tacita.collect.estimating.tally import Tally, respond
from tacita.collect.planning.plan import plan_collection
from tacita.domain import Categorical, Domain
from tacita.noise import SeededSource
from tacita.tables.workload import Workload

SEED, PEOPLE, WAVES, MOVES = 611, 12_000, 4, 0.1
LEVELS = ("never", "sometimes", "daily")
DOMAIN = Domain(attributes=[Categorical(name="smokes", levels=list(LEVELS))])
START, TOWARDS = np.array([0.6, 0.25, 0.15]), np.array([0.3, 0.3, 0.4])


def run(*, quick: bool) -> list[Row]:
    runs = 20 if quick else 200
    return [
        row
        for epsilon, turns in itertools.product((2.0,) if quick else (0.5, 1.0, 2.0, 4.0), (1, 2, 4))
        for row in measure(epsilon, turns, runs)
    ]


@dataclass
class Found:
    """What came out of several panels."""

    wave: list[float] = field(default_factory=list)
    error: list[float] = field(default_factory=list)
    stated: list[float] = field(default_factory=list)
    held: list[bool] = field(default_factory=list)


def measure(epsilon: float, turns: int, runs: int) -> list[Row]:
    """Whole series of one kind."""
    tables = Workload.of(("smokes",))
    plan = {"respondents": PEOPLE, "epsilon": epsilon, "mode": "tables", "waves": WAVES, "turns": turns}
    design, found = plan_collection(DOMAIN, tables, **plan), Found()
    for number in range(runs):
        rng = np.random.default_rng([SEED, number])
        asked = rng.permuted(np.tile(np.arange(WAVES) < turns, (PEOPLE, 1)), axis=1)
        shares, codes, tallies = START, rng.choice(3, PEOPLE, p=START), []
        for wave in range(WAVES):
            if wave:
                drawn = rng.choice(3, PEOPLE, p=TOWARDS)
                codes, shares = np.where(rng.random(PEOPLE) < MOVES, drawn, codes), shares + MOVES * (TOWARDS - shares)
            mine = {"smokes": codes[asked[:, wave]]}
            seed = SEED + 10_000 * number + wave
            tallies.append((Tally(design).add(respond(design, mine, SeededSource(seed), seed=seed)), shares))
            estimate = next(iter(tallies[-1][0].releases().values())).values
            found.wave.append(float(np.abs(estimate - shares).sum() / 2))
        for (before, first), (after, second) in itertools.pairwise(tallies):
            for change, truth in zip(find_changes(before, after), second - first, strict=True):
                found.error.append(change.change - float(truth))
                found.stated.append(change.std)
                found.held.append(change.low <= truth <= change.high)
    error = float(np.sqrt(np.mean(np.square(found.error))))
    bar, note = f"epsilon {epsilon:g} over 4 waves, {turns} of them answered", f"{runs} panels of {PEOPLE:,}"
    return [
        Row(bar=f"{bar}: table of a wave", ours=float(np.mean(found.wave)), unit="total variation", note=note),
        Row(
            bar=f"{bar}: change of a share",
            ours=error,
            unit="standard error",
            note=f"stated: {np.mean(found.stated):.4f}",
        ),
        Row(bar=f"{bar}: coverage of changes", ours=float(np.mean(found.held)), unit="of intervals", goal=">= 0.94"),
    ]
