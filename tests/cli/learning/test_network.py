"""Networks on the command line: learned from rows and series, compared, drawn; effects, errors, Granger tests."""

import json
from xml.etree import ElementTree

import numpy as np
import pytest

from ..conftest import run

SCHEMA = """
tacita: 1
attributes:
- {name: slope, kind: numeric, bounds: [-10, 10], bins: 4}
- {name: load, kind: numeric, bounds: [-20, 20], bins: 4}
- {name: fuel, kind: numeric, bounds: [-60, 60], bins: 4}
- {name: kind, kind: categorical, levels: [bus, tram]}
"""


@pytest.fixture(autouse=True)
def folder(tmp_path):
    rng = np.random.default_rng(1)
    (tmp_path / "trips.yaml").write_text(SCHEMA)
    (tmp_path / "series").mkdir()
    lines = []
    for number in range(6):
        kind = rng.integers(0, 2, 200)
        slope = np.zeros(200)
        for t in range(1, 200):
            slope[t] = 0.6 * slope[t - 1] + rng.normal()
        load = 2 * kind + rng.normal(size=200)
        fuel = 3 * slope + np.concatenate([[0], 2 * slope[:-1]]) + 1.5 * load + rng.normal(size=200)
        together = zip(slope, load, fuel, kind, strict=True)
        rows = [f"{a:.5f},{b:.5f},{c:.5f},{['bus', 'tram'][k]}" for a, b, c, k in together]
        lines += rows
        (tmp_path / "series" / f"V{number}.csv").write_text("slope,load,fuel,kind\n" + "\n".join(rows) + "\n")
    (tmp_path / "trips.csv").write_text("slope,load,fuel,kind\n" + "\n".join(lines) + "\n")
    return tmp_path


def learn(output, *more, data=("trips.csv", "-s", "trips.yaml")):
    return run("network", "learn", *data, "-o", output, *more)


def test_rows_of_every_kind_go_through_one_search(folder):
    mixed = learn("mixed.json", "--score", "clg", "--forbid", "fuel:*", "--report", "page.html", "--json")
    assert mixed.code == 0, mixed.err
    found = json.loads(mixed.out)
    assert found["guarantee"] == "none"
    assert found == json.loads((folder / "mixed.json").read_text())
    assert "kind" in found["network"]["parents"]["load"]
    assert "fuel" not in [each for above in found["network"]["parents"].values() for each in above]
    page = (folder / "page.html").read_text()
    assert "No guarantee" in page
    assert "<svg" in page
    for output, options in (
        ("numbers.json", ("--columns", "slope,load,fuel", "--score", "bge", "--search", "hill", "--restarts", "2")),
        ("bins.json", ("--binned", "--search", "rsmax2", "--level", "0.01")),
        ("bdeu.json", ("--binned", "--score", "bdeu", "--degree", "2", "--require", "slope:fuel")),
    ):
        made = learn(output, *options)
        assert made.code == 0, made.err
        assert "No guarantee" in made.out
    assert "slope" in json.loads((folder / "bdeu.json").read_text())["network"]["parents"]["fuel"]


def test_networks_are_compared_and_drawn(folder):
    for name, options in (("one", ()), ("two", ("--forbid", "slope:fuel")), ("three", ("--forbid", "load:*"))):
        assert learn(f"{name}.json", "--columns", "slope,load,fuel", *options).code == 0
    files = ("one.json", "two.json", "three.json")
    found = run("network", "compare", *files, "--json")
    assert found.code == 0, found.err
    assert set(json.loads(found.out)["sizes"]) == {"one", "two", "three"}
    shown = run("network", "compare", *files, "--report", "links.html")
    assert shown.code == 0, shown.err
    assert "Structural Hamming distance" in shown.out
    assert "uncommon" in (folder / "links.html").read_text()
    for drawn in (files, files[:1]):
        assert run("network", "draw", *drawn, "-o", "links.svg").code == 0
        assert ElementTree.parse(folder / "links.svg").getroot().tag == "{http://www.w3.org/2000/svg}svg"


def test_effects_have_intervals(folder):
    (folder / "true.json").write_text(json.dumps({"parents": {"slope": [], "load": [], "fuel": ["slope", "load"]}}))
    found = run("network", "effects", "true.json", "trips.csv", "-s", "trips.yaml", "--target", "fuel", "--json")
    assert found.code == 0, found.err
    effects = {each["cause"]: each for each in json.loads(found.out)["effects"]}
    assert effects["slope"]["low"] < 3 + 2 * 0.6 < effects["slope"]["high"]
    assert effects["load"]["low"] < 1.5 < effects["load"]["high"]
    shown = run("network", "effects", "true.json", "series", "--target", "fuel")
    assert "No guarantee" in shown.out
    assert "adjusted for" in shown.out


