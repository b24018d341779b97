"""A worker that is started alone does what another process has submitted, and ends in order."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

from tacita.server.auth.tokens import Tokens
from tacita.server.jobs.jobs import Jobs
from tacita.store import Database

KIND = """
from tacita.server.jobs.jobs import register

@register("echo")
def echo(task):
    return task.job.request["text"]
"""


def test_a_worker_alone_does_jobs(tmp_path):
    (tmp_path / "echo_kind.py").write_text(KIND)
    state = f"sqlite:///{tmp_path}/state.db"
    database = Database(state)
    jobs = Jobs(database, queue_file=None)
    owner = Tokens(database).issue(name="me", role="analyst").token.id
    job = jobs.submit("echo", {"text": '"done"'}, owner=owner)
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]),
        "TACITA_HOME": str(tmp_path / "home"),
        "TACITA_STATE": state,
        "TACITA_JOBS_QUEUE": "state",
        "TACITA_JOB_MODULES": '["echo_kind"]',
    }
    with (tmp_path / "log").open("w") as log:
        command = [sys.executable, "-m", "tacita", "worker"]
        process = subprocess.Popen(command, env=environment, cwd=tmp_path, stdout=log, stderr=log)
    try:
        deadline = time.monotonic() + 120
        while jobs.get(job.id).state != "done":
            assert process.poll() is None, (tmp_path / "log").read_text()
            assert time.monotonic() < deadline, "it never happened"
            time.sleep(0.05)
        assert jobs.get(job.id).result == '"done"'
        process.send_signal(signal.SIGTERM)
        assert process.wait(120) == 0
    finally:
        process.kill()
        process.wait()
        database.close()
