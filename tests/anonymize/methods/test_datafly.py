"""Datafly, step by step."""

from __future__ import annotations

import pyarrow as pa
from tests.anonymize.slow_nodes import QUASI, ROWS, TREES

from tacita.anonymize import Conditions, read_distinct_rows
from tacita.anonymize.methods.datafly import Datafly
from tacita.anonymize.methods.lattice import Lattice


def test_datafly_stops_at_k_and_raises_what_has_most_values():
    columns = {"who": ["p"] * 6, "age": [1, 1, 1, 22, 22, 22], "colour": ["red"] * 6, "pet": ["cat"] * 6}
    table = pa.table(columns | {"ill": ["flu"] * 6})
    distinct = read_distinct_rows(ROWS, table, QUASI, hierarchies=TREES)
    assert Datafly().choose(Lattice.of(distinct, Conditions(k=3))) == (0, 0, 0)  # classes of exactly k are classes
    assert Datafly().choose(Lattice.of(distinct, Conditions(k=4))) == (3, 0, 0)
    assert Datafly().choose(Lattice.of(distinct, Conditions(k=4), budget=6)) == (0, 0, 0)
    # colour has three values and age two: colour goes first, though ages lie further apart
    table = table.set_column(2, "colour", [["red", "green", "grey"] * 2])
    distinct = read_distinct_rows(ROWS, table, QUASI, hierarchies=TREES)
    assert Datafly().choose(Lattice.of(distinct, Conditions(k=3))) == (0, 2, 0)
