import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

from tacita.engines.targets import TARGETS, FileTarget, is_address, row_target
from tacita.errors import InvalidInput

SECRET = "hunter2"


def batches():
    yield pa.table({"x": [1, 2]})
    yield pa.table({"x": [3]})


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_files(tmp_path, kind):
    path = tmp_path / f"rows.{kind}"
    seen = []
    for place in (str(path), path, path.as_uri()):
        target = row_target(place)
        target.check(["x"])
        target.write(batches(), seen.append)
        assert target.path == path
        assert target.name == path.name
        rows = pq.read_table(path) if kind == "parquet" else pa_csv.read_csv(path)
        assert rows["x"].to_pylist() == [1, 2, 3]
    assert seen == [2, 3] * 3


def test_what_is_no_place_for_rows(tmp_path):
    for place, into, rule in (
        ("rows.txt", None, "must end in"),
        ("s3://bucket/rows.csv", None, "must be a file or postgresql://"),
        ("oracle://host/db", "t", "must be a file or postgresql://"),
        ("rows.csv", "t", "only a database has tables"),
        ("postgresql://host/db", None, "needs the name of a new table"),
        ("mongodb://host/db", None, "needs the name of a new table"),
        (tmp_path, None, "must end in"),
    ):
        with pytest.raises(InvalidInput, match=rule):
            row_target(place, into).check()


def test_addresses_are_told_from_files(tmp_path):
    for place in ("postgresql://u:p@h/d", "POSTGRES://h/d", "mongodb+srv://h/d", "s3://b/x.csv", "file:///x.csv"):
        assert is_address(place)
    for place in ("rows.csv", "C:rows.csv", "a:b.csv", "ab:c.csv", tmp_path, "/postgresql:/x.csv"):
        assert not is_address(place)
    (tmp_path / "ab:c.csv").touch()
    assert isinstance(row_target(tmp_path / "ab:c.csv"), FileTarget)


@pytest.mark.parametrize("scheme", sorted(TARGETS))
def test_no_target_shows_its_password(scheme):
    address = f"{scheme}://user:{SECRET}@nowhere.invalid/db"
    if scheme == "mongodb":
        address += "?serverSelectionTimeoutMS=500"
    target = row_target(address, "made")
    assert SECRET not in repr(target) + target.name
    if scheme != "mongodb+srv":  # whose hosts are looked up when it is made
        with pytest.raises(Exception) as refused:
            target.check(["x"])
        assert SECRET not in str(refused.value) + str(getattr(refused.value, "private", ""))
        assert refused.value.__cause__ is None
