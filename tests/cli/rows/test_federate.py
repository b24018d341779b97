"""Holders and an analyst on the command line: real processes, real files."""

import json
import subprocess
import sys

import pyarrow.parquet as pq
import pytest
from tests.support.ports import free_port

from tacita.client.holder import HolderClient

from ..conftest import run

SCHEMA = """
tacita: 1
attributes:
- {name: age, kind: numeric, bounds: [0, 99], edges: [0, 18, 65, 99], integer: true}
- {name: sex, kind: categorical, levels: [f, m]}
"""
NAMES = ("north", "south")


@pytest.fixture(autouse=True)
def folder(tmp_path):
    (tmp_path / "people.yaml").write_text(SCHEMA)
    lines = []
    for at, name in enumerate(NAMES):
        port = free_port()
        lines.append(f"- {{name: {name}, url: 'http://127.0.0.1:{port}', token_file: {name}.token}}")
        people = "".join(f"{i % 80},{'fm'[(i + at) % 2]}\n" for i in range(1000))
        (tmp_path / f"{name}.csv").write_text("age,sex\n" + people)
        assert run("holder", "token", f"{name}.token").code == 0
        assert run("budget", "open", name, "--epsilon", "3", "--state", f"sqlite:///{name}.db").code == 0
    (tmp_path / "holders.yaml").write_text("holders:\n" + "\n".join(lines) + "\n")
    return tmp_path


def federate(*more):
    return run("federate", "run", "--holders", "holders.yaml", "-s", "people.yaml", *more)


def spent(name):
    return json.loads(run("budget", "show", name, "--state", f"sqlite:///{name}.db", "--json").out)[0]["spent"]


def port_of(folder, name):
    (line,) = [line for line in (folder / "holders.yaml").read_text().splitlines() if name in line]
    return line.split("127.0.0.1:")[1].split("'")[0]


