"""Functions on the command line, as a user runs it."""

import base64
import json

import pytest

from tacita.learn.functions.bundle import export_bundle
from tacita.learn.functions.parametric import ParametricModel
from tacita.learn.functions.registry import Registry
from tacita.learn.models import read_model
from tacita.report.signing import SigningKey
from tacita.store import Database

from ..conftest import run

SCHEMA = """
tacita: 1
attributes:
- {name: age, kind: numeric, bounds: [0, 99], bins: 9, integer: true}
- {name: sex, kind: categorical, levels: [f, m]}
"""


@pytest.fixture(autouse=True)
def folder(tmp_path):
    (tmp_path / "people.csv").write_text("age,sex\n" + "".join(f"{i % 80},{'fm'[i % 2]}\n" for i in range(800)))
    (tmp_path / "people.yaml").write_text(SCHEMA)
    run("budget", "open", "people", "--epsilon", "2", "--delta", "1e-5")
    return tmp_path


def release(*more):
    asked = ("--name", "ages", "--kind", "density", "--features", "age", "--epsilon", "0.5", "--delta", "1e-6")
    return run("function", "release", "people.csv", "-s", "people.yaml", "-a", "people", *asked, *more)


def values(*arguments):
    shown = run("function", "predict", *arguments, "--json")
    assert shown.code == 0, shown.err
    return json.loads(shown.out)["values"]


def test_release_and_ask(folder):
    assert json.loads(release("--dry-run", "--json").out)["cost"] <= 0.5
    assert json.loads(run("budget", "show", "people", "--json").out)[0]["spent"] == 0
    shown = release()
    assert shown.code == 0, shown.err
    assert "answers only" in shown.out
    assert "not encrypted" in shown.out
    first = values("ages", "--at", "30", "--at", "71")
    assert values("ages@1", "--at", "71", "--at", "30") == first[::-1]
    (folder / "points.csv").write_text("other,age\nx,30\ny,71\n")
    assert values("ages", "--points", "points.csv") == first
    assert "standard deviation" in run("function", "predict", "ages", "--at", "30").out
    assert "ages@1" in run("function", "list").out


def test_move_to_another_store(folder, monkeypatch):
    monkeypatch.setenv("TACITA_MODELS_KEY", base64.b64encode(bytes(32)).decode())
    assert "encrypted" in release().out
    first = values("ages", "--at", "30")
    told = run("function", "export", "ages", "-o", "ages.json")
    public = told.out.split()[-1]
    elsewhere = ("--state", f"sqlite:///{folder}/else.db")
    assert run("function", "load", "ages.json", *elsewhere).code == 0
    assert values("ages", "--at", "30", *elsewhere) == first
    assert run("function", "predict", "ages", "--at", "31").code == 8
    third = ("--state", f"sqlite:///{folder}/third.db")
    assert run("function", "load", "ages.json", "--signed-by", "somebody", *third).code == 2
    text = (folder / "ages.json").read_text()
    (folder / "ages.json").write_text(text.replace('"density"', '"densitz"'))
    refused = run("function", "load", "ages.json", "--signed-by", public, *third)
    assert (refused.code, "signature" in refused.err) == (2, True)


def test_what_is_refused(folder):
    release()
    for arguments, code in [
        (("predict", "ages", "--at", "1,2"), 2),
        (("predict", "ages", "--at", "nan"), 2),
        (("predict", "ages", "--at", "100"), 2),
        (("predict", "ages"), 2),
        (("predict", "ages", "--points", "nowhere.csv"), 2),
        (("predict", "nobody", "--at", "1"), 2),
        (("parameters", "ages"), 7),
        (("load", "nowhere.json"), 2),
        (("export", "ages", "-o", "people.csv"), 2),
        (("export", "ages", "-o", "new.json"), 8),
        (("export", "ages", "-o", "new.json"), 8),  # and it left no file behind
        (("predict", "ages@\u00b2", "--at", "1"), 2),
    ]:
        assert run("function", *arguments).code == code, arguments
    assert release("--kernel", "cubic").code == 2
    spent = json.loads(run("budget", "show", "people", "--json").out)[0]["spent"]
    assert release("--name", "job_1").code == 2
    assert json.loads(run("budget", "show", "people", "--json").out)[0]["spent"] == spent
    assert run("function", "delete", "ages").code == 0
    assert run("function", "predict", "ages", "--at", "30").code == 2


