"""The commands as a user runs them: real files, exit codes and messages."""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from tacita.collect.campaigns import Campaigns
from tacita.domain import Domain
from tacita.store import Database
from tacita.testing.respondents import answer_campaign

from .conftest import run

SCHEMA = """
tacita: 1
attributes:
- {name: age, kind: numeric, bounds: [0, 99], edges: [0, 18, 65, 99], integer: true, missing: true}
- {name: sex, kind: categorical, levels: [f, m]}
"""
ROWS = "age,sex\n" + "".join(f"{20 + i % 60},{'fm'[i % 2]}\n" for i in range(500))


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "people.csv").write_text(ROWS)
    (tmp_path / "people.yaml").write_text(SCHEMA)
    return tmp_path


def good(*arguments):
    done = run(*arguments)
    assert done.code == 0, done.err
    return done.out


def test_a_first_look(folder):
    good("budget", "open", "people", "--epsilon", "1")
    plan = good(
        "query", "people.csv", "-s", "people.yaml", "-a", "people", "-b", "sex", "--epsilon", "0.5", "--dry-run"
    )
    assert "± 6" in plan
    assert json.loads(good("budget", "show", "people", "--json"))[0]["spent"] == 0
    shown = good(
        "query",
        "people.csv",
        "-s",
        "people.yaml",
        "-a",
        "people",
        "-b",
        "age,sex",
        "--count",
        "--epsilon",
        "0.5",
    )
    assert "18..64" in shown
    assert "remaining" in shown
    answer = json.loads(
        good(
            "query",
            "people.csv",
            "-s",
            "people.yaml",
            "-a",
            "people",
            "-b",
            "sex",
            "--epsilon",
            "0.5",
            "--json",
            "--key",
            "k",
            "-o",
            "out.json",
        )
    )
    assert answer["balance"]["remaining"] == 0
    assert abs(sum(answer["releases"][0]["estimate"]) - 500) < 60
    assert json.loads((folder / "out.json").read_text())["releases"] == answer["releases"]
    again = good(
        "query",
        "people.csv",
        "-s",
        "people.yaml",
        "-a",
        "people",
        "-b",
        "sex",
        "--epsilon",
        "0.5",
        "--json",
        "--key",
        "k",
    )
    assert json.loads(again)["releases"] == answer["releases"]
    assert "settled" in good("budget", "history", "people")
    assert len(good("budget", "export", "people").splitlines()) == 3


def test_schema_from_draft_to_use(folder):
    good("schema", "infer", "people.csv", "-o", "draft.yaml")
    good("budget", "open", "people", "--epsilon", "1")
    ask = ("query", "people.csv", "-s", "draft.yaml", "-a", "people", "-b", "sex", "--epsilon", "0.5")
    refused = run(*ask)
    assert (refused.code, "schema confirm" in refused.err) == (6, True)
    assert run("schema", "confirm", "draft.yaml").code == 1  # asks, and nobody says yes
    assert "Confirmed 2" in good("schema", "confirm", "draft.yaml", "--yes")
    good(*ask)
    assert run("schema", "infer", "people.csv", "-o", "draft.yaml").code == 8
    assert "500 rows" in good("schema", "check", "people.csv", "-s", "people.yaml")


def test_check_tells_the_owner_what_does_not_fit(folder):
    (folder / "people.csv").write_text("age,sex\n5,x\n,f\n")
    done = run("schema", "check", "people.csv", "-s", "people.yaml", "--json")
    assert done.code == 3
    assert json.loads(done.out)["columns"][1]["nowhere"] == 1
    assert json.loads(done.err)["field"] == "sex"


