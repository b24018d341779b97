"""Log of releases: what was released, to whom and when; and warnings about releases that can be joined.

A guarantee without differential privacy is about one release alone. Two such releases of the same people can be joined:
the class of a person in one and in the other have fewer people in common than either has. So each release is logged
before the rows are handed out, and the next release is warned about the earlier ones.

    earlier = log.record(entry)            # in one step: of two that race, one sees the other
    warnings = concerns(entry, earlier)

The log names no person of the data: it holds digests and names of attributes. docs/guides/sources.md explains its use.
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
from tacita.store.fence import check_open
from tacita.store.schema import datasets, releases

__all__ = ["ReleaseLog", "Released", "StoredReleaseLog", "concerns", "digest_of", "digest_rows"]

_LONGEST = {"dataset": 200, "kind": 40, "recipe": 64, "classes": 64, "recipient": 200}


def digest_of(data: Any) -> str:
    """Compute the digest of plain data, whatever the order of its mappings.

    >>> digest_of({"k": 10, "quasi": ["age"]}) == digest_of({"quasi": ["age"], "k": 10})
    True
    """
    canonical = json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(canonical.encode()).hexdigest()


def digest_rows(rows: pa.Table) -> str:
    """Compute the digest of the classes of equal rows: rows are released in an order that depends on values only."""
    out = pa.BufferOutputStream()
    with pa.ipc.new_stream(out, rows.schema) as writer:
        writer.write_table(rows.combine_chunks())
    return hashlib.sha256(out.getvalue()).hexdigest()


@dataclass(frozen=True, kw_only=True)
class Released:
    """One release.

    Attributes:
        dataset: The dataset of the rows.
        kind: Kind of the release: "k-anonymous", "unchanged columns".
        recipe: Digest of the request.
        attributes: The columns that were released.
        classes: Digest of the classes of equal rows; two releases with the same classes reveal no more than one.
        recipient: The recipient.
        at: The time.
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
    """A log of releases."""

    def record(self, released: Released, *, same_classes: bool = False) -> tuple[Released, ...]:
        """Log a release before the rows are handed out, and return all earlier ones of its dataset, oldest first.

        With `same_classes` a release is refused, and not logged, if rows were released in other classes before.
        """

    def history(self, dataset: str) -> tuple[Released, ...]:
        """All releases of a dataset, oldest first."""


class StoredReleaseLog:
    """The log in the state database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def record(self, released: Released, *, same_classes: bool = False) -> tuple[Released, ...]:
        """Log a release and return all earlier ones of its dataset; of two concurrent ones, one sees the other."""
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
            if self._database.is_postgres:  # SQLite allows one writer at a time anyway
                connection.execute(sa.text("LOCK TABLE releases IN SHARE ROW EXCLUSIVE MODE"))
            # a restored log lacks what left after the backup, so nothing leaves before an operator has stated it
            account = connection.execute(sa.select(datasets.c.account).where(datasets.c.name == released.dataset))
            check_open(self._database, connection, account.scalar_one_or_none() or released.dataset)
            earlier = _read(connection, released.dataset)
            if same_classes and any(old.classes != released.classes for old in earlier):
                rule = "rows of these people were released in other classes; a recipient of both could intersect them"
                hint = "Use the same k, l and t as before, or ask the owner to allow several releases"
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
    """Return warnings about a release: one sentence for each earlier one that it could be joined with.

    The same classes over no more columns add nothing. Any other release can be joined, also by another recipient:
    recipients can share.
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
            what = "has other columns of the same people, so anyone who knows a person in both can join the two"
        found.append(f"the release of {old.at:%Y-%m-%d %H:%M} UTC to {same} {what}")
    return tuple(found)