def test_a_released_network_has_effects_without_rows(folder):
    run("budget", "open", "trips", "--epsilon", "9")
    asked = ("trips.csv", "-s", "trips.yaml", "-a", "trips", "--epsilon", "8", "--columns", "slope,load,fuel")
    made = run("release", "network", *asked, "--forbid", "fuel:*", "-o", "net.json")
    assert made.code == 0, made.err
    found = run("network", "effects", "net.json", "--target", "fuel", "--json")
    assert found.code == 0, found.err
    stated = json.loads(found.out)
    assert stated["statement"].startswith("The network is private")
    effects = {each["cause"]: each for each in stated["effects"]}
    assert abs(effects["slope"]["value"] - 4.2) < 5 * effects["slope"]["std"] + 0.5
    assert learn("exact.json", "--columns", "slope,load,fuel").code == 0
    assert run("network", "compare", "net.json", "exact.json").code == 0
    refused = run("network", "effects", "exact.json", "--target", "fuel")
    assert refused.code == 2
    assert "exact rows" in refused.err


def test_regressions_have_held_out_errors_and_tests_of_series(folder):
    pytest.importorskip("statsmodels")
    assert learn("net.json", "--forbid", "fuel:*", data=("series",)).code == 0
    found = run("network", "regress", "net.json", "series", "--json")
    assert found.code == 0, found.err
    columns = {each["child"]: each for each in json.loads(found.out)["columns"]}
    assert columns["fuel"]["rmse"] < columns["fuel"]["deviation"]
    assert columns["slope"]["independent"] < 0.5 <= columns["load"]["independent"]
    assert all(each["vif"] >= 1 for each in columns.values())
    shown = run("network", "regress", "net.json", "trips.csv", "-s", "trips.yaml")
    assert shown.code == 0, shown.err
    assert "independent" not in shown.out


def test_networks_are_ranked_by_granger_tests(folder):
    pytest.importorskip("statsmodels")
    columns = {"slope": [], "load": [], "fuel": []}
    (folder / "right.json").write_text(json.dumps({"parents": columns | {"fuel": ["slope"]}}))
    (folder / "wrong.json").write_text(json.dumps({"parents": columns | {"load": ["fuel"]}}))
    asked = ("network", "granger", "series", "-n", "wrong.json", "-n", "right.json", "--samples", "200")
    found = run(*asked, "--json")
    assert found.code == 0, found.err
    stated = json.loads(found.out)
    assert [each["network"] for each in stated["networks"]] == ["right", "wrong"]
    assert stated["shares"][0][2] == 1.0
    shown = run(*asked, "--bivariate", "--no-difference")
    assert shown.code == 0, shown.err
    assert "average recall" in shown.out
    assert "No guarantee" in shown.out
    assert run("network", "granger", "series", "--columns", "slope,fuel", "--no-difference").code == 0


@pytest.mark.parametrize(
    "command",
    [
        ("learn", "trips.csv", "-o", "net.json"),
        ("learn", "trips.csv", "-s", "trips.yaml", "-o", "net.txt"),
        ("learn", "trips.csv", "-s", "trips.yaml", "-o", "net.json"),
        ("learn", "trips.csv", "-s", "trips.yaml", "-o", "net.json", "--score", "clg", "--tabu", "3"),
        ("learn", "trips.csv", "-s", "trips.yaml", "-o", "net.json", "--score", "clg", "--forbid", "fuel"),
        ("learn", "series", "-o", "net.json", "--binned"),
        ("learn", "nothing", "-o", "net.json"),
        ("compare", "nothing.json", "other.json"),
        ("draw", "nothing.json", "-o", "x.png"),
        ("granger", "trips.csv"),
    ],
    ids=str,
)
def test_wrong_uses_are_refused(command):
    refused = run("network", *command)
    assert refused.code in (2, 3, 4), refused.out
    assert "fault" not in refused.err.lower()


def test_files_of_one_name_are_refused(folder):
    (folder / "a").mkdir()
    for place in (folder, folder / "a"):
        (place / "n.json").write_text(json.dumps({"parents": {"x": []}}))
    refused = run("network", "compare", "n.json", "a/n.json")
    assert refused.code == 2
    assert "different names" in refused.err
