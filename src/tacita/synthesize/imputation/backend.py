"""Imputation models: fitted to features and values, they draw values for other features.

Every fit draws its model from the uncertainty that the data leave about it, so that releases differ by as much as the
combining rules need: see each back-end.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tacita.domain import Attribute, Binned, Date

__all__ = ["Backend", "Drawer", "Target"]

Array = NDArray[np.float64]
Drawer = Callable[[Array, np.random.Generator], Array]
"""Values for rows of features."""


@dataclass(frozen=True, kw_only=True)
class Target:
    """Target of a draw: a number within public bounds, or one of so many classes."""

    attribute: Attribute | None = None
    """None: whether a value is there, which has two classes."""

    @property
    def number(self) -> bool:
        """Whether values are points of the number line."""
        return isinstance(self.attribute, Binned)

    def inside(self, values: Array) -> Array:
        """Numbers moved to the public bounds, and to whole ones where the attribute has no others."""
        assert isinstance(self.attribute, Binned)
        whole = isinstance(self.attribute, Date) or self.attribute.integer
        return np.clip(np.rint(values) if whole else values, *self.attribute.line_bounds)


class Backend(Protocol):
    """A way to draw values of one attribute given others."""

    def fit(self, features: Array, values: Array, target: Target, rng: np.random.Generator) -> Drawer:
        """A model of these rows, with a draw of what they leave open about it."""

    def as_dict(self) -> dict[str, Any]:
        """The back-end as plain data."""
