import zipfile

import numpy as np
import pytest

from tacita.errors import DataError, InvalidInput, SourceUnavailable, UnknownName
from tacita.learn.structure.series import pool, read_series


def text(rows, seed, vehicle):
    rng = np.random.default_rng(seed)
    lines = [f"2019-01-01 00:{i:02d}:00,{vehicle},{rng.normal():.6f},{i},{i % 3}" for i in range(rows)]
    return ",VehicleID,slope,clock,stop\n" + "\n".join(lines) + "\n"


@pytest.fixture
def folder(tmp_path):
    inside = tmp_path / "series" / "month"
    inside.mkdir(parents=True)
    for place, name in enumerate(["V10-M1", "V2-M1", "V2-M10", "V2-M9"]):
        (inside / f"{name}.csv").write_text(text(25 + place, place, 7 + place))
    (inside / "short.csv").write_text(text(20, 9, 1))
    (inside / ".hidden.csv").write_text("broken")
    (inside / "notes.txt").write_text("not a series")
    return tmp_path / "series"


def zipped(folder):
    path = folder.parent / "series.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for file in sorted(folder.rglob("*")):
            archive.write(file, file.relative_to(folder.parent))
        archive.writestr("__MACOSX/series/._V2-M1.csv", b"\x00\x05\x16\x07")
    return path


def test_series_are_read_in_natural_order_from_a_folder_and_an_archive(folder):
    for path, before in ((folder, "month/"), (zipped(folder), "series/month/")):
        found = read_series(path)
        assert [each.name.removeprefix(before) for each in found] == ["V2-M1", "V2-M9", "V2-M10", "V10-M1"]
        assert [len(each.values) for each in found] == [26, 28, 27, 25]
        # a vehicle's number is constant in its series, and the time is no number
        assert found[0].columns == ("slope", "clock", "stop")
        assert found[0].values[:, 1].tolist() == list(range(26))


def test_columns_may_be_chosen_and_pooled(folder):
    found = read_series(folder, ["stop", "slope"], longer_than=26)
    assert len(found) == 2
    pooled = pool(found)
    assert list(pooled.numbers) == ["stop", "slope"]
    assert pooled.rows == 28 + 27
    assert pooled.numbers["stop"][:3].tolist() == [0, 1, 2]
    assert "0." not in repr(found[0])


def test_rows_with_a_missing_number_are_left_out(folder):
    (folder / "gap.csv").write_text(",VehicleID,slope,clock,stop\n" + "t,1,,1,2\n" * 3 + "t,1,0.5,1,2\n" * 30)
    (gap,) = [each for each in read_series(folder, ["slope", "stop"]) if each.name == "gap"]
    assert len(gap.values) == 30


def test_bad_input(folder, tmp_path):
    with pytest.raises(UnknownName):
        read_series(folder, ["wind"])
    with pytest.raises(DataError, match="numbers"):
        (folder / "odd.csv").write_text("slope\n" + "steep\n" * 30)
        read_series(folder, ["slope"])
    for path in (tmp_path / "nothing", tmp_path / "series" / "month" / "notes.txt"):
        with pytest.raises(SourceUnavailable):
            read_series(path)
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(SourceUnavailable, match="no CSV"):
        read_series(empty)
    (empty / "a.csv").write_text("word\nx\ny\n")
    with pytest.raises(InvalidInput, match="varies"):
        read_series(empty)
    (empty / "a.csv").write_text("n\n1\n2\n")
    with pytest.raises(InvalidInput, match="more than 20"):
        read_series(empty)
    (empty / "a.csv").write_text('a,b\n1,2\n"')
    with pytest.raises(DataError, match="CSV"):
        read_series(empty)
