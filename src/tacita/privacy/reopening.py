"""Open accounts again that a restore has closed: an operator states what was spent, and the ledger takes it as spent.

    reopen(ledger, "clinic", HighWaterMark(spent=0.8))         the balance that the account had when it was lost
    reopen(ledger, "clinic", HighWaterMark(history=lines))     an export that was made later than the backup
    reopen(ledger, "clinic", HighWaterMark(all_spent=True))    nothing is known: the account pays for nothing any more
    reopen(ledger, "clinic", HighWaterMark(nothing_lost="moved with the service stopped"))

A stated amount is charged as one event that brings the account to it. In the currencies epsilon and rho amounts add up,
so the stated event costs later charges just what the lost ones would have. With a delta they do not add up: what later
charges cost depends on which events were lost. Such an account goes on from an export of its history, which has the
events, or not at all.

Charges without an answer lose their keys (`fence.forget_unsettled`), and functions with a noise path are halted, unless
nothing was lost. Every statement is written into the audit log with who made it.

Claim: docs/claims/ledger.md
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import sqlalchemy as sa

from tacita.errors import Conflict, InvalidInput
from tacita.privacy.account import Account, Balance
from tacita.privacy.budget import exact
from tacita.privacy.event import Event, NonPrivate, Pure, Zcdp, event_from_dict
from tacita.privacy.ledger import Ledger, digest_question
from tacita.store.events import LOCAL, append
from tacita.store.fence import WHOLE, closed_names, forget_unsettled, halt_paths, take_place
from tacita.store.schema import charges, fences

__all__ = ["HighWaterMark", "closed_accounts", "reopen", "reopen_ledger"]

_CLOSE = Fraction(1, 10**9)  # amounts are shown as floats: one that differs by less is the same
_LONGEST = 200
_HINT = "Give one of: spent, all_spent, history, nothing_lost"


@dataclass(frozen=True, kw_only=True)
class HighWaterMark:
    """Statement of what an account had spent when the restored state was lost: exactly one of these.

    Args:
        spent: The amount, in the currency of the account.
        all_spent: Everything, and whatever the budget is raised to.
        history: Lines of `Ledger.export`, made after the last charge.
        nothing_lost: The reason why no charge can be missing.
    """

    spent: float | Fraction | None = None
    all_spent: bool = False
    history: Sequence[str] | None = None
    nothing_lost: str | None = None

    def __post_init__(self) -> None:
        given = (self.spent is not None, self.all_spent, self.history is not None, self.nothing_lost is not None)
        if sum(given) != 1:
            raise InvalidInput("must state what was spent in one way", field="mark", hint=_HINT)
        if self.nothing_lost is not None and not 1 <= len(self.nothing_lost.strip()) <= _LONGEST:
            raise InvalidInput(f"must be a reason of 1 to {_LONGEST} characters", field="nothing_lost")
        if self.spent is not None and not 0 <= self.spent < 1e300:
            raise InvalidInput("must be zero or more, and finite", field="spent", value=self.spent)

    def as_dict(self) -> dict[str, Any]:
        """Plain data for the audit log."""
        return {
            "spent": None if self.spent is None else float(self.spent),
            "all_spent": True if self.all_spent else None,
            "history": None if self.history is None else len(self.history),
            "nothing_lost": self.nothing_lost,
        }


def closed_accounts(ledger: Ledger) -> dict[str, str]:
    """Return the closed accounts, with their reasons."""
    balances = [ledger.balance(account.name) for account in ledger.accounts()]
    return {balance.account.name: balance.closed for balance in balances if balance.closed is not None}


def reopen(ledger: Ledger, name: str, mark: HighWaterMark, *, principal: str = LOCAL) -> Balance:
    """Open an account again with what an operator states.

    Args:
        ledger: The restored ledger.
        name: The account.
        mark: What it had spent.
        principal: Who states it.

    Raises:
        Conflict: The account is not closed, or its currency has a delta and only an amount is stated.
        InvalidInput: The statement is below what the restored ledger shows, or about another account.
    """
    with ledger._database.writing() as connection:
        take_place(ledger._database, connection)
        account = ledger._account(connection, name, lock=True)
        if name not in closed_names(connection):
            raise Conflict("is not closed", field="account", value=name)
        if mark.history is not None:
            _take_history(ledger, connection, account, mark.history, principal)
        event = _missing(account, account.cost(ledger._history(connection, name)), mark)
        if event is not None:
            purpose = "stated after a restore: what was spent since the backup"
            ledger._write(
                connection,
                name,
                event,
                digest_question(event.to_json()),
                uuid.uuid4().hex,
                principal,
                purpose,
                "settled",
            )
        if mark.nothing_lost is None:
            forget_unsettled(connection, name)
            halt_paths(connection, name)
        connection.execute(fences.delete().where(fences.c.account == name))
        append(connection, "account-reopened", name, principal, **mark.as_dict())
    return ledger.balance(name)


def reopen_ledger(ledger: Ledger, reason: str, *, principal: str = LOCAL) -> None:
    """State that no account is missing in the restored ledger: new accounts begin open again.

    Args:
        ledger: The restored ledger.
        reason: Why none is missing; kept in the audit log.
        principal: Who states it.
    """
    if not 1 <= len(reason.strip()) <= _LONGEST:
        raise InvalidInput(f"must be a reason of 1 to {_LONGEST} characters", field="new_accounts")
    with ledger._database.writing() as connection:
        take_place(ledger._database, connection)
        if WHOLE not in closed_names(connection):
            raise Conflict("begin open already", field="new accounts")
        connection.execute(fences.delete().where(fences.c.account == WHOLE))
        append(connection, "ledger-reopened", "", principal, reason=reason)


def _missing(account: Account, spent: Fraction, mark: HighWaterMark) -> Event | None:
    """Return the event that brings an account to what was stated; None where nothing is missing."""
    if mark.all_spent:
        return NonPrivate(reason="restored from a backup: everything was stated as spent")
    if mark.spent is None:
        return None
    missing = exact(mark.spent) - spent
    if abs(missing) <= _CLOSE * max(Fraction(1), spent):
        return None
    if missing < 0:
        rule = f"must be at least {float(spent):.12g}, which the restored ledger shows"
        raise InvalidInput(rule, field="spent", value=float(mark.spent))
    if account.budget.currency == "approx":
        raise Conflict(
            "cannot go on from an amount: with a delta, later charges depend on which events were lost",
            field="account",
            value=account.name,
            hint="State the events with an export of its history (--history FILE), or give it up (--all-spent)",
        )
    return Zcdp(rho=missing) if account.budget.currency == "zcdp" else Pure(epsilon=missing)


def _take_history(
    ledger: Ledger, connection: sa.Connection, account: Account, lines: Sequence[str], principal: str
) -> None:
    """Charge what an export has and the restored ledger lacks. Answers are not in it, so no key finds these charges."""
    head, found = _read_export(lines)
    terms = {"account": account.name, "unit": str(account.unit), "neighbours": str(account.neighbours)}
    for field, value in terms.items():
        if head.get(field) != value:
            raise InvalidInput(f"must be an export of this account: {value}", field=field, value=head.get(field))
    known = set(connection.execute(sa.select(charges.c.id).where(charges.c.account == account.name)).scalars())
    if not known <= set(found):
        rule = "must have every charge of the restored ledger: it is older than the backup, or of another ledger"
        raise InvalidInput(rule, field="history", value=len(known - set(found)))
    for id, charge in found.items():
        if id not in known:
            event = event_from_dict(charge["event"])
            purpose = f"{charge['purpose']} (from an export, by {principal})"
            asked, who = str(charge["question"]), str(charge["principal"])
            ledger._write(
                connection, account.name, event, asked, f"lost:{uuid.uuid4().hex}", who, purpose, "failed", id
            )


def _read_export(lines: Sequence[str]) -> tuple[Mapping[str, Any], dict[str, Mapping[str, Any]]]:
    try:
        head, *rest = (json.loads(line) for line in lines if line.strip())
        found = {str(charge["id"]): charge for charge in rest}
        complete = head["charges"] == len(found) and all(
            {"event", "question", "principal", "purpose"} <= set(charge) for charge in found.values()
        )
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        complete = False
    if not complete:
        hint = "Write it with: tacita budget export ACCOUNT"
        raise InvalidInput("must be a whole export of an account's history", field="history", hint=hint)
    return head, found
