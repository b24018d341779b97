"""Masked rows, with their steps, utility, matrices, and what they guarantee."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, Context, Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa

from tacita.anonymize.masking.pram import PramMatrix
from tacita.anonymize.masking.utility import Change
from tacita.engines.targets import row_target
from tacita.figures.bars import estimate_bars
from tacita.figures.charts import Interval
from tacita.tables.tabular import Tabular

__all__ = ["Masked", "StepResult", "loss_text"]


def loss_text(epsilon: float) -> str:
    """A privacy loss with four digits, never rounded down.

    >>> loss_text(2.0794415416798357), loss_text(1.0)
    ('2.080', '1')
    """
    return str(Context(prec=4, rounding=ROUND_CEILING).create_decimal(Decimal(epsilon)))


@dataclass(frozen=True, kw_only=True)
class StepResult:
    """Result of one step.

    Attributes:
        step: The method with its parameters, as plain data.
        figures: Figures of the method: groups, thresholds, suppressed cells.
        changes: What happened to each attribute in this step; empty where values were drawn.
        notes: Sentences for the reader.
    """

    step: Mapping[str, Any]
    figures: Mapping[str, Any]
    changes: tuple[Change, ...]
    notes: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "step": dict(self.step),
            "figures": dict(self.figures),
            "utility": [change.as_dict() for change in self.changes],
            "notes": list(self.notes),
        }


@dataclass(frozen=True, kw_only=True, eq=False)
class Masked(Tabular):
    """Released rows, and facts about them.

    Attributes:
        rows: Released rows, sorted by their values.
        steps: What each step did.
        changes: What all steps together did to each attribute that was not drawn; for the owner.
        correlation: Largest change of a correlation among masked numbers; None without two of them.
        matrices: Matrix of each attribute that was post-randomised; released with the rows.
        epsilon: Local privacy loss of a row, if all released attributes were post-randomised; else None.
        weight: Attribute that weights rows.
        recipe: The recipe, as plain data.
        warnings: Sentences on what is left open.
        simulated: Whether the noise could be repeated.
        persons: Whether a person may have several rows.
    """

    rows: pa.Table
    steps: tuple[StepResult, ...]
    changes: tuple[Change, ...]
    correlation: float | None
    matrices: Mapping[str, PramMatrix] = field(repr=False)
    epsilon: float | None
    weight: str | None
    recipe: dict[str, Any]
    warnings: tuple[str, ...]
    simulated: bool
    persons: bool

    def write(self, place: str | Path, into: str | None = None) -> None:
        """Write the rows as .parquet or .csv, or into a new table `into` of a database, given by its address."""
        row_target(place, into).write(iter([self.rows]))

    @property
    def guarantee(self) -> str:
        """Guarantee of the rows as a whole: none, or local differential privacy for a row."""
        if self.epsilon is None or self.simulated:
            return "none"
        return f"local differential privacy, epsilon = {loss_text(self.epsilon)} for a row"

    @property
    def statement(self) -> str:
        """Sentences on the guarantee."""
        parts = []
        if self.guarantee == "none":
            parts.append("No differential privacy: these are rows of real people, masked.")
        else:
            parts.append(f"All attributes were changed at random: {self.guarantee}.")
            if self.persons:
                parts.append("A person with several rows loses as many times as much.")
        for name, matrix in self.matrices.items():
            if matrix.epsilon is not None and self.epsilon is None:
                parts.append(f"{name} alone: local differential privacy, epsilon = {loss_text(matrix.epsilon)}.")
        return " ".join(parts)

    def as_dict(self) -> dict[str, Any]:
        """All but the rows, as plain data; figures of utility come from exact rows."""
        return {
            "tacita": "masked/1",
            "guarantee": self.guarantee,
            "statement": self.statement,
            "epsilon": self.epsilon,
            "rows": self.rows.num_rows,
            "columns": self.rows.column_names,
            "steps": [step.as_dict() for step in self.steps],
            "utility": [change.as_dict() for change in self.changes],
            "correlation_change": self.correlation,
            "matrices": {name: matrix.as_dict() for name, matrix in self.matrices.items()},
            "weight": self.weight,
            "recipe": self.recipe,
            "warnings": list(self.warnings),
            "simulated": self.simulated,
        }

    # -- one table ----------------------------------------------------------------------------------------------------

    def to_arrow(self) -> pa.Table:
        """Return the rows."""
        return self.rows

    def facts(self) -> dict[str, str]:
        """Return the guarantee and what was done, in words."""
        return {
            "guarantee": self.guarantee,
            "statement": self.statement,
            "steps": "; ".join(_words(step.step) for step in self.steps),
            "warnings": " ".join(self.warnings),
        }

    def chart(self) -> str:
        """Draw the share of the variance that each number lost."""
        lost = [(change.name, change.moments.loss) for change in self.changes if change.moments is not None]
        rows = [Interval(label=name, value=value) for name, value in lost if value is not None]
        return estimate_bars(rows, share=True, title="lost variance of each attribute")


def _words(step: Mapping[str, Any]) -> str:
    ((name, given),) = step.items()
    return f"{name} " + ", ".join(f"{key} {_plain(value)}" for key, value in given.items())


def _plain(value: Any) -> str:
    return " and ".join(str(each) for each in value) if isinstance(value, list) else str(value)
