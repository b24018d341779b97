"""The program as a user runs it: where it looks for its home, and what comes of a command."""

from __future__ import annotations

import io
import os
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import NamedTuple

import pytest

from tacita.cli import main
from tacita.cli.parts import show


class Done(NamedTuple):
    """What a command left behind."""

    code: int
    out: str
    err: str


def run(*arguments: str) -> Done:
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
    return Done(ended.value.code or 0, out.getvalue(), err.getvalue())


@pytest.fixture(autouse=True)
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A home and a folder of the test's own, no settings from outside, and lines that are long enough."""
    for name in [name for name in os.environ if name.startswith("TACITA_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("TACITA_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(show.out, "_width", 250)
    monkeypatch.setattr(show.err, "_width", 500)
