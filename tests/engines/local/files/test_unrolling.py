"""Parquet files that are small on disk and large in memory: refused where that was asked for, and read in pieces."""

import datetime as dt
import decimal
import io

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tacita.domain import Categorical, Domain, Identifier, Numeric
from tacita.engines.local import LocalEngine
from tacita.engines.local.files import parquet as sources
from tacita.engines.local.files import unrolling
from tacita.engines.local.files.open import open_source
from tacita.engines.local.files.parquet import ParquetSource
from tacita.engines.local.files.unrolling import batches_of, pieces, unrolled_bytes
from tacita.errors import DataError, InvalidInput
from tacita.privacy.unit import Unit
from tacita.tables.workload import Workload

LONG = "x" * 100_000
POOLS = []  # what outlives a test needs its pool still
DOMAIN = Domain(
    attributes=[
        Categorical(name="town", levels=("Bari", "Lecce"), other=True),
        Numeric(name="age", bounds=(0, 4000), bins=2),
    ]
)


def folded(values, indices):
    """A text column that is never written out, neither here nor in the file."""
    return pa.DictionaryArray.from_arrays(pa.array(indices, pa.int32()), pa.array(values))


def write(path, columns, **options):
    """As texts: the file does not say that they were dictionaries."""
    pq.write_table(pa.table(columns), path, store_schema=False, compression="zstd", **options)
    return path


@pytest.fixture
def long_texts(tmp_path):
    """5,000 rows, most of which have one of two long texts: half a gigabyte, in a few kilobytes."""
    towns = folded([LONG, LONG + "y", "Bari"], [0, 1, 2, 0, 1] * 1000)
    return write(tmp_path / "long.parquet", {"town": towns, "age": np.arange(5000) % 100})


@pytest.fixture
def peak():
    """The most bytes that Arrow has held since the test began."""
    before, mine = pa.default_memory_pool(), pa.proxy_memory_pool(pa.system_memory_pool())
    POOLS.append(mine)
    pa.set_memory_pool(mine)
    yield mine.max_memory
    pa.set_memory_pool(before)


def test_a_small_file_of_many_bytes_is_refused_and_its_rows_are_not_told(tmp_path):
    path = write(tmp_path / "bomb.parquet", {"town": folded([LONG * 10], [0] * 12_345)})
    assert path.stat().st_size < 10_000
    with pytest.raises(InvalidInput) as refused:
        ParquetSource([path]).check_unrolling(1000)
    told = refused.value
    assert told.field == "file"
    assert "1000 times" in told.rule
    assert str(unrolling.FREE_BYTES) in told.rule
    assert "max_unrolling" in told.hint
    assert "12345" not in str(told)
    assert int(told.private.split()[2]) > unrolling.FREE_BYTES
    ParquetSource([path]).check_unrolling(100_000_000)


@pytest.mark.parametrize(
    "column",
    [
        np.zeros(1_000_000, np.int64),
        pa.nulls(1_000_000, pa.int64()),
        pa.array([bytes(5000)] * 10_000, pa.binary(5000)),
        folded(["y" * 5000], [0] * 10_000),
    ],
    ids=["numbers", "nulls", "fixed", "text"],
)
def test_runs_of_any_type_are_seen(tmp_path, monkeypatch, column):
    monkeypatch.setattr(unrolling, "FREE_BYTES", 1 << 20)
    path = write(tmp_path / "runs.parquet", {"x": column})
    with pytest.raises(InvalidInput, match="100 times"):
        ParquetSource([path]).check_unrolling(100)


def test_honest_files_pass_however_many_rows_they_have(tmp_path, monkeypatch):
    monkeypatch.setattr(unrolling, "FREE_BYTES", 0)
    rng = np.random.default_rng(0)
    towns = np.array(["Bari", "Lecce", "a longer name of a town"])[rng.integers(0, 3, 300_000)]
    path = write(tmp_path / "honest.parquet", {"town": towns, "age": rng.integers(0, 100, 300_000)})
    ParquetSource([path]).check_unrolling(1000)
    batches = list(ParquetSource([path]).batches(["town"]))
    assert [batch.num_rows for batch in batches] == [
        sources.READ_ROWS,
        sources.READ_ROWS,
        300_000 - 2 * sources.READ_ROWS,
    ]


