"""Singling out: find a description, in the release, that fits exactly one person in the data.  [Giomi et al. 2023]

A guess is a conjunction over some attributes of a released row: equal for those without an order, at most or at least
for ordered ones (by the side of the median that the row lies on). A guess is kept if exactly one row of the release
fits it, and succeeds if exactly one person of the data does. One-attribute guesses are the extremes and the values that
occur once.

The control is the share of the same guesses that fit exactly one of as many people who were not in the data.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tacita import check
from tacita.assess.attacks._as_many import none_and_one, worked_out
from tacita.assess.attacks.attack import Attack
from tacita.assess.case import Case
from tacita.assess.frame import Frame
from tacita.assess.rates import Leak, Rate
from tacita.common.compiled import compiled
from tacita.errors import InvalidInput

__all__ = ["SEVERAL", "SINGLE", "Guesses", "count_fitting", "singling_out"]

EQUAL, AT_MOST, AT_LEAST = 0, 1, 2
_PATIENCE = 200
"""Most candidates that are tried for each guess."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Guesses:
    """Conjunctions: for each, `width` triples (column, relation, value); a column of -1 is unused."""

    columns: NDArray[np.int64]
    relations: NDArray[np.int8]
    values: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.columns)

    def take(self, which: Any) -> Guesses:
        """Some of them."""
        return Guesses(columns=self.columns[which], relations=self.relations[which], values=self.values[which])


def singling_out(
    case: Case,
    rng: np.random.Generator,
    *,
    attempts: int = 500,
    columns: int = 4,
    mode: Literal["multivariate", "univariate"] = "multivariate",
) -> Leak:
    """Measure how often a description that fits one released row fits one person.

    Args:
        case: The release and the people; the first release is attacked.
        rng: For the guesses.
        attempts: Number of guesses.
        columns: Number of attributes in a multivariate guess.
        mode: One attribute at a time, or several.
    """
    check.whole(attempts, "attempts", least=1)
    if not 1 <= columns <= len(case.names):
        raise InvalidInput(f"must be 1 to {len(case.names)}", field="columns", value=columns)
    notes = []
    if mode == "univariate":
        guesses = _extremes(case.first, rng, attempts)
    else:
        guesses = _unique(case.first, rng, attempts, columns)
    if not len(guesses):
        raise InvalidInput(
            "no description fits exactly one released row", field="attempts", value=attempts, hint="Use more columns"
        )
    if len(guesses) < attempts:
        notes.append(f"Only {len(guesses)} of {attempts} guesses could be made.")
    beside, note = (None, "") if case.control is None else _beside(case.control, len(case.real), guesses, rng)
    notes += [note] if note else []
    blind = _blind(case.first, rng, len(guesses), guesses.columns.shape[1])
    return Leak(
        name=f"singling out, {mode}",
        attack=Rate.of(count_fitting(case.real, guesses) == 1),
        baseline=Rate.of(count_fitting(case.real, blind) == 1),
        control=beside,
        notes=tuple(notes),
    )


def _beside(control: Frame, people: int, guesses: Guesses, rng: np.random.Generator) -> tuple[Rate, str]:
    """Measure how often the guesses fit exactly one of as many people who are not in the data.

    With enough people it is counted; with fewer it is extrapolated, see `_as_many`.
    """
    if len(control) >= people:
        some = control.take(rng.choice(len(control), people, replace=False))
        return Rate.of(count_fitting(some, guesses) == 1), ""
    counts = count_fitting(control, guesses, most=len(control) + 1).astype(np.float64)
    share = none_and_one(counts, people / len(control))[1]
    return worked_out(share, len(guesses), len(control), people)


def count_fitting(frame: Frame, guesses: Guesses, most: int = 2) -> NDArray[np.int64]:
    """Count the rows that fit each guess, up to `most`."""
    counts = np.zeros(len(guesses), np.int64)
    _count(np.asfortranarray(frame.values), guesses.columns, guesses.relations, guesses.values, most, counts)
    return counts


def _unique(frame: Frame, rng: np.random.Generator, attempts: int, columns: int) -> Guesses:
    """Draw distinct guesses that fit one released row each: the same guess twice is one trial."""
    tried, median = 0, _medians(frame)
    found = _about(frame, np.zeros(0, np.int64), np.zeros((0, columns), np.int64), median)
    while len(found) < attempts and tried < _PATIENCE * attempts:
        size = max(256, 2 * (attempts - len(found)))
        tried += size
        rows = rng.integers(len(frame), size=size)
        picked = rng.random((size, len(frame.names))).argsort(axis=1)[:, :columns]
        some = _about(frame, rows, picked, median)
        found = _distinct(_joined([found, some.take(count_fitting(frame, some) == 1)]))
    return found.take(slice(attempts))


