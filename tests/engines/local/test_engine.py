from __future__ import annotations

import gzip
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tacita.domain import Boolean, Categorical, CsvDialect, Date, Domain, Identifier, Numeric
from tacita.engines.local import LocalEngine
from tacita.engines.local.files import frame, text
from tacita.engines.local.files.open import open_source
from tacita.engines.local.store import CodeStore
from tacita.errors import DataError, InvalidInput, SourceUnavailable
from tacita.privacy.unit import Unit
from tacita.tables.workload import Workload

DOMAIN = Domain(
    attributes=[
        Categorical(name="colour", levels=["red", "blue"]),
        Numeric(name="age", bounds=(0, 99), edges=(0, 50, 99)),
    ]
)
GOOD = "colour,age\nred,10\nblue,60\nred,70\n"
COUNTS = [[1, 1], [0, 1]]


def write(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def counts(engine: LocalEngine) -> list[Any]:
    return engine.project(["colour", "age"]).values.tolist()


# -- files ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", GOOD),
        ("a.CSV", GOOD),
        ("a.tsv", GOOD.replace(",", "\t")),
        ("a.csv.gz", gzip.compress(GOOD.encode(), mtime=0)),  # the time would change the name of the test
        ("bom.csv", "\ufeff" + GOOD),
        ("crlf.csv", GOOD.replace("\n", "\r\n")),
        ("quoted.csv", 'note,"age","colour"\n"a\nb, ""c""",10,red\n,60,blue\n,"70","red"\n'),
        ("no newline at the end.csv", GOOD.rstrip()),
        ("blank lines.csv", GOOD.replace("\nblue", "\n\nblue") + "\n\n"),
    ],
)
def test_csv_in_many_dresses(tmp_path: Path, name: str, content: str | bytes) -> None:
    assert counts(LocalEngine(DOMAIN, write(tmp_path / name, content))) == COUNTS


def test_several_files_are_one_source(tmp_path: Path) -> None:
    parts = [write(tmp_path / "a.csv", GOOD), write(tmp_path / "b.csv", "age,colour\n10,red\n")]
    assert counts(LocalEngine(DOMAIN, parts)) == [[2, 1], [0, 1]]
    assert counts(LocalEngine(DOMAIN, [str(part) for part in parts])) == [[2, 1], [0, 1]]
    assert counts(LocalEngine(DOMAIN, tmp_path)) == [[2, 1], [0, 1]]


def test_a_folder_of_parquet_parts(tmp_path: Path) -> None:
    table = pa.table({"age": [10.0, 60, 70], "colour": ["red", "blue", "red"]})
    pq.write_table(table.slice(0, 1), tmp_path / "a.parquet")
    (tmp_path / "deeper").mkdir()
    pq.write_table(table.slice(1), tmp_path / "deeper" / "b.pq")
    write(tmp_path / "_SUCCESS", "")
    write(tmp_path / "_metadata.parquet", "not a table")
    assert counts(LocalEngine(DOMAIN, tmp_path)) == COUNTS


