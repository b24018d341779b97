"""Models on the command line: paid from an account, stored, and used for nothing more."""

import json
import re

import numpy as np
import pytest

from tacita.learn.fitted import FittedModel

from ..conftest import run

SCHEMA = """
tacita: 1
attributes:
- {name: age, kind: numeric, bounds: [0, 100], bins: 10}
- {name: sex, kind: categorical, levels: [f, m]}
- {name: ill, kind: boolean}
- {name: cost, kind: numeric, bounds: [0, 100], bins: 10}
"""


@pytest.fixture(autouse=True)
def folder(tmp_path):
    rng = np.random.default_rng(0)
    ages, sexes = rng.uniform(0, 100, 3000), rng.integers(0, 2, 3000)
    lines = "".join(
        f"{age:.3f},{'fm'[sex]},{'true' if age > 50 else 'false'},{0.5 * age + 20:.3f}\n"
        for age, sex in zip(ages, sexes, strict=True)
    )
    (tmp_path / "people.csv").write_text("age,sex,ill,cost\n" + lines)
    (tmp_path / "new.csv").write_text("age,sex\n10,f\n90,m\n,m\n")
    (tmp_path / "people.yaml").write_text(SCHEMA)
    return tmp_path


def opened(epsilon="50"):
    done = run("budget", "open", "people", "--epsilon", epsilon, "--unit", "row", "--neighbours", "add-remove")
    assert done.code == 0, done.err


def fit(*more):
    return run("learn", "fit", "people.csv", "-s", "people.yaml", "-a", "people", "-o", "model.json", *more)


def test_a_line_is_paid_for_stored_and_used(folder):
    opened()
    done = fit("--target", "cost", "--features", "age,sex", "--epsilon", "40")
    assert done.code == 0, done.err
    assert "is private" in done.out
    assert "functional" in done.out
    told = run("learn", "predict", "model.json", "new.csv", "-o", "told.csv")
    assert told.code == 0, told.err
    lines = (folder / "told.csv").read_text().splitlines()
    assert lines[0] == '"cost"'
    assert float(lines[1]) == pytest.approx(25, abs=5)
    assert float(lines[2]) == pytest.approx(65, abs=5)
    assert lines[3] == ""
    assert fit("--target", "cost", "--epsilon", "40").code == 5  # nothing is left


@pytest.mark.parametrize("kind", ["logistic", "trees", "bayes"])
def test_classes_are_told(folder, kind):
    opened()
    done = fit("--target", "ill", "--features", "age,sex", "--kind", kind, "--epsilon", "20", "--json")
    assert done.code == 0, done.err
    assert "is private" in json.loads(done.out)["statement"]
    told = run("learn", "predict", "model.json", "new.csv", "-o", "told.csv", "--json")
    assert told.code == 0, told.err
    assert json.loads(told.out)["rows"] == 3
    lines = (folder / "told.csv").read_text().splitlines()
    assert [line.strip('"') for line in lines[1:3]] == ["false", "true"]


def test_a_network_is_trained_and_used(folder):
    pytest.importorskip("torch")
    opened = ("people", "--epsilon", "50", "--delta", "1e-5", "--unit", "row", "--neighbours", "add-remove")
    assert run("budget", "open", *opened).code == 0
    sizes = ("--people", "3000", "--batch", "500", "--epochs", "30", "--hidden", "8")
    done = fit(
        "--target", "ill", "--features", "age", "--model", "network", "--epsilon", "20", "--delta", "1e-6", *sizes
    )
    assert done.code == 0, done.err
    assert "noise_multiplier" in done.out
    assert run("learn", "predict", "model.json", "new.csv", "-o", "told.csv").code == 0
    assert [line.strip('"') for line in (folder / "told.csv").read_text().splitlines()[1:3]] == ["false", "true"]


def test_bounds_are_narrowed_first_if_that_is_asked_for(folder):
    opened()
    line = ("--target", "cost", "--features", "age,sex", "--epsilon", "40")
    done = fit(*line, "--narrow", "0.2")
    assert done.code == 0, done.err
    assert "between bounds that are narrowed privately" in done.out
    assert re.search(r"narrowed +(nothing|\w+ [-\d.e+]+ to [-\d.e+]+)", done.out), done.out
    told = run("learn", "predict", "model.json", "new.csv", "-o", "told.csv")
    assert told.code == 0, told.err
    assert float((folder / "told.csv").read_text().splitlines()[1]) == pytest.approx(25, abs=5)