QUERY = ("query", "people.csv", "-s", "people.yaml", "-a", "people", "-b", "sex")


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        ((*QUERY, "--epsilon", "-1"), 2, "epsilon"),
        ((*QUERY, "--epsilon", "nan"), 2, "epsilon"),
        ((*QUERY, "--epsilon", "inf"), 2, "epsilon"),
        (QUERY, 2, "--epsilon"),
        ((*QUERY, "--epsilon", "5"), 5, "remaining 1"),
        ((*QUERY, "--epsilon", "0.5", "-b", "hight"), 2, "hight"),
        ((*QUERY, "--epsilon", "0.5", "-b", "age,age"), 2, "distinct"),
        ((*QUERY, "--epsilon", "0.5", "-b", "sex"), 2, "twice"),
        ((*QUERY, "--epsilon", "0.5", "--family", "gaussian"), 2, "delta"),
        (("query", "none.csv", *QUERY[2:], "--epsilon", "0.5"), 4, "none.csv"),
        (("query", "people.csv", "-s", "none.yaml", *QUERY[4:], "--epsilon", "0.5"), 2, "none.yaml"),
        (("query", "people.csv", "-s", "people.yaml", "-a", "peopel", "-b", "sex", "--epsilon", "1"), 2, "people"),
        (
            ("query", "postgresql://u:hunter2@127.0.0.1:1/x", *QUERY[2:], "--from", "t", "--epsilon", "0.5"),
            4,
            "127.0.0.1",
        ),
        (("budget", "open", "people", "--epsilon", "9"), 8, "exists already"),
        (("budget", "open", "x", "--epsilon", "1", "--unit", "house"), 2, "person:KEY"),
        (("token", "revoke", "nobody"), 2, "nobody"),
        (("schema", "infer", "people.doc"), 2, "people.doc"),
        (("schema", "infer", "nobody.csv"), 4, "nobody.csv"),
    ],
)
def test_bad_input(folder, arguments, code, says):
    good("budget", "open", "people", "--epsilon", "1")
    done = run(*arguments)
    assert done.code == code, done.err
    assert says in done.err
    assert "hunter2" not in done.err
    assert "Traceback" not in done.err
    machine = run(*arguments, "--json") if arguments[0] == "query" else None
    if machine is not None:
        assert json.loads(machine.err)["code"]
    assert json.loads(good("budget", "show", "people", "--json"))[0]["spent"] == 0


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (b"age,gender\n3,f\n", "sex"),
        (b"age,sex\n3,f\n4\n", "line 3"),
        (b"", "empty"),
    ],
)
def test_broken_files(folder, text, says):
    """The owner sees the line; nothing is charged for a file that cannot be read from the start."""
    (folder / "people.csv").write_bytes(text)
    good("budget", "open", "people", "--epsilon", "1")
    done = run(*QUERY, "--epsilon", "0.5")
    assert done.code == 3, done.err
    assert says in done.err


def test_bytes_that_are_no_text_are_told_to_the_owner_and_to_nobody_else(folder):
    """Whether a query fails must not depend on one person's bytes; the owner's check says where they are."""
    (folder / "people.csv").write_bytes(b"age,sex\n3,\xff\n")
    good("budget", "open", "people", "--epsilon", "1")
    good(*QUERY, "--epsilon", "0.5")
    done = run("schema", "check", "people.csv", "-s", "people.yaml")
    assert done.code == 3
    assert "UTF-8" in done.err


def _public_tables(folder, domain, people, here):
    """Tables of another sample as a prior, of the plan and of what is published."""
    counts = Counter(zip(people["A"].to_pylist(), people["E"].to_pylist(), strict=True))
    (folder / "known.csv").write_text("A,E,count\n" + "".join(f"{a},{e},{n}\n" for (a, e), n in counts.items()))
    told = good("collect", "tables", *here, "--prior", "known.csv", "--published", "modelled")
    assert "The prior was trusted to" in " ".join(told.split())
    larger = json.loads(
        good("collect", "tables", *here, "--prior", "known.csv", "--by", "A,E,T", "--published", "modelled", "--json")
    )
    assert larger["releases"][0]["provenance"]["recipe"]["prior"]["trust"] >= 0  # the reports decide
    (folder / "wrong.csv").write_text("A,count\nnobody,3\n")
    assert run("collect", "tables", *here, "--prior", "wrong.csv").code == 2
    assert run("collect", "tables", *here, "--prior", "known.csv", "--published", "raw").code == 2
    asked = ("-s", "survey.yaml", "--pairs", "--respondents", "8000", "--epsilon", "1")
    assert "Plan" in good("collect", "plan", *asked, "--prior", "known.csv")


