"""Fence: accounts of a state that was put back are closed until an operator states what was spent in the meantime.

A copy of the state does not know what was charged after it was made. Used as it is, it would let the same budget be
spent again. So an account is closed, and nothing is charged to it, in these cases:

    a backup      `backup.py` writes the fence into the copy: whatever opens the copy finds its accounts closed
    a restore     `tacita state restore` closes every account of what it puts in place
    PostgreSQL    another server, database or timeline than the one that the state was noted for: `pg_restore` into a
                  new database, recovery to a point in time, or a standby that took over
    a witness     the state lacks charges that were noted in a file outside of it (`witness.py`)

Accounts that are opened while the whole ledger is fenced begin closed: one that is missing in the copy must not begin
again with a full budget. Copies that change neither server, database nor timeline (a file of SQLite, a dump that
`pg_restore --clean` puts into the same database, a snapshot of a volume) are recognised by the witness alone.

`privacy/reopening.py` opens accounts again.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable

import sqlalchemy as sa

from tacita.errors import Conflict
from tacita.store.clock import now
from tacita.store.database import Database
from tacita.store.schema import accounts, charges, fences, installation, models
from tacita.store.witness import begin_generation

__all__ = [
    "RESTORED",
    "WHOLE",
    "check_open",
    "close_every",
    "close_new",
    "closed_because",
    "closed_error",
    "closed_names",
    "forget_unsettled",
    "halt_paths",
    "note_place",
    "take_place",
]

WHOLE = ""
"""Name of the fence of the whole ledger."""
RESTORED = "the state was restored from a backup"
_MOVED = "the state is in another database, or on another timeline, than the one that it was noted for"
_REWOUND = "the state lacks charges that were made here"
_PLACE = "place"


def closed_because(database: Database, connection: sa.Connection, account: str) -> str | None:
    """Return the reason why an account is closed, None if it is open.

    An account that does not exist is closed if the whole ledger is.
    """
    known = sa.exists().where(accounts.c.name == account)
    # an account's own fence comes before that of the whole ledger, which applies only to accounts that are not there
    mine = sa.or_(fences.c.account == account, sa.and_(fences.c.account == WHOLE, ~known))
    reason = sa.select(fences.c.reason).where(mine).order_by(fences.c.account.desc()).limit(1).scalar_subquery()
    noted = sa.select(installation.c.value).where(installation.c.name == _PLACE).scalar_subquery()
    row = connection.execute(
        sa.select(reason.label("reason"), noted.label("noted"), database.place.label("here"))
    ).one()
    if row.reason is not None:
        return str(row.reason)
    if not _same(row.noted, row.here):
        return _MOVED
    return _REWOUND if _is_behind(database, connection) else None


def check_open(database: Database, connection: sa.Connection, account: str) -> None:
    """Refuse to spend from an account that is closed.

    Raises:
        Conflict: It is closed; the hint names the command that opens it.
    """
    reason = closed_because(database, connection, account)
    if reason is not None:
        raise closed_error(account, reason)


def closed_error(account: str, reason: str) -> Conflict:
    """Return the error of an account that is closed."""
    return Conflict(
        f"is closed: {reason}, and what was spent since the backup is not known",
        field="account",
        value=account,
        hint="An operator states it: tacita budget reopen ACCOUNT --spent AMOUNT, or --all-spent",
    )


def closed_names(connection: sa.Connection) -> dict[str, str]:
    """Return the closed accounts with their reasons; `WHOLE` for the whole ledger."""
    rows = connection.execute(sa.select(fences.c.account, fences.c.reason).order_by(fences.c.account))
    return {row.account: row.reason for row in rows}


def close_every(connection: sa.Connection, reason: str) -> int:
    """Close all accounts and the whole ledger, inside a transaction; return how many accounts were open."""
    closed = closed_names(connection)
    names = [WHOLE, *connection.execute(sa.select(accounts.c.name)).scalars()]
    new = [name for name in names if name not in closed]
    _close(connection, new, reason)
    return len([name for name in new if name != WHOLE])


def close_new(connection: sa.Connection, account: str) -> None:
    """Close an account that is being opened, if the whole ledger is closed."""
    reason = closed_names(connection).get(WHOLE)
    if reason is not None:
        _close(connection, [account], reason)


def _close(connection: sa.Connection, names: Iterable[str], reason: str) -> None:
    rows = [{"account": name, "reason": reason, "closed": now()} for name in names]
    if rows:
        connection.execute(fences.insert(), rows)


# -- the place of the state ------------------------------------------------------------------------------------------


def note_place(database: Database) -> None:
    """Note the place of a state that has none noted yet. PostgreSQL only: a file has no place that could be trusted."""
    if not database.is_postgres:
        return
    with database.reading() as connection:
        query = sa.select(installation.c.value).where(installation.c.name == _PLACE)
        if connection.execute(query).scalar_one_or_none() is not None:
            return
    from sqlalchemy.dialects.postgresql import insert

    with database.writing() as connection:
        here = connection.execute(sa.select(database.place)).scalar_one()
        connection.execute(insert(installation).values(name=_PLACE, value=here).on_conflict_do_nothing())


def take_place(database: Database, connection: sa.Connection) -> None:
    """Close every account if the state has moved or lacks charges, and note its place, in one transaction."""
    query = sa.select(installation.c.value).where(installation.c.name == _PLACE)
    noted = connection.execute(query.with_for_update()).scalar_one_or_none()
    here = connection.execute(sa.select(database.place)).scalar_one()
    moved = not _same(noted, here)
    if not moved and not _is_behind(database, connection):
        return
    close_every(connection, _MOVED if moved else _REWOUND)
    begin_generation(connection, database.witness)
    connection.execute(installation.update().where(installation.c.name == _PLACE).values(value=here))


def _is_behind(database: Database, connection: sa.Connection) -> bool:
    """Whether the witness names what the state lacks. A snapshot may be older than what was noted, and says nothing."""
    if database.witness is None or connection.get_execution_options().get("snapshot"):
        return False
    return database.witness.is_ahead(connection)


def _same(noted: str | None, here: str | None) -> bool:
    """Whether two places agree in all parts that both know: a role may lack the right to read one."""
    if noted is None or here is None:
        return True
    pairs = zip(noted.split("/"), here.split("/"), strict=False)
    return all(one == other or "?" in (one, other) for one, other in pairs)


# -- what must not go on ---------------------------------------------------------------------------------------------


def forget_unsettled(connection: sa.Connection, account: str) -> None:
    """Give charges without an answer keys that no one knows: a retry is charged anew.

    The answer of such a charge may have been given out after the backup; to run again for the same charge would give a
    second one.
    """
    query = sa.select(charges.c.id).where(charges.c.account == account, charges.c.state != "settled")
    for id in connection.execute(query).scalars().all():
        connection.execute(charges.update().where(charges.c.id == id).values(key=f"unknown:{secrets.token_hex(16)}"))


def halt_paths(connection: sa.Connection, dataset: str | None = None) -> int:
    """Let no function with a noise path answer new points; return how many did until now.

    The copy lacks points that were answered after it was made; asked again, they would get a second noise.
    """
    query = models.select().where(models.c.state == "active").with_for_update()
    halted = 0
    for row in connection.execute(query if dataset is None else query.where(models.c.dataset == dataset)).all():
        if json.loads(row.about)["form"] == "path":
            connection.execute(models.update().where(models.c.id == row.id).values(state="moved"))
            halted += 1
    return halted
