"""Contract of sums: what an engine adds up is what its rows add up to here, to the last step.

Each plan is summed three ways: by the engine, by streaming the engine's rows, and over the same rows in memory.
"""

from __future__ import annotations

import datetime as dt
import itertools
import math
import random
from collections.abc import Iterable, Iterator
from decimal import Decimal
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pytest

from tacita.domain import Attribute, Boolean, Categorical, Date, Domain, Identifier, Numeric
from tacita.engines.base import Adds, Engine
from tacita.engines.local import LocalEngine
from tacita.errors import InvalidInput
from tacita.privacy.budget import Budget
from tacita.privacy.unit import Neighbours, Unit
from tacita.query import Aggregate, Aggregates
from tacita.query.calibrated import CalibratedAggregates
from tacita.query.derived import Derived
from tacita.query.measures import Persons
from tacita.query.summing import exact_sums, request_of
from tacita.query.where import ALL_ROWS, AllOf, AnyOf, OneOf, Where

__all__ = ["Streaming", "SumsContract", "plan_of", "random_plan"]

_ENDS = ((0, 1), (-1, 1), (-0.5, 2.5), (0, 1e100), (-4e99, 4e99), (1e-90, 1), (0.1, 0.1 + 0.2), (1e15, 1e15 + 3))
_NASTY = (
    *(0.0, -0.0, 1.0, -1.0, 0.5, 1.5, 2.5, 0.1, 0.1 + 0.2, 0.3, 1 / 3, 2 / 3, 1e15, 1e15 + 0.5, 1e15 + 1, 1e15 + 3),
    *(5e-324, -5e-324, 2.3e-308, 1e-300, 1e-200, 1.6e-162, 1.5e-162, 1e-160, 1e-90, 1e-20, 2.0**-21, 3 * 2.0**-21),
    *(2.0**-20, 1 - 2.0**-53, 1 + 2.0**-52, 1e99, 9.99e99, 1e100, 1e200, 1e308, 1.7976931348623157e308, -1e308),
    *(math.inf, -math.inf, math.nan, None),
)
"""Numbers at which arithmetic goes wrong: halves of steps, underflow, overflow, cancellation."""


_MOST_SUMS = 1 << 21
"""Most sums of a random plan: several ways of summing hold them all."""


