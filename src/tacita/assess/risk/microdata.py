"""Disclosure risk of microdata: every measure of the registry that applies, for the owner.

    sample = read_sample(domain, table, quasi=("age", "zip"), weight="w")
    found = microdata_risk(sample)        # `MicrodataRisk`: figures of the file, risks of records

Privacy: guarantee: none. Figures and risks come from exact rows: they are for the owner and not to be published.
docs/claims/microdata-risk.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from tacita.assess.attacks.attack import Skipped
from tacita.assess.risk.measure import Measured, RiskMeasure, RiskOptions
from tacita.assess.risk.registry import select
from tacita.assess.risk.sample import Sample
from tacita.figures.charts import Interval, interval_bars
from tacita.tables.tabular import Tabular

__all__ = ["MicrodataRisk", "microdata_risk"]


@dataclass(frozen=True, kw_only=True, eq=False)
class MicrodataRisk(Tabular):
    """Risk of a file.

    Attributes:
        rows: Number of records.
        quasi: Quasi-identifiers.
        people: Size of the population, where it is known or estimated by weights.
        measured: Each measure with its result.
        skipped: Measures that do not apply, with the reason.
        options: Options of the measures.
    """

    rows: int
    quasi: tuple[str, ...]
    people: float | None
    measured: tuple[tuple[RiskMeasure, Measured], ...] = field(repr=False)
    skipped: tuple[Skipped, ...]
    options: RiskOptions

    @property
    def guarantee(self) -> str:
        """None: figures come from exact rows."""
        return "none"

    def figure(self, measure: str, name: str) -> float:
        """Return one number by the names of its measure and itself."""
        return next(
            each.value
            for known, result in self.measured
            if known.name == measure
            for each in result.figures
            if each.name == name
        )

    def to_arrow(self) -> pa.Table:
        """One row for each figure, with its interval where there is one."""
        rows = [(known.name, each) for known, result in self.measured for each in result.figures]
        return pa.table(
            {
                "measure": [name for name, _ in rows],
                "figure": [each.name for _, each in rows],
                "meaning": [each.title for _, each in rows],
                "value": pa.array([each.value for _, each in rows], pa.float64()),
                "low": pa.array([each.low for _, each in rows], pa.float64()),
                "high": pa.array([each.high for _, each in rows], pa.float64()),
            }
        )

    def records(self) -> pa.Table:
        """One row for each record, in the order of the file, with its risks; for the owner only."""
        columns: dict[str, Any] = {"row": np.arange(1, self.rows + 1)}
        for _, result in self.measured:
            columns |= result.records
        return pa.table(columns)

    def facts(self) -> Mapping[str, str]:
        """Return what the figures are, in words."""
        return {
            "guarantee": self.guarantee,
            "note": "Figures of exact rows, for the owner of the data. Do not publish them.",
            "records": f"{self.rows:,}",
            "quasi-identifiers": ", ".join(self.quasi),
        }

    def chart(self) -> str:
        """Draw the shares."""
        bars = [
            Interval(label=f"{known.name}: {each.name}", value=each.value, low=each.value, high=each.value)
            for known, result in self.measured
            for each in result.figures
            if each.share
        ]
        return interval_bars(bars, title="Disclosure risk")

    def as_dict(self) -> dict[str, Any]:
        """Plain data without any record."""
        return {
            "tacita": "microdata-risk/1",
            "guarantee": self.guarantee,
            "rows": self.rows,
            "quasi": list(self.quasi),
            "people": self.people,
            "threshold": self.options.threshold,
            "measures": [
                known.as_dict() | {"figures": [each.as_dict() for each in result.figures], "notes": list(result.notes)}
                for known, result in self.measured
            ],
            "skipped": [each._asdict() for each in self.skipped],
        }


def microdata_risk(sample: Sample, options: RiskOptions | None = None) -> MicrodataRisk:
    """Compute every measure that applies to a sample; those that do not are named with the reason."""
    options = options or RiskOptions()
    measured, skipped = [], []
    for measure in select(options.measures):
        reason = measure.applies(sample)
        if reason is None:
            measured.append((measure, measure.run(sample, options)))
        else:
            skipped.append(Skipped(measure.name, reason))
    return MicrodataRisk(
        rows=len(sample),
        quasi=sample.names,
        people=sample.people,
        measured=tuple(measured),
        skipped=tuple(skipped),
        options=options,
    )
