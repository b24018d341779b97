"""The same data has one account, unless somebody says why it has another."""

from __future__ import annotations

import pytest

from tacita.errors import BudgetExceeded, Conflict
from tacita.privacy.budget import Budget
from tacita.privacy.event import Pure
from tacita.privacy.ledger import DataMarks, Ledger
from tacita.privacy.unit import Neighbours, Unit
from tacita.store import Database
from tacita.store.schema import account_data, events

ROW, ADD = Unit.row(), Neighbours.ADD_REMOVE
TERMS = {"unit": ROW, "neighbours": ADD, "budget": Budget.pure(1.0)}
WHO = {"question": "q", "unit": ROW, "neighbours": ADD, "principal": "me", "purpose": "test"}
DATA, OTHER = (DataMarks(marks=frozenset({mark * 64}), schema="s") for mark in "ab")
BOTH = DataMarks(marks=DATA.marks | OTHER.marks, schema="s")


@pytest.fixture(params=["sqlite", "postgres"])
def store(request, tmp_path):
    url = f"sqlite:///{tmp_path}/state.db" if request.param == "sqlite" else request.getfixturevalue("postgres_url")
    database = Database(url)
    yield database
    database.close()


@pytest.fixture
def ledger(store):
    ledger = Ledger(store)
    for name in ("one", "two"):
        ledger.open(name, **TERMS)
    return ledger


def test_a_second_account_is_refused_and_nothing_is_charged(ledger):
    ledger.reserve("one", Pure(epsilon=0.1), **WHO, data=DATA)
    with pytest.raises(Conflict, match="'one'"):
        ledger.reserve("two", Pure(epsilon=0.1), **WHO, data=DATA)
    with pytest.raises(Conflict, match="same people"):
        ledger.reserve("two", Pure(epsilon=0.1), **WHO, data=BOTH)  # a part of it is enough
    with pytest.raises(Conflict, match="same people"):
        ledger.reserve("two", Pure(epsilon=0.1), **WHO, data=DATA, again="  ")
    assert ledger.balance("two").charges == 0
    ledger.reserve("one", Pure(epsilon=0.1), **WHO, data=DATA)
    ledger.reserve("two", Pure(epsilon=0.1), **WHO, data=OTHER)


def test_a_reason_is_kept_and_asked_for_once(ledger, store):
    ledger.reserve("one", Pure(epsilon=0.1), **WHO, data=DATA)
    ledger.reserve("two", Pure(epsilon=0.1), **WHO, data=DATA, again="a new survey of other people")
    ledger.reserve("two", Pure(epsilon=0.1), **WHO, data=DATA)
    with store.reading() as connection:
        kept = {row.account: row.reason for row in connection.execute(account_data.select())}
        (line,) = connection.execute(events.select().where(events.c.kind == "data-again")).all()
    assert kept == {"one": "", "two": "a new survey of other people"}
    assert line.subject == "two"
    assert "other people" in line.detail


def test_a_refused_charge_remembers_nothing(ledger):
    with pytest.raises(BudgetExceeded):
        ledger.reserve("one", Pure(epsilon=2.0), **WHO, data=DATA)
    ledger.reserve("two", Pure(epsilon=0.1), **WHO, data=DATA)


def test_an_account_that_is_opened_for_data_has_it(ledger):
    ledger.open("three", **TERMS, data=DATA)
    ledger.open("three", **TERMS, data=DATA)
    with pytest.raises(Conflict, match="'three'"):
        ledger.open("four", **TERMS, data=DATA)
    assert "four" not in {account.name for account in ledger.accounts()}
    ledger.open("four", **TERMS, data=DATA, again="because")


def test_the_ledger_says_where_it_is(ledger, store):
    assert str(store.url.database) in ledger.place
    assert store.url.password is None or store.url.password not in ledger.place
