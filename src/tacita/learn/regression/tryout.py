"""Choose the best method at an epsilon with a delta: try all that are allowed on synthetic rows of a public size.

For each kind of `simulate_points` there are some draws, of people and of noise, all from fixed seeds: a setting always
has the same figures. The figure of a method is its median error, and over all kinds their geometric mean. Error is the
root mean squared one, of the target or of the chance of a yes.

Copies:   a thousand rows stand for all, so that many take no longer. k copies of each row have k times the moments of
          one. A model of moments does not change with their scale, so noise is divided by k instead. A step of DP-SGD
          takes each row as often as a binomial of k says. The sampling error of both is left out.
Privacy:  reads the number of columns, the budget and the public number of people; never data. Noise that is divided
          guarantees nothing, and is for synthetic rows only.   Claim: docs/claims/private-regression.md
Utility:  over a hundred settings and a thousand synthetic tables of other kinds, it makes rarer that another method is
          better by 5 %. Other methods, and budgets without a delta, were also tried, and gained nothing.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import lru_cache

import numpy as np

from tacita.domain import Boolean, Domain, Numeric
from tacita.errors import InvalidInput
from tacita.learn.feature_map import FeatureMap, Points
from tacita.learn.regression.logistic import probabilities
from tacita.learn.regression.methods.dpsgd import check_allowed, descend
from tacita.learn.regression.methods.functional import FromMoments, functional
from tacita.learn.regression.methods.sufficient import sufficient
from tacita.learn.regression.problem import Coefficients, Problem
from tacita.learn.regression.simulated_points import KINDS, simulate_points
from tacita.noise import SeededSource

__all__ = ["can_be_tried", "for_one_copy", "tried_errors"]

_ROWS, _DRAWS, _SEED = 1000, 15, 7
_MOST_COPIES = 10_000.0  # beyond, noise hardly counts


def can_be_tried(setting: Problem) -> bool:
    """Whether DP-SGD is allowed, and synthetic rows can be like the real ones: public number of rows, numbers only."""
    numbers = setting.design.columns == setting.design.blocks
    if setting.people is None or not numbers or setting.penalty.size or setting.norm is not None:
        return False
    try:
        check_allowed(setting)
    except InvalidInput:
        return False
    return True


def tried_errors(setting: Problem) -> dict[str, float]:
    """The error of `functional`, `sufficient` and `dpsgd` on synthetic rows; for settings that `can_be_tried`."""
    design = setting.design
    features = tuple(f"x{place}" for place in range(design.columns))
    target = Boolean(name="y") if design.task == "logistic" else Numeric(name="y", bounds=(-1, 1), bins=2)
    domain = Domain(attributes=[*(Numeric(name=name, bounds=(-1, 1), bins=2) for name in features), target])
    plain = FeatureMap(domain=domain, features=features, target="y", task=design.task)
    return dict(_tried(replace(setting, design=plain)))  # names and bounds make no difference: one entry for all


@lru_cache(maxsize=128)
def _tried(setting: Problem) -> tuple[tuple[str, float], ...]:
    people = setting.people or 1
    rows = min(people, _ROWS)
    copies = min(people / rows, _MOST_COPIES)
    moments = {plan.name: for_one_copy(plan, copies) for plan in (functional(setting), sufficient(setting))}
    logs: dict[str, list[float]] = {}
    for place, kind in enumerate(KINDS):
        errors: dict[str, list[float]] = {}
        for draw in range(_DRAWS):
            rng = np.random.default_rng([_SEED, place, draw])
            points = simulate_points(kind, rows, setting.design.columns, setting.design.task, rng)
            found = {"dpsgd": descend(setting, points, round(copies), rng)}
            found |= {name: plan.fit([points], SeededSource(draw)) for name, plan in moments.items()}
            for name, each in found.items():
                errors.setdefault(name, []).append(_error(setting, points, each))
        for name, all_of_it in errors.items():
            logs.setdefault(name, []).append(float(np.log(max(np.median(all_of_it), 1e-9))))
    return tuple((name, float(np.exp(np.mean(each)))) for name, each in logs.items())


def for_one_copy(plan: FromMoments, copies: float) -> FromMoments:
    """A plan that makes of each row once what this one makes of so many copies. It promises nothing.

    Noise stays as wide as can be drawn quickly, which is a few rows where there are very many columns.
    """
    size = plan.noise.size / Fraction(copies).limit_denominator(10**6)
    return replace(plan, noise=plan.noise.sized(max(size, plan.noise.finest)))


def _error(setting: Problem, points: Points, found: Coefficients) -> float:
    score = points.x @ found.coefficients + found.intercept
    if setting.design.task == "logistic":
        return float(np.sqrt(np.mean((probabilities(score) - (points.y > 0)) ** 2)))
    return float(np.sqrt(np.mean((np.clip(score, -1, 1) - points.y) ** 2)))
