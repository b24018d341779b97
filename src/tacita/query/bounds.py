"""Private bounds: where the range of a number is unknown, part of the budget finds it.

    plan = FindBounds(column="income").calibrate(domain, budget, unit=unit, neighbours=neighbours)
    found = session.ask(plan)                                  # the engine reads income over `powers_of_two`
    Aggregate(kind="mean", column="income", bounds=(found.low, found.high))

The recipe counts the number over public bins (0, 1, 2, 4, 8, ..), adds noise, and reads the bounds off the release.

Privacy: that of the table of counts; what is read off it is post-processing. The bins are public: powers of two.
Utility: the range holds the wanted share of the rows up to noise; a bin counts as occupied when it stands out of the
noise of all bins together, so that empty bins far out do not widen the range.
Claim page: docs/claims/additive-noise.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from tacita.common.plain import plain_fields
from tacita.domain import Domain, Numeric
from tacita.engines.base import Engine
from tacita.errors import InvalidInput
from tacita.noise import Source
from tacita.plans.additive import CalibratedTables, NoisyTables
from tacita.plans.recipe import CalibratedPlan
from tacita.privacy.budget import Budget
from tacita.privacy.event import Event
from tacita.privacy.unit import Neighbours, Unit
from tacita.tables.envelope import Envelope
from tacita.tables.release import Provenance, Release, Releases
from tacita.tables.tabular import Tabular
from tacita.tables.workload import Workload

__all__ = ["Bounds", "CalibratedBounds", "FindBounds", "bounds_from", "powers_of_two"]

_POWERS = 40


def powers_of_two(domain: Domain, column: str, *, powers: int = _POWERS) -> Domain:
    """The same domain with one number over bins that double: from -2**powers over 0 to 2**powers.

    Args:
        domain: Public description of the data.
        column: A number; its own bounds are not used.
        powers: The largest size that is looked for, as a power of two.
    """
    attribute = domain[column]
    if not isinstance(attribute, Numeric):
        raise InvalidInput("must be a number", field=column, value=attribute.kind)
    if not 1 <= powers <= 60:
        raise InvalidInput("must be 1 to 60", field="powers", value=powers)
    sizes = [2.0**power for power in range(powers + 1)]
    edges = (*(-size for size in reversed(sizes)), 0.0, *sizes)
    wide = Numeric(name=column, bounds=(edges[0], edges[-1]), edges=edges, missing=True, other=True)
    attributes = tuple(wide if each.name == column else each for each in domain.attributes)
    return Domain(title=domain.title, person=domain.person, nulls=domain.nulls, attributes=attributes)


def bounds_from(release: Release, *, share: float = 0.99, level: float = 0.95) -> tuple[float, float]:
    """The narrowest range of whole bins that holds the wanted share of the counts above the noise.

    Args:
        release: A noisy table over a number of `powers_of_two`.
        share: Of the rows that must lie inside; the rest will be clipped, evenly at both ends.
        level: With this probability no empty bin is taken for an occupied one.
    """
    (name,) = release.attributes
    attribute = release.domain[name]
    if not isinstance(attribute, Numeric):
        raise InvalidInput("must be a table over one number", field="release", value=name)
    if not 0 < share <= 1:
        raise InvalidInput("must lie above 0 and not above 1", field="share", value=share)
    edges = [*attribute.starts, attribute.bounds[1]]
    bins = len(edges) - 1
    counts = release.values[:bins].astype(float)
    above, _ = release.interval(1 - 2 * (1 - level) / bins)  # one-sided, for all bins together, by the noise's own law
    held = np.where(above[:bins] > 0, counts, 0.0)
    if not held.any():
        hint = "Spend more on the bounds, or state them"
        raise InvalidInput("no bin stands out of the noise", field="release", hint=hint)
    cumulative = np.cumsum(held) / held.sum()
    spare = (1 - share) / 2
    first = int(np.searchsorted(cumulative, spare, side="right"))
    last = int(np.searchsorted(cumulative, 1 - spare, side="left"))
    return float(edges[first]), float(edges[last + 1])


@dataclass(frozen=True, kw_only=True, eq=False)
class Bounds(Envelope, Tabular):
    """Released bounds of a number.

    Attributes:
        column: The number.
        low, high: Its bounds; None when no bin stands out of the noise.
        share, level: As asked for.
        histogram: Noisy counts that they were read off.
    """

    mark: ClassVar[str] = "bounds/1"

    column: str
    low: float | None
    high: float | None
    share: float
    level: float
    histogram: Release

    def to_arrow(self) -> pa.Table:
        """One row: the column and its bounds; empty where noise hides them."""
        ends = {name: pa.array([end], pa.float64()) for name, end in (("low", self.low), ("high", self.high))}
        return pa.table({"column": [self.column]} | ends)

    def chart(self) -> str:
        """Draw the noisy histogram that they were read off."""
        return self.histogram.chart()

    def parts(self) -> dict[str, Any]:
        """Fields of the bounds themselves, as plain data."""
        plain = {"column": self.column, "low": self.low, "high": self.high, "share": self.share, "level": self.level}
        return plain | {"histogram": self.histogram.as_dict()}

    @staticmethod
    def parts_of(data: Mapping[str, Any]) -> dict[str, Any]:
        """The same as arguments again."""
        plain = {name: data[name] for name in ("column", "low", "high", "share", "level")}
        return plain | {"histogram": Release.from_dict(data["histogram"])}


@dataclass(frozen=True, kw_only=True)
class FindBounds:
    """Find the bounds of a number from a noisy histogram over powers of two.

    Args:
        column: The number; its own bounds are not used.
        share: Of the rows that must lie inside; the rest is outside, evenly at both ends.
        level: With this probability no empty bin is taken for an occupied one.
        powers: The largest size that is looked for, as a power of two.
    """

    column: str
    share: float = 0.99
    level: float = 0.95
    powers: int = _POWERS

    def __post_init__(self) -> None:
        if not 0 < self.share <= 1:
            raise InvalidInput("must lie above 0 and not above 1", field="share", value=self.share)
        if not 0 < self.level < 1:
            raise InvalidInput("must lie between 0 and 1", field="level", value=self.level)

    def calibrate(self, domain: Domain, budget: Budget, *, unit: Unit, neighbours: Neighbours) -> CalibratedBounds:
        """Fix the noise so that a run costs at most the budget; reads no data."""
        wide = powers_of_two(domain, self.column, powers=self.powers)
        tables = NoisyTables(Workload.of([self.column])).calibrate(wide, budget, unit=unit, neighbours=neighbours)
        return CalibratedBounds(recipe=self, tables=tables)

    def as_dict(self) -> dict[str, Any]:
        """The recipe as plain data."""
        return {"method": "bounds"} | plain_fields(self)


@dataclass(frozen=True, kw_only=True)
class CalibratedBounds(CalibratedPlan[Bounds]):
    """Bounds with the noise of their histogram fixed. `domain` has the number over powers of two."""

    answer = Bounds

    recipe: FindBounds
    tables: CalibratedTables = field(repr=False)

    @property
    def domain(self) -> Domain:
        """Domain that an engine must read the data with."""
        return self.tables.domain

    @property
    def event(self) -> Event:
        """Cost of a run to each unit."""
        return self.tables.event

    @property
    def budget(self) -> Budget:
        """Most that a run may cost."""
        return self.tables.budget

    @property
    def unit(self) -> Unit:
        """Privacy unit."""
        return self.tables.unit

    @property
    def neighbours(self) -> Neighbours:
        """Notion of neighbours."""
        return self.tables.neighbours

    def run(self, engine: Engine, source: Source) -> Bounds:
        """Count, add noise, read off the bounds: the last step costs nothing, whatever it finds."""
        releases: Releases = self.tables.run(engine, source)
        histogram = releases[self.recipe.column,]
        low: float | None
        high: float | None
        try:
            low, high = bounds_from(histogram, share=self.recipe.share, level=self.recipe.level)
        except InvalidInput:  # no bin stands out: this is paid for too, and the histogram says so
            low = high = None
        return Bounds(
            column=self.recipe.column,
            low=low,
            high=high,
            share=self.recipe.share,
            level=self.recipe.level,
            histogram=histogram,
            event=self.event,
            unit=self.unit,
            neighbours=self.neighbours,
            provenance=Provenance(recipe=self.recipe.as_dict(), simulated=source.simulated),
        )

    def parts(self) -> dict[str, Any]:
        """Own parts of the plain data: noise and predicted error of the histogram."""
        return self.tables.parts()
