"""Datasets: a named source, its public schema, and the account that all who ask share."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import logging
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from tacita.domain import Domain
from tacita.engines.base import Engine
from tacita.engines.connect import connect
from tacita.engines.consent import ConsentFile, ConsentFilter
from tacita.engines.marks import data_marks
from tacita.errors import Conflict, SourceUnavailable, UnknownName
from tacita.privacy.budget import Budget
from tacita.privacy.ledger import Account, Ledger
from tacita.privacy.unit import Neighbours, Unit
from tacita.server.data.identity import identity_of
from tacita.server.data.sources import ReadingLimits
from tacita.server.http.logs import line
from tacita.settings import SourceSettings
from tacita.store import Database, aware, now
from tacita.store.events import LOCAL, append
from tacita.store.schema import datasets, policies, releases

__all__ = ["Dataset", "Datasets"]

_ONE_ACCOUNT = "One source has one account: raise its budget instead"


@dataclass(frozen=True, kw_only=True)
class Dataset:
    """One registered dataset."""

    name: str
    source: str
    domain: Domain
    account: Account
    created: dt.datetime

    def as_dict(self) -> dict[str, Any]:
        """Return the facts that anyone with access may know, as plain data. None of them was counted."""
        return {
            "name": self.name,
            "title": self.domain.title,
            "source": self.source,
            "attributes": list(self.domain.countable),
            "unit": str(self.account.unit),
            "neighbours": str(self.account.neighbours),
            "budget": self.account.budget.as_dict(),
            "fingerprint": self.domain.fingerprint,
            "created": self.created.isoformat(),
        }


class Datasets:
    """All datasets of a database, over the sources that the settings name.

    Args:
        database: Where they are registered.
        sources: Where their data lies.
        limits: What files may take to read.
    """

    def __init__(
        self, database: Database, sources: Mapping[str, SourceSettings], *, limits: ReadingLimits | None = None
    ) -> None:
        self._database, self._sources, self._ledger = database, sources, Ledger(database)
        self._limits = limits or ReadingLimits()
        self._engines: dict[tuple[str, dt.datetime], Engine] = {}
        self._lock = threading.Lock()

    def register(
        self,
        *,
        name: str,
        source: str,
        domain: Domain,
        unit: Unit,
        neighbours: Neighbours,
        budget: Budget,
        principal: str = LOCAL,
        again: str | None = None,
    ) -> Dataset:
        """Open the account and store the dataset, after reading the whole source once.

        So the steward sees faults of the source now, and not an analyst who has paid for an answer. Values out of
        domain are no fault: they are not counted. A source is registered once: a second dataset over it would be a
        second budget for the same people.

        Raises:
            NotPublic: A part of the schema came from private data and no one has confirmed it.
            SourceUnavailable, DataError: The source cannot be reached or read, or lacks a column.
            Conflict: The name or the source is taken, or the source is the same data as another, or has an account.
        """
        domain.require_public()
        unit.check(domain)
        self._check_free(name, source)
        engine = self.open_engine(source, domain, known=False)
        self._check_same_data(source)
        # reads the whole source; its counts are discarded
        for advice in engine.check().advice:
            line("advice", level=logging.WARNING, source=source, advice=advice)
        place = self._place(source)
        marks = data_marks(place.address, domain, place.table)
        terms: dict[str, Any] = {"unit": unit, "neighbours": neighbours, "budget": budget}
        self._ledger.open(name, **terms, data=marks, principal=principal, again=again)
        row = {
            "name": name,
            "source": source,
            "domain": domain.to_json(),
            "account": name,
            "created": now(),
        }
        try:
            with self._database.writing() as connection:
                connection.execute(datasets.insert().values(row))
                stated = {"unit": str(unit), "neighbours": str(neighbours), "budget": budget.as_dict()}
                append(connection, "dataset-registered", name, principal, source=source, **stated)
        except sa.exc.IntegrityError:  # registered by another process meanwhile
            self._check_free(name, source)
            raise
        return self.get(name)

    def replace_account(
        self, name: str, *, unit: Unit, neighbours: Neighbours, budget: Budget, principal: str = LOCAL
    ) -> Dataset:
        """Give the account of a dataset other terms, while nothing was charged.

        Raises:
            Conflict: Something was charged, or the data was charged to another account.
            InvalidInput: The unit does not fit the schema.
        """
        found = self.get(name)
        unit.check(found.domain)
        self._ledger.replace(found.account.name, unit=unit, neighbours=neighbours, budget=budget, principal=principal)
        return self.get(name)

    def remove(self, name: str, *, principal: str = LOCAL) -> None:
        """Remove a dataset and close its account, while nothing was charged and no rows were released.

        Raises:
            Conflict: Something was charged, rows were released, or the data was charged to another account.
        """
        found = self.get(name)
        with self._database.writing() as connection:
            if connection.execute(sa.select(releases.c.id).where(releases.c.dataset == name)).first() is not None:
                raise Conflict("has rows that were released", field="dataset", value=name)
            connection.execute(policies.delete().where(policies.c.dataset == name))
            connection.execute(datasets.delete().where(datasets.c.name == name))
            self._ledger.close(found.account.name, principal=principal, inside=connection)
            append(connection, "dataset-removed", name, principal, source=found.source)
        with self._lock:
            self._engines.clear()

    def get(self, name: str) -> Dataset:
        """The dataset of that name."""
        with self._database.reading() as connection:
            row = connection.execute(datasets.select().where(datasets.c.name == name)).one_or_none()
        if row is None:
            known = [dataset.name for dataset in self.list()]
            raise UnknownName(name, field="dataset", available=known)
        return self._read(row)

    def list(self) -> list[Dataset]:
        """Return all datasets, sorted by name."""
        with self._database.reading() as connection:
            rows = connection.execute(datasets.select().order_by(datasets.c.name)).all()
        return [self._read(row) for row in rows]

    def engine(self, dataset: Dataset) -> Engine:
        """Return the engine of a dataset, after reaching its source, so that a missing one is seen before a charge.

        The engine of a file is kept, because it caches what it has read.
        """
        place = self._place(dataset.source)
        if place.files is None and place.counted is None:
            return self.open_engine(dataset.source, dataset.domain)
        if place.files is not None and not place.files.expanduser().exists():
            raise SourceUnavailable("no such file", field="source", value=str(place.files))
        with self._lock:
            # by when it was registered too: another process may have removed it and registered the name anew
            key = (dataset.name, dataset.created)
            found = self._engines.get(key)
            if found is None:
                found = self._engines[key] = self.open_engine(dataset.source, dataset.domain)
            return found

    def consent(self, dataset: Dataset) -> ConsentFilter | None:
        """Return the list of consents, where the source has one."""
        place = self._place(dataset.source).consent
        return None if place is None else ConsentFile(place.expanduser())

    def version(self, dataset: Dataset, purpose: str) -> str:
        """Return a digest of the state of the data. Stored answers are repeated only while it is the same.

        It changes when a file of the source is written.

        Where consent decides whose rows are read, it is new at each call, so that no answer is repeated: consents
        begin and end at any moment, and each purpose has its own people.

        Changes in a database do not change it: to see them, ask for a fresh answer.
        """
        place = self._place(dataset.source)
        roots = [found.expanduser() for found in (place.files, place.consent) if found is not None]
        files = sorted(file for root in roots for file in (root, *root.rglob("*")) if file.is_file())
        marks = [f"{file} {file.stat().st_size} {file.stat().st_mtime_ns}" for file in files]
        if place.consent is not None:
            marks += [f"purpose {purpose}", f"at {now().isoformat()}"]
        return hashlib.sha256("\n".join(marks).encode()).hexdigest()

    def open_engine(self, source: str, domain: Domain, *, known: bool = True) -> Engine:
        """Connect to a named source, which must have all columns of the domain.

        Args:
            source: Its name.
            domain: What is public about it.
            known: Whether it was read as a whole before.
        """
        place = self._place(source)
        if place.path is not None:
            given = self._limits.open(place, domain, known=known)
            # a file that is named in the settings is opened anew when it changes
            return connect(given if place.brought else place.address, domain)
        # registering checks the source; no query may fail on a document that changed later
        return connect(
            place.address,
            domain,
            table=place.table,
            unwind=place.unwind,
            checked=True,
            timeout=self._limits.database_seconds,
        )

    def _place(self, source: str) -> SourceSettings:
        if source not in self._sources:
            raise UnknownName(source, field="source", available=())  # others may be outside the caller's scope
        return self._sources[source]

    def _check_free(self, name: str, source: str) -> None:
        for known in self.list():
            if known.name == name:
                raise Conflict("exists already", field="dataset", value=name)
            if known.source == source:
                raise Conflict(
                    f"is registered as the dataset {known.name!r}",
                    field="source",
                    value=source,
                    hint=_ONE_ACCOUNT,
                )

    def _check_same_data(self, source: str) -> None:
        """Refuse a source that another dataset reads under another name."""
        place = self._place(source)
        marks = identity_of(place)
        for known in self.list():
            other = self._sources.get(known.source)
            if other is None:  # a source that was renamed would otherwise get a second budget
                raise Conflict(
                    f"cannot be compared with that of the dataset {known.name!r}, which the settings no longer name",
                    field="source",
                    value=source,
                    hint=f"Put the source {known.source!r} back into the settings",
                )
            if (other.files is None) != (place.files is None):
                continue
            try:
                same = marks & identity_of(other)
            except SourceUnavailable as error:
                raise SourceUnavailable(
                    f"the source of the dataset {known.name!r} cannot be reached, and might be the same data",
                    field="source",
                    hint="Try again when it is back",
                    private=str(error.private or error),
                ) from error
            if same:
                raise Conflict(
                    f"is the same data as the dataset {known.name!r}", field="source", value=source, hint=_ONE_ACCOUNT
                )

    def _read(self, row: sa.Row[Any]) -> Dataset:
        created = aware(row.created)
        return Dataset(
            name=row.name,
            source=row.source,
            domain=Domain.from_dict(json.loads(row.domain)),
            account=self._ledger.account(row.account),
            created=created,
        )
