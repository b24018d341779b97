"""The comparison with the last release: each figure has one to compare with, and a loss is found."""

from __future__ import annotations

import json

import pytest

from bench import smoke


def test_each_figure_has_one_of_the_last_release() -> None:
    before = json.loads(smoke.BEFORE.read_text(encoding="utf-8"))
    assert set(before) == {pace.name for pace in smoke.paces()} | set(smoke.ERRORS)
    assert all(figure > 0 for figure in before.values())


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(smoke, "_seconds", lambda work: work())
    monkeypatch.setattr(smoke, "_yardstick", lambda: 1.0)


@pytest.mark.usefixtures("clock")
def test_a_fall_of_a_quarter_is_found() -> None:
    slower = smoke._paced(smoke.Pace("work", lambda: 2.6), 2.0)
    assert not slower.holds
    assert slower.figure == pytest.approx(1.3)
    assert smoke._paced(smoke.Pace("work", lambda: 2.4), 2.0).holds


@pytest.mark.usefixtures("clock")
def test_a_busy_machine_gets_more_turns() -> None:
    turns = iter([9.0] * 12 + [2.0] * 20)
    assert smoke._paced(smoke.Pace("work", lambda: next(turns)), 2.0).holds


def test_errors_have_no_second_try() -> None:
    assert not smoke._row("error", 0.126, 0.1, "").holds