def test_collect(folder):
    ask = ("-s", "people.yaml", "--by", "age,sex", "--respondents", "3000", "--epsilon", "2")
    shown = good("collect", "plan", *ask)
    assert "most 2" in shown
    assert "Expected distance of a published table" in shown
    assert json.loads(good("collect", "plan", *ask, "--mode", "singles", "--json"))["mode"] == "singles"
    simulated = json.loads(good("collect", "simulate", "people.csv", *ask, "--json"))
    assert simulated["simulated"]
    assert abs(sum(sum(row) for row in simulated["tables"]["age x sex"]) - 1) < 1e-9
    assert "Simulated" in good("collect", "simulate", "people.csv", *ask)
    planned = json.loads(good("collect", "plan", *ask, "--mode", "tables", "--half-width", "0.1", "--json"))
    assert planned["needed_each"] < planned["needed"]
    state = "sqlite:///stops.db"
    ask_more = (*ask, "--mode", "tables", "--title", "x", "--half-width", "0.1", "--state", state, "--minimum", "1")
    rule = json.loads(good("collect", "create", *ask_more, "--json"))["terms"]["stop"]
    assert rule["planned"] == planned["needed"]  # the campaign closes around the planner's own number
    assert rule["tables"] == [["age", "sex"]]
    assert f"planned for {planned['needed']:,} respondents" in " ".join(
        good("collect", "create", *ask_more, "--id", "again").split()
    )
    for wrong, says in (
        (("--epsilon", "0"), "epsilon"),
        (("--mode", "x"), "mode"),
        (("--dependence", "3"), "dependence"),
    ):
        done = run("collect", "plan", *ask, *wrong)
        assert (done.code, says in done.err) == (2, True)
    assert run("collect", "plan", *ask[:2], *ask[4:]).code == 2


def test_collect_in_two_phases(folder):
    ask = ("-s", "people.yaml", "--by", "age,sex", "--respondents", "3000", "--epsilon", "2", "--mode", "tables")
    two = (*ask, "--phases", "two", "--first", "0.4")
    planned = json.loads(good("collect", "plan", *two, "--json"))
    assert (planned["phases"], planned["first"]) == (2, 0.4)
    assert "first 1,200 respondents" in " ".join(good("collect", "plan", *two).split())
    assert json.loads(good("collect", "plan", *ask, "--phases", "auto", "--json"))["phases"] in (1, 2)
    assert json.loads(good("collect", "simulate", "people.csv", *two, "--json"))["simulated"]
    state = ("--state", "sqlite:///phases.db", "--minimum", "1", "--title", "x")
    assert json.loads(good("collect", "create", *two, *state, "--json"))["first_respondents"] == 1200
    assert "Phase 1 of 2" in good("collect", "create", *two, *state, "--id", "again")
    for wrong, says in (
        (("--phases", "three"), "phases"),
        (("--first", "0"), "first"),
        (("--channel", "rr"), "channel"),
        (("--mode", "singles"), "phases"),
    ):
        done = run("collect", "plan", *two, *wrong)
        assert (done.code, says in done.err) == (2, True)
    done = run("collect", "create", *two, *state, "--block", "100")
    assert done.code == 2
    assert "rounds" in done.err


def test_collect_in_waves(folder):
    ask = ("-s", "people.yaml", "--by", "age,sex", "--respondents", "6000", "--epsilon", "2", "--mode", "tables")
    panel = (*ask, "--waves", "3", "--turns", "2")
    planned = json.loads(good("collect", "plan", *panel, "--json"))
    assert (planned["waves"], planned["turns"], planned["epsilon"], planned["respondents"]) == (3, 2, 1.0, 4000)
    assert "loses at most 2 in all" in " ".join(good("collect", "plan", *panel).split())
    state = ("--state", "sqlite:///waves.db")
    made = good("collect", "create", *panel, *state, "--minimum", "1", "--title", "x", "--id", "panel")
    assert "Wave 1 of 3 of the series panel" in " ".join(made.split())
    for _ in range(2):  # the same again changes nothing
        assert json.loads(good("collect", "wave", "panel", "2", *state, "--json"))["id"] == "panel.2"
    assert "wave has begun" in good("collect", "status", "panel", *state)
    assert "2 of 3" in good("collect", "status", *state)
    assert run("collect", "changes", "panel.2", *state).code == 8  # no one has answered yet
    campaigns = Campaigns(Database("sqlite:///waves.db"))
    codes = {name: np.zeros(300, dtype=int) for name in ("age", "sex")}
    answer_campaign(campaigns, "panel.2", codes)
    good("collect", "wave", "panel.2", "3", *state, "--closes", "2100-01-01T00:00+00:00")
    answer_campaign(campaigns, "panel.3", codes)
    assert "p of all" in good("collect", "changes", "panel.3", *state, "--most", "3")
    found = json.loads(good("collect", "changes", "panel.3", *state, "--since", "2", "--by", "sex", "--json"))
    assert {tuple(each["attributes"]) for each in found} == {("sex",)}
    assert run("collect", "wave", "panel", "4", *state).code == 8
    for wrong, says in ((("--turns", "4"), "turns"), (("--waves", "0"), "waves"), (("--phases", "two"), "phases")):
        done = run("collect", "plan", *panel, *wrong)
        assert (done.code, says in done.err) == (2, True)