class Streaming:
    """An engine that only streams its rows."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    @property
    def domain(self) -> Domain:
        """Public description of the data."""
        return self._engine.domain

    def rows(self, columns: Iterable[str], batch_rows: int = 1000) -> Iterator[pa.RecordBatch]:
        """Return the raw columns."""
        return self._engine.rows(columns, batch_rows)


def plan_of(
    domain: Domain,
    aggregates: Iterable[Aggregate],
    by: Iterable[str] = (),
    where: Where = ALL_ROWS,
    *,
    max_rows: int = 1,
    derived: Iterable[Derived] = (),
) -> CalibratedAggregates:
    """Return a plan without noise: only its exact sums are asked for."""
    recipe = Aggregates(aggregates=tuple(aggregates), by=tuple(by), where=where, derived=tuple(derived))
    return CalibratedAggregates(
        recipe=recipe,
        domain=domain,
        unit=Unit.of_schema(domain, max_rows=max_rows if domain.person else None),
        neighbours=Neighbours.ADD_REMOVE,
        budget=Budget.pure(1.0),
        measures=recipe.measures(domain),
        laws=(),
    )


def random_plan(domain: Domain, rng: random.Random) -> CalibratedAggregates | None:
    """Return a plan over some columns of a domain, by some groups, under some condition; None if there is none."""
    aggregates = [Aggregate(kind="count")]
    if domain.person and rng.random() < 0.5:
        aggregates.append(Aggregate(kind="persons"))
    for name in domain.countable:
        kinds = rng.sample(["count", "sum", "mean", "var", "quantile", "choice"], 2)
        for kind in kinds if isinstance(domain[name], Numeric | Date | Boolean) else ["count"]:
            aggregates.append(_aggregate(domain[name], kind, rng))
    by = rng.sample(domain.countable, min(len(domain.countable), rng.randrange(3)))
    derived: list[Derived] = []
    if by and rng.random() < 0.3:
        size = domain[by[-1]].size
        halves = Categorical(name="half of it", levels=("first", "second"))
        codes = tuple(rng.randrange(2) for _ in range(size))
        derived.append(Derived(attribute=halves, of=(by[-1],), sizes=(size,), codes=codes))
        by[-1] = halves.name
    conditions: list[Where] = []
    for name in rng.sample(domain.countable, rng.randrange(min(len(domain.countable), 2) + 1)):
        size = domain[name].size
        conditions.append(OneOf(name, tuple(sorted(rng.sample(range(size), rng.randrange(size + 1))))))
    where = rng.choice([AllOf, AnyOf])(tuple(conditions)) if conditions else ALL_ROWS
    try:
        plan = plan_of(domain, aggregates, by, where, max_rows=rng.randrange(1, 4), derived=derived)
    except InvalidInput:  # a column without bounds that floats can square, or the same statistic twice
        return None
    sums = plan.groups * sum(measure.width for measure in plan.measures)
    return plan if sums <= _MOST_SUMS else None


def _aggregate(attribute: Attribute, kind: str, rng: random.Random) -> Aggregate:
    bounds = None
    if isinstance(attribute, Numeric) and rng.random() < 0.5:
        low, high = attribute.bounds
        width = high - low
        bounds = rng.choice([(low - width, high + width), (low + width / 4, high - width / 4), (low, high + 1)])
    if kind in ("quantile", "choice"):
        return Aggregate(kind="quantile", column=attribute.name, q=0.25, bounds=bounds, interval=kind == "quantile")
    return Aggregate(kind=kind, column=attribute.name, bounds=bounds)


class SumsContract:
    """Tests of sums that every engine must pass, whether it adds up itself or not."""

    adds: ClassVar[frozenset[str]] = frozenset()
    """What the engine must add up itself: "rows" with numbers and dates, "persons"."""

    def make(self, domain: Domain, table: pa.Table) -> Engine:
        """Make an engine over these rows."""
        raise NotImplementedError

    def seen(self, table: pa.Table) -> pa.Table:
        """Return the rows as the source holds them."""
        raise NotImplementedError

    def sums_agree(self, engine: Engine, table: pa.Table, plan: CalibratedAggregates, needs: str = "") -> None:
        """Check the sums of a plan against those of streamed rows, and of the same rows in memory.

        Args:
            engine: The engine.
            table: The rows that it was made of.
            plan: What is summed.
            needs: What an engine must be able to add up (`adds`) so that it must not leave this plan to streaming.
        """
        found = exact_sums(plan, engine)
        request = request_of(plan)
        if needs in self.adds:
            assert isinstance(engine, Adds)
            assert request is not None
            assert engine.sums(request) is not None
        read = any(measure.column is not None or isinstance(measure, Persons) for measure in plan.measures)
        if read:  # other statistics are counted in tables
            self._equal(found, exact_sums(plan, Streaming(engine)))  # type: ignore[arg-type]
        self._equal(found, exact_sums(plan, LocalEngine(engine.domain, self.seen(table))))

    @staticmethod
    def _equal(found: list[Any], wanted: list[Any]) -> None:
        for mine, theirs in zip(found, wanted, strict=True):
            assert mine.dtype == theirs.dtype == np.int64
            np.testing.assert_array_equal(mine, theirs)

    def all_statistics(self, name: str, bounds: tuple[float, float] | None = None) -> list[Aggregate]:
        """Return every kind of statistic of a column."""
        return [
            Aggregate(kind="count", column=name),
            Aggregate(kind="sum", column=name),
            Aggregate(kind="var", column=name, bounds=bounds),
            Aggregate(kind="quantile", column=name, q=0.5, bounds=bounds),
            Aggregate(kind="quantile", column=name, q=0.1, interval=False, bounds=bounds),
        ]

    # -- tests -----------------------------------------------------------------------------------------------

    @pytest.mark.parametrize("ends", _ENDS)
    def test_sums_of_nasty_numbers(self, ends: tuple[float, float]) -> None:
        around = [ends[0] + (ends[1] - ends[0]) * part / 64 for part in range(-2, 67)]
        values = [*_NASTY, *around, *(math.nextafter(x, math.inf) for x in around)]
        table = pa.table({"x": pa.array(values, pa.float64()), "g": pa.array([i % 3 for i in range(len(values))])})
        domain = Domain(
            attributes=[Numeric(name="x", bounds=ends, bins=1, missing=True), Numeric(name="g", bounds=(0, 2), bins=2)]
        )
        engine, quarter = self.make(domain, table), (ends[1] - ends[0]) / 4
        for bounds in (None, (ends[0] + quarter, ends[1] - quarter), (ends[0] - quarter, ends[1])):
            self.sums_agree(engine, table, plan_of(domain, self.all_statistics("x", bounds), ["g"]), "rows")
            self.sums_agree(engine, table, plan_of(domain, self.all_statistics("x", bounds)), "rows")

    def test_sums_of_whole_numbers(self) -> None:
        values = pa.array([0, 1, -1, 7, 2**53, 2**53 + 1, 2**63 - 1, -(2**63), None, 5, 5], pa.int64())
        table = pa.table({"x": values})
        for ends in ((-10, 10), (0, 5), (-(2**40), 2**40)):
            domain = Domain(attributes=[Numeric(name="x", bounds=ends, bins=2, integer=True)])
            self.sums_agree(self.make(domain, table), table, plan_of(domain, self.all_statistics("x")), "rows")

    def test_sums_of_decimals_and_texts(self) -> None:
        cents = pa.array([Decimal(n) / 100 for n in (-250, -1, 0, 33, 50, 99, 10_000)] + [None], pa.decimal128(20, 6))
        texts = pa.array(["1.5", "x", "", None, "NaN", " 2 ", "1e400", "0.1"])
        for values in (cents, texts):
            table = pa.table({"x": values})
            domain = Domain(attributes=[Numeric(name="x", bounds=(-1, 2), bins=3)])
            self.sums_agree(self.make(domain, table), table, plan_of(domain, self.all_statistics("x")))

    def test_sums_of_dates_and_truth_values(self) -> None:
        first = dt.date(2023, 12, 20)
        days = pa.array([None if i % 7 == 0 else first + dt.timedelta(days=3 * i) for i in range(60)], pa.date32())
        ticks = pa.array(
            [(dt.datetime(2024, 1, 1), dt.datetime(1969, 12, 31, 23, 59, 59), None)[i % 3] for i in range(60)]
        )
        truth = pa.array([(True, False, None)[i % 3] for i in range(60)])
        table = pa.table({"d": days, "t": ticks.cast(pa.timestamp("us")), "b": truth})
        ends = {"bounds": (dt.date(2024, 1, 1), dt.date(2024, 5, 1)), "by": "month"}
        domain = Domain(attributes=[Date(name="d", **ends), Date(name="t", **ends), Boolean(name="b", missing=True)])
        engine = self.make(domain, table)
        for name in domain.names:
            self.sums_agree(engine, table, plan_of(domain, self.all_statistics(name), ["b"]), "rows")

    def test_sums_under_conditions(self) -> None:
        rng = random.Random(7)
        n = 300
        table = pa.table(
            {
                "x": pa.array([rng.choice([None, rng.random() * 12 - 1]) for _ in range(n)], pa.float64()),
                "g": pa.array([rng.choice(["a", "b", "c", "?", None]) for _ in range(n)]),
                "h": pa.array([rng.choice([0, 1, 2, 3, 9, None]) for _ in range(n)], pa.int64()),
            }
        )
        domain = Domain(
            attributes=[
                Numeric(name="x", bounds=(0, 10), bins=5, missing=True),
                Categorical(name="g", levels=("a", "b", "c"), other=True),
                Numeric(name="h", bounds=(0, 3), integer=True),
            ]
        )
        engine = self.make(domain, table)
        one, other = OneOf("g", (0, 3)), OneOf("h", (1, 2))
        merged = Derived(attribute=Categorical(name="m", levels=("p", "q")), of=("g",), sizes=(4,), codes=(0, 1, 1, 0))
        for where in (one, AllOf((one, other)), AnyOf((one, other)), OneOf("x", ()), OneOf("x", (1, 5)), ALL_ROWS):
            for by, derived in ((["h"], ()), (["m", "h"], (merged,)), ([], ())):
                statistics = [*self.all_statistics("x"), Aggregate(kind="count", column="g"), Aggregate(kind="count")]
                self.sums_agree(engine, table, plan_of(domain, statistics, by, where, derived=derived), "rows")

    def test_sums_of_no_rows(self) -> None:
        for rows in (0, 1):
            table = pa.table({"x": pa.array([None] * rows, pa.float64()), "g": pa.array(["a"] * rows, pa.string())})
            domain = Domain(attributes=[Numeric(name="x", bounds=(0, 1), bins=1), Categorical(name="g", levels=("a",))])
            if rows or self.seen(table).schema == table.schema:
                engine = self.make(domain, table)
                for by in ([], ["g"]):
                    self.sums_agree(engine, table, plan_of(domain, self.all_statistics("x"), by))

    @pytest.mark.parametrize("max_rows", [1, 2, 5])
    def test_sums_of_persons_are_of_the_same_rows(self, max_rows: int) -> None:
        rng, n = random.Random(max_rows), 400
        values = [rng.choice([None, math.nan, -0.0, 0.0, 5e-324, rng.random(), rng.randrange(9)]) for _ in range(n)]
        table = pa.table(
            {
                "who": pa.array([rng.choice([None, "", *(f"p{i}" for i in range(60))]) for _ in range(n)]),
                "x": pa.array(values, pa.float64()),
                "y": pa.array([rng.choice([None, *range(12)]) for _ in range(n)], pa.int64()),
                "g": pa.array([rng.choice(["a", "b", "ä", "A", None, "zz"]) for _ in range(n)]),
                "d": pa.array([dt.date(2024, 1, 1 + rng.randrange(30)) for _ in range(n)], pa.date32()),
            }
        )
        domain = Domain(
            person="who",
            attributes=[
                Identifier(name="who"),
                Numeric(name="x", bounds=(0, 8), bins=1),  # one bin: most rows of a person have equal codes
                Numeric(name="y", bounds=(0, 12), bins=1, integer=True),
                Categorical(name="g", levels=("a", "b"), other=True),
                Date(name="d", bounds=(dt.date(2024, 1, 1), dt.date(2024, 1, 31)), by="month"),
            ],
        )
        engine = self.make(domain, table)
        for names in itertools.permutations(("x", "y", "d"), 2):
            for by in ([], ["g"]):
                statistics = [each for name in names for each in self.all_statistics(name)[1:4]]
                self.sums_agree(engine, table, plan_of(domain, statistics, by, max_rows=max_rows), "persons")

    @pytest.mark.parametrize("max_rows", [1, 3])
    def test_sums_count_each_person_once(self, max_rows: int) -> None:
        rng, n = random.Random(max_rows), 300
        table = pa.table(
            {
                "who": pa.array([rng.choice([None, "", *(f"p{i}" for i in range(70))]) for _ in range(n)]),
                "x": pa.array([rng.choice([None, rng.random() * 9]) for _ in range(n)], pa.float64()),
                "g": pa.array([rng.choice(["a", "b", "?", None]) for _ in range(n)]),
            }
        )
        domain = Domain(
            person="who",
            attributes=[
                Identifier(name="who"),
                Numeric(name="x", bounds=(0, 8), bins=2, missing=True),
                Categorical(name="g", levels=("a", "b"), other=True),
            ],
        )
        engine, persons = self.make(domain, table), Aggregate(kind="persons")
        merged = Derived(attribute=Categorical(name="m", levels=("p", "q")), of=("g",), sizes=(3,), codes=(0, 1, 0))
        either = AnyOf((OneOf("g", (0,)), OneOf("x", (1,))))
        for statistics in ([persons], [persons, Aggregate(kind="count")], [persons, *self.all_statistics("x")]):
            for by, where in (([], ALL_ROWS), (["g"], ALL_ROWS), (["x", "g"], OneOf("g", (0, 2)))):
                plan = plan_of(domain, statistics, by, where, max_rows=max_rows)
                self.sums_agree(engine, table, plan, "persons")
            # persons of several codes are one in their group
            self.sums_agree(engine, table, plan_of(domain, statistics, ["m"], max_rows=max_rows, derived=[merged]))
            self.sums_agree(engine, table, plan_of(domain, statistics, ["x"], either, max_rows=max_rows))
