"""Noise addition: each number plus normal noise whose standard deviation is a share of that of the attribute.

    y = x + e,   e normal with standard deviation level * std(x); with `correlated`, the covariance of all noises is
    level^2 times that of the attributes, so correlations are kept [Kim 1986]

Privacy: none: the noise is not calibrated to a privacy loss, and large values stay large.
Utility: means are kept in expectation; variances grow by the factor 1 + level^2, which a reader can correct.
Cost: O(n).
Claim page: docs/claims/masking.md.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from tacita import check
from tacita.anonymize.masking.columns import Columns, unit_of
from tacita.anonymize.masking.method import Effect, MaskingMethod
from tacita.anonymize.parameters import described
from tacita.errors import InvalidInput
from tacita.noise.source import Source

__all__ = ["AddNoise"]


@dataclass(frozen=True, kw_only=True)
class AddNoise(MaskingMethod):
    """Add normal noise to numbers."""

    step: ClassVar[str] = "noise"
    summary: ClassVar[str] = "Add normal noise to numbers, in standard deviations of the attribute; no privacy budget."
    main: ClassVar[str] = "level"
    form: ClassVar[str] = "income=0.1"
    kinds: ClassVar[tuple[str, ...]] = ("numeric",)

    level: float = field(metadata=described("Noise in standard deviations of the attribute.", gt=0, le=100))
    correlated: bool = field(
        default=False, metadata=described("Correlate the noises as the attributes are, which keeps correlations.")
    )

    def check(self) -> None:
        """Check the level."""
        check.inside(self.level, "level", 0, 100 + 1e-9)
        if not isinstance(self.correlated, bool):
            raise InvalidInput("must be true or false", field="correlated", value=self.correlated)

    def apply(self, columns: Columns, source: Source) -> Effect:
        """Add noise to each value that is there."""
        raw = np.stack([np.asarray(columns[name].values, np.float64) for name in self.attributes], axis=1)
        units = np.array([unit_of(column) for column in raw.T])
        matrix = raw / units
        rng = np.random.default_rng(source.words(4))
        noise = rng.standard_normal(matrix.shape)
        if self.correlated and columns.rows > 1:
            whole = matrix[~np.isnan(matrix).any(axis=1)]
            if len(whole) < 2:
                hint = "Leave out `correlated`"
                raise InvalidInput("there are no rows with all of these values", field=self.step, hint=hint)
            values, vectors = np.linalg.eigh(np.atleast_2d(np.cov(whole.T)))
            noise = noise @ (vectors * np.sqrt(np.maximum(values, 0.0))).T
        else:
            there = [column[~np.isnan(column)] for column in matrix.T]
            noise *= np.array([float(np.std(column)) if len(column) else 0.0 for column in there])
        masked = (matrix + self.level * noise) * units
        notes = (f"Variances grew by the factor {1 + self.level**2:.4g}; divide by it to correct them.",)
        changed = [columns[name].with_values(masked[:, j]) for j, name in enumerate(self.attributes)]
        return Effect(columns=columns.replaced(changed), notes=notes)
