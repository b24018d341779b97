"""The audit log as those who do things write it: one line for each deed, in the transaction of the deed.

Here at the bottom, because the ledger, the campaigns, the functions and the server all write it. It is read with
`tacita.server.events`. Lines are added and read, never changed or removed: the tables' triggers refuse that on both
stores. Whoever has the database can still write what they like into it.

Nothing private stands in a line: names, budgets, what is public of a request. No value of a row, no answer, no secret
of a token. What is named in `detail` is for the caller to choose; texts and lists are cut, so that lines stay small.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Literal, get_args

import sqlalchemy as sa

from tacita.errors import InvalidInput
from tacita.store.clock import now
from tacita.store.schema import events

__all__ = ["KINDS", "LOCAL", "EventKind", "append"]

EventKind = Literal[
    "account-closed",
    "account-replaced",
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
    "tally-merged",
    "tally-taken",
    "token-ended",
    "token-made",
    "token-refused",
]
KINDS: tuple[EventKind, ...] = get_args(EventKind)

LOCAL = "local"
"""Who needs no token: the command line, or a program that has the database itself."""

_NAME, _TEXT, _ITEMS = 200, 200, 100


def append(connection: sa.Connection, kind: EventKind, subject: str, principal: str, **detail: Any) -> None:
    """Write a line inside a transaction: it is there if and only if the deed is.

    Args:
        connection: The deed's own transaction.
        kind: What was done.
        subject: To what: a dataset, campaign, source or token, by its name or id. Scopes are told by it.
        principal: By whom, as in the ledger.
        detail: What else is public about it; what is None is left out.
    """
    if kind not in KINDS:
        raise InvalidInput("must be one of " + ", ".join(KINDS), field="kind", value=kind)
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
