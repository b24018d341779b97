import datetime as dt
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from tests.store.filled import ROWS, fill_plain

from tacita.errors import Conflict, InvalidInput, SourceUnavailable
from tacita.privacy.ledger import Ledger
from tacita.store import Database, aware
from tacita.store import database as database_module
from tacita.store.database import NEWEST
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


REVISIONS = sorted(database_module._KNOWN)[:-1]


@pytest.mark.parametrize("revision", REVISIONS)
def test_a_filled_state_of_every_earlier_version_is_brought_up_to_date(url, revision):
    """Nothing that an earlier version wrote is lost, and the ledger reads it."""
    upgraded_to(url, revision)
    leave = ("campaigns", "tallies", "kept_reports") if revision == "0001" else ()  # see the next test
    engine = sa.create_engine(database_module._parse(url))
    schema = sa.MetaData()
    schema.reflect(engine)
    with engine.begin() as connection:
        fill_plain(connection, schema, leave=leave)
    engine.dispose()
    with closing(Database(url)) as database:
        _check_carried(database, schema, leave)


def test_campaigns_of_the_first_version_are_refused_and_left_alone(url):
    upgraded_to(url, "0001")
    engine = sa.create_engine(database_module._parse(url))
    with engine.begin() as connection:
        connection.exec_driver_sql(
            "INSERT INTO campaigns (id, title, question, minimum, state, created) "
            "VALUES ('c', 'x', '{}', 5, 'open', CURRENT_TIMESTAMP)"
        )
    with pytest.raises(Conflict, match="earlier form"):
        Database(url)
    with engine.connect() as connection:
        assert connection.exec_driver_sql("SELECT id FROM campaigns").scalar_one() == "c"
        assert connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalar_one() == "0001"
    engine.dispose()


def _check_carried(database, schema, leave):
    with database.reading() as connection:
        assert connection.execute(sa.text("SELECT version_num FROM alembic_version")).scalar_one() == NEWEST
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []
        for table in metadata.sorted_tables:
            if table.name in ROWS and table.name in schema.tables and table.name not in leave:
                (row,) = connection.execute(table.select()).mappings()
                known = {name for name in ROWS[table.name] if name in schema.tables[table.name].c}
                for name in known:
                    assert plain(row[name]) == plain(ROWS[table.name][name]), f"{table.name}.{name}"
    balance = Ledger(database).balance("a")
    assert (float(balance.spent), balance.charges, balance.closed) == (0.25, 1, None)
    assert balance.account.opened == 1.0
    assert Ledger(database).find("a", "k").answer == "{}"


def upgraded_to(url, revision):
    """A new database as the version of that revision made it."""
    parsed = database_module._parse(url)
    if parsed.get_backend_name() == "sqlite":
        Path(parsed.database).parent.mkdir(parents=True)
    config = Config()
    config.set_main_option("script_location", str(database_module._MIGRATIONS))
    engine = sa.create_engine(parsed)
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, revision)
    engine.dispose()


def plain(value):
    """A value as both databases give it."""
    if isinstance(value, dt.datetime):
        return aware(value)
    return bytes(value) if isinstance(value, memoryview) else value


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
