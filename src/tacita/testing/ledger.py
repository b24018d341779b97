"""Contract of a ledger, for any store.

Subclass `LedgerContract` in a test file and give it a `url` fixture with the address of an empty database. The
races are run by real processes, some of which are killed with SIGKILL in the middle:

    python -m tacita.testing.ledger URL ACCOUNT EPSILON FILE

charges the account until it is refused, writing the id of every charge it has settled to FILE.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tacita.errors import BudgetExceeded, Conflict, InvalidInput, UnknownName
from tacita.privacy.budget import Budget
from tacita.privacy.event import DiscreteLaplaceNoise, NonPrivate, Nothing, Pure, Sequence
from tacita.privacy.ledger import DataMarks, Ledger
from tacita.privacy.unit import Neighbours, Unit
from tacita.store import Database

__all__ = ["LedgerContract", "Race", "race"]

ROW, ADD = Unit.row(), Neighbours.ADD_REMOVE
PERSON = Unit.of_person("p", max_rows=2)
WHO: dict[str, Any] = {"question": "?", "unit": ROW, "neighbours": ADD, "principal": "tester", "purpose": "test"}


@dataclass(frozen=True)
class Race:
    """Result of a race: what the processes saw, and what the ledger holds."""

    answered: tuple[str, ...]
    settled: frozenset[str]
    charges: int
    spent: Fraction
    killed: int
    seconds: float


def race(url: str, folder: Path, *, processes: int, charges: int, kills: int) -> Race:
    """Let processes charge one account of `charges` times 0.001 until it is empty, killing some on the way.

    A killed process is replaced, so that the whole budget is charged.
    """
    ledger = Ledger(Database(url))
    ledger.open("race", unit=ROW, neighbours=ADD, budget=Budget.pure(charges / 1000))
    started = time.monotonic()
    running = [_start(url, folder / f"{n}.txt") for n in range(processes)]
    for n in range(kills):
        _wait_for(lambda n=n: ledger.balance("race").charges > (n + 1) * charges // (kills + 2))
        running[n].send_signal(signal.SIGKILL)
        running[n].wait()
        running.append(_start(url, folder / f"{processes + n}.txt"))
    for process in running[kills:]:
        assert process.wait(timeout=300) == 0, "a racer failed"
    answered = [line for file in folder.glob("*.txt") for line in file.read_text().split()]
    history = list(ledger.history("race"))
    return Race(
        answered=tuple(answered),
        settled=frozenset(charge.id for charge in history if charge.state == "settled"),
        charges=len(history),
        spent=ledger.balance("race").spent,
        killed=kills,
        seconds=time.monotonic() - started,
    )


def _start(url: str, file: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-m", "tacita.testing.ledger", url, "race", "0.001", str(file)])


def _wait_for(condition: Any, seconds: float = 120) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "the race does not move"
        time.sleep(0.01)


class LedgerContract:
    """Tests that every ledger must pass."""

    @pytest.fixture
    def url(self) -> str:
        raise NotImplementedError("give the address of an empty database")

    @pytest.fixture
    def ledger(self, url: str) -> Iterator[Ledger]:
        database = Database(url)
        yield Ledger(database)
        database.close()

    @pytest.fixture
    def open_ledger(self, ledger: Ledger) -> Ledger:
        ledger.open("a", unit=ROW, neighbours=ADD, budget=Budget.pure(1.0))
        return ledger

    def test_ten_tenths_are_one(self, open_ledger: Ledger) -> None:
        for _ in range(10):
            open_ledger.reserve("a", Pure(epsilon=0.1), **WHO)
        assert open_ledger.balance("a").spent == 1
        assert open_ledger.balance("a").remaining == 0

    def test_refusal_says_what_is_left_and_writes_nothing(self, open_ledger: Ledger) -> None:
        open_ledger.reserve("a", Pure(epsilon=0.75), **WHO)
        with pytest.raises(BudgetExceeded, match=r"requested 0.5, remaining 0.25 of epsilon 1") as caught:
            open_ledger.reserve("a", Pure(epsilon=0.5), **WHO)
        assert caught.value.as_dict()["remaining"] == "0.25"
        assert open_ledger.balance("a").charges == 1
        open_ledger.reserve("a", Pure(epsilon=0.25), **WHO)

    def test_a_quote_is_what_reserving_would_say(self, open_ledger: Ledger) -> None:
        open_ledger.reserve("a", Pure(epsilon=0.75), **WHO)
        assert open_ledger.quote("a", Pure(epsilon=0.25)).affordable
        dear = open_ledger.quote("a", Pure(epsilon=0.5))
        assert (dear.affordable, dear.alone, dear.remaining) == (False, Fraction(1, 2), Fraction(1, 4))
        assert dear.added == Fraction(1, 2)
        endless = open_ledger.quote("a", NonPrivate(reason="test"))
        assert (endless.affordable, endless.as_dict()["account_added"]) == (False, None)
        assert open_ledger.balance("a").charges == 1

    def test_spent_from_the_moment_of_reservation(self, open_ledger: Ledger, url: str) -> None:
        charge = open_ledger.reserve("a", Pure(epsilon=0.6), **WHO)
        open_ledger.fail(charge)
        again = Ledger(Database(url))  # another process would see the same
        assert again.balance("a").spent == Fraction(6, 10)
        assert [c.state for c in again.history("a")] == ["failed"]

    def test_same_key_same_charge(self, open_ledger: Ledger) -> None:
        first = open_ledger.reserve("a", Pure(epsilon=0.6), key="k", **WHO)
        second = open_ledger.reserve("a", Pure(epsilon=0.6), key="k", **WHO)
        assert (second.id, second.answer) == (first.id, None)
        open_ledger.settle(first, "the answer")
        assert open_ledger.reserve("a", Pure(epsilon=0.6), key="k", **WHO).answer == "the answer"
        with pytest.raises(Conflict, match="key"):
            open_ledger.reserve("a", Pure(epsilon=0.2), key="k", **WHO)

    def test_a_key_stands_for_one_question_also_after_a_failure(self, open_ledger: Ledger) -> None:
        charge = open_ledger.reserve("a", Pure(epsilon=0.6), key="k", **WHO)
        open_ledger.fail(charge)
        with pytest.raises(Conflict, match="another question"):
            open_ledger.reserve("a", Pure(epsilon=0.6), key="k", **(WHO | {"question": "else"}))
        assert open_ledger.reserve("a", Pure(epsilon=0.6), key="k", **WHO).id == charge.id

    def test_only_the_first_answer_counts(self, open_ledger: Ledger) -> None:
        charge = open_ledger.reserve("a", Pure(epsilon=0.1), key="k", **WHO)
        assert open_ledger.settle(charge, "one") == "one"
        assert open_ledger.settle(charge, "two") == "one"
        open_ledger.fail(charge)
        assert next(open_ledger.history("a")).state == "settled"

    def test_other_notions_are_refused(self, open_ledger: Ledger) -> None:
        for other in ({"unit": Unit.of_person("p", max_rows=2)}, {"neighbours": Neighbours.REPLACE_ONE}):
            with pytest.raises(InvalidInput, match=next(iter(other))):
                open_ledger.reserve("a", Pure(epsilon=0.1), **(WHO | other))
        assert open_ledger.balance("a").charges == 0

    def test_what_has_no_guarantee_is_not_free(self, open_ledger: Ledger) -> None:
        with pytest.raises(BudgetExceeded, match="infinite"):
            open_ledger.reserve("a", NonPrivate(reason="raw"), **WHO)
        open_ledger.reserve("a", Nothing(), **WHO)

    def test_accounts_are_found_again_and_never_changed(self, open_ledger: Ledger) -> None:
        open_ledger.open("a", unit=ROW, neighbours=ADD, budget=Budget.pure(1.0))
        with pytest.raises(Conflict, match="exists already"):
            open_ledger.open("a", unit=ROW, neighbours=ADD, budget=Budget.pure(9.0))
        with pytest.raises(UnknownName, match="account"):
            open_ledger.balance("b")

    def test_raising_a_budget_stands_in_the_history(self, open_ledger: Ledger) -> None:
        open_ledger.raise_budget("a", Budget.pure(2.0), principal="steward")
        open_ledger.reserve("a", Pure(epsilon=1.5), **WHO)
        assert "raised" in next(open_ledger.history("a")).purpose
        with pytest.raises(InvalidInput, match="below"):
            open_ledger.raise_budget("a", Budget.pure(1.0), principal="steward")
        with pytest.raises(InvalidInput, match="currency"):
            open_ledger.raise_budget("a", Budget.zcdp(3.0), principal="steward")

    def test_an_unused_account_is_replaced_or_closed(self, open_ledger: Ledger) -> None:
        terms: dict[str, Any] = {"unit": PERSON, "neighbours": Neighbours.REPLACE_ONE, "budget": Budget.approx(3, 1e-6)}
        made = open_ledger.replace("a", **terms, principal="steward")
        assert made == open_ledger.account("a")
        assert (made.unit, made.neighbours, made.budget, made.opened) == (*terms.values(), 3.0)
        with pytest.raises(InvalidInput, match="unit"):  # a plan for the old terms finds other ones
            open_ledger.reserve("a", Pure(epsilon=0.1), **WHO)
        open_ledger.close("a")
        for gone in (open_ledger.close, open_ledger.balance):
            with pytest.raises(UnknownName, match="account"):
                gone("a")
        open_ledger.open("a", unit=ROW, neighbours=ADD, budget=Budget.pure(2.0))

    @pytest.mark.parametrize("state", ["reserved", "settled", "failed", "nothing", "raised"])
    def test_an_account_with_any_entry_stays_as_it_is(self, open_ledger: Ledger, state: str) -> None:
        if state == "raised":
            open_ledger.raise_budget("a", Budget.pure(2.0), principal="steward")
        else:
            charge = open_ledger.reserve("a", Nothing() if state == "nothing" else Pure(epsilon=0.1), **WHO)
            if state == "settled":
                open_ledger.settle(charge, "answer")
            elif state == "failed":
                open_ledger.fail(charge)
        before = list(open_ledger.export("a"))
        with pytest.raises(Conflict, match="spent for ever"):
            open_ledger.close("a")
        with pytest.raises(Conflict, match="spent for ever"):
            open_ledger.replace("a", unit=ROW, neighbours=ADD, budget=Budget.pure(9.0))
        assert list(open_ledger.export("a")) == before

    def test_data_that_was_charged_elsewhere_keeps_its_accounts(self, open_ledger: Ledger) -> None:
        data = DataMarks(marks=frozenset({"file"}), schema="s")
        terms: dict[str, Any] = {"unit": ROW, "neighbours": ADD, "budget": Budget.pure(1.0)}
        open_ledger.open("b", **terms, data=data)
        open_ledger.open("c", **terms, data=data, again="a second study")
        open_ledger.reserve("c", Pure(epsilon=0.1), **WHO)
        with pytest.raises(Conflict, match="another account was charged"):
            open_ledger.replace("b", **terms | {"budget": Budget.pure(9.0)})
        with pytest.raises(Conflict, match="another account was charged"):
            open_ledger.close("b")
        other = DataMarks(marks=frozenset({"other file"}), schema="s")
        open_ledger.open("d", **terms, data=other)
        open_ledger.close("d")
        open_ledger.open("e", **terms, data=other)  # the data is free again, and no reason is needed

    def test_replacing_and_closing_race_with_charging(self, ledger: Ledger) -> None:
        """Check that the charge comes first and the account stays, or it has the new terms, or there is no charge."""
        replaced: dict[str, Any] = {"unit": PERSON, "neighbours": ADD, "budget": Budget.pure(9.0)}

        def tried(work: Callable[[], Any]) -> bool:
            try:
                work()
            except (Conflict, UnknownName, InvalidInput):
                return False
            return True

        for number in range(12):
            name = f"race {number}"
            ledger.open(name, unit=ROW, neighbours=ADD, budget=Budget.pure(1.0))
            end = partial(ledger.close, name) if number % 2 else partial(ledger.replace, name, **replaced)
            charge = partial(ledger.reserve, name, Pure(epsilon=0.5), **WHO)
            with ThreadPoolExecutor(4) as pool:
                charged, ended, *_ = [done.result() for done in [pool.submit(tried, work) for work in (charge, end)]]
            assert charged != ended, name
            if charged:
                account = ledger.balance(name)
                assert (account.charges, account.account.unit, account.account.budget) == (1, ROW, Budget.pure(1.0))

    def test_composition_over_many_charges(self, ledger: Ledger) -> None:
        """Check that a hundred charges of 0.1 cost 10 as a sum, and much less by the filter of a delta account."""
        ledger.open("b", unit=ROW, neighbours=ADD, budget=Budget.approx(5.3, 1e-6))
        noise = DiscreteLaplaceNoise(scale=Fraction(10))
        for _ in range(100):
            ledger.reserve("b", noise, **WHO)
        assert 5.1 < ledger.balance("b").spent < 5.3
        with pytest.raises(BudgetExceeded):
            for _ in range(5):
                ledger.reserve("b", noise, **WHO)

    def test_export_is_the_whole_story(self, open_ledger: Ledger) -> None:
        open_ledger.settle(open_ledger.reserve("a", Pure(epsilon=0.1), **WHO), "secret answer")
        lines = list(open_ledger.export("a"))
        assert len(lines) == 2
        assert "secret answer" not in "".join(lines)

    def test_threads_cannot_both_take_the_last(self, open_ledger: Ledger) -> None:
        open_ledger.reserve("a", Pure(epsilon=0.5), **WHO)

        def take(_: int) -> bool:
            try:
                open_ledger.reserve("a", Pure(epsilon=0.5), **WHO)
            except BudgetExceeded:
                return False
            return True

        with ThreadPoolExecutor(8) as pool:
            assert sum(pool.map(take, range(8))) == 1

    @pytest.mark.slow
    def test_racing_and_killed_processes(self, url: str, tmp_path: Path) -> None:
        """Check that there is never one charge too many, and none is lost."""
        seen = race(url, tmp_path, processes=4, charges=200, kills=2)
        assert seen.charges == 200
        assert seen.spent == Fraction(200, 1000)
        assert len(set(seen.answered)) == len(seen.answered)
        assert set(seen.answered) <= seen.settled
        # a killed process may leave one charge without an answer, and one answer that it had no time to note
        assert len(seen.settled) - len(seen.answered) <= seen.killed
        assert seen.charges - len(seen.settled) <= seen.killed


def _main(url: str, account: str, epsilon: str, file: str) -> None:
    ledger = Ledger(Database(url))
    seen = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    # each process has an event of its own, all of one cost: rows of the history that others write must be seen too
    event = Sequence(events=(Pure(epsilon=float(epsilon)), *[Nothing()] * (os.getpid() % 16)))
    while True:
        try:
            charge = ledger.reserve(account, event, **WHO)
        except BudgetExceeded:
            return
        ledger.settle(charge, "answered")
        os.write(seen, f"{charge.id}\n".encode())


if __name__ == "__main__":
    _main(*sys.argv[1:])
