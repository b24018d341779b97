"""Local suppression: cells (not rows) are set missing until every combination of keys that remains has k people.

Two rules say what a missing cell is:

    category   missing is a value of its own. The rows with the same released values, missing among them, are at
               least k people. This is the default and the stricter rule: it implies the other.
    wildcard   missing agrees with every value. Each row agrees with at least k rows, itself included, in all keys
               where both have a value [Templ, Kowarik, Meindl 2015]. It suppresses less; an attacker who guesses why
               a cell is missing may rule out some of the rows.

Sets of keys to suppress are tried by their size, and among equal sizes the least important keys first. With
`category` the rows that are still alone are grouped by the keys that would remain: k people or more form a class, and
fewer join a class with the same values, where there is one. Rows that remain at the end lose all keys; if they are
fewer than k, rows of classes that stay large enough join them. With `wildcard` a row loses the first set of keys with
which k rows agree; each suppressed cell can only raise the counts of other rows, so no row falls below k again. Both
are greedy: the number of cells is small, and not proved least.

Privacy: none in the sense of differential privacy; k-anonymity over the keys, counted again on the released rows.
Utility: suppressed cells of each attribute.
Cost: O(2^d n log n) for d keys, at most 12; only rows that are still alone are sorted.
Claim page: docs/claims/local-suppression.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from tacita import check
from tacita.anonymize.masking.columns import Columns
from tacita.anonymize.masking.method import Effect, MaskingMethod
from tacita.anonymize.parameters import described
from tacita.anonymize.quasi import NO_ONE, distinct_pairs
from tacita.domain import Domain
from tacita.errors import InvalidInput
from tacita.noise.source import Source

__all__ = ["MOST_KEYS", "SuppressLocally", "agreeing", "suppress_category", "suppress_wildcard"]

MOST_KEYS = 12
"""More keys are refused: there are too many sets of them."""
_ABSENT = -1
Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True)
class SuppressLocally(MaskingMethod):
    """Set cells missing until every combination of keys that remains has k people."""

    step: ClassVar[str] = "suppress_locally"
    summary: ClassVar[str] = "Set cells missing until each combination of quasi-identifiers that remains has k people."
    main: ClassVar[str] = "k"
    form: ClassVar[str] = "3 or age,zip=3"
    kinds: ClassVar[tuple[str, ...]] = ("categorical", "ordinal", "boolean", "numeric", "date")

    attributes: tuple[str, ...] = field(
        default=(),
        metadata=described("Keys, the most important first; all quasi-identifiers of the schema if not given."),
    )
    k: int = field(metadata=described("Least people who share a combination.", ge=2))
    missing: Literal["category", "wildcard"] = field(
        default="category",
        metadata=described("Whether a missing cell is a value of its own (stricter) or agrees with every value."),
    )

    def check(self) -> None:
        """Check the numbers and choices."""
        check.whole(self.k, "k", least=2)
        check.one_of(self.missing, "missing", ("category", "wildcard"))

    def resolve(self, domain: Domain) -> SuppressLocally:
        """Take the quasi-identifiers of the schema where no keys are given."""
        quasi = tuple(each.name for each in domain.attributes if each.role == "quasi-identifier")
        if not self.attributes and not quasi:
            hint = f"Name them, as in {self.form}, or set roles in the schema"
            raise InvalidInput("there are no quasi-identifiers", field="suppress-locally", hint=hint)
        made = self if self.attributes else replace(self, attributes=quasi)
        if len(made.attributes) > MOST_KEYS:
            raise InvalidInput(f"takes at most {MOST_KEYS} keys", field=self.step, value=len(made.attributes))
        if self.missing == "wildcard" and domain.person is not None:
            raise InvalidInput(
                "agreement with missing cells is counted in rows, and persons may have several",
                field="missing",
                value=self.missing,
                hint="Use category, which counts persons",
            )
        MaskingMethod.resolve(made, domain)
        return made

    def apply(self, columns: Columns, source: Source) -> Effect:
        """Suppress cells; which ones depends on the values, not on the order of the rows' source."""
        codes = np.stack(
            [np.where(columns[name].missing, _ABSENT, columns[name].numbered) for name in self.attributes], axis=1
        )
        people = columns.rows if columns.persons is None else len(np.unique(columns.persons[columns.persons != NO_ONE]))
        if people < self.k:
            raise InvalidInput(
                "there are fewer people than that",
                field="k",
                value=self.k,
                hint="Take a smaller k" if people else "The table is empty",
            )
        if self.missing == "category":
            cells = suppress_category(codes, self.k, columns.persons)
        else:
            cells = suppress_wildcard(codes, self.k)
        cells &= codes != _ABSENT
        changed = [columns[name].without(cells[:, j]) for j, name in enumerate(self.attributes)]
        counts = {name: int(cells[:, j].sum()) for j, name in enumerate(self.attributes)}
        figures: dict[str, Any] = {
            "suppressed": counts,
            "cells": int(cells.sum()),
            "rows": int(cells.any(axis=1).sum()),
        }
        return Effect(columns=columns.replaced(changed), figures=figures)