def test_counting_and_reading_stay_small(long_texts, monkeypatch, peak):
    """The whole would take half a gigabyte, a row 100 kB: pieces take four megabytes, and what is made of them."""
    monkeypatch.setattr(unrolling, "BATCH_BYTES", 4 << 20)
    engine = LocalEngine(DOMAIN, long_texts, cache_bytes=0)
    assert engine.project(["town"]).values.tolist() == [1000, 0, 4000]
    rows = 0
    for batch in engine.rows(["town", "age"]):
        assert batch.nbytes <= 4 << 20
        rows += batch.num_rows
    assert rows == 5000
    assert engine.check().rows == 5000
    person = Domain(attributes=[Identifier(name="town"), Numeric(name="age", bounds=(0, 100), bins=2)], person="town")
    bounded = LocalEngine(person, long_texts).tables(Workload.of(["age"]), Unit.of_person("town", max_rows=10))
    assert bounded["age",].sum() == 30
    assert peak() < 40 << 20


def test_batches_are_the_same_for_every_choice_of_columns(tmp_path, monkeypatch):
    """Also across row groups, where a reader of dictionaries ends its own batches, and where some rows are long."""
    monkeypatch.setattr(unrolling, "BATCH_BYTES", 1 << 20)
    monkeypatch.setattr(sources, "READ_ROWS", 1000)
    path = tmp_path / "groups.parquet"
    kept = pa.array(["a", "b"] * 1750).dictionary_encode()
    towns = ["Bari"] * 1400 + [LONG] * 20 + ["Lecce"] * 2080
    pq.write_table(pa.table({"town": towns, "age": np.arange(3500), "kept": kept}), path, row_group_size=700)
    source = open_source(path)
    sizes = [
        [batch.num_rows for batch in source.batches(columns)]
        for columns in (["age"], ["town"], ["kept", "age"], ["kept"])
    ]
    assert all(each == sizes[0] for each in sizes)
    assert sizes[0] == [1000, 410, 1000, 1000, 90]  # after 1,400 rows come twenty of 100 kB, of which ten fit at once
    assert sum(sizes[0]) == 3500
    domain = Domain(attributes=[*DOMAIN.attributes, Categorical(name="kept", levels=("a", "b"))])
    engine = LocalEngine(domain, path)
    engine.project(["age"])
    assert engine.project(["kept"]).values.tolist() == [1750, 1750]  # beside what is remembered of the other column
    assert engine.project(["town", "age"]).sum() == 3500


def test_columns_that_no_schema_names_make_no_batch_small(tmp_path, monkeypatch):
    monkeypatch.setattr(unrolling, "BATCH_BYTES", 1 << 20)
    towns = folded(["Bari", "Lecce"], [0, 1] * 500)
    path = write(
        tmp_path / "notes.parquet", {"town": towns, "age": np.arange(1000), "note": folded([LONG], [0] * 1000)}
    )
    assert len(list(open_source(path).batches(["town"]))) == 100
    assert len(list(LocalEngine(DOMAIN, path).rows(["town"]))) == 1


def test_lists_and_records_are_refused_by_name(tmp_path):
    path = write(tmp_path / "nested.parquet", {"town": ["Bari"], "age": [1], "visits": [[1, 2]]})
    with pytest.raises(DataError, match="visits: a column of lists"):
        list(open_source(path).batches(["visits"]))
    assert LocalEngine(DOMAIN, path).project(["town"]).sum() == 1


