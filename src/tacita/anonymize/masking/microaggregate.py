"""Microaggregation: groups of at least k similar rows, each value replaced by the mean (or median) of its group.

    one attribute        groups with the least sum of squares, exactly: shortest path [Hansen, Mukherjee 2003]
    several attributes   MDAV, fixed size k, on standardised attributes [Domingo-Ferrer, Torra 2005]

The best groups of several attributes are NP-hard to find; MDAV is a heuristic in O(n^2/k). Above 10,000 rows the rows
are cut into blocks of nearly equal size along their first principal component, and MDAV works in each block: O(n) in
the number of blocks, at the cost of groups that could have crossed a cut.

Missing cells stay missing: rows are grouped with rows that lack the same attributes. Where fewer than k rows do, their
other cells of these attributes are set missing, because no group hides them.

Privacy: none in the sense of differential privacy. Each combination of the masked attributes occurs at least k times.
Utility: SSE/SST, the share of the variance that is lost, over standardised attributes; means of groups keep all means.
Cost: O(n^2/k) for MDAV in a block, O(nk) for one attribute.
Claim page: docs/claims/microaggregation.md.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from tacita import check
from tacita.anonymize.kernels.microaggregate import mdav_groups, optimal_groups
from tacita.anonymize.masking.columns import Columns, unit_of
from tacita.anonymize.masking.method import Effect, MaskingMethod
from tacita.anonymize.parameters import described
from tacita.errors import InternalError, InvalidInput
from tacita.noise.source import Source

__all__ = ["BLOCK", "Microaggregate", "group_rows", "sum_of_squares"]

BLOCK = 10_000
"""Most rows that MDAV groups at once; at least 4k."""
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Way = Literal["auto", "mdav", "optimal"]


@dataclass(frozen=True, kw_only=True)
class Microaggregate(MaskingMethod):
    """Replace numbers by the mean or median of groups of at least k similar rows."""

    step: ClassVar[str] = "microaggregate"
    summary: ClassVar[str] = "Replace numbers by the mean of groups of at least k similar rows."
    main: ClassVar[str] = "k"
    form: ClassVar[str] = "income,age=5"
    kinds: ClassVar[tuple[str, ...]] = ("numeric",)

    k: int = field(metadata=described("Least rows of a group.", ge=2))
    centre: Literal["mean", "median"] = field(
        default="mean", metadata=described("What replaces the values of a group.")
    )
    method: Way = field(
        default="auto",
        metadata=described("optimal for one attribute, mdav for several; auto chooses by their number."),
    )

    def check(self) -> None:
        """Check the numbers and choices."""
        check.whole(self.k, "k", least=2)
        check.one_of(self.centre, "centre", ("mean", "median"))
        check.one_of(self.method, "method", ("auto", "mdav", "optimal"))
        if self.method == "optimal" and len(self.attributes) > 1:
            hint = "Give one attribute, or method mdav"
            raise InvalidInput("the optimum is computed for one attribute only", field="method", hint=hint)

    def apply(self, columns: Columns, source: Source) -> Effect:
        """Group rows that lack the same attributes, and replace their values."""
        raw = np.stack([np.asarray(columns[name].values, np.float64) for name in self.attributes], axis=1)
        units = np.array([unit_of(column) for column in raw.T])
        matrix = raw / units
        if len(matrix) < self.k:
            raise InvalidInput(
                "there are fewer rows than that",
                field="k",
                value=self.k,
                hint="Take a smaller k" if len(matrix) else "The table is empty",
            )
        absent = np.isnan(matrix)
        patterns, which = np.unique(absent, axis=0, return_inverse=True)
        masked, hidden, groups, blocks = matrix.copy(), 0, 0, 0
        within = around = 0.0
        scale = _scale(matrix)
        for number, pattern in enumerate(patterns):
            there, rows = np.flatnonzero(~pattern), np.flatnonzero(which.reshape(-1) == number)
            if not len(there):
                continue
            part = matrix[np.ix_(rows, there)]
            if len(rows) < self.k:
                masked[np.ix_(rows, there)] = np.nan
                hidden += part.size
                continue
            points = (part - part.mean(axis=0)) / scale[there]
            found, cuts = group_rows(points, self.k, optimal=self._optimal and len(there) == 1)
            masked[np.ix_(rows, there)] = _centres(part, found, self.centre)
            groups, blocks = groups + int(found.max()) + 1, max(blocks, cuts)
            within += float(((part - masked[np.ix_(rows, there)]) ** 2 / scale[there] ** 2).sum())
        kept = ~np.isnan(masked)
        for j in range(matrix.shape[1]):
            around += sum_of_squares(matrix[kept[:, j], j]) / scale[j] ** 2
        notes = []
        if hidden:
            notes.append(f"{hidden:,} cells are set missing: fewer than {self.k} rows lack the same attributes.")
        if blocks > 1:
            notes.append(f"Rows were cut into {blocks:,} blocks along their first principal component.")
        figures: dict[str, Any] = {"groups": groups, "loss": within / around if around > 0 else 0.0, "hidden": hidden}
        changed = [columns[name].with_values(masked[:, j] * units[j]) for j, name in enumerate(self.attributes)]
        return Effect(columns=columns.replaced(changed), figures=figures, notes=tuple(notes))

    @property
    def _optimal(self) -> bool:
        return self.method == "optimal" or (self.method == "auto" and len(self.attributes) == 1)


def sum_of_squares(values: Floats) -> float:
    """Sum of squared distances from the mean."""
    return float(((values - values.mean()) ** 2).sum()) if len(values) else 0.0


def group_rows(points: Floats, k: int, *, optimal: bool = False, block: int = BLOCK) -> tuple[Ints, int]:
    """The group of each of some standardised points without missing values, and the number of blocks.

    Points are sorted first, so that groups do not depend on the order of rows: ties go to the smaller values.
    """
    if not np.isfinite(points).all():
        raise InternalError("points must be finite", field="points")
    order = np.lexsort(points.T[::-1])
    points = np.ascontiguousarray(points[order])
    if optimal:
        found, pieces = optimal_groups(points[:, 0], k), 1
    else:
        most = max(block, 4 * k)
        pieces = -(-len(points) // most)
        found = np.empty(len(points), np.int64)
        along = np.argsort(_first_component(points), kind="stable") if pieces > 1 else np.arange(len(points))
        start = 0
        for part in np.array_split(along, pieces):
            rows = np.sort(part)
            found[rows] = mdav_groups(points[rows], k) + start
            start = int(found[rows].max()) + 1
    groups = np.empty(len(points), np.int64)
    groups[order] = found
    return groups, pieces


def _first_component(points: Floats) -> Floats:
    """Position of each point along the direction of the largest variance."""
    centred = points - points.mean(axis=0)
    direction = np.linalg.eigh(centred.T @ centred)[1][:, -1]
    return np.asarray(centred @ direction)


def _scale(matrix: Floats) -> Floats:
    """Standard deviation of each attribute; 1 where all its values are equal or missing."""
    found = [np.std(column[~np.isnan(column)]) if (~np.isnan(column)).any() else 0.0 for column in matrix.T]
    scale = np.array(found)
    return np.where(scale > 0, scale, 1.0)


def _centres(values: Floats, groups: Ints, centre: str) -> Floats:
    """The centre of each row's group, by attribute."""
    order = np.argsort(groups, kind="stable")
    starts = np.flatnonzero(np.diff(groups[order], prepend=-1))
    sizes = np.diff(np.append(starts, len(order)))
    found = np.empty_like(values)
    for j in range(values.shape[1]):
        if centre == "mean":
            middle = np.add.reduceat(values[order, j], starts) / sizes
        else:
            rising = values[np.lexsort((values[:, j], groups)), j]
            middle = (rising[starts + (sizes - 1) // 2] + rising[starts + sizes // 2]) / 2
        found[order, j] = np.repeat(middle, sizes)
    return found
