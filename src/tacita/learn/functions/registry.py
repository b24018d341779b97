"""Released functions and fitted models in the store: by id, or by name and version in a dataset.

    pending     written, but not yet named by the answer of a paid charge: never asked
    active      answers
    moved       exported with its path, or halted after a restore: answers what it has answered, and nothing new
    deleted     gone, except its name, its cost and when it was made

The secrets behind answers, training rows and noise, are encrypted where a key is given. Answers
themselves are released already and are stored as they are.
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
from tacita.learn.functions.parametric import ParametricModel
from tacita.learn.functions.sealing import Seal
from tacita.store import Database, aware, now
from tacita.store.events import LOCAL, append
from tacita.store.fence import halt_paths
from tacita.store.schema import answers, model_points, models

__all__ = ["Entry", "Registry", "Stored", "check_name", "stored_of"]

Stored = FunctionModel | ParametricModel

State = Literal["pending", "active", "moved", "deleted"]

_TRIES = 5
_ORPHAN = dt.timedelta(days=1)


@dataclass(frozen=True, kw_only=True)
class Entry:
    """Public entry of one function in the registry."""

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

    @property
    def named(self) -> dict[str, Any]:
        """Id, name and version, for the audit log."""
        return {"model": self.id, "name": self.name, "version": self.version}

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

    def put(self, model: Stored, name: str) -> str:
        """Write a function down; it answers nothing until `activate` names what paid for it."""
        check_name(name)
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
        for left in reversed(range(_TRIES)):
            try:
                with self.database.writing() as connection:
                    _forget_orphans(connection)
                    version = self.next_version(connection, str(row["dataset"]), str(row["name"]))
                    connection.execute(models.insert().values(**row, version=version))
                return
            except sa.exc.IntegrityError:  # another process took the version in between
                if not left:
                    raise

    @staticmethod
    def next_version(connection: sa.Connection, dataset: str, name: str) -> int:
        """Versions are counted for each name of a dataset; those that are pending have no dataset yet."""
        newest = sa.select(sa.func.coalesce(sa.func.max(models.c.version), 0))
        same = (models.c.dataset == dataset, models.c.name == name)
        return int(connection.execute(newest.where(*same)).scalar_one()) + 1

    def activate(self, id: str, *, charge: str, dataset: str) -> Entry:
        """Let a function answer, now that its charge names it; doing it twice changes nothing."""
        pending = (models.c.id == id, models.c.state == "pending")
        for left in reversed(range(_TRIES)):
            try:
                with self.database.writing() as connection:
                    name = connection.execute(sa.select(models.c.name).where(*pending)).scalar_one_or_none()
                    if name is not None:
                        version = self.next_version(connection, dataset, name)
                        values = {"state": "active", "charge": charge, "dataset": dataset, "version": version}
                        connection.execute(models.update().where(*pending).values(**values))
                break
            except sa.exc.IntegrityError:  # another process took the version in between
                if not left:
                    raise
        return self.get(id)

    # -- finding ------------------------------------------------------------------------------------------------------

    def get(self, ref: str, datasets: Sequence[str] | None = None) -> Entry:
        """A function by id, by `name@version`, or the newest of a name; of some datasets, or of all."""
        name, _, version = ref.partition("@")
        query = models.select().where(models.c.state != "pending")
        if datasets is not None:
            query = query.where(models.c.dataset.in_(datasets))
        if ref.startswith("fn_"):
            query = query.where(models.c.id == ref)
        elif version:
            query = query.where(models.c.name == name, models.c.version == _version(version))
        else:
            query = query.where(models.c.name == name, models.c.state != "deleted").order_by(models.c.version.desc())
        with self.database.reading() as connection:
            rows = connection.execute(query).all()
        if not rows:
            raise UnknownName(ref, field="model", available=())
        if len({row.dataset for row in rows}) > 1:
            raise Conflict("functions of several datasets have this name", field="model", value=ref, hint="Use the id")
        return _entry(rows[0])

    def list(
        self, datasets: Sequence[str] | None = None, *, limit: int = 100, offset: int = 0, name: str | None = None
    ) -> list[Entry]:
        """Functions that are or were asked, newest first; of some datasets or of all, all versions of a name or all."""
        if offset >= 1 << 63:  # more than a database counts to
            raise InvalidInput("must be below 2^63", field="offset", value=offset)
        query = models.select().where(models.c.state != "pending").order_by(models.c.created.desc(), models.c.id)
        if datasets is not None:
            query = query.where(models.c.dataset.in_(datasets))
        if name is not None:
            query = query.where(models.c.name == name)
        with self.database.reading() as connection:
            return [_entry(row) for row in connection.execute(query.limit(limit).offset(offset))]

    def model(self, entry: Entry) -> Stored:
        """Model that answers; secret where it is a service."""
        if entry.state == "deleted":
            raise Conflict("was deleted", field="model", value=entry.id)
        with self.database.reading() as connection:
            payload = connection.execute(sa.select(models.c.payload).where(models.c.id == entry.id)).scalar_one()
        model = stored_of(entry.about, self._opened(entry, payload, "payload"))
        # it was written down before its charge was settled
        return model.with_charge(entry.charge, entry.dataset) if isinstance(model, ParametricModel) else model

    def _opened(self, entry: Entry, data: bytes, what: str) -> bytes:
        return self.seal.open(data, f"{entry.id} {what}") if entry.sealed else data

    def open_hidden(self, entry: Entry, place: int, data: bytes) -> Array:
        """Decrypt the stored value of a point."""
        return np.frombuffer(self._opened(entry, data, f"point {place}"), "<f8")

    def close_hidden(self, entry: Entry, place: int, hidden: Array) -> bytes:
        """The same, to be written."""
        raw = hidden.astype("<f8").tobytes()
        if entry.sealed and not self.seal.has_key:
            self.seal.open(b"", "")  # says that a key is needed
        return self.seal.close(raw, f"{entry.id} point {place}") if entry.sealed else raw

    def halt_paths(self) -> int:
        """After a restore: no function with a noise path answers new points any more. Says how many did until now."""
        with self.database.writing() as connection:
            return halt_paths(connection)

    # -- ending -------------------------------------------------------------------------------------------------------

    def delete(self, ref: str, *, principal: str = LOCAL) -> Entry:
        """Delete the arrays of a function, and its points. Its cost stays spent."""
        entry = self.get(ref)
        with self.database.writing() as connection:
            self.lock(connection, entry.id)
            connection.execute(model_points.delete().where(model_points.c.model == entry.id))
            connection.execute(models.update().where(models.c.id == entry.id).values(state="deleted", payload=b""))
            append(connection, "model-deleted", entry.dataset, principal, **entry.named)
        return self.get(entry.id)

    def lock(self, connection: sa.Connection, id: str) -> Any:
        """State and points of a function, locked against other changes until the transaction ends."""
        query = sa.select(models.c.state, models.c.points).where(models.c.id == id)
        return connection.execute(query.with_for_update()).one()


def _forget_orphans(connection: sa.Connection) -> None:
    """Delete functions of runs that ended before their answer was stored; one that an answer names was paid for."""
    old = (models.c.state == "pending", models.c.created < now() - _ORPHAN)
    for id in connection.execute(sa.select(models.c.id).where(*old)).scalars().all():
        named = sa.select(answers.c.charge).where(answers.c.answer.contains(f'"{id}"')).limit(1)
        if connection.execute(named).first() is None:
            connection.execute(models.delete().where(models.c.id == id, *old))


def stored_of(about: Mapping[str, Any], payload: bytes) -> Stored:
    """Restore a model from its bytes; its form gives the class."""
    return (ParametricModel if about["form"] == "parameters" else FunctionModel).of(about, payload)


def check_name(name: str) -> None:
    """Refuse a name that could be mistaken for an id, a version or a job."""
    if not isinstance(name, str) or not 1 <= len(name) <= 200 or "@" in name or name.startswith(("fn_", "job_")):
        rule = "must have 1 to 200 characters, no @, and not begin with fn_ or job_"
        raise InvalidInput(rule, field="name", value=name)


def _version(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 9 else 0


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
