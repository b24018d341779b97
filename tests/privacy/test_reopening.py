"""Spent budget cannot be had back: spend, back up, spend more, restore, and try to spend again."""

from __future__ import annotations

import json
import random
from contextlib import suppress
from fractions import Fraction

import pytest
import sqlalchemy as sa

from tacita.errors import BudgetExceeded, Conflict, InvalidInput
from tacita.privacy.budget import Budget
from tacita.privacy.event import DiscreteGaussianNoise, Nothing, Pure
from tacita.privacy.ledger import Ledger
from tacita.privacy.reopening import HighWaterMark, closed_accounts, reopen, reopen_ledger
from tacita.privacy.unit import Neighbours, Unit
from tacita.store import Database
from tacita.store.backup import back_up, restore
from tacita.store.schema import events

TERMS = {"unit": Unit.row(), "neighbours": Neighbours.ADD_REMOVE}
WHO = TERMS | {"question": "?", "principal": "tester", "purpose": "test"}
PURE, ZCDP, APPROX = Budget.pure(1.0), Budget.zcdp(1.0), Budget.approx(1.0, 1e-6)


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def states(request, tmp_path):
    """Two databases: one that is lost, one that a backup is restored into."""
    if request.param == "sqlite":
        return [Database(f"sqlite:///{tmp_path}/{name}.db") for name in ("lost", "restored")]
    server = request.getfixturevalue("postgres")
    return [Database(server.create_database()) for _ in range(2)]


class Story:
    """A ledger that is backed up in the middle."""

    def __init__(self, states, tmp_path, budget=PURE, event=None):
        self.lost, self.to, self.file = Ledger(states[0]), states[1], tmp_path / "backup"
        self.event = event or Pure(epsilon=0.25)
        self.lost.open("a", budget=budget, **TERMS)

    def spend(self, ledger, times=1, key=None):
        for _ in range(times):
            charge = ledger.reserve("a", self.event, key=key, **WHO)
            ledger.settle(charge, f"answer of {charge.id}")

    def back_up(self):
        back_up(self.lost._database, self.file)

    def restored(self):
        restore(self.file, self.to)
        return Ledger(self.to)


@pytest.fixture
def story(states, tmp_path):
    return Story(states, tmp_path)


def test_a_restored_ledger_spends_nothing_until_the_mark_is_stated(story):
    story.spend(story.lost)
    story.back_up()
    story.spend(story.lost, 2)
    ledger = story.restored()
    assert float(ledger.balance("a").spent) == 0.25  # this is what could be spent again
    with pytest.raises(Conflict, match=r"tacita budget reopen ACCOUNT --spent AMOUNT"):
        story.spend(ledger)
    assert set(closed_accounts(ledger)) == {"a"}

    assert float(reopen(ledger, "a", HighWaterMark(spent=0.75)).spent) == 0.75
    story.spend(ledger)
    with pytest.raises(BudgetExceeded):
        story.spend(ledger)
    assert closed_accounts(ledger) == {}


@pytest.mark.parametrize("seed", range(8))
def test_no_order_of_spending_and_restoring_has_more_than_the_budget(tmp_path, seed):
    """Brute force: whatever is tried between backups and restores, answers cost no more than the budget in all."""
    lot = random.Random(seed)
    database = Database(f"sqlite:///{tmp_path}/0.db")
    ledger, backup, answered = Ledger(database), None, Fraction(0)
    ledger.open("a", budget=PURE, **TERMS)
    for step in range(40):
        match lot.choice(["spend", "spend", "spend", "back up", "restore", "state", "new", "again"]):
            case "spend":
                amount = Fraction(lot.randint(1, 20), 100)
                try:
                    charge = ledger.reserve("a", Pure(epsilon=amount), **WHO)
                    ledger.settle(charge, "x")
                    answered += amount
                except (Conflict, BudgetExceeded):
                    pass
            case "back up":
                backup = tmp_path / f"{step}.backup"
                back_up(ledger._database, backup)
            case "restore" if backup is not None:
                if lot.random() < 0.5:
                    ledger = Ledger(Database(f"sqlite:///{tmp_path}/{step}.db"))
                    restore(backup, ledger._database)
                else:  # past the command: the copy itself as the state
                    ledger, backup = Ledger(Database(f"sqlite:///{backup}")), None
            case "state" if "a" in closed_accounts(ledger):
                reopen(ledger, "a", HighWaterMark(spent=answered))
            case "new":
                with suppress(Conflict):  # only while nothing was charged, here or after the backup
                    ledger.close("a")
                    assert answered == 0
                ledger.open("a", budget=PURE, **TERMS)
            case "again":  # an account for what the copy may have lost
                other = f"other {step}"
                ledger.open(other, budget=PURE, **TERMS)
                if ledger.balance(other).closed is None:
                    ledger.close(other)
        assert answered <= 1, f"seed {seed}, step {step}"


