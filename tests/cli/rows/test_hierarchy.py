"""`tacita hierarchy` as a user runs it."""

import json

import pytest

from ..conftest import run

SCHEMA = """
tacita: 1
attributes:
- {name: age, kind: numeric, bounds: [0, 99], integer: true, role: quasi-identifier}
- {name: zip, kind: categorical, levels: ["10115", "10117", "20095"], role: quasi-identifier}
- {name: income, kind: numeric, bounds: [0, 1000], bins: 10}
- {name: job, kind: categorical, levels: ["211", "31"]}
"""


@pytest.fixture(autouse=True)
def folder(tmp_path):
    rows = [f"{20 + i % 30},{('10115', '10117', '20095')[i % 3]},{i}.5,{('211', '31')[i % 2]}" for i in range(60)]
    (tmp_path / "people.csv").write_text("age,zip,income,job\n" + "\n".join(rows) + "\n")
    (tmp_path / "people.yaml").write_text(SCHEMA)
    (tmp_path / "jobs.csv").write_text(
        "code;label\n2;Académicos\n21;Ciencia\n211;Física\n3;Técnicos\n31;Taller\n", "cp1252"
    )
    return tmp_path


def test_build_show_and_use(folder):
    chosen = ("--attribute", "zip", "--kind", "digits", "-o", "zip.csv")
    code, out, err = run("hierarchy", "build", "people.csv", "-s", "people.yaml", *chosen)
    assert code == 0, err
    assert "for you only" in out
    assert (folder / "zip.csv").read_text().splitlines()[0] == "10115;1011*;101**;10***;1****;*"
    code, out, _ = run(
        "hierarchy", "show", "zip.csv", "-s", "people.yaml", "--data", "people.csv", "--k", "25", "--json"
    )
    exact = json.loads(out)
    assert [each["smallest"] for each in exact["levels"]] == [20, 20, 20, 20, 20, 60]
    assert exact["levels"][0]["below"] == 1.0
    assert exact["levels"][1]["below"] == pytest.approx(1 / 3)
    code, out, _ = run("hierarchy", "show", "zip.csv", "--json")
    public = json.loads(out)
    assert public["guarantee"].startswith("public")
    assert "smallest" not in public["levels"][0]
    for name, file in (("age", "age.csv"), ("income", "income.yaml")):
        assert run("hierarchy", "build", "-s", "people.yaml", "--attribute", name, "-o", file)[0] == 0
    code, out, err = run(
        "anonymize", "people.csv", "-s", "people.yaml", "--qi", "age,zip,income", "--k", "4", "--method", "ola",
        "--hierarchy", "zip=zip.csv", "--hierarchy", "age=age.csv", "--hierarchy", "income=income.yaml",
        "-o", "out.csv", "--json",
    )  # fmt: skip
    assert code == 0, err
    trees = json.loads(out)["recipe"]["trees"]
    assert trees["zip"]["levels"] == 6
    assert trees["income"] == {"intervals": {"widths": [50.0, 100.0, 200.0], "origin": 0}}


def test_code_lists_in_latin_1_and_levels_that_miss(folder):
    chosen = ("--attribute", "job", "--codes", "jobs.csv", "--labels", "-o", "job.csv")
    code, _, err = run("hierarchy", "build", "-s", "people.yaml", *chosen)
    assert code == 0, err
    assert (folder / "job.csv").read_text() == "211;21 Ciencia;2 Académicos;*\n31;31 Taller;3 Técnicos;*\n"
    (folder / "zip.csv").write_text("10115,1,*\n1O117,1,*\n20095,2,*\n")
    code, _, err = run("hierarchy", "show", "zip.csv", "-s", "people.yaml")
    assert code != 0
    assert "Did you mean '10117' by the leaf '1O117'" in " ".join(err.split())


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("build", "-s", "people.yaml", "--attribute", "income", "-o", "x.csv"), ".yaml"),
        (("build", "-s", "people.yaml", "--attribute", "age", "--widths", "a", "-o", "x.csv"), "numbers"),
        (("build", "-s", "people.yaml", "--attribute", "zip", "--mask", "1.5", "-o", "x.csv"), "whole numbers"),
        (("build", "-s", "people.yaml", "--attribute", "job", "--codes", "jobs.csv", "-o", "x.yaml"), "no rule"),
        (("build", "-s", "people.yaml", "--attribute", "age", "-o", "x.pdf"), ".csv"),
        (("show", "jobs.csv"), "must end in one root"),
    ],
)
def test_refusals_say_what_to_type(folder, options, words):
    code, _, err = run("hierarchy", *options)
    assert code != 0
    assert words in " ".join(err.split())
    assert not (folder / "x.csv").exists()