def _distinct(guesses: Guesses) -> Guesses:
    """Keep the first occurrence of each conjunction, regardless of the order of its parts."""
    order = guesses.columns.argsort(axis=1, kind="stable")
    parts = (guesses.columns, guesses.relations, guesses.values)
    keys = np.concatenate([np.take_along_axis(part, order, axis=1) for part in parts], axis=1)
    return guesses.take(np.sort(np.unique(keys, axis=0, return_index=True)[1]))


def _medians(frame: Frame) -> NDArray[np.float64]:
    """Compute the median of each ordered attribute; 0 if all values are missing or there is no order."""
    found = np.zeros(len(frame.names))
    for place in np.flatnonzero(frame.ordered):
        known = frame.values[:, place][~np.isnan(frame.values[:, place])]
        found[place] = np.median(known) if known.size else 0.0
    return found


def _about(frame: Frame, rows: NDArray[np.int64], picked: NDArray[np.int64], median: NDArray[np.float64]) -> Guesses:
    values = np.take_along_axis(frame.values[rows], picked, axis=1)
    side = np.where(values > median[picked], AT_LEAST, AT_MOST)
    relations = np.where(frame.ordered[picked], side, EQUAL)
    return Guesses(
        columns=np.where(np.isnan(values), -1, picked),
        relations=relations.astype(np.int8),
        values=np.nan_to_num(values),
    )


def _extremes(frame: Frame, rng: np.random.Generator, attempts: int) -> Guesses:
    """Guess at or beyond the extremes of each ordered attribute, and at each value that one released row has."""
    columns, relations, values = [], [], []
    for place, ordered in enumerate(frame.ordered):
        present = frame.values[:, place][~np.isnan(frame.values[:, place])]
        if not present.size:
            continue
        if ordered:
            columns += [place, place]
            relations += [AT_MOST, AT_LEAST]
            values += [present.min(), present.max()]
        level, count = np.unique(present, return_counts=True)
        for value in level[(count == 1) & (ordered | (level >= 0))]:
            columns.append(place)
            relations.append(EQUAL)
            values.append(float(value))
    order = rng.permutation(len(columns))[:attempts]
    return Guesses(
        columns=np.array(columns, np.int64).reshape(-1, 1)[order],
        relations=np.array(relations, np.int8).reshape(-1, 1)[order],
        values=np.array(values, np.float64).reshape(-1, 1)[order],
    )


def _blind(frame: Frame, rng: np.random.Generator, attempts: int, columns: int) -> Guesses:
    """Draw guesses from the schema alone, without the release."""
    picked = rng.random((attempts, len(frame.names))).argsort(axis=1)[:, :columns]
    values = np.empty(picked.shape)
    for place, attribute in enumerate(frame.domain.attributes):
        low, high = getattr(attribute, "line_bounds", (0, len(attribute.labels) - 1))
        drawn = rng.uniform(low, high, picked.shape)
        whole = getattr(attribute, "integer", True)
        values = np.where(picked == place, np.rint(drawn) if whole else drawn, values)
    either = rng.integers(AT_MOST, AT_LEAST + 1, picked.shape)
    relations = np.where(frame.ordered[picked], either, EQUAL).astype(np.int8)
    return Guesses(columns=picked, relations=relations, values=values)


def _joined(parts: list[Guesses]) -> Guesses:
    return Guesses(
        columns=np.concatenate([part.columns for part in parts]),
        relations=np.concatenate([part.relations for part in parts]),
        values=np.concatenate([part.values for part in parts]),
    )


@compiled
def _count(rows: Any, columns: Any, relations: Any, values: Any, most: Any, counts: Any) -> None:
    for guess in range(columns.shape[0]):
        found = 0
        for row in range(rows.shape[0]):
            fits = True
            for j in range(columns.shape[1]):
                column = columns[guess, j]
                if column < 0:
                    continue
                value, wanted, relation = rows[row, column], values[guess, j], relations[guess, j]
                if relation == 0:
                    fits = value == wanted
                elif relation == 1:
                    fits = value <= wanted
                else:
                    fits = value >= wanted
                if not fits:
                    break
            if fits:
                found += 1
                if found == most:
                    break
        counts[guess] = found


SEVERAL = Attack(
    name="singling-out",
    title="singling out",
    question="Does a description by several attributes that fits one released row fit one person?",
    needs="released rows",
    run=lambda case, options, rng: [
        singling_out(case, rng, attempts=options.attempts, columns=min(4, len(case.names)))
    ],
    shared=True,
)
SINGLE = Attack(
    name="singling-out-univariate",
    title="singling out, one attribute",
    question="Does an extreme or unique value of one attribute in the release fit one person?",
    needs="released rows",
    run=lambda case, options, rng: [singling_out(case, rng, attempts=options.attempts, columns=1, mode="univariate")],
    shared=True,
)
