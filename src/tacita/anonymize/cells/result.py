"""Tables with suppressed cells as a result: what may be published, and the audit for the owner."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tacita.anonymize.cells.audit import Intervals
from tacita.anonymize.cells.contents import CellContents
from tacita.anonymize.cells.exact import Pattern
from tacita.anonymize.cells.relations import Relations
from tacita.anonymize.cells.rules import Protection
from tacita.figures.charts import Interval, interval_bars
from tacita.tables.tabular import Tabular, finite

__all__ = ["ALL", "SuppressedTables"]

Mask = NDArray[np.bool_]
ALL = "(all)"
"""Label of an attribute that a cell sums over."""
_SHOWN = 30


@dataclass(frozen=True, kw_only=True, eq=False)
class SuppressedTables(Tabular):
    """Tables with suppressed cells, and what the audit found.

    `to_arrow` is what may be published: it does not say which suppressed cells are the sensitive ones. `audit` is for
    the owner.

    Attributes:
        relations: Cells and their sums.
        labels: Labels of each attribute.
        suppressed: Whether a cell is suppressed.
        intervals: Interval that anyone can compute for each cell.
        pattern: How the suppressed cells were found.
        protection: Sensitive cells with their protection; for the owner.
        contents: Exact contents; for the owner.
        recipe: The recipe, as plain data.
        rules: The rules in words.
        reasoning: Whether intervals are exact for attackers who know that counts are whole numbers: "exact",
            "not checked", or "does not apply" where values need not be whole.
    """

    relations: Relations = field(repr=False)
    labels: Mapping[str, tuple[str, ...]] = field(repr=False)
    suppressed: Mask = field(repr=False)
    intervals: Intervals = field(repr=False)
    pattern: Pattern = field(repr=False)
    protection: Protection = field(repr=False)
    contents: CellContents = field(repr=False)
    recipe: dict[str, Any]
    rules: tuple[str, ...]
    reasoning: str

    @property
    def guarantee(self) -> str:
        """In the sense of differential privacy: none."""
        return "none"

    @property
    def primary(self) -> int:
        """Number of sensitive cells."""
        return int(self.protection.sensitive.sum())

    @property
    def secondary(self) -> int:
        """Number of cells that are suppressed to protect them."""
        return int(self.suppressed.sum()) - self.primary

    @property
    def rows(self) -> pa.Table:
        """The published cells and intervals."""
        return self.to_arrow()

    def to_arrow(self) -> pa.Table:
        """One row for each cell: labels, value if it is published, interval that anyone can compute, status."""
        return self._cells(np.arange(len(self.suppressed)))

    def audit(self) -> pa.Table:
        """One row for each sensitive cell, with its value, protection levels and interval; for the owner only."""
        which = np.flatnonzero(self.protection.sensitive)
        shown = self._cells(which).drop_columns(["value", "status"])
        for name, numbers in (
            ("value", self.contents.values),
            ("contributors", self.contents.contributors),
            ("lower", self.protection.lower),
            ("upper", self.protection.upper),
            ("width", self.protection.width),
        ):
            shown = shown.append_column(name, pa.array(numbers[which]))
        return shown

    def _cells(self, which: NDArray[np.int64]) -> pa.Table:
        columns: dict[str, Any] = {}
        for at, name in enumerate(self.relations.names):
            words = np.array([*self.labels[name], self._all(name)], dtype=object)
            columns[name] = pa.array(words[self.relations.codes[which, at]].tolist(), pa.string())
        hidden = self.suppressed[which]
        columns["value"] = pa.array(self.contents.values[which], mask=hidden)
        columns["low"], columns["high"] = self.intervals.low[which], self.intervals.high[which]
        columns["status"] = np.where(hidden, "suppressed", "published").tolist()
        return pa.table(columns)

    def _all(self, name: str) -> str:
        text = ALL
        while text in self.labels[name]:
            text = f"({text})"
        return text

    def facts(self) -> Mapping[str, str]:
        """Return the guarantee and what an attacker can compute, in words."""
        return {
            "guarantee": self.guarantee,
            "statement": self.statement,
            "cells": f"{len(self.suppressed):,}, of which {int(self.suppressed.sum()):,} are suppressed",
            "rules": "; ".join(self.rules),
        }

    @property
    def statement(self) -> str:
        """The reach of an attacker, in words."""
        whole = {
            "exact": "Whole-number reasoning is included.",
            "not checked": "Whole-number reasoning may give narrower intervals: it was not checked.",
            "does not apply": "",
        }[self.reasoning]
        return (
            "From all published cells and margins, linear reasoning gives the interval of each suppressed cell that "
            f"is listed, and none narrower. {whole} Contributors, who know their own part, and other tables of the "
            "same data can give more. No differential privacy."
        ).replace("  ", " ")

    def chart(self) -> str:
        """Draw the intervals of suppressed cells."""
        table = self.to_arrow().filter(pa.array(self.suppressed)).slice(0, _SHOWN).to_pylist()
        top = max([row["high"] for row in table if np.isfinite(row["high"])], default=1.0) or 1.0
        bars = [
            Interval(
                label=" · ".join(str(row[name]) for name in self.relations.names),
                value=(row["low"] + min(row["high"], top)) / 2,
                low=row["low"],
                high=min(row["high"], top),
            )
            for row in table
        ]
        return interval_bars(bars, most=top, title="Intervals of suppressed cells")

    def to_json(self) -> str:
        """Return what may be published as JSON: the cells, and what can be computed from them."""
        cells = finite(self.to_arrow()).to_pylist()
        known = {"tacita": "suppressed/1", "guarantee": self.guarantee, "statement": self.statement, "cells": cells}
        return json.dumps(known, ensure_ascii=False, allow_nan=False)

    def as_dict(self) -> dict[str, Any]:
        """All but the cells, as plain data; `owner` holds exact figures, which must not be published.

        The cost is a sum over the suppressed values, and few further cells mean that the others are sensitive: either
        narrows intervals.
        """
        return {
            "tacita": "suppressed/1",
            "guarantee": self.guarantee,
            "statement": self.statement,
            "rows": len(self.suppressed),
            "columns": [*self.relations.names, "value", "low", "high", "status"],
            "suppressed": int(self.suppressed.sum()),
            "whole_numbers": self.reasoning,
            "recipe": self.recipe,
            "owner": {
                "primary": self.primary,
                "secondary": self.secondary,
                "audited": self.primary,
                "cost": self.pattern.cost,
                "bound": self.pattern.bound,
                "how": self.pattern.how,
                "work": self.pattern.work,
                "left_out": self.contents.left_out,
            },
        }