def test_a_statement_below_the_backup_is_refused(story):
    story.spend(story.lost, 2)
    story.back_up()
    ledger = story.restored()
    with pytest.raises(InvalidInput, match=r"must be at least 0\.5"):
        reopen(ledger, "a", HighWaterMark(spent=0.3))
    assert closed_accounts(ledger)
    assert float(reopen(ledger, "a", HighWaterMark(spent=0.5)).spent) == 0.5  # nothing was missing: nothing is charged
    assert ledger.balance("a").charges == 2


def test_everything_spent_stays_so_when_the_budget_is_raised(story):
    story.back_up()
    ledger = story.restored()
    reopen(ledger, "a", HighWaterMark(all_spent=True))
    ledger.raise_budget("a", Budget.pure(50.0), principal="a steward")
    with pytest.raises(BudgetExceeded):
        story.spend(ledger)


def test_a_statement_above_the_budget_leaves_nothing(story):
    story.back_up()
    ledger = story.restored()
    reopen(ledger, "a", HighWaterMark(spent=3.0))
    ledger.raise_budget("a", Budget.pure(3.2), principal="a steward")
    with pytest.raises(BudgetExceeded):
        story.spend(ledger)
    assert float(ledger.balance("a").spent) == 3.0


def test_rho_adds_up_as_well(states, tmp_path):
    story = Story(states, tmp_path, ZCDP, DiscreteGaussianNoise(sigma2=Fraction(2)))
    story.spend(story.lost)
    story.back_up()
    story.spend(story.lost, 2)
    ledger = story.restored()
    assert reopen(ledger, "a", HighWaterMark(spent=0.75)).spent == story.lost.balance("a").spent


def test_with_a_delta_the_events_are_needed(states, tmp_path):
    story = Story(states, tmp_path, APPROX, DiscreteGaussianNoise(sigma2=Fraction(400)))
    story.spend(story.lost)
    story.back_up()
    story.spend(story.lost, 2)
    export = list(story.lost.export("a"))
    ledger = story.restored()
    with pytest.raises(Conflict, match="--history"):
        reopen(ledger, "a", HighWaterMark(spent=float(story.lost.balance("a").spent)))
    assert closed_accounts(ledger)
    found = reopen(ledger, "a", HighWaterMark(history=export))
    assert (found.spent, found.charges) == (story.lost.balance("a").spent, 3)
    story.spend(ledger)
    story.spend(story.lost)
    assert ledger.balance("a").spent == story.lost.balance("a").spent  # and it goes on as the lost one would have


def test_an_export_must_be_of_this_account_and_later_than_the_backup(story):
    early = list(story.lost.export("a"))
    story.spend(story.lost)
    story.back_up()
    ledger = story.restored()
    whole = list(story.lost.export("a"))
    for lines, rule in (
        (early, "every charge of the restored ledger"),
        (whole[:-1], "whole export"),
        (["{}"], "whole export"),
        (["nothing"], "whole export"),
        ([whole[0].replace('"a"', '"b"', 1), *whole[1:]], "of this account"),
    ):
        with pytest.raises(InvalidInput, match=rule):
            reopen(ledger, "a", HighWaterMark(history=lines))
    assert closed_accounts(ledger)


