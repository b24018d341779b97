"""Imputed rows on the command line: never without saying that nothing protects them."""

import json

import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

from ..conftest import run

SCHEMA = """
tacita: 1
attributes:
- {name: age, kind: numeric, bounds: [0, 99], edges: [0, 18, 65, 99], integer: true}
- {name: sex, kind: categorical, levels: [f, m]}
- {name: income, kind: numeric, bounds: [0, 1000], bins: 10}
"""


@pytest.fixture(autouse=True)
def folder(tmp_path):
    lines = "".join(f"{i % 80},{'fm'[i % 2]},{(37 * i) % 991 + 0.5}\n" for i in range(400))
    (tmp_path / "people.csv").write_text("age,sex,income\n" + lines)
    (tmp_path / "people.yaml").write_text(SCHEMA)
    return tmp_path


def made(*more, output="out"):
    return run("impute", "people.csv", "-s", "people.yaml", "-o", output, *more)


def test_nothing_is_made_unless_one_says_that_there_is_no_guarantee(folder):
    shown = made("--replace", "income")
    assert shown.code == 2
    assert "no privacy guarantee" in shown.err
    assert not (folder / "out").exists()


def test_releases_and_a_page(folder):
    shown = made(
        "--replace", "income,age", "--where", "income: income > 500", "--m", "3", "--no-guarantee", "--report", "r.html"
    )
    assert shown.code == 0, shown.err
    assert "Assess the risk of disclosure" in " ".join(shown.out.split())
    assert "Assess the risk of disclosure" in (folder / "r.html").read_text()
    assert [pq.read_table(f"out/release-{i}.parquet").num_rows for i in (1, 2, 3)] == [400] * 3
    before = sorted(v for v in pa_csv.read_csv("people.csv")["income"].to_pylist() if v <= 500)
    after = pq.read_table("out/release-1.parquet")["income"].to_pylist()
    assert set(before) <= set(after)
    assert json.loads((folder / "out" / "release.json").read_text())["guarantee"] == "none"


def test_all_made_up_as_csv():
    shown = made(
        "--kind", "all", "--rows", "50", "--m", "2", "--form", "csv", "--no-guarantee", "--json", "--backend", "linear"
    )
    assert json.loads(shown.out)["guarantee"] == "none"
    assert pa_csv.read_csv("out/release-2.csv").num_rows == 50


def test_a_frame(folder):
    (folder / "frame.csv").write_text("age,sex\n" + "".join(f"{i % 90},f\n" for i in range(300)))
    (folder / "frame.yaml").write_text("\n".join(SCHEMA.splitlines()[:-1]))
    more = ("--kind", "frame", "--replace", "income", "--m", "2", "--no-guarantee", "--rows", "100")
    shown = made(*more, "--frame", "frame.csv", "--frame-schema", "frame.yaml")
    assert shown.code == 0, shown.err
    rows = pq.read_table("out/release-1.parquet")
    assert set(rows["sex"].to_pylist()) == {"f"}
    assert made(*more, "--frame", "frame.csv", output="other").code == 2


@pytest.mark.parametrize(
    "bad",
    [
        ("--replace", "nobody"),
        ("--replace", "age", "--where", "income: income > 5"),
        ("--replace", "age", "--m", "1"),
        ("--replace", "age", "--where", "age: age like 5"),
        (),
    ],
)
def test_bad_input(folder, bad):
    assert made("--no-guarantee", *bad).code == 2
    assert not (folder / "out").exists()


def test_a_folder_is_never_written_over(folder):
    (folder / "out").mkdir()
    assert made("--replace", "age", "--no-guarantee").code == 2
    assert not list((folder / "out").iterdir())


def test_releases_are_assessed_by_default(folder):
    (folder / "held.csv").write_text("age,sex,income\n" + "".join(f"{i % 90},f,{i * 7 % 1000}\n" for i in range(200)))
    shown = made("--replace", "income", "--m", "2", "--no-guarantee", "--control", "held.csv")
    assert shown.code == 0, shown.err
    assert "risk, the largest success of an attack" in shown.out
    found = json.loads((folder / "out.assessment.json").read_text())
    assert (found["tacita"], found["people"], found["control"], found["releases"]) == ("assessment/1", 400, 200, 2)
    assert sorted(path.name for path in (folder / "out").iterdir()) == [
        "release-1.parquet",
        "release-2.parquet",
        "release.json",
    ]  # what may leave holds nothing that was read off exact rows


def test_an_assessment_can_be_left_out(folder):
    shown = made("--replace", "income", "--m", "2", "--no-guarantee", "--no-assessment", "--json")
    assert json.loads(shown.out)["assessment"] is None
    assert not (folder / "out.assessment.json").exists()
    assert (
        made("--replace", "age", "--no-guarantee", "--no-assessment", "--control", "people.csv", output="b").code == 2
    )


def test_copies_are_found(folder):
    """Nearly nothing is replaced, so the rows are the people; an assessment that sees no risk there would be blind."""
    (folder / "held.csv").write_text("age,sex,income\n" + "".join(f"{i % 90},f,{i * 7 % 1000}\n" for i in range(200)))
    more = ("--replace", "income", "--where", "income: income > 990", "--m", "2", "--no-guarantee", "--json")
    assert json.loads(made(*more, "--control", "held.csv").out)["assessment"]["risk"] > 0.3
