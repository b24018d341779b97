"""Ledger: durable accounts that privacy loss is charged to: reserve, run, settle.

    reserve   checks and writes the charge in one transaction, before any data is read
    run       happens outside; a crash or an error here leaves the charge spent
    settle    stores the answer; the first one stored is the only answer that is ever returned for that charge

Property: under any interleaving of processes, crashes and retries, the cost of all answers never exceeds the budget.
Reserving locks the account, so two requests cannot both take the last of it. A retry with the same key finds its charge
again instead of paying twice, and since only the stored answer is returned, running twice for one charge reveals
nothing more. A failed run may have revealed something by its failure: see `Session`.

A ledger that was restored from a backup does not know what was charged since: its accounts are closed until an operator
states it (`store/fence.py`, `privacy/reopening.py`).

The next question may depend on every earlier answer: an account accepts by a privacy filter (`privacy/filter.py`).
Tested with killed processes in tests/privacy/test_ledger.py.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import uuid
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, nullcontext
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from tacita.errors import Conflict, InvalidInput, UnknownName
from tacita.privacy.account import Account, Balance, Charge, DataMarks, Quote, State
from tacita.privacy.budget import Budget
from tacita.privacy.event import Event, Nothing, event_from_dict, same_events
from tacita.privacy.unit import Neighbours, Unit
from tacita.store import Database, aware, now
from tacita.store.events import LOCAL, append
from tacita.store.fence import check_open, close_new, closed_because
from tacita.store.schema import account_data, accounts, answers, charges, datasets, secrets, spending
from tacita.store.witness import current_generation

__all__ = ["Account", "Balance", "Charge", "DataMarks", "Ledger", "Quote", "digest_question"]

_DATA_LOCK = 0x7AC17B  # PostgreSQL advisory lock: one transaction at a time notes which data an account pays for


class Ledger:
    """Accounts and their charges in a database. Safe to share between threads; processes open their own."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def __reduce__(self) -> tuple[Any, ...]:
        """Let another process open the same file, as parallel fits need; what has a password stays here."""
        if self._database.file is None or not self._database.file.exists():
            hint = "Use n_jobs=1 or threads (joblib.parallel_backend('threading')); before saving a model, ledger=None"
            raise InvalidInput("cannot be sent to another process: it is no file", field="ledger", hint=hint)
        return _ledger_at, (str(self._database.url), self._database.witness_folder)

    def __deepcopy__(self, _memo: object) -> Ledger:
        """The ledger itself: a copy would be the same accounts. Estimators that hold one are cloned."""
        return self

    @property
    def place(self) -> str:
        """Address of the database, without a password."""
        url = self._database.url
        return str(url.database) if not self._database.is_postgres else url.render_as_string(hide_password=True)

    def keyed(self, text: str) -> str:
        """HMAC-SHA-256 of a text with this ledger's secret.

        Keys and questions may name private rows by this only. A plain digest is no secret: anyone who sees it in a
        history or a model file, and knows all rows but one, finds that one by trying.
        """
        return hmac.new(self._secret, text.encode(), "sha256").hexdigest()

    @cached_property
    def _secret(self) -> bytes:
        with self._database.reading() as connection:
            found = connection.execute(sa.select(secrets.c.value).where(secrets.c.name == "ledger")).scalar_one()
        return bytes.fromhex(found)

    # -- accounts -------------------------------------------------------------------------------------------------

    def open(
        self,
        name: str,
        *,
        unit: Unit,
        neighbours: Neighbours,
        budget: Budget,
        data: DataMarks | None = None,
        principal: str = LOCAL,
        again: str | None = None,
    ) -> Account:
        """Open an account, or find it again if it is just the same.

        Args:
            name: Of the account; unit, neighbours, budget: its terms.
            data: The data that it is for, where that can be recognised. Otherwise its first charge records it.
            principal: Who opens it.
            again: The reason for another account for data that has one; it is stored.

        Raises:
            Conflict: The name is taken by another account, or the data has an account and no reason is given.
        """
        if not name or len(name) > 200:
            raise InvalidInput("must have 1 to 200 characters", field="account", value=name)
        wanted = Account(name=name, unit=unit, neighbours=neighbours, budget=budget)
        row = {"name": name, "charges": 0, "created": now()} | _terms(wanted)
        try:
            with self._database.writing() as connection:
                connection.execute(accounts.insert().values(row))
                close_new(connection, name)
                if data is not None:
                    self._remember(connection, name, data, principal, again)
        except sa.exc.IntegrityError:
            found = self.account(name)
            if found != wanted:
                hint = "Choose another name, or replace the account while nothing was charged"
                raise Conflict(
                    "exists already with another unit, neighbours or budget", field=name, hint=hint
                ) from None
            if data is not None:
                with self._database.writing() as connection:
                    self._account(connection, name, lock=True)
                    self._remember(connection, name, data, principal, again)
        return wanted

    def account(self, name: str) -> Account:
        """The account of that name."""
        with self._database.reading() as connection:
            return self._account(connection, name)

    def accounts(self) -> list[Account]:
        """All accounts, by name."""
        with self._database.reading() as connection:
            return [_read_account(row) for row in connection.execute(accounts.select().order_by(accounts.c.name))]

    def raise_budget(self, name: str, budget: Budget, *, principal: str) -> Account:
        """Allow more than before; written into the history. A budget is never lowered below what it was."""
        with self._database.writing() as connection:
            old = self._account(connection, name, lock=True)
            if budget.currency != old.budget.currency or budget.delta != old.budget.delta:
                raise InvalidInput("must be in the currency of the account", field="budget", value=str(budget))
            if budget.amount < old.budget.amount:
                raise InvalidInput(f"must not be below {old.budget}", field="budget", value=str(budget))
            connection.execute(
                accounts.update().where(accounts.c.name == name).values(budget=json.dumps(budget.as_dict()))
            )
            note = f"budget raised from {old.budget} to {budget}"
            self._write(
                connection, name, Nothing(), digest_question(note), uuid.uuid4().hex, principal, note, "settled"
            )
            append(connection, "budget-raised", name, principal, old=old.budget.as_dict(), new=budget.as_dict())
        return self.account(name)

    def replace(
        self, name: str, *, unit: Unit, neighbours: Neighbours, budget: Budget, principal: str = LOCAL
    ) -> Account:
        """Give an account other terms while nothing was charged; written into the audit log.

        Raises:
            Conflict: The account has a charge or a reservation, or its data was charged to another account.
        """
        wanted = Account(name=name, unit=unit, neighbours=neighbours, budget=budget)
        with self._database.writing() as connection:
            old = self._unused(connection, name)
            connection.execute(accounts.update().where(accounts.c.name == name).values(_terms(wanted)))
            before, after = (f"{each.unit}, {each.neighbours}, {each.budget}" for each in (old, wanted))
            append(connection, "account-replaced", name, principal, old=before, new=after)
        return self.account(name)

    def close(self, name: str, *, principal: str = LOCAL, inside: sa.Connection | None = None) -> None:
        """Remove an account while nothing was charged; written into the audit log. Its data is free for another one.

        Args:
            name: Of the account.
            principal: Who closes it.
            inside: A transaction that this is part of; one of its own by default.

        Raises:
            Conflict: The account has a charge or a reservation, its data was charged to another account, or a dataset
                is paid from it.
        """
        with nullcontext(inside) if inside is not None else self._database.writing() as connection:
            self._unused(connection, name)
            if connection.execute(sa.select(datasets.c.name).where(datasets.c.account == name)).first() is not None:
                hint = "Remove the dataset: its account goes with it"
                raise Conflict("is the account of a dataset", field="account", value=name, hint=hint)
            connection.execute(account_data.delete().where(account_data.c.account == name))
            connection.execute(accounts.delete().where(accounts.c.name == name))
            append(connection, "account-closed", name, principal)

    def balance(self, name: str) -> Balance:
        """Budget, spent and remaining."""
        with self._database.reading() as connection:
            account = self._account(connection, name)
            spent = account.cost(self._history(connection, name))
            count = connection.execute(sa.select(accounts.c.charges).where(accounts.c.name == name)).scalar_one()
            closed = closed_because(self._database, connection, name)
            return Balance(account=account, spent=spent, charges=count, closed=closed)

    def quote(self, name: str, event: Event, *, charges: Sequence[tuple[Event, int]] | None = None) -> Quote:
        """Compute the cost of an event; write nothing.

        Args:
            name: The account.
            event: What would be charged.
            charges: Its parts, where they would be charged one by one, each with how often.
        """
        with self._database.reading() as connection:
            return self._quote(connection, self._account(connection, name), event, charges)

    def history(self, name: str) -> Iterator[Charge]:
        """All charges of an account, oldest first."""
        self.account(name)
        query = charges.select().where(charges.c.account == name).order_by(charges.c.created, charges.c.id)
        with self._database.reading() as connection:
            for row in connection.execute(query):
                yield _read_charge(row, None)

    def export(self, name: str) -> Iterator[str]:
        """The history as lines of JSON, the account itself first."""
        yield json.dumps(self.balance(name).as_dict())
        for charge in self.history(name):
            yield json.dumps(charge.as_dict())

    # -- charges --------------------------------------------------------------------------------------------------

    def reserve(
        self,
        account: str,
        event: Event,
        *,
        question: str,
        unit: Unit,
        neighbours: Neighbours,
        principal: str,
        purpose: str,
        key: str | None = None,
        data: DataMarks | None = None,
        again: str | None = None,
    ) -> Charge:
        """Charge an event before it happens, or find the charge that this key made before.

        Args:
            account: Who pays.
            event: What it costs each unit.
            question: What is asked, as text; a key stands for one question only.
            unit: Whom the event protects.
            neighbours: Against what change.
            principal: Who asks.
            purpose: What for; both are stored in the history.
            key: The same key finds the same charge again. A new one by default.
            data: What is read, where it can be recognised: the account remembers it.
            again: Why this account may pay for data that another account was charged for; kept with the account.

        Raises:
            BudgetExceeded: The charge would exceed the budget; nothing was written.
            Conflict: The key was used for another question, the data was charged to another account, or the account is
                closed since a restore.
            InvalidInput: The event protects another unit, or under other neighbours, than the account.
        """
        key = uuid.uuid4().hex if key is None else key
        if not 1 <= len(key) <= 200:
            raise InvalidInput("must have 1 to 200 characters", field="key", value=key)
        with self._database.reading() as connection:
            # adding up may take long, so it is done once before the lock is taken; the accountant remembers
            self._quote(connection, self._account(connection, account), event)
        digest = digest_question(question)
        with ExitStack() as noting:
            with self._database.writing() as connection:
                found = self._account(connection, account, lock=True)
                _check_same_notion(found, unit, neighbours)
                before = self._find(connection, account, key)
                if before is not None:
                    if before.question != digest or not same_events(before.event, event):
                        raise Conflict("was used for another question", field="key", value=key, hint="Use a new key")
                    if before.answer is None:  # its answer may have been given out after the backup
                        check_open(self._database, connection, account)
                        self._note(connection, before)  # a process that was killed may not have done so
                    return before
                self._check_affordable(connection, found, event)
                if data is not None:
                    self._remember(connection, account, data, principal, again)
                charge = self._write(connection, account, event, digest, key, principal, purpose, "reserved")
                append(connection, "charge", account, principal, charge=charge.id, purpose=purpose)
                witness = self._database.witness
                keep = None
                if witness is not None:  # written down before the charge is committed; counts afterwards
                    keep = noting.enter_context(witness.noting(current_generation(connection), charge.id))
            if keep is not None:
                keep()
        return charge

    def _note(self, connection: sa.Connection, charge: Charge) -> None:
        """Note a charge that is committed."""
        witness = self._database.witness
        if witness is not None:
            witness.note(current_generation(connection), charge.id)

    def find(self, account: str, key: str) -> Charge | None:
        """The charge that this key has made, if it has."""
        with self._database.reading() as connection:
            return self._find(connection, account, key)

    def answer(self, account: str, id: str) -> str | None:
        """The stored answer of a charge; None if it has none yet.

        Raises:
            UnknownName: The account has no such charge.
        """
        mine = (charges.c.id == id) & (charges.c.account == account)
        stored = sa.select(charges.c.id, answers.c.answer).join(answers, answers.c.charge == charges.c.id, isouter=True)
        with self._database.reading() as connection:
            row = connection.execute(stored.where(mine)).one_or_none()
        if row is None:
            raise UnknownName(id, field="charge", available=())
        return None if row.answer is None else str(row.answer)

    def settle(self, charge: Charge, answer: str) -> str:
        """Store the answer of a charge and return the one to hand out: the first that was stored."""
        with self._database.writing() as connection:
            self._account(connection, charge.account, lock=True)
            stored = connection.execute(
                sa.select(answers.c.answer).where(answers.c.charge == charge.id)
            ).scalar_one_or_none()
            if stored is not None:
                return str(stored)
            check_open(self._database, connection, charge.account)
            connection.execute(answers.insert().values(charge=charge.id, answer=answer))
            connection.execute(charges.update().where(charges.c.id == charge.id).values(state="settled", settled=now()))
            return answer

    def fail(self, charge: Charge) -> None:
        """Record that the run failed. The charge stays spent: data may have been read."""
        with self._database.writing() as connection:
            connection.execute(
                charges.update()
                .where(charges.c.id == charge.id, charges.c.state == "reserved")
                .values(state="failed", settled=now())
            )

    # -- inside a transaction -------------------------------------------------------------------------------------

    def _account(self, connection: sa.Connection, name: str, *, lock: bool = False) -> Account:
        query = accounts.select().where(accounts.c.name == name)
        # SQLite's write lock was taken when the transaction began; FOR UPDATE is PostgreSQL's way to the same
        row = connection.execute(query.with_for_update() if lock else query).one_or_none()
        if row is None:
            known = connection.execute(sa.select(accounts.c.name)).scalars().all()
            raise UnknownName(name, field="account", available=known)
        return _read_account(row)

    def _unused(self, connection: sa.Connection, name: str) -> Account:
        """The account, locked, if nothing was ever charged to it and its data was charged to no other account.

        A charge is an entry from its reservation on, whatever became of it. Reserving locks the same row, so either
        the charge is seen here, or it finds the account as it is after this transaction.
        """
        found = self._account(connection, name, lock=True)
        check_open(self._database, connection, name)
        here = sa.select(charges.c.id).where(charges.c.account == name).limit(1)
        marks = sa.select(account_data.c.data).where(account_data.c.account == name)
        elsewhere = (
            sa.select(charges.c.id)
            .join(account_data, account_data.c.account == charges.c.account)
            .where(account_data.c.account != name, account_data.c.data.in_(marks))
            .limit(1)
        )
        for query, rule in (
            (here, "has entries in its history: what was charged is spent for ever"),
            (elsewhere, "is for data that another account was charged for"),
        ):
            if connection.execute(query).first() is not None:
                hint = "Raise its budget, or open another account"
                raise Conflict(rule, field="account", value=name, hint=hint)
        return found

    def _history(self, connection: sa.Connection, name: str) -> list[tuple[Event, int]]:
        rows = connection.execute(sa.select(spending.c.event, spending.c.times).where(spending.c.account == name))
        return [(event_from_dict(json.loads(event)), times) for event, times in rows]

    def _find(self, connection: sa.Connection, account: str, key: str) -> Charge | None:
        query = (
            sa.select(charges, answers.c.answer)
            .outerjoin(answers, answers.c.charge == charges.c.id)
            .where(charges.c.account == account, charges.c.key == key)
        )
        row = connection.execute(query).one_or_none()
        return None if row is None else _read_charge(row, row.answer)

    def _quote(
        self,
        connection: sa.Connection,
        account: Account,
        event: Event,
        charges: Sequence[tuple[Event, int]] | None = None,
    ) -> Quote:
        history = self._history(connection, account.name)
        return Quote(
            account=account,
            spent=account.cost(history),
            alone=account.cost([(event, 1)]),
            after=account.cost([*history, *(charges or [(event, 1)])]),
            closed=closed_because(self._database, connection, account.name),
        )

    def _check_affordable(self, connection: sa.Connection, account: Account, event: Event) -> None:
        self._quote(connection, account, event).check()

    def _remember(
        self, connection: sa.Connection, account: str, data: DataMarks, principal: str, again: str | None
    ) -> None:
        marks = sorted(data.marks)
        known = connection.execute(
            sa.select(account_data.c.account, account_data.c.data).where(account_data.c.data.in_(marks))
        ).all()
        new = set(marks) - {mark for owner, mark in known if owner == account}
        if not new:
            return
        if self._database.is_postgres:  # two accounts that claim the same data at once would not see each other
            connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_DATA_LOCK)))
            known = connection.execute(
                sa.select(account_data.c.account, account_data.c.data).where(account_data.c.data.in_(marks))
            ).all()
        others = sorted({owner for owner, mark in known if owner != account and mark in new})
        reason = (again or "").strip()
        if others and not reason:
            raise Conflict(
                f"was charged to the account {others[0]!r} before: a second account would be a second budget for the "
                "same people",
                field="data",
                hint=f"Use the account {others[0]!r}, or give a reason, which is kept (--again)",
            )
        stamp = {"account": account, "schema": data.schema, "principal": principal, "created": now()}
        rows = [stamp | {"data": mark, "reason": reason if others else ""} for mark in sorted(new)]
        connection.execute(account_data.insert(), rows)
        if others:
            append(connection, "data-again", account, principal, reason=reason, before=others[0])

    def _write(
        self,
        connection: sa.Connection,
        account: str,
        event: Event,
        question: str,
        key: str,
        principal: str,
        purpose: str,
        state: State,
        id: str | None = None,
    ) -> Charge:
        text = event.to_json()
        charge = Charge(
            id=id or f"ch_{uuid.uuid4().hex}",
            account=account,
            key=key,
            event=event,
            question=question,
            principal=principal,
            purpose=purpose,
            state=state,
            created=now(),
        )
        names = ("id", "account", "key", "question", "principal", "purpose", "state")
        row = {name: getattr(charge, name) for name in names}
        connection.execute(charges.insert().values(row | {"event": text, "created": charge.created}))
        # moving the account's own row makes a transaction with an older snapshot fail instead of missing this charge
        moved = accounts.update().where(accounts.c.name == account).values(charges=accounts.c.charges + 1)
        connection.execute(moved)
        digest = digest_question(text)
        here = (spending.c.account == account) & (spending.c.digest == digest)
        more = connection.execute(spending.update().where(here).values(times=spending.c.times + 1))
        if more.rowcount == 0:
            connection.execute(spending.insert().values(account=account, digest=digest, event=text, times=1))
        return charge


