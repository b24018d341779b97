"""A state with a row in every table, for backups and migrations."""

from __future__ import annotations

import datetime as dt
import json
from typing import Any

import sqlalchemy as sa

from tacita.store import Database
from tacita.store.schema import metadata

AT = dt.datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=dt.UTC)
PURE = '{"epsilon":0.25,"kind":"pure"}'
ROWS: dict[str, dict[str, Any]] = {
    "accounts": {
        "name": "a",
        "unit": "row",
        "neighbours": "add-remove",
        "budget": '{"epsilon": 1.0, "delta": 0.0}',
        "charges": 1,
        "opened": 1.0,
        "created": AT,
    },
    "account_data": {
        "account": "a",
        "data": "d" * 64,
        "schema": "s" * 64,
        "reason": "",
        "principal": "me",
        "created": AT,
    },
    "charges": {
        "id": "ch_1",
        "account": "a",
        "key": "k",
        "event": PURE,
        "question": "q" * 64,
        "principal": "me",
        "purpose": "to try ünïcode",
        "state": "settled",
        "created": AT,
        "settled": AT,
    },
    "answers": {"charge": "ch_1", "answer": "{}"},
    "spending": {"account": "a", "digest": "e" * 64, "event": PURE, "times": 1},
    "tokens": {
        "id": "t",
        "name": "Ada",
        "digest": "f" * 64,
        "role": "admin",
        "datasets": "null",
        "created": AT,
        "expires": AT + dt.timedelta(days=1),
        "revoked": None,
    },
    "datasets": {"name": "a", "source": "s", "domain": "{}", "account": "a", "created": AT},
    "releases": {
        "id": "r",
        "dataset": "a",
        "kind": "k-anonymous",
        "recipe": "x",
        "attributes": "[]",
        "classes": "c",
        "recipient": "me",
        "created": AT,
    },
    "policies": {"dataset": "a", "policy": "{}", "changed": AT},
    "models": {
        "id": "fn_1",
        "name": "f",
        "version": 1,
        "dataset": "a",
        "charge": "ch_1",
        "state": "active",
        "about": json.dumps({"form": "path"}),
        "payload": bytes(range(256)),
        "sealed": False,
        "points": 1,
        "created": AT,
    },
    "model_points": {"model": "fn_1", "point": b"\x00p", "place": 0, "answer": b"\xff", "hidden": None},
    "campaigns": {
        "number": 7,
        "id": "c",
        "title": "Smoking",
        "terms": "{}",
        "state": "open",
        "block": 1,
        "looks": 0,
        "created": AT,
        "block_opened": AT,
        "closed": None,
        "reason": "",
    },
    "questions": {
        "campaign": "c",
        "id": "q1",
        "number": 0,
        "block": 1,
        "view": 0,
        "share": 0.1,
        "attributes": "[]",
        "wire": "{}",
    },
    "tallies": {"campaign": "c", "question": "q1", "counts": b"\x01" + bytes(15), "reports": 1},
    "report_ids": {"campaign": 7, "run": 1, "ids": bytes(16)},
    "kept_reports": {"campaign": 7, "report": bytes(16), "kept": "1"},
    "campaign_keys": {"campaign": 7, "key": b"key"},
    "invitations": {"campaign": 7, "code": b"i" * 32, "blinded": None},
    "jobs": {
        "id": "job_1",
        "kind": "query",
        "owner": "t",
        "request": "{}",
        "state": "queued",
        "progress": 0.0,
        "note": "",
        "result": None,
        "error": None,
        "attempts": 0,
        "heartbeat": None,
        "created": AT,
        "finished": None,
    },
}
"""A row of each table; `secrets` and `events` have one from the migrations."""


def fill(database: Database) -> None:
    """Write the rows into a state of this version."""
    with database.writing() as connection:
        for table in metadata.sorted_tables:
            if table.name in ROWS:
                connection.execute(table.insert(), ROWS[table.name])


def fill_plain(connection: sa.Connection, schema: sa.MetaData, *, leave: tuple[str, ...] = ()) -> None:
    """Write what an earlier version knew: the tables and columns that its own schema has, read from the database."""
    for table in schema.sorted_tables:
        if table.name in ROWS and table.name not in leave:
            row = {name: value for name, value in ROWS[table.name].items() if name in table.c}
            connection.execute(table.insert(), row)
