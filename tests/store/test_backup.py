"""A copy has everything, from either database and into either, and is closed whoever opens it."""

from __future__ import annotations

import contextlib
import datetime as dt
import json
import os
import sqlite3
import stat
import threading

import pytest
import sqlalchemy as sa
from tests.store.filled import fill

from tacita.errors import Conflict, InvalidInput, SourceUnavailable
from tacita.privacy.budget import Budget
from tacita.privacy.event import Pure
from tacita.privacy.ledger import Ledger
from tacita.privacy.unit import Neighbours, Unit
from tacita.store import Database
from tacita.store.backup import back_up, restore
from tacita.store.events import append
from tacita.store.schema import campaigns, events, fences, installation, job_queue, metadata, models

TERMS = {"unit": Unit.row(), "neighbours": Neighbours.ADD_REMOVE}
WHO = TERMS | {"question": "?", "principal": "tester", "purpose": "test"}
SQLITE, POSTGRES = "sqlite", pytest.param("postgres", marks=pytest.mark.postgres)


@pytest.fixture
def empty(request, tmp_path):
    """Makes empty databases of a kind."""
    made = []

    def make(kind: str) -> Database:
        if kind == "sqlite":
            url = f"sqlite:///{tmp_path}/{len(made)}.db"
        else:
            url = request.getfixturevalue("postgres").create_database()
        made.append(Database(url))
        return made[-1]

    yield make
    for database in made:
        database.close()


def content(database: Database) -> dict[str, list[tuple]]:
    """All rows, in an order that no database decides, with times that both write alike."""

    def plain(value):
        if isinstance(value, dt.datetime):
            return (value if value.tzinfo else value.replace(tzinfo=dt.UTC)).astimezone(dt.UTC).isoformat()
        return bytes(value) if isinstance(value, memoryview) else value

    found = {}
    with database.reading() as connection:
        for table in metadata.sorted_tables:
            if table not in (installation, job_queue, fences, events):
                rows = connection.execute(table.select())
                found[table.name] = sorted((tuple(plain(value) for value in row) for row in rows), key=repr)
        lines = connection.execute(events.select().order_by(events.c.id)).all()
        found["events"] = [tuple(plain(value) for value in row) for row in lines]
    return found


@pytest.mark.parametrize("source", [SQLITE, POSTGRES])
@pytest.mark.parametrize("target", [SQLITE, POSTGRES])
def test_everything_is_there_again(empty, tmp_path, source, target):
    first, second, file = empty(source), empty(target), tmp_path / "copy"
    fill(first)
    before = content(first)
    assert all(rows for rows in before.values()), "a table of the fixture has no row"
    copied = back_up(first, file)
    assert copied.closed == 1
    restored = restore(file, second)
    assert restored.closed == 1
    assert {**restored.rows, "fences": 0, "events": 0} == {**copied.rows, "fences": 0, "events": 0}
    after = content(second)
    assert after["events"][: len(before["events"])] == before["events"]
    assert [line[2] for line in after["events"][len(before["events"]) :]] == ["ledger-fenced"] * 2
    # the path of a function is halted, all else is as it was
    assert [row[5] for row in after.pop("models")] == ["moved"]
    for each in (before, after):
        each.pop("events")
        each.pop("models", None)
    assert after == before


@pytest.mark.parametrize("target", [SQLITE, POSTGRES])
def test_numbers_go_on_after_those_that_were_copied(empty, tmp_path, target):
    first, second, file = empty("sqlite"), empty(target), tmp_path / "copy"
    fill(first)
    back_up(first, file)
    restore(file, second)
    with second.writing() as connection:
        highest = connection.execute(sa.select(sa.func.max(events.c.id))).scalar_one()
        append(connection, "policy-set", "a", "me")
        assert connection.execute(sa.select(sa.func.max(events.c.id))).scalar_one() == highest + 1
        row = dict(connection.execute(campaigns.select()).mappings().one())
        connection.execute(campaigns.insert().values(_without(row)))
        numbers = connection.execute(sa.select(campaigns.c.number)).scalars().all()
        assert len(set(numbers)) == 2


def _without(row):
    return {name: value for name, value in row.items() if name != "number"} | {"id": "another"}


@pytest.mark.parametrize("target", [SQLITE, POSTGRES])
def test_the_log_of_a_restored_state_is_only_added_to(empty, tmp_path, target):
    first, second, file = empty("sqlite"), empty(target), tmp_path / "copy"
    back_up(first, file)
    restore(file, second)
    with pytest.raises(sa.exc.DBAPIError, match="only added to"), second.writing() as connection:
        connection.execute(events.delete())
    with pytest.raises(sa.exc.DBAPIError, match="only added to"), second.writing() as connection:
        connection.execute(events.update().values(principal="another"))


def test_the_copy_itself_is_closed_and_private(empty, tmp_path):
    first, file = empty("sqlite"), tmp_path / "copy"
    ledger = Ledger(first)
    ledger.open("a", budget=Budget.pure(1.0), **TERMS)
    back_up(first, file)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert [path.name for path in tmp_path.iterdir() if "copy" in path.name] == ["copy"]  # in one piece
    copy = Ledger(Database(f"sqlite:///{file}"))
    with pytest.raises(Conflict, match="is closed"):
        copy.reserve("a", Pure(epsilon=0.1), **WHO)
    ledger.reserve("a", Pure(epsilon=0.1), **WHO)  # the state that was copied goes on


