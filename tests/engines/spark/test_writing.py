"""Rows that a cluster writes: what a run in memory releases, whole or not at all, whatever happens to a worker."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.support.spark import SparkCluster

from tacita.anonymize import Anonymize, Conditions, LocalRecoding, Mondrian, rewriting
from tacita.domain import Categorical, Domain, Identifier, Numeric
from tacita.engines.connect import connect
from tacita.engines.local import LocalEngine
from tacita.engines.spark import SparkEngine
from tacita.engines.spark.place import Place
from tacita.engines.spark.writing import Written
from tacita.errors import InternalError, InvalidInput

WAIT = 240.0
ATTRIBUTES = [
    Numeric(name="age", bounds=(0, 99), bins=9),
    Categorical(name="zip", levels=["a", "b", "c", "d"]),
    Categorical(name="ill", levels=["flu", "cold", "gout"]),
    Numeric(name="pay", bounds=(0, 100), bins=2, missing=True),
]
PLAIN = Domain(attributes=ATTRIBUTES)
KEYED = Domain(attributes=[Identifier(name="who"), *ATTRIBUTES], person="who")


def some_rows(rows: int, seed: int) -> pa.Table:
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "who": rng.integers(0, 1000, rows),
            "age": rng.integers(20, 60, rows),
            "zip": rng.choice(["a", "b", "c", "?"], rows),
            "ill": rng.choice(["flu", "cold", "gout"], rows),
            "pay": pa.array(rng.integers(0, 400, rows) / 4, mask=rng.random(rows) < 0.1),
        }
    )


def source(folder: Path, parts: int, rows: int = 300) -> Path:
    folder.mkdir()
    for part in range(parts):
        pq.write_table(some_rows(rows, part), folder / f"{part:03}.parquet")
    return folder


def released(folder: Path) -> pa.Table:
    files = sorted(folder.glob("*.parquet"))
    assert sorted(each.name for each in folder.iterdir()) == ["_SUCCESS", *(file.name for file in files)]
    return pa.concat_tables([pq.read_table(file) for file in files])


def recipe(k: int = 20, **more: Any) -> Anonymize:
    return Anonymize(
        conditions=Conditions(k=k), quasi=("age", "zip"), sensitive=("ill",), keep=("pay",), suppress=0.1, **more
    )


def test_rows_persons_and_frames(tmp_path: Path, session: Any, cluster: SparkCluster) -> None:
    rows = source(tmp_path / "rows", 5)
    for at, domain in enumerate((PLAIN, KEYED)):
        plan = recipe().prepare(domain)
        wanted = plan.run(LocalEngine(domain, rows))
        for engine in (
            connect(f"{cluster.master}{rows}", domain),
            SparkEngine(domain, session.read.parquet(str(rows))),
        ):
            target = tmp_path / f"out-{at}-{id(engine)}"
            found = plan.write(engine, str(target))
            assert released(target) == wanted.rows
            assert found.as_dict() == wanted.as_dict()
            assert found.achieved.k >= 20
    assert len([each for each in tmp_path.iterdir() if each.name.startswith(".")]) == 0


def test_equal_rows_that_are_split_over_classes(tmp_path: Path, session: Any) -> None:
    rows = source(tmp_path / "rows", 4)
    plan = recipe(k=8, method=LocalRecoding()).prepare(PLAIN)
    plan = replace(plan, recipe=replace(plan.recipe, suppress=0.0))
    wanted = plan.run(LocalEngine(PLAIN, rows))
    assert wanted.recoding.shares is not None
    plan.write(SparkEngine(PLAIN, rows), str(tmp_path / "out"))
    assert released(tmp_path / "out") == wanted.rows


def test_one_file_and_200_files_give_the_same_bytes(tmp_path: Path, session: Any) -> None:
    many = source(tmp_path / "many", 200, rows=12)
    (one := tmp_path / "one").mkdir()
    pq.write_table(pa.concat_tables([pq.read_table(file) for file in sorted(many.iterdir())]), one / "rows.parquet")
    plan, found = recipe(k=5).prepare(PLAIN), []
    for rows in (many, one):
        plan.write(SparkEngine(PLAIN, rows), str(tmp_path / f"{rows.name}-out"))
        found.append({file.name: file.read_bytes() for file in (tmp_path / f"{rows.name}-out").iterdir()})
    assert found[0] == found[1]


def test_a_worker_that_is_killed_while_it_writes(
    tmp_path: Path, cluster: SparkCluster, session: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Time is lost; no row is there twice, none is missing, and no unfinished file is left."""
    rows = source(tmp_path / "rows", 8, rows=40_000)
    monkeypatch.setattr(rewriting.Layout.of.__func__, "__defaults__", (20_000,))  # many files
    plan = recipe().prepare(PLAIN)
    wanted = plan.run(LocalEngine(PLAIN, rows)).rows
    target, failed = tmp_path / "out", []

    def write() -> None:
        try:
            plan.write(SparkEngine(PLAIN, rows), str(target))
        except BaseException as error:
            failed.append(error)

    writing = threading.Thread(target=write)
    writing.start()
    end = time.monotonic() + WAIT
    hidden: list[Path] = []
    while time.monotonic() < end and writing.is_alive() and not hidden:
        hidden = [*tmp_path.glob(".out.*.part/.part-*")]
        time.sleep(0.005)
    assert hidden, "nothing was written before all was"
    assert not target.exists()
    cluster.kill_worker(next(iter(cluster.workers)))
    writing.join(WAIT)
    cluster.start_worker()
    assert not failed
    assert len([*target.glob("*.parquet")]) > 4
    by = [(name, "ascending") for name in plan.leaving]
    assert released(target).sort_by(by) == wanted.sort_by(by)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["out", "rows"]


