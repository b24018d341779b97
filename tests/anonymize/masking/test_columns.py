"""Rows as arrays and back."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pyarrow as pa
import pytest

from tacita.anonymize.masking.columns import NO_VALUE, Columns, read_columns
from tacita.domain import Domain
from tacita.errors import DataError


def test_values_are_read_by_their_meaning(domain: Domain) -> None:
    table = pa.table(
        {
            "age": ["01", "1.0", "", "2"],
            "sex": ["f", None, "m", "x"],
            "born": ["1980-01-02", "1980-01-02", "", "1999-12-31"],
            "grade": ["low", "high", None, "mid"],
        }
    )
    read = read_columns(Domain.from_dict(domain.as_dict() | {"nulls": [""]}), table, table.column_names)
    assert np.array_equal(read["age"].values, [1, 1, np.nan, 2], equal_nan=True)
    assert read["sex"].values.tolist() == [0, NO_VALUE, 1, 2]
    assert read["sex"].to_arrow().to_pylist() == ["f", None, "m", "(other)"]  # an undeclared level is not released
    assert read["born"].to_arrow().to_pylist() == [dt.date(1980, 1, 2)] * 2 + [None, dt.date(1999, 12, 31)]
    assert read["age"].to_arrow().to_pylist() == [1, 1, None, 2]
    assert read["grade"].missing.tolist() == [False, False, True, False]


def test_a_value_out_of_domain_is_refused_without_its_text(domain: Domain) -> None:
    with pytest.raises(DataError) as raised:
        read_columns(domain, pa.table({"income": ["12", "secret"]}), ["income"])
    assert "secret" not in str(raised.value)


def test_rows_are_sorted_by_what_is_released(domain: Domain, columns: Columns) -> None:
    table, order = columns.to_arrow()
    assert sorted(order.tolist()) == list(range(columns.rows))
    assert table.column("age").to_pylist() == sorted(table.column("age").to_pylist())
    assert table.column("income").to_pylist() == columns["income"].values[order].tolist()
    empty = read_columns(domain, pa.table({"age": pa.array([], pa.int64())}), ["age"])
    assert empty.to_arrow()[0].num_rows == 0


def test_cells_are_set_missing(columns: Columns) -> None:
    cells = np.arange(columns.rows) % 2 == 0
    for name in ("age", "job", "born"):
        gone = columns[name].without(cells)
        assert gone.missing[cells].all()
        assert (gone.values[~cells] == columns[name].values[~cells]).all()
