"""Back up and restore at the command line: what was spent cannot be had back."""

from __future__ import annotations

import json

import pytest

from ..conftest import run


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A home with an account, data, and a first answer that was paid for."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TACITA_HOME", str(tmp_path / "home"))
    (tmp_path / "people.yaml").write_text("tacita: 1\nattributes:\n- {name: sex, kind: categorical, levels: [f, m]}\n")
    (tmp_path / "people.csv").write_text("sex\n" + "f\nm\n" * 200)
    for name in ("people", "others"):
        assert run("budget", "open", name, "-s", "people.yaml", "--epsilon", "1").code == 0
    assert ask().code == 0
    return tmp_path


def ask(account: str = "people", epsilon: str = "0.4"):
    data = ("people.csv", "-s", "people.yaml", "-a", account, "--by", "sex")
    again = ("--again", "a test") if account != "people" else ()
    return run("query", *data, "--epsilon", epsilon, *again)


def spent(account: str = "people") -> float:
    (found,) = json.loads(run("budget", "show", account, "--json").out)
    return float(found["spent"])


def restored(monkeypatch, name: str = "second") -> None:
    monkeypatch.setenv("TACITA_STATE", f"sqlite:///{name}.db")
    done = run("state", "restore", "copy.state")
    assert done.code == 0, done.err
    assert "2 account(s) are closed" in done.out
    assert "tacita budget reopen" in done.out


def test_spending_again_after_a_restore_is_refused(folder, monkeypatch) -> None:
    copied = run("state", "backup", "copy.state", "--json")
    assert json.loads(copied.out)["closed"] == 2
    assert run("state", "backup", "copy.state").code == 8  # never overwritten
    assert ask(epsilon="0.5").code == 0
    assert spent() == 0.9

    restored(monkeypatch)
    assert spent() == 0.4
    refused = ask(epsilon="0.5")
    assert refused.code == 8
    assert "tacita budget reopen ACCOUNT --spent AMOUNT" in " ".join(refused.err.split())
    assert "people" in run("budget", "reopen").out
    assert "The account is closed" in run("budget", "show", "people").out
    assert run("budget", "reopen", "people", "--spent", "0.3").code == 2  # below the backup
    assert run("budget", "reopen", "people", "--spent", "0.9").code == 0
    assert spent() == 0.9
    assert ask(epsilon="0.5").code == 5
    assert ask(epsilon="0.1").code == 0
    assert run("budget", "reopen", "others", "--nothing-lost", "unused").code == 0
    assert "No account is closed" in run("budget", "reopen").out


def test_an_export_states_it_exactly(folder, monkeypatch) -> None:
    run("state", "backup", "copy.state")
    assert ask(epsilon="0.5").code == 0
    (folder / "later.jsonl").write_text(run("budget", "export", "people").out)
    restored(monkeypatch)
    assert run("budget", "reopen", "people", "--history", "later.jsonl").code == 0
    assert spent() == 0.9
    assert run("budget", "reopen", "others", "--history", "later.jsonl").code == 2  # of another account


def test_all_accounts_at_once(folder, monkeypatch) -> None:
    run("state", "backup", "copy.state")
    restored(monkeypatch)
    assert run("budget", "reopen", "--every", "--all-spent", "--new-accounts", "compared").code == 0
    assert ask().code == 5
    assert ask("others").code == 5
    assert run("budget", "open", "new", "-s", "people.yaml", "--epsilon", "1").code == 0
    assert ask("new").code == 0


def test_the_copy_as_the_state_is_closed_too(folder, monkeypatch) -> None:
    run("state", "backup", "copy.state")
    monkeypatch.setenv("TACITA_STATE", "sqlite:///copy.state")
    assert ask().code == 8
    assert run("budget", "close", "others").code == 8
    assert run("budget", "open", "fresh", "-s", "people.yaml", "--epsilon", "1").code == 0
    assert ask("fresh").code == 8


@pytest.mark.parametrize(
    "wrong",
    [
        ("people",),
        ("--spent", "0.5"),
        ("people", "others", "--spent", "0.5"),
        ("people", "--spent", "0.5", "--all-spent"),
        ("people", "--history", "none.jsonl"),
        ("nobody", "--all-spent"),
    ],
)
def test_what_is_not_stated_clearly_opens_nothing(folder, monkeypatch, wrong) -> None:
    run("state", "backup", "copy.state")
    restored(monkeypatch)
    assert run("budget", "reopen", *wrong).code == 2
    assert ask().code == 8


def test_a_restore_needs_an_empty_state_and_a_backup(folder) -> None:
    run("state", "backup", "copy.state")
    assert run("state", "restore", "copy.state").code == 8
    assert run("state", "restore", "people.csv", "--state", "sqlite:///third.db").code == 2
    assert run("state", "restore", "missing", "--state", "sqlite:///third.db").code == 4
