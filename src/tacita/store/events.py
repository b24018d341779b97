"""Writing to the audit log: one line for each action, in the transaction of the action.

The module is in this low layer because the ledger, the campaigns, the functions and the server all write to the log.
It is read with `tacita.server.events`. Lines are added and read, never changed or removed: triggers on the tables
refuse that on both stores. Anyone with access to the database can still write into it at will.

A line holds nothing private: names, budgets, the public parts of a request. No value of a row, no answer, no secret
of a token. The caller chooses the contents of `detail`; texts and lists are truncated, so that lines stay small.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Literal, get_args

import sqlalchemy as sa

from tacita import check
from tacita.store.clock import now
from tacita.store.schema import events

__all__ = ["KINDS", "LOCAL", "EventKind", "append"]

EventKind = Literal[
    "account-closed",
    "account-reopened",
    "account-replaced",
    "answer-read",
    "block-adopted",
    "budget-raised",
    "campaign-closed",
    "campaign-made",
    "campaign-opened",
    "charge",
    "data-again",
    "dataset-registered",
    "dataset-removed",
    "file-anonymized",
    "invitations-made",
    "job-asked",
    "job-cancelled",
    "ledger-fenced",
    "ledger-reopened",
    "log-begun",
    "model-deleted",
    "model-exported",
    "model-loaded",
    "policy-set",
    "release-deleted",
    "rows-fetched",
    "rows-left",
    "schema-drafted",
    "signed-in",
    "signed-out",
    "source-brought",
    "source-removed",
    "state-copied",
    "tally-merged",
    "tally-taken",
    "token-ended",
    "token-made",
    "token-refused",
]
KINDS: tuple[EventKind, ...] = get_args(EventKind)

LOCAL = "local"
"""Principal without a token: the command line, or a program with direct access to the database."""

_NAME, _TEXT, _ITEMS = 200, 200, 100


def append(connection: sa.Connection, kind: EventKind, subject: str, principal: str, **detail: Any) -> None:
    """Write a line inside a transaction: it is stored if and only if the action is.

    Args:
        connection: The action's own transaction.
        kind: The kind of action.
        subject: Its object: a dataset, campaign, source or token, by its name or id. Scopes are decided by it.
        principal: The actor, as in the ledger.
        detail: Further public facts about it; those that are None are left out.
    """
    check.one_of(kind, "kind", KINDS)
    known = {name: _small(value) for name, value in detail.items() if value is not None}
    row = {"at": now(), "kind": kind, "subject": subject[:_NAME], "principal": principal[:_NAME]}
    connection.execute(events.insert().values(row | {"detail": json.dumps(known)}))


def _small(value: Any) -> Any:
    if isinstance(value, str):
        return value if len(value) <= _TEXT else value[: _TEXT - 1] + "…"
    if isinstance(value, Mapping):
        return {str(name): _small(each) for name, each in list(value.items())[:_ITEMS] if each is not None}
    if isinstance(value, (list, tuple)):
        return [_small(each) for each in value[:_ITEMS]]
    return value