def test_tokens(folder):
    made = json.loads(good("token", "create", "ada", "--role", "analyst", "--dataset", "people", "--json"))
    assert made["token"].startswith("tct_")
    listed = good("token", "list", "--json")
    assert made["token"] not in listed
    assert json.loads(listed)[0]["name"] == "ada"
    good("token", "revoke", made["id"])
    assert "revoked" in good("token", "list")


def test_the_installed_program(folder):
    program = [sys.executable, "-c", "from tacita.cli import main; main()"]
    done = subprocess.run([*program, "budget", "show", "none"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "none" in done.stderr
    assert "Traceback" not in done.stderr


def test_help_and_version(folder):
    assert "tacita 0." in good("--version")
    for command in ("schema", "query", "budget", "serve", "token", "demo"):
        assert command in good("--help")
        assert "--help" in good(command, "--help")


def test_a_campaign(folder):
    """From a plan to made-up rows, with people who answer in bulk in between."""
    import numpy as np
    import yaml

    from tacita.collect.campaigns import Campaigns
    from tacita.demo.survey import DOMAIN, simulate
    from tacita.store import Database
    from tacita.testing.respondents import answer_campaign

    DOMAIN.write(folder / "survey.yaml")
    assert yaml.safe_load((folder / "survey.yaml").read_text())
    state = f"sqlite:///{folder}/state.db"
    asked = ("-s", "survey.yaml", "--pairs", "--respondents", "8000", "--epsilon", "4", "--mode", "tables")
    refused = run("collect", "create", *asked, "--title", "Travel", "--state", state)
    assert (refused.code, "stock device" in refused.err) == (2, True)
    asked = (*asked, "--raised-limits")
    made = json.loads(good("collect", "create", *asked, "--title", "Travel", "--state", state, "--json"))
    id = made["id"]
    assert made["state"] == "open"
    assert run("collect", "tables", id, "--state", state).code == 8  # nobody has answered
    codes = DOMAIN.encode(simulate(8000, seed=1), DOMAIN.names)
    answer_campaign(Campaigns(Database(state)), id, codes)
    here = (id, "--state", state)
    assert "8,000 reports" in good("collect", "status", *here)
    assert id in good("collect", "status", "--state", state)
    assert "A by R" in good("collect", "tables", *here, "--by", "A,R", "--check")
    shown = good("collect", "tables", *here)
    assert "Shares of single attributes" in shown.split("A by R")[0]  # the pooled prevalences come first
    assert "not claimed" not in shown
    assert "Published as" in shown
    assert "not claimed" not in good("collect", "tables", *here, "--published", "modelled", "--by", "A,E,T")
    _public_tables(folder, DOMAIN, simulate(8000, seed=2), here)
    agreed = json.loads(good("collect", "tables", *here, "--published", "consistent", "--json"))
    assert all(value >= 0 for release in agreed["releases"] for value in release["estimate"])
    assert "rejected" in good("collect", "test", *here, "--by", "O,T")
    assert json.loads(good("collect", "test", *here, "--by", "A,S", "--simulations", "19", "--json"))["df"] == 2
    assert "Edges" in good("collect", "network", *here, "--bif", "travel.bif")
    assert "probability" in (folder / "travel.bif").read_text()
    assert "Rules" in good("collect", "rules", *here)
    good("collect", "synthesize", *here, "--rows", "100", "-o", "rows.csv")
    assert len((folder / "rows.csv").read_text().splitlines()) == 101
    assert run("collect", "synthesize", *here, "--rows", "9", "-o", "rows.doc").code == 2
    good("collect", "export", *here, "-o", "tally.json")
    assert run("collect", "merge", id, "tally.json", "--state", state).code == 8  # they are all here
    assert "closed" in good("collect", "close", *here)
    assert run("collect", "open", *here).code == 8
    assert run("collect", "status", "cp_none", "--state", state).code == 2
    draft = json.loads(good("collect", "create", *asked, "--title", "x", "--draft", "--state", state, "--json"))
    assert draft["state"] == "draft"
    assert '"open"' in good("collect", "open", draft["id"], "--state", state, "--json")
    assert np.isclose(sum(q["share"] for q in draft["questions"]), 1)
    good("collect", "create", *asked, "--title", "x", "--invited", "--id", "inv", "--state", state)
    assert len(set(good("collect", "invite", "inv", "3", "--state", state).split())) == 3
    good("collect", "invite", "inv", "2", "-o", "codes.txt", "--state", state)
    assert len((folder / "codes.txt").read_text().split()) == 2
    assert run("collect", "invite", draft["id"], "1", "--state", state).code == 8  # it is open to everyone
    assert "Invited" in good("collect", "status", "inv", "--state", state)
    good("collect", "page", "--aggregator", "https://survey.example", "-o", "page")
    assert (folder / "page" / "index.html").is_file()
    wrong = run("collect", "create", *asked, "--title", "x", "--closes", "soon", "--state", state)
    assert (wrong.code, "closes" in wrong.err) == (2, True)
    blocks = run("collect", "create", *asked, "--title", "x", "--block", "10", "--state", state)
    assert blocks.code in (0, 2)


def test_what_is_confirmed_is_shown_as_a_whole(tmp_path: Path) -> None:
    levels = [f"level{at:03d}" for at in range(45)]
    rows = [f"p{at % 300},{levels[at % 45]},{20 + at % 40}" for at in range(3000)]
    Path("people.csv").write_text("patient,x,age\n" + "\n".join(rows) + "\n")
    assert "person: patient" in run("schema", "infer", "people.csv", "-o", "people.yaml").out
    for options in ((), ("--yes",)):
        done = run("schema", "confirm", "people.yaml", *options)
        assert "person: patient" in done.out
        assert all(level in done.out.replace("\n", " ") for level in levels)
        assert "from 10.0 to 60.0" in done.out.replace("\n", " ")


def test_a_person_who_is_not_named_is_said(tmp_path: Path) -> None:
    Path("people.csv").write_text("x\n" + "a\nb\n" * 20)
    assert "person: none" in run("schema", "infer", "people.csv", "-o", "people.yaml").out


def test_a_semicolon_file_is_read_as_such_by_every_command(tmp_path: Path) -> None:
    Path("people.csv").write_text("age;sex;pay\n" + "17;m;1.234,5\n18;f;99,5\n19;f;3,25\n" * 20)
    done = run("schema", "infer", "people.csv")
    assert done.code == 0, done.err
    assert "separated by semicolons" in done.out
    assert "1234.5" not in done.out  # the preview shows the file's own spelling
    found = Domain.read("schema.yaml")
    assert (found.csv.delimiter, found.csv.decimal, found.csv.thousands) == (";", ",", ".")
    assert found["pay"].kind == "numeric"
    assert run("schema", "confirm", "schema.yaml", "--yes").code == 0
    checked = json.loads(run("schema", "check", "people.csv", "-s", "schema.yaml", "--json").out)
    assert (checked["rows"], checked["fits"]) == (60, True)


def test_what_can_be_read_in_two_ways_is_refused_with_both(tmp_path: Path) -> None:
    Path("people.csv").write_text("day;sex\n" + "03/04/2020;m\n05/06/2021;f\n" * 9)
    done = run("schema", "infer", "people.csv")
    assert done.code == 2
    words = " ".join(done.err.split())
    assert "%d/%m/%Y" in words
    assert "%m/%d/%Y" in words
    assert not Path("schema.yaml").exists()
    assert run("schema", "infer", "people.csv", "--dates", "%m/%d/%Y").code == 0
    assert Domain.read("schema.yaml").csv.dates == ("%m/%d/%Y",)


@pytest.mark.parametrize("channel", ["wave", "duchi", "piecewise", "hybrid"])
def test_a_campaign_for_a_number(folder, channel):
    import numpy as np

    from tacita.collect.campaigns import Campaigns
    from tacita.domain import Domain, Numeric
    from tacita.store import Database
    from tacita.testing.respondents import answer_campaign

    Domain(attributes=(Numeric(name="age", bounds=(0, 100), bins=10),)).write(folder / "ages.yaml")
    state = f"sqlite:///{folder}/numbers.db"
    asked = ("-s", "ages.yaml", "--by", "age", "--respondents", "3000", "--epsilon", "1", "--channel", channel)
    assert "loses at most 1" in " ".join(good("collect", "plan", *asked).split())
    made = json.loads(good("collect", "create", *asked, "--title", "Ages", "--id", "ages", "--state", state, "--json"))
    assert made["questions"][0]["channel"] == channel
    answer_campaign(Campaigns(Database(state)), "ages", {"age": np.arange(3000) % 10})
    here = ("ages", "--state", state)
    (mean,) = json.loads(good("collect", "means", *here, "--json"))
    assert abs(mean["mean"] - 50) < 5 * mean["std"] < 15
    assert "95% interval" in good("collect", "means", *here)
    assert "Means" in good("collect", "tables", *here)
    if channel == "wave":
        assert "Smoothed along the order" in " ".join(good("collect", "tables", *here, "--by", "age").split())
    assert "1 % of them" in good("collect", "tables", *here, "--check")
    (folder / "ages.csv").write_text("age\n" + "\n".join(str(5 + 10 * (n % 10)) for n in range(500)))
    simulated = json.loads(good("collect", "simulate", "ages.csv", *asked, "--json"))
    assert simulated["means"][0]["simulated"]
    if channel != "wave":
        assert run("collect", "tables", *here, "--json").code == 2
        assert run("collect", "create", *asked, "--title", "Ages", "--half-width", "0.1", "--state", state).code == 2


def test_a_campaign_whose_matrix_is_refitted(folder):
    import numpy as np

    from tacita.collect.campaigns import Campaigns
    from tacita.domain import Domain, Ordinal
    from tacita.store import Database
    from tacita.testing.respondents import answer_campaign

    Domain(attributes=(Ordinal(name="school", levels=("none", "basic", "high", "college")),)).write(
        folder / "school.yaml"
    )
    state = f"sqlite:///{folder}/school.db"
    asked = ("-s", "school.yaml", "--by", "school", "--respondents", "900", "--epsilon", "1", "--channel", "optimal")
    good("collect", "plan", *asked, "--penalty", "exact")
    blocks = ("--block", "300", "--floor", "0.3", "--penalty", "squared", "--minimum", "10", "--id", "school")
    made = json.loads(good("collect", "create", *asked, *blocks, "--title", "School", "--state", state, "--json"))
    assert made["questions"][0]["channel"] == "matrix"
    campaigns = Campaigns(Database(state))
    for block in (1, 2, 3):
        assert campaigns.advance("school").block == block
        answer_campaign(campaigns, "school", {"school": np.arange(300) % 2}, seed=block)
    shown = json.loads(good("collect", "tables", "school", "--published", "raw", "--state", state, "--json"))
    (release,) = shown["releases"]
    assert release["provenance"]["recipe"]["blocks"] == 3
    assert release["event"]["epsilon"] <= 1.0
    refused = run("collect", "create", *asked[:-1], "unary", *blocks[:2], "--title", "S", "--state", state)
    assert "need randomized response or a matrix" in refused.err


def test_a_campaign_for_parities(folder):
    import numpy as np

    from tacita.collect.campaigns import Campaigns
    from tacita.domain import Boolean, Domain
    from tacita.store import Database
    from tacita.testing.respondents import answer_campaign

    Domain(attributes=tuple(Boolean(name=name) for name in "abc")).write(folder / "bits.yaml")
    state = f"sqlite:///{folder}/bits.db"
    asked = ("-s", "bits.yaml", "--pairs", "--respondents", "4000", "--epsilon", "1", "--channel", "fourier")
    made = json.loads(good("collect", "create", *asked, "--title", "Bits", "--id", "bits", "--state", state, "--json"))
    assert [question["channel"] for question in made["questions"]] == ["fourier"]
    rng = np.random.default_rng(1)
    answer_campaign(Campaigns(Database(state)), "bits", {name: rng.integers(0, 2, 4000) for name in "abc"})
    here = ("bits", "--state", state)
    shown = good("collect", "tables", *here, "--check")
    assert "a by b" in shown
    assert "1 % of them" in shown
    assert len(json.loads(good("collect", "tables", *here, "--json"))["releases"]) == 6
    assert "rejected" in good("collect", "test", *here, "--by", "a,b")
