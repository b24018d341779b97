"""Ctrl-C in a real process: the state stays clean, and the user learns what was spent."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from tacita.engines.local import LocalEngine
from tacita.privacy.ledger import Ledger
from tacita.store import Database

from .conftest import run

TRAIN = ("text", "train", "headlines.csv", "-v", "words.json", "-o", "model.json", "-a", "news", "--epsilon", "2")
SLOW = ("--delta", "1e-5", "--steps", "100000", "--sample", "50", "--people", "200", "--key", "mine")


def started(*arguments):
    command = [sys.executable, "-m", "tacita", *arguments]
    return subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, env=dict(os.environ), text=True)


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
