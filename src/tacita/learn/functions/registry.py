"""Released functions in the store: by id, or by name and version.

    pending     written, but not yet named by the answer of a paid charge: never asked
    active      answers
    moved       exported with its path: answers what it has answered, and nothing new
    deleted     gone, but for its name, its cost and when it was made

What answers is made from is sealed where a key is given: training rows, and the noise behind the answers. Answers
themselves have left already and are kept as they are.
"""

from __future__ import annotations

import datetime as dt
import json
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import sqlalchemy as sa

from tacita.errors import Conflict, InvalidInput, UnknownName
from tacita.learn.functions.kernel import Array
from tacita.learn.functions.model import FunctionModel
from tacita.learn.functions.sealing import Seal
from tacita.store import Database, aware, now
from tacita.store.schema import model_points, models

__all__ = ["Entry", "Registry"]

State = Literal["pending", "active", "moved", "deleted"]

_TRIES = 5
_ORPHAN = dt.timedelta(days=1)


@dataclass(frozen=True, kw_only=True)
class Entry:
    """What the registry says of one function: all of it is public."""

    id: str
    name: str
    version: int
    dataset: str
    charge: str | None
    state: State
    about: Mapping[str, Any] = field(repr=False)
    sealed: bool
    points: int
    created: dt.datetime

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        names = ("id", "name", "version", "dataset", "charge", "state", "about", "sealed", "points")
        return {name: getattr(self, name) for name in names} | {"created": self.created.isoformat()}


class Registry:
    """All functions of a database.

    Args:
        database: Holds them.
        seal: Closes what is secret.
    """

    def __init__(self, database: Database, seal: Seal | None = None) -> None:
        self.database, self.seal = database, seal or Seal()

    # -- releasing ----------------------------------------------------------------------------------------------------

    def put(self, model: FunctionModel, name: str) -> str:
        """Write a function down; it answers nothing until `activate` names what paid for it."""
        if not name or len(name) > 200 or "@" in name or name.startswith("fn_"):
            raise InvalidInput("must have 1 to 200 characters, no @, and not begin with fn_", field="name", value=name)
        id = f"fn_{uuid.uuid4().hex}"
        row = {
            "id": id,
            "name": name,
            "dataset": "",
            "state": "pending",
            "about": json.dumps(model.about),
            "payload": self.seal.close(model.payload(), f"{id} payload"),
            "sealed": self.seal.has_key,
            "points": 0,
            "created": now(),
        }
        self._insert(row)
        return id

    def _insert(self, row: Mapping[str, Any]) -> None:
        newest = sa.select(sa.func.coalesce(sa.func.max(models.c.version), 0)).where(models.c.name == row["name"])
        orphans = models.delete().where(models.c.state == "pending", models.c.created < now() - _ORPHAN)
        for left in reversed(range(_TRIES)):
            try:
                with self.database.writing() as connection:
                    connection.execute(orphans)  # of runs that ended before their answer was stored
                    version = connection.execute(newest).scalar_one() + 1
                    connection.execute(models.insert().values(**row, version=version))
                return
            except sa.exc.IntegrityError:  # somebody took the version in between
                if not left:
                    raise

    def activate(self, id: str, *, charge: str, dataset: str) -> Entry:
        """Let a function answer, now that its charge names it; doing it twice changes nothing."""
        values = {"state": "active", "charge": charge, "dataset": dataset}
        with self.database.writing() as connection:
            connection.execute(models.update().where(models.c.id == id, models.c.state == "pending").values(**values))
        return self.get(id)

    # -- finding ------------------------------------------------------------------------------------------------------

    def get(self, ref: str) -> Entry:
        """A function by id, by `name@version`, or the newest of a name."""
        name, _, version = ref.partition("@")
        query = models.select().where(models.c.state != "pending")
        if ref.startswith("fn_"):
            query = query.where(models.c.id == ref)
        elif version:
            query = query.where(models.c.name == name, models.c.version == (int(version) if version.isdigit() else 0))
        else:
            query = query.where(models.c.name == name, models.c.state != "deleted").order_by(models.c.version.desc())
        with self.database.reading() as connection:
            row = connection.execute(query.limit(1)).one_or_none()
        if row is None:
            raise UnknownName(ref, field="model", available=())
        return _entry(row)

    def list(self, datasets: Sequence[str] | None = None, *, limit: int = 100, offset: int = 0) -> list[Entry]:
        """Functions that are or were asked, newest first; of some datasets, or of all."""
        query = models.select().where(models.c.state != "pending").order_by(models.c.created.desc(), models.c.id)
        if datasets is not None:
            query = query.where(models.c.dataset.in_(datasets))
        with self.database.reading() as connection:
            return [_entry(row) for row in connection.execute(query.limit(limit).offset(offset))]

    def model(self, entry: Entry) -> FunctionModel:
        """What answers; secret where it is a service."""
        if entry.state == "deleted":
            raise Conflict("was deleted", field="model", value=entry.id)
        with self.database.reading() as connection:
            payload = connection.execute(sa.select(models.c.payload).where(models.c.id == entry.id)).scalar_one()
        return FunctionModel.of(entry.about, self._opened(entry, payload, "payload"))

    def _opened(self, entry: Entry, data: bytes, what: str) -> bytes:
        return self.seal.open(data, f"{entry.id} {what}") if entry.sealed else data

    def open_hidden(self, entry: Entry, place: int, data: bytes) -> Array:
        """What was kept of a point."""
        return np.frombuffer(self._opened(entry, data, f"point {place}"), "<f8")

    def close_hidden(self, entry: Entry, place: int, hidden: Array) -> bytes:
        """The same, to be written."""
        raw = hidden.astype("<f8").tobytes()
        if entry.sealed and not self.seal.has_key:
            self.seal.open(b"", "")  # says that a key is needed
        return self.seal.close(raw, f"{entry.id} point {place}") if entry.sealed else raw

    # -- ending -------------------------------------------------------------------------------------------------------

    def delete(self, ref: str) -> Entry:
        """Forget what a function answers from, and its points. What it cost stays spent."""
        entry = self.get(ref)
        with self.database.writing() as connection:
            self.lock(connection, entry.id)
            connection.execute(model_points.delete().where(model_points.c.model == entry.id))
            connection.execute(models.update().where(models.c.id == entry.id).values(state="deleted", payload=b""))
        return self.get(entry.id)

    def lock(self, connection: sa.Connection, id: str) -> Any:
        """State and points of a function, which nobody else changes until the transaction ends."""
        query = sa.select(models.c.state, models.c.points).where(models.c.id == id)
        return connection.execute(query.with_for_update()).one()


def _entry(row: sa.Row[Any]) -> Entry:
    return Entry(
        id=row.id,
        name=row.name,
        version=row.version,
        dataset=row.dataset,
        charge=row.charge,
        state=row.state,
        about=json.loads(row.about),
        sealed=row.sealed,
        points=row.points,
        created=aware(row.created),
    )
