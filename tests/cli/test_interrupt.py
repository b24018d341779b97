"""Ctrl-C in a real process: the state stays clean, and the user learns what was spent."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

from tacita.engines.local import LocalEngine
from tacita.privacy.ledger import Ledger
from tacita.store import Database

from .conftest import run

TRAIN = ("text", "train", "headlines.csv", "-v", "words.json", "-o", "model.json", "-a", "news", "--epsilon", "2")
SLOW = ("--delta", "1e-5", "--steps", "100000", "--sample", "50", "--people", "200", "--key", "mine")


@contextmanager
def started(*arguments):
    command = [sys.executable, "-m", "tacita", *arguments]
    process = subprocess.Popen(
        command,
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=dict(os.environ),
        encoding=os.environ.get("PYTHONIOENCODING", "utf-8"),
    )
    with process:
        try:
            yield process
        finally:
            process.kill()  # if it has not ended by itself


def test_a_stopped_command_says_what_was_spent(tmp_path):
    assert run("text", "example", "-n", "200", "-o", "headlines.csv", "--vocabulary", "words.json").code == 0
    assert run("budget", "open", "news", "--unit", "row", "--epsilon", "3", "--delta", "1e-5").code == 0
    state = next((tmp_path / "home").rglob("*.db"))
    ledger = Ledger(Database(f"sqlite:///{state}"))
    with started(*TRAIN, *SLOW) as process:
        end = time.monotonic() + 240
        while not ledger.balance("news").charges and process.poll() is None and time.monotonic() < end:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=240)
    assert process.returncode == 130, err
    assert "Stopped." in err
    assert "--key mine" in err
    assert 1.99 < ledger.balance("news").spent <= 2
    assert [each.name for each in Path().iterdir() if "model" in each.name] == []


def test_before_a_charge_nothing_was_spent(tmp_path, monkeypatch):
    def stop(_):
        raise KeyboardInterrupt

    monkeypatch.setattr(LocalEngine, "check", stop)
    (tmp_path / "people.csv").write_text("smokes\ntrue\n")
    (tmp_path / "people.yaml").write_text("tacita: 1\nattributes:\n- {name: smokes, kind: boolean}\n")
    done = run("schema", "check", "people.csv", "-s", "people.yaml")
    assert (done.code, done.err.split()) == (130, ["Stopped.", "Nothing", "was", "spent."])
    done = run("schema", "check", "people.csv", "-s", "people.yaml", "--json")
    assert json.loads(done.err) == {"code": "interrupted", "spent": []}


def learn(*more):
    return run("learn", "fit", "p.csv", "-s", "p.yaml", "-a", "p", "--target", "y", "--epsilon", "1", *more)


@pytest.fixture
def people(tmp_path):
    (tmp_path / "p.csv").write_text("x,y\n" + "1,2\n3,4\n" * 50)
    kind = "kind: numeric, bounds: [0, 10], bins: 4"
    (tmp_path / "p.yaml").write_text(f"tacita: 1\nattributes:\n- {{name: x, {kind}}}\n- {{name: y, {kind}}}\n")
    assert run("budget", "open", "p", "--unit", "row", "--epsilon", "3").code == 0
    return Ledger(Database(f"sqlite:///{tmp_path}/home/state.db"))


@pytest.mark.parametrize("twice", [False, True])
def test_a_command_that_is_stopped_while_it_writes_says_how_to_get_the_model(people, monkeypatch, twice):
    def stop(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("tacita.cli.learning.learn.write_text", stop)
        if twice:  # while the line of progress is removed
            patch.setattr("tacita.cli.parts.progress.Display.__exit__", stop)
        stopped = learn("-o", "m.json")
    key = re.search(r"--key (learn-\w+)", stopped.err)[1]
    assert (stopped.code, people.balance("p").charges) == (130, 1)
    assert learn("-o", "m.json", "--key", key).code == 0
    assert people.balance("p").charges == 1


def test_a_stop_in_the_ledger_is_not_called_free(people, monkeypatch):
    settle, reserve = Ledger.settle, Ledger.reserve

    def settled_and_stopped(*given):
        settle(*given)
        raise KeyboardInterrupt

    def reserved_and_stopped(*given, **named):
        reserve(*given, **named)
        raise KeyboardInterrupt

    for name, wrong in (("settle", settled_and_stopped), ("reserve", reserved_and_stopped)):
        with monkeypatch.context() as patch:
            patch.setattr(Ledger, name, wrong)
            stopped = learn("-o", "m.json", "--key", name)
        assert stopped.code == 130
        assert "charged" in stopped.err
        assert "Nothing was spent" not in stopped.err
        assert learn("-o", "m.json", "--key", name).code == 0
    assert people.balance("p").charges == 2


@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
def test_a_stream_that_cannot_hold_a_name_still_shows_what_was_paid_for(tmp_path, monkeypatch, encoding):
    monkeypatch.setenv("PYTHONIOENCODING", encoding)
    (tmp_path / "p.csv").write_text("city\nŁódź\nUlm\n")
    (tmp_path / "p.yaml").write_text("tacita: 1\nattributes:\n- {name: city, kind: categorical, levels: [Łódź, Ulm]}\n")
    assert run("budget", "open", "p", "--unit", "row", "--epsilon", "3").code == 0
    for more in ([], ["--json"]):
        given = ("query", "p.csv", "--by", "city", "-s", "p.yaml", "-a", "p", "--epsilon", "1", *more)
        with started(*given) as process:
            out, err = process.communicate(timeout=240)
        assert process.returncode == 0, err
        assert "\\u0141" in out
        if more:
            assert json.loads(out)["releases"][0]["domain"]["attributes"][0]["levels"][0] == "Łódź"
