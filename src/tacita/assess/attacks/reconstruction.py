"""Reconstruction of exact counts from noisy ones: by averaging answers to one question, or by solving many questions.

    averaging   m tables with fresh noise: their mean, rounded, is the truth once the noise of the mean is below a half
    solving     counts of many subsets of the people, each with noise: the 0/1 secret of each person by least squares
                [Dinur, Nissim 2003]

A privacy budget prevents both. They show an owner what repeated releases without a budget would reveal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

from tacita.assess.rates import Rate
from tacita.errors import InvalidInput

__all__ = ["Reconstructed", "average_releases", "solve_subsets"]

Array = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Reconstructed:
    """Result of a reconstruction.

    Attributes:
        right: Number of cells, or people, that are exactly right.
        blind: Number that a guess without the releases gets right: the most frequent value.
        error: Mean absolute error.
        questions: Releases averaged, or subsets asked.
    """

    right: Rate
    blind: Rate
    error: float
    questions: int

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "right": self.right.as_dict(),
            "blind": self.blind.as_dict(),
            "error": self.error,
            "questions": self.questions,
        }


def average_releases(truth: Any, released: Sequence[Any]) -> Reconstructed:
    """Round the mean of several noisy versions of a table of counts, and compare it with the exact table."""
    exact = np.asarray(truth, np.float64).ravel()
    if not released:
        raise InvalidInput("must be at least one", field="released")
    tables = [np.asarray(each, np.float64).ravel() for each in released]
    if any(each.shape != exact.shape for each in tables):
        raise InvalidInput("must have the cells of the exact table", field="released")
    mean = np.mean(tables, axis=0)
    guess = np.maximum(np.rint(mean), 0)
    return Reconstructed(
        right=Rate.of(guess == exact),
        blind=Rate.of(exact == _most_frequent(exact)),
        error=float(np.abs(guess - exact).mean()),
        questions=len(tables),
    )


def solve_subsets(secret: Any, subsets: Any, answers: Any) -> Reconstructed:
    """Estimate the 0/1 secret of each person from noisy counts of subsets, by bounded least squares.

    Args:
        secret: 0 or 1 for each person.
        subsets: For each question, the people who are counted.
        answers: The noisy number of people in each subset whose secret is 1.
    """
    truth = np.asarray(secret, np.float64).ravel()
    asked, said = np.asarray(subsets, np.float64), np.asarray(answers, np.float64).ravel()
    if asked.shape != (len(said), len(truth)):
        raise InvalidInput("must have a row for each answer and a column for each person", field="subsets")
    if not np.isin(truth, (0, 1)).all():
        raise InvalidInput("must be 0 or 1 for each person", field="secret")
    found = optimize.lsq_linear(asked, said, bounds=(0, 1)).x
    guess = np.rint(found)
    return Reconstructed(
        right=Rate.of(guess == truth),
        blind=Rate.of(truth == _most_frequent(truth)),
        error=float(np.abs(found - truth).mean()),
        questions=len(said),
    )


def _most_frequent(values: Array) -> float:
    distinct, counts = np.unique(values, return_counts=True)
    return float(distinct[counts.argmax()])