def test_penalties_are_chosen_and_options_are_heard(folder):
    opened()
    plan = fit(
        "--target", "cost", "--epsilon", "1", "--penalties", "1,100:0.5", "--share", "0.3", "--dry-run", "--json"
    )
    recipe = json.loads(plan.out)["recipe"]
    assert (recipe["penalties"], recipe["share"]) == ([[1.0, 1.0], [100.0, 0.5]], 0.3)
    line = ("--target", "cost", "--features", "age", "--epsilon", "9")
    done = fit(*line, "--penalties", "1,100:0.5", "--norm", "0.9", "--no-intercept", "--outside", "leave-out")
    assert done.code == 0, done.err
    assert "best of 2 penalties" in done.out
    model = FittedModel.from_json((folder / "model.json").read_text())
    base = model.provenance.recipe["base"]
    assert (base["norm"], base["intercept"], base["outside"]) == (0.9, False, "leave-out")
    assert model.intercept == 0


@pytest.mark.parametrize(
    ("option", "says"),
    [
        (("--kind", "trees", "--penalty", "1"), "penalty"),
        (("--kind", "logistic", "--depth", "3"), "depth"),
        (("--penalties", "much"), "penalties"),
        (("--share", "0.5"), "share"),
        (("--kind", "network", "--hidden", "many"), "hidden"),
    ],
)
def test_options_of_another_kind_are_refused(folder, option, says):
    opened()
    done = fit("--target", "ill", "--features", "age", "--epsilon", "1", *option)
    assert done.code == 2
    assert says in done.err


def test_a_place_that_cannot_be_written_costs_nothing(folder):
    opened("1")
    (folder / "model.json").mkdir()
    assert fit("--target", "cost", "--epsilon", "1").code == 2
    assert json.loads(run("budget", "show", "people", "--json").out)[0]["spent"] == 0


def test_coefficients_are_shown_with_their_digits(folder):
    opened()
    done = fit("--target", "cost", "--features", "age", "--epsilon", "40")
    model = FittedModel.from_json((folder / "model.json").read_text())
    assert f"{model.named['age']:.6g}" in done.out


def test_a_dry_run_spends_nothing(folder):
    opened("1")
    done = fit("--target", "cost", "--epsilon", "1", "--dry-run", "--json")
    assert done.code == 0, done.err
    assert json.loads(done.out)["cost"] <= 1
    assert not (folder / "model.json").exists()


def test_comparing_needs_no_data():
    done = run("learn", "compare", "--epsilon", "1", "--rows", "500", "--features", "2", "--draws", "2", "--json")
    assert done.code == 0, done.err
    assert {each["method"] for each in json.loads(done.out)} == {"auto", "functional", "objective", "output"}
    assert "functional" in run("learn", "compare", "--rows", "500", "--features", "2", "--draws", "2").out


def test_a_page_of_curves(folder):
    small = ("--rows", "500", "--features", "2", "--draws", "2", "--epsilon", "1")
    done = run("learn", "compare", "--against", "n", "--values", "500,1000", *small, "--report", "page.html", "--json")
    assert done.code == 0, done.err
    found = json.loads(done.out)
    assert {line["label"] for line in found["lines"]} == {"auto", "functional", "objective", "output"}
    assert all(line["x"] == [500, 1000] for line in found["lines"])
    page = (folder / "page.html").read_text()
    assert page.count("<svg") == 3
    assert "Stability" in page
    assert "0.1" in run("learn", "compare", "--against", "epsilon", "--values", "0.1,1", *small).out


@pytest.mark.parametrize(
    "arguments",
    [
        ("compare", "--values", "1,2"),
        ("compare", "--report", "page.html"),
        ("compare", "--against", "n", "--values", "0.5"),
        ("compare", "--against", "epsilon", "--values", "-1,2"),
        ("compare", "--epsilon", "one"),
        ("compare", "--methods", "magic"),
        ("predict", "people.yaml", "new.csv", "-o", "told.csv"),
        ("predict", "nowhere.json", "new.csv", "-o", "told.csv"),
        ("predict", "broken.json", "new.csv", "-o", "told.csv"),
        ("predict", "broken.json", "new.csv", "-o", "nowhere/told.csv"),
        ("compare", "--rows", "inf"),
        ("compare", "--features", "2.5"),
        ("compare", "--against", "queries", "--methods", "auto"),
        ("compare", "--against", "queries", "--task", "logistic"),
        ("compare", "--against", "queries", "--features", "3"),
        ("compare", "--against", "queries", "--neighbours", "add-remove"),
    ],
)
def test_what_cannot_be(folder, arguments):
    (folder / "broken.json").write_text('{"tacita": "fitted/1"}')
    assert run("learn", *arguments).code == 2


