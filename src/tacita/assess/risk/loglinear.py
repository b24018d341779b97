"""Population uniques by a Poisson log-linear model [Skinner, Holmes 1998; Elamir, Skinner 2006].

The people F_k with a key are Poisson with mean lambda_k, the sample takes each with probability pi, and log lambda is
linear in main effects and some two-way interactions. So f_k is Poisson with mean mu_k = pi lambda_k, which is fitted to
the table of f by iterative proportional fitting, and F_k - f_k is Poisson(a_k), a_k = (1-pi) lambda_k

    tau1 = sum over sample uniques of P(F = 1 | f = 1) = exp(-a)              expected population uniques
    tau2 = sum over sample uniques of E[1/F | f = 1]   = (1 - exp(-a)) / a    expected right matches

A model with too few interactions finds too many population uniques, one with too many finds too few. Interactions are
added, strongest first, until the minimum error criterion is within two standard errors of 0 [Skinner, Shlomo 2008]; it
is positive for too few interactions, negative for too many. With mu = pi lambda:

    B = sum_k w (f - mu + c ((f - mu)^2 - f))      w = lambda exp(-lambda) (1-pi),  c = (1-pi) / (2 pi)
    Var B = sum_k w^2 (mu + 2 c^2 mu^2)            for Poisson f

Intervals are those of the numbers under the fitted model; they do not show the error of the model itself.

Privacy: guarantee: none; reads exact rows, for the owner.   Cost: a table with a cell for each combination of values,
at most 4 million, for each interaction; beyond it only main effects, whose mu needs no table.
"""

from __future__ import annotations

import math
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tacita.assess.risk.measure import Figure, Measured, RiskMeasure, RiskOptions
from tacita.assess.risk.sample import Sample

__all__ = ["LOGLINEAR", "Fit", "choose", "fit_interactions", "fit_main_effects", "ipf"]

Floats = NDArray[np.float64]
MOST_CELLS = 4_000_000
_ROUNDS, _CLOSE = 200, 1e-6


class Fit(NamedTuple):
    """Means of sample uniques under a model, its criterion and the standard error of it (NaN for too large tables)."""

    model: str
    means: Floats
    criterion: float
    error: float


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
    criterion = math.nan, math.nan
    if math.prod(sample.sizes) <= MOST_CELLS:
        table = np.full(sample.sizes, float(many))
        for axis, share in enumerate(shares):
            table *= share.reshape([-1 if at == axis else 1 for at in range(len(shares))])
        criterion = _criterion(_table(sample), table, pi)
    return Fit("main effects", means, *criterion)


def fit_interactions(sample: Sample, pi: float, pairs: list[tuple[int, ...]]) -> Fit:
    """Pairs of attributes that may depend on each other; the others are independent given these."""
    counts = _table(sample)
    alone = [(at,) for at in range(counts.ndim) if not any(at in pair for pair in pairs)]
    means = ipf(counts, [*pairs, *alone])
    unique = np.flatnonzero(sample.unique)
    named = ", ".join(" x ".join(sample.names[at] for at in pair) for pair in pairs)
    return Fit(f"main effects and {named}", means[tuple(sample.codes[:, unique])], *_criterion(counts, means, pi))


def choose(sample: Sample, pi: float) -> Fit:
    """Add interactions, strongest first, while they bring the criterion closer to 0 and it is not within its error."""
    best = fit_main_effects(sample, pi)
    pairs: list[tuple[int, ...]] = []
    for pair in _by_strength(sample):
        if abs(best.criterion) <= 2 * best.error:
            break
        fit = fit_interactions(sample, pi, [*pairs, pair])
        if abs(fit.criterion) < abs(best.criterion):
            best, pairs = fit, [*pairs, pair]
    return best


def _by_strength(sample: Sample) -> list[tuple[int, int]]:
    """All pairs by the likelihood ratio of their dependence over its degrees of freedom, largest first."""
    many, strength = len(sample), {}
    for one, other in combinations(range(len(sample.names)), 2):
        shape = (sample.sizes[one], sample.sizes[other])
        table = np.bincount(sample.codes[one] * shape[1] + sample.codes[other], minlength=shape[0] * shape[1])
        seen = table.reshape(shape).astype(np.float64)
        means = seen.sum(axis=1, keepdims=True) * seen.sum(axis=0, keepdims=True) / many
        ratio = 2 * (seen[seen > 0] * np.log(seen[seen > 0] / means[seen > 0])).sum()
        free = max(1, (int((seen.sum(axis=1) > 0).sum()) - 1) * (int((seen.sum(axis=0) > 0).sum()) - 1))
        strength[one, other] = ratio / free
    return sorted(strength, key=lambda pair: (-strength[pair], pair))


def _table(sample: Sample) -> Floats:
    places = np.ravel_multi_index(tuple(sample.codes), sample.sizes)
    return np.bincount(places, minlength=math.prod(sample.sizes)).astype(np.float64).reshape(sample.sizes)


def _criterion(counts: Floats, means: Floats, pi: float) -> tuple[float, float]:
    """Minimum error criterion of a model, and its standard error if the model holds."""
    rate, missed, c = means / pi, counts - means, (1 - pi) / (2 * pi)
    weight = rate * np.exp(-rate) * (1 - pi)
    error = math.sqrt(float((weight**2 * (means + 2 * c**2 * means**2)).sum()))
    return float((weight * (missed + c * (missed**2 - counts))).sum()), error


def _run(sample: Sample, options: RiskOptions) -> Measured:
    pi = sample.fraction
    assert pi is not None
    notes = []
    if math.prod(sample.sizes) <= MOST_CELLS:
        chosen = choose(sample, pi)
    else:
        chosen = fit_main_effects(sample, pi)
        notes.append("The table of all combinations is too large for interactions: main effects only.")
    a = chosen.means * (1 - pi) / pi
    alone = np.exp(-a)
    matched = np.where(a > 1e-12, -np.expm1(-a) / np.where(a > 1e-12, a, 1.0), 1.0)
    records = {}
    for name, values in (("population_unique", alone), ("match", matched)):
        column = np.zeros(len(sample))
        column[sample.unique] = values
        records[name] = column
    known = not math.isnan(chosen.criterion)
    off = f"{chosen.criterion:.3g} with standard error {chosen.error:.2g}" if known else "not known"
    notes.append(f"Model: {chosen.model}; criterion B (0 for a model that fits): {off}.")
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
