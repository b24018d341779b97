"""Two real servers on one PostgreSQL, restarted one after the other while clients send: the bench, in short."""

from __future__ import annotations

import signal

import pytest
from bench.processes import COST, TOTAL, measure


@pytest.mark.slow
@pytest.mark.postgres
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_a_rolling_restart_loses_no_request_and_doubles_no_budget(how) -> None:
    load, found = measure(rounds=1, how=how)
    if how == signal.SIGTERM:  # a request in flight of a killed server is lost, and its client would try again
        assert load.lost == []
    assert load.acknowledged
    assert load.answers
    assert load.jobs
    assert found["most charges of a key"] == 1
    assert found["over"] <= 1
    assert found["beyond"] < 1e-9
    assert len(load.answers) * COST <= TOTAL
    assert found["failed"] == 0
    assert (found["changed"], found["missing reports"], found["doubled reports"], found["extra reports"]) == (0,) * 4
