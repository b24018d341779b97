"""Witness: the last charges of a ledger, noted in a file outside of the state.

A copy of the state that was put back by other means than `tacita state restore` looks like the state itself: a file of
SQLite, a dump that `pg_restore --clean` puts into the same database, a snapshot of a volume. It lacks the charges that
were made after it was copied, and the witness names the last of them. If one is missing, every account is closed
(`fence.py`).

The file lies in a folder of this machine, under a name that only this ledger gives it, and is written after each
charge, before the data is read. Processes on one machine share it; each machine has its own, and knows of the charges
that were made there. What it says counts until an operator has stated what was spent: then the state begins another
generation, and a file of an earlier one is out of date. A file that was put back together with the state shows nothing,
so keep it on another volume.
"""

from __future__ import annotations

import fcntl
import hmac
import json
import os
import secrets as randomness
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import sqlalchemy as sa

from tacita.errors import SourceUnavailable
from tacita.store.private import private_folder
from tacita.store.schema import charges, installation, secrets

__all__ = ["Witness", "begin_generation", "current_generation"]

_KEPT = 16  # processes may note their charges in another order than they made them
_GENERATIONS = "generations"


class Witness:
    """The file of one ledger.

    Args:
        folder: Where the files of all ledgers lie.
        secret: Of the ledger; copies of a state have the same.
    """

    def __init__(self, folder: Path, secret: bytes) -> None:
        name = hmac.new(secret, b"witness", "sha256").hexdigest()[:32]
        self.path = folder / f"{name}.json"

    @classmethod
    def of(cls, folder: Path, connection: sa.Connection) -> Witness:
        """The witness of the ledger in a database."""
        secret = connection.execute(sa.select(secrets.c.value).where(secrets.c.name == "ledger")).scalar_one()
        return cls(folder, bytes.fromhex(secret))

    def read(self) -> tuple[str | None, list[str]]:
        """The generation and the last charges that were noted; none if there is no file."""
        with self._explained():
            try:
                noted = json.loads(self.path.read_text(encoding="utf-8"))
            except FileNotFoundError:
                return None, []
            return str(noted["generation"]), [str(each) for each in noted["charges"]]

    @contextmanager
    def noting(self, generation: str, charge: str) -> Iterator[Callable[[], None]]:
        """Write down a charge while it is not in the state yet, and give what makes the note count once it is.

        What could fail, such as a full disk, fails here, before the charge is committed.
        """
        with self._locked():
            with self._explained():
                before, noted = self.read()
                kept = [each for each in noted if each != charge][-_KEPT + 1 :] if before == generation else []
                unfinished = self.path.with_suffix(".unfinished")
                with unfinished.open("w", encoding="utf-8") as file:
                    json.dump({"generation": generation, "charges": [*kept, charge]}, file)
                    file.flush()
                    os.fsync(file.fileno())

            def keep() -> None:
                with self._explained():
                    os.replace(unfinished, self.path)

            yield keep

    def note(self, generation: str, charge: str) -> None:
        """Add a charge that is in the state for good."""
        with self.noting(generation, charge) as keep:
            keep()

    def is_ahead(self, connection: sa.Connection) -> bool:
        """Whether the state lacks something that was noted."""
        generation, noted = self.read()  # before the state: what was noted was committed before
        if generation is None:
            return False
        known = _generations(connection)
        if generation in known[:-1]:
            return False
        there = sa.select(sa.func.count()).select_from(charges).where(charges.c.id.in_(noted))
        return generation not in known or connection.execute(there).scalar_one() < len(noted)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        with self._explained():
            private_folder(self.path.parent)
            lock = os.open(self.path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
        finally:
            os.close(lock)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            raise SourceUnavailable(
                "the witness of the ledger cannot be read or written, so that nothing is charged",
                field="witness",
                value=self.path,
                hint="See to its folder, or name another one: the setting `witness`",
                private=type(error).__name__,
            ) from error


# -- generations of the state ------------------------------------------------------------------------------------------


def current_generation(connection: sa.Connection) -> str:
    """The generation of the state; a state that has none begins one, inside the caller's transaction."""
    known = _generations(connection)
    return known[-1] if known else begin_generation(connection)


def begin_generation(connection: sa.Connection, witness: Witness | None = None) -> str:
    """Begin a generation: what was noted before, by this machine or another, is out of date."""
    known = _generations(connection)
    noted = witness.read()[0] if witness is not None else None
    more = [noted] if noted is not None and noted not in known else []
    value = json.dumps([*known, *more, randomness.token_hex(8)])
    if known:  # only what was read is replaced: another process may have begun one in the meantime
        read = (installation.c.name == _GENERATIONS) & (installation.c.value == json.dumps(known))
        connection.execute(installation.update().where(read).values(value=value))
    else:
        with suppress(sa.exc.IntegrityError), connection.begin_nested():
            connection.execute(installation.insert().values(name=_GENERATIONS, value=value))
    return _generations(connection)[-1]


def _generations(connection: sa.Connection) -> list[str]:
    query = sa.select(installation.c.value).where(installation.c.name == _GENERATIONS)
    found = connection.execute(query).scalar_one_or_none()
    return [] if found is None else [str(each) for each in json.loads(found)]
