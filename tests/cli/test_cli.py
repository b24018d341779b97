"""The commands as a user runs them: real files, exit codes and messages."""

import io
import json
import os
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from types import SimpleNamespace

import pytest

from tacita.cli import main, show

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


@pytest.fixture(autouse=True)
def settings(tmp_path, monkeypatch):
    for name in [name for name in os.environ if name.startswith("TACITA_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("TACITA_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(show.out, "_width", 160)
    monkeypatch.setattr(show.err, "_width", 500)


def tacita(folder, *arguments):
    """Run the program as its entry point does; nobody is there to answer questions."""
    with (
        pytest.MonkeyPatch.context() as patch,
        redirect_stdout(io.StringIO()) as out,
        redirect_stderr(io.StringIO()) as err,
    ):
        patch.setattr(sys, "argv", ["tacita", *arguments])
        patch.setattr(sys, "stdin", io.StringIO(""))
        with pytest.raises(SystemExit) as ended:
            main()
    return SimpleNamespace(returncode=ended.value.code or 0, stdout=out.getvalue(), stderr=err.getvalue())


def good(folder, *arguments):
    done = tacita(folder, *arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_first_look(folder):
    good(folder, "budget", "open", "people", "--epsilon", "1")
    plan = good(
        folder, "query", "people.csv", "-s", "people.yaml", "-a", "people", "-b", "sex", "--epsilon", "0.5", "--dry-run"
    )
    assert "± 6" in plan
    assert json.loads(good(folder, "budget", "show", "people", "--json"))[0]["spent"] == 0
    shown = good(
        folder,
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
            folder,
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
        folder,
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
    assert "settled" in good(folder, "budget", "history", "people")
    assert len(good(folder, "budget", "export", "people").splitlines()) == 3


def test_schema_from_draft_to_use(folder):
    good(folder, "schema", "infer", "people.csv", "-o", "draft.yaml")
    good(folder, "budget", "open", "people", "--epsilon", "1")
    ask = ("query", "people.csv", "-s", "draft.yaml", "-a", "people", "-b", "sex", "--epsilon", "0.5")
    refused = tacita(folder, *ask)
    assert (refused.returncode, "schema confirm" in refused.stderr) == (6, True)
    assert tacita(folder, "schema", "confirm", "draft.yaml").returncode == 1  # asks, and nobody says yes
    assert "Confirmed 2" in good(folder, "schema", "confirm", "draft.yaml", "--yes")
    good(folder, *ask)
    assert tacita(folder, "schema", "infer", "people.csv", "-o", "draft.yaml").returncode == 8
    assert "500 rows" in good(folder, "schema", "check", "people.csv", "-s", "people.yaml")


def test_check_tells_the_owner_what_does_not_fit(folder):
    (folder / "people.csv").write_text("age,sex\n5,x\n,f\n")
    done = tacita(folder, "schema", "check", "people.csv", "-s", "people.yaml", "--json")
    assert done.returncode == 3
    assert json.loads(done.stdout)["columns"][1]["nowhere"] == 1
    assert json.loads(done.stderr)["field"] == "sex"


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
        (("schema", "infer", "people.txt"), 2, "people.txt"),
        (("schema", "infer", "nobody.csv"), 4, "nobody.csv"),
    ],
)
def test_bad_input(folder, arguments, code, says):
    good(folder, "budget", "open", "people", "--epsilon", "1")
    done = tacita(folder, *arguments)
    assert done.returncode == code, done.stderr
    assert says in done.stderr
    assert "hunter2" not in done.stderr
    assert "Traceback" not in done.stderr
    machine = tacita(folder, *arguments, "--json") if arguments[0] == "query" else None
    if machine is not None:
        assert json.loads(machine.stderr)["code"]
    assert json.loads(good(folder, "budget", "show", "people", "--json"))[0]["spent"] == 0


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
    good(folder, "budget", "open", "people", "--epsilon", "1")
    done = tacita(folder, *QUERY, "--epsilon", "0.5")
    assert done.returncode == 3, done.stderr
    assert says in done.stderr


def test_bytes_that_are_no_text_are_told_to_the_owner_and_to_nobody_else(folder):
    """Whether a query fails must not depend on one person's bytes; the owner's check says where they are."""
    (folder / "people.csv").write_bytes(b"age,sex\n3,\xff\n")
    good(folder, "budget", "open", "people", "--epsilon", "1")
    good(folder, *QUERY, "--epsilon", "0.5")
    done = tacita(folder, "schema", "check", "people.csv", "-s", "people.yaml")
    assert done.returncode == 3
    assert "UTF-8" in done.stderr


def test_collect(folder):
    ask = ("-s", "people.yaml", "--by", "age,sex", "--respondents", "3000", "--epsilon", "2")
    shown = good(folder, "collect", "plan", *ask)
    assert "most 2" in shown
    assert "rehearsal" in shown
    assert json.loads(good(folder, "collect", "plan", *ask, "--mode", "singles", "--json"))["mode"] == "singles"
    simulated = json.loads(good(folder, "collect", "simulate", "people.csv", *ask, "--json"))
    assert simulated["simulated"]
    assert abs(sum(sum(row) for row in simulated["tables"]["age x sex"]) - 1) < 1e-9
    assert "Simulated" in good(folder, "collect", "simulate", "people.csv", *ask)
    for wrong, says in (
        (("--epsilon", "0"), "epsilon"),
        (("--mode", "x"), "mode"),
        (("--dependence", "3"), "dependence"),
    ):
        done = tacita(folder, "collect", "plan", *ask, *wrong)
        assert (done.returncode, says in done.stderr) == (2, True)
    assert tacita(folder, "collect", "plan", *ask[:2], *ask[4:]).returncode == 2


def test_tokens(folder):
    made = json.loads(good(folder, "token", "create", "ada", "--role", "analyst", "--dataset", "people", "--json"))
    assert made["token"].startswith("tct_")
    listed = good(folder, "token", "list", "--json")
    assert made["token"] not in listed
    assert json.loads(listed)[0]["name"] == "ada"
    good(folder, "token", "revoke", made["id"])
    assert "revoked" in good(folder, "token", "list")


def test_the_installed_program(folder):
    program = [sys.executable, "-c", "from tacita.cli import main; main()"]
    done = subprocess.run([*program, "budget", "show", "none"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "none" in done.stderr
    assert "Traceback" not in done.stderr


def test_help_and_version(folder):
    assert "tacita 0." in good(folder, "--version")
    for command in ("schema", "query", "budget", "serve", "token", "demo"):
        assert command in good(folder, "--help")
        assert "--help" in good(folder, command, "--help")


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
    made = json.loads(good(folder, "collect", "create", *asked, "--title", "Travel", "--state", state, "--json"))
    id = made["id"]
    assert made["state"] == "open"
    assert tacita(folder, "collect", "tables", id, "--state", state).returncode == 8  # nobody has answered
    codes = DOMAIN.encode(simulate(8000, seed=1), DOMAIN.names)
    answer_campaign(Campaigns(Database(state)), id, codes)
    here = (id, "--state", state)
    assert "8,000 reports" in good(folder, "collect", "status", *here)
    assert id in good(folder, "collect", "status", "--state", state)
    assert "A by R" in good(folder, "collect", "tables", *here, "--by", "A,R", "--check")
    agreed = json.loads(good(folder, "collect", "tables", *here, "--published", "consistent", "--json"))
    assert all(value >= 0 for release in agreed["releases"] for value in release["estimate"])
    assert "rejected" in good(folder, "collect", "test", *here, "--by", "O,T")
    assert json.loads(good(folder, "collect", "test", *here, "--by", "A,S", "--simulations", "19", "--json"))["df"] == 2
    assert "Edges" in good(folder, "collect", "network", *here, "--bif", "travel.bif")
    assert "probability" in (folder / "travel.bif").read_text()
    assert "Rules" in good(folder, "collect", "rules", *here)
    good(folder, "collect", "synthesize", *here, "--rows", "100", "-o", "rows.csv")
    assert len((folder / "rows.csv").read_text().splitlines()) == 101
    assert tacita(folder, "collect", "synthesize", *here, "--rows", "9", "-o", "rows.doc").returncode == 2
    good(folder, "collect", "export", *here, "-o", "tally.json")
    assert tacita(folder, "collect", "merge", id, "tally.json", "--state", state).returncode == 8  # they are all here
    assert "closed" in good(folder, "collect", "close", *here)
    assert tacita(folder, "collect", "open", *here).returncode == 8
    assert tacita(folder, "collect", "status", "cp_none", "--state", state).returncode == 2
    draft = json.loads(good(folder, "collect", "create", *asked, "--title", "x", "--draft", "--state", state, "--json"))
    assert draft["state"] == "draft"
    assert '"open"' in good(folder, "collect", "open", draft["id"], "--state", state, "--json")
    assert np.isclose(sum(q["share"] for q in draft["questions"]), 1)
    wrong = tacita(folder, "collect", "create", *asked, "--title", "x", "--closes", "soon", "--state", state)
    assert (wrong.returncode, "closes" in wrong.stderr) == (2, True)
    blocks = tacita(folder, "collect", "create", *asked, "--title", "x", "--block", "10", "--state", state)
    assert blocks.returncode in (0, 2)
