"""Work over raw rows on executors: the same rows and the same sums as by streaming, to the last one."""

from __future__ import annotations

import sys
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.support.spark import SparkCluster

from tacita.assess.sample import sample_rows
from tacita.domain import Categorical, Domain, Identifier, Numeric
from tacita.engines.base import Engine, Folds
from tacita.engines.connect import connect
from tacita.engines.local import LocalEngine
from tacita.engines.spark import SparkEngine
from tacita.engines.spark import engine as spark_engine
from tacita.errors import InternalError, InvalidInput, TacitaError
from tacita.learn import Regression
from tacita.noise import SeededSource
from tacita.privacy.budget import Budget
from tacita.privacy.unit import Neighbours, Unit
from tacita.query import Aggregate, Aggregates
from tacita.query.counted import counted_rows, fold_counted
from tacita.query.models.kmeans import KMeans
from tacita.query.models.pca import PCA
from tacita.query.summing import gather

WAIT = 240.0
DOMAIN = Domain(
    person="who",
    nulls=("", "?"),
    attributes=[
        Identifier(name="who"),
        Identifier(name="team"),
        Categorical(name="group", levels=["a", "b"]),
        Numeric(name="pay", bounds=(0, 1000), bins=1, missing=True),
        Numeric(name="age", bounds=(0, 100), bins=4, missing=True),
    ],
)