def _patterns(keys: int) -> Iterator[tuple[int, ...]]:
    """Sets of keys by size; of equal sizes, those with the least important (last) keys first."""
    for size in range(keys + 1):
        yield from combinations(range(keys - 1, -1, -1), size)


def _groups(codes: Ints) -> tuple[Ints, int]:
    """The group of each row of equal codes, and the number of groups."""
    if not codes.shape[1] or not len(codes):
        return np.zeros(len(codes), np.int64), min(len(codes), 1)
    number = np.zeros(len(codes), np.int64)
    for column in codes.T:
        _, place = np.unique(column, return_inverse=True)
        _, number = np.unique(number * (int(place.max()) + 1) + place.reshape(-1), return_inverse=True)
        number = number.reshape(-1)
    return number, int(number.max()) + 1


def _people(groups: Ints, count: int, persons: Ints | None) -> Ints:
    """People in each group: rows, or distinct persons."""
    members = groups if persons is None else distinct_pairs(groups, persons)[0]
    return np.bincount(members, minlength=count).astype(np.int64)


def suppress_category(codes: Ints, k: int, persons: Ints | None = None) -> Mask:
    """Cells to suppress, so that rows with equal codes, missing among them, are k people.

    Args:
        codes: A row of keys for each row, -1 where missing; at least k people.
        k: Least people.
        persons: Person of each row, -1 for none; every row is a person by default.
    """
    released = codes.copy()
    open_rows = np.arange(len(codes))
    for pattern in _patterns(codes.shape[1]):
        if not len(open_rows):
            break
        tried = codes[open_rows].copy()
        tried[:, list(pattern)] = _ABSENT
        # classes that exist already may have the same values
        settled = np.setdiff1d(np.arange(len(codes)), open_rows, assume_unique=True)
        settled = settled[(released[settled][:, list(pattern)] == _ABSENT).all(axis=1)]
        both, who = np.concatenate([tried, released[settled]]), np.concatenate([open_rows, settled])
        groups, count = _groups(both)
        enough = _people(groups, count, None if persons is None else persons[who]) >= k
        good = enough[groups[: len(open_rows)]]
        released[open_rows[good]] = tried[good]
        open_rows = open_rows[~good]
    if len(open_rows):
        _fill_last(codes, released, open_rows, k, persons)
    return np.asarray((released == _ABSENT) & (codes != _ABSENT))


def _fill_last(codes: Ints, released: Ints, open_rows: Ints, k: int, persons: Ints | None) -> None:
    """Suppress all keys of the last rows, and of rows of other classes until they are k people.

    Rows are taken from the largest class while it keeps k people; if none can spare one, the smallest class goes whole.
    """
    released[open_rows] = _ABSENT
    last = (released == _ABSENT).all(axis=1)
    while int(_people(np.zeros(int(last.sum()), np.int64), 1, None if persons is None else persons[last])[0]) < k:
        rest = np.flatnonzero(~last)
        groups, count = _groups(released[rest])
        people = _people(groups, count, None if persons is None else persons[rest])
        if persons is None and people.max() > k:
            chosen = np.flatnonzero(groups == int(people.argmax()))
            missing = min(k - int(last.sum()), int(people.max()) - k)
            taken = rest[chosen[np.lexsort(codes[rest[chosen]].T)][:missing]]
        else:
            taken = rest[groups == int(people.argmin())]
        released[taken], last[taken] = _ABSENT, True


def agreeing(codes: Ints, rows: Ints) -> Ints:
    """Rows that agree with each of some rows in all keys where both have a value; missing is -1.

    Args:
        codes: All rows.
        rows: Keys of the rows to count for, which need not be rows of `codes`.
    """
    found = np.zeros(len(rows), np.int64)
    theirs, of_all = np.unique(codes == _ABSENT, axis=0, return_inverse=True)
    ours, of_rows = np.unique(rows == _ABSENT, axis=0, return_inverse=True)
    for i, mine in enumerate(ours):
        here = np.flatnonzero(of_rows.reshape(-1) == i)
        for j, other in enumerate(theirs):
            there = np.flatnonzero(of_all.reshape(-1) == j)
            known = ~(mine | other)
            groups, count = _groups(np.concatenate([rows[here][:, known], codes[there][:, known]]))
            found[here] += np.bincount(groups[len(here) :], minlength=count)[groups[: len(here)]]
    return found


def suppress_wildcard(codes: Ints, k: int) -> Mask:
    """Cells to suppress, so that each row agrees with k rows in all keys where both have a value."""
    released = codes.copy()
    open_rows = np.flatnonzero(agreeing(released, released) < k)
    for pattern in _patterns(codes.shape[1]):
        if not len(open_rows):
            break
        tried = codes[open_rows].copy()
        tried[:, list(pattern)] = _ABSENT
        # a row agrees with itself before and after, so that it counts once either way
        good = agreeing(released, tried) >= k
        released[open_rows[good]] = tried[good]
        open_rows = open_rows[~good]
    return np.asarray((released == _ABSENT) & (codes != _ABSENT))
