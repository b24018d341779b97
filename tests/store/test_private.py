from __future__ import annotations

import os
from pathlib import Path

import pytest

from tacita.errors import SourceUnavailable
from tacita.server.jobs.queue import Queue
from tacita.store import Database


@pytest.fixture(autouse=True)
def open_umask():
    before = os.umask(0)
    yield
    os.umask(before)


def test_state_is_for_its_owner_alone(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path}/home/state.db")
    queue = Queue(tmp_path / "home" / "jobs.db")
    with database.writing():
        rights = {path.name: oct(path.stat().st_mode & 0o777) for path in (tmp_path / "home").iterdir()}
    assert {"state.db", "state.db-wal", "jobs.db"} <= set(rights)
    assert set(rights.values()) == {"0o600"}
    assert (tmp_path / "home").stat().st_mode & 0o777 == 0o700
    queue.close()
    database.close()


def test_rights_that_others_have_are_taken_back(tmp_path: Path) -> None:
    (tmp_path / "state.db").touch(0o666)
    Database(f"sqlite:///{tmp_path}/state.db").close()
    assert (tmp_path / "state.db").stat().st_mode & 0o777 == 0o600


def test_state_that_cannot_be_opened_is_named(tmp_path: Path) -> None:
    (tmp_path / "state.db").mkdir()
    with pytest.raises(SourceUnavailable, match="state"):
        Database(f"sqlite:///{tmp_path}/state.db")
