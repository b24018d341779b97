"""Generators with networks on UCI Adult: the same 13 columns and scores as in `bench.synthesize`.

Beside each accuracy stands that of always saying the most frequent class. Epsilon is stated by our accountant, which
adds up loss distributions, and by dp-accounting's Renyi accountant for the same tables and the same sampled steps,
which is never below ours. Uses a graphics processor when there is one.

Published generators on the same table, measured once, pairs / boosting: an autoregressive network at epsilon 10 gives
0.096 / 0.874; PATE-CTGAN at a stated epsilon of 1 gives 0.682 / 0.613, and is not private. Only Adult was looked at
while building.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from bench.rows import Row
from bench.synthesize import ADD, DATA, DELTA, NAMES, ROW, adult, areas, engine_of, mean_variation
from tacita.noise import SeededSource
from tacita.privacy.accountant import epsilon_at
from tacita.privacy.budget import Budget
from tacita.privacy.event import DiscreteGaussianNoise, Event, Repeated, SampledGaussian, Sequence
from tacita.synthesize import ConditionalGan, PateGan, Wgan

RECIPES: dict[str, Any] = {
    "conditional-gan": ConditionalGan(given="income"),
    "wgan": Wgan(),
    "pate-gan": PateGan(),
}
GOALS = {
    ("conditional-gan", 10.0): {"boosting": "> 0.874", "pairs": "< 0.096"},
    ("conditional-gan", 1.0): {"singles": "< 0.2"},
}
VOTES = {1.0: 5, 10.0: 50}  # of a round: what a small budget can bear


def run(*, quick: bool) -> list[Row]:
    if not (DATA / "adult.data").is_file():
        return [Row(bar="Adult", ours=float("nan"), unit="", note=f"no data in {DATA}: set TACITA_BENCH_DATA")]
    train, test, sizes = adult()
    rows = []
    for name in ("conditional-gan",) if quick else RECIPES:
        for epsilon in (1.0, 10.0):
            rows += _scored(name, epsilon, train, test, sizes, seeds=1 if quick else 3)
    return rows


def _scored(name: str, epsilon: float, train: np.ndarray, test: np.ndarray, sizes: list[int], seeds: int) -> list[Row]:
    engine = engine_of(train, sizes, NAMES)
    recipe = PateGan(votes=VOTES[epsilon]) if name == "pate-gan" else RECIPES[name]
    began = time.process_time()
    plan = recipe.calibrate(engine.domain, Budget.approx(epsilon, DELTA), unit=ROW, neighbours=ADD)
    calibrating, found = time.process_time() - began, []
    for seed in range(seeds):
        cpu, wall = time.process_time(), time.perf_counter()
        made = plan.run(engine, SeededSource(seed)).model.sample(len(train), np.random.default_rng(seed))
        spent = (time.process_time() - cpu, time.perf_counter() - wall)
        rows = np.stack([made[each] for each in NAMES], axis=1).astype(np.int64)
        pairs = mean_variation(train, rows, sizes)
        found.append(
            (_singles(train, rows, sizes), pairs, *areas(rows, test, sizes), _right(rows, test, sizes), *spent)
        )
    singles, pairs, logistic, boosting, right, seconds, wall = np.mean(found, axis=0)
    goal, at = GOALS.get((name, epsilon), {}), f"Adult, {name}, epsilon {epsilon:g}"
    majority = np.bincount(test[:, -1]).max() / len(test)
    moments = f"dp-accounting, Renyi: {_by_moments(plan.event, DELTA):.3f}"
    return [
        Row(bar=f"{at}, spent", ours=epsilon_at(plan.event, DELTA, ADD), unit="epsilon", note=moments),
        Row(bar=f"{at}, singles", ours=float(singles), unit="total variation", goal=goal.get("singles", "shown")),
        Row(bar=f"{at}, pairs", ours=float(pairs), unit="total variation", goal=goal.get("pairs", "shown")),
        Row(bar=f"{at}, logistic", ours=float(logistic), unit="area", note="on real rows: 0.913"),
        Row(bar=f"{at}, boosting", ours=float(boosting), unit="area", goal=goal.get("boosting", "shown")),
        Row(bar=f"{at}, accuracy", ours=float(right), unit="share", note=f"most frequent class: {majority:.3f}"),
        Row(bar=f"{at}, time", ours=float(seconds), unit="CPU s", note=_note(calibrating, wall)),
    ]


def _note(calibrating: float, wall: float) -> str:
    import torch

    where = torch.cuda.get_device_name() if torch.cuda.is_available() else "processor"
    return f"without {calibrating:.0f} s of calibrating; {wall:.0f} s of wall time on: {where}"


def _singles(one: np.ndarray, other: np.ndarray, sizes: list[int]) -> float:
    """Total variation of two sets of rows, averaged over single columns."""
    shares = [
        [np.bincount(rows[:, at], minlength=size) / len(rows) for rows in (one, other)] for at, size in enumerate(sizes)
    ]
    return float(np.mean([np.abs(a - b).sum() / 2 for a, b in shares]))


def _right(made: np.ndarray, test: np.ndarray, sizes: list[int]) -> float:
    """Accuracy of boosting trained on made-up rows."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    if len(np.unique(made[:, -1])) < 2:
        return float((test[:, -1] == made[0, -1]).mean())
    boosting = HistGradientBoostingClassifier(random_state=0, max_iter=100).fit(made[:, :-1], made[:, -1])
    return float(boosting.score(test[:, :-1], test[:, -1]))


def _by_moments(event: Event, delta: float) -> float:
    """The same event by dp-accounting's Renyi accountant; discrete noise this wide is as the continuous one."""
    import dp_accounting
    from dp_accounting import rdp

    accountant = rdp.RdpAccountant()

    def add(part: Event, times: int) -> None:
        match part:
            case Sequence(events=events):
                for inner in events:
                    add(inner, times)
            case Repeated(event=inner, count=count):
                add(inner, times * count)
            case DiscreteGaussianNoise(sigma2=sigma2, sensitivity=shift):
                accountant.compose(dp_accounting.GaussianDpEvent(float(sigma2) ** 0.5 / shift), times)
            case SampledGaussian(noise_multiplier=noise, rate=rate):
                step = dp_accounting.PoissonSampledDpEvent(rate, dp_accounting.GaussianDpEvent(noise))
                accountant.compose(step, times)

    add(event, 1)
    return float(accountant.get_epsilon(delta))
