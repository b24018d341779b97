"""Rows as codes agree with tables, and with what a unit may have."""

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

from tacita.domain import Categorical, Domain, Identifier
from tacita.engines.coded import coded_units
from tacita.engines.local import LocalEngine
from tacita.errors import InvalidInput
from tacita.privacy.unit import Unit
from tacita.tables.workload import Workload

A = Categorical(name="a", levels=("0", "1", "2"))
B = Categorical(name="b", levels=("0", "1"))


def counted(units):
    return Counter(map(tuple, units.codes[units.there].tolist()))


def expected(engine, unit):
    table = engine.tables(Workload.of(("a", "b")), unit)[("a", "b")].values
    return Counter({place: int(count) for place, count in np.ndenumerate(table) if count})


def test_rows_are_units_and_values_without_a_place_are_left_out():
    data = pa.table({"a": ["0", "2", "9", "1", None], "b": ["1", "0", "0", "1", "1"]})
    engine = LocalEngine(Domain(attributes=[A, B]), data)
    units = coded_units(engine, ["a", "b"], Unit.row())
    assert units.codes.shape == (3, 1, 2)
    assert counted(units) == expected(engine, Unit.row())
    assert counted(coded_units(engine, ["b"], Unit.row())) == Counter({(0,): 2, (1,): 3})


@pytest.mark.parametrize("most", [1, 2, 5])
def test_persons_keep_the_rows_that_tables_count(most):
    rng = np.random.default_rng(1)
    keys = [f"p{person}" for person in rng.integers(0, 30, 100)] + [None, ""]
    data = pa.table(
        {
            "who": keys,
            "a": rng.integers(0, 4, 102).astype(str).tolist(),
            "b": rng.integers(0, 2, 102).astype(str).tolist(),
        }
    )
    domain = Domain(attributes=[Identifier(name="who"), A, B], person="who")
    engine, unit = LocalEngine(domain, data), Unit.of_person("who", max_rows=most)
    units = coded_units(engine, ["a", "b"], unit)
    assert units.codes.shape[1] == most
    assert (units.there.sum(axis=1) >= 1).all()
    assert counted(units) == expected(engine, unit)
    with pytest.raises(InvalidInput, match="person"):
        coded_units(engine, ["a"], Unit.row())


def test_nobody_is_there():
    engine = LocalEngine(
        Domain(attributes=[A, B]), pa.table({"a": pa.nulls(0, pa.string()), "b": pa.nulls(0, pa.string())})
    )
    assert len(coded_units(engine, ["a"], Unit.row())) == 0
    domain = Domain(attributes=[Identifier(name="who"), A], person="who")
    empty = LocalEngine(domain, pa.table({"who": pa.nulls(0, pa.string()), "a": pa.nulls(0, pa.string())}))
    assert len(coded_units(empty, ["a"], Unit.of_person("who", max_rows=2))) == 0
