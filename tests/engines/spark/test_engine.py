"""The cluster as it is used: files of several formats, tables, lost workers, wrong inputs."""

from __future__ import annotations

import itertools
import os
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.support.hostile_files import BROKEN, CANARY, SCHEMA, everything
from tests.support.ports import free_port
from tests.support.spark import SparkCluster

from tacita.domain import Boolean, Categorical, CsvDialect, Domain, Identifier, Numeric
from tacita.engines.connect import connect
from tacita.engines.local import LocalEngine
from tacita.engines.local.files.parquet import ParquetSource
from tacita.engines.local.files.stored import StoredFile
from tacita.engines.marks import data_marks
from tacita.engines.spark import SparkEngine
from tacita.engines.spark import engine as spark_engine
from tacita.engines.spark.address import SparkAddress, drafted_from
from tacita.engines.spark.counts import Counts, Failure, add, raised
from tacita.engines.spark.session import _check_java, _in_our_words, session_of
from tacita.engines.spark.sources import FileSource, parts_of, slices_of
from tacita.engines.spark.tasks import Guarded
from tacita.errors import DataError, InvalidInput, SourceUnavailable, TacitaError
from tacita.privacy.budget import Budget
from tacita.privacy.unit import Neighbours, Unit
from tacita.server.data.datasets import Datasets
from tacita.settings import Settings
from tacita.store import Database
from tacita.tables.workload import Workload

WAIT = 240.0
NAMES = tuple(f"c{at}" for at in range(6))
DOMAIN = Domain(
    person="who",
    attributes=[
        Identifier(name="who"),
        *(Categorical(name=name, levels=[str(n) for n in range(3 + at)]) for at, name in enumerate(NAMES)),
    ],
)
PAIRS = tuple(itertools.combinations(NAMES, 2))


