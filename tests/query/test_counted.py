import numpy as np
import pyarrow as pa
import pytest

from tacita.domain import Categorical, Domain, Identifier, Numeric
from tacita.engines.local import LocalEngine
from tacita.errors import InvalidInput
from tacita.privacy.unit import Unit
from tacita.query.counted import counted_rows
from tacita.tables.table import Table
from tacita.tables.workload import Workload

DOMAIN = Domain(
    person="who",
    attributes=[
        Identifier(name="who"),
        Numeric(name="x", bounds=(0, 9), bins=3),
        Categorical(name="g", levels=("a", "b"), missing=True),
    ],
)


@pytest.fixture(scope="module")
def engine():
    rng, n = np.random.default_rng(1), 500
    who = pa.array([f"p{i}" for i in rng.integers(0, 60, n)], mask=rng.random(n) < 0.1)
    return LocalEngine(DOMAIN, pa.table({"who": who, "x": rng.uniform(0, 9, n), "g": rng.choice(["a", "b", ""], n)}))


@pytest.mark.parametrize("max_rows", [1, 3, 100])
def test_the_rows_are_those_that_tables_count(engine, max_rows):
    unit = Unit.of_person("who", max_rows=max_rows)
    batches = list(counted_rows(engine, ["x", "g", "who"], unit))
    codes = np.concatenate([np.stack(list(DOMAIN.encode(batch, ["x", "g"]).values()), axis=1) for batch in batches])
    assert Table.count(DOMAIN.project(["x", "g"]), codes) == engine.tables(Workload.of(["x", "g"]), unit)["x", "g"]
    persons = [who for batch in batches for who in batch.column("who").to_pylist()]
    assert None not in persons
    assert max(persons.count(who) for who in set(persons)) <= max_rows


def test_nobody_moves_the_rows_of_others(engine):
    unit = Unit.of_person("who", max_rows=2)
    table = pa.Table.from_batches(engine.rows(["who", "x", "g"]))
    before = {tuple(row.values()) for b in counted_rows(engine, ["who", "x"], unit) for row in b.to_pylist()}
    without = table.filter(pa.array([who != "p7" for who in table["who"].to_pylist()]))
    rest = LocalEngine(DOMAIN, without)
    after = {tuple(row.values()) for b in counted_rows(rest, ["who", "x"], unit) for row in b.to_pylist()}
    assert after == {row for row in before if row[0] != "p7"}


def test_rows_are_not_the_unit_of_recurrent_data(engine):
    with pytest.raises(InvalidInput, match="names a person"):
        list(counted_rows(engine, ["x"], Unit.row()))


def test_the_rows_that_count_do_not_depend_on_their_order(engine):
    """Values that share a bin are chosen by themselves, not by what comes first."""
    whole = pa.Table.from_batches(list(engine.rows(["who", "x", "g"])))
    names, unit = ["who", "x", "g"], Unit.of_person("who", max_rows=2)

    def kept(rows):
        batches = list(counted_rows(LocalEngine(DOMAIN, rows), names, unit))
        return sorted(map(str, pa.Table.from_batches(batches).to_pylist()))

    first = kept(whole)
    for seed in range(5):
        assert kept(whole.take(np.random.default_rng(seed).permutation(whole.num_rows))) == first
    others = whole.filter(pa.compute.not_equal(whole["who"], "p1"))
    assert [row for row in first if "'p1'" not in row] == kept(others), "one person changes nothing of others"


def test_a_column_without_a_type_does_no_harm():
    rows = pa.table({"who": ["a"] * 5, "x": [1.0, 2.0, 3.0, 1.5, 2.5], "g": pa.nulls(5)})
    batches = list(counted_rows(LocalEngine(DOMAIN, rows), ["x", "g"], Unit.of_person("who", max_rows=2)))
    assert sum(batch.num_rows for batch in batches) == 2
