"""A compiled query: a recipe of noisy statistics, and stages after noise; as a recipe and as a plan.

The recipe that is charged is what is measured, without the stages. So the same measurement with other expressions,
HAVING, ORDER BY or LIMIT is the same question: its stored answer is read again, and costs nothing.

Privacy: that of what is measured (`aggregates`); stages are post-processing.   Claim: docs/claims/sql.md
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from tacita.domain import Domain
from tacita.engines.base import Engine
from tacita.errors import InvalidInput
from tacita.noise import Source
from tacita.plans.recipe import CalibratedPlan
from tacita.privacy.budget import Budget
from tacita.privacy.event import Event
from tacita.privacy.unit import Neighbours, Unit
from tacita.query.aggregate import Aggregate, Expected
from tacita.query.aggregates import Aggregates
from tacita.query.answer import Answer, Measured
from tacita.query.calibrated import CalibratedAggregates
from tacita.query.measures import Moments
from tacita.query.numbers import Array
from tacita.query.quantiles import Points
from tacita.query.shrinking import Shrinkage, check_groups
from tacita.query.sql.after import Frame, Labels, Outer, Stage
from tacita.query.sql.released import Noise, Quantity
from tacita.query.sql.shrunk import add_shrunk, check_shrinkable
from tacita.tables.release import Provenance

__all__ = ["CalibratedQuery", "Group", "SqlQuery"]

_TRIED = 100
"""Groups on which stages are tried before anything is charged."""


@dataclass(frozen=True)
class Group:
    """A group of the inner SELECT: its name among what is measured, and value and rank of each code.

    Private keys have no codes; their values are the texts that are named.
    """

    name: str
    values: tuple[Any, ...] = ()
    ranks: tuple[int, ...] = ()


@dataclass(frozen=True, kw_only=True)
class SqlQuery:
    """Recipe of a query: measured statistics, and the stages after noise."""

    measured: Aggregates
    groups: tuple[Group, ...]
    stage: Stage
    outer: Outer | None = None
    shrink: Shrinkage = "none"

    def calibrate(self, domain: Domain, budget: Budget, *, unit: Unit, neighbours: Neighbours) -> CalibratedQuery:
        """Fix the noise so that running costs at most the budget; reads no data."""
        self._check_shrink(domain)
        plan = self.measured.calibrate(domain, budget, unit=unit, neighbours=neighbours)
        made = CalibratedQuery(query=self, plan=plan)
        made.check()
        return made

    def _check_shrink(self, domain: Domain) -> None:
        """Refuse shrinkage where noise would pick the groups, or where they are too few."""
        if self.shrink == "none":
            return
        stage = self.stage
        if self.outer is not None or stage.having is not None or stage.limit is not None or stage.offset:
            raise InvalidInput(
                "needs all groups: no HAVING, LIMIT, OFFSET or outer SELECT",
                field="shrink",
                value=self.shrink,
                hint="Ask without them, and pick rows of the answer",
            )
        if not self.measured.keys:
            attributes = self.measured.groups_of(domain).attributes if self.measured.by else ()
            sizes = [attribute.size for attribute in attributes]
            check_groups(math.prod(sizes), 1 + (sum(sizes) - len(sizes) if self.shrink == "additive" else 0))

    def cells(self, domain: Domain) -> int:
        """Number of cells of what is measured over public groups."""
        groups = self.measured.groups_of(domain).size if self.measured.by else 1
        return groups * max(len(self.measured.aggregates), 1)

    def as_dict(self) -> dict[str, Any]:
        """Measured statistics and stages as plain data."""
        return self.measured.as_dict() | {"after": self.after()}

    def after(self) -> dict[str, Any]:
        """The stages as plain data."""
        names = {f"#g{at}": group.name for at, group in enumerate(self.groups)}
        names |= {f"#a{at}": each.name for at, each in enumerate(self.measured.aggregates)}
        more: dict[str, Any] = {} if self.outer is None else {"outer": self.outer.as_dict()}
        return self.stage.as_dict(names) | more | ({} if self.shrink == "none" else {"shrink": self.shrink})


@dataclass(frozen=True, kw_only=True)
class CalibratedQuery(CalibratedPlan[Answer]):
    """A query with the noise of every sum fixed."""

    answer = Answer

    query: SqlQuery
    plan: CalibratedAggregates

    @property
    def recipe(self) -> Aggregates:
        """Measured statistics: the question that is charged."""
        return self.plan.recipe

    @property
    def domain(self) -> Domain:
        """Domain of the data."""
        return self.plan.domain

    @property
    def unit(self) -> Unit:
        """Privacy unit."""
        return self.plan.unit

    @property
    def neighbours(self) -> Neighbours:
        """Notion of neighbours."""
        return self.plan.neighbours

    @property
    def budget(self) -> Budget:
        """Most that a run may cost."""
        return self.plan.budget

    @property
    def event(self) -> Event:
        """Cost of a run to each unit."""
        return self.plan.event

    @property
    def groups(self) -> int:
        """Number of public groups."""
        return self.plan.groups

    def expect(self) -> tuple[Expected, ...]:
        """The error of everything that is measured, under the heading that shows it."""
        shown = {item.part.name: item.heading for item in reversed(self.query.stage.items) if item.part.name}
        return tuple(replace(each, name=shown.get(f"#a{at}", each.name)) for at, each in enumerate(self.plan.expect()))

    def parts(self) -> dict[str, Any]:
        """Own parts of the plain data."""
        return self.plan.parts() | {"after": self.query.after()}

    def run(self, engine: Engine, source: Source) -> Answer:
        """Measure, then compute.

        What was measured is kept in any case: if a stage cannot be computed from it, the answer has no columns, and
        `read` states the reason. The same question without that stage then costs nothing.
        """
        measured, provenance = self.plan.measure(engine, source), self.plan.provenance(source)
        try:
            return self.shown(measured, provenance)
        except InvalidInput:
            return self._answer(measured, provenance, Frame(0, Noise((), ()), {}))

    def read(self, text: str, /) -> Answer:
        """The stored answer to the same measurement, as this query shows it."""
        found = Answer.from_json(text)
        if found.measured is None:
            hint = "An earlier version stored it; ask for new noise (fresh)"
            raise InvalidInput("the stored answer has no measured values", field="answer", hint=hint)
        return self.shown(found.measured, found.provenance)

    def shown(self, measured: Measured, provenance: Provenance) -> Answer:
        """Compute the answer from released values; what no float can hold is not known."""
        hint = "What was measured is stored: the same question without this part costs nothing"
        try:
            with np.errstate(all="ignore"):
                table = self.query.stage.run(self._frame(measured))
                if self.query.outer is not None:
                    table = self.query.outer.run(table)
                answer = self._answer(measured, provenance, table)
                return answer if self.query.shrink == "none" else add_shrunk(answer, table, self.query.shrink)
        except InvalidInput as error:
            error.advise(hint)
            raise
        except (ArithmeticError, TypeError, ValueError):
            raise InvalidInput("cannot be computed from the released values", field="sql", hint=hint) from None

    def _answer(self, measured: Measured, provenance: Provenance, table: Frame) -> Answer:
        labels = {name: held for name, held in table.columns.items() if isinstance(held, Labels)}
        numbers = {name: held for name, held in table.columns.items() if isinstance(held, Quantity)}
        level = self.recipe.level
        columns = {name: held.column(level) for name, held in numbers.items()}
        unknown = {
            name
            for name, it in columns.items()
            if it.low.size and np.isnan(it.low).all() and not np.isnan(it.value).all()
        }
        return Answer(
            by=tuple(labels),
            groups=tuple(tuple(held.texts[row] for held in labels.values()) for row in range(table.rows)),
            columns=columns,
            level=level,
            headings=tuple(table.columns),
            intervals={name: "none" if name in unknown else held.kind for name, held in numbers.items()},
            measured=measured,
            event=self.event,
            unit=self.unit,
            neighbours=self.neighbours,
            provenance=replace(provenance, recipe=self.query.as_dict()),
        )

    def check(self) -> None:
        """Refuse stages that cannot be computed, before anything is charged: try them on invented values."""
        keys = ("key",) * len(self.recipe.keys)
        groups = self.groups
        measured = Measured(
            values=tuple(measure.invented(groups) for measure in self.plan.measures),
            keys=(keys,) if keys else (),
        )
        with np.errstate(all="ignore"):
            table = self.query.stage.check(self._frame(measured).take(np.arange(min(groups, _TRIED))))
            if self.query.outer is not None:
                self.query.outer.check(table)
            if self.query.shrink != "none":
                check_shrinkable(table)

    # -- released values as quantities ------------------------------------------------------------------------------

    def _frame(self, measured: Measured) -> Frame:
        """Groups and statistics as columns, by the names that stages use."""
        rows = len(self.plan.labels(measured))
        noisy = [at for at, measure in enumerate(self.plan.measures) if not isinstance(measure, Points)]
        counts = tuple(measured.values[at].size for at in noisy)
        noise = Noise(tuple(self.plan.laws[at] for at in noisy), counts)
        starts = dict(zip(noisy, np.cumsum([0, *counts])[:-1].tolist(), strict=True)) if noisy else {}
        columns: dict[str, Labels | Quantity] = dict(self._labels(measured, rows))
        for at, wanted in enumerate(self.recipe.aggregates):
            columns[f"#a{at}"] = self._quantity(wanted, measured, noise, starts)
        return Frame(rows, noise, columns)

    def _labels(self, measured: Measured, rows: int) -> dict[str, Labels]:
        """The label of each group in every row: public groups first, then private keys, as they were measured."""
        public = [group for group in self.query.groups if group.name in self.recipe.by]
        sizes = [len(group.values) for group in public]
        keys = len(measured.keys) if self.recipe.keys else 1
        found: dict[str, Labels] = {}
        at = np.arange(rows)
        for place, group in enumerate(self.query.groups):
            if group.name in self.recipe.keys:
                part = self.recipe.keys.index(group.name)
                texts = [measured.keys[key][part] for key in (at % keys).tolist()] if rows else []
                found[f"#g{place}"] = Labels.of(list(texts))
                continue
            index = [each.name for each in public].index(group.name)
            after = int(np.prod(sizes[index + 1 :], dtype=np.int64)) * keys
            codes = (at // max(after, 1) % sizes[index]).tolist()
            attribute = self.plan.grouped[group.name] if self.plan.grouped is not None else None
            assert attribute is not None
            missing = attribute.missing_code if attribute.missing else -1
            found[f"#g{place}"] = Labels(
                [group.values[code] for code in codes],
                [attribute.all_labels[code] for code in codes],
                [float("inf") if code == missing else float(group.ranks[code]) for code in codes],
            )
        return found

    def _quantity(self, wanted: Aggregate, measured: Measured, noise: Noise, starts: dict[int, int]) -> Quantity:
        """A statistic with its slopes along the noisy sums that it is read off."""
        place = self.plan.place_of(wanted)
        measure, sums = self.plan.measures[place], measured.values[place]
        column = self.plan.column(wanted, measured, self.recipe.level)
        if isinstance(measure, Points):
            slopes = None
        else:
            weights = _weights(wanted.kind, measure, sums, column.value)
            rows = np.repeat(np.arange(len(sums)), sums.shape[1])
            cells = starts[place] + np.arange(sums.size)
            slopes = sparse.csr_matrix((weights.reshape(-1), (rows, cells)), (len(sums), noise.size))
            if not isinstance(measure, Moments) or wanted.kind in ("count", "sum"):
                return Quantity.linear(noise, column.value, slopes)

        def ends(level: float) -> tuple[Array, Array]:
            found = self.plan.column(wanted, measured, level)
            return found.low, found.high

        found = Quantity(noise=noise, value=column.value, slopes=slopes, kind="own", ends=ends)
        if wanted.kind != "mean":
            return found
        within = float(measure.low), float(measure.low + measure.range)
        return replace(found, parts=_parts_of_mean(measure, sums, noise, slopes), within=within)


def _parts_of_mean(measure: Any, sums: Array, noise: Noise, slopes: Any) -> tuple[Quantity, Quantity]:
    """Noisy sum and noisy count of each group, which are linear in the same noise as their quotient."""
    found = []
    for kind in ("sum", "count"):
        weights = _weights(kind, measure, sums, sums[:, 0])
        along = sparse.csr_matrix((weights.reshape(-1), slopes.indices, slopes.indptr), slopes.shape)
        found.append(Quantity.linear(noise, (sums * weights).sum(axis=1), along))
    return found[0], found[1]


def _weights(kind: str, measure: Any, sums: Array, value: Array) -> Array:
    """Slopes of a statistic along the sums of its measure, one row for each group."""
    if not isinstance(measure, Moments):
        return np.ones_like(sums)
    points = np.linspace(0, 1, measure.width)
    if kind in ("count", "sum"):
        each = np.ones(measure.width) if kind == "count" else measure.low + measure.range * points
        return np.broadcast_to(each, sums.shape)
    with np.errstate(all="ignore"):
        n = sums.sum(axis=1, keepdims=True)
        n = np.where(n > 0, n, np.nan)
        mean = np.clip((sums @ points)[:, None] / n, 0, 1)
        if kind == "mean":
            found = (points[None, :] - mean) * measure.range / n
        else:
            top = np.concatenate([mean**2, mean**2 - mean, (1 - mean) ** 2], axis=1)
            spread = np.clip((top * sums).sum(axis=1, keepdims=True) / n, 0, 0.25)
            found = (top - spread) * measure.range**2 / n
            if kind == "std":
                found = found / (2 * np.where(value > 0, value, np.nan)[:, None])
    return np.nan_to_num(found)