@pytest.mark.parametrize("kind", [SQLITE, POSTGRES])
def test_a_copy_is_of_one_moment(empty, tmp_path, kind):
    """Charges, spending and the counter of an account agree in every copy that is made while another thread charges."""
    database = empty(kind)
    ledger = Ledger(database)
    ledger.open("a", budget=Budget.pure(1000.0), **TERMS)
    stop = threading.Event()

    def charge():
        while not stop.is_set():
            ledger.reserve("a", Pure(epsilon=0.01), **WHO)

    thread = threading.Thread(target=charge)
    thread.start()
    try:
        for number in range(4):
            back_up(database, tmp_path / f"copy{number}")
    finally:
        stop.set()
        thread.join(120)
    for number in range(4):
        copy = Ledger(Database(f"sqlite:///{tmp_path}/copy{number}"))
        balance, history = copy.balance("a"), list(copy.history("a"))
        assert balance.charges == len(history) == round(float(balance.spent) * 100)


@pytest.mark.parametrize("kind", [SQLITE, POSTGRES])
def test_a_restore_overwrites_nothing(empty, tmp_path, kind):
    first, second, file = empty("sqlite"), empty(kind), tmp_path / "copy"
    back_up(first, file)
    Ledger(second).open("a", budget=Budget.pure(1.0), **TERMS)
    with pytest.raises(Conflict, match="not empty"):
        restore(file, second)
    assert Ledger(second).balance("a").closed is None
    with pytest.raises(Conflict, match="exists already"):
        back_up(first, file)


def test_only_a_copy_is_restored(empty, tmp_path):
    text, other = tmp_path / "text", tmp_path / "other.db"
    text.write_text("SQLite is not this")
    sa.create_engine(f"sqlite:///{other}").connect().exec_driver_sql("CREATE TABLE t (a)")
    for file, error in ((text, InvalidInput), (other, InvalidInput), (tmp_path / "none", SourceUnavailable)):
        with pytest.raises(error):
            restore(file, empty("sqlite"))
    with pytest.raises(InvalidInput, match="folder that exists"):
        back_up(empty("sqlite"), tmp_path / "no" / "such")


@pytest.mark.parametrize("folder", ["plain", "who?x", "a%41", "b#y", "sp ace"])
def test_names_of_files_mean_nothing(empty, tmp_path, folder):
    (tmp_path / folder).mkdir()
    first, file = empty("sqlite"), tmp_path / folder / f"{folder}.state"
    Ledger(first).open("a", budget=Budget.pure(1), **TERMS)
    back_up(first, file)
    file.chmod(0o400)
    assert restore(file, empty("sqlite")).closed == 1
    assert [each.name for each in (tmp_path / folder).iterdir()] == [file.name]
    assert {each.name for each in tmp_path.iterdir() if each.is_dir()} == {folder}


def test_a_state_with_changes_beside_it_is_no_copy(empty, tmp_path):
    """SQLite would read them, and a copy of the file alone would lack them."""
    first = empty("sqlite")
    Ledger(first).open("a", budget=Budget.pure(1), **TERMS)
    assert first.file is not None
    assert first.file.with_name(f"{first.file.name}-wal").stat().st_size
    with pytest.raises(InvalidInput, match="changes in a file beside it"):
        restore(first.file, empty("sqlite"))


def test_a_damaged_copy_is_refused(empty, tmp_path):
    first, file = empty("sqlite"), tmp_path / "backup"
    ledger = Ledger(first)
    ledger.open("a", budget=Budget.pure(1000), **TERMS)
    for number in range(100):
        ledger.settle(ledger.reserve("a", Pure(epsilon=1), **WHO), f"answer {number}" * 50)
    back_up(first, file)
    whole = file.read_bytes()
    half = len(whole) // 2 // 4096 * 4096
    file.write_bytes(whole[:half] + b"\xff" * 4096 + whole[half + 4096 :])
    with pytest.raises(InvalidInput, match="whole file"):
        restore(file, empty("sqlite"))
    file.write_bytes(whole)
    with contextlib.closing(sqlite3.connect(file)) as opened:
        opened.execute("UPDATE charges SET created = 'never'")
        opened.commit()
    with pytest.raises(InvalidInput, match="never writes"):
        restore(file, empty("sqlite"))


def test_a_pipe_is_not_waited_for(empty, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InvalidInput, match="must be a file"):
        restore(tmp_path / "pipe", empty("sqlite"))


def test_a_copy_of_a_newer_version_is_refused_and_left_alone(empty, tmp_path):
    first, file = empty("sqlite"), tmp_path / "copy"
    back_up(first, file)
    engine = sa.create_engine(f"sqlite:///{file}")
    with engine.begin() as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '9999'")
    engine.dispose()
    before = file.read_bytes()
    with pytest.raises(Conflict, match="9999"):
        restore(file, empty("sqlite"))
    assert file.read_bytes() == before


def test_a_function_with_a_noise_path_is_halted_in_the_copy(empty, tmp_path):
    first, file = empty("sqlite"), tmp_path / "copy"
    fill(first)
    back_up(first, file)
    with Database(f"sqlite:///{file}").reading() as connection:
        rows = connection.execute(sa.select(models.c.state, models.c.about)).all()
    assert [(row.state, json.loads(row.about)["form"]) for row in rows] == [("moved", "path")]
    with first.reading() as connection:
        assert connection.execute(sa.select(models.c.state)).scalar_one() == "active"
