"""Synthetic rows on the command line, as a user runs it."""

import json
from pathlib import Path

import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

from tacita.synthesize import Synthesized

from ..conftest import run

SCHEMA = """
tacita: 1
attributes:
- {name: age, kind: numeric, bounds: [0, 99], edges: [0, 18, 65, 99], integer: true}
- {name: sex, kind: categorical, levels: [f, m]}
"""


@pytest.fixture(autouse=True)
def folder(tmp_path):
    (tmp_path / "people.csv").write_text("age,sex\n" + "".join(f"{i % 80},{'fm'[i % 2]}\n" for i in range(800)))
    (tmp_path / "people.yaml").write_text(SCHEMA)
    run("budget", "open", "people", "--epsilon", "2")
    return tmp_path


def made(*more, account="people", output="rows.parquet"):
    return run("synthesize", "people.csv", "-s", "people.yaml", "-a", account, "-o", output, *more)


def spent():
    return json.loads(run("budget", "show", "people", "--json").out)[0]["spent"]


def test_rows_are_paid_for_and_written(folder):
    shown = made("--epsilon", "1", "--rows", "300", "--report", "r.html", "--model", "m.json", "--key", "first")
    assert shown.code == 0, shown.err
    assert "remaining" in shown.out
    assert pq.read_table("rows.parquet").num_rows == 300
    assert "Synthetic rows" in (folder / "r.html").read_text()
    assert json.loads((folder / "m.json").read_text())["guarantee"] == "central"
    assert spent() == 1
    again = json.loads(made("--epsilon", "1", "--key", "first", "--json", "--decode", "low", output="rows.csv").out)
    assert spent() == 1, "the same key again costs nothing"
    assert "model" not in again
    assert again["rows"] == pytest.approx(800, abs=400)
    assert set(pa_csv.read_csv("rows.csv")["age"].to_pylist()) <= {0, 18, 65}


@pytest.mark.parametrize("method", ["privbayes", "mst", "aim", "pairs", "independent"])
def test_every_method_runs(method):
    shown = made("--epsilon", "0.5", "-n", "10", "--method", method)
    assert shown.code == 0, shown.err
    assert method in shown.out


def test_rows_for_one_target(folder):
    shown = made("--epsilon", "0.5", "--for", "sex", "--people", "800", "--model", "m.json")
    assert shown.code == 0, shown.err
    assert "targeted" in shown.out
    assert "is measured with sex alone" in shown.out
    assert json.loads((folder / "m.json").read_text())["provenance"]["recipe"]["target"] == "sex"
    paid = spent()
    unknown = made("--epsilon", "0.5", "--for", "sax")
    assert unknown.code == 2
    assert "sex" in unknown.err, "the name that was meant is among those listed"
    assert made("--epsilon", "0.5", "--for", "sex", "--method", "mst").code == 2
    assert made("--epsilon", "0.5", "--method", "targeted").code == 2
    assert spent() == paid


def test_a_plan_charges_nothing():
    assert "cost" in made("--epsilon", "1", "--dry-run").out
    assert json.loads(made("--epsilon", "1", "--dry-run", "--json").out)["cost"] == pytest.approx(1)
    assert spent() == 0


def test_nothing_is_written_that_is_not_paid(folder):
    assert made("--epsilon", "3").code == 5
    assert made("--epsilon", "1", output="rows.txt").code == 2
    assert made("--epsilon", "1", "--rows", "-4").code == 2
    assert made("--epsilon", "1", "--people", "1").code == 2
    assert made("--epsilon", "1", account="nobody").code == 2
    assert spent() == 0
    assert not (folder / "rows.parquet").exists()


def test_parts_make_a_folder_and_a_report_shows_the_network(folder):
    shown = made("--epsilon", "1", "--rows", "100", "--parts", "3", "--method", "privbayes", "--report", "r.html")
    assert shown.code == 0, shown.err
    assert sorted(path.name for path in (folder / "rows.parquet").iterdir()) == [
        f"part-0000{place}.parquet" for place in range(3)
    ]
    assert pq.read_table(folder / "rows.parquet").num_rows == 100
    page = (folder / "r.html").read_text()
    assert "<svg viewBox=" in page
    assert "<title>age</title>" in page
    before = spent()
    for more in (("--parts", "3"), ("--parts", "0"), ()):  # the folder is there: refused before anything is paid
        assert made("--epsilon", "0.1", *more).code != 0
    assert spent() == before