def test_a_charge_without_an_answer_is_not_run_a_second_time(story):
    """Its answer may have been given out after the backup: a retry must pay anew."""
    waiting = story.lost.reserve("a", story.event, key="k", **WHO)
    story.back_up()
    story.lost.settle(waiting, "given out")
    ledger = story.restored()
    with pytest.raises(Conflict, match="is closed"):
        story.spend(ledger, key="k")
    reopen(ledger, "a", HighWaterMark(spent=0.25))
    story.spend(ledger, key="k")
    assert float(ledger.balance("a").spent) == 0.5


@pytest.mark.parametrize("key", ["before-restore:{}", "lost:{}", "unknown:{}", "{}"])
def test_no_key_that_can_be_guessed_runs_a_charge_again(story, key):
    """An identifier of a charge is in its history, for everyone who reads that."""
    waiting = story.lost.reserve("a", story.event, key="k", **WHO)
    story.back_up()
    story.lost.settle(waiting, "given out")
    story.spend(story.lost)
    ledger = story.restored()
    reopen(ledger, "a", HighWaterMark(history=list(story.lost.export("a"))))
    for charge in [json.loads(line) for line in ledger.export("a")][1:]:
        before = ledger.balance("a").spent
        story.spend(ledger, key=key.format(charge["id"]))
        assert ledger.balance("a").spent > before


def test_a_lost_charge_of_an_export_is_not_found_by_its_key(story):
    story.back_up()
    story.spend(story.lost, key="k")
    ledger = story.restored()
    reopen(ledger, "a", HighWaterMark(history=list(story.lost.export("a"))))
    story.spend(ledger, key="k")
    assert float(ledger.balance("a").spent) == 0.5


def test_where_nothing_was_lost_all_goes_on(story):
    waiting = story.lost.reserve("a", story.event, key="k", **WHO)
    story.back_up()
    ledger = story.restored()
    reopen(ledger, "a", HighWaterMark(nothing_lost="the service was stopped"))
    assert ledger.reserve("a", story.event, key="k", **WHO).id == waiting.id


def test_new_accounts_begin_closed_until_someone_says_that_none_is_missing(story):
    story.back_up()
    story.lost.open("later", budget=PURE, **TERMS)
    ledger = story.restored()
    ledger.open("later", budget=PURE, **TERMS)  # as if it had never been there
    assert set(closed_accounts(ledger)) == {"a", "later"}
    reopen(ledger, "later", HighWaterMark(spent=1.0))
    reopen_ledger(ledger, "the list of datasets was compared")
    ledger.open("new", budget=PURE, **TERMS)
    assert set(closed_accounts(ledger)) == {"a"}
    with pytest.raises(Conflict, match="open already"):
        reopen_ledger(ledger, "twice")


def test_statements_are_in_the_audit_log(story):
    story.back_up()
    ledger = story.restored()
    reopen(ledger, "a", HighWaterMark(spent=0.5), principal="an operator")
    reopen_ledger(ledger, "none is missing", principal="an operator")
    with story.to.reading() as connection:
        rows = connection.execute(sa.select(events.c.kind, events.c.principal, events.c.detail).order_by(events.c.id))
        found = [(row.kind, row.principal, row.detail) for row in rows]
    assert found[-2:] == [
        ("account-reopened", "an operator", '{"spent": 0.5}'),
        ("ledger-reopened", "an operator", '{"reason": "none is missing"}'),
    ]
    assert ("ledger-fenced", "local") in [row[:2] for row in found]


def test_an_open_account_is_not_reopened(story):
    with pytest.raises(Conflict, match="is not closed"):
        reopen(story.lost, "a", HighWaterMark(all_spent=True))
    story.lost.reserve("a", Nothing(), **WHO)
    assert story.lost.balance("a").spent == 0


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"spent": 0.1, "all_spent": True},
        {"spent": -0.1},
        {"spent": float("nan")},
        {"spent": float("inf")},
        {"nothing_lost": " "},
        {"nothing_lost": "x" * 201},
    ],
)
def test_one_statement_is_made(given):
    with pytest.raises(InvalidInput):
        HighWaterMark(**given)
