"""A model's table with an interval for each cell, and how it is computed from kept tables.

    share given conditions = n(cell) / n(conditions);  bounds of both hold together, so those of the quotient do

Privacy: post-processing of released tables; costs nothing.   Claim: docs/claims/model-intervals.md
Utility: a measured table has the interval of its noise. Of any other, the measured tables inside it give bounds, which
         are wide where they leave its cells open. The model's own share is usually nearer to the truth than either end.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, get_args

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tacita import check
from tacita.domain import Domain
from tacita.domain.conditions import Condition
from tacita.errors import InvalidInput
from tacita.figures.bars import estimate_bars
from tacita.figures.charts import Interval
from tacita.synthesize.intervals.bounds import Bounds, count_bounds
from tacita.synthesize.intervals.measured import MeasuredTables
from tacita.synthesize.intervals.pooled import Question
from tacita.synthesize.kinds import Quantity
from tacita.tables.cells import Cells
from tacita.tables.tabular import Tabular, finite

__all__ = ["Intervals", "compute_intervals", "masks_of"]

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
_LEAST_MISS = 1e-9  # of a cell; transforms are exact to about 1e-15


@dataclass(frozen=True, kw_only=True, eq=False)
class Intervals(Tabular):
    """Shares or counts of a model, each with an interval of the true one.

    Attributes:
        estimate: The model's numbers. One may lie outside its interval: then the model misses that cell.
        low, high: Ends, in the form of the estimate. They do not depend on the model.
        quantity: "share" or "count".
        level: Confidence of each cell by itself; of all cells of the table if `together`.
        together: Whether all intervals of the table hold together.
        measured: Whether noise was added to this table itself, or to one that holds it; else the ends are bounds.
        sets: The attributes of the measured tables that give the ends; None where there are no such tables. Then the
            ends are not numbers.
        about: Guarantee and origin of the model, in words.
    """

    estimate: Cells
    low: Array = field(repr=False)
    high: Array = field(repr=False)
    quantity: Quantity
    level: float
    together: bool
    measured: bool
    sets: tuple[tuple[str, ...], ...] | None
    about: Mapping[str, str] = field(repr=False)

    @property
    def attributes(self) -> tuple[str, ...]:
        """Names of the axes, in order."""
        return self.estimate.attributes

    @property
    def known(self) -> bool:
        """Whether there are intervals."""
        return self.sets is not None

    @property
    def basis(self) -> str:
        """Origin of the ends, in words."""
        if self.sets is None:
            return "none"
        listed = ", ".join(" x ".join(each) for each in self.sets) or "the number of rows"
        return f"measured: {listed}" if self.measured else f"bounds from {listed}"

    def to_arrow(self) -> pa.Table:
        """One row for each cell: its labels, the model's number, and the ends."""
        codes = np.indices(self.estimate.shape).reshape(len(self.attributes), -1)
        labels = {
            name: pa.array(self.estimate.domain[name].all_labels).take(pa.array(part))
            for name, part in zip(self.attributes, codes, strict=True)
        }
        numbers = {self.quantity: self.estimate.values, "low": self.low, "high": self.high}
        return pa.table(labels | {name: np.asarray(each, float).reshape(-1) for name, each in numbers.items()})

    def facts(self) -> dict[str, str]:
        """Return what the intervals claim, and the guarantee and origin of the model."""
        return {"intervals": self.claim()} | dict(self.about)

    def claim(self) -> str:
        """State in words what the intervals are."""
        if not self.known:
            return "No intervals: the model keeps no measured tables."
        level = f"{100 * self.level:.4g} %"
        each = f"together with {level} confidence" if self.together else f"each with {level} confidence"
        what = "Measured" if self.measured else "Not measured itself, so the ends are bounds"
        return f"{what}: the intervals hold the values of the protected data, {each}. They do not depend on the model."

    def chart(self) -> str:
        """Draw a bar with its interval for each cell."""
        rows = [
            Interval(
                label=" · ".join(str(row[name]) for name in self.attributes),
                value=row[self.quantity],
                low=row["low"],
                high=row["high"],
            )
            for row in finite(self.to_arrow()).to_pylist()
        ]
        return estimate_bars(rows, share=self.quantity == "share", title=" by ".join(self.attributes))

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "attributes": list(self.attributes),
            "quantity": self.quantity,
            "level": self.level,
            "together": self.together,
            "basis": self.basis,
            "cells": finite(self.to_arrow()).to_pylist(),
        }


def masks_of(domain: Domain, where: Sequence[str]) -> dict[str, Mask]:
    """The levels of each attribute that all conditions allow."""
    masks: dict[str, Mask] = {}
    for condition in map(Condition.parse, where):
        name = condition.attribute
        allowed = condition.check(domain).on_codes(domain[name])
        masks[name] = masks.get(name, np.ones(domain[name].size, bool)) & allowed
        if not masks[name].any():
            raise InvalidInput("no level meets the conditions", field="where", value=name)
    return masks


def compute_intervals(
    tables: MeasuredTables | None,
    estimate: Cells,
    domain: Domain,
    *,
    people: float,
    masks: Mapping[str, Mask] | None = None,
    given: float = 1.0,
    level: float = 0.95,
    together: bool = False,
    quantity: Quantity = "share",
    about: Mapping[str, str] | None = None,
) -> Intervals:
    """Intervals of the true shares or counts of a table.

    Args:
        tables: Measured tables; without them there are no ends.
        estimate: The model's shares, given the conditions.
        domain: All attributes of the model.
        people: The model's number of rows.
        masks: Conditions on the rows: by attribute, the levels that they allow.
        given: The model's share of rows that meet them.
        level: Confidence.
        together: Whether it is that of all cells together, instead of each.
        quantity: "share" of the rows that meet the conditions, or "count" of rows.
        about: Guarantee and origin of the model.
    """
    check.inside(level, "level", 0, 1)
    check.one_of(quantity, "quantity", get_args(Quantity))
    names = estimate.attributes
    miss = (1 - level) / (estimate.values.size if together else 1)
    if miss < _LEAST_MISS:
        raise InvalidInput("is too near 1 to be computed for so many cells", field="level", value=level)
    values = np.asarray(estimate.values, float)
    if quantity == "count":
        values = values * people * given
    question = Question(domain=domain, names=names, masks=masks or {})
    found: Bounds | None = None
    if tables is None:
        low = high = np.full(values.shape, np.nan)
    elif quantity == "count":
        found = count_bounds(tables, question, miss)
        low, high = found.low, found.high
    elif question.masks:
        found = count_bounds(tables, question, miss / 2)
        meeting = count_bounds(tables, Question(domain=domain, names=(), masks=question.masks), miss / 2)
        low, high = _quotient(found, (float(meeting.low), float(meeting.high)))
    else:
        found = count_bounds(tables, question, miss)
        low, high = _quotient(found, found.total)
    return Intervals(
        estimate=Cells(estimate.domain, values),
        low=low,
        high=high,
        quantity=quantity,
        level=level,
        together=together,
        measured=found is not None and found.measured,
        sets=None if found is None else found.sets,
        about=dict(about or {}),
    )


def _quotient(top: Bounds, bottom: tuple[float, float]) -> tuple[Array, Array]:
    """Bounds of the quotient of counts, of which the upper one contains the lower; it lies between 0 and 1."""
    least, most = bottom
    low = top.low / most if most > 0 else np.zeros_like(top.low)
    high = top.high / least if least > 0 else np.ones_like(top.high)
    return np.clip(low, 0, 1), np.clip(high, 0, 1)
