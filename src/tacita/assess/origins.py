"""Key of origins: the real row that each row of a shuffled release was made from; private to the holder.

A partially synthetic release keeps one row for each person and shuffles the rows, so that their order reveals no one.
An intruder scenario must know the order: a released row that fits a target is a right match only if it was made from
that target. The key stays with the holder, in a file beside the release.

    names       attributes that the fingerprints cover
    real        fingerprint of the real rows, in their order
    releases    fingerprint of each release, in its order, with the real row of each released row, -1 for none

The fingerprints tie the key to its rows: a release or a table of real rows that was sorted, cut or exchanged afterwards
is refused, since its row numbers would name other people.

Privacy: the key undoes the shuffle. It is written with access for its owner alone, and says that it is private.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from tacita.assess.frame import read_frame
from tacita.domain import Domain
from tacita.errors import InvalidInput

__all__ = ["Origins"]

_FORM = "origins/1"
_PRIVATE = "PRIVATE: links released rows to real people. For the holder's own assessment; never release it."
_KEY = b"tacita"


@dataclass(frozen=True, kw_only=True, eq=False)
class Origins:
    """The real row of each released row, tied to its tables by fingerprints."""

    names: tuple[str, ...]
    real: str
    releases: tuple[str, ...]
    rows: tuple[NDArray[np.int64], ...] = field(repr=False)

    @classmethod
    def of(
        cls, domain: Domain, *, real: pa.Table, released: Sequence[pa.Table], rows: Sequence[NDArray[np.int64]]
    ) -> Origins:
        """Tie row numbers to their tables.

        Args:
            domain: Of the attributes.
            real: The real rows that `rows` counts.
            released: The releases.
            rows: For each release, the real row of each released row, -1 for none.
        """
        tables = (real, *released)
        names = tuple(name for name in domain.countable if all(name in table.column_names for table in tables))
        return cls(
            names=names,
            real=_fingerprint(domain, real, names),
            releases=tuple(_fingerprint(domain, table, names) for table in released),
            rows=tuple(np.asarray(each, np.int64) for each in rows),
        )

    def belongs(self, domain: Domain, *, real: pa.Table, released: Sequence[pa.Table]) -> tuple[NDArray[np.int64], ...]:
        """Return the real row of each row of some releases, in any order; refuse tables that the key does not know."""
        for place, table in enumerate((real, *released)):
            absent = [name for name in self.names if name not in table.column_names]
            if absent:
                named = "real" if place == 0 else "released"
                raise InvalidInput(_OTHER, field=named, value=", ".join(absent), hint="It lacks these attributes")
        if _fingerprint(domain, real, self.names) != self.real:
            raise InvalidInput(
                "these are not the real rows of the key, in their order",
                field="real",
                hint="Give the rows that the release was made from, unsorted and uncut",
            )
        known = dict(zip(self.releases, self.rows, strict=True))
        found = [known.get(_fingerprint(domain, table, self.names)) for table in released]
        for place, each in enumerate(found, start=1):
            if each is None:
                raise InvalidInput(
                    _OTHER, field="released", value=f"release {place}", hint="It was sorted, cut or made by another run"
                )
        return tuple(each for each in found if each is not None)

    def write(self, path: str | Path) -> None:
        """Write the key, readable by its owner alone."""
        about = {
            "tacita": _FORM,
            "private": _PRIVATE,
            "names": list(self.names),
            "real": self.real,
            "releases": list(self.releases),
        }
        table = pa.table({f"release-{place}": each for place, each in enumerate(self.rows, start=1)})
        table = table.replace_schema_metadata({_KEY: json.dumps(about).encode()})
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            pq.write_table(table, file)

    @classmethod
    def read(cls, path: str | Path) -> Origins:
        """Read a key that `write` wrote."""
        try:
            table = pq.read_table(path)
            about: dict[str, Any] = json.loads((table.schema.metadata or {}).get(_KEY, b"{}"))
        except (OSError, pa.ArrowException, ValueError):
            raise InvalidInput("cannot be read as a key of origins", field="origins", value=path) from None
        columns = [f"release-{place}" for place in range(1, len(about.get("releases", ())) + 1)]
        if about.get("tacita") != _FORM or table.column_names != columns:
            hint = "`tacita impute -o out` writes out.origins.parquet beside the folder"
            raise InvalidInput("is not a key of origins", field="origins", value=path, hint=hint)
        return cls(
            names=tuple(about["names"]),
            real=str(about["real"]),
            releases=tuple(about["releases"]),
            rows=tuple(np.asarray(table[name].to_numpy(), np.int64) for name in columns),
        )


_OTHER = "is not a release of this key, in its order"


def _fingerprint(domain: Domain, table: pa.Table, names: Sequence[str]) -> str:
    """Hash the values in their order, the same for CSV and Parquet."""
    frame = read_frame(domain, table, names=names, rng=np.random.default_rng(0))
    values = np.nan_to_num(frame.values, nan=np.finfo(np.float64).max) + 0.0  # one missing value, no negative zero
    return hashlib.sha256(np.ascontiguousarray(values).tobytes()).hexdigest()
