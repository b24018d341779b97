"""The line of progress: after a while, on standard error, removed before anything else is printed."""

import io
import time

import pytest

from tacita.cli.parts.progress import Display


def wait_for(condition):
    end = time.monotonic() + 120
    while not condition() and time.monotonic() < end:
        time.sleep(0.01)
    assert condition()


def test_a_terminal_shows_one_line_that_is_removed():
    out = io.StringIO()
    with Display(out, terminal=True, after=0) as display:
        display.step("counting rows", 0.5)
        wait_for(lambda: "counting rows [##########..........] 50% (0 s)" in out.getvalue())
    assert out.getvalue().endswith("\r\x1b[2K")


def test_a_log_has_a_line_for_each_step():
    out = io.StringIO()
    with Display(out, terminal=False, after=0) as display:
        for name in ("reading rows", "writing rows"):
            display.step(name)
            wait_for(lambda name=name: name in out.getvalue())
        time.sleep(1)
    assert [line.split(" (")[0] for line in out.getvalue().splitlines()] == ["reading rows", "writing rows"]


@pytest.mark.parametrize("silent", [True, False])
def test_nothing_is_shown_early_or_when_silent(silent):
    out = io.StringIO()
    with Display(out, terminal=True, after=0 if silent else 1000) as display:
        if silent:
            display.silence()
        display.step("counting rows")
        time.sleep(1)
    assert out.getvalue() == ""
