"""Every command names the ledger, and the same file in another folder has no new budget."""

from __future__ import annotations

import json
import shutil

import pytest

from .conftest import run

SCHEMA = """
tacita: 1
attributes:
- {name: sex, kind: categorical, levels: [f, m]}
- {name: ill, kind: boolean}
"""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    (tmp_path / "people.csv").write_text("sex,ill\n" + "".join(f"{'fm'[i % 2]},{i % 3 == 0}\n" for i in range(60)))
    (tmp_path / "people.yaml").write_text(SCHEMA)
    assert run("budget", "open", "people", "--epsilon", "2").code == 0
    assert ask("people", "people.csv").code == 0
    (tmp_path / "elsewhere").mkdir()
    shutil.copy(tmp_path / "people.csv", tmp_path / "elsewhere" / "copy.csv")
    monkeypatch.chdir(tmp_path / "elsewhere")
    return tmp_path


def ask(account, data, *more, schema="people.yaml"):
    return run("query", data, "-s", schema, "-a", account, "--by", "sex", "--epsilon", "0.1", *more)


def test_another_folder_has_the_same_account(folder):
    assert ask("people", "copy.csv", schema="../people.yaml").code == 0
    (balance,) = json.loads(run("budget", "show", "people", "--json").out)
    assert balance["spent"] == pytest.approx(0.2)


def test_a_new_account_for_a_copy_is_refused_without_a_reason(folder):
    run("budget", "open", "mine", "--epsilon", "2")
    refused = ask("mine", "copy.csv", schema="../people.yaml")
    assert refused.code != 0
    assert "'people'" in refused.err
    assert "--again" in refused.err
    made = ("synthesize", "copy.csv", "-s", "../people.yaml", "-a", "mine", "--epsilon", "0.5", "-o", "rows.csv")
    assert run(*made).code != 0
    assert json.loads(run("budget", "show", "mine", "--json").out)[0]["charges"] == 0
    assert ask("mine", "copy.csv", "--again", "a rehearsal with invented people", schema="../people.yaml").code == 0
    assert run(*made).code == 0


def test_commands_that_open_or_charge_say_where_the_ledger_is(folder):
    place = str(folder / "home" / "state.db")
    for done in (
        run("budget", "open", "more", "--epsilon", "1"),
        run("budget", "show", "more", "--json"),
        ask("people", "copy.csv", "--json", schema="../people.yaml"),
    ):
        assert done.code == 0
        assert place in done.err.replace("\n", "")
        assert place not in done.out
