"""Population uniques by a Poisson log-linear model [Skinner, Holmes 1998; Elamir, Skinner 2006].

The people F_k with a key are Poisson with mean lambda_k, the sample takes each with probability pi, and log lambda is
linear in main effects, or in main effects and two-way interactions. So f_k is Poisson with mean mu_k = pi lambda_k,
which is fitted to the table of f by iterative proportional fitting, and F_k - f_k is Poisson(a_k), a_k = (1-pi) lambda_k

    tau1 = sum over sample uniques of P(F = 1 | f = 1) = exp(-a)              expected population uniques
    tau2 = sum over sample uniques of E[1/F | f = 1]   = (1 - exp(-a)) / a    expected right matches

Of the two models the one with the smaller estimated bias of tau1 is reported [Skinner, Shlomo 2008]:

    B = sum_k lambda exp(-lambda) (1-pi) ((f - pi lambda) - (1-pi) ((f - pi lambda)^2 - f) / (2 pi))

Intervals are those of the numbers under the fitted model; they do not show the error of the model itself.

Privacy: guarantee: none; reads exact rows, for the owner.   Cost: a table with a cell for each combination of values,
at most 4 million; beyond it only main effects, whose mu needs no table.
"""

from __future__ import annotations

import math
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tacita.assess.risk.measure import Figure, Measured, RiskMeasure, RiskOptions
from tacita.assess.risk.sample import Sample

__all__ = ["LOGLINEAR", "Fit", "fit_main_effects", "fit_two_way", "ipf"]

Floats = NDArray[np.float64]
MOST_CELLS = 4_000_000
_ROUNDS, _CLOSE = 200, 1e-6


class Fit(NamedTuple):
    """Means of sample uniques under a model, and the estimated bias of tau1 (NaN where the table is too large)."""

    model: str
    means: Floats
    bias: float


def ipf(counts: Floats, margins: list[tuple[int, ...]]) -> Floats:
    """Means with these margins of the counts, by iterative proportional fitting, from a table of equal means."""
    means = np.full(counts.shape, counts.sum() / counts.size)
    every = range(counts.ndim)
    targets = [counts.sum(axis=tuple(a for a in every if a not in kept), keepdims=True) for kept in margins]
    for _ in range(_ROUNDS):
        worst = 0.0
        for kept, target in zip(margins, targets, strict=True):
            now = means.sum(axis=tuple(a for a in every if a not in kept), keepdims=True)
            worst = max(worst, float(np.abs(now - target).max()))
            means = means * np.divide(target, now, out=np.zeros_like(target), where=now > 0)
        if worst < _CLOSE * max(1.0, counts.sum() / counts.size):
            break
    return means


def fit_main_effects(sample: Sample, pi: float) -> Fit:
    """Independent attributes: the means are products of margins."""
    unique, many = np.flatnonzero(sample.unique), len(sample)
    shares = [np.bincount(code, minlength=size) / many for code, size in zip(sample.codes, sample.sizes, strict=True)]
    means = np.full(len(unique), float(many))
    for code, share in zip(sample.codes, shares, strict=True):
        means *= share[code[unique]]
    bias = math.nan
    if math.prod(sample.sizes) <= MOST_CELLS:
        table = np.full(sample.sizes, float(many))
        for axis, share in enumerate(shares):
            table *= share.reshape([-1 if at == axis else 1 for at in range(len(shares))])
        bias = _bias(_table(sample), table, pi)
    return Fit("main effects", means, bias)


def fit_two_way(sample: Sample, pi: float) -> Fit:
    """All pairs of attributes may depend on each other."""
    counts = _table(sample)
    means = ipf(counts, list(combinations(range(counts.ndim), 2)))
    unique = np.flatnonzero(sample.unique)
    return Fit("two-way interactions", means[tuple(sample.codes[:, unique])], _bias(counts, means, pi))


def _table(sample: Sample) -> Floats:
    places = np.ravel_multi_index(tuple(sample.codes), sample.sizes)
    return np.bincount(places, minlength=math.prod(sample.sizes)).astype(np.float64).reshape(sample.sizes)


def _bias(counts: Floats, means: Floats, pi: float) -> float:
    """Estimated tau1 less the true one, to second order."""
    rate, missed = means / pi, counts - means
    terms = rate * np.exp(-rate) * (1 - pi) * (missed - (1 - pi) * (missed**2 - counts) / (2 * pi))
    return float(terms.sum())


def _run(sample: Sample, options: RiskOptions) -> Measured:
    pi = sample.fraction
    assert pi is not None
    fits = [fit_main_effects(sample, pi)]
    notes = []
    if len(sample.names) > 2 and math.prod(sample.sizes) <= MOST_CELLS:
        fits.append(fit_two_way(sample, pi))
    elif len(sample.names) > 2:
        notes.append("The table of all combinations is too large for interactions: main effects only.")
    chosen = min(fits, key=lambda fit: abs(fit.bias) if not math.isnan(fit.bias) else math.inf)
    a = chosen.means * (1 - pi) / pi
    alone = np.exp(-a)
    matched = np.where(a > 1e-12, -np.expm1(-a) / np.where(a > 1e-12, a, 1.0), 1.0)
    records = {}
    for name, values in (("population_unique", alone), ("match", matched)):
        column = np.zeros(len(sample))
        column[sample.unique] = values
        records[name] = column
    notes.append(f"Model: {chosen.model}; estimated bias of the first number {chosen.bias:.3g}.")
    return Measured(
        figures=(
            _sum("tau1", "expected population uniques among sample uniques", alone),
            _sum("tau2", "expected right matches of sample uniques", matched),
        ),
        records=records,
        notes=tuple(notes),
    )


def _sum(name: str, title: str, chances: Floats) -> Figure:
    value, error = float(chances.sum()), 1.96 * math.sqrt(float((chances * (1 - chances)).sum()))
    return Figure(name, title, value, max(0.0, value - error), min(float(len(chances)), value + error))


LOGLINEAR = RiskMeasure(
    name="loglinear",
    title="Population uniques, by a log-linear model",
    question="How many sample uniques are unique in the population, and how many matches of them are right?",
    needs="sample weights, or the size of the population",
    run=_run,
    applies=lambda sample: None if sample.fraction is not None else "It needs weights or the size of the population.",
)