def some_rows(rows: int, seed: int) -> pa.Table:
    """Few codes and many values: rows of a person tie in their codes, within parts and across them."""
    rng = np.random.default_rng(seed)
    who = [f"p{n}" if n % 11 else ("?", "", None)[n % 3] for n in rng.integers(0, rows // 9, rows)]
    pay = [None if n % 13 == 0 else float(n) / 2 for n in rng.integers(0, 2000, rows)]
    return pa.table(
        {
            "who": who,
            "team": [f"t{n}" if n else "" for n in rng.integers(0, 4, rows)],
            "group": rng.choice(["a", "b", "c"], rows, p=[0.8, 0.15, 0.05]),
            "pay": pay,
            "age": rng.integers(0, 110, rows),
        }
    )


@pytest.fixture(scope="module", autouse=True)
def _by_value() -> Iterator[None]:
    """Executors do not have this file: send what it defines."""
    from pyspark import cloudpickle

    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    yield
    cloudpickle.unregister_pickle_by_value(sys.modules[__name__])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("parts")
    for part in range(5):
        pq.write_table(some_rows(300 + 40 * part, part), made / f"{part}.parquet", row_group_size=64)
    return made


class Rows(Counter[Any]):
    """All rows, as a multiset; adds up."""

    def __add__(self, other: Any) -> Rows:
        return Rows(super().__add__(other))


def collect(batches: Iterable[pa.RecordBatch]) -> Rows:
    return Rows(tuple(row.values()) for batch in batches for row in batch.to_pylist())


def test_many_rows_of_persons_are_in_many_parts(folder: Path, session: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spark_engine, "BOUNDED_ROWS", 300)
    unit = Unit.of_person("who", max_rows=3)
    assert SparkEngine(DOMAIN, folder).fold(At(), ["pay"], unit) == list(range(7))
    wanted = collect(counted_rows(LocalEngine(DOMAIN, folder), ["pay"], unit))
    assert SparkEngine(DOMAIN, folder).fold(collect, ["pay"], unit) == wanted


@pytest.mark.parametrize("columns", [["pay"], ["age", "pay", "who"], ["pay", "group"]])
@pytest.mark.parametrize("max_rows", [1, 3, 100])
def test_the_rows_that_count_of_each_person_are_those_of_streaming(
    folder: Path, session: Any, columns: list[str], max_rows: int
) -> None:
    unit = Unit.of_person("who", max_rows=max_rows)
    wanted = collect(counted_rows(LocalEngine(DOMAIN, folder), columns, unit))
    for source in (folder, session.read.parquet(str(folder))):
        assert SparkEngine(DOMAIN, source).fold(collect, columns, unit) == wanted
    assert wanted.total() < 1900


def test_without_a_person_all_rows_are_there(folder: Path, session: Any) -> None:
    local, plain = LocalEngine(DOMAIN, folder), DOMAIN.project(["group", "pay"])
    wanted = collect(counted_rows(LocalEngine(plain, folder), ["group", "pay"], Unit.row()))
    assert fold_counted(SparkEngine(plain, folder), collect, ["group", "pay"], Unit.row()) == wanted
    engine = SparkEngine(DOMAIN, folder)
    assert isinstance(engine, Folds)
    assert not isinstance(local, Folds)
    assert engine.fold(collect, ["who", "pay"], None) == collect(local.rows(["who", "pay"]))
    assert wanted.total() == sum(300 + 40 * part for part in range(5))


def count_parts(batches: Iterable[pa.RecordBatch]) -> Rows:
    """In how many parts each person has rows."""
    return Rows({key for batch in batches for key in batch.column("who").to_pylist()})


def test_all_rows_of_a_person_are_in_one_part(folder: Path, session: Any) -> None:
    found = SparkEngine(DOMAIN, folder).fold(count_parts, ["who"], Unit.of_person("who", max_rows=9))
    assert set(found.values()) == {1}


def test_answers_of_many_parts_are_added_up_by_executors(
    folder: Path, session: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spark_engine, "FEW_PARTS", 2)
    local = LocalEngine(DOMAIN, folder)
    assert SparkEngine(DOMAIN, folder).fold(collect, ["who", "pay"], None) == collect(local.rows(["who", "pay"]))


def test_a_person_added_changes_the_rows_of_no_other(folder: Path, session: Any, tmp_path: Path) -> None:
    """Neighbours: one more person, whose rows are spread over the parts and equal others' in their values."""
    for file in folder.iterdir():
        rows = pq.read_table(file)
        more = rows.slice(0, 60).set_column(0, "who", pa.array(["new"] * 60))
        pq.write_table(pa.concat_tables([more, rows]), tmp_path / file.name)
    unit, columns = Unit.of_person("who", max_rows=2), ["who", "pay", "age"]
    before, after = (SparkEngine(DOMAIN, each).fold(collect, columns, unit) for each in (folder, tmp_path))
    changed = (after - before) + (before - after)
    assert changed.total() == 2
    assert {row[0] for row in changed} == {"new"}


class At:
    """Answers with the numbers of the parts."""

    def __init__(self, part: int | None = None) -> None:
        self.part = part

    def at(self, part: int) -> At:
        return At(part)

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> list[int | None]:
        assert sum(batch.num_rows for batch in batches)
        return [self.part]


def test_a_task_knows_its_part(folder: Path, session: Any) -> None:
    found = SparkEngine(DOMAIN, folder).fold(At(), ["pay"], None)
    assert sorted(found) == list(range(len(found)))


def fail(batches: Iterable[pa.RecordBatch]) -> int:
    for batch in batches:
        raise KeyError(str(batch.to_pylist()[:1]))
    return 0


def refuse(batches: Iterable[pa.RecordBatch]) -> int:
    for _ in batches:
        raise InvalidInput("must not be so", field="pay")
    return 0


@pytest.mark.parametrize("unit", [None, Unit.of_person("who", max_rows=2)])
def test_failures_travel_as_values_without_rows(
    folder: Path, cluster: SparkCluster, session: Any, unit: Unit | None
) -> None:
    engine = SparkEngine(DOMAIN, folder)
    with pytest.raises(InternalError, match="the work over the rows failed") as found:
        engine.fold(fail, ["pay"], unit)
    assert found.value.private == "KeyError"
    with pytest.raises(InvalidInput, match="pay: must not be so"):
        engine.fold(refuse, ["pay"], unit)
    assert "KeyError" not in cluster.logs()
    with pytest.raises(TacitaError, match="nothing"):
        engine.fold(collect, ["nothing"], unit)


def test_a_source_without_rows(tmp_path: Path, session: Any) -> None:
    pq.write_table(some_rows(20, 0).slice(0, 0), tmp_path / "a.parquet")
    engine: Engine = connect(f"spark:{tmp_path}", DOMAIN)
    assert isinstance(engine, Folds)
    for unit in (None, Unit.of_person("who", max_rows=2)):
        assert engine.fold(collect, ["pay"], unit) == Rows()


def test_a_file_without_keys_counts_no_row(tmp_path: Path, session: Any) -> None:
    rows = some_rows(20, 0)
    pq.write_table(rows.set_column(0, "who", pa.nulls(20, pa.string())), tmp_path / "a.parquet")
    engine = SparkEngine(DOMAIN, tmp_path)
    assert engine.fold(collect, ["pay"], Unit.of_person("who", max_rows=2)) == Rows()
    assert engine.fold(collect, ["pay"], None).total() == 20


def test_parts_whose_columns_have_other_types(tmp_path: Path, session: Any) -> None:
    rows = some_rows(200, 1)
    for at, kind in enumerate((pa.int16(), pa.int64(), pa.float64())):
        place = rows.column_names.index("age")
        part = rows.slice(60 * at, 60)
        pq.write_table(part.set_column(place, "age", part["age"].cast(kind)), tmp_path / f"{at}.parquet")
    unit = Unit.of_person("who", max_rows=1)
    found = SparkEngine(DOMAIN, tmp_path).fold(collect, ["age"], unit)
    (whole := tmp_path / "whole").mkdir()
    pq.write_table(rows.slice(0, 180), whole / "rows.parquet")
    assert found == collect(counted_rows(LocalEngine(DOMAIN, whole), ["age"], unit))


# -- what is made of it ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def unread(folder: Path, session: Any) -> SparkEngine:
    """An engine that does not stream."""

    class Unread(SparkEngine):
        def rows(self, columns: Iterable[str], batch_rows: int = 0) -> Iterator[pa.RecordBatch]:
            raise AssertionError("rows were streamed")

    return Unread(DOMAIN, folder)


@pytest.mark.parametrize(
    "recipe",
    [
        Aggregates(
            aggregates=[
                Aggregate(kind="count", column="pay"),
                Aggregate(kind="sum", column="pay"),
                Aggregate(kind="var", column="age"),
                Aggregate(kind="quantile", column="age", q=0.3),
                Aggregate(kind="median", column="pay", interval=False),
                Aggregate(kind="persons"),
            ],
            by=["group"],
        ),
        Regression(target="pay", features=("age", "group"), method="functional"),
        Regression(target="pay", features=("age", "group"), method="adassp"),
        PCA(columns=("pay", "age")),
        KMeans(columns=("pay", "age"), clusters=2),
    ],
    ids=["query", "functional", "adassp", "pca", "k-means"],
)
def test_sums_are_computed_where_the_rows_are(folder: Path, unread: SparkEngine, recipe: Any) -> None:
    unit = Unit.of_person("who", max_rows=3)
    plan = recipe.calibrate(DOMAIN, Budget.approx(5.0, 1e-6), unit=unit, neighbours=Neighbours.ADD_REMOVE)
    found = [plan.run(engine, SeededSource(3)).as_dict() for engine in (unread, LocalEngine(DOMAIN, folder))]
    mine, theirs = ({key: value for key, value in each.items() if key != "provenance"} for each in found)
    assert mine == theirs


def test_private_keys_are_chosen_from_sums(folder: Path, unread: SparkEngine) -> None:
    unit = Unit.of_person("who", max_rows=3)
    recipe = Aggregates(aggregates=[Aggregate(kind="sum", column="pay")], keys=["team"])
    plan = recipe.calibrate(DOMAIN, Budget.approx(5.0, 1e-3), unit=unit, neighbours=Neighbours.ADD_REMOVE)
    mine, theirs = (gather(plan, engine) for engine in (unread, LocalEngine(DOMAIN, folder)))
    assert set(mine.keys) == set(theirs.keys) == {("t1",), ("t2",), ("t3",)}
    for one, other in zip(
        *(each.sums([each.keys.index(key) for key in sorted(each.keys)]) for each in (mine, theirs)), strict=True
    ):
        assert np.array_equal(one, other)


def test_a_sample_is_chosen_where_the_rows_are(unread: SparkEngine) -> None:
    found = sample_rows(unread, ["who", "pay", "age"], 100, 1, "real rows")
    assert (found.rows.num_rows, found.of) == (100, 1900)
    assert sample_rows(unread, ["who", "pay", "age"], 100, 1, "real rows").rows == found.rows
    assert sample_rows(unread, ["who", "pay", "age"], 5000, 1, "real rows").is_all


def test_a_worker_that_is_killed_costs_time_and_no_sum(tmp_path: Path, cluster: SparkCluster, session: Any) -> None:
    for part in range(12):
        pq.write_table(some_rows(60_000, part), tmp_path / f"{part:02}.parquet")
    unit = Unit.of_person("who", max_rows=2)
    recipe = Aggregates(aggregates=[Aggregate(kind="var", column="pay"), Aggregate(kind="persons")], by=["group"])
    plan = recipe.calibrate(DOMAIN, Budget.pure(1.0), unit=unit, neighbours=Neighbours.ADD_REMOVE)
    engine, found = SparkEngine(DOMAIN, tmp_path), []
    summing = threading.Thread(target=lambda: found.append(plan.exact(engine)))
    summing.start()
    tracker, end = session.sparkContext.statusTracker(), time.monotonic() + WAIT
    while time.monotonic() < end and summing.is_alive():
        stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
        if any(stage is not None and stage.numCompletedTasks >= 1 for stage in stages):
            break
        time.sleep(0.02)
    alive = summing.is_alive()
    cluster.kill_worker(next(iter(cluster.workers)))
    summing.join(WAIT)
    cluster.start_worker()
    assert alive, "the work was done before the worker was killed"
    wanted = plan.exact(LocalEngine(DOMAIN, tmp_path))
    assert all(np.array_equal(one, other) for one, other in zip(found[0], wanted, strict=True))
