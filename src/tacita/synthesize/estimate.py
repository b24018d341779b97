"""Released counts as measurements: shares of a number of rows that all tables estimate together, with their variance.

Privacy: post-processing of released tables.   Claim: docs/claims/marginal-synthesis.md
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacita.domain import Domain
from tacita.errors import InvalidInput
from tacita.models.measurement import Measurement
from tacita.tables.cells import Cells
from tacita.tables.consistency import weighted_mean
from tacita.tables.release import Release
from tacita.tables.simplex import to_distribution

__all__ = ["LOST", "MAX_LEVELS", "check_width", "lost_rows", "measurements_of", "rows_of", "shares_of"]

MAX_LEVELS = 2048
"""Most levels of all attributes together: all pairs are held at once, and a step of a fit costs as much."""

LOST = (
    "Tables disagree about the number of rows: values outside the schema are left out, table by table. "
    "Run `tacita schema check`."
)

_APART = 3  # standard errors between totals that cannot be the same


def check_width(domain: Domain) -> None:
    """Refuse a domain with more levels than pairs can be held of; says what to bin."""
    if sum(domain.shape) > MAX_LEVELS:
        widest = sorted(domain.names, key=lambda name: -domain[name].size)[:3]
        names = ", ".join(f"{name} ({domain[name].size})" for name in widest)
        raise InvalidInput(
            f"all attributes together may have {MAX_LEVELS} levels",
            field="domain",
            value=sum(domain.shape),
            hint=f"Bin or group the widest: {names}",
        )


def measurements_of(releases: Sequence[Release]) -> tuple[list[Measurement], float, float]:
    """Released counts as shares of their total; the number of rows and its standard error.

    Every table estimates the number of rows; all estimates are averaged, weighted by precision. But a row with an
    out-of-domain value is left out of the tables over that attribute, and only of those. Where totals differ by more
    than their noise, the largest give the number of rows, and smaller tables are taken as shares of their own total.
    """
    read = _Totals.of(releases)
    found = [
        Measurement(
            attributes=each.attributes,
            values=np.asarray(each.values, float) / scale,
            variance=float((_std(each) / scale) ** 2),
        )
        for each, scale in zip(releases, read.scales, strict=True)
    ]
    return found, read.rows, read.error


def rows_of(releases: Sequence[Release]) -> list[float]:
    """For each release about how many rows it counts, as `measurements_of` takes it."""
    return list(_Totals.of(releases).scales)


def lost_rows(releases: Sequence[Release]) -> tuple[str, ...]:
    """A note if tables disagree about the number of rows by more than their noise."""
    return () if _Totals.of(releases).agree else (LOST,)


@dataclass(frozen=True, kw_only=True, eq=False)
class _Totals:
    """Number of rows that the totals of released tables give together."""

    rows: float
    error: float
    agree: bool
    scales: NDArray[np.float64]

    @classmethod
    def of(cls, releases: Sequence[Release]) -> _Totals:
        totals = np.array([float(np.sum(release.values)) for release in releases])
        errors = np.array([_std(release) * math.sqrt(release.values.size) for release in releases])
        rows, error = _pooled(totals, errors)
        # squares of noise have a mean of 1 and a variance of 2 (Gaussian) to 5 (Laplace)
        spread, free = float((((totals - rows) / errors) ** 2).sum()), len(totals) - 1
        agree = spread <= free + 6 + 6 * math.sqrt(5 * free)
        if not agree:
            high = totals + _APART * errors >= (totals - _APART * errors).max()
            rows, error = _pooled(totals[high], errors[high])
        scale = max(rows, error, 1.0)  # where noise hides the total, some must be assumed
        short = (totals > np.maximum(_APART * errors, 1.0)) & (totals + _APART * errors < rows)
        return cls(rows=rows, error=error, agree=agree, scales=np.where(short & (not agree), totals, scale))


def _pooled(totals: NDArray[np.float64], errors: NDArray[np.float64]) -> tuple[float, float]:
    mean, variance = weighted_mean(totals.tolist(), (errors**2).tolist())
    return float(mean), math.sqrt(variance)


def shares_of(release: Release) -> Cells:
    """Released counts as a distribution, see `to_distribution`."""
    return Cells(release.domain, to_distribution(np.asarray(release.values, float)))


def _std(release: Release) -> float:
    return max(float(np.mean(release.std())), 1e-6)  # a budget that is hardly one leaves no noise to weigh by
