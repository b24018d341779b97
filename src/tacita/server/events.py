"""The audit log: read here, and written here for actions that are no transaction of the database.

    events = Events(database)
    events.record("rows-fetched", "patients", token.principal, job=id, format="csv")
    newest = events.list(limit=100)
    older = events.list(limit=100, before=newest[-1].id)

Written in the transaction of the action, so that neither exists without the other: tokens, datasets, policies, budgets,
charges, released rows, jobs submitted and cancelled, campaigns, merged tallies, functions deleted, imported or moved.
Written separately, right after the action: files uploaded and removed, deleted releases, signing in and out, refused
tokens (see `refused_tokens`: counted, so that a flood writes few lines), files that could not be anonymized. Written
separately, before anything is sent: rows and models of releases, files anonymized, drafts of schemas, tallies, bundles;
if the line cannot be written, nothing is sent.

A charge has a line here with its id, so that one list has everything in one order. Its cost and outcome are stored in
the ledger, which remains the proof.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from tacita.store import Database, aware
from tacita.store.events import EventKind, append
from tacita.store.schema import events, tokens

__all__ = ["Events", "Logged", "principal_of"]


@dataclass(frozen=True, kw_only=True)
class Logged:
    """One line of the log.

    Attributes:
        id: Grows with every line; a number may be missing where a deed was given up half-way.
        subject: The dataset, campaign, source or token that it was done to; empty where there is none.
        principal: Who did it, as in the ledger.
    """

    id: int
    at: dt.datetime
    kind: EventKind
    subject: str
    principal: str
    detail: Mapping[str, Any]

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        names = ("id", "kind", "subject", "principal")
        return {name: getattr(self, name) for name in names} | {"at": self.at.isoformat(), "detail": dict(self.detail)}


class Events:
    """The log of a database: lines are added and read."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def record(self, kind: EventKind, subject: str, principal: str, **detail: Any) -> None:
        """Write a line by itself; on disk when it returns. See `tacita.store.events.append`."""
        with self._database.writing() as connection:
            append(connection, kind, subject, principal, **detail)

    def list(
        self,
        *,
        limit: int = 100,
        before: int | None = None,
        kind: EventKind | None = None,
        subjects: Collection[str] | None = None,
    ) -> list[Logged]:
        """Lines, newest first.

        Args:
            limit: At most so many.
            before: Only those with a smaller id.
            kind: Only those of one kind.
            subjects: Only those about these; None for all.
        """
        query = events.select().order_by(events.c.id.desc()).limit(limit)
        if before is not None:
            query = query.where(events.c.id < before)
        if kind is not None:
            query = query.where(events.c.kind == kind)
        if subjects is not None:
            query = query.where(events.c.subject.in_(list(subjects)))
        with self._database.reading() as connection:
            return [_read(row) for row in connection.execute(query)]


def principal_of(connection: sa.Connection, token: str) -> str:
    """Return name and id of a token as the log states them; the id alone for an unknown token."""
    name = connection.execute(sa.select(tokens.c.name).where(tokens.c.id == token)).scalar_one_or_none()
    return token if name is None else f"{name} ({token})"


def _read(row: sa.Row[Any]) -> Logged:
    return Logged(
        id=row.id,
        at=aware(row.at),
        kind=row.kind,
        subject=row.subject,
        principal=row.principal,
        detail=json.loads(row.detail),
    )
