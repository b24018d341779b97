"""`tacita anonymize` as a user runs it: real files, exit codes and messages."""

import csv
import json
from collections import Counter

import pytest

from ..conftest import run

SCHEMA = """
tacita: 1
attributes:
- {name: name, kind: identifier}
- {name: age, kind: numeric, bounds: [0, 99], integer: true, role: quasi-identifier}
- {name: town, kind: categorical, levels: [Ulm, Bonn, Lyon], role: quasi-identifier}
- {name: ill, kind: categorical, levels: [flu, cold, gout], role: sensitive}
- {name: visits, kind: numeric, bounds: [0, 9], integer: true}
"""
TOWNS = "Ulm;Germany;*\nBonn;Germany;*\nLyon;France;*\n"


@pytest.fixture(autouse=True)
def folder(tmp_path):
    people = [
        f"secret{i},{20 + i * 7 % 50},{('Ulm', 'Bonn', 'Lyon')[i % 3]},{('flu', 'cold', 'gout')[i // 3 % 3]},{i % 9}"
        for i in range(300)
    ]
    (tmp_path / "people.csv").write_text("name,age,town,ill,visits\n" + "\n".join(people) + "\n")
    (tmp_path / "people.yaml").write_text(SCHEMA)
    (tmp_path / "towns.csv").write_text(TOWNS)
    return tmp_path


def anonymized(*options):
    return run("anonymize", "people.csv", "-s", "people.yaml", *options)


def test_rows_report_and_figures(folder):
    code, out, err = anonymized(
        "--k", "10", "--l", "2", "--hierarchy", "town=towns.csv", "-o", "out.csv", "--report", "out.html", "--json"
    )
    assert code == 0, err
    told = json.loads(out)
    rows = list(csv.DictReader((folder / "out.csv").read_text().splitlines()))
    sizes = Counter((row["age"], row["town"]) for row in rows)
    assert list(rows[0]) == told["columns"] == ["age", "town", "ill"]
    assert min(sizes.values()) == told["achieved"]["k"] >= 10
    assert {row["town"] for row in rows} <= {"Ulm", "Bonn", "Lyon", "Germany", "France", "*"}
    for place in sizes:
        assert len({row["ill"] for row in rows if (row["age"], row["town"]) == place}) >= 2
    page = (folder / "out.html").read_text()
    assert "No differential privacy" in page
    assert "secret" not in page + out + (folder / "out.csv").read_text()


def test_releases_of_the_same_people_are_logged_and_warned_of(folder):
    """Two k-anonymous releases over the same people can be intersected: the second one says so, wherever it is made."""
    first = json.loads(anonymized("--k", "10", "--l", "2", "-o", "one.csv", "--json").out)
    assert first["warnings"] == []
    again = json.loads(anonymized("--k", "10", "--l", "2", "-o", "same.csv", "--json").out)
    assert again["warnings"] == []  # the same classes add nothing
    asked = ("--k", "20", "--l", "2", "--recipient", "a buyer", "-o", "two.csv")
    code, out, err = anonymized(*asked, "--report", "two.html")
    assert code == 0, err
    assert "can be intersected" in out
    assert "can be intersected" in (folder / "two.html").read_text()
    (folder / "copy.csv").write_text((folder / "people.csv").read_text())
    other = ("anonymize", "copy.csv", "-s", "people.yaml", "--k", "15", "--l", "2", "-o", "three.csv", "--json")
    assert json.loads(run(*other).out)["warnings"] == []  # another place; a name says that these are the same people
    named = json.loads(run(*other, "--dataset", str((folder / "people.csv").resolve())).out)["warnings"]
    assert len(named) == 3
    assert any("a buyer" in warning for warning in named)
    imputed = run(
        *("impute", "people.csv", "-s", "people.yaml", "-o", "imputed", "--replace", "ill", "--m", "2"),
        *("--attributes", "age,town,ill", "--no-guarantee", "--no-assessment", "--json"),
    )
    assert len(json.loads(imputed.out)["warnings"]) == 4


def _inside(label: str, value: str) -> bool:
    """Whether a reader of a label thinks that it may mean a value."""
    if ".." in label:
        low, high = label.split("..")
        return int(low) <= int(value) <= int(high)
    return label == "*" or value in label.strip("{}").split(", ")


