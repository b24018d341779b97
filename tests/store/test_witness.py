"""A state that was put back is recognised by the charges that were noted outside of it."""

from __future__ import annotations

import json
import multiprocessing
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import sqlalchemy as sa

from tacita.errors import Conflict, SourceUnavailable
from tacita.privacy.budget import Budget
from tacita.privacy.event import Pure
from tacita.privacy.ledger import Ledger
from tacita.privacy.reopening import HighWaterMark, reopen
from tacita.privacy.unit import Neighbours, Unit
from tacita.store import Database
from tacita.store import witness as module
from tacita.store.backup import back_up, restore
from tacita.store.schema import accounts, answers, charges, events, fences, installation, metadata, spending
from tacita.store.witness import Witness, begin_generation

TERMS = {"unit": Unit.row(), "neighbours": Neighbours.ADD_REMOVE, "budget": Budget.pure(1.0)}
WHO = {
    "question": "?",
    "unit": Unit.row(),
    "neighbours": Neighbours.ADD_REMOVE,
    "principal": "tester",
    "purpose": "test",
}


class State:
    """A state that can be copied and put back by means that leave no trace in it."""

    def __init__(self, url: str, folder) -> None:
        self.url, self.folder, self.opened = url, folder, []

    def open(self, witness: str | None = "witness") -> Ledger:
        self.opened.append(Database(self.url, witness=None if witness is None else self.folder / witness))
        return Ledger(self.opened[-1])

    def close(self) -> None:
        for each in self.opened:
            each.close()
        self.opened.clear()

    def copy(self) -> object:
        """Rows of the tables that a charge changes, or the file itself."""
        self.close()
        if self.url.startswith("sqlite"):
            shutil.copy(self.folder / "s.db", self.folder / "copy.db")
            return None
        with self._connection() as connection:
            return {each.name: [row._asdict() for row in connection.execute(each.select())] for each in self._tables()}

    def put_back(self, copied) -> None:
        """As `pg_restore --clean` into the same database does, or `cp`."""
        self.close()
        if copied is None:
            for more in ("-wal", "-shm"):
                (self.folder / f"s.db{more}").unlink(missing_ok=True)
            shutil.copy(self.folder / "copy.db", self.folder / "s.db")
            return
        with self._connection() as connection:
            for each in reversed(self._tables()):
                connection.execute(sa.text(f"ALTER TABLE {each.name} DISABLE TRIGGER USER"))
                connection.execute(each.delete())
            for each in self._tables():
                if copied[each.name]:
                    connection.execute(each.insert(), copied[each.name])
                connection.execute(sa.text(f"ALTER TABLE {each.name} ENABLE TRIGGER USER"))

    @contextmanager
    def _connection(self) -> Iterator[sa.Connection]:
        engine = sa.create_engine(self.url.replace("postgresql://", "postgresql+psycopg://"))
        with engine.begin() as connection:
            yield connection
        engine.dispose()

    def _tables(self) -> list[sa.Table]:
        changed = (accounts, charges, answers, spending, events, fences, installation)
        return [each for each in metadata.sorted_tables if each in changed]


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def state(request, tmp_path):
    url = f"sqlite:///{tmp_path}/s.db" if request.param == "sqlite" else request.getfixturevalue("postgres_url")
    made = State(url, tmp_path)
    made.open().open("clinic", **TERMS)
    yield made
    made.close()


def spend(ledger: Ledger, epsilon: float = 0.2, account: str = "clinic") -> None:
    ledger.settle(ledger.reserve(account, Pure(epsilon=epsilon), **WHO), "an answer")


def test_a_state_that_was_put_back_is_closed(state):
    spend(state.open())
    copied = state.copy()
    spend(state.open())
    state.put_back(copied)
    ledger = state.open()
    assert "lacks charges" in (ledger.balance("clinic").closed or "")
    with pytest.raises(Conflict, match="lacks charges"):
        spend(ledger)
    ledger.open("another", **TERMS)  # one that was lost must not begin again with a full budget
    with pytest.raises(Conflict, match="lacks charges"):
        spend(ledger, account="another")


