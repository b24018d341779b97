"""A conditional linear Gaussian network over mixed columns: tables for levels, a regression for each cell for numbers.

Privacy: none of its own; it is as private as the statistics that it was fitted to.
Cost: a look-up for each row and level, a product for each row and numeric parent.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacita.errors import InvalidInput, UnknownName
from tacita.models.continuous.mixed_score import MixedScore
from tacita.models.continuous.moments import Array, Line
from tacita.models.network import topological_order

__all__ = ["MixedNetwork"]

_MARK = "mixed-network/1"


@dataclass(frozen=True, kw_only=True, eq=False)
class MixedNetwork:
    """Parents, tables and regressions.

    Args:
        parents: Of each attribute; no cycles, and no numeric parent of a level.
        levels: Labels of each discrete attribute.
        tables: For each discrete attribute a row of shares for each cell of its parents.
        lines: For each number the regression of each cell of its discrete parents; -1 is that of all other cells.
    """

    parents: Mapping[str, tuple[str, ...]]
    levels: Mapping[str, tuple[str, ...]] = field(repr=False)
    tables: Mapping[str, Array] = field(repr=False)
    lines: Mapping[str, Mapping[int, Line]] = field(repr=False)

    def __post_init__(self) -> None:
        names = tuple(self.parents)
        if set(self.levels) | set(self.lines) != set(names) or set(self.levels) & set(self.lines):
            raise InvalidInput("must be levels or numbers, each once", field="parents", value=list(names))
        for name, above in self.parents.items():
            for each in above:
                if each not in self.parents:
                    raise UnknownName(each, field=f"parents.{name}", available=names)
                if name in self.levels and each not in self.levels:
                    raise InvalidInput("must have no numeric parents", field=name, value=each)
        topological_order(names, dict(self.parents))
        for name in self.levels:
            self._check_table(name)
        for name, lines in self.lines.items():
            numbers = tuple(each for each in self.parents[name] if each in self.lines)
            if -1 not in lines or any(tuple(line.coefficients) != numbers for line in lines.values()):
                raise InvalidInput("must have a regression for all other cells, on its numeric parents", field=name)
            if not all(line.variance > 0 for line in lines.values()):
                raise InvalidInput("must have positive variances", field=name)
        object.__setattr__(self, "parents", MappingProxyType(dict(self.parents)))

    def _check_table(self, name: str) -> None:
        table = self.tables[name]
        cells = math.prod(len(self.levels[above]) for above in self.parents[name])
        if table.shape != (cells, len(self.levels[name])):
            raise InvalidInput("must have a row for each cell of the parents", field=name, value=list(table.shape))
        if (table < 0).any() or not np.allclose(table.sum(axis=1), 1, atol=1e-9, rtol=0):
            raise InvalidInput("must be non-negative and sum to 1 along the attribute", field=name)

    @classmethod
    def fit(
        cls, score: MixedScore, parents: Mapping[str, tuple[str, ...]], levels: Mapping[str, tuple[str, ...]]
    ) -> MixedNetwork:
        """Fit a structure to the statistics of a score; a cell of parents without rows gets the child's own shares."""
        counts, tables, lines = score.grouped.counts, {}, {}
        for name in levels:
            own = counts.table((name,))
            table = counts.table((*parents[name], name)).reshape(-1, len(own))
            held = table.sum(axis=1, keepdims=True)
            tables[name] = np.where(held > 0, table / np.maximum(held, 1), own / own.sum())
        for name in score.grouped.moments.names:
            numbers = tuple(each for each in parents[name] if each not in levels)
            discrete = tuple(each for each in parents[name] if each in levels)
            found = {-1: score.grouped.moments.line(name, numbers)}
            for cell, moments in score.grouped.within(discrete).items() if discrete else ():
                line = score.line_of(moments, name, numbers)
                if line is not None:
                    found[cell] = line
            lines[name] = found
        return cls(parents=dict(parents), levels=dict(levels), tables=tables, lines=lines)

    @property
    def edges(self) -> frozenset[tuple[str, str]]:
        """All pairs (parent, child)."""
        return frozenset((above, name) for name, each in self.parents.items() for above in each)

    @cached_property
    def order(self) -> tuple[str, ...]:
        """All attributes, parents before children."""
        return topological_order(self.parents, dict(self.parents))

    def _cell(self, name: str, codes: Mapping[str, NDArray[np.int64]], rows: int) -> NDArray[np.int64]:
        cell = np.zeros(rows, np.int64)
        for above in self.parents[name]:
            if above in self.levels:
                cell = cell * len(self.levels[above]) + codes[above]
        return cell

    def sample(self, rows: int, rng: np.random.Generator) -> dict[str, Any]:
        """Draw synthetic rows: labels of levels, and numbers."""
        if type(rows) is not int or rows < 0:
            raise InvalidInput("must be a whole number of 0 or more", field="rows", value=rows)
        drawn: dict[str, Any] = {}
        for name in self.order:
            cell = self._cell(name, drawn, rows)
            if name in self.levels:
                heights = np.cumsum(self.tables[name], axis=1)[cell]
                codes = (rng.random(rows)[:, None] >= heights).sum(axis=1)
                drawn[name] = np.minimum(codes, len(self.levels[name]) - 1)
            else:
                fitted, variance = self._fitted(name, cell, drawn)
                drawn[name] = rng.normal(fitted, np.sqrt(variance))
        labels = {name: np.array(self.levels[name], object) for name in self.levels}
        return {name: labels[name][drawn[name]] if name in labels else drawn[name] for name in self.parents}

    def _fitted(self, name: str, cell: NDArray[np.int64], values: Mapping[str, Any]) -> tuple[Array, Array]:
        """Mean and variance of a number in each row."""
        mean, variance = np.zeros(len(cell)), np.ones(len(cell))
        own = np.isin(cell, [key for key in self.lines[name] if key >= 0])
        for key, line in self.lines[name].items():
            at = np.flatnonzero(cell == key if key >= 0 else ~own)
            mean[at] = line.intercept
            for above, weight in line.coefficients.items():
                mean[at] += weight * np.asarray(values[above], float)[at]
            variance[at] = line.variance
        return mean, variance

    def log_likelihood(self, codes: Mapping[str, NDArray[np.int64]], numbers: Mapping[str, Array]) -> float:
        """Sum over rows of ln density(row)."""
        values = {**codes, **numbers}
        rows = len(np.asarray(values[next(iter(self.parents))]))
        total = 0.0
        for name in self.parents:
            cell = self._cell(name, codes, rows)
            if name in self.levels:
                with np.errstate(divide="ignore"):
                    total += float(np.log(self.tables[name][cell, codes[name]]).sum())
            else:
                mean, variance = self._fitted(name, cell, values)
                squared = (np.asarray(numbers[name], float) - mean) ** 2 / variance
                total -= float((np.log(2 * math.pi * variance) + squared).sum()) / 2
        return total

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        lines = {
            name: [
                {"cell": cell, "intercept": line.intercept, "coefficients": dict(line.coefficients)}
                | {"variance": line.variance}
                for cell, line in each.items()
            ]
            for name, each in self.lines.items()
        }
        return {
            "tacita": _MARK,
            "parents": {name: list(above) for name, above in self.parents.items()},
            "levels": {name: list(labels) for name, labels in self.levels.items()},
            "tables": {name: table.tolist() for name, table in self.tables.items()},
            "lines": lines,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> MixedNetwork:
        """Read what `as_dict` returns."""
        if data.get("tacita") != _MARK:
            raise InvalidInput(f"must be `{_MARK}`", field="tacita", value=data.get("tacita"))
        lines = {
            str(name): {
                int(line["cell"]): Line(
                    intercept=float(line["intercept"]),
                    coefficients={str(above): float(each) for above, each in line["coefficients"].items()},
                    variance=float(line["variance"]),
                )
                for line in several
            }
            for name, several in data["lines"].items()
        }
        return cls(
            parents={str(name): tuple(above) for name, above in data["parents"].items()},
            levels={str(name): tuple(labels) for name, labels in data["levels"].items()},
            tables={str(name): np.array(table, float) for name, table in data["tables"].items()},
            lines=lines,
        )