@pytest.fixture
def serving(folder):
    """Both holders, as `tacita holder serve` starts them; a run may cost 1.5, by SL1 or SL2."""
    program = "from tacita.cli import main; main()"
    processes = []
    for name in NAMES:
        arguments = ["holder", "serve", f"{name}.csv", "-s", "people.yaml", "-a", name, "--port", port_of(folder, name)]
        limits = ["--token-file", f"{name}.token", "--most", "1.5", "--methods", "SL1,SL2"]
        command = [sys.executable, "-c", program, *arguments, *limits, "--state", f"sqlite:///{name}.db"]
        processes.append(subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
    for name in NAMES:
        token = (folder / f"{name}.token").read_text().strip()
        client = HolderClient(f"http://127.0.0.1:{port_of(folder, name)}", token, patience=120.0, timeout=120)
        assert client.describe()["name"] == name
        client.close()
    yield
    for process in processes:
        process.terminate()
        process.wait()


def test_a_run_over_http_is_paid_by_each_holder(serving, folder):
    more = ("--method", "SL2", "--epsilon", "1", "--run", "first", "--people", "2000")
    done = federate(*more, "-o", "made.parquet", "--model", "m.json", "--report", "r.html", "-n", "500")
    assert done.code == 0, done.err
    assert pq.read_table("made.parquet").num_rows == 500
    assert "not local privacy" in done.out
    assert "Synthetic rows of several holders" in (folder / "r.html").read_text()
    model = json.loads((folder / "m.json").read_text())
    assert model["event"]["kind"] == "parallel"
    assert not model["provenance"]["simulated"]
    assert [spent(name) for name in NAMES] == [pytest.approx(1)] * 2
    again = json.loads(federate(*more, "-o", "again.csv", "--json").out)
    assert [spent(name) for name in NAMES] == [pytest.approx(1)] * 2, "the same run again costs nothing"
    assert again["rows"] == pytest.approx(2000, abs=100)
    refused = federate("--method", "SL3", "--epsilon", "1", "-o", "no.parquet")
    assert refused.code == 4
    assert "SL1, SL2" in refused.err
    refused = federate("--method", "SL1", "--epsilon", "2", "-o", "no.parquet")
    assert "a run may cost 1.5" in refused.err
    assert not (folder / "no.parquet").exists()
    assert [spent(name) for name in NAMES] == [pytest.approx(1)] * 2


def test_a_plan_asks_nobody():
    shown = run("federate", "plan", "--holders", "holders.yaml", "-s", "people.yaml", "--epsilon", "1")
    assert shown.code == 0, shown.err
    assert "times central" in shown.out
    told = json.loads(
        run("federate", "plan", "--holders", "holders.yaml", "-s", "people.yaml", "--epsilon", "1", "--json").out
    )
    for row in told["methods"]:
        assert row["cost_of_a_holder"] == pytest.approx(1)
        assert row["cost_of_a_person"] == pytest.approx(1)
        assert row["std"] == pytest.approx(2**0.5 * row["std_of_a_holder"])
        assert row["std"] == pytest.approx(2**0.5 * row["central_std"])  # by the same method: sharing never helps
    overlapping = ("--overlap", "possible", "--json")
    told = json.loads(
        run("federate", "plan", "--holders", "holders.yaml", "-s", "people.yaml", "--epsilon", "1", *overlapping).out
    )
    assert [row["cost_of_a_person"] for row in told["methods"]] == [pytest.approx(2)] * 3


@pytest.mark.parametrize(
    "more",
    [
        ("--method", "SL2", "-o", "x.parquet"),
        ("--method", "SL2", "--epsilon", "1", "-o", "x.txt"),
        ("--method", "SL2", "--epsilon", "1", "-o", "none/x.csv"),
        ("--method", "SL2", "--epsilon", "1", "-o", "x.csv", "--quorum", "3"),
        ("--method", "SL2", "--epsilon", "1", "-o", "x.csv", "-n", "-1"),
        ("--method", "SL2", "--epsilon", "1", "-o", "x.csv", "--fit", "mixture"),
        ("--method", "SL2", "--epsilon", "1", "-o", "x.csv", "--run", "not a name"),
        ("--method", "SL9", "--epsilon", "1", "-o", "x.csv"),
        ("--method", "SL2", "--epsilon", "1", "-o", "there.csv"),
        ("--method", "SL2", "--epsilon", "1", "-o", "x.csv", "--model", "there.csv"),
    ],
)
def test_bad_input_asks_nobody(folder, more):
    (folder / "there.csv").mkdir()
    refused = federate(*more)
    assert refused.code == 2
    assert "--run" not in refused.err  # which would say that somebody was asked


def test_nobody_there():
    done = federate("--method", "SL1", "--epsilon", "1", "-o", "x.csv", "--deadline", "0.2")
    assert done.code == 4
    assert "0 of 2" in done.err
    run = done.out.split("Run ")[1].split()[0]
    assert f"--run {run}" in done.err  # the way back to what holders may have answered


def test_tokens_are_written_once_and_for_the_owner_only(folder):
    assert (folder / "north.token").stat().st_mode & 0o077 == 0
    assert run("holder", "token", "north.token").code == 8
    assert run("holder", "token", "none/north.token").code == 2


def test_a_holder_refuses_bad_settings(folder):
    serve = ("holder", "serve", "north.csv", "-s", "people.yaml", "--port", "1", "--state", "sqlite:///north.db")
    (folder / "weak").write_text("weak")
    assert run(*serve, "-a", "north", "--token-file", "weak").code == 2
    assert run(*serve, "-a", "nobody", "--token-file", "north.token").code == 2
    assert run(*serve, "-a", "north", "--token-file", "north.token", "--methods", "SL7").code == 2
    (folder / "north.csv").write_text("age,sex\n1,x\n2\n")
    assert run(*serve, "-a", "north", "--token-file", "north.token").code == 3
