"""Raw tap records in the form of the schema: dates, minutes since midnight, ids of places.

The EZ-link records of Singapore have the columns

    card number, transport mode, entry date, entry time, exit date, exit time, payment mode, commuter category,
    origin location id, destination location id

`EZLINK` names them; spaces, underscores and upper case do not matter. Other operators' columns are given as a mapping.

    date    a date or timestamp; text as 2011-08-01, 01/08/2011 (day first) or 20110801
    time    a time or timestamp; text as 7:05, 07:05:33 or 070533
    place   an id, or a name of the places' list

A date or time that cannot be read, and a place that is not in the list, become null.

Privacy: none; the result is as sensitive as the records.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tacita.domain import Domain
from tacita.errors import InvalidInput
from tacita.synthesize.mobility.places import Places
from tacita.synthesize.mobility.schema import NEEDED, tap_domain

__all__ = ["EZLINK", "draft_domain", "load_taps"]

EZLINK = {
    "card": ("card number", "card id", "card"),
    "mode": ("transport mode", "travel mode", "mode"),
    "entry_date": ("entry date", "ride start date"),
    "entry_time": ("entry time", "ride start time"),
    "exit_date": ("exit date", "ride end date"),
    "exit_time": ("exit time", "ride end time"),
    "payment": ("payment mode", "payment"),
    "category": ("commuter category", "passenger type", "category"),
    "origin": ("origin location id", "origin id", "boarding stop", "origin"),
    "destination": ("destination location id", "destination id", "alighting stop", "destination"),
}
"""Usual names of the columns, by role."""

_DATES = (
    (re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2})"), (0, 1, 2)),
    (re.compile(r"(\d{1,2})[/.](\d{1,2})[/.](\d{4})"), (2, 1, 0)),
    (re.compile(r"(\d{4})(\d{2})(\d{2})"), (0, 1, 2)),
)
_TIME = re.compile(r"(?:.*[T ])?(\d{1,2}):(\d{2})(?::\d{2}(?:\.\d+)?)?$")
_PACKED = re.compile(r"(\d{1,2})(\d{2})(\d{2})$")


def load_taps(table: pa.Table, *, columns: Mapping[str, str] | None = None, places: Places | None = None) -> pa.Table:
    """Return raw tap records with the columns and types of the schema; columns that are not named are left out.

    Args:
        table: Raw records.
        columns: Name of the column for each role that has an unusual one: `{"origin": "from"}`.
        places: Places by id and name; without them places are kept as they are written.
    """
    found = _found(table, columns or {})
    made: dict[str, Any] = {"card": table[found["card"]]}
    for role in ("entry_date", "exit_date"):
        if role in found:
            made[role] = _each(table[found[role]], _date, pa.date32())
    for role in ("entry_time", "exit_time"):
        if role in found:
            made[role] = _each(table[found[role]], _minute, pa.int64())
    for role in ("origin", "destination"):
        texts = _texts(table[found[role]])
        if places is not None:
            codes = places.codes_of(texts.dictionary.to_pylist())
            ids = pa.array(places.ids, pa.string()).take(pa.array(codes, mask=codes < 0))
            made[role] = ids.take(texts.indices)
        else:
            made[role] = texts.dictionary_decode()
    for role in ("mode", "payment", "category"):
        if role in found:
            made[role] = _texts(table[found[role]]).dictionary_decode()
    return pa.table(made)


def draft_domain(table: pa.Table, places: Places | None = None) -> Domain:
    """Draft a schema for loaded tap records; parts that were read off the records are marked as not public yet.

    Args:
        table: The result of `load_taps`.
        places: Public places; without them the places that occur are listed, and marked.
    """
    days = [day for name in ("entry_date", "exit_date") if name in table.column_names for day in _ends(table[name])]
    if not days:
        raise InvalidInput("must have at least one date of entry", field="table")

    def levels(name: str) -> list[str]:
        return sorted(pc.unique(table[name]).drop_null().to_pylist()) if name in table.column_names else []

    ids = list(places.ids) if places is not None else sorted({*levels("origin"), *levels("destination")})
    domain = tap_domain(
        ids,
        first=min(days),
        last=max(days) if max(days) > min(days) else min(days) + dt.timedelta(days=1),
        modes=levels("mode"),
        categories=levels("category"),
        payments=levels("payment"),
    )
    drafted = []
    for attribute in domain.attributes:
        part: tuple[str, ...] = ()
        if attribute.kind == "date":
            part = ("bounds",)
        elif attribute.kind == "categorical" and (places is None or attribute.name not in ("origin", "destination")):
            part = ("levels",)
        drafted.append(attribute.model_copy(update={"derived": part}))
    return Domain.from_dict(domain.model_copy(update={"attributes": tuple(drafted)}).as_dict())


def _found(table: pa.Table, columns: Mapping[str, str]) -> dict[str, str]:
    """Find the column of each role."""
    for role, name in columns.items():
        if role not in EZLINK:
            raise InvalidInput(f"must be among {', '.join(EZLINK)}", field="columns", value=role)
        if name not in table.column_names:
            raise InvalidInput("must be a column of the data", field=f"columns.{role}", value=name)
    plain = {_plain(name): name for name in reversed(table.column_names)}
    found = dict(columns)
    for role, usual in EZLINK.items():
        known = [plain[_plain(name)] for name in usual if _plain(name) in plain]
        if role not in found and known:
            found[role] = known[0]
    for role in ("card", *NEEDED):
        if role not in found:
            hint = f"Name it: --columns {role}=COLUMN. The columns are: {', '.join(table.column_names[:20])}"
            raise InvalidInput("is not among the columns", field=role, hint=hint)
    return found


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def _texts(column: pa.ChunkedArray) -> pa.DictionaryArray:
    """The distinct texts of a column; an empty one is missing."""
    texts = column.cast(pa.string()).combine_chunks()
    return pc.if_else(pc.equal(texts, ""), pa.scalar(None, pa.string()), texts).dictionary_encode()


def _each(column: pa.ChunkedArray, read: Callable[[str], Any], kind: pa.DataType) -> pa.Array:
    """Read each distinct text once."""
    if pa.types.is_date(column.type) and kind == pa.date32():
        return column.combine_chunks().cast(pa.date32())
    texts = _texts(column)
    values = [None if text is None else read(text.strip()) for text in texts.dictionary.to_pylist()]
    return pa.array(values, kind).take(texts.indices)


def _date(text: str) -> dt.date | None:
    """Read a date.

    >>> _date("01/08/2011"), _date("2011-08-01 07:00:00"), _date("no")
    (datetime.date(2011, 8, 1), datetime.date(2011, 8, 1), None)
    """
    for pattern, order in _DATES:
        match = pattern.match(text)
        if match:
            numbers = [int(part) for part in match.groups()]
            try:
                return dt.date(*(numbers[place] for place in order))
            except ValueError:
                return None
    return None


def _minute(text: str) -> int | None:
    """Read a time of day as minutes since midnight.

    >>> _minute("7:05"), _minute("070533"), _minute("2011-08-01 23:59:01"), _minute("25:00")
    (425, 425, 1439, None)
    """
    match = _TIME.match(text) or _PACKED.match(text)
    if match is None or int(match[1]) > 23 or int(match[2]) > 59:
        return None
    return int(match[1]) * 60 + int(match[2])


def _ends(column: pa.ChunkedArray) -> list[dt.date]:
    ends = pc.min_max(column).as_py()
    return [day for day in (ends["min"], ends["max"]) if day is not None]
