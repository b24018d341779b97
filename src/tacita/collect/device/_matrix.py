"""Any channel as a table of integers, on a device. Standard library only."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import Any

from tacita.collect.device import draw
from tacita.collect.device._base import MAX_CELLS, Answer, DeviceChannel, check_index, check_weight, describe_reports
from tacita.collect.device.draw import WORD_RANGE
from tacita.collect.device.refusal import Refusal
from tacita.errors import InvalidInput

__all__ = ["Matrix"]


@dataclass(frozen=True, kw_only=True)
class Matrix(DeviceChannel):
    """Any channel as a table: the index of a column.

    Args:
        weights: A row for each cell, a column for each report.
    """

    kind = "matrix"
    weights: tuple[tuple[int, ...], ...]

    @classmethod
    def _read(cls, name: str, value: Any) -> Any:
        if not isinstance(value, list) or not all(isinstance(row, list) for row in value):
            raise Refusal("weights-count", "must be a list of lists", field="channel.weights")
        return tuple(map(tuple, value))

    def check(self, cells: int) -> None:
        """Rows of one sum, and no report that some cells give and others never do."""
        if not isinstance(self.weights, tuple) or len(self.weights) != cells:
            raise Refusal("weights-count", "must hold one row for each cell", field="channel.weights")
        lengths = {len(row) if isinstance(row, tuple) else 0 for row in self.weights}
        if len(lengths) > 1 or not 1 <= max(lengths) <= MAX_CELLS // cells:
            rule = "must hold equally long rows, at most 2**20 weights in all"
            raise Refusal("weights-count", rule, field="channel.weights")
        for x, row in enumerate(self.weights):
            for y, weight in enumerate(row):
                check_weight(weight, f"weights[{x}][{y}]")
        totals = {sum(row) for row in self.weights}
        if len(totals) > 1 or not 1 <= max(totals) <= WORD_RANGE:
            raise Refusal("total", "all rows must have one sum, 1 to 2**53", field="channel.weights")
        for y, column in enumerate(zip(*self.weights, strict=True)):
            if max(column) > 0 and min(column) == 0:
                rule = "must be positive for all cells or for none: a report that some never give confesses"
                raise Refusal("weight-zero", rule, field="channel.weights", value=f"column {y}")

    def worst_ratio(self, cells: int) -> Fraction:
        """The largest ratio within a column."""
        # Claim: all rows have one total, so that weights are probabilities, and any cell may be taken for any other.
        columns = (column for column in zip(*self.weights, strict=True) if column[0])
        return max(Fraction(max(column), min(column)) for column in columns)

    def keep_probability(self, cells: int) -> Fraction:
        """1 less the part of the law that all cells share; keep / total where the table is randomized response."""
        total = sum(self.weights[0])
        return 1 - Fraction(sum(map(min, zip(*self.weights, strict=True))), total)

    def describe(self, cells: int) -> str:
        """One of the reports."""
        return describe_reports(self.index_end(cells), self.keep_probability(cells))

    def draw(self, cells: int, truth: int, words: Iterator[int]) -> tuple[Answer, int]:
        """One die, with the sides of the truth's row."""
        sums = list(accumulate(self.weights[truth]))
        position, used = draw.below(sums[-1], words)
        return bisect_right(sums, position), used

    def check_answer(self, cells: int, answer: object) -> None:
        """A column that is ever sent."""
        if self.weights[0][check_index(answer, self.index_end(cells))] == 0:
            raise InvalidInput("must be a report that this channel sends", field="answer")

    def index_end(self, cells: int) -> int:
        """Number of columns."""
        return len(self.weights[0])

    def sent_indexes(self, cells: int) -> Sequence[int]:
        """Columns that are not 0."""
        return [y for y, weight in enumerate(self.weights[0]) if weight]
