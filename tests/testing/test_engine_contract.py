"""The contract notices engines that are a little wrong."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tacita.domain import Domain
from tacita.engines.adding import Added, Counted, Formula, Rounded, Sums
from tacita.engines.base import Engine, SourceCheck
from tacita.engines.local import LocalEngine
from tacita.privacy.unit import Unit
from tacita.query.counted import counted_rows
from tacita.query.numbers import Measurable, numbers, presence
from tacita.tables.recoding.render import encode_rows
from tacita.tables.table import Table
from tacita.tables.workload import Tables, Workload
from tacita.testing import EngineContract
from tacita.testing.sums import Streaming


class LosesARow(LocalEngine):
    def __init__(self, domain: Domain, table: pa.Table) -> None:
        super().__init__(domain, table.slice(1))


class ForgetsTheBound(LocalEngine):
    def tables(self, workload: Workload, unit: Unit) -> Tables:
        return super().tables(workload, Unit.of_person(unit.person, max_rows=10**6) if unit.person else unit)


class KeepsTheFirstRows(LocalEngine):
    def __init__(self, domain: Domain, table: pa.Table) -> None:
        if domain.person:
            keys = table.column(domain.person).to_pylist()
            table = table.filter(pa.array([keys[:i].count(key) < 2 for i, key in enumerate(keys)]))
        super().__init__(domain, table)


class SortsAxes(LocalEngine):
    def project(self, attributes: Any) -> Table:
        return super().project(sorted(attributes))


class DropsRowsWithStrangers(LocalEngine):
    """Leaves a row out of all tables when one of its values has no place."""

    def tables(self, workload: Workload, unit: Unit) -> Tables:
        whole = super().tables(Workload.of(self.domain.countable), unit)
        return Tables(self.domain, {key: whole.project(key) for key in workload})


class ChecksNothing(LocalEngine):
    def check(self) -> SourceCheck:
        return SourceCheck(rows=super().check().rows, columns=())


class AddsUp(LocalEngine):
    """Adds up as it should, by streaming; a subclass does it a little wrong."""

    def sums(self, request: Sums) -> Added | None:
        domain = self.domain
        if request.persons:
            return None
        batches = list(counted_rows(Streaming(self), [*request.ties], request.unit))  # type: ignore[arg-type]
        if not batches:
            return None
        rows = pa.Table.from_batches(batches)
        for name, allowed in request.only:
            rows = rows.filter(pa.array(np.isin(domain.encode(rows, [name])[name], allowed)))
        groups = np.array([domain.encode(rows, [name])[name] for name in request.names], np.int64)
        groups = groups.reshape(len(request.names), rows.num_rows).T
        columns = []
        for number in request.numbers:
            read: Any = numbers if isinstance(number.attribute, Measurable) else presence
            columns.append(read(number.attribute, rows[number.column], domain.nulls))
        there = [~np.isnan(column) for column in columns]
        one = np.ones(len(groups), np.int64)
        added = [self.add(formula, columns[at], there[at]) for at, formula in request.sums]
        return Added(
            codes=groups,
            rows=one,
            present=np.stack(there, axis=1).astype(np.int64),
            sums=np.stack([one * 0, *added], axis=1)[:, 1:],
            counts=tuple(
                Counted(codes=groups[there[at]], values=formula(columns[at][there[at]]), rows=one[there[at]])
                for at, formula in request.counts
            ),
        )

    def add(self, formula: Formula, values: Any, there: Any) -> Any:
        return np.where(there, formula(np.where(there, values, 0.0)), 0)


class RoundsHalvesUp(AddsUp):
    def add(self, formula: Formula, values: Any, there: Any) -> Any:
        *steps, last = formula.steps
        assert isinstance(last, Rounded)
        found = np.where(there, values, 0.0)
        for step in steps:
            found = step(found)
        return np.where(there, np.floor(found + 0.5).astype(np.int64), 0)


class TakesMissingForZero(AddsUp):
    def add(self, formula: Formula, values: Any, there: Any) -> Any:
        return formula(np.where(there, values, 0.0))


class AddsUpTheFirstRows(AddsUp):
    def sums(self, request: Sums) -> Added | None:
        return super().sums(dataclasses.replace(request, ties=request.ties[::-1]))


class KeepsTheOrder(LocalEngine):
    def apply(self, recoding: Any, columns: Any, batch_rows: int = 1000) -> Any:
        table = pa.Table.from_batches(self.rows([*recoding.names, *columns]))
        classes = recoding.assign(encode_rows(recoding, self.domain, table))
        return table.filter(pa.array(classes >= 0)).to_batches(max_chunksize=batch_rows)


@pytest.mark.parametrize(
    ("engine", "test"),
    [
        (LosesARow, "test_levels_as_text"),
        (LosesARow, "test_rows_come_back_as_they_are"),
        (LosesARow, "test_any_domain_and_any_table"),
        (ForgetsTheBound, "test_the_bound_looks_at_all_attributes"),
        (KeepsTheFirstRows, "test_the_bound_looks_at_all_attributes"),
        (SortsAxes, "test_attributes_in_any_order"),
        (DropsRowsWithStrangers, "test_all_tables_of_a_mixed_domain"),
        (ChecksNothing, "test_check_counts_strangers"),
        (LosesARow, "test_apply_gives_labels_and_other_columns"),
        (KeepsTheOrder, "test_apply_gives_labels_and_other_columns"),
        (KeepsTheOrder, "test_apply_gives_the_same_rows_whatever_order_they_lie_in"),
        (TakesMissingForZero, "test_sums_of_dates_and_truth_values"),
    ],
)
def test_wrong_engines_are_caught(engine: Any, test: str) -> None:
    class Wrong(EngineContract):
        def make(self, domain: Domain, table: pa.Table) -> Engine:
            made: Engine = engine(domain, table)
            return made

    with pytest.raises((AssertionError, BaseExceptionGroup)):
        getattr(Wrong(), test)()


class TestAddsUp(EngineContract):
    """The right twin of the engines above that add up wrong."""

    def make(self, domain: Domain, table: pa.Table) -> Engine:
        return AddsUp(domain, table)


def test_another_rounding_is_caught() -> None:
    class Wrong(EngineContract):
        def make(self, domain: Domain, table: pa.Table) -> Engine:
            return RoundsHalvesUp(domain, table)

    with pytest.raises(AssertionError):
        Wrong().test_sums_of_nasty_numbers((0, 1))


@pytest.mark.parametrize("number", [1, 2, 5])
def test_sums_of_other_rows_of_a_person_are_caught(number: int) -> None:
    class Wrong(EngineContract):
        def make(self, domain: Domain, table: pa.Table) -> Engine:
            return AddsUpTheFirstRows(domain, table)

    with pytest.raises(AssertionError):
        Wrong().test_sums_of_persons_are_of_the_same_rows(number)


def test_an_engine_that_should_add_up_and_does_not_is_caught() -> None:
    class Wrong(EngineContract):
        adds = frozenset({"rows"})

        def make(self, domain: Domain, table: pa.Table) -> Engine:
            return LocalEngine(domain, table)

    with pytest.raises(AssertionError):
        Wrong().test_sums_of_whole_numbers()


def test_the_reference_does_not_use_the_encoder() -> None:
    from tacita.testing import reference

    assert "encode" not in vars(reference)
    assert not any(isinstance(value, np.ndarray) for value in vars(reference).values())


def test_a_contract_needs_an_engine() -> None:
    with pytest.raises(NotImplementedError):
        EngineContract().test_booleans()