def test_a_changed_file_is_read_again(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", GOOD)
    domain = Domain(person="who", attributes=[Identifier(name="who"), Boolean(name="x")])
    people = write(tmp_path / "b.csv", "who,x\np,1\np,1\nq,0\n")
    engine, bounded = LocalEngine(DOMAIN, path), LocalEngine(domain, people)
    unit, work = Unit.of_person("who", max_rows=1), Workload.of(["x"])
    assert counts(engine) == COUNTS
    assert bounded.tables(work, unit)["x",].values.tolist() == [1, 1]
    write(path, GOOD + "blue,1\n")
    write(people, "who,x\np,1\np,1\nr,0\nq,0\n")
    assert counts(engine) == [[1, 1], [1, 1]]
    assert bounded.tables(work, unit)["x",].values.tolist() == [2, 1]
    path.unlink()
    with pytest.raises(SourceUnavailable, match="no such file"):
        counts(engine)


def test_what_is_cached_is_not_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    table = pa.table({"colour": ["red", "blue", "red"], "age": [10, 60, 70]})
    engine = LocalEngine(DOMAIN, table)
    read: list[list[str]] = []
    real = frame.FrameSource.batches
    monkeypatch.setattr(
        frame.FrameSource,
        "batches",
        lambda self, columns: read.append(list(columns)) or real(self, columns),
    )
    engine.project(["age"])
    engine.project(["age"])
    assert counts(engine) == COUNTS  # only the other column is read now
    assert read == [["age"], ["colour"]]
    engine.check()  # looks at all that is there, not at what is remembered
    assert read[2:] == [["colour", "age"]]


def test_a_file_larger_than_the_cache_streams(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frame, "READ_ROWS", 1000)
    rows = 50_000
    rng = np.random.default_rng(0)
    colours, ages = rng.integers(0, 3, rows), rng.integers(0, 99, rows)
    path = tmp_path / "big.parquet"
    table = pa.table({"colour": np.array(["red", "blue", "grey"])[colours], "age": ages.astype(float)})
    pq.write_table(table, path, row_group_size=7777)
    wanted = [[int(((colours == c) & ((ages >= 50) == late)).sum()) for late in (False, True)] for c in (0, 1)]
    for cache_bytes in (0, 1000, 60_000, 1 << 20):
        engine = LocalEngine(DOMAIN, path, cache_bytes=cache_bytes)
        assert counts(engine) == wanted
        assert counts(engine) == wanted
        assert engine.project(["age"]).sum() == rows
        assert sum(block.nbytes for block in engine._snapshot.blocks) <= cache_bytes


def test_an_unfinished_reading_leaves_no_half_a_cache() -> None:
    engine = LocalEngine(DOMAIN, pa.table({"colour": ["red"] * 10, "age": [1] * 10}))
    store = CodeStore(DOMAIN, 1000, engine._snapshot)
    next(store.read(["colour"]).blocks)
    assert store.snapshot.blocks == ()
    assert engine.project(["colour"]).sum() == 10


def test_frames_need_no_import_of_their_library() -> None:
    names = ("pandas", "polars", "psycopg")
    script = f"import sys, tacita.engines.local; print([n for n in {names} if n in sys.modules])"
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


def test_frames_of_many_kinds() -> None:
    columns = {"colour": ["red", "blue", "red"], "age": [10, 60, 70], "more": [[1], [2], [3]]}
    table = pa.table(columns)
    chunked = pa.concat_tables([table.slice(0, 1), table.slice(1)])
    frame = pl.DataFrame(columns).with_columns(pl.col("colour").cast(pl.Categorical))
    for source in (chunked, table.to_pandas(), frame, table.to_batches()[0], table.to_reader()):
        engine = LocalEngine(DOMAIN, source)
        assert counts(engine) == COUNTS
        assert counts(engine) == COUNTS
        assert engine.check().rows == 3


def test_only_a_stream_is_needed() -> None:
    class Stream:
        def __init__(self, table: pa.Table) -> None:
            self.table = table

        def __arrow_c_stream__(self, requested: Any = None) -> Any:
            return self.table.__arrow_c_stream__(requested)

    source = Stream(pa.table({"age": [10, 60, 70], "x": [0, 0, 0], "colour": ["red", "blue", "red"]}))
    assert counts(LocalEngine(DOMAIN, source)) == COUNTS


# -- refusals ------------------------------------------------------------------------------------------------


def test_a_missing_file(tmp_path: Path) -> None:
    for name in ("no.csv", "no.parquet"):
        with pytest.raises(SourceUnavailable, match="source: no such file"):
            LocalEngine(DOMAIN, tmp_path / name)
    with pytest.raises(SourceUnavailable, match="no Parquet, Arrow or text files"):
        LocalEngine(DOMAIN, tmp_path)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_forbidden_file(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", GOOD)
    path.chmod(0)
    with pytest.raises(SourceUnavailable, match="cannot be read"):
        LocalEngine(DOMAIN, path)


@pytest.mark.parametrize(
    ("content", "rule"),
    [
        ("colour,years\nred,1\n", "age: the schema has this column.*columns are: colour, years"),
        ("colour,age,age\nred,1,2\n", "there twice"),
        ("", "the file is empty"),
        ("colour,age\nred,1\nblue\n", "more or fewer values than the header"),
        ("colour,age\nred,1\nblue,2,SECRET\n", "more or fewer values than the header"),
        (b"colour,age\nr\xe9d,1\n", "not UTF-8"),
        (b"col\xf6ur,age\nred,1\n", "not UTF-8|age|colour"),
    ],
)
def test_broken_csv(tmp_path: Path, content: str | bytes, rule: str) -> None:
    path = write(tmp_path / "a.csv", content)
    with pytest.raises(DataError, match=rule) as caught:
        LocalEngine(DOMAIN, path).check()
    assert "SECRET" not in str(caught.value.as_dict())


def test_a_ragged_line_is_named_in_private(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "colour,age\n" + "red,1\n" * 5 + "blue,2,SECRET\n")
    with pytest.raises(DataError) as caught:
        counts(LocalEngine(DOMAIN, path))
    assert caught.value.private == "line 7: 3 values instead of 2"
    assert "line 7" not in str(caught.value)


def test_a_ragged_line_late_in_the_file_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text, "CSV_BLOCK", 1024)
    path = write(tmp_path / "a.csv", "colour,age\n" + "red,1\n" * 5000 + "blue\n")
    engine = LocalEngine(DOMAIN, path)
    for _ in range(2):
        with pytest.raises(DataError, match="more or fewer"):
            counts(engine)
    assert engine._snapshot.blocks == ()


def test_text_that_is_not_utf8_is_counted_as_undeclared(tmp_path: Path) -> None:
    domain = Domain(attributes=[Categorical(name="colour", levels=["red", "blue"], other=True), DOMAIN["age"]])
    table = pa.table({"colour": pa.array([b"red", b"r\xe9d", b"blue"]).view(pa.string()), "age": [10, 60, 70]})
    pq.write_table(table, tmp_path / "a.parquet")
    write(tmp_path / "a.csv", b"colour,age\nred,10\nr\xe9d,60\nblue,70\n")
    for source in (table, tmp_path / "a.parquet", tmp_path / "a.csv"):
        assert LocalEngine(domain, source).project(["colour"]).values.tolist() == [1, 1, 1]
    with pytest.raises(DataError, match="not UTF-8"):
        LocalEngine(domain, tmp_path / "a.csv").check()


def test_a_check_reads_the_keys_too(tmp_path: Path) -> None:
    domain = Domain(person="who", attributes=[Identifier(name="who"), Boolean(name="x")])
    engine = LocalEngine(domain, write(tmp_path / "a.csv", b"who,x,more\n\xff,1,\nq,1,\n"))
    assert engine.tables(Workload.of(["x"]), Unit.of_person("who", max_rows=1))["x",].values.tolist() == [0, 1]
    with pytest.raises(DataError, match="not UTF-8"):
        engine.check()


def test_broken_parquet(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be read as Parquet"):
        LocalEngine(DOMAIN, write(tmp_path / "a.parquet", GOOD))


def test_parts_must_agree(tmp_path: Path) -> None:
    paths = [write(tmp_path / "a.csv", GOOD), write(tmp_path / "b.csv", "colour\nred\n")]
    with pytest.raises(DataError, match=r"b\.csv: the part has no column 'age'"):
        LocalEngine(DOMAIN, paths)
    pq.write_table(pa.table({"colour": ["red"], "age": [1]}), tmp_path / "c.parquet")
    with pytest.raises(InvalidInput, match="of one kind"):
        LocalEngine(DOMAIN, [paths[0], tmp_path / "c.parquet"])


@pytest.mark.parametrize("source", ["a.doc", "a", 7, None, [], [1], {"a": [1]}])
def test_unknown_sources(source: Any) -> None:
    with pytest.raises(InvalidInput, match="source: must be"):
        LocalEngine(DOMAIN, source)


@pytest.mark.parametrize(
    ("attribute", "values", "kind"),
    [
        (Numeric(name="x", bounds=(0, 1), bins=2), pa.array([1], pa.date32()), "date32"),
        (Date(name="x", bounds=("2024-01-01", "2024-02-01")), pa.array([1.5]), "double"),
        (Categorical(name="x", levels=["a"]), pa.array([[1]]), "list"),
    ],
)
def test_columns_of_the_wrong_type(attribute: Any, values: pa.Array, kind: str) -> None:
    for rows in (values, values.slice(0, 0)):
        with pytest.raises(DataError, match=f"x: a column of this type cannot hold.*{kind}"):
            LocalEngine(Domain(attributes=[attribute]), pa.table({"x": rows}))


def test_each_part_of_parquet_has_the_right_types(tmp_path: Path) -> None:
    pq.write_table(pa.table({"colour": ["red"], "age": [1]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"colour": ["red"], "age": [[1]]}), tmp_path / "b.parquet")
    with pytest.raises(DataError, match="age: a column of this type cannot hold"):
        LocalEngine(DOMAIN, tmp_path)


def test_a_frame_that_arrow_cannot_hold() -> None:
    import pandas as pd

    frame = pd.DataFrame({"colour": ["red", object()], "age": [1, 2]})
    with pytest.raises(DataError, match="Arrow cannot hold") as caught:
        LocalEngine(DOMAIN, frame)
    assert "object at" not in str(caught.value)


def test_arguments_are_checked() -> None:
    table = pa.table({"colour": ["red"], "age": [1]})
    with pytest.raises(InvalidInput, match="cache_bytes"):
        LocalEngine(DOMAIN, table, cache_bytes=-1)
    with pytest.raises(InvalidInput, match="threads"):
        LocalEngine(DOMAIN, table, threads=0)
    with pytest.raises(InvalidInput, match="list of names"):
        LocalEngine(DOMAIN, table).rows("age")


def test_a_source_that_changes_while_it_is_read() -> None:
    class Shrinking(frame.FrameSource):
        def batches(self, columns: Any) -> Any:
            self._frame = self._frame.slice(0, self._frame.num_rows - 1)
            return super().batches(columns)

    source = Shrinking(pa.table({"colour": ["red"] * 9, "age": [1] * 9}))
    engine = LocalEngine(DOMAIN, source)
    engine.project(["age"])
    with pytest.raises(DataError, match="changed while"):
        engine.project(["colour"])


PEOPLE = Domain(person="p", attributes=[Identifier(name="p"), Categorical(name="x", levels=["a", "b"])])
MANY = pa.table({"p": [f"u{i}" for i in range(100)], "x": ["a"] * 100})  # each has one row
ONE = pa.table({"p": ["victim"] * 100, "x": ["a"] * 100})  # one has all rows
WORK, BOUNDED = Workload.of(["x"]), Unit.of_person("p", max_rows=1)


class Moving:
    """A source that becomes another one when it has been read."""

    columns, rows = ("p", "x"), None

    def __init__(self) -> None:
        self.table, self.version = MANY, 1
        self.after: Callable[[], None] | None = None

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        after = self.after
        yield from self.table.select(list(columns)).to_batches()
        if after:
            after()

    def move(self, table: pa.Table = ONE) -> None:
        self.table, self.version = table, self.version + 1


def ask(engine: LocalEngine) -> list[int]:
    values: list[int] = engine.tables(WORK, BOUNDED)["x",].values.tolist()
    return values


@pytest.mark.parametrize("cache_bytes", [0, 1 << 20])
def test_a_bound_and_its_rows_are_of_one_state(cache_bytes: int) -> None:
    source = Moving()
    engine = LocalEngine(PEOPLE, source, cache_bytes=cache_bytes)

    def replace_once() -> None:
        source.after = None
        source.move()

    source.after = replace_once
    assert ask(engine) == [1, 0]
    assert ask(engine) == [1, 0]


@pytest.mark.parametrize("cache_bytes", [0, 1 << 20])
def test_threads_that_see_other_states_do_not_share_a_bound(cache_bytes: int) -> None:
    source = Moving()
    engine = LocalEngine(PEOPLE, source, cache_bytes=cache_bytes)
    seen = []

    def replace_and_ask() -> None:
        source.after = None
        source.move()
        other = threading.Thread(target=lambda: seen.append(ask(engine)))
        other.start()
        other.join()

    source.after = replace_and_ask
    assert ask(engine) == [1, 0]
    assert seen == [[1, 0]]
    assert ask(engine) == [1, 0]


@pytest.mark.parametrize("cache_bytes", [0, 1 << 20])
def test_a_source_that_is_never_at_rest_is_not_counted(cache_bytes: int) -> None:
    source = Moving()
    engine = LocalEngine(PEOPLE, source, cache_bytes=cache_bytes)
    source.after = source.move
    for question in (lambda: ask(engine), lambda: engine.project(["x"]), engine.check):
        with pytest.raises(DataError, match="changed while it was counted"):
            question()
    with pytest.raises(DataError, match="changed while it was counted"):
        list(engine.rows(["x"]))
    source.after = None
    assert ask(engine) == [1, 0]


def test_a_file_replaced_by_one_of_the_same_size_and_time(tmp_path: Path) -> None:
    path, other = write(tmp_path / "a.csv", GOOD), write(tmp_path / "b.csv", GOOD.replace("red,10", "red,60"))
    engine = LocalEngine(DOMAIN, path)
    assert counts(engine) == COUNTS
    stamp = path.stat()
    os.utime(other, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    other.replace(path)
    assert counts(engine) == [[0, 2], [0, 1]]


@pytest.mark.parametrize("cache_bytes", [0, 1 << 20])
def test_files_that_come_later_are_counted(tmp_path: Path, cache_bytes: int) -> None:
    write(tmp_path / "a.csv", GOOD)
    engine = LocalEngine(DOMAIN, tmp_path, cache_bytes=cache_bytes)
    listed = LocalEngine(DOMAIN, [tmp_path], cache_bytes=cache_bytes)
    assert counts(engine) == counts(listed) == COUNTS
    more = write(tmp_path / "b.csv", "age,colour\n10,red\n")
    assert counts(engine) == counts(listed) == [[2, 1], [0, 1]]
    more.unlink()
    assert counts(engine) == counts(listed) == COUNTS
    write(more, "colour\nred\n")
    with pytest.raises(DataError, match=r"b\.csv: the part has no column 'age'"):
        counts(engine)
    more.unlink()
    assert counts(engine) == COUNTS


def test_a_later_part_of_the_wrong_type_is_refused(tmp_path: Path) -> None:
    pq.write_table(pa.table({"colour": ["red"], "age": [1]}), tmp_path / "a.parquet")
    engine = LocalEngine(DOMAIN, tmp_path)
    assert engine.project(["age"]).sum() == 1
    pq.write_table(pa.table({"colour": ["red"], "age": [[1]]}), tmp_path / "b.parquet")
    with pytest.raises(DataError, match="age: a column of this type cannot hold"):
        engine.project(["age"])


@pytest.mark.parametrize(("mark", "name"), [(";", "semicolons"), ("\t", "tabs"), ("|", "bars")])
def test_a_file_with_another_separator_is_refused(tmp_path: Path, mark: str, name: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text(f"a{mark}b\n1{mark}2\n")
    with pytest.raises(DataError, match=f"separated by {name}, not by commas") as caught:
        open_source(str(path))
    assert f"delimiter: {mark!r}" in str(caught.value.hint)
    assert open_source(str(path), dialect=CsvDialect(delimiter=mark)).columns == ("a", "b")
    if mark == "\t":
        assert open_source(str(path.rename(tmp_path / "t.tsv"))).columns == ("a", "b")


@pytest.mark.parametrize(
    "text",
    ["a;b;c\n1,5;2;3\n", "a;b;c\n1;2\n", "a;b;c\n", "a;b;net, EUR\n1;2;3\n"],
    ids=["decimal commas", "short line", "header alone", "comma in a name"],
)
def test_semicolons_are_refused_however_the_first_lines_look(tmp_path: Path, text: str) -> None:
    with pytest.raises(DataError, match="separated by semicolons"):
        open_source(str(write(tmp_path / "t.csv", text)))


@pytest.mark.parametrize("text", ['"a;b",c\n1,2\n', '"a;b"\n1;2\n', "a;b\n1\n2\n"])
def test_semicolons_inside_a_name_are_a_name(tmp_path: Path, text: str) -> None:
    assert open_source(str(write(tmp_path / "t.csv", text))).columns[0] == "a;b"


@pytest.mark.parametrize(
    ("content", "match"),
    [
        ("a,b\n1,2\n".encode("utf-16"), "is UTF-16 text"),
        (b"PK\x03\x04 and more", "is a ZIP archive or a workbook"),
        (b"PAR1 and more", "is a Parquet file"),
        (b"a\x00,b\n1,2\n", "character 2 of its first line"),
    ],
)
def test_what_is_no_csv_is_refused_by_its_kind(tmp_path: Path, content: bytes, match: str) -> None:
    (tmp_path / "t.csv").write_bytes(content)
    with pytest.raises(DataError, match=match):
        open_source(str(tmp_path / "t.csv"))