@pytest.mark.parametrize("penalties", ["1:0.5:3", "1,,2", ":", "1;2"])
def test_penalties_that_cannot_be_read(folder, penalties):
    opened()
    done = fit("--target", "cost", "--epsilon", "1", "--penalties", penalties)
    assert done.code == 2
    assert "penalties" in done.err


def began_and_ended(server):
    """In place of a server that listens until a signal ends it."""
    server.config.app.state.services.close()
    server.started = True


def test_serving_says_nothing_before_all_files_are_sound_and_then_who_may_ask(folder, monkeypatch):
    opened()
    assert fit("--target", "ill", "--kind", "trees", "--epsilon", "1").code == 0
    done = run("learn", "serve", "model.json", "nowhere.json")
    assert done.code == 4
    assert "served" not in done.out
    monkeypatch.setattr("tacita.server.http.listening.DrainingServer.run", began_and_ended)
    done = run("learn", "serve", "model.json", "--host", "0.0.0.0")
    assert done.code == 0, done.err
    assert "No token is needed" in done.out
    assert "reached from other machines" in done.out
    assert "reached from other machines" not in run("learn", "serve", "model.json").out


def test_a_model_without_a_guarantee_is_said_to_have_none(folder, monkeypatch):
    opened()
    assert fit("--target", "ill", "--kind", "trees", "--epsilon", "1").code == 0
    data = json.loads((folder / "model.json").read_text())
    data["event"] = {"kind": "non-private", "reason": "made from raw rows"}
    (folder / "raw.json").write_text(json.dumps(data))
    monkeypatch.setattr("tacita.server.http.listening.DrainingServer.run", began_and_ended)
    assert "--no-guarantee" in run("learn", "serve", "raw.json").err
    assert "raw has NO GUARANTEE" in run("learn", "serve", "raw.json", "--no-guarantee").out


def test_a_model_of_released_rows_costs_nothing(folder):
    made = run("learn", "from", "people.csv", "-s", "people.yaml", "--target", "ill", "-o", "model.json")
    assert made.code == 0, made.err
    assert "No guarantee" in made.out
    predicted = run("learn", "predict", "model.json", "people.csv", "-o", "told.csv")
    assert predicted.code == 0, predicted.err
    asked = ("learn", "from", "people.csv", "--target", "ill", "-o", "model.json")
    refused = run(*asked)
    assert refused.code == 2
    assert "schema" in refused.err
    refused = run(*asked, "-s", "people.yaml", "--kind", "trees", "--options", "width=3")
    assert refused.code == 2
    assert "no option of trees" in " ".join(refused.err.split())


@pytest.mark.parametrize(
    ("target", "options", "kind"),
    [("cost", (), "linear"), ("ill", (), "logistic"), ("sex", ("--depth", "2"), "trees")],
)
def test_the_kind_goes_by_the_target_and_is_stated(folder, target, options, kind):
    opened()
    done = fit("--target", target, "--features", "age", "--epsilon", "10", "--json", *options)
    assert done.code == 0, done.err
    found = json.loads(done.out)
    assert found["kind"] == kind
    assert found["why"].startswith(f"{kind}: {target} ")
    if kind != "trees":
        assert [row["term"] for row in found["summary"]["terms"]] == ["(intercept)", "age"]
        error = found["summary"]["terms"][1]["standard_error"]
        assert error is None if kind == "logistic" else error > 0  # a tilt claims none
    planned = fit("--target", target, "--features", "age", "--epsilon", "1", "--dry-run", *options)
    assert kind in planned.out


def test_numbers_can_be_taken_by_their_bins(folder):
    opened()
    asked = ("--target", "ill", "--features", "age", "--epsilon", "10", "--json")
    done = fit(*asked, "--numbers", "bins")
    assert done.code == 0, done.err
    terms = [row["term"] for row in json.loads(done.out)["summary"]["terms"]]
    assert len(terms) > 2
    assert all(term.startswith("age=") for term in terms[1:])
    predicted = run("learn", "predict", "model.json", "people.csv", "-o", "predicted.csv")
    assert predicted.code == 0, predicted.err
    refused = fit(*asked, "--kind", "trees", "--numbers", "bins")
    assert refused.code == 2


def test_coefficients_are_shown_with_their_errors(folder):
    opened()
    done = fit("--target", "cost", "--features", "age", "--epsilon", "10", "--inference", "population")
    assert done.code == 0, done.err
    assert "standard error" in done.out
    assert "population" in done.out
    done = fit("--target", "cost", "--features", "age", "--epsilon", "10", "--penalty", "5")
    assert "No standard errors" in done.out