def test_a_statement_is_signed_and_verified(folder):
    shown = made("--epsilon", "1", "--rows", "50", "--statement", "s.json")
    assert shown.code == 0, shown.err
    good = run("verify", "s.json", "--file", "rows.parquet", "--json")
    assert good.code == 0, good.err
    told = json.loads(good.out)
    assert told["good"]
    assert told["statement"]["epsilon"] == pytest.approx(1.0)
    text = (folder / "s.json").read_text()
    (folder / "s.json").write_text(text.replace('"epsilon": 1.0', '"epsilon": 0.1', 1))
    bad = run("verify", "s.json")
    assert bad.code == 3
    assert "NO" in bad.out
    assert run("verify", "rows.parquet").code == 2
    Path("other").mkdir()
    Path("other/rows.parquet").write_bytes(b"")
    twice = run("verify", "s.json", "--file", "other/rows.parquet", "--file", "rows.parquet")
    assert (twice.code, "two files have one name" in twice.err) == (2, True)


RULES = "rules: [{if: age < 18, then: sex = f}]"


@pytest.mark.parametrize(
    "more",
    [
        ("--parts", "10001"),
        ("--model", "there"),
        ("--statement", "there"),
        ("--report", "there"),
        ("--model", "none/m.json"),
        ("--attributes", "sex", "--rules", "rules.yaml"),
    ],
)
def test_what_cannot_be_written_or_made_is_refused_before_it_is_paid_for(folder, more):
    (folder / "there").mkdir()
    (folder / "rules.yaml").write_text(RULES)
    refused = made("--epsilon", "1", *more)
    assert refused.code == 2, refused.err
    assert spent() == 0


def test_what_is_paid_for_can_be_fetched_after_an_error(folder, monkeypatch):
    """The model is there already, and the error names a key that was made up for this."""
    write = Synthesized.write

    def full(self, *parts, **named):
        raise OSError(28, "No space left on device", "rows.parquet")

    monkeypatch.setattr(Synthesized, "write", full)
    failed = made("--epsilon", "1", "--model", "m.json")
    assert failed.code == 2
    assert "No space left" in failed.err
    assert json.loads((folder / "m.json").read_text())["guarantee"] == "central"
    key = failed.err.split("--key ")[1].split()[0]
    monkeypatch.setattr(Synthesized, "write", write)
    again = made("--epsilon", "1", "--key", key, "--json")
    assert again.code == 0, again.err
    assert json.loads(again.out)["key"] == key
    assert spent() == 1


def test_a_statement_names_the_rules_that_were_taken_as_public(folder):
    (folder / "rules.yaml").write_text(RULES)
    shown = made("--epsilon", "1", "-n", "20", "--rules", "rules.yaml", "--statement", "s.json")
    assert shown.code == 0, shown.err
    public = json.loads((folder / "s.json").read_text())["public"]
    assert public[0] == "schema"
    assert "age < 18" in public[1]


def test_an_option_is_given_once_and_costs_nothing_otherwise():
    shown = made("--epsilon", "1", "--method", "privbayes", "--options", "degree=1", "--options", "degree=2")
    assert shown.code == 2
    assert "must be given once" in " ".join(shown.err.split())
    assert spent() == 0


def test_numbers_are_kept_as_numbers_for_the_same_budget(folder):
    (folder / "people.yaml").write_text(SCHEMA.replace("edges: [0, 18, 65, 99]", "bins: 1"))
    fine = ("--numbers", "fine", "--people", "800", "--method", "independent")
    plan = made("--epsilon", "1", *fine, "--dry-run")
    assert plan.code == 0, plan.err
    assert "fine, for" in plan.out
    assert "age: " in plan.out
    assert spent() == 0
    shown = made("--epsilon", "1", *fine, "--model", "m.json", output="rows.csv")
    assert shown.code == 0, shown.err
    assert "Bins found privately" in " ".join(shown.out.split())
    assert spent() == pytest.approx(1)
    ages = pa_csv.read_csv("rows.csv")["age"].to_pylist()
    assert len(set(ages)) > 20
    assert sum(ages) / len(ages) == pytest.approx(39.5, abs=12)
    assert "kept as numbers" in run("model", "show", "m.json").out
    assert "numbers" not in json.loads(run("model", "show", "m.json", "--json").out)
    assert run("model", "draw", "m.json", "-n", "9", "-o", "more.csv", "--decode", "label").code == 0
    assert pa_csv.read_csv("more.csv").column("age").type == "string"
    asked = json.loads(run("model", "ask", "m.json", "--by", "age", "--json").out)["tables"]["age"]
    assert sum(cell["share"] for cell in asked) == pytest.approx(1)
    (folder / "rules.yaml").write_text("rules: [{if: age < 18, then: sex = f}]")
    refused = made("--epsilon", "0.5", *fine, "--rules", "rules.yaml")
    assert refused.code == 2
    assert "at_most" in refused.err
    assert spent() == pytest.approx(1)
