"""Anonymized logs on the command line: files, pipes and folders of batches."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pyarrow.csv as pa_csv
import pytest

from ..conftest import run

SCHEMA = """
tacita: 1
person: who
attributes:
- {name: who, kind: identifier}
- {name: minute, kind: numeric, bounds: [0, 999], bins: 10, integer: true}
- {name: page, kind: categorical, levels: [home, news, help]}
- {name: age, kind: numeric, bounds: [0, 99], bins: 5, integer: true, role: quasi-identifier}
"""
PAGES = ("home", "home", "news", "help", "secret")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path) -> Path:
    lines = [f"p{(7 * i) % 67},{i // 3},{PAGES[(i * i + i // 5) % 5]},{(11 * i) % 90}\n" for i in range(300)]
    (tmp_path / "visits.csv").write_text("who,minute,page,age\n" + "".join(lines))
    (tmp_path / "visits.yaml").write_text(SCHEMA)
    (tmp_path / "tree.csv").write_text("home,site\nnews,site\nhelp,site\n")
    return tmp_path


EVENTS = ("-s", "visits.yaml", "--time", "minute", "--values", "page", "--z", "4", "--window", "20")


def test_events_of_a_file_and_of_a_pipe_are_the_same(folder: Path) -> None:
    shown = run("log", "events", "visits.csv", *EVENTS, "-o", "out.csv", "--json")
    assert shown.code == 0, shown.err
    assert json.loads(shown.out)["guarantee"] == "none"
    rows = pa_csv.read_csv("out.csv")
    assert 0 < rows.num_rows < 300
    assert "secret" not in (folder / "out.csv").read_text()
    command = [str(Path(sys.executable).with_name("tacita")), "log", "events", "-", *EVENTS, "-o", "-"]
    piped = subprocess.run(command, input=(folder / "visits.csv").read_bytes(), capture_output=True, check=True)
    through = pa_csv.read_csv(io.BytesIO(piped.stdout))
    assert Counter(map(str, through.to_pylist())) == Counter(map(str, rows.to_pylist()))
    assert b"Suppressed rows without a person" in b" ".join(piped.stderr.split())


def test_sets_are_generalised_by_a_hierarchy(folder: Path) -> None:
    shown = run("log", "sets", "visits.csv", "-s", "visits.yaml", "--item", "page", "--k", "5", "-o", "sets.csv")
    assert shown.code == 0, shown.err
    assert "No differential privacy" in " ".join(shown.out.split())
    alike = run(
        "log", "sets", "visits.csv", "-s", "visits.yaml", "--item", "page", "--k", "66", "--hierarchy", "tree.csv",
        "-o", "alike.csv",
    )  # fmt: skip
    assert alike.code == 0, alike.err
    assert set(pa_csv.read_csv("alike.csv").column("page").to_pylist()) == {"site"}


def test_batches_are_k_anonymous_and_no_person_is_in_two(folder: Path) -> None:
    shown = run(
        "log", "batches", "visits.csv", "-s", "visits.yaml", "--time", "minute", "--deadline", "30", "--k", "3",
        "--least", "10", "--keep", "page", "-o", "batches",
    )  # fmt: skip
    assert shown.code == 0, shown.err
    files = sorted((folder / "batches").iterdir())
    assert len(files) > 1
    for file in files:
        ages = Counter(pa_csv.read_csv(file).column("age").to_pylist())
        assert min(ages.values()) >= 3
    released = sum(pa_csv.read_csv(file).num_rows for file in files)
    assert f"{released:,}" in shown.out
    assert 0 < released < 300  # people come back, and are suppressed then


@pytest.mark.parametrize(
    ("more", "text"),
    [
        (("events", "visits.csv", *EVENTS, "-o", "-"), "pass - for both"),
        (("events", "visits.csv", *EVENTS[:-4], "--z", "0", "--window", "5", "-o", "o.csv"), "z"),
        (("sets", "visits.csv", "-s", "visits.yaml", "--item", "who", "--k", "5", "-o", "o.csv"), "never released"),
        (
            ("batches", "visits.csv", "-s", "visits.yaml", "--time", "page", "--deadline", "3", "--k", "3", "-o", "b"),
            "whole number",
        ),
    ],
)
def test_wrong_requests_are_refused_and_leave_nothing(folder: Path, more: tuple[str, ...], text: str) -> None:
    shown = run("log", *more)
    assert shown.code == 2
    assert text in " ".join(shown.err.split())
    assert not (folder / "o.csv").exists()
    assert not (folder / "b").exists()


def test_bad_rows_do_not_end_a_stream_and_are_counted(folder: Path) -> None:
    rows = (folder / "visits.csv").read_bytes().splitlines(keepends=True)
    bad = [b"p1,noon,home,3\n", b"p1,99\n", b"\xe9,5,home,3\n", b"p2,1,home,abc\n"]
    command = [
        str(Path(sys.executable).with_name("tacita")), "log", "batches", "-", "-s", "visits.yaml", "--time", "minute",
        "--deadline", "30", "--k", "3", "--least", "10", "--keep", "page",
    ]  # fmt: skip
    for name, lines in (("good", rows), ("mixed", [rows[0], *bad[:3], *rows[1:7], bad[3], *rows[7:]])):
        done = subprocess.run([*command, "-o", name], input=b"".join(lines), capture_output=True, check=True)
    assert b"rows that do not fit the header or are not UTF-8" in b" ".join(done.stdout.split())
    first, second = ([file.read_text() for file in sorted((folder / name).iterdir())] for name in ("good", "mixed"))
    assert first == second


def test_a_pipe_with_another_header_is_refused(folder: Path) -> None:
    command = [str(Path(sys.executable).with_name("tacita")), "log", "events", "-", *EVENTS, "-o", "-"]
    piped = subprocess.run(command, input=b"who;minute;page\np1;3;home\n", capture_output=True, check=False)
    assert piped.returncode == 3  # the data is at fault
    assert b"not semicolons" in b" ".join(piped.stderr.split())
    assert b"p1" not in piped.stderr
