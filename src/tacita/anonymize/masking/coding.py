"""Top and bottom coding: numbers beyond a threshold are replaced by it, or by the mean of the tail.

A threshold should be public, such as the income above which a law asks no more. A threshold that is a quantile of the
data is read from exact rows, and the result says so. The mean of a tail keeps the total; it is used only where the tail
has at least `least` people (rows, where the schema has no person's key), else one large value would be released almost
as it is. One person may still dominate the mean of a larger tail.

Privacy: none. Rows beyond the threshold have the same value of this attribute.
Utility: SSE/SST of the attribute; the mean is kept with `replace = mean`.
Cost: O(n).
Claim page: docs/claims/masking.md.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from tacita import check
from tacita.anonymize.masking.columns import Columns, unit_of
from tacita.anonymize.masking.method import Effect, MaskingMethod
from tacita.anonymize.parameters import described
from tacita.anonymize.quasi import NO_ONE
from tacita.errors import InvalidInput
from tacita.noise.source import Source

__all__ = ["BottomCode", "TopCode"]


@dataclass(frozen=True, kw_only=True)
class _Coding(MaskingMethod):
    main: ClassVar[str] = "threshold"
    kinds: ClassVar[tuple[str, ...]] = ("numeric",)
    side: ClassVar[str]

    threshold: float | None = field(default=None, metadata=described("A public threshold."))
    quantile: float | None = field(
        default=None,
        metadata=described("The quantile of the data instead of a threshold: read from exact rows.", gt=0, lt=1),
    )
    replace: Literal["threshold", "mean"] = field(
        default="threshold", metadata=described("What replaces values beyond the threshold.")
    )
    least: int = field(
        default=5, metadata=described("Fewest people in a tail that is replaced by its mean; else the threshold.", ge=2)
    )

    def check(self) -> None:
        """Check the numbers and choices."""
        if (self.threshold is None) == (self.quantile is None):
            raise InvalidInput("give a threshold or a quantile, and not both", field=self.step, hint=self.form)
        if self.threshold is not None and not (_is_number(self.threshold) and np.isfinite(self.threshold)):
            raise InvalidInput("must be a finite number", field="threshold", value=self.threshold)
        if self.quantile is not None:
            check.inside(self.quantile, "quantile", 0, 1)
        check.one_of(self.replace, "replace", ("threshold", "mean"))
        check.whole(self.least, "least", least=2)

    def _beyond(self, values: NDArray[np.float64], threshold: float) -> NDArray[np.bool_]:
        raise NotImplementedError

    def apply(self, columns: Columns, source: Source) -> Effect:
        """Replace the tail of each attribute."""
        changed, notes, figures = [], [], {}
        for name in self.attributes:
            values = np.asarray(columns[name].values, np.float64)
            there = values[~np.isnan(values)]
            if self.quantile is not None and not len(there):
                notes.append(f"{name} has no values.")
                continue
            threshold = self.threshold
            if threshold is None:
                # a value of the data, not one between two: nothing new is computed from them
                threshold = float(np.quantile(there, float(self.quantile or 0.0), method="lower"))
                notes.append(f"The threshold of {name}, {threshold:g}, was read from exact rows.")
            beyond = self._beyond(values, threshold)
            count, code = int(beyond.sum()), float(threshold)
            people = _people(beyond, columns.persons)
            if self.replace == "mean" and people >= self.least:
                unit = unit_of(values[beyond])
                code = float((values[beyond] / unit).mean() * unit)
            elif self.replace == "mean" and count:
                notes.append(f"The tail of {name} has fewer than {self.least} people: the threshold replaces it.")
            changed.append(columns[name].with_values(np.where(beyond, code, values)))
            figures[name] = {"threshold": float(threshold), "replaced_by": code, "coded": count}
        found: dict[str, Any] = {"tails": figures}
        return Effect(columns=columns.replaced(changed), figures=found, notes=tuple(notes))


def _people(rows: NDArray[np.bool_], persons: NDArray[np.int64] | None) -> int:
    """Number of people in some rows: of rows, where every row is a person."""
    if persons is None:
        return int(rows.sum())
    found = persons[rows]
    return len(np.unique(found[found != NO_ONE]))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


@dataclass(frozen=True, kw_only=True)
class TopCode(_Coding):
    """Replace numbers above a threshold."""

    step: ClassVar[str] = "top"
    summary: ClassVar[str] = "Replace numbers above a threshold (top coding)."
    form: ClassVar[str] = "income=90000"

    def _beyond(self, values: NDArray[np.float64], threshold: float) -> NDArray[np.bool_]:
        return np.asarray(values > threshold)


@dataclass(frozen=True, kw_only=True)
class BottomCode(_Coding):
    """Replace numbers below a threshold."""

    step: ClassVar[str] = "bottom"
    summary: ClassVar[str] = "Replace numbers below a threshold (bottom coding)."
    form: ClassVar[str] = "age=18"

    def _beyond(self, values: NDArray[np.float64], threshold: float) -> NDArray[np.bool_]:
        return np.asarray(values < threshold)
