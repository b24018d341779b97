"""The published flip probability of G2 under Laplace noise, (7.2) to (7.7), beside the right one. **Not valid.**

The publication takes a noisy table w = true + x with x_i ~ Laplace(0, b), b = 2 / epsilon, and asks with which
probability the true table would fail the test that w passes. Its recipe, as far as the text states it:

    (7.2)   G2(x) = 2 sum_i w_i ln(w_i / (w_i - x_i))
    (7.3)   multiply by the density of x_i
    (7.7)   for each cell, find where the term of that cell crosses 3.84 for x_i within 9 standard deviations, and
            integrate the density over the part on the other side; sum over cells

`WRONG` lists what is wrong with it. It is here to be compared with, and prints that list beside `posterior_flip`.

Privacy: post-processing of a release.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacita.assess.decisions.flip import Flip, posterior_flip
from tacita.assess.decisions.rule import Rule
from tacita.collect.analysis.hypothesis import Hypothesis
from tacita.errors import InvalidInput
from tacita.noise import DiscreteLaplace
from tacita.tables.release import Release
from tacita.tables.uncertainty import AdditiveNoise

__all__ = ["WRONG", "PaperFlip", "paper_flip"]

WRONG = (
    "(7.2) compares the noisy table with the true one; independence compares a table with its row and column totals",
    "(7.3) multiplies a statistic by a density, which is the mean of the statistic and no probability",
    "the density is printed as (1/epsilon) e^(-epsilon x / 2) too; right is (epsilon/4) e^(-epsilon |x| / 2)",
    "cells are integrated one by one and summed; a decision depends on all of them together, and a sum may exceed 1",
    "Chebyshev's bound at 9 standard deviations is (1 - 1/81)^4 = 95.15 % for four cells, not 91.53 %; exactly it is "
    "99.9988 %",
)
_REACH = 9.0
_POINTS = 200_001


@dataclass(frozen=True, kw_only=True)
class PaperFlip:
    """The published figure and the right one.

    Attributes:
        value: The sum over cells of the published integral; no probability.
        cells: Its terms.
        wrong: What is wrong with it.
        correct: The flip probability.
    """

    value: float
    cells: tuple[float, ...]
    wrong: tuple[str, ...]
    correct: Flip

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "method": "paper",
            "valid": False,
            "value": self.value,
            "cells": list(self.cells),
            "wrong": list(self.wrong),
            "correct": self.correct.as_dict(),
        }


def paper_flip(release: Release, *, draws: int = 10_000, rng: np.random.Generator) -> PaperFlip:
    """The published integral for a table of two by two with Laplace noise, and the right probability.

    Args:
        release: Counts over two attributes of two levels, with discrete Laplace noise.
        draws, rng: Of the right one.
    """
    noise = release.uncertainty
    laplace = isinstance(noise, AdditiveNoise) and isinstance(noise.law, DiscreteLaplace)
    if release.domain.shape != (2, 2) or not laplace:
        raise InvalidInput(
            "must be counts of two by two with Laplace noise", field="release", value=release.domain.shape
        )
    assert isinstance(noise, AdditiveNoise)
    assert isinstance(noise.law, DiscreteLaplace)
    critical = Rule().critical((1, 2, 2))
    cells = tuple(_cell(float(count), float(noise.law.scale), critical) for count in release.values.reshape(-1))
    correct = posterior_flip(release, Hypothesis.of(*release.attributes), draws=draws, rng=rng)
    return PaperFlip(value=sum(cells), cells=cells, wrong=WRONG, correct=correct)


def _cell(count: float, scale: float, critical: float) -> float:
    """Mass of Laplace noise where 2 w ln(w / (w - x)) is below the critical value, within 9 standard deviations."""
    if count <= 0:
        return math.nan
    reach = _REACH * math.sqrt(2) * scale
    x = np.linspace(-reach, reach, _POINTS)
    allowed = x < count
    term = np.full(x.size, np.inf)
    term[allowed] = 2 * count * np.log(count / (count - x[allowed]))
    density = np.exp(-np.abs(x) / scale) / (2 * scale)
    return float((density * (term < critical)).sum() * (x[1] - x[0]))