def some_rows(rows: int, seed: int) -> pa.Table:
    rng = np.random.default_rng(seed)
    columns = {name: pa.array(rng.integers(0, 4 + at, rows).astype(np.int8)) for at, name in enumerate(NAMES)}
    return pa.table({"who": pa.array(rng.integers(0, max(rows // 3, 1), rows))} | columns)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("parts")
    for part in range(7):
        pq.write_table(some_rows(400 + 50 * part, part), made / f"{part}.parquet")
    return made


def same_as_local(engine: Any, source: Any, domain: Domain, max_rows: int) -> None:
    unit = Unit.of_person(str(domain.person), max_rows=max_rows)
    workload = Workload.of(*((name,) for name in domain.countable), domain.countable)
    ours, theirs = engine.tables(workload, unit), LocalEngine(domain, source).tables(workload, unit)
    assert all(ours[key] == theirs[key] for key in workload.keys)


def test_all_tables_of_many_parts_are_those_of_the_local_engine(folder: Path, cluster: SparkCluster) -> None:
    engine = connect(f"{cluster.master}{folder}", DOMAIN)
    assert isinstance(engine, SparkEngine)
    for max_rows in (2, 100, 2):
        same_as_local(engine, folder, DOMAIN, max_rows)
    for _ in range(3):  # counted, then kept, then from what is kept
        assert engine.project(NAMES[:3]) == LocalEngine(DOMAIN, folder).project(NAMES[:3])
    assert engine.check() == LocalEngine(DOMAIN, folder).check()


def test_answers_of_many_tasks_are_added_up_by_executors(
    folder: Path, session: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spark_engine, "FEW_PARTS", 3)
    same_as_local(SparkEngine(DOMAIN, [*folder.iterdir()], keep=False), folder, DOMAIN, 2)


def test_a_path_from_here_is_the_same_file_for_executors(
    folder: Path, session: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder.parent)
    for source in (f"spark:{folder.name}", f"spark:{folder.name}/0.parquet"):
        here = LocalEngine(DOMAIN, source.removeprefix("spark:"))
        assert connect(source, DOMAIN).project(NAMES[:2]) == here.project(NAMES[:2])


def test_text_of_a_dialect(tmp_path: Path, session: Any) -> None:
    domain = Domain(
        person="who",
        csv=CsvDialect(delimiter=";", encoding="latin-1", decimal=","),
        attributes=[
            Identifier(name="who"),
            Categorical(name="größe", levels=["klein", "groß"]),
            Numeric(name="lohn", bounds=(0, 10), bins=4, missing=True),
        ],
    )
    for part in range(3):
        lines = [f"p{n % 7};{'groß' if n % 3 else 'klein'};{n % 9},{part}5" for n in range(50)]
        (tmp_path / f"{part}.csv").write_text("who;größe;lohn\n" + "\n".join(lines) + "\n", encoding="latin-1")
    engine = SparkEngine(domain, tmp_path)
    same_as_local(engine, tmp_path, domain, 5)
    assert engine.check() == LocalEngine(domain, tmp_path).check()
    found = pa.Table.from_batches(engine.rows(["größe", "lohn"]))
    assert found == pa.Table.from_batches(LocalEngine(domain, tmp_path).rows(["größe", "lohn"]))


def test_tables_views_and_frames(folder: Path, cluster: SparkCluster, session: Any) -> None:
    frame = session.read.parquet(str(folder))
    frame.createOrReplaceTempView("people")
    for engine in (connect(frame, DOMAIN), connect(cluster.master, DOMAIN, "people")):
        same_as_local(engine, folder, DOMAIN, 2)
        rows = pa.Table.from_batches(engine.rows(["who", "c0"]))
        wanted = pq.read_table(folder).select(["who", "c0"])
        assert rows.sort_by([("who", "ascending"), ("c0", "ascending")]) == wanted.sort_by(
            [("who", "ascending"), ("c0", "ascending")]
        )
    odd = session.createDataFrame(pa.table({"a.b": [True], "A.B `": [False]}))
    domain = Domain(attributes=[Boolean(name="A.B `"), Boolean(name="a.b")])
    assert SparkEngine(domain, odd).project(["a.b", "A.B `"]).values.tolist() == [[0, 0], [1, 0]]
    nested = session.createDataFrame([(1, [1, 2])], "x int, l array<int>")
    with pytest.raises(DataError, match="l: "):
        SparkEngine(Domain(attributes=[Categorical(name="l", levels=["1"])]), nested)


def test_a_worker_that_is_killed_costs_time_and_no_count(tmp_path: Path, cluster: SparkCluster, session: Any) -> None:
    for part in range(24):
        pq.write_table(some_rows(150_000, part), tmp_path / f"{part:02}.parquet")
    # two tasks a core, so that there is work to be done again
    engine, found = SparkEngine(DOMAIN, tmp_path, keep=False), []
    unit = Unit.of_person("who", max_rows=2)
    workload = Workload.of(*itertools.combinations(NAMES, 3))
    counting = threading.Thread(target=lambda: found.append(engine.tables(workload, unit)))
    counting.start()
    tracker, end = session.sparkContext.statusTracker(), time.monotonic() + WAIT
    while time.monotonic() < end and counting.is_alive():
        stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
        if any(stage is not None and stage.numCompletedTasks >= 1 for stage in stages):
            break
        time.sleep(0.02)
    alive = counting.is_alive()
    cluster.kill_worker(next(iter(cluster.workers)))
    counting.join(WAIT)
    cluster.start_worker()
    assert alive, "the work was done before the worker was killed"
    theirs = LocalEngine(DOMAIN, tmp_path).tables(workload, unit)
    assert all(found[0][key] == theirs[key] for key in workload.keys)


def test_a_service_counts_a_named_source(folder: Path, cluster: SparkCluster, session: Any, tmp_path: Path) -> None:
    settings = Settings.load(
        home=tmp_path,
        data_folders=[folder],
        sources={"people": {"url": f"{cluster.master}{folder}"}, "view": {"url": cluster.master, "table": "named"}},
    )
    session.read.parquet(str(folder)).createOrReplaceTempView("named")
    datasets = Datasets(Database(settings.state_url), settings.sources)
    for source in settings.sources:
        terms: dict[str, Any] = {"unit": Unit.of_person("who", max_rows=2), "neighbours": Neighbours.ADD_REMOVE}
        again = "another way to the same rows" if source == "view" else None
        made = datasets.register(
            name=source, source=source, domain=DOMAIN, budget=Budget.pure(1.0), again=again, **terms
        )
        engine = datasets.engine(made)
        assert engine.project(["c0"]) == LocalEngine(DOMAIN, folder).project(["c0"])


def test_files_that_change_are_read_again(tmp_path: Path, session: Any) -> None:
    domain = Domain(attributes=[Boolean(name="x")])
    pq.write_table(pa.table({"x": [True]}), tmp_path / "a.parquet")
    engine = SparkEngine(domain, tmp_path)
    for _ in range(3):
        assert engine.project(["x"]).values.tolist() == [0, 1]
    pq.write_table(pa.table({"x": [False, False]}), tmp_path / "b.parquet")
    assert engine.project(["x"]).values.tolist() == [2, 1]
    assert engine.project(["x"]).values.tolist() == [2, 1]


def test_a_question_that_takes_too_long(tmp_path: Path, session: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tacita.engines.spark.session._AGAIN", 0.001)  # or a short job ends between two cancellations
    pq.write_table(some_rows(10, 1), tmp_path / "a.parquet")
    engine = SparkEngine(DOMAIN, tmp_path)
    engine._timeout = 0.001
    with pytest.raises(SourceUnavailable, match="did not answer in time"):
        engine.check()
    for wrong in (0, -1, float("inf")):
        with pytest.raises(InvalidInput, match="timeout: must be a positive number"):
            SparkEngine(DOMAIN, tmp_path, timeout=wrong)


# -- what is refused ---------------------------------------------------------------------------------------------------


def test_sources_that_do_not_fit(folder: Path, tmp_path: Path, cluster: SparkCluster, session: Any) -> None:
    more = Domain(attributes=[*DOMAIN.attributes, Boolean(name="smokes")], person="who")
    with pytest.raises(DataError, match="smokes: the schema has this column and the source does not"):
        connect(f"{cluster.master}{folder}", more)
    with pytest.raises(DataError, match="smokes: the schema has this column"):
        connect(session.read.parquet(str(folder)), more)
    with pytest.raises(SourceUnavailable, match="no such file"):
        connect(f"{cluster.master}/nowhere/people.parquet", DOMAIN)
    with pytest.raises(DataError, match="table: Spark has no such table"):
        connect(cluster.master, DOMAIN, "nothing")
    with pytest.raises(InvalidInput, match="table: give files, or the name of a table"):
        connect(cluster.master, DOMAIN)
    pq.write_table(pa.table({"who": [1.5], **{name: [1] for name in NAMES}}), tmp_path / "a.parquet")
    with pytest.raises(DataError, match="who: a person's key must be text"):
        connect(f"{cluster.master}{tmp_path}", DOMAIN)
    (tmp_path / "b.parquet").write_bytes(b"PAR1 no")
    with pytest.raises(DataError):
        connect(f"{cluster.master}{tmp_path}", DOMAIN)


def test_masters_that_are_not_there(cluster: SparkCluster, session: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InvalidInput, match="must be the cluster of the Spark session that this process has"):
        session_of("spark://127.0.0.1:1")
    monkeypatch.setattr("pyspark.SparkContext._active_spark_context", None)
    with pytest.raises(SourceUnavailable, match="no Spark master answers there"):
        session_of(f"spark://127.0.0.1:{free_port()}")
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    with pytest.raises(InvalidInput, match=r"Spark needs a Java runtime.*openjdk-17-jre-headless"):
        _check_java()


def test_pyspark_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pyspark.sql", None)
    with pytest.raises(InvalidInput, match=r'Spark needs packages.*pip install "tacita\[spark\]"'):
        SparkEngine(DOMAIN, "people.parquet")


@pytest.mark.parametrize("name", BROKEN)
def test_no_error_and_no_log_holds_a_row(name: str, tmp_path: Path, session: Any, cluster: SparkCluster) -> None:
    kind, content = BROKEN[name]
    (tmp_path / f"rows.{kind}").write_bytes(content)
    domain, said = Domain.from_dict(SCHEMA), []
    for use in (lambda e: e.check(), lambda e: e.project(["who"]), lambda e: list(e.rows(["who", "pay"]))):
        try:
            use(SparkEngine(domain, tmp_path / f"rows.{kind}"))
        except TacitaError as error:
            said.append(everything(error))
    logs = cluster.logs()
    assert "INFO" in logs  # executors log more than the driver
    assert CANARY not in " ".join([*said, logs])


def test_a_line_that_cannot_be_read_is_named_to_the_owner_alone(tmp_path: Path, session: Any) -> None:
    (tmp_path / "a.csv").write_text("x\ntrue\ntrue,SECRET\n")
    with pytest.raises(DataError, match="more or fewer values") as caught:
        SparkEngine(Domain(attributes=[Boolean(name="x")]), tmp_path / "a.csv").project(["x"])
    assert "SECRET" not in everything(caught.value)


# -- parts without a cluster -------------------------------------------------------------------------------------------


def test_addresses() -> None:
    parse = SparkAddress.parse
    assert parse("spark:/a b/c") == SparkAddress(None, "/a b/c")
    assert parse("spark:s3://bucket/k") == SparkAddress(None, "s3://bucket/k")
    assert parse("spark://h:1,g:2/s3://bucket/k") == SparkAddress("spark://h:1,g:2", "s3://bucket/k")
    assert parse("spark:///a") == SparkAddress(None, "/a")
    assert parse("spark:") == parse("spark://") == SparkAddress(None, None)
    assert drafted_from("spark://h:7077/a.csv") == "/a.csv"
    assert drafted_from("a.csv") == "a.csv"
    for wrong, rule in (("spark://host/a", "host:port"), ("spark://me:SECRET@h:1/a", "no credentials")):
        with pytest.raises(InvalidInput, match=rule) as caught:
            parse(wrong)
        assert "SECRET" not in str(caught.value)
    with pytest.raises(InvalidInput, match="drafted from files"):
        drafted_from("spark:")


def test_marks_are_those_of_the_files(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("x\ntrue\n")
    domain = Domain(attributes=[Boolean(name="x")])
    assert (
        data_marks(f"spark://h:1{path}", domain) == data_marks(f"spark:{path}", domain) == data_marks(str(path), domain)
    )


def test_a_table_has_a_mark_of_its_own(session: Any, cluster: SparkCluster) -> None:
    session.createDataFrame([(True,)], "x boolean").createOrReplaceTempView("mine")
    session.createDataFrame([(True,)], "x boolean").createOrReplaceTempView("yours")
    domain = Domain(attributes=[Boolean(name="x")])
    first = data_marks(cluster.master, domain, "mine")
    assert first == data_marks(cluster.master, domain, "mine")
    assert first.marks != data_marks(cluster.master, domain, "yours").marks


def test_files_are_dealt_by_size(tmp_path: Path) -> None:
    for at, size in enumerate((100, 10, 10, 10, 60)):
        (tmp_path / str(at)).write_bytes(b"x" * size)
    files = [StoredFile(str(path)) for path in sorted(tmp_path.iterdir())]
    parts = slices_of(files, 2)
    assert sorted(sum(file.size() for file in part) for part in parts) == [90, 100]
    assert sorted(file.path for part in parts for file in part) == [file.path for file in files]


def test_a_large_file_is_read_by_several_tasks(tmp_path: Path) -> None:
    table = pa.table({"x": pa.array([f"t{n % 7}" * (n % 5) for n in range(1000)]), "y": pa.array(range(1000))})
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=64)
    parts = parts_of([StoredFile(str(tmp_path / "a.parquet"))], 5)
    assert [part.groups for part in parts] == [range(0, 3), range(3, 6), range(6, 9), range(9, 12), range(12, 16)]
    read = [pa.Table.from_batches(ParquetSource([part]).batches(["x", "y"])) for part in parts]
    assert pa.concat_tables(read).cast(table.schema) == table
    assert parts_of(parts[:1] * 5, 5) == parts[:1] * 5
    assert len(slices_of(parts, 3)) == 3
    gone = StoredFile(str(tmp_path / "a.parquet"), groups=range(15, 17))
    with pytest.raises(DataError, match="has changed while it was read"):
        list(ParquetSource([gone]).batches(["y"]))


def test_counts_are_added_cell_by_cell() -> None:
    one = Counts(
        {("a",): (None, np.array([250, 3], np.uint8)), ("b",): (np.array([[7], [1]], np.uint32), np.array([1, 2]))}
    )
    two = Counts(
        {("a",): (None, np.array([250, 4], np.uint8)), ("b",): (np.array([[1], [2]], np.uint32), np.array([5, 6]))}
    )
    both = add(add(None, one), two)
    assert both.cells["a",][1].tolist() == [500, 7]
    codes, values = both.cells["b",]
    assert dict(zip(codes[:, 0].tolist(), values.tolist(), strict=True)) == {1: 7, 2: 6, 7: 1}
    nothing = Counts({("b",): (np.zeros((0, 1), np.uint32), np.zeros(0, np.int64))})
    assert (nothing + nothing).cells["b",][1].tolist() == []
    failed = Failure.of(DataError("is broken", field="x", private="line 7"))
    with pytest.raises(DataError, match="x: is broken") as caught:
        raised(add(failed, one))
    assert caught.value.private == "line 7"


def test_errors_of_a_task_hold_no_text_of_others() -> None:
    def fail(_: Any) -> Any:
        raise ValueError(CANARY)
        yield

    (found,) = Guarded(fail)(())
    assert CANARY not in repr(found)
    (found,) = Guarded(fail, version="0.0.1")(())
    with pytest.raises(SourceUnavailable, match="another version of Tacita"):
        raised(found)


def test_errors_of_spark_in_our_words() -> None:
    for text, rule in (("No module named 'tacita'", "lack a Python package"), (CANARY, "could not finish")):
        error = _in_our_words(RuntimeError(f"{text} {CANARY}"), None)
        assert rule in str(error)
        assert CANARY not in everything(error)


def test_files_that_only_this_machine_has(tmp_path: Path, session: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    pq.write_table(some_rows(10, 1), tmp_path / "a.parquet")
    engine = SparkEngine(DOMAIN, tmp_path)
    elsewhere = [StoredFile(os.fspath(tmp_path / "elsewhere.parquet"))]
    monkeypatch.setattr("tacita.engines.spark.sources.slices_of", lambda *_: [elsewhere])
    assert isinstance(engine._state.source, FileSource)
    with pytest.raises(SourceUnavailable, match="no such file"):
        engine.check()