# -- what is refused -------------------------------------------------------------------------------------------------


class Liar(Mondrian):
    def recode(self, distinct: Any, conditions: Any, *, budget: int = 0) -> Any:
        return super().recode(distinct, Conditions(k=1), budget=0)


def test_nothing_appears_when_the_conditions_do_not_hold(tmp_path: Path, session: Any) -> None:
    rows = source(tmp_path / "rows", 3)
    with pytest.raises(InternalError, match="the rows do not meet the conditions"):
        recipe(method=Liar()).prepare(PLAIN).write(SparkEngine(PLAIN, rows), str(tmp_path / "out"))
    assert [each.name for each in tmp_path.iterdir()] == ["rows"]


def test_outputs_that_cannot_be(tmp_path: Path, session: Any) -> None:
    rows = source(tmp_path / "rows", 3)
    plan, engine = recipe().prepare(PLAIN), SparkEngine(PLAIN, rows)
    (tmp_path / "there").mkdir()
    with pytest.raises(InvalidInput, match="output: exists already"):
        plan.write(engine, str(tmp_path / "there"))
    with pytest.raises(InvalidInput, match="output: its folder must exist"):
        plan.write(engine, str(tmp_path / "no" / "out"))
    assert not [*(tmp_path / "there").iterdir()]


def test_a_folder_that_executors_do_not_see(
    tmp_path: Path, session: Any, cluster: SparkCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = source(tmp_path / "rows", 3)
    monkeypatch.setattr(Place, "__reduce__", lambda self: (Place, (f"{self.path}/away", self.token, self.store)))
    with pytest.raises(InvalidInput, match="an executor cannot write there, or does not see the folder"):
        recipe().prepare(PLAIN).write(SparkEngine(PLAIN, rows), str(tmp_path / "out"))
    assert [each.name for each in tmp_path.iterdir()] == ["rows"]
    assert str(tmp_path / "rows") not in cluster.logs()


class Wrong:
    """A release with an error of its own."""

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Any:
        for batch in batches:
            raise KeyError(str(batch.to_pylist()[:1]))
        yield 0, pa.table({})


def test_failures_travel_as_values_without_rows(tmp_path: Path, session: Any, cluster: SparkCluster) -> None:
    import tests.engines.spark.test_writing as this
    from pyspark import cloudpickle

    cloudpickle.register_pickle_by_value(this)
    rows = source(tmp_path / "rows", 3)
    with pytest.raises(InternalError, match="the work over the rows failed"):
        SparkEngine(PLAIN, rows).rewrite(
            this.Wrong(),
            ["age"],
            str(tmp_path / "out"),
            schema=pa.schema([]),
            parts=2,
            check=len,  # type: ignore[arg-type]
            accept=lambda answer, count: None,
        )
    assert "KeyError" not in cluster.logs()
    assert [each.name for each in tmp_path.iterdir()] == ["rows"]


def test_files_add_up() -> None:
    one, other = Written(((0, "a", 2, 9),), 3), Written(((1, "b", 4, 9),), 5)
    assert (one + other).answer == 8
    assert (one + other).rows == 6
    assert (Written(()) + one).answer == (one + Written(())).answer == 3
