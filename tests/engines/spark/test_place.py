"""A folder that appears whole, or not at all."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from pathlib import Path

import pyarrow.fs as pa_fs
import pytest

from tacita.engines.local.files.stored import find_files
from tacita.engines.spark.place import SUCCESS, Place
from tacita.errors import InvalidInput, SourceUnavailable, TacitaError


def fill(place: Place, names: list[str]) -> list[tuple[int, str, int, int]]:
    found = []
    for at, name in enumerate(names):
        with place.create(name) as file:
            file.write(b"x" * (at + 1))
        found.append((at, name, 1, place.size(name)))
    return found


@pytest.mark.parametrize("objects", [False, True])
def test_a_folder_appears_at_the_end(tmp_path: Path, objects: bool) -> None:
    place = Place(str(tmp_path / "out"), "t", pa_fs.LocalFileSystem(), objects)
    with place.hidden():
        made = fill(place, [".part-00000-b", ".part-00001-a", ".part-00001-unused"])
        assert not Path(place.path).exists()
        with pytest.raises(SourceUnavailable, match="no Parquet, Arrow or text files"):
            find_files([tmp_path], [[".parquet"]])
        place.appear([made[1], made[0]])
    names = sorted(each.name for each in Path(place.path).iterdir())
    assert names == [SUCCESS, "part-00000.parquet", "part-00001.parquet"]
    assert [Path(place.path, name).read_bytes() for name in names[1:]] == [b"x", b"xx"]
    assert [file.name for file in find_files([place.path], [[".parquet"]])] == names[1:]
    assert [each.name for each in Path(place.path).parent.iterdir()] == [Path(place.path).name]


def test_nothing_is_left_of_a_write_that_failed(tmp_path: Path) -> None:
    place = Place.of(str(tmp_path / "out"))
    with pytest.raises(KeyError), place.hidden():
        fill(place, [".part-00000-b"])
        raise KeyError
    assert not [*tmp_path.iterdir()]


def test_a_driver_that_is_killed_leaves_no_output(tmp_path: Path) -> None:
    script = f"""
import os, signal
from tacita.engines.spark.place import Place
place = Place.of({str(tmp_path / "out")!r})
with place.hidden(), place.create(".part-00000-x") as file:
    file.write(b"rows")
    os.kill(os.getpid(), signal.SIGKILL)
"""
    subprocess.run([sys.executable, "-c", script], check=False, timeout=240)
    (left,) = tmp_path.iterdir()
    assert left.name.startswith(".out.")
    assert left.name.endswith(".part")
    with pytest.raises(TacitaError, match="no Parquet, Arrow or text files"):
        find_files([tmp_path], [[".parquet"]])
    place = Place.of(str(tmp_path / "out"))  # and the next one is not in its way
    with place.hidden():
        place.appear(fill(place, [".part-00000-y"]))
    assert (tmp_path / "out" / SUCCESS).exists()


def test_places_that_cannot_be(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    for path, match in (
        (tmp_path, "exists already"),
        (tmp_path / "file", "exists already"),
        (tmp_path / "no" / "out", "its folder must exist"),
        (tmp_path / "file" / "out", "its folder must exist"),
    ):
        with pytest.raises(InvalidInput, match=f"output: {match}"):
            Place.of(str(path))
    with pytest.raises(InvalidInput, match="output: cannot be written"), Place.of("/proc/out").hidden():
        pass
    place = Place.of(str(tmp_path / "out"))
    with place.hidden():
        made = fill(place, [".part-00000-b"])
        (tmp_path / "out").mkdir()  # another was faster
        with pytest.raises(InvalidInput, match="exists already"):
            place.appear(made)
    assert not [*(tmp_path / "out").iterdir()]


def test_files_that_this_machine_does_not_see(tmp_path: Path) -> None:
    place = Place.of(str(tmp_path / "out"))
    unseen = "the executors write where this machine does not see it"
    with pytest.raises(SourceUnavailable, match=unseen), place.hidden():
        place.appear([(0, ".part-00000-x", 3, 100)])
    assert not [*tmp_path.iterdir()]


def test_it_travels_to_executors_and_makes_no_folder_there(tmp_path: Path) -> None:
    place = pickle.loads(pickle.dumps(Place.of(str(tmp_path / "out"))))
    with pytest.raises(InvalidInput, match="an executor cannot write there, or does not see the folder"):
        fill(place, [".part-00000-b"])
    assert not os.listdir(tmp_path)
