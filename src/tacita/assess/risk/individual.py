"""Individual risk with sample weights, and household risk [Benedetti, Franconi 1998; Franconi, Polettini 2004].

Given f_k records in a sample, the F_k people of the population are f_k plus a negative binomial number of others:

    P(F = j | f) = C(j-1, f-1) p^f (1-p)^(j-f)      j >= f,      p_k = f_k / sum of the weights of the records of k
    r_k = E[1/F | f] = integral_0^1 u^(f-1) / (1 + c u) du       c = (1-p)/p

The integral follows by 1/F = integral t^(F-1) dt and u = pt/(1-(1-p)t). It equals (p/f) 2F1(1, 1; f+1; 1-p), whose
series has positive terms and converges fast where p >= 1/2 or f is large; elsewhere I_(f+1) = (1/f - I_f)/c from
I_1 = log(1+c)/c, which loses nothing for c >= 1. So no case needs the expansions that lose digits.

Household risk: one member is enough, 1 - prod_i (1 - r_i).

Privacy: guarantee: none; reads exact rows, for the owner.   Cost: one pass over distinct pairs (f, p).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from tacita.assess.risk.measure import Figure, Measured, RiskMeasure, RiskOptions
from tacita.assess.risk.sample import Sample

__all__ = ["HOUSEHOLD", "INDIVIDUAL", "household_risk", "individual_risk", "inverse_frequency"]

Floats = NDArray[np.float64]
_FEW = 50  # frequencies below which the recursion is used
_TERMS = 120  # of the series: q <= 1/2 or f > 50, so that the rest is below 1e-17


def inverse_frequency(f: NDArray[np.int64], p: Floats) -> Floats:
    """E[1/F | f] for each pair of a sample frequency and a probability to be in the sample.

    >>> inverse_frequency(np.array([1, 3]), np.array([1.0, 1.0])).tolist()
    [1.0, 0.3333333333333333]
    """
    f, p = np.asarray(f, np.int64), np.clip(np.asarray(p, np.float64), 1e-300, 1.0)
    found = np.empty(len(f))
    recursive = (p < 0.5) & (f <= _FEW)
    c = (1 - p[recursive]) / p[recursive]
    value, wanted = np.log1p(c) / c, f[recursive]
    done = np.where(wanted == 1, value, 0.0)
    for step in range(1, int(wanted.max(initial=1))):
        value = (1 / step - value) / c
        done = np.where(wanted == step + 1, value, done)
    found[recursive] = done
    rest = ~recursive
    q, many = 1 - p[rest], f[rest].astype(np.float64)
    term, total = np.ones(len(q)), np.ones(len(q))
    for n in range(1, _TERMS):
        term = term * q * n / (many + n)
        total += term
    found[rest] = p[rest] / many * total
    return found


def individual_risk(sample: Sample) -> Floats:
    """Risk of each record: the expected inverse of the number of people who have its key."""
    assert sample.weights is not None
    total = np.bincount(sample.group, sample.weights, minlength=len(sample.f))
    return inverse_frequency(sample.f, sample.f / total)[sample.group]


def household_risk(risk: Floats, households: NDArray[np.int64]) -> Floats:
    """Risk of each record that some member of its household is found; records without a household are alone."""
    alone = households < 0
    names = np.where(alone, households.max(initial=-1) + 1 + np.arange(len(households)), households)
    _, which = np.unique(names, return_inverse=True)
    which = which.reshape(-1)
    with np.errstate(divide="ignore"):
        kept = np.bincount(which, np.log1p(-np.minimum(risk, 1.0)))
    return np.asarray(-np.expm1(kept)[which], np.float64)


def _expected(name: str, title: str, risk: Floats) -> Figure:
    """The expected number of records that are found, with its interval if they are found independently."""
    value, error = float(risk.sum()), 1.96 * math.sqrt(float((risk * (1 - risk)).sum()))
    return Figure(name, title, value, max(0.0, value - error), min(float(len(risk)), value + error))


def _individual(sample: Sample, options: RiskOptions) -> Measured:
    risk = individual_risk(sample)
    notes: tuple[str, ...] = ()
    if sample.weights is not None and (sample.weights < 1).any():
        notes = ("Some weights are below 1: such records stand for less than one person, and risks are capped at 1/f.",)
    return Measured(
        figures=(
            _expected("found", "expected right matches", risk),
            Figure("mean", "mean individual risk", float(risk.mean()), share=True),
            Figure("highest", "highest individual risk", float(risk.max()), share=True),
            Figure(
                "at-risk",
                f"share of records above {options.threshold:g}",
                float((risk > options.threshold).mean()),
                share=True,
            ),
        ),
        records={"individual": risk},
        notes=notes,
    )


def _household(sample: Sample, options: RiskOptions) -> Measured:
    assert sample.households is not None
    single = individual_risk(sample) if sample.weights is not None else 1 / sample.f[sample.group]
    risk = household_risk(single, sample.households)
    return Measured(
        figures=(
            Figure("mean", "mean household risk", float(risk.mean()), share=True),
            Figure("highest", "highest household risk", float(risk.max()), share=True),
            Figure(
                "at-risk",
                f"share of records above {options.threshold:g}",
                float((risk > options.threshold).mean()),
                share=True,
            ),
        ),
        records={"household": risk},
        notes=("From individual risks." if sample.weights is not None else "From prosecutor risks: no weights.",),
    )


INDIVIDUAL = RiskMeasure(
    name="individual",
    title="Individual risk",
    question="How likely is a right match, if the sample weights say how many people a record stands for?",
    needs="sample weights",
    run=_individual,
    applies=lambda sample: None if sample.weights is not None else "It needs sample weights.",
)
HOUSEHOLD = RiskMeasure(
    name="household",
    title="Household risk",
    question="How likely is it that at least one member of a household is found?",
    needs="the key of a household",
    run=_household,
    applies=lambda sample: None if sample.households is not None else "It needs the key of a household.",
)
