"""Membership inference: was a person in the training data? Attacks on a model that gives probabilities.

    loss threshold    members have a smaller loss  [Yeom et al. 2018]
    shadow models     a classifier learns from models trained by the attacker how members look  [Shokri et al. 2017]
    likelihood ratio  for each person: how likely is the model's answer among models that were trained with them, and
                      among those without?  [Carlini et al. 2022]

The ratio looks at ln(p / (1 - p)) of the right class, which is near to normal over models, and compares two normal laws
for each person; with few models all people share one spread, with many each person has its own. A forest of 30 trees
often answers exactly 0 or 1, where the logarithm is infinite; such answers are moved inside by half of the smallest
step between its answers.

All attacks need the training procedure, not the model's parameters: `fit` is called on subsets of a pool.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tacita.assess.attacks.roc import Membership
from tacita.errors import InvalidInput

__all__ = [
    "Fit",
    "Shadows",
    "likelihood_ratio",
    "loss_threshold",
    "residual_threshold",
    "shadow_attack",
    "train_shadows",
]

Array = NDArray[np.float64]
Predict = Callable[[Any], Array]
Fit = Callable[[Any, NDArray[np.int64], int], Predict]
"""Trains on rows, labels and a seed; gives a function from rows to probabilities of the classes."""

_SMALL = 1e-7
_OFTEN = 0.01
_OWN_SPREAD = 64
"""Least number of models with which each person has a spread of its own."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Shadows:
    """Shadow models, trained on random halves of a pool.

    Attributes:
        inside: For each model and person, whether the person was trained on.
        right: For each model and person, the probability of the right class.
    """

    inside: NDArray[np.bool_]
    right: Array


def right_of(probabilities: Array, labels: NDArray[np.int64]) -> Array:
    """Return the probability of the right class."""
    return np.asarray(probabilities[np.arange(len(labels)), labels], np.float64)


def logits_of(right: Array, small: float = _SMALL) -> Array:
    """Compute ln(p / (1 - p)), kept finite."""
    inner = np.clip(right, small, 1 - small)
    return np.asarray(np.log(inner) - np.log1p(-inner))


def smallest_step(right: Array) -> float:
    """Return half of the smallest distance from certainty if a model is often certain, otherwise a tiny number."""
    off = np.minimum(right, 1 - right).ravel()
    certain = off <= 0
    if certain.mean() < _OFTEN or certain.all():
        return _SMALL
    return max(_SMALL, float(np.quantile(off[~certain], _OFTEN)) / 2)


def train_shadows(
    fit: Fit, rows: Any, labels: NDArray[np.int64], rng: np.random.Generator, *, count: int = 32
) -> Shadows:
    """Train models on random halves of a pool; each person is in half of them."""
    if type(count) is not int or count < 4 or count % 2:
        raise InvalidInput("must be an even whole number of at least 4", field="count", value=count)
    people = len(labels)
    if people < 4:
        raise InvalidInput("must be at least 4 people", field="rows", value=people)
    # in each pair of models each person is in exactly one
    inside = np.zeros((count, people), bool)
    for pair in range(count // 2):
        half = rng.permutation(people) < people // 2
        inside[2 * pair], inside[2 * pair + 1] = half, ~half
    right = np.empty((count, people))
    for place in range(count):
        trained = inside[place]
        predict = fit(_some(rows, trained), labels[trained], int(rng.integers(2**31)))
        right[place] = right_of(predict(rows), labels)
    return Shadows(inside=inside, right=right)


def loss_threshold(predict: Predict, rows: Any, labels: NDArray[np.int64], members: NDArray[np.bool_]) -> Membership:
    """Score by the probability of a person's own class: it is higher for members."""
    return _split("loss threshold", right_of(predict(rows), labels), members)


def residual_threshold(predicted: Array, truth: Array, members: NDArray[np.bool_]) -> Membership:
    """Score by the squared error of a predicted number: it is smaller for members."""
    return _split("loss threshold", -((predicted - truth) ** 2), members)


def likelihood_ratio(
    predict: Predict,
    rows: Any,
    labels: NDArray[np.int64],
    members: NDArray[np.bool_],
    shadows: Shadows,
    *,
    spread: Literal["auto", "own", "shared"] = "auto",
) -> Membership:
    """Score by the likelihood ratio of Carlini et al., with models trained with and without each person."""
    small = smallest_step(shadows.right)
    target, logits = logits_of(right_of(predict(rows), labels), small), logits_of(shadows.right, small)
    count = len(logits)
    own = spread == "own" or (spread == "auto" and count >= _OWN_SPREAD)
    laws = []
    for side in (shadows.inside, ~shadows.inside):
        weights = side.sum(axis=0)
        mean = np.where(side, logits, 0).sum(axis=0) / weights
        gaps = np.where(side, (logits - mean) ** 2, 0)
        variance = gaps.sum(axis=0) / np.maximum(weights - 1, 1) if own else gaps.sum() / (side.sum() - len(labels))
        laws.append((mean, np.maximum(variance, 1e-12)))
    (mean_in, var_in), (mean_out, var_out) = laws
    score = -((target - mean_in) ** 2) / var_in / 2 - np.log(var_in) / 2
    score += (target - mean_out) ** 2 / var_out / 2 + np.log(var_out) / 2
    note = f"{count} shadow models, {'a spread for each person' if own else 'one spread for all'}"
    return _split("likelihood ratio", score, members, (note,))


def shadow_attack(
    predict: Predict, rows: Any, labels: NDArray[np.int64], members: NDArray[np.bool_], shadows: Shadows
) -> Membership:
    """Score by a classifier of class and probability that is trained on the shadow models."""
    from sklearn.ensemble import HistGradientBoostingClassifier  # takes a while to load

    features = np.stack([shadows.right.ravel(), np.tile(labels, len(shadows.right))], axis=1)
    learnt = HistGradientBoostingClassifier(max_iter=50, random_state=0).fit(features, shadows.inside.ravel())
    target = np.stack([right_of(predict(rows), labels), labels], axis=1)
    return _split("shadow models", learnt.predict_proba(target)[:, 1], members)


def _some(rows: Any, which: NDArray[np.bool_]) -> Any:
    """Return some rows of an array or of an Arrow table."""
    return rows.filter(pa.array(which)) if isinstance(rows, pa.Table) else rows[which]


def _split(name: str, scores: Array, members: NDArray[np.bool_], notes: tuple[str, ...] = ()) -> Membership:
    flags = np.asarray(members, bool)
    if flags.shape != scores.shape:
        raise InvalidInput("must state for each row whether it was trained on", field="members", value=flags.shape)
    return Membership(name=name, inside=scores[flags], outside=scores[~flags], notes=notes)