def _terms(account: Account) -> dict[str, Any]:
    """Columns of an account's row: its unit, neighbours and budget."""
    return {
        "unit": str(account.unit),
        "neighbours": str(account.neighbours),
        "budget": json.dumps(account.budget.as_dict()),
        "opened": account.budget.epsilon,
    }


@lru_cache(maxsize=8)
def _ledger_at(url: str, witness: Path | None) -> Ledger:
    """The ledger in a file, opened once for each process."""
    return Ledger(Database(url, witness=witness))


def digest_question(text: str) -> str:
    """Digest by which a charge knows its question."""
    return hashlib.sha256(text.encode()).hexdigest()


def _check_same_notion(account: Account, unit: Unit, neighbours: Neighbours) -> None:
    if unit != account.unit:
        raise InvalidInput(f"the account protects {account.unit}", field="unit", value=str(unit))
    if neighbours != account.neighbours:
        raise InvalidInput(f"the account counts {account.neighbours}", field="neighbours", value=str(neighbours))


def _read_account(row: sa.Row[Any]) -> Account:
    return Account(
        name=row.name,
        unit=Unit.parse(row.unit),
        neighbours=Neighbours(row.neighbours),
        budget=Budget.from_dict(json.loads(row.budget)),
        opened=row.opened,
    )


def _read_charge(row: sa.Row[Any], answer: str | None) -> Charge:
    return Charge(
        id=row.id,
        account=row.account,
        key=row.key,
        event=event_from_dict(json.loads(row.event)),
        question=row.question,
        principal=row.principal,
        purpose=row.purpose,
        state=row.state,
        created=aware(row.created),
        settled=aware(row.settled) if row.settled else None,
        answer=answer,
    )