def test_noise_beyond_the_range_is_foretold_refused_and_flagged(folder):
    """A Gaussian process of heights answered -1614 and 1404 cm on a range of 150, without a word."""
    rows = "".join(f"{i % 60},{120 + i % 60}\n" for i in range(60))
    (folder / "heights.csv").write_text("age,height\n" + rows)
    (folder / "heights.yaml").write_text(
        "tacita: 1\nattributes:\n- {name: age, kind: numeric, bounds: [0, 99], bins: 9}\n"
        "- {name: height, kind: numeric, bounds: [50, 200], bins: 9}\n"
    )
    run("budget", "open", "heights", "--epsilon", "2", "--delta", "1e-5", "--neighbours", "replace-one")
    asked = (
        *("function", "release", "heights.csv", "-s", "heights.yaml", "-a", "heights", "--name", "h"),
        *("--kind", "gaussian-process", "--features", "age", "--target", "height", "--public-inputs"),
        *("--epsilon", "0.5", "--delta", "1e-6"),
    )
    assert "the range of height (150)" in run(*asked, "--dry-run").out
    refused = run(*asked)
    assert refused.code == 2
    assert "the range of height (150)" in refused.err
    assert json.loads(run("budget", "show", "heights", "--json").out)[0]["spent"] == 0
    accepted = run(*asked, "--accept-noise")
    assert accepted.code == 0, accepted.err
    assert "mostly noise" in accepted.out
    assert "mostly noise" in json.loads(run("function", "predict", "h", "--at", "30", "--json").out)["warning"]
    assert "mostly noise" in run("function", "predict", "h", "--at", "30").out


def test_numbers_are_shown_with_their_digits(folder):
    """A density of ages is a small number: two digits behind the point would all be 0."""
    release()
    shown = run("function", "predict", "ages", "--at", "30").out
    assert f"{values('ages', '--at', '30')[0]:.6g}" in shown


def test_a_level_may_be_called_1(folder):
    (folder / "grades.csv").write_text("grade\n" + "1\n2\n2\n" * 100)
    (folder / "grades.yaml").write_text(
        "tacita: 1\nattributes:\n- {name: grade, kind: ordinal, levels: ['1', '2', '3']}\n"
    )
    asked = ("--name", "grades", "--kind", "histogram", "--features", "grade", "--epsilon", "0.5")
    done = run("function", "release", "grades.csv", "-s", "grades.yaml", "-a", "people", *asked)
    assert done.code == 0, done.err
    (folder / "points.csv").write_text("grade\n1\n2\n")
    assert values("grades", "--at", "1", "--at", "2") == values("grades", "--points", "points.csv")


def test_after_a_restore(folder):
    release()
    first = values("ages", "--at", "30")
    assert "1 function" in run("function", "after-restore").out
    assert values("ages", "--at", "30") == first
    assert run("function", "predict", "ages", "--at", "31").code == 8


def test_parameters_of_what_may_be_shown(folder):
    release("--form", "features", "--random", "4")
    assert len(json.loads(run("function", "parameters", "ages").out)["weights"]) == 8


def test_a_fitted_model_from_a_bundle(folder):
    """Bundles of models are taken up as those of functions are."""
    asked = ("--target", "sex", "--kind", "trees", "--epsilon", "0.5", "-o", "model.json")
    assert run("learn", "fit", "people.csv", "-s", "people.yaml", "-a", "people", *asked).code == 0
    registry, signer = Registry(Database(f"sqlite:///{folder / 'other.db'}")), SigningKey.new()
    id = registry.put(ParametricModel.of_fitted(read_model((folder / "model.json").read_text())), "sexes")
    registry.activate(id, charge="ch_1", dataset="people")
    (folder / "bundle.json").write_text(export_bundle(registry, id, signer))
    registry.database.close()
    assert run("function", "load", "bundle.json").code == 2  # by nobody we know
    loaded = run("function", "load", "bundle.json", "--signed-by", signer.public)
    assert loaded.code == 0, loaded.err
    assert "answers and parameters" in loaded.out
    told = run("function", "predict", "sexes", "--at", "30")
    assert told.code == 0, told.err
    assert json.loads(run("function", "parameters", "sexes").out)["tacita"] == "trees/1"
