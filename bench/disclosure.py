"""Disclosure risk of microdata: estimates beside known populations, and CPU for a million records."""

from __future__ import annotations

import time

import numpy as np
from numpy.typing import NDArray

from bench.rows import Row
from tacita.assess.risk.measure import RiskOptions
from tacita.assess.risk.microdata import microdata_risk
from tacita.assess.risk.sample import sample_of

PEOPLE = 60_000


def run(*, quick: bool) -> list[Row]:
    many = 5 if quick else 30
    rows: list[Row] = []
    for name, make, wanted in (
        ("independent attributes", _independent, True),
        ("one interaction", _dependent, True),
        ("one interaction, sparse", _sparse, False),
    ):
        for fraction in (0.05, 0.1):
            rows += _bias(f"{name}, {fraction:.0%} sampled", make, fraction, many, wanted=wanted)
    return rows + _cpu(200_000 if quick else 1_000_000)


def _levels(rng: np.random.Generator, ratio: float, size: int) -> NDArray[np.int64]:
    weights = ratio ** np.arange(size)
    return rng.choice(size, PEOPLE, p=weights / weights.sum())


def _independent(rng: np.random.Generator) -> NDArray[np.int64]:
    return np.array([_levels(rng, 0.85, 30), _levels(rng, 0.8, 25), _levels(rng, 0.75, 20)])


def _dependent(rng: np.random.Generator) -> NDArray[np.int64]:
    first = _levels(rng, 0.7, 12)
    return np.array([first, (first + rng.geometric(0.4, PEOPLE)) % 10, _levels(rng, 0.9, 90)])


def _sparse(rng: np.random.Generator) -> NDArray[np.int64]:
    first = _levels(rng, 0.85, 30)
    return np.array([first, (first + rng.geometric(0.25, PEOPLE)) % 25, _levels(rng, 0.75, 20)])


def _bias(name: str, make, fraction: float, many: int, *, wanted: bool) -> list[Row]:
    """Mean estimate over mean truth, less 1; the Benedetti-Franconi estimate of right matches beside it."""
    found = []
    for seed in range(many):
        rng = np.random.default_rng(seed)
        people = make(rng)
        codes = people[:, rng.random(PEOPLE) < fraction]
        weights = np.full(codes.shape[1], PEOPLE / codes.shape[1])
        measured = microdata_risk(
            sample_of("abc", codes, weights=weights), RiskOptions(measures=("individual", "loglinear"))
        )
        truth = microdata_risk(sample_of("abc", codes, population=people), RiskOptions(measures=("journalist",)))
        risk = measured.records().column("individual").to_numpy()
        found.append(
            (
                measured.figure("loglinear", "tau1"),
                truth.figure("journalist", "population-uniques"),
                measured.figure("loglinear", "tau2"),
                truth.figure("journalist", "matches"),
                risk.mean(),
                truth.figure("journalist", "marketer"),
            )
        )
    mean = np.mean(found, axis=0)
    rows = []
    for at, what in ((0, "tau1"), (2, "tau2"), (4, "mean individual risk")):
        bias = float(mean[at] / mean[at + 1] - 1)
        row = Row(
            bar=f"{name}: bias of {what}", ours=bias, unit="share", note=f"{many} populations; true {mean[at + 1]:.3g}"
        )
        rows.append(row)
        if wanted and at < 4:
            rows.append(Row(bar=f"{name}: size of it", ours=abs(bias), unit="share", goal="<= 0.15"))
    return rows


def _cpu(many: int) -> list[Row]:
    rng = np.random.default_rng(0)
    codes = np.array([rng.integers(0, size, many) for size in (100, 2, 10, 8, 50, 6)])
    before = time.process_time()
    sample = sample_of("abcdef", codes, weights=rng.uniform(1, 5, many), households=rng.integers(0, many // 3, many))
    rows = [Row(bar=f"{many:,} records, 6 attributes: CPU of keys", ours=time.process_time() - before, unit="s")]
    for name in ("prosecutor", "individual", "household", "loglinear", "suda"):
        before = time.process_time()
        microdata_risk(sample, RiskOptions(measures=(name,)))
        used = time.process_time() - before
        rows.append(Row(bar=f"{many:,} records, 6 attributes: CPU of {name}", ours=used, unit="s"))
    return rows
