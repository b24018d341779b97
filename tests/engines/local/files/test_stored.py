"""Files in a store with the interface of S3: a real server process, reached through Arrow."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.request import urlopen

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.fs as pa_fs
import pyarrow.parquet as pq
import pytest
from tests.support.ports import free_port

from tacita.domain import Categorical, Domain, Numeric
from tacita.engines.connect import connect
from tacita.engines.local.files.draft import draft
from tacita.engines.local.files.stored import StoredFile, find_files, is_stored, stamps
from tacita.engines.marks import data_marks
from tacita.errors import InvalidInput, SourceUnavailable

DOMAIN = Domain(attributes=[Categorical(name="sex", levels=["f", "m"]), Numeric(name="age", bounds=(0, 100), bins=5)])
TABLE = pa.table({"sex": ["f", "m"] * 50, "age": [float(at) for at in range(100)]})
KEYS = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_EC2_METADATA_DISABLED": "true"}


@pytest.fixture(scope="module")
def store() -> Iterator[str]:
    """Address of a bucket with a Parquet file, a CSV file and a folder, without its key."""
    port = free_port()
    server = subprocess.Popen(
        [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        for _ in range(1200):
            try:
                urlopen(f"http://127.0.0.1:{port}/", timeout=120).close()
                break
            except OSError:
                time.sleep(0.1)
        system = pa_fs.S3FileSystem(
            access_key="test", secret_key="test", endpoint_override=f"127.0.0.1:{port}", scheme="http",
            region="us-east-1", allow_bucket_creation=True,
        )  # fmt: skip
        system.create_dir("people")
        with system.open_output_stream("people/a.parquet") as out:
            pq.write_table(TABLE, out)
        with system.open_output_stream("people/b.csv") as out:
            pa_csv.write_csv(TABLE, out, pa_csv.WriteOptions(delimiter=";"))
        for part in ("x", "y"):
            with system.open_output_stream(f"people/parts/{part}.parquet") as out:
                pq.write_table(TABLE, out)
        yield f"127.0.0.1:{port}"
    finally:
        server.kill()
        server.wait()


@pytest.fixture
def address(store: str, monkeypatch: pytest.MonkeyPatch):
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    return lambda path: f"s3://people/{path}?endpoint_override={store}&scheme=http&region=us-east-1"


def test_files_in_a_store_are_counted_as_here(address) -> None:
    wanted = connect(TABLE, DOMAIN).project(["sex", "age"]).values
    assert connect(address("a.parquet"), DOMAIN).project(["sex", "age"]).values.tolist() == wanted.tolist()
    folder = connect(address("parts"), DOMAIN)
    assert folder.project(["sex", "age"]).values.tolist() == (2 * wanted).tolist()
    assert folder.check().rows == 200
    drafted = draft(address("b.csv")).domain
    assert drafted.csv.delimiter == ";"
    german = DOMAIN.model_copy(update={"csv": drafted.csv})
    assert connect(address("b.csv"), german).project(["sex", "age"]).values.tolist() == wanted.tolist()


def test_marks_are_those_of_the_bytes_wherever_they_are(address, tmp_path: Path) -> None:
    pq.write_table(TABLE, tmp_path / "here.parquet")
    here = data_marks(str(tmp_path / "here.parquet"), DOMAIN).marks
    assert len(here) == 1
    assert data_marks(address("a.parquet"), DOMAIN).marks == here


def test_what_is_not_there_or_holds_credentials_is_refused(address) -> None:
    with pytest.raises(SourceUnavailable, match="no such file"):
        connect(address("gone.parquet"), DOMAIN)
    with pytest.raises(InvalidInput, match="must hold no credentials") as caught:
        connect("s3://key:SECRET@people/a.parquet", DOMAIN)
    assert "SECRET" not in str(caught.value)


def test_addresses_and_stamps(tmp_path: Path) -> None:
    assert is_stored("s3://b/a.csv")
    assert not is_stored("C:/a.csv")
    path = tmp_path / "A.B.CSV.gz"
    path.write_bytes(b"x")
    (file,) = find_files([path], [(".csv",)])
    assert (file.name, file.suffix, file.size(), file.local) == ("A.B.CSV.gz", ".csv", 1, path)
    before = stamps([file])
    path.write_bytes(b"yy")
    assert stamps([file]) != before
    with pytest.raises(SourceUnavailable, match="no such file"):
        stamps([StoredFile(str(tmp_path / "gone"))])
    (tmp_path / "_hidden.csv").write_text("")
    (tmp_path / ".dot.csv").write_text("")
    assert [each.name for each in find_files([tmp_path], [(".csv",)])] == ["A.B.CSV.gz"]
