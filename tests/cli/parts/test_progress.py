"""The line of progress: after a while, on standard error, removed before anything else is printed."""

import fcntl
import io
import os
import pty
import struct
import termios
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


def test_a_line_is_never_wider_than_the_terminal():
    first, second = pty.openpty()
    fcntl.ioctl(second, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 30, 0, 0))
    with open(second, "w") as out, Display(out, terminal=True, after=0) as display:
        display.step("a step with a name that is longer than the line", 0.5)
        assert "a step" in os.read(first, 1000).decode().split("\x1b[2K")[1]
        wait_for(lambda: display._drawn)
    shown = os.read(first, 10_000).decode()
    os.close(first)
    assert all(len(line) < 30 for line in shown.replace("\r", "").split("\x1b[2K"))


@pytest.mark.parametrize("terminal", [True, False])
def test_a_stream_that_fails_or_has_few_characters_does_not_stop_the_command(terminal):
    raw = io.BytesIO()
    out = io.TextIOWrapper(raw, encoding="ascii")
    with Display(out, terminal=terminal, after=0) as display:
        display.step("größe")
        wait_for(lambda: b"gr??e" in raw.getvalue())
    out = io.TextIOWrapper(raw, encoding="ascii")
    with Display(out, terminal=terminal, after=0) as display:
        out.close()
        display.step("reading")
        wait_for(lambda: display._silent)
