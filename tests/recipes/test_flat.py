from tacita.engines.local import LocalEngine
from tacita.noise import SeededSource
from tacita.plans import NoisyTables
from tacita.privacy.budget import Budget
from tacita.privacy.unit import Neighbours, Unit
from tacita.recipes.flat import table_of_answer
from tacita.tables.workload import Workload

from .test_registry import DOMAIN, people


def released(*tables):
    plan = NoisyTables(Workload.of(*tables)).calibrate(
        DOMAIN, Budget.pure(1.0), unit=Unit.row(), neighbours=Neighbours.ADD_REMOVE
    )
    return plan.run(LocalEngine(DOMAIN, people()), SeededSource(1))


def test_one_table_keeps_its_columns():
    assert table_of_answer(released(["sex"])).column_names == ["sex", "estimate", "std", "low", "high"]


def test_several_tables_are_told_apart_by_a_column():
    table = table_of_answer(released(["sex"], ["age"], []))
    assert table.column_names == ["table", "sex", "age", "estimate", "std", "low", "high"]
    assert table.column("table").to_pylist() == ["sex"] * 2 + ["age"] * 5 + ["total"]
    assert table.column("sex").to_pylist()[2:] == [None] * 6
