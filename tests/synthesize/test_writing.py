import threading

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.dataset as pa_dataset
import pyarrow.parquet as pq
import pytest

from tacita.errors import InvalidInput
from tacita.noise import SeededSource
from tacita.privacy.budget import Budget
from tacita.privacy.unit import Neighbours, Unit
from tacita.synthesize import Independent, Rules, Synthesized, result
from tacita.synthesize.writing import check_folder, write_file, write_parts


def batches(count=3, size=10):
    for place in range(count):
        yield pa.table({"x": list(range(place * size, (place + 1) * size))})


@pytest.fixture(scope="module")
def made(domain, engine):
    plan = Independent().calibrate(domain, Budget.zcdp(0.5), unit=Unit.row(), neighbours=Neighbours.ADD_REMOVE)
    return plan.run(engine, SeededSource(1))


def test_one_file_tells_how_far_it_is(tmp_path):
    told = []
    write_file(tmp_path / "rows.csv", batches(), told.append)
    assert told == [10, 20, 30]
    assert pa_csv.read_csv(tmp_path / "rows.csv")["x"].to_pylist() == list(range(30))


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_parts_hold_all_rows_in_order(tmp_path, kind):
    told = []
    folder = tmp_path / f"rows.{kind}"
    write_parts(folder, [lambda place=place: batches(2 + place % 2) for place in range(7)], told.append)
    assert sorted(path.name for path in folder.iterdir()) == [f"part-{place:05d}.{kind}" for place in range(7)]
    assert pa_dataset.dataset(folder, format=kind).to_table().num_rows == told[-1] == 170
    assert told == sorted(told)
    assert list(tmp_path.iterdir()) == [folder]


def test_parts_of_a_result_are_the_same_for_the_same_generator(made, tmp_path, monkeypatch):
    monkeypatch.setattr(result, "_BATCH", 100)
    for name in ("a.parquet", "b.parquet"):
        made.write(tmp_path / name, 1003, np.random.default_rng(5), parts=4)
    first, second = (pq.read_table(tmp_path / name) for name in ("a.parquet", "b.parquet"))
    assert first.equals(second)
    assert first.num_rows == 1003
    assert b"synthetic" in pq.read_schema(tmp_path / "a.parquet" / "part-00003.parquet").metadata[b"tacita"]
    parts = [pq.read_table(path).to_pylist() for path in sorted((tmp_path / "a.parquet").iterdir())]
    assert [len(part) for part in parts] == [251, 251, 251, 250]
    assert parts[0] != parts[1]  # every part draws for itself


def test_more_parts_than_rows(made, tmp_path):
    made.write(tmp_path / "few.csv", 2, np.random.default_rng(5), parts=3)
    assert [pa_csv.read_csv(path).num_rows for path in sorted((tmp_path / "few.csv").iterdir())] == [1, 1, 0]


@pytest.mark.parametrize("parts", [None, 3])
def test_what_progress_raises_stops_it_and_leaves_nothing(made, tmp_path, monkeypatch, parts):
    class Enough(Exception):
        pass

    def stop(rows):
        assert threading.current_thread() is threading.main_thread()
        if rows:
            raise Enough

    monkeypatch.setattr(result, "_BATCH", 100)
    with pytest.raises(Enough):
        made.write(tmp_path / "rows.parquet", 100_000, np.random.default_rng(1), parts=parts, progress=stop)
    assert not list(tmp_path.iterdir())


def test_a_part_that_fails_stops_the_others(tmp_path):
    def full():
        yield pa.table({"x": [1]})
        raise OSError(28, "No space left on device")

    with pytest.raises(InvalidInput, match="No space left"):
        write_parts(tmp_path / "rows.parquet", [batches, full, batches])
    assert not list(tmp_path.iterdir())


def test_targets_that_are_refused(made, tmp_path):
    (tmp_path / "here.parquet").mkdir()
    for path, check, rule in (
        ("rows.txt", check_folder, "must end in"),
        ("here.parquet", check_folder, "exists already"),
        ("here.parquet", lambda path: write_file(path, batches()), "is a folder"),
    ):
        with pytest.raises(InvalidInput, match=rule):
            check(tmp_path / path)
    with pytest.raises(InvalidInput, match="a database has no folder of parts"):
        check_folder("postgresql://somewhere/db")
    for parts in (0, -1, 2.0, True, 10**6):
        with pytest.raises(InvalidInput, match="parts"):
            made.write(tmp_path / "x.csv", 5, np.random.default_rng(1), parts=parts)


@pytest.mark.parametrize("parts", [None, 3])
def test_new_keys_go_on_over_batches_and_parts(made, tmp_path, monkeypatch, parts):
    monkeypatch.setattr(result, "_BATCH", 40)
    made.write(tmp_path / "rows.parquet", 250, np.random.default_rng(1), key="id", parts=parts)
    rows = pq.read_table(tmp_path / "rows.parquet")
    assert rows.column_names[0] == "id"
    assert rows["id"].to_pylist() == list(range(1, 251))


def test_rules_hold_for_every_row_and_are_kept_with_the_model(made):
    a = made.domain.names[0]
    never = made.domain[a].labels[0]
    ruled = made.with_rules(Rules.from_text(f"rules:\n- never: {a} = {never}\n"))
    again = Synthesized.from_json(ruled.to_json())
    for each in (ruled, again):
        assert never not in each.sample(500, np.random.default_rng(2))[a].to_pylist()
        assert each.project([a]).values[0] == 0
    assert "drawn again" in ruled.notes[-1]
