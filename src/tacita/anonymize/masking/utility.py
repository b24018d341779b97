"""Utility of masked rows, by attribute: lost variance, means, standard deviations, correlations, suppressed cells.

    loss = sum w (x - x')^2 / sum w (x - mean)^2     SSE/SST over cells that are there before and after

Figures compare exact rows with released ones, so they are for the owner. With weights they come weighted as well.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacita.anonymize.masking.columns import Column, Columns, unit_of

__all__ = ["Change", "Moments", "change_of", "correlation_change"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Moments:
    """Mean and standard deviation before and after, and the share of the variance that is lost; of numbers only.

    The share is None where all values were equal and are not kept.
    """

    loss: float | None
    mean: tuple[float, float]
    std: tuple[float, float]

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {"loss": self.loss, "mean": list(self.mean), "std": list(self.std)}


@dataclass(frozen=True, kw_only=True)
class Change:
    """Change of one attribute.

    Attributes:
        name: The attribute.
        changed: Share of cells with another value, or none.
        suppressed: Cells that had a value and have none.
        moments: Of numbers; None for levels, and where no value is left.
        weighted: The same with weights; None without.
    """

    name: str
    changed: float
    suppressed: int
    moments: Moments | None = None
    weighted: Moments | None = None

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        found: dict[str, Any] = {"attribute": self.name, "changed": self.changed, "suppressed": self.suppressed}
        if self.moments is not None:
            found |= self.moments.as_dict()
        if self.weighted is not None:
            found["weighted"] = self.weighted.as_dict()
        return found


def change_of(before: Column, after: Column, weights: Floats | None = None) -> Change:
    """Compare two states of an attribute."""
    gone, was = after.missing, before.missing
    same = (gone & was) | (~gone & ~was & (before.values == after.values))
    both = ~gone & ~was
    moments = weighted = None
    if before.is_number and before.kind == "numeric" and both.any():
        x, y = np.asarray(before.values, np.float64)[both], np.asarray(after.values, np.float64)[both]
        moments = _moments(x, y, np.ones(len(x)))
        if weights is not None and weights[both].sum() > 0:
            weighted = _moments(x, y, weights[both])
    return Change(
        name=before.name,
        changed=float(1 - same.mean()) if len(same) else 0.0,
        suppressed=int((gone & ~was).sum()),
        moments=moments,
        weighted=weighted,
    )


def _moments(x: Floats, y: Floats, weights: Floats) -> Moments:
    unit = unit_of(np.concatenate([x, y]))
    x, y, share = x / unit, y / unit, weights / weights.sum()
    means = float(share @ x), float(share @ y)
    spread = float(share @ (x - means[0]) ** 2), float(share @ (y - means[1]) ** 2)
    lost = float(share @ (x - y) ** 2)
    loss = lost / spread[0] if spread[0] > 0 else (0.0 if lost == 0 else None)
    return Moments(
        loss=loss,
        mean=(means[0] * unit, means[1] * unit),
        std=(spread[0] ** 0.5 * unit, spread[1] ** 0.5 * unit),
    )


def correlation_change(before: Columns, after: Columns, names: Sequence[str]) -> float | None:
    """The largest change of a correlation among some numbers, over rows that have all of them; None without two."""
    tables: list[Mapping[str, Column]] = [before.columns, after.columns]
    matrices = [np.stack([np.asarray(each[name].values, np.float64) for name in names]) for each in tables if names]
    if len(names) < 2:
        return None
    whole = ~(np.isnan(matrices[0]) | np.isnan(matrices[1])).any(axis=0)
    parts = [matrix[:, whole] for matrix in matrices]
    parts = [np.stack([row / unit_of(row) for row in part]) for part in parts]
    if whole.sum() < 2 or any((np.ptp(part, axis=1) == 0).any() for part in parts):
        return None
    return float(np.abs(np.corrcoef(parts[0]) - np.corrcoef(parts[1])).max())
