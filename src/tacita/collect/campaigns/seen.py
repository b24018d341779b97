"""Reports that were counted: their ids in the database, and a fingerprint of each in memory.

The ids of the reports that one transaction counts are stored together, as one run. Appending a run costs the same
however many reports the campaign holds; an index on random ids costs a page for nearly every id.

Whether an id is new is decided in memory: 8 bytes for each report, read from the runs when a campaign's first report
arrives, and from runs that another process has added since. Only committed ids are held in memory, so a transaction
that fails leaves nothing behind.

A fingerprint is Python's keyed 64-bit hash of the id. Two ids with the same fingerprint count as one report. Among n
reports n^2 / 2^65 are expected to be lost in this way: 3e-8 of a report for a million. A sender can block the report
of another person only by knowing its id.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

from tacita.store import Database
from tacita.store.schema import campaigns, report_ids

__all__ = ["Fingerprints", "SeenReports", "number_of", "split_ids", "stored_ids"]

MOST_IN_MEMORY = 1 << 26
"""Fingerprints of all campaigns together, 512 MiB; the campaign that was used longest ago is forgotten first."""
_RUNS_AT_ONCE = 256

Prints = NDArray[np.int64]


def split_ids(data: bytes) -> list[bytes]:
    """Ids of 16 bytes each that stand one after the other."""
    return [data[at : at + 16] for at in range(0, len(data), 16)]


def fingerprints(ids: Sequence[bytes]) -> Prints:
    """A keyed 64-bit hash of each id; the key is of this process."""
    return np.fromiter(map(hash, ids), np.int64, len(ids))


class Fingerprints:
    """A growing set of 64-bit numbers: sorted arrays, each at least four times as long as the next."""

    def __init__(self) -> None:
        self._sorted: list[Prints] = []

    def __len__(self) -> int:
        return sum(each.size for each in self._sorted)

    def add(self, prints: Prints) -> None:
        """Add numbers."""
        if prints.size == 0:
            return
        last = np.sort(prints)
        while self._sorted and self._sorted[-1].size < 4 * last.size:
            last = np.sort(
                np.concatenate([self._sorted.pop(), last]), kind="stable"
            )  # fast for what is sorted in parts
        self._sorted.append(last)

    def knows(self, prints: Prints) -> NDArray[np.bool_]:
        """Return a mask of the numbers that are in the set."""
        order = np.argsort(prints)  # neighbours are looked up one after the other: they share cache lines
        wanted, found = prints[order], np.zeros(prints.size, dtype=bool)
        for each in self._sorted:
            places = np.minimum(np.searchsorted(each, wanted), each.size - 1)
            found |= each[places] == wanted
        known = np.empty_like(found)
        known[order] = found
        return known


class _Mirror:
    """The runs of one campaign that have been read."""

    def __init__(self, connection: sa.Connection, id: str) -> None:
        self.number = number_of(connection, id)
        self.last, self.prints = 0, Fingerprints()

    def read(self, connection: sa.Connection) -> None:
        """Read what was committed since."""
        for run, ids in _runs(connection, self.number, after=self.last):
            self.prints.add(fingerprints(split_ids(ids)))
            self.last = run


def number_of(connection: sa.Connection, id: str) -> int:
    """The short number by which large tables refer to a campaign."""
    return int(connection.execute(sa.select(campaigns.c.number).where(campaigns.c.id == id)).scalar_one())


_NEXT_RUNS = (
    sa.select(report_ids.c.run, report_ids.c.ids)
    .where(report_ids.c.campaign == sa.bindparam("of"), report_ids.c.run > sa.bindparam("after"))
    .order_by(report_ids.c.run)
    .limit(_RUNS_AT_ONCE)
)


def _runs(connection: sa.Connection, campaign: int, *, after: int = 0) -> Iterator[tuple[int, bytes]]:
    """The next runs of a campaign, a bounded number of them at a time."""
    while True:
        found = connection.execute(_NEXT_RUNS, {"of": campaign, "after": after}).all()
        for row in found:
            yield int(row.run), bytes(row.ids)
        if len(found) < _RUNS_AT_ONCE:
            return
        after = int(found[-1].run)


def stored_ids(connection: sa.Connection, id: str) -> list[bytes]:
    """All ids of a campaign's reports, in order."""
    return sorted(name for _, ids in _runs(connection, number_of(connection, id)) for name in split_ids(ids))


class SeenReports:
    """The reports that have counted, of all campaigns of one database, as one process knows them."""

    def __init__(self) -> None:
        self._mirrors: OrderedDict[str, _Mirror] = OrderedDict()
        self._lock = threading.Lock()

    def read_ahead(self, database: Database, ids: Iterable[str]) -> None:
        """Read the runs of campaigns that are not in memory, so that no transaction waits for a million ids."""
        with self._lock:
            missing = [id for id in ids if id not in self._mirrors]
            if missing:
                with database.reading() as connection:
                    there = sa.select(campaigns.c.id).where(campaigns.c.id.in_(missing))
                    for id in connection.execute(there).scalars().all():
                        self._mirror(connection, id)

    def remember(self, connection: sa.Connection, id: str, names: set[bytes]) -> set[bytes]:
        """Store ids of one campaign's reports, once in a transaction, which has locked it; those that were new."""
        ordered = sorted(names)  # the order of arrival is not kept
        with self._lock:
            mirror = self._mirror(connection, id)
            known = mirror.prints.knows(fingerprints(ordered))
            number, run = mirror.number, mirror.last + 1
        fresh = [ordered[place] for place in np.flatnonzero(~known).tolist()] if known.any() else ordered
        if fresh:
            connection.execute(report_ids.insert(), {"campaign": number, "run": run, "ids": b"".join(fresh)})
        return set(fresh)

    def _mirror(self, connection: sa.Connection, id: str) -> _Mirror:
        mirror = self._mirrors.pop(id, None) or _Mirror(connection, id)
        mirror.read(connection)
        self._mirrors[id] = mirror
        while len(self._mirrors) > 1 and sum(len(each.prints) for each in self._mirrors.values()) > MOST_IN_MEMORY:
            self._mirrors.popitem(last=False)
        return mirror