def columns_of(rng, rows):
    texts = ["", "a", "bc", "d" * 40, "é" * 9, "z" * 3000]
    chosen = [texts[at] if at < 6 else None for at in rng.integers(0, 7, rows).tolist()]
    return {
        "text": pa.array(chosen),
        "large": pa.array(chosen, pa.large_string()),
        "bytes": pa.array(chosen).cast(pa.binary()),
        "sorted": pa.array(sorted(chosen, key=lambda text: (text is not None, text))),
        "own": pa.array([f"person {number}" for number in range(rows)]),
        "flag": pa.array(rng.random(rows) < 0.5),
        "small": pa.array(rng.integers(0, 9, rows), pa.int8()),
        "number": pa.array(rng.normal(size=rows)),
        "day": pa.array([dt.date(2020, 1, 1)] * rows),
        "time": pa.array([dt.datetime(2020, 1, 1, tzinfo=dt.UTC)] * rows),
        "money": pa.array([decimal.Decimal("1.50")] * rows, pa.decimal128(10, 2)),
        "more": pa.array([decimal.Decimal("1.50")] * rows, pa.decimal256(50, 2)),
        "fixed": pa.array([b"12345678"] * rows, pa.binary(8)),
        "nothing": pa.nulls(rows, pa.string()),
    }


ENCODINGS = [True, False, "PLAIN", "DELTA_BYTE_ARRAY", "DELTA_LENGTH_BYTE_ARRAY"]


def encoded(encoding, names):
    """How to write texts so."""
    if isinstance(encoding, bool):
        return {"use_dictionary": encoding}
    return {"use_dictionary": False, "column_encoding": dict.fromkeys(names, encoding)}


@pytest.mark.parametrize("batch", [1 << 14, 1 << 27])
@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("codec", ["none", "zstd"])
def test_pieces_take_no_more_than_is_said(encoding, codec, batch, monkeypatch):
    """All types, encodings and row groups: what Arrow holds is never above the bound, by piece and in all."""
    monkeypatch.setattr(unrolling, "BATCH_BYTES", batch)
    rng = np.random.default_rng(1)
    for rows, group, version in ((1, 10, "1.0"), (200, 200, "2.0"), (500, 210, "1.0")):
        table, file = pa.table(columns_of(rng, rows)), io.BytesIO()
        ways = encoded(encoding, ["text", "large", "bytes", "sorted", "own", "nothing"])
        pq.write_table(table, file, row_group_size=group, compression=codec, data_page_version=version, **ways)
        for names in (["text"], ["sorted", "number"], ["own"], table.column_names):
            cut, chosen = pieces(file, names, 100), table.select(names)
            batches = list(batches_of(file, names, cut))
            assert [each.num_rows for each in batches] == cut
            assert all(each.nbytes <= batch or each.num_rows == 1 for each in batches), names
            assert pa.Table.from_batches(batches).equals(chosen)
            for enough in (0, chosen.nbytes - 1):
                assert unrolled_bytes(file, names, enough) > enough
            assert unrolled_bytes(file, names, 1 << 60) >= chosen.nbytes


@pytest.mark.parametrize("encoding", ["DELTA_BYTE_ARRAY", "DELTA_LENGTH_BYTE_ARRAY", "PLAIN", True])
@pytest.mark.parametrize("long_first", [True, False])
def test_texts_of_any_length_and_encoding_come_in_pieces(tmp_path, monkeypatch, peak, encoding, long_first):
    """A text that goes on from the one before takes no bytes in the file; an average says nothing of the longest."""
    monkeypatch.setattr(unrolling, "BATCH_BYTES", 1 << 20)
    texts = [LONG] * 300 + [""] * 5000
    path = tmp_path / "texts.parquet"
    small = pa.table({"town": texts if long_first else texts[::-1], "age": np.arange(5300)})
    # small pages, since a page is unpacked whole
    ways = encoded(encoding, ["town"]) | {"data_page_size": 1 << 19, "write_batch_size": 2, "compression": "zstd"}
    pq.write_table(small, path, **ways)
    assert path.stat().st_size < 300_000
    before, source = peak(), ParquetSource([path])
    cut = [[batch.num_rows for batch in source.batches(names)] for names in (["age"], ["town"])]
    assert cut[0] == cut[1]
    assert 30 <= len(cut[0]) <= 33  # 300 long ones by ten, and what is short with others
    assert all(batch.nbytes <= 1 << 20 for batch in source.batches(["town"]))
    assert peak() - before < 8 << 20


