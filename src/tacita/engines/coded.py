"""Rows as codes, unit by unit: for methods that learn from rows and not from tables.

Of a person with more rows than the unit allows, the rows that `Engine.tables` would count are kept. A row with an
out-of-domain value is left out, as it is from a table.

Cost: one pass; the codes are held in memory, a byte or two for each value.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacita.engines.base import Engine
from tacita.engines.local.bound import Bound, key_texts
from tacita.privacy.unit import Unit

__all__ = ["CodedUnits", "coded_units"]


@dataclass(frozen=True, kw_only=True, eq=False)
class CodedUnits:
    """Codes of all rows that count. Exact: for mechanisms only.

    Attributes:
        codes: (units, most rows of a unit, attributes); 0 where there is no row.
        there: (units, most rows of a unit): whether there is such a row.
    """

    codes: NDArray[Any] = field(repr=False)
    there: NDArray[np.bool_] = field(repr=False)

    def __len__(self) -> int:
        return len(self.there)


def coded_units(engine: Engine, names: Sequence[str], unit: Unit) -> CodedUnits:
    """Return the rows that count, grouped by unit."""
    domain = engine.domain
    unit.check(domain)
    chosen = domain.check_countable(names)
    columns = [domain.countable.index(name) for name in chosen]
    needed = chosen if unit.person is None else (*domain.countable, unit.person)
    parts: list[NDArray[Any]] = []
    keyed: list[Any] = []
    for batch in engine.rows(needed):
        if unit.person is None:
            found = domain.encode(batch, chosen)
            parts.append(np.stack([found[name] for name in chosen], axis=1))
            continue
        all_codes = np.array([code.astype(np.uint32) for code in domain.encode(batch).values()])
        keyed.append((key_texts(batch.column(unit.person), domain.nulls, unit.person), all_codes))
        parts.append(all_codes[columns].T)
    outside = np.array([domain[name].out_of_domain for name in chosen])
    codes = np.concatenate(parts) if parts else np.zeros((0, len(chosen)), np.uint8)
    placed = (codes != outside).all(axis=1)
    if unit.person is None:
        kept = codes[placed]
        return CodedUnits(codes=kept[:, None, :], there=np.ones((len(kept), 1), np.bool_))
    owners, counted = _owners(keyed, unit.max_rows)
    return _by_owner(codes[placed & counted], owners[placed & counted], unit.max_rows)


def _owners(keyed: list[Any], max_rows: int) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return for each row the number of its person, and whether the row counts."""
    persons = Bound.count_persons(keys for keys, _ in keyed)
    bound = Bound.find([key for key, rows in persons.items() if rows > max_rows], max_rows, keyed)
    numbers: dict[str | None, int] = {None: -1}
    owners = [
        np.array([numbers.setdefault(text, len(numbers)) for text in keys.to_pylist()], np.int64) for keys, _ in keyed
    ]
    empty = [np.zeros(0)]
    return np.concatenate(owners or empty).astype(np.int64), np.concatenate([*bound.keep(keyed), *empty]).astype(bool)


def _by_owner(codes: NDArray[Any], owners: NDArray[np.int64], max_rows: int) -> CodedUnits:
    order = np.argsort(owners, kind="stable")
    _, starts, rows = np.unique(owners[order], return_index=True, return_counts=True)
    place = np.arange(len(order)) - np.repeat(starts, rows)
    unit_of = np.repeat(np.arange(len(rows)), rows)
    held = np.zeros((len(rows), max_rows, codes.shape[1]), codes.dtype)
    there = np.zeros((len(rows), max_rows), np.bool_)
    held[unit_of, place], there[unit_of, place] = codes[order], True
    return CodedUnits(codes=held, there=there)
