"""A worker beside a server: killed ones are followed by others, and those that cannot live are given up."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.support.ports import free_port

from tacita.server.jobs.supervisor import Supervisor

# dawdles in its first attempt only
SLOW = """
import time
from pathlib import Path
from tacita.server.jobs.jobs import register

@register("slow")
def slow(task):
    marker = Path(task.job.request["marker"])
    first = not marker.exists()
    marker.touch()
    for step in range(600 if first else 2):
        task.progress.step(step / 600, "dawdling")
        time.sleep(0.1)
    return "{}"
"""


def until(condition: Callable[[], Any], seconds: float = 120.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it never happened"
        time.sleep(0.05)


def test_a_killed_worker_is_started_again_and_does_the_job(world, tmp_path: Path) -> None:
    (tmp_path / "slow_kind.py").write_text(SLOW)
    port, log = free_port(), tmp_path / "log"
    environment = os.environ | {
        "PYTHONPATH": str(tmp_path),
        "TACITA_HOME": str(tmp_path / "home"),
        "TACITA_PORT": str(port),
        "TACITA_JOB_STALE_SECONDS": "1",
        "TACITA_JOB_MODULES": '["slow_kind"]',
    }

    def pids() -> list[int]:
        lines = [json.loads(line) for line in log.read_text().splitlines() if line.startswith("{")]
        return [line["pid"] for line in lines if line.get("event") == "worker started"]

    with log.open("w") as file:
        process = subprocess.Popen(
            [sys.executable, "-m", "tacita.server.run"], env=environment, stderr=file, stdout=file, cwd=tmp_path
        )
    try:
        until(lambda: process.poll() is None and len(pids()) == 1)
        jobs = world.services.jobs
        job = jobs.submit("slow", {"marker": str(tmp_path / "marker")}, owner=world.owner())
        until(lambda: jobs.get(job.id).progress > 0)
        os.kill(pids()[0], signal.SIGKILL)
        until(lambda: jobs.get(job.id).state == "done")
        assert jobs.get(job.id).attempts == 2
        assert len(pids()) == 2
        until(lambda: httpx.get(f"http://127.0.0.1:{port}/readyz", timeout=120).status_code == 200)
    finally:
        process.terminate()
        process.wait(120)
        for pid in pids():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


class Corpse:
    """A process that has died."""

    pid, exitcode = 1, -9

    def is_alive(self) -> bool:
        return False


def test_one_that_cannot_live_is_given_up_and_said_so(world, caplog: pytest.LogCaptureFixture) -> None:
    started = []

    def start() -> Corpse:
        started.append(1)
        return Corpse()

    supervisor = Supervisor(start, pause=0.0, most=3)
    world.app.state.worker = supervisor
    assert world.call("GET", "/readyz").status_code == 200
    with caplog.at_level("INFO", logger="tacita.server"):
        supervisor.run()
    assert len(started) == 3
    assert "given up" in caplog.text
    answer = world.call("GET", "/readyz")
    assert (answer.status_code, answer.json()["field"]) == (503, "worker")
