"""Rounding of numbers to a multiple of a base.

    nearest    the nearest multiple; halves go up
    random     the multiple below or above, with probabilities that keep the expectation: unbiased

It is not controlled: sums of rounded numbers need not equal rounded sums.

Privacy: none. A rounded value leaves an interval of one base (nearest) or two bases (random) open.
Utility: variance of at most base^2/4 a value; random rounding keeps every mean in expectation.
Cost: O(n).
Claim page: docs/claims/masking.md.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from tacita import check
from tacita.anonymize.masking.columns import Columns
from tacita.anonymize.masking.method import Effect, MaskingMethod
from tacita.anonymize.parameters import described
from tacita.noise.source import Source

__all__ = ["Round"]

_UNIT = 2.0**-53


@dataclass(frozen=True, kw_only=True)
class Round(MaskingMethod):
    """Round numbers to a multiple of a base."""

    step: ClassVar[str] = "round"
    summary: ClassVar[str] = "Round numbers to a multiple of a base; not controlled."
    main: ClassVar[str] = "base"
    form: ClassVar[str] = "income=1000"
    kinds: ClassVar[tuple[str, ...]] = ("numeric",)

    base: float = field(metadata=described("Base of the multiples.", gt=0))
    how: Literal["nearest", "random"] = field(
        default="nearest", metadata=described("To the nearest multiple, or at random without bias.")
    )

    def check(self) -> None:
        """Check the base and the choice."""
        check.positive(self.base, "base")
        check.one_of(self.how, "how", ("nearest", "random"))

    def apply(self, columns: Columns, source: Source) -> Effect:
        """Round each attribute."""
        changed, notes = [], []
        for name in self.attributes:
            values = np.asarray(columns[name].values, np.float64)
            # floats beyond 2^53 bases have no finer multiples and stay
            small = np.abs(values) < self.base * 2.0**52
            steps = np.where(small, values, 0.0) / self.base
            below = np.floor(steps)
            up = steps - below >= (0.5 if self.how == "nearest" else _uniform(len(values), source))
            # a remainder of 0 stays, whatever was drawn
            rounded = (below + (up & (steps > below))) * self.base
            if (~small & ~np.isnan(values)).any():
                notes.append(
                    f"{name} has values beyond 2^52 times the base, which stay as they are: take a larger base."
                )
            changed.append(columns[name].with_values(np.where(small, rounded, values)))
        return Effect(columns=columns.replaced(changed), notes=tuple(notes))


def _uniform(count: int, source: Source) -> NDArray[np.float64]:
    """Uniform multiples of 2^-53 in (0, 1]: a remainder f is at least one of them with probability f."""
    return np.asarray(((source.words(count) >> np.uint64(11)).astype(np.float64) + 1) * _UNIT)