@pytest.mark.parametrize("how", ["population", "part"])
def test_presence_by_brute_force(folder, how):
    """Of everyone whom the label of a class may mean, the share that is in the data lies within what was asked."""
    everyone = [(str(20 + i * 7 % 50), ("Ulm", "Bonn", "Lyon")[i % 3]) for i in range(1500)]
    (folder / "everyone.csv").write_text("age,town\n" + "\n".join(map(",".join, everyone)) + "\n")
    schema = SCHEMA + "- {name: here, kind: boolean}\n"
    (folder / "here.yaml").write_text(schema)
    lines = [f"x{i},{age},{town},flu,1,{'true' if i < 300 else 'false'}" for i, (age, town) in enumerate(everyone)]
    (folder / "here.csv").write_text("name,age,town,ill,visits,here\n" + "\n".join(lines) + "\n")
    where = {"population": ("people.csv", "-s", "people.yaml"), "part": ("here.csv", "-s", "here.yaml")}[how]
    named = {"population": ("--population", "everyone.csv"), "part": ("--part", "here")}[how]
    asked = (*where, "--k", "3", "--sensitive", "", "-o", "out.csv", "--json", "--presence", "0.1:0.3", *named)
    done = run("anonymize", *asked)
    assert done.code == 0, done.err
    least, most = json.loads(done.out)["achieved"]["presence"]
    rows = csv.DictReader((folder / "out.csv").read_text().splitlines())
    released = Counter((row["age"], row["town"]) for row in rows)
    assert sum(released.values()) == 300
    shares = []
    for (age, town), count in released.items():
        meant = sum(_inside(age, one) and _inside(town, other) for one, other in everyone)
        shares.append(count / meant)
    assert 0.1 <= min(shares) <= max(shares) <= 0.3
    assert (min(shares), max(shares)) == pytest.approx((least, most))


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--presence", "0.1:0.5"), "population"),
        (("--population", "people.csv"), "presence"),
        (("--presence", "0.5:0.1", "--population", "people.csv"), "presence"),
        (("--presence", "many", "--population", "people.csv"), "presence"),
        (("--presence", "0.1:0.5", "--population", "few.csv"), "everyone"),
        (("--presence", "0.1:0.5", "--population", "people.csv", "--suppress", "0.1"), "suppressed"),
        (("--presence", "0.1:0.5", "--part", "visits"), "boolean"),
    ],
)
def test_presence_that_cannot_be(folder, options, says):
    (folder / "few.csv").write_text("age,town\n20,Ulm\n")
    code, _, err = anonymized("--k", "3", "-o", "out.csv", *options)
    assert code in (2, 4), err
    assert says in err
    assert not (folder / "out.csv").exists()


def test_bayardo_says_whether_it_was_proved_best(folder):
    (folder / "few.csv").write_text(
        "name,age,town,ill,visits\n" + "".join(f"n,{20 + i % 3},Ulm,flu,1\n" for i in range(9))
    )
    asked = ("anonymize", "few.csv", "-s", "people.yaml", "--k", "3", "--method", "bayardo", "-o", "out.csv")
    proved = run(*asked, "--json")
    assert json.loads(proved.out)["search"]["proved"] is True
    assert "Proved best" in run(*asked).out
    wide = ("--k", "10", "--method", "bayardo", "--most", "200", "-o", "out.csv")
    told = json.loads(anonymized(*wide, "--json").out)["search"]
    assert (told["proved"], told["most"]) == (False, 200)
    assert "Not proved best: stopped after" in anonymized(*wide).out


def test_figures_in_a_terminal_and_other_columns(folder):
    code, out, err = anonymized("--k", "5", "--qi", "age", "--keep", "visits", "-o", "out.parquet")
    assert code == 0, err
    assert "people in the smallest class" in out
    assert (folder / "out.parquet").is_file()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--k", "301"], "largest k that these rows allow is 300"),
        (["--k", "5", "--qi", "name"], "an identifier is never released"),
        (["--k", "5", "--l", "4"], "not even one class of all people"),
        (["--k", "5", "--hierarchy", "town"], "attribute=file"),
        (["--k", "5", "--keep", "shoe"], "no such name"),
    ],
)
def test_refusals_leave_nothing_behind(folder, options, words):
    code, _, err = anonymized(*options, "-o", "out.csv")
    assert (code, words in err) == (2, True), err
    assert not (folder / "out.csv").exists()


def test_a_file_of_no_known_kind_is_refused(folder):
    code, _, err = anonymized("--k", "5", "-o", "out.xlsx")
    assert (code, "must end in .csv or .parquet" in err) == (2, True)


@pytest.mark.parametrize("method", ["datafly", "samarati", "ola", "incognito", "bayardo"])
def test_whole_columns_are_recoded(method, folder):
    options = ("--qi", "town", "--k", "20", "--method", method, "--hierarchy", "town=towns.csv", "-o", "out.csv")
    code, out, err = anonymized(*options, "--json")
    assert code == 0, err
    rows = list(csv.DictReader((folder / "out.csv").read_text().splitlines()))
    assert min(Counter(row["town"] for row in rows).values()) >= 20
    assert 0 <= json.loads(out)["loss"]["gcp"] <= 1