def test_a_text_that_goes_on_from_the_one_before_is_seen(tmp_path, monkeypatch):
    monkeypatch.setattr(unrolling, "FREE_BYTES", 1 << 24)
    path = tmp_path / "delta.parquet"
    pq.write_table(pa.table({"a": [LONG] * 1000}), path, compression="zstd", **encoded("DELTA_BYTE_ARRAY", ["a"]))
    assert path.stat().st_size < 2000
    with pytest.raises(InvalidInput, match="1000 times"):
        ParquetSource([path]).check_unrolling(1000)


@pytest.mark.parametrize("empty", [None, "none"])
def test_one_long_text_keeps_no_honest_file_out_and_makes_no_piece_small(tmp_path, monkeypatch, empty):
    """Most rows have no note, or a short one: the longest one is not in every row."""
    monkeypatch.setattr(unrolling, "FREE_BYTES", 1 << 24)
    notes = [empty] * 200_000
    notes[::200] = [f"note {number}" for number in range(1000)]
    notes[77_777] = LONG
    path = write(tmp_path / "notes.parquet", {"note": notes})
    ParquetSource([path]).check_unrolling(100)  # as if in every row: 20 GB
    assert [batch.num_rows for batch in open_source(path).batches(["note"])] == [131_070, 68_930]


def test_narrow_dictionaries_of_row_groups_go_together(tmp_path):
    """As pandas writes categories: a byte is room for those of each row group, not for those of all."""
    path, schema = tmp_path / "months.parquet", pa.schema([("town", pa.dictionary(pa.int8(), pa.string()))])
    with pq.ParquetWriter(path, schema) as writer:
        for month in range(3):
            places = pa.array([*range(60)] * 2, pa.int8())
            towns = pa.DictionaryArray.from_arrays(places, [f"town {month} {at}" for at in range(60)])
            writer.write_table(pa.table({"town": towns}, schema=schema))
    (batch,) = open_source(path).batches(["town"])
    told = [f"town {month} {at}" for month in range(3) for _ in range(2) for at in range(60)]
    assert batch.column("town").to_pylist() == told
    domain = Domain(attributes=[Categorical(name="town", levels=tuple(dict.fromkeys(told)))])
    assert LocalEngine(domain, path).project(["town"]).values.tolist() == [2] * 180


def test_batches_of_narrow_dictionaries_are_all_of_one_type(tmp_path, monkeypatch):
    monkeypatch.setattr(sources, "READ_ROWS", 50)
    path, towns = tmp_path / "towns.parquet", folded(["Bari", "Lecce"], [0, 1] * 60)
    narrow = pa.DictionaryArray.from_arrays(towns.indices.cast(pa.int8()), towns.dictionary)
    pq.write_table(pa.table({"town": narrow}), path, row_group_size=70)
    table = pa.Table.from_batches(open_source(path).batches(["town"]))
    assert table.column("town").to_pylist() == ["Bari", "Lecce"] * 60


def test_a_source_that_is_kept_sees_its_file_grow_and_shrink(tmp_path):
    path = tmp_path / "growing.parquet"
    source = ParquetSource([write(path, {"a": ["x"]})])
    for groups in (1, 3, 2):
        pq.write_table(pa.table({"a": ["x", "y"] * 50 * groups}), path, row_group_size=100)
        assert sum(batch.num_rows for batch in source.batches(["a"])) == 100 * groups


def test_pieces_of_another_file_are_refused(tmp_path):
    path = write(tmp_path / "rows.parquet", {"a": ["x"] * 10})
    with pytest.raises(DataError, match="has changed"):
        list(batches_of(path, ["a"], [5]))