def test_without_a_witness_it_would_not_be(state):
    """The test above is about the witness, and about nothing else."""
    spend(state.open(witness=None))
    copied = state.copy()
    spend(state.open(witness=None))
    state.put_back(copied)
    ledger = state.open(witness=None)
    spend(ledger)
    assert float(ledger.balance("clinic").spent) == pytest.approx(0.4)


def test_an_operator_opens_it_again_once_for_all_machines(state):
    """Two machines have a witness each; what was stated on one counts for the other."""
    spend(state.open("one"))
    copied = state.copy()
    spend(state.open("one"))
    spend(state.open("two"))
    state.put_back(copied)
    for witness in ("one", "two"):
        assert state.open(witness).balance("clinic").closed is not None
    reopen(state.open("one"), "clinic", HighWaterMark(spent=0.6))
    for witness in ("one", "two"):
        ledger = state.open(witness)
        assert ledger.balance("clinic").closed is None
        spend(ledger, 0.1)
    assert float(state.open().balance("clinic").spent) == pytest.approx(0.8)
    state.put_back(copied)  # and the copy again: now both know later charges
    for witness in ("one", "two"):
        assert state.open(witness).balance("clinic").closed is not None


def test_all_accounts_are_closed_when_one_is_opened(state):
    state.open().open("survey", **TERMS)
    copied = state.copy()
    spend(state.open())
    state.put_back(copied)
    reopen(state.open(), "clinic", HighWaterMark(spent=0.2))
    ledger = state.open()
    assert ledger.balance("clinic").closed is None
    assert ledger.balance("survey").closed is not None
    ledger.open("later", **TERMS)
    assert ledger.balance("later").closed is not None


def test_a_state_that_lost_nothing_stays_open(state):
    for _ in range(3):
        spend(state.open(), 0.1)
    copied = state.copy()
    state.put_back(copied)
    ledger = state.open()
    assert ledger.balance("clinic").closed is None
    spend(ledger, 0.1)


def test_a_backup_that_was_restored_opens_as_before(tmp_path):
    """The way that is documented: closed by the backup's own fence, and open after one statement."""
    witness = tmp_path / "witness"
    first = Database(f"sqlite:///{tmp_path}/a.db", witness=witness)
    ledger = Ledger(first)
    ledger.open("clinic", **TERMS)
    spend(ledger)
    back_up(first, tmp_path / "backup")
    spend(ledger)
    first.close()
    second = Database(f"sqlite:///{tmp_path}/b.db", witness=witness)
    restore(tmp_path / "backup", second)
    ledger = Ledger(second)
    assert ledger.balance("clinic").closed is not None
    reopen(ledger, "clinic", HighWaterMark(spent=0.4))
    assert ledger.balance("clinic").closed is None
    spend(ledger)
    second.close()
    # the old state, used again, lacks what was charged in the new one
    old = Ledger(Database(f"sqlite:///{tmp_path}/a.db", witness=witness))
    assert old.balance("clinic").closed is not None


def test_a_charge_that_was_not_noted_is_noted_when_it_is_tried_again(state, monkeypatch):
    """Killed between the commit and the note: the second attempt reads data, so it must be noted before."""
    copied = state.copy()
    ledger = state.open()
    with monkeypatch.context() as killed, pytest.raises(KeyboardInterrupt):
        killed.setattr("tacita.store.witness.os.replace", _killed)
        ledger.reserve("clinic", Pure(epsilon=0.9), key="job", **WHO)
    again = state.open()
    again.settle(again.reserve("clinic", Pure(epsilon=0.9), key="job", **WHO), "an answer")
    state.put_back(copied)
    with pytest.raises(Conflict, match="lacks charges"):
        spend(state.open(), 0.9)


def _killed(*_):
    raise KeyboardInterrupt


