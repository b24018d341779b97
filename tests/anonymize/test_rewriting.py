"""A distributed write holds the rows of a run in memory, and appears only when they meet the conditions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.anonymize.test_distinct_counts import KEYED, PLAIN, QUASI, some_rows
from tests.support.parts import PartsEngine

from tacita.anonymize import Anonymize, Conditions, LocalRecoding, Mondrian, Ola
from tacita.anonymize import rewriting as module
from tacita.anonymize.anonymize import AnonymizedFiles
from tacita.anonymize.methods.registry import METHODS, make_method
from tacita.anonymize.rewriting import Layout
from tacita.domain import Domain, Numeric
from tacita.engines.local import LocalEngine
from tacita.errors import InternalError, InvalidInput

WIDE = Domain(attributes=[*PLAIN.attributes, Numeric(name="pay", bounds=(0, 10), bins=2)])


def released(folder: Path) -> pa.Table:
    files = sorted(folder.glob("*.parquet"))
    assert sorted(each.name for each in folder.iterdir()) == ["_SUCCESS", *(file.name for file in files)]
    return pa.concat_tables([pq.read_table(file) for file in files])


def written(plan: Any, domain: Domain, rows: pa.Table, target: Path) -> AnonymizedFiles:
    return plan.write(PartsEngine(domain, rows), str(target))  # type: ignore[no-any-return]


@pytest.mark.parametrize("domain", [PLAIN, KEYED], ids=["rows", "persons"])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("asked", [{"k": 5}, {"k": 4, "l": 2, "t": 0.6}], ids=["k", "l, t"])
def test_what_is_written_is_what_a_run_in_memory_releases(
    method: str, domain: Domain, asked: dict[str, Any], tmp_path: Path
) -> None:
    rows = some_rows(500, 3, persons=300)
    table = rows if domain.person else rows.drop_columns(["who"])
    recipe = Anonymize(
        conditions=Conditions.of(asked),
        quasi=QUASI,
        sensitive=("ill",),
        suppress=0.3,
        method=make_method(method, {}),
    )
    plan = recipe.prepare(domain)
    wanted = plan.run(LocalEngine(domain, table))
    found = written(plan, domain, table, tmp_path / "out")
    assert released(tmp_path / "out") == wanted.rows  # order too: it follows from values alone
    assert found.as_dict() == wanted.as_dict()
    assert np.array_equal(found.recoding.classes, wanted.recoding.classes)
    assert not [each for each in tmp_path.iterdir() if each.name != "out"]


@pytest.mark.parametrize("method", [LocalRecoding(), Mondrian(mode="relaxed")], ids=["local", "relaxed"])
@pytest.mark.parametrize("keep", [(), ("pay",)])
def test_equal_rows_that_are_split_over_classes(method: Any, keep: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(8)
    rows = some_rows(600, 7).drop_columns(["who"]).append_column("pay", pa.array(rng.integers(0, 30, 600) / 3))
    rows = pa.concat_tables([rows, rows.slice(0, 300)])
    conditions = Conditions(k=13)
    plan = Anonymize(conditions=conditions, quasi=QUASI, sensitive=("ill",), keep=keep, method=method).prepare(WIDE)
    wanted = plan.run(LocalEngine(WIDE, rows))
    assert wanted.recoding.shares is not None
    assert len(wanted.recoding.codes) > len(np.unique(wanted.recoding.codes, axis=0))
    found = written(plan, WIDE, rows, tmp_path / "out")
    assert released(tmp_path / "out") == wanted.rows
    assert found.as_dict() == wanted.as_dict()


def test_files_are_a_function_of_the_released_rows_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module.Layout.of.__func__, "__defaults__", (20,))
    rng = np.random.default_rng(0)
    rows = some_rows(400, 1).drop_columns(["who"]).append_column("pay", pa.array(rng.integers(0, 30, 400) / 3))
    plan = Anonymize(conditions=Conditions(k=60), quasi=QUASI, sensitive=("ill",), keep=("pay",)).prepare(WIDE)
    for at, order in enumerate((np.arange(400), rng.permutation(400))):
        written(plan, WIDE, rows.take(pa.array(order)), tmp_path / str(at))
    first, second = ([file.read_bytes() for file in sorted((tmp_path / at).iterdir())] for at in "01")
    assert len(first) > 12
    assert first == second
    by = [(name, "ascending") for name in plan.leaving]
    assert released(tmp_path / "0").sort_by(by) == plan.run(LocalEngine(WIDE, rows)).rows.sort_by(by)


class Liar(Mondrian):
    """Puts each combination into a class of its own."""

    def recode(self, distinct: Any, conditions: Any, *, budget: int = 0) -> Any:
        return super().recode(distinct, Conditions(k=1), budget=0)


def test_rows_that_do_not_meet_the_conditions_do_not_appear(tmp_path: Path) -> None:
    rows = some_rows(300, 5).drop_columns(["who"])
    plan = Anonymize(conditions=Conditions(k=25), quasi=QUASI, sensitive=("ill",), method=Liar()).prepare(PLAIN)
    with pytest.raises(InternalError, match="do not meet the conditions"):
        written(plan, PLAIN, rows, tmp_path / "out")
    assert not list(tmp_path.iterdir())


def test_a_class_of_one_person_with_many_rows_does_not_appear(tmp_path: Path) -> None:
    """Persons are counted, not rows: also on what was written."""
    rows = some_rows(300, 5).set_column(0, "who", pa.array(["same"] * 300))
    plan = Anonymize(conditions=Conditions(k=2), quasi=QUASI, sensitive=("ill",)).prepare(KEYED)
    with pytest.raises(InvalidInput, match="there are fewer people than that"):
        written(plan, KEYED, rows, tmp_path / "out")
    assert not list(tmp_path.iterdir())


def test_what_needs_rows_in_memory_is_refused(tmp_path: Path) -> None:
    rows = some_rows(300, 5).drop_columns(["who"])
    legacy = Mondrian(mode="legacy")
    plan = Anonymize(conditions=Conditions(k=9), quasi=QUASI, sensitive=("ill",), method=legacy).prepare(PLAIN)
    with pytest.raises(InvalidInput, match="as they first appear"):
        written(plan, PLAIN, rows, tmp_path / "out")
    plan = Anonymize(conditions=Conditions(k=9), quasi=QUASI, method=Ola()).prepare(PLAIN)
    with pytest.raises(InvalidInput, match="output: only Spark writes rows where they are"):
        plan.write(LocalEngine(PLAIN, rows), str(tmp_path / "out"))
    (tmp_path / "out").mkdir()
    with pytest.raises(InvalidInput, match="output: exists already"):
        written(plan, PLAIN, rows, tmp_path / "out")
    with pytest.raises(InvalidInput, match="output: its folder must exist"):
        written(plan, PLAIN, rows, tmp_path / "no" / "out")


def test_a_source_without_rows(tmp_path: Path) -> None:
    plan = Anonymize(conditions=Conditions(k=9), quasi=QUASI).prepare(PLAIN)
    with pytest.raises(InvalidInput, match="There is no one"):
        written(plan, PLAIN, some_rows(9, 0).drop_columns(["who"]).slice(0, 0), tmp_path / "out")


def test_large_classes_have_several_files() -> None:
    layout = Layout.of(np.array([1, 40, 2, 2]), rows=4)
    rows = pa.table({"x": [str(n) for n in range(400)]})
    parts = layout.of_rows(np.full(400, 1), rows)
    assert (layout.parts, set(parts.tolist())) == (12, set(range(1, 11)))
    assert np.array_equal(layout.of_rows(np.full(400, 1), rows), parts)
    assert Layout.of(np.zeros(0, np.int64)).parts == 1
