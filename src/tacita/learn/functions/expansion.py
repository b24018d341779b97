"""A function before it has noise: sums of a kernel around centres, or of features. Exact, and never shown."""

from __future__ import annotations

from dataclasses import dataclass, field

from tacita.learn.functions.features import Features
from tacita.learn.functions.kernel import Array, Kernel

__all__ = ["Fitted", "Space"]


@dataclass(frozen=True, kw_only=True)
class Space:
    """The space of functions that model and noise share: that of a kernel, or of the features that approximate it."""

    kernel: Kernel
    features: Features | None = None

    @property
    def height(self) -> float:
        """sup k(x, x)."""
        return self.kernel.height

    @property
    def negative(self) -> bool:
        """Whether the kernel of this space may be below 0."""
        return self.features is not None

    def gram(self, a: Array, b: Array) -> Array:
        """k(a_i, b_j) of this space."""
        return self.kernel(a, b) if self.features is None else self.features(a) @ self.features(b).T


@dataclass(frozen=True, kw_only=True, eq=False)
class Fitted:
    """Functions f_j(x) = sum_i weights_ij k(x, centres_i), or phi(x) . weights_j with features. Sensitive.

    Attributes:
        weights: One column for each function.
        centres: None with features.
        sensitivity: How far a unit moves all functions together, as a distance in the space.
        scale, offset: Factor of an answer, and summand after it; public.
        rows: Number of rows that were read, where that is public.
    """

    weights: Array = field(repr=False)
    centres: Array | None = field(repr=False)
    sensitivity: float
    scale: float = 1.0
    offset: float = 0.0
    rows: int | None = None