def test_a_disk_that_is_full_costs_no_budget(state, monkeypatch):
    def full(_):
        raise OSError(28, "No space left on device")

    ledger = state.open()
    with monkeypatch.context() as crowded:
        crowded.setattr("tacita.store.witness.os.fsync", full)
        for _ in range(3):
            with pytest.raises(SourceUnavailable, match="nothing is charged"):
                spend(ledger, 0.3)
    assert float(ledger.balance("clinic").spent) == 0
    spend(ledger, 0.3)
    assert ledger.balance("clinic").closed is None


def test_a_charge_that_was_not_committed_is_not_noted(state, monkeypatch):
    ledger = state.open()
    spend(ledger)
    with monkeypatch.context() as broken, pytest.raises(RuntimeError):
        broken.setattr("tacita.store.witness.Witness.noting", _breaks_after(Witness.noting))
        spend(ledger, 0.1)
    assert ledger.balance("clinic").charges == 1
    assert ledger.balance("clinic").closed is None
    spend(ledger, 0.1)


def _breaks_after(noting):
    @contextmanager
    def broken(self, generation, charge):
        with noting(self, generation, charge):
            raise RuntimeError("the connection is lost before the commit")
            yield

    return broken


def test_two_that_begin_the_first_generation_at_once_agree(state, monkeypatch):
    """The read of one comes before the commit of the other."""
    with state.open()._database.writing() as connection:
        begun = begin_generation(connection)
    real, reads = module._generations, []

    def read(connection):
        reads.append(1)
        return [] if len(reads) == 1 else real(connection)

    monkeypatch.setattr(module, "_generations", read)
    with state.open()._database.writing() as connection:
        assert begin_generation(connection) == begun
        assert real(connection) == [begun]


def test_a_file_that_cannot_be_read_lets_nothing_be_charged(state):
    spend(state.open())
    (file,) = (state.folder / "witness").glob("*.json")
    file.write_text("{")
    with pytest.raises(SourceUnavailable, match="witness"):
        spend(state.open())
    file.unlink()
    spend(state.open())


def test_only_the_ledger_itself_finds_its_file(tmp_path):
    one, other = Witness(tmp_path, b"1" * 32), Witness(tmp_path, b"2" * 32)
    one.note("g", "ch_1")
    assert other.read() == (None, [])
    assert one.read() == ("g", ["ch_1"])
    assert (tmp_path.stat().st_mode | 0o700) == tmp_path.stat().st_mode


def test_only_the_last_charges_are_kept(tmp_path):
    witness = Witness(tmp_path, b"1" * 32)
    for at in range(100):
        witness.note("g", f"ch_{at}")
    assert witness.read() == ("g", [f"ch_{at}" for at in range(84, 100)])
    witness.note("h", "ch_x")
    assert witness.read() == ("h", ["ch_x"])


def _charge_often(url: str, witness) -> None:
    database = Database(url, witness=witness)
    for _ in range(20):
        Ledger(database).reserve("clinic", Pure(epsilon=0.001), **WHO)


def test_processes_that_charge_at_once_do_not_close_it(state):
    workers = [
        multiprocessing.get_context("spawn").Process(target=_charge_often, args=(state.url, state.folder / "witness"))
        for _ in range(4)
    ]
    state.close()
    for each in workers:
        each.start()
    for each in workers:
        each.join(300)
        assert each.exitcode == 0
    ledger = state.open()
    assert ledger.balance("clinic").charges == 80
    assert ledger.balance("clinic").closed is None
    (file,) = (state.folder / "witness").glob("*.json")
    assert len(json.loads(file.read_text())["charges"]) == 16


def test_a_file_that_is_replaced_under_a_live_process_is_noticed(tmp_path):
    database = Database(f"sqlite:///{tmp_path}/s.db")
    ledger = Ledger(database)
    ledger.open("clinic", **TERMS)
    (tmp_path / "s.db").rename(tmp_path / "away.db")
    with pytest.raises(SourceUnavailable, match="removed or replaced"):
        ledger.open("another", **TERMS)
    other = Database(f"sqlite:///{tmp_path}/s.db")
    with pytest.raises(SourceUnavailable, match="removed or replaced"):
        spend(ledger)
    other.close()
    database.close()
