"""The contract notices engines that are a little wrong."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tacita.domain import Domain
from tacita.engines.base import Engine, SourceCheck
from tacita.engines.local import LocalEngine
from tacita.privacy.unit import Unit
from tacita.tables.recoding.render import encode_rows
from tacita.tables.table import Table
from tacita.tables.workload import Tables, Workload
from tacita.testing import EngineContract


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
    ],
)
def test_wrong_engines_are_caught(engine: Any, test: str) -> None:
    class Wrong(EngineContract):
        def make(self, domain: Domain, table: pa.Table) -> Engine:
            made: Engine = engine(domain, table)
            return made

    with pytest.raises((AssertionError, BaseExceptionGroup)):
        getattr(Wrong(), test)()


def test_the_reference_does_not_use_the_encoder() -> None:
    from tacita.testing import reference

    assert "encode" not in vars(reference)
    assert not any(isinstance(value, np.ndarray) for value in vars(reference).values())


def test_a_contract_needs_an_engine() -> None:
    with pytest.raises(NotImplementedError):
        EngineContract().test_booleans()
