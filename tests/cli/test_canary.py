"""No command shows a value of a private row: a canary is planted in broken data and searched for in its output."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest
from tests.support.hostile_files import BROKEN, CANARY, SCHEMA

from .conftest import run

VERBS: dict[str, tuple[str, ...]] = {
    "schema infer": ("schema", "infer", "DATA", "-o", "draft.yaml", "--force"),
    "schema check": ("schema", "check", "DATA", "-s", "schema.yaml"),
    "query": ("query", "DATA", "-s", "schema.yaml", "--by", "who", "--epsilon", "1", "-a", "people"),
    "anonymize": ("anonymize", "DATA", "-s", "schema.yaml", "--k", "2", "-o", "out.csv"),
    "synthesize": ("synthesize", "DATA", "-s", "schema.yaml", "--epsilon", "1", "-a", "people", "-o", "out.parquet"),
    "impute": ("impute", "DATA", "-s", "schema.yaml", "-o", "made"),
    "learn fit": ("learn", "fit", "DATA", "-s", "schema.yaml", "--target", "pay", "-a", "people", "--epsilon", "1"),
    "assess": ("assess", "DATA", "--real", "DATA", "-s", "schema.yaml"),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "schema.yaml").write_text(json.dumps(SCHEMA))
    return tmp_path


@pytest.mark.parametrize("verb", VERBS)
def test_no_command_shows_a_row(verb: str, folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    assert run("budget", "open", "people", "--epsilon", "100", "--unit", "row").code == 0
    codes = []
    for kind, content in BROKEN.values():
        path = folder / f"rows.{kind}"
        path.write_bytes(content)
        done = run(*(str(path) if part == "DATA" else part for part in VERBS[verb]))
        codes.append(done.code)
        assert CANARY not in done.out + done.err
        assert CANARY not in caplog.text
        assert done.code != 70, done.err
        (folder / "home").mkdir(exist_ok=True)
        for kept in (folder / "home").rglob("*"):
            assert not kept.is_file() or CANARY.encode() not in kept.read_bytes()
    assert sum(code != 0 for code in codes) >= 4  # they are broken, and the program says so


def test_an_error_that_no_one_foresaw(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Even then: the kind and the place are shown, not the text and not its causes."""

    def broken(*_: Any, **__: Any) -> None:
        try:
            raise ValueError(f"cannot read {CANARY}")
        except ValueError as error:
            raise RuntimeError(f"row {CANARY}") from error

    monkeypatch.setattr("tacita.cli.schema.draft", broken)
    done = run("schema", "infer", "rows.csv", "--force")
    assert done.code == 70
    assert CANARY not in done.out + done.err
    assert "RuntimeError" in done.err
    assert "test_canary.py" in done.err
