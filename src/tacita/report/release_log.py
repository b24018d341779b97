"""What was released, to whom and when; and what somebody who holds several releases could put together.

A release without differential privacy promises something about itself alone. Two of them over the same people can be
laid over each other: the class of a person in one and in the other have fewer people in common than either has. So each
is written down before it leaves, and who releases again is told what is out already.

    earlier = log.record(entry)            # in one step: of two that race, one sees the other
    warnings = concerns(entry, earlier)

Nobody is named in the log: it holds digests and names of attributes. docs/guides/sources.md says how it is used.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import uuid
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.ipc
import sqlalchemy as sa

from tacita.errors import Forbidden, InvalidInput
from tacita.store import Database, aware, now
from tacita.store.events import append
from tacita.store.schema import releases

__all__ = ["ReleaseLog", "Released", "StoredReleaseLog", "concerns", "digest_of", "digest_rows"]

_LONGEST = {"dataset": 200, "kind": 40, "recipe": 64, "classes": 64, "recipient": 200}


def digest_of(data: Any) -> str:
    """The digest of plain data, whatever order its mappings have.

    >>> digest_of({"k": 10, "quasi": ["age"]}) == digest_of({"quasi": ["age"], "k": 10})
    True
    """
    canonical = json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(canonical.encode()).hexdigest()


def digest_rows(rows: pa.Table) -> str:
    """The digest of which rows were made equal: they leave in an order that only their values decide."""
    out = pa.BufferOutputStream()
    with pa.ipc.new_stream(out, rows.schema) as writer:
        writer.write_table(rows.combine_chunks())
    return hashlib.sha256(out.getvalue()).hexdigest()


@dataclass(frozen=True, kw_only=True)
class Released:
    """One release.

    Attributes:
        dataset: Over whose rows.
        kind: What sort of release: "k-anonymous", "unchanged columns".
        recipe: Digest of what was asked for.
        attributes: The columns that left.
        classes: Digest of which rows were made equal; two releases with the same classes add nothing to each other.
        recipient: Who got it.
        at: When.
    """

    dataset: str
    kind: str
    recipe: str
    attributes: tuple[str, ...]
    classes: str
    recipient: str
    at: dt.datetime = field(default_factory=now)
    id: str = field(default_factory=lambda: uuid.uuid4().hex)

    def __post_init__(self) -> None:
        for name, longest in _LONGEST.items():
            if not 0 < len(getattr(self, name)) <= longest:
                raise InvalidInput(f"must have 1 to {longest} characters", field=name, value=getattr(self, name))
        if not self.attributes:
            raise InvalidInput("must name what left", field="attributes")


class ReleaseLog(Protocol):
    """Where releases are written down."""

    def record(self, released: Released, *, same_classes: bool = False) -> tuple[Released, ...]:
        """Write a release down, before it leaves, and give all earlier ones of its dataset, oldest first.

        With `same_classes` it is refused, and not written down, where rows have left in other classes.
        """

    def history(self, dataset: str) -> tuple[Released, ...]:
        """All releases of a dataset, oldest first."""


class StoredReleaseLog:
    """The log in the state database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def record(self, released: Released, *, same_classes: bool = False) -> tuple[Released, ...]:
        """Write a release down and give all earlier ones of its dataset; of two that race, one sees the other."""
        row = {
            "id": released.id,
            "dataset": released.dataset,
            "kind": released.kind,
            "recipe": released.recipe,
            "attributes": json.dumps(released.attributes),
            "classes": released.classes,
            "recipient": released.recipient,
            "created": released.at,
        }
        with self._database.writing() as connection:
            if self._database.is_postgres:  # on SQLite a writer is alone anyway
                connection.execute(sa.text("LOCK TABLE releases IN SHARE ROW EXCLUSIVE MODE"))
            earlier = _read(connection, released.dataset)
            if same_classes and any(old.classes != released.classes for old in earlier):
                rule = "rows of these people have left in other classes, and who has both could intersect them"
                hint = "Ask for the same k, l and t as before, or the owner to allow several releases"
                raise Forbidden(rule, field="k", hint=hint)
            connection.execute(releases.insert().values(row))
            detail = {"release": released.kind, "columns": released.attributes}
            append(connection, "rows-left", released.dataset, released.recipient, **detail)
        return earlier

    def history(self, dataset: str) -> tuple[Released, ...]:
        """All releases of a dataset, oldest first."""
        with self._database.reading() as connection:
            return _read(connection, dataset)


def _read(connection: sa.Connection, dataset: str) -> tuple[Released, ...]:
    chosen = releases.select().where(releases.c.dataset == dataset).order_by(releases.c.created, releases.c.id)
    return tuple(
        Released(
            id=row.id,
            dataset=row.dataset,
            kind=row.kind,
            recipe=row.recipe,
            attributes=tuple(json.loads(row.attributes)),
            classes=row.classes,
            recipient=row.recipient,
            at=aware(row.created),
        )
        for row in connection.execute(chosen)
    )


def concerns(new: Released, earlier: Iterable[Released]) -> tuple[str, ...]:
    """What to warn of before a release: one sentence for each earlier one that it could be laid over.

    The same classes over no more columns add nothing. Anything else can be joined, whoever got it: recipients can
    share.
    """
    found = []
    for old in earlier:
        if old.dataset != new.dataset or (old.classes == new.classes and set(new.attributes) <= set(old.attributes)):
            continue
        shared = [name for name in new.attributes if name in old.attributes]
        same = "the same recipient" if old.recipient == new.recipient else f"{old.recipient!r}"
        if old.classes == new.classes:
            what = "has the same classes and other columns, so the two can be joined class by class"
        elif shared:
            what = f"has other classes over {', '.join(shared)}, so the two can be intersected"
        else:
            what = "has other columns of the same people, so the two can be joined by whoever knows somebody in both"
        found.append(f"the release of {old.at:%Y-%m-%d %H:%M} UTC to {same} {what}")
    return tuple(found)
