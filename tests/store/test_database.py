import subprocess
import sys

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from tacita.errors import InvalidInput, SourceUnavailable
from tacita.store import Database
from tacita.store.schema import accounts, metadata


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def url(request, tmp_path):
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/deep/er/state.db"
    return request.getfixturevalue("postgres_url")


ROW = {"name": "x", "unit": "row", "neighbours": "a", "budget": "{}", "charges": 0, "created": sa.func.now()}


def test_migrations_make_exactly_the_declared_tables(url):
    with Database(url).reading() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []


def test_a_failed_transaction_leaves_nothing(url):
    database = Database(url)
    with pytest.raises(ZeroDivisionError), database.writing() as connection:
        connection.execute(accounts.insert().values(ROW))
        raise ZeroDivisionError
    with database.reading() as connection:
        assert connection.execute(sa.select(sa.func.count()).select_from(accounts)).scalar_one() == 0


def test_many_processes_may_open_a_new_database_at_once(url):
    script = f"from tacita.store import Database; Database({url!r})"
    running = [subprocess.Popen([sys.executable, "-c", script], stderr=subprocess.PIPE) for _ in range(4)]
    assert [(process.communicate(timeout=60)[1], process.returncode) for process in running] == [(b"", 0)] * 4


def test_sqlite_is_durable(tmp_path):
    with Database(f"sqlite:///{tmp_path}/s.db").reading() as connection:
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 2


@pytest.mark.parametrize("url", ["sqlite://", "sqlite:///:memory:", "mysql://x/y", "not a url"])
def test_bad_addresses(url):
    with pytest.raises(InvalidInput, match="state"):
        Database(url)


def test_a_database_that_is_away_is_named_without_its_password():
    with pytest.raises(SourceUnavailable) as caught:
        Database("postgresql://me:hunter2@127.0.0.1:1/none?connect_timeout=2")
    assert "hunter2" not in str(caught.value.as_dict())
    assert "127.0.0.1" in str(caught.value)
