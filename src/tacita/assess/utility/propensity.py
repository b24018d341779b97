"""Propensity score: can a classifier distinguish released rows from real ones?  pMSE  [Snoke et al. 2018]

    pMSE   mean of (p - c)^2 over all rows, p the probability of being released, c the share of released rows
    ratio  pMSE over what it would be if both came from one law: (k - 1) c (1 - c) / N for k parameters of the model

That null is for two samples of a population. Rows drawn from a model of these very rows differ by their own sampling
alone: then (1 - c) of it is expected, which is the published figure.

    AUC    how often a released row gets a higher score than a real one, by a classifier that saw neither: it is fitted
           on one half of the rows and tested on the other

A ratio near 1 means that this classifier found no difference, not that there is none.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacita.assess.case import Case
from tacita.assess.frame import Frame
from tacita.errors import InvalidInput

__all__ = ["Propensity", "one_hot", "propensity", "quiet_fit"]

_MOST_LEVELS = 40
_LEAST = 50


Matrix = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Propensity:
    """Distinguishability of released rows from real ones."""

    pmse: float
    ratio: float
    auc: float
    parameters: int

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {"pmse": self.pmse, "ratio": self.ratio, "auc": self.auc, "parameters": self.parameters}


def propensity(case: Case, rng: np.random.Generator, *, rows: int = 20_000) -> Propensity:
    """Compute pMSE by logistic regression on levels and numbers, for the first release."""
    real, released = (_some(frame, rows, rng) for frame in (case.real, case.first))
    if min(len(real), len(released)) < _LEAST:
        raise InvalidInput(f"needs at least {_LEAST} rows of each", field="rows", value=min(len(real), len(released)))
    features = one_hot(Frame(domain=case.domain, values=np.concatenate([real.values, released.values])))
    labels = np.r_[np.zeros(len(real)), np.ones(len(released))]
    probabilities = _fitted(features, labels, features)
    share = labels.mean()
    pmse = float(((probabilities - share) ** 2).mean())
    parameters = int(np.linalg.matrix_rank(features - features.mean(axis=0))) + 1
    expected = (parameters - 1) * (1 - share) * share / len(labels)
    return Propensity(
        pmse=pmse,
        ratio=pmse / expected if expected > 0 else 1.0,
        auc=_auc(features, labels, rng),
        parameters=parameters,
    )


def _fitted(features: Matrix, labels: Matrix, asked: Matrix) -> Matrix:
    """Predict the probability of being released, for each row of `asked`."""
    from sklearn.linear_model import LogisticRegression  # takes a while to load

    with quiet_fit():
        model = LogisticRegression(C=1e4, max_iter=300).fit(features, labels)
    return np.asarray(model.predict_proba(asked)[:, 1])


def _auc(features: Matrix, labels: Matrix, rng: np.random.Generator) -> float:
    """Compute the AUC by halves: a model with many parameters separates any rows that it was fitted on."""
    from sklearn.metrics import roc_auc_score

    order = rng.permutation(len(labels))
    order = order[np.argsort(labels[order], kind="stable")]  # so that both halves have equally many of each side
    halves = order[::2], order[1::2]
    found = [
        roc_auc_score(labels[other], _fitted(features[one], labels[one], features[other]))
        for one, other in (halves, halves[::-1])
    ]
    return float(np.mean(found))


@contextmanager
def quiet_fit() -> Iterator[None]:
    """Fit on one thread, and silence the warning of a fit that stopped early: a measure needs no last digit.

    Small fits on many threads mostly wait for each other.
    """
    from sklearn.exceptions import ConvergenceWarning
    from threadpoolctl import threadpool_limits

    with warnings.catch_warnings(), threadpool_limits(limits=1):
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield


def _some(frame: Frame, rows: int, rng: np.random.Generator) -> Frame:
    return frame if len(frame) <= rows else frame.take(rng.choice(len(frame), rows, replace=False))


def one_hot(frame: Frame) -> NDArray[np.float64]:
    """Encode numbers in units of their width, and each level as a column; a missing number is a level of its own."""
    columns = []
    for place, attribute in enumerate(frame.domain.attributes):
        column = frame.values[:, place]
        if frame.ordered[place]:
            absent = np.isnan(column)
            columns.append(np.nan_to_num(column) / frame.widths[place])
            if absent.any():
                columns.append(absent.astype(np.float64))
        else:
            levels = range(min(attribute.size, _MOST_LEVELS))
            columns += [(column == level).astype(np.float64) for level in levels]
    return np.stack(columns, axis=1)
