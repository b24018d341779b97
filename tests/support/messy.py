"""Messy files: the same people in eight dialects with five faults each, and what a right reading of them is.

    dialect    delimiter, decimal and thousands marks, format of dates, encoding, words for missing values
    fault      nothing more; a preamble; quotes with delimiters and line ends in them; no header; spaces around values

A reader must give the people of `PEOPLE`, or refuse the file with a way out.
"""

from __future__ import annotations

import datetime as dt
import io
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np

__all__ = ["DIALECTS", "FAULTS", "PEOPLE", "Dialect", "Fault", "messy_files", "write_messy"]


@dataclass(frozen=True)
class Person:
    """One row as it is meant."""

    name: str
    age: int | None
    pay: float | None
    born: dt.date
    town: str


def _people(count: int = 400, seed: int = 7) -> list[Person]:
    rng = np.random.default_rng(seed)
    towns = ("Zürich", "Orléans", "Málaga", "Tromsø", "Gdynia")
    return [
        Person(
            name=f"{'ABCDE'[i % 5]}{i:04d}",
            age=None if i % 40 == 7 else int(rng.integers(16, 90)),
            pay=None if i % 50 == 9 else round(float(rng.gamma(3, 900)) + 1000, 2),
            born=dt.date(1930, 1, 1) + dt.timedelta(days=int(rng.integers(0, 28_000))),
            town=towns[int(rng.integers(0, 5))],
        )
        for i in range(count)
    ]


PEOPLE = _people()


@dataclass(frozen=True)
class Dialect:
    """How a country or a program writes."""

    name: str
    delimiter: str
    decimal: str
    thousands: str
    dates: str
    encoding: str
    null: str
    quote: str = '"'


DIALECTS = (
    Dialect("plain", ",", ".", "", "%Y-%m-%d", "utf-8", ""),
    Dialect("german", ";", ",", ".", "%d.%m.%Y", "cp1252", "k.A."),
    Dialect("french", ";", ",", "\u202f", "%d/%m/%Y", "utf-8", "NA"),
    Dialect("swiss", ";", ".", "'", "%d.%m.%Y", "utf-8-sig", "-"),
    Dialect("british", ",", ".", ",", "%d/%m/%Y", "latin-1", "N/A"),
    Dialect("american", "|", ".", ",", "%m/%d/%Y", "utf-8", "NULL"),
    Dialect("spreadsheet", "\t", ",", "", "%d-%m-%Y", "utf-16", "#N/A"),
    Dialect("statistics", ";", ",", "", "%d.%m.%y", "utf-8", ".."),
)
Fault = str
FAULTS: tuple[Fault, ...] = ("none", "preamble", "quotes", "no header", "spaces")


def messy_files() -> Iterator[tuple[Dialect, Fault]]:
    """All forty combinations."""
    yield from product(DIALECTS, FAULTS)


def write_messy(dialect: Dialect, fault: Fault) -> bytes:
    """The people in a dialect, with a fault."""
    out = io.StringIO(newline="")
    if fault == "preamble":
        out.write(f"Personnel report{chr(10)}Department of people, all towns{chr(10)}{chr(10)}")
    rows = [_row(person, dialect, fault) for person in PEOPLE]
    if fault != "no header":
        rows.insert(0, ["name", "age", "pay", "born", "town"])
    gap = " " if fault == "spaces" else ""
    for row in rows:
        cells = [_quoted(cell, dialect, always=fault == "quotes") for cell in row]
        out.write((dialect.delimiter + gap).join(cells) + "\r\n")
    return out.getvalue().encode(dialect.encoding, "replace")


def _row(person: Person, dialect: Dialect, fault: Fault) -> list[str]:
    name = person.name
    if fault == "quotes":
        name = f'{name}{dialect.delimiter} "x"\nsecond line'
    return [
        name,
        dialect.null if person.age is None else str(person.age),
        dialect.null if person.pay is None else _number(person.pay, dialect),
        person.born.strftime(dialect.dates),
        person.town,
    ]


def _number(value: float, dialect: Dialect) -> str:
    text = f"{value:,.2f}"
    return text.replace(",", "\0").replace(".", dialect.decimal).replace("\0", dialect.thousands)


def _quoted(cell: str, dialect: Dialect, *, always: bool) -> str:
    if always or any(mark in cell for mark in (dialect.delimiter, '"', "\n")):
        return '"' + cell.replace('"', '""') + '"'
    return cell
