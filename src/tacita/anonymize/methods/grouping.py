"""Global recoding: a value is recoded the same way in all rows, and rows that became equal are a group.

The recoding is a number for each code of each attribute. A group that meets the conditions is a class; the rows of the
others are suppressed. The methods that recode globally differ only in which numbers they try.

Two facts let them skip most of what they could try; docs/claims/full-domain.md has the arguments:

    rolls up    when more values become the same, no more rows are suppressed than before
    nested      a part of a group that is not a class is none either

Both hold for criteria that are monotone and nested (k and distinct l), however often a person comes back. For those
that are monotone only, the first holds when nothing may be suppressed and no one has two combinations.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tacita.anonymize.criteria.conditions import Conditions
from tacita.anonymize.kernels.groups import number_groups
from tacita.anonymize.labels import Style, _labels, recoding_of
from tacita.anonymize.methods.judge import Judge
from tacita.anonymize.quasi import DistinctRows, distinct_rows
from tacita.errors import InvalidInput
from tacita.tables.recoding import SUPPRESSED, Axis, Recoding

__all__ = ["Grouping", "Groups", "Labels", "impossible", "words_of"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Labels = Literal["level", "tight"]
"""Label of a class: the recoded value, or the narrowest label that covers the values in it."""
_MOST = 2**62


@dataclass(frozen=True, kw_only=True, eq=False)
class Groups:
    """Combinations that became the same.

    Attributes:
        of: The group of each combination.
        rows: Releasable rows of each group.
        good: Whether each group is a class.
    """

    of: Ints
    rows: Ints
    good: NDArray[np.bool_]

    @property
    def suppressed(self) -> int:
        """Rows in groups that are no class."""
        return int(self.rows[~self.good].sum())


@dataclass(frozen=True, kw_only=True, eq=False)
class Grouping:
    """People, the conditions on every class, and the number of rows that may be suppressed."""

    distinct: DistinctRows
    conditions: Conditions
    budget: int = 0

    @cached_property
    def judge(self) -> Judge:
        """Judge of these people and conditions."""
        return Judge.of(self.distinct, self.conditions)

    @cached_property
    def rows(self) -> Ints:
        """Releasable rows of each combination."""
        return self.judge.people.rows

    @cached_property
    def counts(self) -> tuple[Floats, ...]:
        """Releasable rows, by the code of each attribute."""
        each = zip(self.distinct.axes, self.distinct.codes.T, strict=True)
        return tuple(np.bincount(of, weights=self.rows, minlength=len(axis)).astype(np.float64) for axis, of in each)

    @cached_property
    def nested(self) -> bool:
        """Whether a part of a group that is no class is none either."""
        return all(criterion.nested for criterion in self.conditions.asked)

    @cached_property
    def rolls_up(self) -> bool:
        """Whether no more is suppressed when more values become the same."""
        single = self.distinct.persons is None or self.distinct.people == int(self.distinct.weights.sum())
        monotone = all(criterion.monotone for criterion in self.conditions.asked)
        return monotone and (self.nested or (self.budget == 0 and single))

    def groups(self, becomes: Sequence[Ints]) -> Groups:
        """The groups when code c of attribute j becomes becomes[j][c], a number from 0 on."""
        of, count = self._number(becomes)
        rows = np.bincount(of, weights=self.rows, minlength=count).astype(np.int64)
        if not self.judge.rules.checked:
            people = np.bincount(of, weights=self.distinct.weights, minlength=count)
            return Groups(of=of, rows=rows, good=people >= self.conditions.k)
        return Groups(of=of, rows=rows, good=self.judge.groups(of, count))

    def _number(self, becomes: Sequence[Ints]) -> tuple[Ints, int]:
        parts, span = [], 1
        for numbers in becomes:
            parts.append(numbers * span)
            span *= int(numbers.max(initial=0)) + 1
            if span >= _MOST:
                codes = np.stack(
                    [of[column] for of, column in zip(becomes, self.distinct.codes.T, strict=True)], axis=1
                )
                of = distinct_rows(codes.astype(np.int32), [int(numbers.max()) + 1 for numbers in becomes])[1]
                return of, int(of.max(initial=-1)) + 1
        at = np.cumsum([0, *(len(part) for part in parts[:-1])])
        of, count = number_groups(self.distinct.codes, np.concatenate(parts), at)
        return of, int(count)

    def recoding(
        self, groups: Groups, becomes: Sequence[Ints], texts: Sequence[Sequence[str]], labels: Labels
    ) -> Recoding:
        """The recoding of these groups; texts[j][n] is the label of number n of attribute j."""
        classes = np.where(groups.good, np.cumsum(groups.good) - 1, SUPPRESSED)[groups.of]
        if labels == "tight":
            return recoding_of(self.distinct, classes, Style.TIGHT)
        numbers, places = np.unique(classes, return_index=True)
        first = places[numbers != SUPPRESSED]
        columns = [of[self.distinct.codes[first, j]] for j, of in enumerate(becomes)]
        chosen = np.stack(columns, axis=1).astype(np.int32)
        return Recoding.of(self.distinct.axes, self.distinct.codes, classes, chosen, texts)


def words_of(axis: Axis, becomes: Ints) -> list[str]:
    """The narrowest label of all codes that become each number."""
    codes = np.arange(len(axis), dtype=np.int32)
    which, texts = _labels(axis, None, codes, becomes, int(becomes.max(initial=-1)) + 1, Style.TIGHT)
    return [texts[place] for place in which.tolist()]


def impossible(conditions: Conditions) -> InvalidInput:
    """Error for when not even the coarsest recoding meets the conditions."""
    return InvalidInput(
        "not even one class of all people meets the conditions",
        field="conditions",
        value=conditions.as_dict(),
        hint="Ask for less, or allow more to be suppressed",
    )
