from __future__ import annotations

import gc
import subprocess
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.support.hostile_files import footer_with_fewer_rows

from tacita.domain import Categorical, Domain, Identifier
from tacita.engines.local import LocalEngine, isolated
from tacita.engines.local.files.open import open_source
from tacita.engines.local.isolated import IsolatedSource, Limits
from tacita.errors import DataError, InvalidInput, SourceUnavailable
from tacita.privacy.unit import Unit
from tacita.tables.workload import Workload

DOMAIN = Domain(
    attributes=[Identifier(name="who"), Categorical(name="town", levels=["Bari", "Pisa"], other=True, missing=True)],
    person="who",
)


def rows() -> pa.Table:
    towns = ["Bari", "Pisa", "Roma", None] * 70_000
    return pa.table({"who": [str(at // 3) for at in range(len(towns))], "town": towns, "age": range(len(towns))})


def write(path: Path) -> Path:
    if path.suffix == ".csv":
        lines = ("who,town,age", *(f"{row['who']},{row['town'] or ''},{row['age']}" for row in rows().to_pylist()))
        path.write_text("\n".join(lines))
    else:
        pq.write_table(rows(), path, row_group_size=100_000)
    return path


def child(monkeypatch: pytest.MonkeyPatch, folder: Path, code: str) -> IsolatedSource:
    """A source whose reader runs this instead."""
    (folder / "strange_reader.py").write_text(code)
    monkeypatch.setenv("PYTHONPATH", str(folder))
    monkeypatch.setattr(isolated, "_MODULE", "strange_reader")
    (folder / "t.csv").write_text("a\n1\n")
    return IsolatedSource(folder / "t.csv")


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_rows_are_the_same_as_in_this_process(tmp_path: Path, kind: str) -> None:
    path = write(tmp_path / f"t.{kind}")
    here, there = open_source(str(path)), IsolatedSource(path)
    assert there.columns == here.columns
    assert there.version == here.version
    assert list(there.schemas(["age", "town"])) == [
        schema.remove_metadata() for schema in here.schemas(["age", "town"])
    ]
    for columns in (["town"], ["age", "who"]):
        found, expected = list(there.batches(columns)), list(here.batches(columns))
        assert found == [batch.replace_schema_metadata(None) for batch in expected]
    assert there.draft("t")["domain"]["attributes"][1]["name"] == "town"


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_an_engine_counts_the_same(tmp_path: Path, kind: str) -> None:
    path = write(tmp_path / f"t.{kind}")
    here, there = LocalEngine(DOMAIN, path), LocalEngine(DOMAIN, IsolatedSource(path))
    workload = Workload.of(("town",))
    for unit in (Unit.of_person("who", max_rows=2), Unit.of_person("who", max_rows=3)):
        assert there.tables(workload, unit).project(["town"]) == here.tables(workload, unit).project(["town"])
    assert there.check() == here.check()
    path.unlink()
    write(path).touch()
    assert there.project(["town"]).sum() == 280_000


def test_parts_with_other_types_come_in_streams_of_their_own(tmp_path: Path) -> None:
    pq.write_table(pa.table({"x": ["a"]}), tmp_path / "1.parquet")
    pq.write_table(pa.table({"x": [1]}), tmp_path / "2.parquet")
    assert [batch.to_pydict() for batch in IsolatedSource(tmp_path).batches(["x"])] == [{"x": ["a"]}, {"x": [1]}]


def test_a_column_that_is_not_asked_for_does_not_come(tmp_path: Path) -> None:
    source = IsolatedSource(write(tmp_path / "t.parquet")).only(["town"])
    assert {name for batch in source.batches(["town"]) for name in batch.schema.names} == {"town"}


# -- deaths --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "rule"),
    [
        ("import os; os.abort()", "ended its reader"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "ended its reader"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "too long or too much memory"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGXCPU)", "too long or too much memory"),
        ("import os; os.write(1, b'Sxxxxxxxxxxxxxxxx'); os.abort()", "ended its reader"),
    ],
    ids=["abort", "segv", "kill", "cpu", "half a message"],
)
def test_the_death_of_a_reader_is_a_refusal(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, code: str, rule: str
) -> None:
    source = child(monkeypatch, tmp_path, code)
    for read in (lambda: source.columns, lambda: list(source.batches(["a"])), source.skim, lambda: source.draft("t")):
        with pytest.raises(DataError, match=rule) as caught:
            read()
        assert caught.value.__context__ is None or caught.value.__suppress_context__


def test_a_reader_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv")
    with pytest.raises(DataError, match="too long"):
        IsolatedSource(path, Limits(seconds=0, seconds_per_mib=0.0)).skim()


def test_a_reader_that_takes_too_much_memory_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"x": ["x" * 100_000_000]}), path)  # one value: no smaller piece exists
    with pytest.raises(DataError, match=r"memory|ended its reader"):
        IsolatedSource(path, Limits(memory=80_000_000)).skim()
    IsolatedSource(path, Limits(memory=2_000_000_000)).skim()
    pq.write_table(pa.table({"x": ["x" * 1_000_000] * 3}), path)
    IsolatedSource(path, Limits(memory=80_000_000)).skim()


def test_what_a_reader_refuses_names_the_line_for_the_owner_alone_and_nothing_of_it(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b\nSECRET\n")
    with pytest.raises(DataError, match="more or fewer values") as caught:
        list(IsolatedSource(tmp_path / "t.csv").batches(["a"]))
    assert caught.value.private == "line 2: 1 values instead of 2"
    assert "line 2" not in str(caught.value.as_dict())
    with pytest.raises(SourceUnavailable, match="no such file"):
        _ = IsolatedSource(tmp_path / "gone.csv").columns
    with pytest.raises(InvalidInput, match="must be a file of a format"):
        _ = IsolatedSource((tmp_path / "t.csv").rename(tmp_path / "t.doc")).columns


def test_a_reader_sees_no_settings_of_ours(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("TACITA_STATE", "TACITA_MODELS_KEY", "PGPASSWORD"):
        monkeypatch.setenv(name, "secret")
    code = (
        "import json, os, sys; request = json.load(sys.stdin); names = ' '.join(os.environ)\n"
        "os.write(request['outcome'], json.dumps({'code': 'data-error', 'rule': names}).encode()); os._exit(0)"
    )
    with pytest.raises(DataError, match="PYTHONPATH") as caught:
        child(monkeypatch, tmp_path, code).skim()
    assert not any(name.startswith(("TACITA_", "PG")) for name in caught.value.rule.split())


def test_who_stops_reading_leaves_no_child(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[subprocess.Popen[bytes]] = []
    start = subprocess.Popen

    def popen(*args: object, **options: object) -> subprocess.Popen[bytes]:
        started.append(start(*args, **options))  # type: ignore[call-overload]
        return started[-1]

    monkeypatch.setattr(subprocess, "Popen", popen)
    batches = IsolatedSource(write(tmp_path / "t.csv")).batches(["town"])
    next(batches)
    assert started[0].poll() is None
    del batches
    gc.collect()
    assert started[0].poll() is not None


# -- what must not loop, in this process neither --------------------------------------------------------------


def test_a_footer_with_fewer_rows_than_its_row_groups_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    path.write_bytes(footer_with_fewer_rows())
    for source in (open_source(str(path)), IsolatedSource(path)):
        with pytest.raises(DataError, match="cannot be read as Parquet"):
            list(source.batches(["town"]))
