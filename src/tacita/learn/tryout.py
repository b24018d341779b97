"""Whether DP-SGD would do better than noise on moments: both tried on made-up rows of a public size.

For each kind of `made_up_points` there are some draws, of people and of noise, all from fixed seeds: a setting has the
same figure whenever it is asked for. The figure is the median error of the one over that of the other, and over all
kinds their geometric mean. Error is the root mean squared one, of the target or of the chance of a yes.

Copies:   a thousand rows stand for all, so that many take no longer. k copies of each row have k times the moments of
          one. A model of moments does not change with their scale, so noise is divided by k instead. A step of DP-SGD
          takes each row as often as a binomial of k says. What a finite sample adds to both errors is left out.
Privacy:  looks at the number of columns, the budget and the public number of people; never at data. Noise that is
          divided promises nothing, and is for made-up rows only.   Claim: docs/claims/private-regression.md
Utility:  over a hundred settings and a thousand made-up tables of other kinds, it makes rarer that another method is
          better by 5 %. Other methods, and budgets without a delta, were tried so too, and gained nothing.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import lru_cache

import numpy as np

from tacita.domain import Boolean, Domain, Numeric
from tacita.errors import InvalidInput
from tacita.learn.design import Design, Points
from tacita.learn.dpsgd import check_allowed, descended
from tacita.learn.functional import FromMoments
from tacita.learn.logistic import probabilities
from tacita.learn.made_up_points import KINDS, made_up_points
from tacita.learn.moments import Noise
from tacita.learn.setting import Found, Setting
from tacita.noise import SeededSource

__all__ = ["can_be_tried", "for_one_copy", "steps_over_moments"]

_ROWS, _DRAWS, _SEED = 1000, 15, 7
_MOST_COPIES = 10_000.0  # beyond, noise hardly counts


def can_be_tried(setting: Setting) -> bool:
    """Whether DP-SGD is allowed, and made-up rows can be like the real ones: so many, and numbers all of them."""
    numbers = setting.design.columns == setting.design.blocks
    if setting.people is None or not numbers or setting.penalty.size or setting.norm is not None:
        return False
    try:
        check_allowed(setting)
    except InvalidInput:
        return False
    return True


def steps_over_moments(setting: Setting, noise: Noise) -> float:
    """The error of DP-SGD over that of noisy moments, on made-up rows; for settings that `can_be_tried`."""
    design = setting.design
    features = tuple(f"x{place}" for place in range(design.columns))
    target = Boolean(name="y") if design.task == "logistic" else Numeric(name="y", bounds=(-1, 1), bins=2)
    domain = Domain(attributes=[*(Numeric(name=name, bounds=(-1, 1), bins=2) for name in features), target])
    plain = Design(domain=domain, features=features, target="y", task=design.task)
    return _tried(replace(setting, design=plain), noise)  # names and bounds make no difference: one entry for all


@lru_cache(maxsize=128)
def _tried(setting: Setting, noise: Noise) -> float:
    people = setting.people or 1
    rows = min(people, _ROWS)
    copies = min(people / rows, _MOST_COPIES)
    moments = for_one_copy(FromMoments.plan(setting, noise), copies)
    logs = []
    for place, kind in enumerate(KINDS):
        errors = []
        for draw in range(_DRAWS):
            rng = np.random.default_rng([_SEED, place, draw])
            points = made_up_points(kind, rows, setting.design.columns, setting.design.task, rng)
            found = descended(setting, points, round(copies), rng), moments.fit([points], SeededSource(draw))
            errors.append([_error(setting, points, each) for each in found])
        steps, plain = np.maximum(np.median(errors, axis=0), 1e-9)
        logs.append(np.log(steps / plain))
    return float(np.exp(np.mean(logs)))


def for_one_copy(plan: FromMoments, copies: float) -> FromMoments:
    """A plan that makes of each row once what this one makes of so many copies. It promises nothing."""
    return replace(plan, noise=plan.noise.sized(plan.noise.size / Fraction(copies).limit_denominator(10**6)))


def _error(setting: Setting, points: Points, found: Found) -> float:
    score = points.x @ found.coefficients + found.intercept
    if setting.design.task == "logistic":
        return float(np.sqrt(np.mean((probabilities(score) - (points.y > 0)) ** 2)))
    return float(np.sqrt(np.mean((np.clip(score, -1, 1) - points.y) ** 2)))
