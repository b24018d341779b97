import subprocess
import sys
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

from tacita.errors import Conflict, InvalidInput, SourceUnavailable
from tacita.store import Database
from tacita.store import database as database_module
from tacita.store.schema import accounts, metadata, report_ids


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def url(request, tmp_path):
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/deep/er/state.db"
    return request.getfixturevalue("postgres_url")


ROW = {"name": "x", "unit": "row", "neighbours": "a", "budget": "{}", "charges": 0, "created": sa.func.now()}


def test_migrations_make_exactly_the_declared_tables(url):
    with Database(url).reading() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []


def test_the_newest_revision_is_the_head_of_the_migrations():
    config = Config()
    config.set_main_option("script_location", str(Path(database_module.__file__).parent / "migrations"))
    assert ScriptDirectory.from_config(config).get_current_head() == database_module.NEWEST


def test_ids_of_reports_survive_the_change_to_runs(url):
    config = Config()
    config.set_main_option("script_location", str(database_module._MIGRATIONS))
    engine = sa.create_engine(database_module._parse(url))
    ids = [number.to_bytes(16, "big") for number in range(25_000)]
    if engine.dialect.name == "sqlite":
        Path(engine.url.database).parent.mkdir(parents=True)
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "0008")
        empty = "0, 0, CURRENT_TIMESTAMP, ''"
        for number, name in ((1, "a"), (2, "b")):
            values = f"({number}, '{name}', '', '', 'open', {empty})"
            fields = "number, id, title, terms, state, block, looks, created, reason"
            connection.exec_driver_sql(f"INSERT INTO campaigns ({fields}) VALUES {values}")
        insert = sa.text("INSERT INTO reports (campaign, report) VALUES (:campaign, :report)")
        connection.execute(insert, [{"campaign": 1, "report": id} for id in ids] + [{"campaign": 2, "report": ids[0]}])
    engine.dispose()
    with Database(url).reading() as connection:
        query = sa.select(report_ids).order_by(report_ids.c.campaign, report_ids.c.run)
        runs = [(row.campaign, row.run, bytes(row.ids)) for row in connection.execute(query)]
    assert [run[:2] for run in runs] == [(1, 1), (1, 2), (1, 3), (2, 1)]
    assert b"".join(run[2] for run in runs) == b"".join(ids) + ids[0]


def test_a_database_of_a_newer_version_is_refused_and_left_alone(url):
    database = Database(url)
    with database.writing() as connection:
        connection.execute(sa.text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(Conflict, match=f"9999.*{database_module.NEWEST}"):
        Database(url)
    with database.reading() as connection:
        assert connection.execute(sa.text("SELECT version_num FROM alembic_version")).scalar_one() == "9999"


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
    assert [(process.communicate(timeout=120)[1], process.returncode) for process in running] == [(b"", 0)] * 4


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
