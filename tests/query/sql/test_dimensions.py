import datetime as dt
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as papq
import pytest

from tacita.domain import Categorical, Domain, Numeric
from tacita.engines.local import LocalEngine
from tacita.errors import InvalidInput
from tacita.noise import SeededSource
from tacita.privacy.budget import Budget
from tacita.privacy.unit import Neighbours, Unit
from tacita.query.sql import Dimension, compile_sql, read_dimension


def test_a_file_of_another_dialect_is_the_same_dimension(tmp_path):
    (tmp_path / "shops.csv").write_bytes("id;stadt;größe\n1;Köln;3,5\n2;Bonn;4,25\n".encode("cp1252"))
    found = read_dimension(f"shops={tmp_path / 'shops.csv'}")
    assert found.lookup("id", "stadt") == {"1": "Köln", "2": "Bonn"}
    assert found.lookup("id", "größe") == {"1": 3.5, "2": 4.25}


def test_files_tables_and_records_are_the_same_dimension(tmp_path):
    (tmp_path / "shops.csv").write_text("id,area,open\n1,north,true\n2,,false\n")
    table = pa.table({"id": [1, 2], "area": ["north", None], "open": [True, False]})
    papq.write_table(table, tmp_path / "shops.parquet")
    records = [{"id": 1, "area": "north", "open": True}, {"id": 2, "open": False}]
    made = [
        read_dimension(f"shops={tmp_path / 'shops.parquet'}"),
        Dimension.of_records("shops", records),
        Dimension.of_table("shops", table),
    ]
    for each in made:
        assert each.lookup("id", "area") == {"1": "north", "2": None}
        assert each.lookup("id", "open") == {"1": True, "2": False}
    assert read_dimension(f"shops={tmp_path / 'shops.csv'}").lookup("id", "open") == {"1": True, "2": False}


def test_values_are_texts_numbers_and_dates():
    table = pa.table({"k": [Decimal("1.50")], "at": [dt.datetime(2020, 1, 2)], "x": [[1, 2]]})
    made = Dimension.of_table("d", table)
    assert made.columns == {"k": [1.5], "at": [dt.date(2020, 1, 2)], "x": ["[1, 2]"]}


def test_a_key_that_is_there_twice_is_refused_and_one_that_is_missing_is_left_out():
    with pytest.raises(InvalidInput, match="twice"):
        Dimension("d", {"k": ["a", "a"], "x": [1.0, 2.0]}).lookup("k", "x")
    assert Dimension("d", {"k": ["a", None, None], "x": [1.0, 2.0, 3.0]}).lookup("k", "x") == {"a": 1.0}


@pytest.mark.parametrize("text", ["shops", "=x.csv", "shops=", "shops=missing.csv"])
def test_what_is_no_dimension_is_refused(text):
    with pytest.raises(InvalidInput):
        read_dimension(text)


def test_broken_files_and_tables_are_refused(tmp_path):
    (tmp_path / "bad.parquet").write_text("x")
    with pytest.raises(InvalidInput, match="cannot be read"):
        read_dimension(f"d={tmp_path / 'bad.parquet'}")
    with pytest.raises(InvalidInput, match="equal length"):
        Dimension("d", {"a": [1], "b": []})
    with pytest.raises(InvalidInput, match="rows and columns"):
        Dimension.of_records("d", [])


def test_capitals_of_columns_matter_where_they_make_a_difference():
    domain = Domain(attributes=[Categorical(name="shop", levels=("a", "b")), Numeric(name="x", bounds=(0, 9), bins=3)])
    rows = LocalEngine(domain, pa.table({"shop": ["a", "b"] * 50, "x": [1.0, 2.0] * 50}))
    listed = [{"id": "a", "Area": "n", "V": 1, "v": 100}, {"id": "b", "Area": "s", "V": 1, "v": 100}]
    shops = Dimension.of_records("shops", listed)

    def ask(sql):
        query = compile_sql(sql, domain, dimensions=[shops])
        plan = query.calibrate(domain, Budget.pure(1000.0), unit=Unit.row(), neighbours=Neighbours.ADD_REMOVE)
        return plan.run(rows, SeededSource(1))

    found = ask('SELECT SUM(shops."V") AS one, SUM(shops."v") AS other FROM t JOIN shops ON shop = id')
    assert (found.columns["one"].value[0], found.columns["other"].value[0]) == pytest.approx((100, 10_000), rel=0.02)
    assert len(ask("SELECT area, COUNT(*) AS n FROM t JOIN shops ON shop = id GROUP BY area").groups) == 2
    with pytest.raises(InvalidInput, match="bins of real numbers"):
        ask("SELECT COUNT(*) FROM t JOIN shops ON x = id")
