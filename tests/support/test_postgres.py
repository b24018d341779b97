from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import psycopg
import pytest
from tests.support import postgres as module
from tests.support.postgres import PostgresServer

from tacita.errors import SourceUnavailable

pytestmark = pytest.mark.postgres


def folder_of(server: PostgresServer) -> Path:
    assert server._folder is not None
    return server._folder


def pid_of(server: PostgresServer) -> int:
    return int((folder_of(server) / "data" / "postmaster.pid").read_text().split()[0])


def is_running(pid: int) -> bool:
    process = Path(f"/proc/{pid}/cmdline")  # empty for a dead process that nobody has collected yet
    return process.exists() and process.read_bytes() != b""


def test_each_test_gets_an_empty_database(postgres: PostgresServer, postgres_url: str) -> None:
    assert postgres.create_database() != postgres_url
    with psycopg.connect(postgres_url) as connection:
        assert connection.execute("SELECT count(*) FROM pg_stat_user_tables").fetchone() == (0,)


def test_the_server_is_closed_to_others(postgres: PostgresServer) -> None:
    assert folder_of(postgres).stat().st_mode & 0o077 == 0
    with psycopg.connect(postgres.url()) as connection:
        assert connection.execute("SHOW listen_addresses").fetchone() == ("",)


def test_it_does_not_run_as_root(postgres: PostgresServer) -> None:
    assert os.stat(f"/proc/{pid_of(postgres)}").st_uid != 0


def test_databases_can_be_dropped_while_in_use(postgres: PostgresServer) -> None:
    url = postgres.create_database('odd "name"')
    with psycopg.connect(url) as connection:
        postgres.drop_database('odd "name"')
        with pytest.raises(psycopg.OperationalError):
            connection.execute("SELECT 1")


@pytest.mark.parametrize("end", ["sys.exit(3)", "1 / 0", "os.kill(os.getpid(), 15)", "os.kill(os.getpid(), 9)"])
def test_it_is_gone_however_the_process_ends(end: str) -> None:
    script = (
        "import os, sys; from tests.support.postgres import PostgresServer\n"
        "server = PostgresServer(); server.start(); server.start()\n"
        "pid = (server._folder / 'data' / 'postmaster.pid').read_text().split()[0]\n"
        f"print(server._folder, pid, flush=True); {end}"
    )
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert result.returncode != 0
    folder, pid = result.stdout.split()
    deadline = time.monotonic() + 120
    while (Path(folder).exists() or is_running(int(pid))) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not Path(folder).exists()
    assert not is_running(int(pid))


def test_a_server_that_cannot_start_says_why_and_leaves_nothing() -> None:
    server = PostgresServer(settings=("no_such_setting=1",))
    with pytest.raises(SourceUnavailable, match="pg_ctl failed") as caught:
        server.start()
    assert "no_such_setting" in (caught.value.private or "")
    with pytest.raises(SourceUnavailable, match="not running"):
        server.url()


def test_missing_programs_name_the_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_installed", lambda: None)
    monkeypatch.setattr(module, "_install_debian", lambda: None)
    monkeypatch.setattr(module, "_from_wheel", lambda: None)
    with pytest.raises(SourceUnavailable, match="apt-get install postgresql"):
        module.find_binaries()


def test_an_unreachable_temporary_folder_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module.tempfile, "gettempdir", lambda: str(tmp_path))
    chosen = Path(module._reachable_temp())
    assert os.geteuid() != 0 or all(module._passable(folder) for folder in (chosen, *chosen.parents))
