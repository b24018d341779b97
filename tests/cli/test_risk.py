"""Privacy at risk and its price on the command line."""

import io
import json
import sys
from contextlib import redirect_stderr, redirect_stdout
from types import SimpleNamespace

import pytest

from tacita.cli import main, show


@pytest.fixture(autouse=True)
def wide(monkeypatch):
    monkeypatch.setattr(show.out, "_width", 200)


def run(*arguments):
    with (
        pytest.MonkeyPatch.context() as patch,
        redirect_stdout(io.StringIO()) as out,
        redirect_stderr(io.StringIO()) as err,
    ):
        patch.setattr(sys, "argv", ["tacita", "risk", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
    return SimpleNamespace(code=ended.value.code or 0, out=out.getvalue(), err=err.getvalue())


def test_two_give_the_third():
    found = json.loads(run("at-risk", "--epsilon", "0.6", "--noise", "1", "--json").out)
    assert round(found["confidence"], 4) == 0.1847
    shown = run("at-risk", "--epsilon", "0.4", "--confidence", "0.6", "--calculus", "bessel")
    assert "0.797323" in shown.out
    assert "not a privacy guarantee" in shown.out
    assert run("at-risk", "--epsilon", "0.4").code == 2


def test_the_health_centre():
    shown = run("price", "--compensation", "5500", "--people", "100", "--error", "2", "--money", "70000")
    assert shown.code == 0, shown.err
    for text in ("74,434", "37,806", "67,979", "43,479", "0.2741"):
        assert text in shown.out
    twice = json.loads(
        run("price", "--compensation", "5500", "--people", "100", "--noise", "0.5", "--releases", "2", "--json").out
    )
    assert twice["composed"] == 1.0
    for bad in (("--noise", "0.5", "--error", "2"), (), ("--error", "-2"), ("--noise", "-1")):
        assert run("price", "--compensation", "5500", "--people", "100", *bad).code == 2
