"""A copy of a ledger must not let the same budget be spent twice."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import sqlalchemy as sa
from tests.support.postgres import PORT, PostgresServer, find_binaries

from tacita.errors import BudgetExceeded, Conflict
from tacita.privacy.budget import Budget
from tacita.privacy.event import Pure
from tacita.privacy.ledger import Ledger
from tacita.privacy.reopening import HighWaterMark, reopen
from tacita.privacy.unit import Neighbours, Unit
from tacita.store import Database
from tacita.store.fence import (
    RESTORED,
    WHOLE,
    check_open,
    close_every,
    closed_because,
    closed_names,
    note_place,
    take_place,
)
from tacita.store.schema import fences, installation

TERMS = {"unit": Unit.row(), "neighbours": Neighbours.ADD_REMOVE, "budget": Budget.pure(1.0)}
WHO = {
    "question": "?",
    "unit": Unit.row(),
    "neighbours": Neighbours.ADD_REMOVE,
    "principal": "tester",
    "purpose": "test",
}


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def database(request, tmp_path):
    url = f"sqlite:///{tmp_path}/s.db" if request.param == "sqlite" else request.getfixturevalue("postgres_url")
    made = Database(url)
    yield made
    made.close()


def close(database: Database) -> int:
    with database.writing() as connection:
        return close_every(connection, RESTORED)


def reason(database: Database, account: str) -> str | None:
    with database.reading() as connection:
        return closed_because(database, connection, account)


def test_an_open_ledger_has_no_fence(database):
    Ledger(database).open("a", **TERMS)
    assert reason(database, "a") is None
    assert reason(database, "not there") is None


def test_every_account_is_closed_once(database):
    ledger = Ledger(database)
    for name in "ab":
        ledger.open(name, **TERMS)
    assert close(database) == 2
    assert close(database) == 0
    with database.reading() as connection:
        assert set(closed_names(connection)) == {WHOLE, "a", "b"}
        with pytest.raises(Conflict, match="tacita budget reopen"):
            check_open(database, connection, "a")


def test_an_account_that_is_not_there_is_closed_with_the_whole_ledger(database):
    Ledger(database).open("a", **TERMS)
    close(database)
    assert reason(database, "lost") == RESTORED
    with database.writing() as connection:
        connection.execute(fences.delete().where(fences.c.account == "a"))
    assert (
        reason(database, "a") is None
    )  # its own fence is gone: that of the whole ledger is for those that are missing
    assert reason(database, "lost") == RESTORED


@pytest.mark.parametrize(
    "act",
    [
        lambda ledger, _: ledger.reserve("a", Pure(epsilon=0.1), **WHO),
        lambda ledger, _: ledger.reserve("a", Pure(epsilon=0.2), key="waits", **WHO),
        lambda ledger, charge: ledger.settle(charge, "an answer"),
        lambda ledger, _: ledger.quote("a", Pure(epsilon=0.1)).check(),
        lambda ledger, _: ledger.replace("unused", **TERMS),
        lambda ledger, _: ledger.close("unused"),
    ],
)
def test_nothing_goes_through_a_closed_account(database, act):
    ledger = Ledger(database)
    ledger.open("a", **TERMS)
    ledger.open("unused", **TERMS)
    charge = ledger.reserve("a", Pure(epsilon=0.2), key="waits", **WHO)
    close(database)
    with pytest.raises(Conflict, match="is closed"):
        act(ledger, charge)
    balance = ledger.balance("a")
    assert (float(balance.spent), balance.charges, balance.closed) == (0.2, 1, RESTORED)
    assert not ledger.quote("a", Pure(epsilon=0.1)).affordable


def test_an_answer_that_was_stored_before_is_still_given(database):
    ledger = Ledger(database)
    ledger.open("a", **TERMS)
    ledger.settle(ledger.reserve("a", Pure(epsilon=0.2), key="k", **WHO), "the answer")
    close(database)
    assert ledger.reserve("a", Pure(epsilon=0.2), key="k", **WHO).answer == "the answer"
    assert ledger.find("a", "k").answer == "the answer"


def test_an_account_that_is_opened_in_a_fenced_ledger_begins_closed(database):
    close(database)
    ledger = Ledger(database)
    ledger.open("lost", **TERMS)
    with pytest.raises(Conflict, match="is closed"):
        ledger.reserve("lost", Pure(epsilon=0.1), **WHO)
    assert ledger.open("lost", **TERMS).name == "lost"  # finding it again opens nothing
    assert ledger.balance("lost").closed == RESTORED


@contextmanager
def promoted_copy(server: PostgresServer) -> Iterator[int]:
    """A physical copy of a running cluster, promoted to a timeline of its own; the port of its socket."""
    if not (find_binaries() / "pg_basebackup").is_file():
        pytest.skip("no pg_basebackup here")
    folder, port = server._folder, PORT + 1
    copy = folder / "copy"
    server._run("pg_basebackup", "-h", folder, "-p", PORT, "-U", "postgres", "-D", copy, "-c", "fast", "-X", "stream")
    signal = copy / "standby.signal"
    signal.touch()
    shutil.chown(signal, folder.stat().st_uid, folder.stat().st_gid)
    options = f"-c listen_addresses= -c port={port} -c unix_socket_directories={folder}"
    server._run("pg_ctl", "-D", copy, "-o", options, "-l", folder / "copy.log", "-w", "start")
    try:
        server._run("pg_ctl", "-D", copy, "-w", "promote")
        yield port
    finally:
        server._run("pg_ctl", "-D", copy, "-m", "immediate", "-w", "stop")
        shutil.rmtree(copy)


@pytest.mark.postgres
class TestPlace:
    """PostgreSQL says where the state is."""

    @pytest.fixture
    def moved(self, postgres, postgres_url):
        """A ledger that `pg_restore` or `CREATE DATABASE ... TEMPLATE` has put into another database."""
        first = Database(postgres_url)
        Ledger(first).open("a", **TERMS)
        first.close()
        name = sa.make_url(postgres_url).database
        copy = postgres.create_database(f"{name}_empty").replace(f"{name}_empty", f"{name}_copy")
        engine = sa.create_engine(
            sa.make_url(postgres.url()).set(drivername="postgresql+psycopg"), isolation_level="AUTOCOMMIT"
        )
        with engine.connect() as connection:
            connection.exec_driver_sql(f'CREATE DATABASE "{name}_copy" TEMPLATE "{name}"')
        engine.dispose()
        made = Database(copy)
        yield made
        made.close()

    def test_a_copied_database_is_closed(self, moved):
        ledger = Ledger(moved)
        assert "another database" in ledger.balance("a").closed
        with pytest.raises(Conflict, match="is closed"):
            ledger.reserve("a", Pure(epsilon=0.1), **WHO)
        note_place(moved)  # opening it again does not adopt the place
        assert ledger.balance("a").closed is not None

    def test_taking_the_place_keeps_the_accounts_closed(self, moved):
        with moved.writing() as connection:
            take_place(moved, connection)
        with moved.reading() as connection:
            assert set(closed_names(connection)) == {WHOLE, "a"}
        with moved.writing() as connection:
            take_place(moved, connection)  # once is enough
        assert Ledger(moved).balance("a").closed is not None

    def test_another_timeline_is_another_place(self, postgres_url):
        database = Database(postgres_url)
        Ledger(database).open("a", **TERMS)
        with database.writing() as connection:
            query = sa.select(installation.c.value).where(installation.c.name == "place")
            place = connection.execute(query).scalar_one()
            *server, timeline = place.split("/")
            assert timeline == "00000001"
            later = "/".join([*server, "00000002"])
            connection.execute(installation.update().where(installation.c.name == "place").values(value=later))
        assert Ledger(database).balance("a").closed is not None

    def test_a_cluster_that_was_copied_and_promoted_is_closed(self, postgres, postgres_url):
        """Recovery as operators do it: the copy lacks what was charged after it was made."""
        ledger = Ledger(Database(postgres_url))
        ledger.open("a", **TERMS)
        ledger.reserve("a", Pure(epsilon=0.4), **WHO)
        with promoted_copy(postgres) as port:
            ledger.reserve("a", Pure(epsilon=0.5), **WHO)
            copy = Ledger(Database(postgres_url.replace(f"port={PORT}", f"port={port}")))
            assert float(copy.balance("a").spent) == 0.4
            with pytest.raises(Conflict, match="timeline"):
                copy.reserve("a", Pure(epsilon=0.5), **WHO)
            assert float(reopen(copy, "a", HighWaterMark(spent=0.9)).spent) == 0.9
            copy.reserve("a", Pure(epsilon=0.1), **WHO)
            with pytest.raises(BudgetExceeded):
                copy.reserve("a", Pure(epsilon=0.1), **WHO)
            copy._database.close()
        assert ledger.balance("a").closed is None
        ledger._database.close()

    def test_a_role_without_further_rights_knows_the_place(self, postgres_url):
        engine = sa.create_engine(sa.make_url(postgres_url).set(drivername="postgresql+psycopg"))
        with engine.begin() as connection:
            connection.exec_driver_sql("DROP ROLE IF EXISTS plain_role")
            connection.exec_driver_sql("CREATE ROLE plain_role LOGIN")
            connection.exec_driver_sql("CREATE SCHEMA AUTHORIZATION plain_role")
        plain = sa.make_url(postgres_url).set(username="plain_role").render_as_string(hide_password=False)
        database = Database(plain)
        with database.reading() as connection:
            place = connection.execute(sa.select(database.place)).scalar_one()
        assert "?" not in place
        database.close()
        with engine.begin() as connection:
            connection.exec_driver_sql("DROP OWNED BY plain_role CASCADE")
            connection.exec_driver_sql("DROP ROLE plain_role")
        engine.dispose()

    def test_a_part_that_a_role_may_not_read_closes_nothing(self, postgres_url):
        database = Database(postgres_url)
        Ledger(database).open("a", **TERMS)
        with database.writing() as connection:
            query = sa.select(installation.c.value).where(installation.c.name == "place")
            _, oid, timeline = connection.execute(query).scalar_one().split("/")
            values = {"value": f"?/{oid}/{timeline}"}
            connection.execute(installation.update().where(installation.c.name == "place").values(values))
        assert Ledger(database).balance("a").closed is None
