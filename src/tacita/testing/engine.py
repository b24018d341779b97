"""Contract of an engine: a test suite for any engine, ours or a plug-in's.

    class TestMine(EngineContract):
        def make(self, domain, table):
            return MyEngine(domain, put_somewhere(table))

All answers are compared with `reference`, cell by cell.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import itertools
import math
import os
import random
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tacita.domain import Attribute, Boolean, Categorical, Date, Domain, Identifier, Numeric, Ordinal
from tacita.domain.rebin import rebin
from tacita.engines.base import Engine, Rebins, Recodes
from tacita.errors import DataError, InvalidInput, UnknownName
from tacita.privacy.unit import Unit
from tacita.tables.recoding import OTHER, SUPPRESSED, Axis, Recoding
from tacita.tables.table import Table
from tacita.tables.workload import Workload
from tacita.testing.reference import reference_counts, reference_rows, spell
from tacita.testing.sums import SumsContract, random_plan

__all__ = ["HOSTILE", "EngineContract", "domains_and_tables", "hostile_table"]

ODD = ('a"b', "c'd", "e\\f", "größe", "日本", "%s", "{x}", "a,b", "-- ;", " ", "A", "a")
EXAMPLES = settings(
    max_examples=15,
    deadline=None,
    # one body runs in many classes, each with its own fixtures, as contracts do
    suppress_health_check=[
        HealthCheck.differing_executors,
        HealthCheck.function_scoped_fixture,
        HealthCheck.too_slow,
    ],
)


def cells_of(table: Table) -> dict[tuple[int, ...], int]:
    """Return the cells of a table that are not zero."""
    codes, counts = table.nonzero()
    return {tuple(row): int(count) for row, count in zip(codes.tolist(), counts.tolist(), strict=True)}


class EngineContract(SumsContract):
    """Tests that every engine must pass; a subclass defines how an engine is made."""

    hostile: ClassVar[Sequence[str]] = ("whole", "real", "narrow", "cents", "words", "days", "truth", "times")
    """Kinds of hostile columns that the source can hold."""

    def make(self, domain: Domain, table: pa.Table) -> Engine:
        """Make an engine over these rows."""
        raise NotImplementedError

    def seen(self, table: pa.Table) -> pa.Table:
        """Return the rows as the source holds them; they differ if it has fewer types than Arrow."""
        return table

    # -- helpers ---------------------------------------------------------------------------------------------

    def agree(self, domain: Domain, table: pa.Table, *, max_rows: int | None = None, ways: int = 3) -> None:
        """Check that all tables over up to `ways` attributes are those of the reference."""
        engine = self.make(domain, table)
        names = domain.countable
        keys = [key for n in range(1, ways + 1) for key in itertools.combinations(names, n)]
        unit = Unit.row()
        if domain.person is not None:  # a bound that no person exceeds still skips rows without a person
            max_rows = max_rows or max(table.num_rows, 1)
            unit = Unit.of_person(domain.person, max_rows=max_rows)
        rows = reference_rows(domain, self.seen(table), max_rows)
        found = engine.tables(Workload.of(*keys), unit)
        assert list(found) == keys
        for key in keys:
            self.same(domain, rows, key, found[key])

    def same(self, domain: Domain, rows: Iterable[tuple[int, ...]], key: Sequence[str], table: Table) -> None:
        """Check that one table is that of the reference."""
        assert table.domain == domain.project(key)
        assert cells_of(table) == dict(reference_counts(domain, rows, key)), key

    def column(self, attribute: Attribute, values: pa.Array, nulls: Sequence[str] = ("",)) -> None:
        """Check that a single column is counted as by the reference, whatever buckets it has."""
        for missing, other in itertools.product((False, True), repeat=2):
            chosen = attribute.model_copy(update={"missing": missing, "other": other})
            for cached in ("size", "all_labels"):
                chosen.__dict__.pop(cached, None)
            domain = Domain(attributes=[chosen], nulls=tuple(nulls))
            self.agree(domain, pa.table({attribute.name: values}), ways=1)

    # -- kinds of column -------------------------------------------------------------------------------------

    def test_levels_as_text(self) -> None:
        values = pa.array(["red", "green", None, "", "blue", "Red", "red ", "NA", "red"])
        self.column(Categorical(name="x", levels=["red", "green"]), values)
        self.column(Ordinal(name="x", levels=["green", "red"]), values, nulls=("NA", "blue"))

    def test_levels_as_whole_numbers_and_booleans(self) -> None:
        self.column(Categorical(name="x", levels=["1", "2", "-3"]), pa.array([1, 2, -3, 4, None, 1]))
        self.column(Categorical(name="x", levels=["true"]), pa.array([True, False, None]), nulls=("false",))

    def test_odd_levels_and_odd_names(self) -> None:
        levels = pa.array([*ODD, None, *ODD])
        for name in ODD:
            if name.strip():
                self.column(Categorical(name=name, levels=ODD[1:]), levels, nulls=(ODD[3], "", "\\"))

    def test_whole_numbers_on_the_edges(self) -> None:
        values = pa.array([-1, 0, 1, 17, 18, 19, 64, 65, 98, 99, 100, None, 2**53 + 1, -(2**60)])
        self.column(Numeric(name="x", bounds=(0, 99), edges=(0, 18, 65, 99), integer=True), values)
        self.column(Numeric(name="x", bounds=(0, 99), bins=7, integer=True), values)
        self.column(Numeric(name="x", bounds=(-2, 20), integer=True), values)

    def test_real_numbers_on_the_edges(self) -> None:
        edge = 0.1 + 0.2
        values = [0.0, -0.0, 0.1, 0.3, edge, math.nextafter(edge, 0), 1.0, 2.5, -5.0, 1e300, 1e-310, None]
        values += [math.nan, math.inf, -math.inf, math.nextafter(1.0, 0.0), math.nextafter(1.0, 2.0)]
        self.column(Numeric(name="x", bounds=(0, 1), edges=(0, 0.1, 0.3, edge, 1)), pa.array(values))
        self.column(Numeric(name="x", bounds=(-0.5, 1), bins=10), pa.array(values, pa.float64()))
        self.column(Numeric(name="x", bounds=(-2, 2), integer=True), pa.array(values, pa.float64()))
        self.column(Numeric(name="x", bounds=(0, 1), bins=3), pa.array(values, pa.float32()))

    @pytest.mark.parametrize(
        ("low", "high", "bins"),
        [
            (0.5, 3.5, 3),
            (-0.5, 2.5, 3),
            (-0.5, 0.5, 1),
            (-2.5, 2.5, 5),
            (-3, -1, 2),
            (-3, -1, 1),
            (0.25, 4.25, 4),
            (1, 4, 1),
            (-1e300, 1e300, 1),
            (1e300, 2e300, 1),
            (-7, 5, 5),
        ],
    )
    def test_bins_anywhere_on_the_line(self, low: float, high: float, bins: int) -> None:
        points = [-4, -3.5, -2.5, -1, -0.5, -0.2, 0, 0.25, 0.6, 1.2, 1.25, 1.4, 1.6, 2.4, 2.5, 2.6, 3.25, 3.5, 5, None]
        attribute = Numeric(name="x", bounds=(low, high), bins=bins)
        self.column(attribute, pa.array(points, pa.float64()))
        self.column(attribute, pa.array([None if x is None else round(x) for x in points], pa.int64()))
        self.column(attribute, pa.array(map(str, points)))
        if float(low).is_integer() and abs(low) < 1e9:
            whole = Numeric(name="x", bounds=(low, high), bins=min(bins, int(high - low) + 1), integer=True)
            self.column(whole, pa.array(points, pa.float64()))

    def test_numbers_as_text(self) -> None:
        values = [
            "1",
            " 2 ",
            "3.5",
            "1e1",
            "-7",
            "inf",
            "-Infinity",
            "nan",
            "",
            "x",
            "0x1",
            "NA",
            None,
            "1_0",
            "٣",
        ]
        self.column(Numeric(name="x", bounds=(0, 10), bins=5), pa.array(values), nulls=("", "NA"))

    def test_numbers_as_booleans_and_decimals(self) -> None:
        self.column(Numeric(name="x", bounds=(0, 1), integer=True), pa.array([True, False, None]))
        decimals = pa.array([1, 2, 2, 5, None, 0]).cast(pa.decimal128(25, 3))
        self.column(Numeric(name="x", bounds=(0, 4), edges=(0, 2, 4)), decimals)

    def test_dates(self) -> None:
        days = [dt.date(2023, 12, 31), dt.date(2024, 1, 1), dt.date(2024, 2, 29), dt.date(2024, 3, 31), None]
        days += [dt.date(2024, 4, 1), dt.date(1900, 1, 1), dt.date(2100, 1, 1), dt.date(2024, 1, 7)]
        for by in ("day", "week", "month", "quarter", "year"):
            attribute = Date(name="x", bounds=(dt.date(2024, 1, 1), dt.date(2024, 12, 30)), by=by)
            self.column(attribute, pa.array(days, pa.date32()))

        edges = tuple(dt.date(2024, *day) for day in ((1, 1), (1, 7), (2, 29), (12, 30)))
        self.column(Date(name="x", bounds=(edges[0], edges[-1]), edges=edges), pa.array(days, pa.date32()))

    def test_timestamps(self) -> None:
        times = [dt.datetime(2024, 1, 31, 23, 59, 59, 999999), dt.datetime(2024, 2, 1), None]
        times += [dt.datetime(1969, 12, 31, 23, 0), dt.datetime(2024, 6, 30, 12), dt.datetime(2030, 1, 1)]
        attribute = Date(name="x", bounds=(dt.date(1969, 12, 1), dt.date(2024, 12, 31)), by="month")
        self.column(attribute, pa.array(times, pa.timestamp("us")))
        aware = [time and time.replace(tzinfo=dt.timezone(dt.timedelta(hours=-5))) for time in times]
        self.column(attribute, pa.array(aware, pa.timestamp("us", "UTC")))

    def test_days_that_are_far_away(self) -> None:
        day = 86_400 * 10**6
        days = pa.array([2_145_042_540, -2_440_000, 19_750, None, 0, 19_800], pa.int32()).cast(pa.date32())
        ticks = pa.array([106_751_000 * day, -2_440_000 * day, 19_750 * day - 1, None, 0, 19_800 * day], pa.int64())
        bounds = (dt.date(2024, 1, 1), dt.date(2024, 12, 30))
        for attribute in (
            Date(name="x", bounds=bounds, by="month"),
            Date(name="x", bounds=(dt.date(1980, 1, 1), bounds[1]), by="week"),
        ):
            self.column(attribute, days)
            self.column(attribute, ticks.cast(pa.timestamp("us")))
            self.column(attribute, ticks.cast(pa.timestamp("us", "UTC")))

    def test_bytes_are_text_or_strangers(self) -> None:
        raws = pa.array([b"red", b"\xff", None, b"", b"gr\xc3\xbcn", b"gr\xfcn", b"2", b"2024-02-01", b"t", b"\xc3"])
        self.column(Categorical(name="x", levels=["red", "grün", "\ufffd"]), raws)
        self.column(Numeric(name="x", bounds=(0, 4), bins=4), raws)
        self.column(Date(name="x", bounds=(dt.date(2024, 1, 1), dt.date(2024, 3, 31)), by="month"), raws)
        self.column(Boolean(name="x"), raws)

    def test_dates_as_text(self) -> None:
        values = [
            "2024-01-31",
            " 2024-02-01 ",
            "2024-02-01T10:00",
            "2024-02-30",
            "",
            None,
            "1999-01-01",
            "soon",
        ]
        bounds = (dt.date(2024, 1, 1), dt.date(2024, 3, 31))
        self.column(Date(name="x", bounds=bounds, by="month"), pa.array(values))

    def test_booleans(self) -> None:
        self.column(Boolean(name="x"), pa.array([True, False, None, True]))
        self.column(Boolean(name="x"), pa.array(["true", "T", "yes", "Y", "1", "FALSE", "f", "No", "n", "0"]))
        self.column(Boolean(name="x"), pa.array(["", None, " true", "maybe", "ＴＲＵＥ", "on"]), nulls=("", "maybe"))
        self.column(Boolean(name="x"), pa.array([0, 1, 2, None]))

    # -- tables ----------------------------------------------------------------------------------------------

    def example(self, rows: int = 200) -> tuple[Domain, pa.Table]:
        """Return a domain with one attribute of each kind, and rows of all kinds of values."""
        domain = Domain(
            person="who",
            attributes=[
                Identifier(name="who"),
                Categorical(name="colour", levels=["red", "green", "blue"], other=True),
                Numeric(name="age", bounds=(0, 99), edges=(0, 18, 65, 99), integer=True, missing=True),
                Boolean(name="smokes", missing=True, other=True),
                Date(name="seen", bounds=(dt.date(2024, 1, 1), dt.date(2024, 6, 30)), by="month"),
            ],
        )
        first, each = dt.date(2023, 12, 25), range(rows)
        days = [None if i % 17 == 0 else first + dt.timedelta(days=i) for i in each]
        colours = ("red", "green", "mauve", None, "blue")
        table = pa.table(
            {
                "seen": pa.array(days, pa.date32()),
                "who": pa.array([None if i % 31 == 0 else f"p{i * i % 23}" for i in each], pa.string()),
                "colour": pa.array([colours[i * 7 % 5] for i in each], pa.string()),
                "age": pa.array([None if i % 13 == 0 else (i * 37) % 130 - 10 for i in each], pa.int64()),
                "smokes": pa.array([(True, False, None)[i % 3] for i in each], pa.bool_()),
                "unused": pa.array(each),
            }
        )
        return domain, table

    def test_all_tables_of_a_mixed_domain(self) -> None:
        domain, table = self.example()
        self.agree(domain, table, ways=4)

    def test_an_empty_table(self) -> None:
        domain, table = self.example(0)
        self.agree(domain, table, max_rows=2)
        assert self.make(domain, table).project(["age"]).sum() == 0

    def test_equal_rows_count_each(self) -> None:
        domain = Domain(attributes=[Categorical(name="x", levels=["a", "b"]), Boolean(name="y")])
        self.agree(domain, pa.table({"x": ["a"] * 50 + ["b"] * 3, "y": [True] * 53}), ways=2)

    def test_attributes_in_any_order(self) -> None:
        domain, table = self.example()
        engine, rows = self.make(domain, table), reference_rows(domain, self.seen(table))
        for key in itertools.permutations(("seen", "colour", "age")):
            self.same(domain, rows, key, engine.project(key))
        unit = Unit.of_person("who", max_rows=1000)
        table_over = engine.tables(Workload.of(("smokes", "colour"), ("age",)), unit)
        assert table_over["smokes", "colour"].attributes == ("smokes", "colour")

    def test_the_table_over_nothing_counts_rows(self) -> None:
        domain, table = self.example(40)
        assert int(self.make(domain, table).project([]).values) == 40

    def test_a_wide_table_is_sparse_and_right(self) -> None:
        levels = [str(i) for i in range(300)]
        names = [f"a{i}" for i in range(9)]  # 300**9 cells: more than 64 bits number
        domain = Domain(
            attributes=[Categorical(name=name, levels=levels, missing=i % 2 == 0) for i, name in enumerate(names)]
        )
        choices = [*levels, None]
        data = {name: [choices[i * (k + 3) % 301] for i in range(60)] * 2 for k, name in enumerate(names)}
        table = pa.table(data)
        engine, rows = self.make(domain, table), reference_rows(domain, self.seen(table))
        for key in (names, names[::-1], names[:4]):
            self.same(domain, rows, key, engine.project(key))
        assert engine.project(names).is_sparse

    def test_many_tables_at_once(self) -> None:
        names = [f"a{i}" for i in range(8)]
        domain = Domain(attributes=[Numeric(name=n, bounds=(0, 2 + i), integer=True) for i, n in enumerate(names)])
        data = {n: [None if (i + k) % 11 == 0 else (i * (k + 2)) % 9 for i in range(120)] for k, n in enumerate(names)}
        self.agree(domain, pa.table(data), ways=3)

    # -- persons ---------------------------------------------------------------------------------------------

    @pytest.mark.parametrize("max_rows", [1, 2, 7, 1000])
    def test_at_most_so_many_rows_of_a_person(self, max_rows: int) -> None:
        domain, table = self.example()
        self.agree(domain, table, max_rows=max_rows)

    def test_persons_with_odd_and_numeric_keys(self) -> None:
        attributes = [Identifier(name="who"), Numeric(name="x", bounds=(0, 9), integer=True)]
        domain = Domain(person="who", attributes=attributes, nulls=("", "no one"))
        x = pa.array([i % 10 for i in range(48)])
        odd = [*ODD, "", "no one", "a|1", "|"]
        self.agree(domain, pa.table({"who": odd * 3, "x": x}), max_rows=2, ways=1)
        self.agree(domain, pa.table({"who": [i % 5 for i in range(48)], "x": x}), max_rows=3, ways=1)

    KEYS = (
        pa.array(["ann", "Ann", "ANN", "ann ", "\u00e9", "e\u0301", "1", "1.0", "1.00", "01", "-0", "ß", "ss"]),
        pa.array([0, 1, -1, 10, 100, 2**62, -(2**62), 7, 70, 700, None, 8, 9]),
        pa.array([Decimal(n) / 1000 for n in (0, 1, 10, 100, 1000, 1250, 1500, -2500, 10_000, -100_000)]),
    )

    @pytest.mark.parametrize("keys", KEYS, ids=lambda keys: str(keys.type))
    @pytest.mark.parametrize("max_rows", [1, 2])
    def test_equal_keys_are_one_person(self, keys: pa.Array, max_rows: int) -> None:
        domain = Domain(
            person="who", attributes=[Identifier(name="who"), Numeric(name="x", bounds=(0, 40), integer=True)]
        )
        persons = pa.concat_arrays([keys] * 3)
        table = pa.table({"who": persons, "x": pa.array(range(len(persons)))})
        self.agree(domain, table, max_rows=max_rows, ways=1)
        found = self.make(domain, table).tables(Workload.of(["x"]), Unit.of_person("who", max_rows=max_rows))
        assert found["x",].sum() == max_rows * len(keys.drop_null().unique())

    @pytest.mark.parametrize(
        "keys",
        [
            pa.array([1.5, 1.0]),
            pa.array([True, False]),
            pa.array([b"a", b"b"]),
            pa.array([1, 2]).cast(pa.timestamp("us")),
            pa.array([1, 2], pa.int32()).cast(pa.date32()),
        ],
        ids=lambda keys: str(keys.type),
    )
    def test_keys_of_other_types_are_refused_unseen(self, keys: pa.Array) -> None:
        domain = Domain(person="who", attributes=[Identifier(name="who"), Boolean(name="x")])
        for rows in (keys, keys.slice(0, 0)):
            table = pa.table({"who": rows, "x": pa.array([True] * len(rows), pa.bool_())})
            if self.seen(table).schema.field("who").type == pa.string():  # such a source has no other type
                self.agree(domain, table, max_rows=1, ways=1)
                continue
            with pytest.raises(DataError, match="who: a person's key must be text"):
                self.make(domain, table)

    def test_types_that_hold_no_such_value_are_refused_unseen(self) -> None:
        for attribute, values in (
            (Numeric(name="x", bounds=(0, 1), bins=2), pa.array([1], pa.date32())),
            (Date(name="x", bounds=(dt.date(2024, 1, 1), dt.date(2024, 2, 1))), pa.array([1.5])),
        ):
            for rows in (values, values.slice(0, 0)):
                table = pa.table({"x": rows})
                if self.seen(table).schema.field("x").type == pa.string():
                    continue
                with pytest.raises(DataError, match="x: a column of this type cannot hold"):
                    self.make(Domain(attributes=[attribute]), table)

    def test_threads_share_an_engine(self) -> None:
        domain, table = self.example()
        engine = self.make(domain, table)
        wanted = {n: reference_rows(domain, self.seen(table), n) for n in (1, 2, 3)}
        names = domain.countable

        def ask(turn: int) -> tuple[int, tuple[str, ...], Table]:
            key, n = (names[turn % 4], names[(turn + 1) % 4]), turn % 3 + 1
            return n, key, engine.tables(Workload.of(key), Unit.of_person("who", max_rows=n))[key]

        with ThreadPoolExecutor(6) as pool:
            for n, key, found in pool.map(ask, range(24)):
                self.same(domain, wanted[n], key, found)

    def test_the_bound_looks_at_all_attributes(self) -> None:
        domain, table = self.example()
        engine, rows = self.make(domain, table), reference_rows(domain, self.seen(table), 2)
        found = engine.tables(Workload.of(("age",)), Unit.of_person("who", max_rows=2))
        self.same(domain, rows, ("age",), found["age",])

    def test_a_bound_with_text_that_is_parsed(self) -> None:
        domain = Domain(
            person="who",
            attributes=[Identifier(name="who"), Numeric(name="x", bounds=(0, 9), bins=5, other=True)],
        )
        texts = [("1.5", "x", " 7", "", "9e0")[i % 5] for i in range(30)]
        self.agree(domain, pa.table({"who": [f"p{i % 4}" for i in range(30)], "x": texts}), max_rows=3, ways=1)

    def test_rows_are_not_the_unit_of_recurrent_data(self) -> None:
        domain, table = self.example()
        with pytest.raises(InvalidInput, match="names a person"):
            self.make(domain, table).tables(Workload.of(["age"]), Unit.row())

    # -- the other questions ---------------------------------------------------------------------------------

    def test_rows_come_back_as_they_are(self) -> None:
        domain, table = self.example()
        engine = self.make(domain, table)
        batches = list(engine.rows(["age", "who", "seen"], batch_rows=64))
        assert all(batch.num_rows <= 64 for batch in batches)
        assert all(batch.schema.names == ["age", "who", "seen"] for batch in batches)
        found = [tuple(row.values()) for batch in batches for row in batch.to_pylist()]
        wanted = [tuple(row.values()) for row in self.seen(table).select(["age", "who", "seen"]).to_pylist()]
        assert sorted(map(repr, found)) == sorted(map(repr, wanted))

    def test_rows_refuses_what_is_not_there(self) -> None:
        domain, table = self.example(5)
        engine = self.make(domain, table)
        with pytest.raises(UnknownName):
            engine.rows(["nothing"])
        with pytest.raises(InvalidInput, match="batch_rows"):
            engine.rows(["age"], batch_rows=0)
        with pytest.raises(InvalidInput, match="at least one column"):
            engine.rows([])

    def recoder(self, domain: Domain, table: pa.Table) -> Recodes:
        """Make an engine over these rows that can recode them."""
        engine = self.make(domain, table)
        assert isinstance(engine, Recodes)
        return engine

    def recoding(self, table: pa.Table) -> Recoding:
        """Return a recoding of ages to decades; colours stay, and rows without a declared colour are suppressed."""
        ages = sorted({age for age in table.column("age").to_pylist() if age is not None})
        known = {OTHER if colour == "mauve" else colour for colour in table.column("colour").to_pylist()}
        colours = sorted(colour for colour in known if colour is not None)
        axes = (
            Axis(name="age", kind="number", keys=(None, *ages)),
            Axis(name="colour", kind="set", keys=(None, *colours)),
        )
        codes = list(itertools.product(range(len(ages) + 1), range(len(colours) + 1)))
        texts = ["none", *(f"{decade}x" for decade in sorted({age // 10 for age in ages}))]
        label = [0, *(texts.index(f"{age // 10}x") for age in ages)]
        mauve = axes[1].keys.index(OTHER)
        return Recoding.of(
            axes,
            np.array(codes, np.int32),
            np.array([SUPPRESSED if colour == mauve else label[age] for age, colour in codes], np.int64),
            np.array([[place, 0] for place in range(len(texts))], np.int32),
            [texts, ["*"]],
        )

    def test_apply_gives_labels_and_other_columns(self) -> None:
        domain, table = self.example()
        recoding = self.recoding(table)
        batches = list(self.recoder(domain, table).apply(recoding, ["smokes"], batch_rows=50))
        assert all(batch.num_rows <= 50 and batch.schema.names == ["age", "colour", "smokes"] for batch in batches)
        found = [tuple(row.values()) for batch in batches for row in batch.to_pylist()]
        wanted = [
            ("none" if age is None else f"{age // 10}x", "*", smokes)
            for age, colour, smokes in zip(
                table.column("age").to_pylist(),
                table.column("colour").to_pylist(),
                self.seen(table).column("smokes").to_pylist(),
                strict=True,
            )
            if colour != "mauve"
        ]
        assert sorted(map(repr, found)) == sorted(map(repr, wanted))

    def test_apply_gives_the_same_rows_whatever_order_they_lie_in(self) -> None:
        domain, table = self.example()
        recoding = self.recoding(table)
        ways = [table, table.take(pa.array(range(table.num_rows - 1, -1, -1)))]
        first, second = (pa.Table.from_batches(self.recoder(domain, way).apply(recoding, ["smokes"])) for way in ways)
        assert first.equals(second)

    def test_apply_refuses_what_it_does_not_know(self) -> None:
        domain, table = self.example()
        recoding = self.recoding(table)
        engine = self.recoder(domain, table)
        with pytest.raises(UnknownName):
            engine.apply(recoding, ["nothing"])
        with pytest.raises(InvalidInput, match="cannot be released unchanged"):
            list(engine.apply(recoding, ["age"]))
        fewer = dataclasses.replace(recoding, codes=recoding.codes[:9], classes=recoding.classes[:9])
        with pytest.raises(DataError, match="not those that the recoding was made for"):
            list(engine.apply(fewer, ["smokes"]))

    @pytest.mark.parametrize("max_rows", [None, 2])
    def test_other_bins_of_the_same_rows(self, max_rows: int | None) -> None:
        ages = [0, 17, 18, None, 64, 65, 99, 120, -3, 40, 41, 7]
        days = [None if age is None else dt.date(2024, 1, 1) + dt.timedelta(days=3 * age) for age in ages]
        table = pa.table(
            {"who": [f"p{at % 4}" for at in range(12)], "age": ages, "day": days, "smokes": ["y", "n"] * 6}
        )
        bounds = (dt.date(2024, 1, 1), dt.date(2024, 12, 31))
        domain = Domain(
            attributes=[
                Identifier(name="who"),
                Numeric(name="age", bounds=(0, 99), bins=2, integer=True, missing=True),
                Date(name="day", bounds=bounds, by="year"),
                Categorical(name="smokes", levels=["y", "n"]),
            ],
            person="who" if max_rows else None,
        )
        engine = self.make(domain, table)
        if not isinstance(engine, Rebins):
            pytest.skip("counts in one domain alone")
        first = (bounds[0] - dt.date(1970, 1, 1)).days
        finer = rebin(domain, {"age": (0, 1, 18, 41, 65), "day": (first, first + 54)})
        unit = Unit.row() if max_rows is None else Unit.of_person("who", max_rows=max_rows)
        found = engine.with_bins(finer).tables(Workload.of(("age",), ("age", "day"), ("smokes", "day")), unit)
        rows = reference_rows(finer, self.seen(table), max_rows)
        for key in found:
            self.same(finer, rows, key, found[key])
        with pytest.raises(InvalidInput, match="bins"):
            engine.with_bins(domain.project(["age", "smokes"]))

    def test_check_counts_strangers(self) -> None:
        domain, table = self.example()
        check = self.make(domain, table).check()
        rows = reference_rows(domain, self.seen(table))
        assert check.rows == table.num_rows
        assert [column.name for column in check.columns] == list(domain.countable)
        for place, column in enumerate(check.columns):
            attribute = domain[column.name]
            codes = [row[place] for row in rows]
            buckets = {"nowhere": attribute.size}
            if attribute.missing:
                buckets["missing"] = attribute.size - 1
            if attribute.other:
                buckets["other"] = attribute.size - 1 - attribute.missing
            for bucket in ("nowhere", "missing", "other"):
                assert getattr(column, bucket) == (codes.count(buckets[bucket]) if bucket in buckets else 0)
        assert not check.fits

    def test_it_is_an_engine_and_says_what_it_supports(self) -> None:
        domain, table = self.example(5)
        engine = self.make(domain, table)
        assert isinstance(engine, Engine)
        assert engine.domain == domain
        assert engine.supports(["age", "colour"])
        assert not engine.supports(["who"])
        assert not engine.supports(["nothing"])

    def test_unknown_attributes_and_identifiers_are_refused(self) -> None:
        domain, table = self.example(5)
        engine = self.make(domain, table)
        with pytest.raises(UnknownName):
            engine.project(["nothing"])
        with pytest.raises(InvalidInput, match="identifier"):
            engine.project(["who"])
        with pytest.raises(InvalidInput, match="distinct"):
            engine.project(["age", "age"])

    # -- anything --------------------------------------------------------------------------------------------

    @EXAMPLES
    @given(st.data())
    def test_any_domain_and_any_table(self, data: st.DataObject) -> None:
        domain, table = data.draw(domains_and_tables())
        max_rows = data.draw(st.integers(1, 4)) if domain.person else None
        self.agree(domain, table, max_rows=max_rows, ways=min(3, len(domain.countable)))

    @pytest.mark.parametrize("seed", range(int(os.environ.get("TACITA_FUZZ_TABLES", "12"))))
    def test_hostile_tables(self, seed: int) -> None:
        """Count extreme values of every type, in wide and narrow bins: TACITA_FUZZ_TABLES=440 tries more of them."""
        domain, table = hostile_table(random.Random(seed), self.hostile)
        self.agree(domain, table, max_rows=1 + seed % 3 if domain.person else None, ways=2)

    @EXAMPLES
    @given(st.data(), st.randoms(use_true_random=False))
    def test_sums_of_any_table(self, data: st.DataObject, rng: random.Random) -> None:
        domain, table = data.draw(domains_and_tables())
        plan = random_plan(domain, rng)
        if plan is not None:
            self.sums_agree(self.make(domain, table), table, plan)

    @pytest.mark.parametrize("seed", range(int(os.environ.get("TACITA_FUZZ_TABLES", "12"))))
    def test_sums_of_hostile_tables(self, seed: int) -> None:
        rng = random.Random(1000 + seed)
        domain, table = hostile_table(rng, self.hostile)
        engine, plans = self.make(domain, table), [random_plan(domain, rng) for _ in range(4)]
        for plan in plans:
            if plan is not None:
                self.sums_agree(engine, table, plan)


# -- hostile tables ------------------------------------------------------------------------------------------

_WHOLE = (0, 1, -1, 2, 9, 10, 5 * 10**9, -(5 * 10**9), 2**31, 2**53, 2**63 - 1, -(2**63), 17, None)
_REAL = (
    *(0.0, -0.0, 1.0, 1.5, -1.0, 9.999, 5e9, 5e19, -5e19, 1e16, 2.0**53, 1e300, -1e308, 1.7976931348623157e308),
    *(5e-324, 2.5e-310, 1e-305, 0.1 + 0.2, 0.3, math.nan, math.inf, -math.inf, None),
)
_WORDS = (
    *("0", "1", "1.0", "-0", "NaN", "nan", "1E+2", "1e400", "١", " 1", "1 ", "1_0", "", "NA", "a", "A", "ä", "a\u0308"),
    *(
        "\u200b",
        "\ufeff",
        "x" * 1000,
        "'; --",
        "$x",
        "{}",
        "9999-12-31",
        "0001-01-01",
        "2024-02-30",
        "true",
        "YES",
        None,
    ),
)
_DAYS = (*(dt.date(year, month, 1) for year in (1, 1582, 1900, 2024, 9999) for month in (1, 2, 12)), dt.date.max, None)
_TIMES = (dt.time(0), dt.time(10, 0, 0, 500_000), dt.time(23, 59, 59, 999_999), dt.time(10, 10, 10), None)
HOSTILE: dict[str, tuple[Sequence[Any], pa.DataType]] = {
    "whole": (_WHOLE, pa.int64()),
    "real": (_REAL, pa.float64()),
    "narrow": ([None if x is None else float(np.float32(np.clip(x, -3e38, 3e38))) for x in _REAL], pa.float32()),
    "cents": ([Decimal(n) / 100 for n in range(-50, 1000, 7)] + [None], pa.decimal128(38, 20)),
    "words": (_WORDS, pa.string()),
    "days": (_DAYS, pa.date32()),
    "truth": ([True, False, None], pa.bool_()),
    "times": (_TIMES, pa.time64("us")),
}
"""Values that are hard to count, and the type of their column."""


def hostile_table(rng: random.Random, kinds: Sequence[str]) -> tuple[Domain, pa.Table]:
    """Return a domain and rows at the limits of types."""
    rows = rng.randrange(1, 60)
    attributes: list[Any] = []
    columns: dict[str, pa.Array] = {}
    for at in range(rng.randrange(1, 4)):
        kind = rng.choice(list(kinds))
        values, arrow = HOSTILE[kind]
        columns[f"c{at}"] = pa.array(rng.choices(values, k=rows), arrow)
        attributes.append(_hostile_attribute(rng, f"c{at}", kind, values))
    person = None
    if rng.random() < 0.5:
        person = "who"
        keys, arrow = rng.choice(PERSONS)
        columns[person] = pa.array(rng.choices([*keys, None], k=rows), arrow)
        attributes.append(Identifier(name=person))
    nulls = tuple(rng.sample(["", "NA", "0", "1", "a"], rng.randrange(3)))
    return Domain(attributes=attributes, person=person, nulls=nulls), pa.table(columns)


def _hostile_attribute(rng: random.Random, name: str, kind: str, values: Sequence[Any]) -> Any:
    buckets: dict[str, Any] = {"name": name, "missing": rng.random() < 0.7, "other": rng.random() < 0.5}
    if kind == "days" or (kind == "words" and rng.random() < 0.2):
        ends = rng.choice([(dt.date(1900, 1, 1), dt.date(1901, 6, 7)), (dt.date(9998, 11, 1), dt.date.max)])
        return Date(bounds=ends, by=rng.choice(["day", "week", "month", "quarter", "year"]), **buckets)
    if kind == "truth":
        return Boolean(**buckets)
    # decimals as levels have the scale that their source gives them
    if kind == "cents" or (kind in ("real", "narrow", "whole") and rng.random() < 0.7):
        edges = rng.choice(
            [
                (0, 1, 2, 1e20),
                (*range(-3, 10), 1e10),
                (-1e300, 0, 1e300),
                (0, 1e-310, 1e-305, 1),
                tuple(n / 100 for n in range(1001)),
                (0, 0.3, 0.1 + 0.2, 1),
                (-9e18, 5e9, 9.2e18),
            ]
        )
        return Numeric(bounds=(edges[0], edges[-1]), edges=tuple(float(edge) for edge in edges), **buckets)
    some = rng.sample([value for value in values if value is not None], 3)
    return Categorical(levels=tuple(dict.fromkeys(map(spell, some))), **buckets)


PERSONS: list[tuple[list[Any], pa.DataType]] = [
    (["p", "q", "", "é|", "P", "1.0", "1"], pa.string()),
    ([0, 1, 10, -1], pa.int64()),
    ([Decimal("1.50"), Decimal(1), Decimal(10), Decimal(0)], pa.decimal128(9, 2)),
]
WORDS = st.text(st.characters(codec="utf-8", exclude_characters="\0\r\n"), max_size=6)
NAMES = st.text(st.sampled_from("abcXYZ 'é\\%{}\".-"), min_size=1, max_size=6).filter(lambda name: bool(name.strip()))


@st.composite
def domains_and_tables(draw: st.DrawFn) -> tuple[Domain, pa.Table]:
    """Draw a small domain of any kinds, and rows that are partly out of domain."""
    names = draw(st.lists(NAMES, min_size=1, max_size=4, unique=True))
    rows = draw(st.integers(0, 25))
    pairs = [draw(_column(name, rows)) for name in names]
    attributes: list[Any] = [attribute for attribute, _ in pairs]
    columns = {attribute.name: values for attribute, values in pairs}
    person = None
    if draw(st.booleans()):
        person = "the person"
        attributes.append(Identifier(name=person))
        some, arrow = draw(st.sampled_from(PERSONS))
        keys = st.lists(st.sampled_from(some) | st.none(), min_size=rows, max_size=rows)
        columns[person] = pa.array(draw(keys), arrow)
    nulls = tuple(draw(st.lists(st.sampled_from(["", "NA", "a", "0", "?"]), max_size=2, unique=True)))
    return Domain(attributes=attributes, person=person, nulls=nulls), pa.table(columns)


@st.composite
def _column(draw: st.DrawFn, name: str, rows: int) -> tuple[Any, pa.Array]:
    buckets = {"name": name, "missing": draw(st.booleans()), "other": draw(st.booleans())}
    kind = draw(st.sampled_from(["levels", "whole", "real", "text number", "date", "boolean", "boolean text"]))
    some: st.SearchStrategy[Any]
    if kind == "levels":
        levels = draw(st.lists(WORDS, min_size=1, max_size=5, unique=True))
        some, arrow = st.sampled_from(levels) | WORDS, pa.string()
        attribute: Any = Categorical(levels=levels, **buckets)
    elif kind == "date":
        low = draw(st.dates(dt.date(1960, 1, 1), dt.date(2020, 1, 1)))
        high = low + dt.timedelta(days=draw(st.integers(1, 400)))
        some, arrow = st.dates(low - dt.timedelta(days=9), high + dt.timedelta(days=9)), pa.date32()
        by = draw(st.sampled_from(["day", "week", "month", "quarter", "year"]))
        attribute = Date(bounds=(low, high), by=by, **buckets)
    elif kind.startswith("boolean"):
        text = kind == "boolean text"
        some = st.sampled_from(["yes", "No", "T", "0", "?", ""]) if text else st.booleans()
        arrow = pa.string() if text else pa.bool_()
        attribute = Boolean(**buckets)
    else:
        quarters = st.integers(-36, 36).map(lambda n: n / 4)
        least, width = draw(quarters | st.integers(-9, 9)), draw(st.integers(1, 9) | st.sampled_from([0.25, 2.5]))
        shape = draw(st.sampled_from(["one", "some", "unit", "edges"]))
        if shape == "edges":
            inner = draw(st.sets(quarters.filter(lambda x: least < x < least + width), max_size=4))
            cut: dict[str, Any] = {"edges": (least, *sorted(inner), least + width)}
        else:
            cut = {"bins": {"one": 1, "some": draw(st.integers(1, 9)), "unit": math.ceil(width)}[shape]}
        attribute = Numeric(bounds=(least, least + width), **cut, **buckets)
        around = st.integers(-3, int(4 * width) + 3).map(lambda n: least + n / 4)
        whole, arrow = around.map(round), pa.int64()
        some = whole
        if kind == "real":
            some, arrow = around | st.floats(width=32) | st.floats(), pa.float64()
        elif kind == "text number":
            some, arrow = whole.map(str) | st.floats().map(repr) | WORDS, pa.string()
    return attribute, pa.array(draw(st.lists(some | st.none(), min_size=rows, max_size=rows)), arrow)
