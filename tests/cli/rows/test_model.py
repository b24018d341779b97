"""More rows and shares from a model that was released on the command line."""

import json

import pyarrow.csv as pa_csv
import pytest

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
    made = run(
        *("synthesize", "people.csv", "-s", "people.yaml", "-a", "people", "--epsilon", "1", "-o", "rows.csv"),
        *("--model", "model.json", "--method", "privbayes", "--options", "degree=1", "--options", "score=R"),
    )
    assert made.code == 0, made.err
    return tmp_path


def test_more_rows_and_shares_cost_nothing(folder):
    drawn = run("model", "draw", "model.json", "-n", "300", "-o", "more.csv", "--where", "sex = f", "--decode", "mid")
    assert drawn.code == 0, drawn.err
    rows = pa_csv.read_csv(folder / "more.csv")
    assert (rows.num_rows, set(rows.column("sex").to_pylist())) == (300, {"f"})
    asked = run("model", "ask", "model.json", "--by", "age", "--where", "sex = f", "--json", "-o", "shares.csv")
    assert asked.code == 0, asked.err
    found = json.loads(asked.out)["tables"]["age"]
    assert sum(cell["share"] for cell in found) == pytest.approx(1)
    assert all(0 <= cell["low"] <= cell["high"] <= 1 for cell in found)
    assert len((folder / "shares.csv").read_text().splitlines()) == 4
    shown = run("model", "ask", "model.json", "--by", "age", "--where", "sex = f").out
    assert "Shares of age given sex = f" in " ".join(shown.split())
    assert "95 % confidence" in " ".join(shown.split())
    assert "privbayes" in run("model", "show", "model.json").out
    assert '"measured"' not in run("model", "show", "model.json", "--json").out
    asked = ("model", "ask", "model.json", "--by", "sex,age", "--level", "0.8", "--together", "--quantity", "count")
    counts = json.loads(run(*asked, "--json").out)
    assert counts["quantity"] == "count"
    assert sum(cell["count"] for cell in counts["tables"]["sex,age"]) == pytest.approx(800, rel=0.1)
    assert counts["intervals"]["sex,age"]["claim"].endswith("They do not depend on the model.")
    assert "Counts of sex,age" in run(*asked).out
    assert json.loads(run("budget", "show", "people", "--json").out)[0]["spent"] == pytest.approx(1)


def test_a_model_without_tables_says_that_it_has_no_intervals(folder):
    plain = json.loads((folder / "model.json").read_text())
    del plain["measured"]
    (folder / "old.json").write_text(json.dumps(plain))
    shown = run("model", "ask", "old.json", "--by", "age")
    assert shown.code == 0
    assert "No intervals" in " ".join(shown.out.split())
    assert "low" not in shown.out.split()


def test_wrong_uses_are_refused(folder):
    (folder / "broken.json").write_text('{"tacita": "synthesized/1"}')
    for file in ("nothing.json", "broken.json", "people.csv"):
        assert run("model", "show", file).code == 2
    assert run("model", "draw", "model.json", "-n", "-1", "-o", "x.csv").code == 2
    assert run("model", "draw", "model.json", "-n", "1", "-o", "x.csv", "--key-column", "age").code == 2
    assert run("model", "ask", "model.json", "--by", "age", "--where", "age > 40").code == 2
    assert run("model", "ask", "model.json", "--by", "age", "--level", "95").code == 2
    assert run("model", "ask", "model.json", "--by", "age", "--quantity", "mean").code == 2
    assert run("model", "ask", "model.json", "--by", "age", "--by", "sex", "-o", "x.csv").code == 2


def test_options_of_a_method_are_checked_before_anything_is_paid():
    def synthesize(*more):
        shared = ("people.csv", "-s", "people.yaml", "-a", "people", "--epsilon", "0.5", "-o", "x.csv")
        return run("synthesize", *shared, *more)

    for method, option in [
        ("privbayes", "depth=3"),
        ("privbayes", "degree"),
        ("privbayes", "theta=many"),
        ("privbayes", "structure=[1]"),
        ("privbayes", 'structure={"age": "sex"}'),
        ("quality", "degree=2"),
    ]:
        refused = synthesize("--method", method, "--options", option)
        assert refused.code == 2, (option, refused.out)
    assert json.loads(run("budget", "show", "people", "--json").out)[0]["spent"] == pytest.approx(1)
