"""The audit log in the store: added to and nothing else, on both stores, and there exactly when the deed is."""

import json
import subprocess
import sys
import threading

import pytest
import sqlalchemy as sa
from alembic import command
from alembic.config import Config

from tacita.errors import InvalidInput
from tacita.privacy.budget import Budget
from tacita.privacy.ledger import Ledger
from tacita.privacy.unit import Neighbours, Unit
from tacita.store import Database, database, now
from tacita.store.events import append
from tacita.store.schema import accounts, charges, events, tokens


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def url(request, tmp_path):
    return f"sqlite:///{tmp_path}/state.db" if request.param == "sqlite" else request.getfixturevalue("postgres_url")


def lines(store):
    with store.reading() as connection:
        return connection.execute(events.select().order_by(events.c.id)).all()


def write(store, subject="s", **detail):
    with store.writing() as connection:
        append(connection, "charge", subject, "Ada (1)", **detail)


REPLACE = """
    INSERT INTO events (id, at, kind, subject, principal, detail) VALUES (1, '2026-01-01', 'charge', '', '', '{}')
    ON CONFLICT (id) DO UPDATE SET principal = 'nobody'"""


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE events SET principal = 'nobody'",
        "UPDATE events SET id = id + 100 WHERE id = 1",
        "DELETE FROM events",
        "DELETE FROM events WHERE id = 1",
        REPLACE,
    ],
)
def test_the_database_refuses_to_change_or_remove_a_line(url, statement):
    store = Database(url)
    write(store)
    before = lines(store)
    with pytest.raises(sa.exc.DBAPIError, match="only added to"), store.writing() as connection:
        connection.exec_driver_sql(statement)
    assert lines(store) == before
    store.close()


def test_a_line_cannot_be_replaced_on_sqlite(tmp_path):
    store = Database(f"sqlite:///{tmp_path}/state.db")
    values = "(id, at, kind, subject, principal, detail) VALUES (1, '2026-01-01', 'charge', '', 'nobody', '{}')"
    with pytest.raises(sa.exc.DBAPIError, match="only added to"), store.writing() as connection:
        connection.exec_driver_sql(f"INSERT OR REPLACE INTO events {values}")
    assert [line.kind for line in lines(store)] == ["log-begun"]
    store.close()


@pytest.mark.postgres
def test_the_log_cannot_be_emptied_on_postgres(postgres_url):
    store = Database(postgres_url)
    with pytest.raises(sa.exc.DBAPIError, match="only added to"), store.writing() as connection:
        connection.exec_driver_sql("TRUNCATE events")
    assert [line.kind for line in lines(store)] == ["log-begun"]
    store.close()


def test_a_deed_that_fails_leaves_no_line(url):
    store = Database(url)
    ledger = Ledger(store)
    ledger.open("a", unit=Unit.parse("row"), neighbours=Neighbours.ADD_REMOVE, budget=Budget.pure(2.0))
    with pytest.raises(InvalidInput):
        ledger.raise_budget("a", Budget.pure(1.0), principal="Ada (1)")
    with pytest.raises(ZeroDivisionError), store.writing() as connection:
        append(connection, "charge", "a", "Ada (1)")
        raise ZeroDivisionError
    assert [line.kind for line in lines(store)] == ["log-begun"]
    ledger.raise_budget("a", Budget.pure(3.0), principal="Ada (1)")
    last = lines(store)[-1]
    assert (last.kind, last.subject, last.principal) == ("budget-raised", "a", "Ada (1)")
    assert [json.loads(last.detail)[name]["epsilon"] for name in ("old", "new")] == [2.0, 3.0]
    store.close()


def test_lines_stay_small_and_kinds_are_known(url):
    store = Database(url)
    write(store, subject="s" * 300, text="x" * 10_000, many=["y" * 500] * 1000, nothing=None, by={"z": "x" * 999})
    last = lines(store)[-1]
    assert len(last.subject) == 200
    assert len(last.detail) < 25_000
    assert set(json.loads(last.detail)) == {"text", "many", "by"}
    with pytest.raises(InvalidInput, match="kind"), store.writing() as connection:
        append(connection, "guess", "", "")
    store.close()


def test_many_writers_lose_and_double_nothing(url):
    """Threads here and other processes at once: every line is there, once, and ids only grow for each writer."""
    store = Database(url)
    script = (
        "import sys; from tacita.store import Database; from tacita.store.events import append\n"
        f"store = Database({url!r})\n"
        "for n in range(20):\n"
        "    with store.writing() as c: append(c, 'charge', sys.argv[1], 'p', n=n)\n"
    )
    others = [subprocess.Popen([sys.executable, "-c", script, f"process {n}"]) for n in range(2)]
    threads = [
        threading.Thread(target=lambda name=f"thread {k}": [write(store, name, n=n) for n in range(20)])
        for k in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [process.wait(120) for process in others] == [0, 0]
    found = {}
    for line in lines(store)[1:]:
        found.setdefault(line.subject, []).append(json.loads(line.detail)["n"])
    assert found == {
        f"{kind} {n}": list(range(20)) for kind, most in (("thread", 4), ("process", 2)) for n in range(most)
    }
    store.close()


def test_the_migration_keeps_what_was_there(url):
    address = sa.make_url(url)
    old = sa.create_engine(address.set(drivername="postgresql+psycopg") if "postgres" in url else address)
    config = Config()
    config.set_main_option("script_location", str(database._MIGRATIONS))
    with old.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "0005")
        account = {"name": "a", "unit": "row", "neighbours": "add-remove", "budget": '{"epsilon": 1.0}', "charges": 1}
        connection.execute(accounts.insert().values(account | {"created": now()}))
        parts = {name: name for name in ("id", "key", "question", "principal", "purpose", "state")}
        charge = parts | {"account": "a", "event": "{}", "created": now()}
        connection.execute(charges.insert().values(charge))
        token = {"id": "t", "name": "Ada", "digest": "d", "role": "admin", "datasets": "null", "created": now()}
        connection.execute(tokens.insert().values(token))
        tables = (accounts, charges, tokens)
        # columns that came later are not there yet
        kept = [sa.select(*(c for c in table.c if c.name != "opened")) for table in tables]
        before = [connection.execute(query).all() for query in kept]
        assert not sa.inspect(connection).has_table("events")
    old.dispose()
    store = Database(url)
    with store.reading() as connection:
        assert [connection.execute(query).all() for query in kept] == before
        assert connection.execute(sa.select(accounts.c.opened)).scalar_one() == 1.0
    assert [(line.kind, line.subject) for line in lines(store)] == [("log-begun", "")]
    store.close()
