"""A neural network with one hidden layer that gives the probability of each class; numbers are drawn bin by bin.

Every attribute is taken as classes: its levels, or the bins of its schema, within which a number is then drawn evenly.
So the bins of the schema decide how fine numbers come out. Each release is fitted to a bootstrap of the rows, which
stands for a draw of the weights.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tacita import check
from tacita.domain import Attribute, Binned, Date, decode
from tacita.synthesize.imputation.backend import Drawer, Target
from tacita.synthesize.imputation.linear import draw_class

__all__ = ["NeuralNetwork"]

Array = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class NeuralNetwork:
    """A softmax classifier.

    Args:
        width: Units of the hidden layer.
        passes: Over the rows.
    """

    width: int = 32
    passes: int = 60

    def __post_init__(self) -> None:
        for name in ("width", "passes"):
            check.whole(getattr(self, name), name, least=1)

    def fit(self, features: Array, values: Array, target: Target, rng: np.random.Generator) -> Drawer:
        """A network on a bootstrap of the rows."""
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.neural_network import MLPClassifier

        chosen = rng.integers(0, len(values), len(values))
        classes = _bins(target.attribute, values[chosen]) if target.number else values[chosen]
        if np.unique(classes).size == 1:
            return lambda rows, rng: _values(target, np.full(len(rows), classes[0]), rng)
        mean, spread = features.mean(axis=0), features.std(axis=0)
        spread[spread == 0] = 1.0
        made = MLPClassifier((self.width,), max_iter=self.passes, random_state=int(rng.integers(1 << 31)))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # so many passes and no more is what was asked for
            made.fit((features[chosen] - mean) / spread, classes)

        def draw(rows: Array, rng: np.random.Generator) -> Array:
            shares = made.predict_proba((rows - mean) / spread)
            return _values(target, made.classes_[draw_class(shares, rng)], rng)

        return draw

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {"backend": "network", "width": self.width, "passes": self.passes}


def _bins(attribute: Attribute | None, values: Array) -> Array:
    assert isinstance(attribute, Binned)
    return np.searchsorted(np.asarray(attribute.starts), values, side="right").astype(float) - 1


def _values(target: Target, classes: Array, rng: np.random.Generator) -> Array:
    """Classes as they are, bins as numbers inside them."""
    if not isinstance(target.attribute, Binned):
        return classes
    drawn = decode(target.attribute, classes.astype(np.int64), "uniform", rng.random(len(classes)))
    if isinstance(target.attribute, Date):
        drawn = drawn.cast(pa.int32())
    return np.asarray(drawn.cast(pa.float64()).to_numpy(zero_copy_only=False), float)
