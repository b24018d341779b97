"""A row of several attributes on a device, emitted part by part, each with a coin of its own. Standard library only.

A *segment* adds some attributes to the row: their true values if its coin says so, else a fake that may depend on what
the row has already.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import prod
from typing import Any

from tacita.collect.device import draw
from tacita.collect.device._base import (
    Answer,
    DeviceChannel,
    check_fake,
    check_index,
    check_total,
    check_weight,
    describe_reports,
)
from tacita.collect.device.refusal import Refusal, is_integer

__all__ = ["MAX_ROWS", "Chain"]

MAX_ROWS = 2048
"""Most cells: the loss is the largest over all rows, which are listed."""


@dataclass(frozen=True, kw_only=True)
class Chain(DeviceChannel):
    """The modified protocol with one coin for each segment (M2): a row, as the number of its cell.

    Args:
        sizes: Levels of each attribute; the last attribute changes fastest in the number of a cell.
        new: For each segment, the places of the attributes that it adds; together all places, each once.
        given: For each segment, the places of earlier attributes that its fakes depend on.
        keep: For each segment and cell of `given`, the weight of keeping the truth.
        fake: For each segment and cell of `given`, the weight of each cell of `new` as a fake.
    """

    kind = "chain"
    sizes: tuple[int, ...]
    new: tuple[tuple[int, ...], ...]
    given: tuple[tuple[int, ...], ...]
    keep: tuple[tuple[int, ...], ...]
    fake: tuple[tuple[tuple[int, ...], ...], ...]

    @classmethod
    def _read(cls, name: str, value: Any) -> Any:
        depth = {"sizes": 1, "fake": 3}.get(name, 2)
        return _tuples(value, depth, name)

    def check(self, cells: int) -> None:
        """Check the structure, then every channel of every segment."""
        if not self._is_whole(cells):
            rule = f"must divide all attributes of at most {MAX_ROWS} cells among the segments, with weights for each"
            raise Refusal("segments", rule, field="channel.new")
        for segment, rows in enumerate(self.fake):
            for place, row in enumerate(rows):
                keep = self.keep[segment][place]
                check_weight(keep, f"keep[{segment}][{place}]")
                for cell, weight in enumerate(row):
                    check_fake(weight, f"fake[{segment}][{place}][{cell}]")
                check_total(keep + sum(row))

    def _is_whole(self, cells: int) -> bool:
        sized = all(is_integer(size) and 2 <= size <= MAX_ROWS for size in self.sizes)
        if not sized or cells > MAX_ROWS or prod(self.sizes) != cells:
            return False
        segments = len(self.new)
        if not segments or any(len(part) != segments for part in (self.given, self.keep, self.fake)):
            return False
        seen: list[int] = []
        for new, given, keep, fake in zip(self.new, self.given, self.keep, self.fake, strict=True):
            if not new or not all(is_integer(place) for place in (*new, *given)):
                return False
            if not set(given) <= set(seen) or len(set(given)) < len(given):
                return False
            seen += new
            if max(seen) >= len(self.sizes) or len(set(seen)) < len(seen):
                return False
            if len(keep) != self._size(given) or len(fake) != len(keep) or any(len(r) != self._size(new) for r in fake):
                return False
        return len(seen) == len(self.sizes)

    def _size(self, places: Sequence[int]) -> int:
        return prod(self.sizes[place] for place in places)

    def codes(self, cell: int) -> list[int]:
        """The code of each attribute in a cell."""
        found = []
        for size in reversed(self.sizes):
            cell, code = divmod(cell, size)
            found.append(code)
        return found[::-1]

    def part(self, codes: Sequence[int], places: Sequence[int]) -> int:
        """The cell of some attributes."""
        cell = 0
        for place in places:
            cell = cell * self.sizes[place] + codes[place]
        return cell

    def _rows(self) -> Iterator[Iterator[tuple[int, int, int]]]:
        """For every row, and every segment of it: the keep, the fake and the total of its channel."""
        for cell in range(prod(self.sizes)):
            codes = self.codes(cell)
            yield (
                (self.keep[j][g], self.fake[j][g][self.part(codes, new)], self.keep[j][g] + sum(self.fake[j][g]))
                for j, (new, given) in enumerate(zip(self.new, self.given, strict=True))
                for g in [self.part(codes, given)]
            )

    def worst_ratio(self, cells: int) -> Fraction:
        """The largest product over the segments of 1 + keep / fake among all rows."""
        # Claim: segments look at different attributes, so that a row is likeliest from itself and least likely from a
        # cell that differs from it in every segment; totals depend on the row alone.
        return max(
            prod((Fraction(keep + fake, fake) for keep, fake, _ in row), start=Fraction(1)) for row in self._rows()
        )

    def keep_probability(self, cells: int) -> Fraction:
        """1 less the part of the law that all cells share: all coins fall on a fake."""
        shared = (prod((Fraction(fake, total) for _, fake, total in row), start=Fraction(1)) for row in self._rows())
        return 1 - sum(shared, Fraction(0))

    def describe(self, cells: int) -> str:
        """One of the rows."""
        return describe_reports(cells, self.keep_probability(cells))

    def draw(self, cells: int, truth: int, words: Iterator[int]) -> tuple[Answer, int]:
        """One die for each segment, in order."""
        own, sent, used = self.codes(truth), [0] * len(self.sizes), 0
        for j, (new, given) in enumerate(zip(self.new, self.given, strict=True)):
            g = self.part(sent, given)
            drawn, more = draw.draw(self.keep[j][g], self.fake[j][g], self.part(own, new), words)
            used += more
            for place in reversed(new):
                drawn, sent[place] = divmod(drawn, self.sizes[place])
        return self.part(sent, range(len(self.sizes))), used

    def check_answer(self, cells: int, answer: object) -> None:
        """A cell."""
        check_index(answer, cells)


def _tuples(value: object, depth: int, name: str) -> Any:
    """Nested lists as tuples."""
    if not isinstance(value, list):
        raise Refusal("segments", f"must be lists in {depth} layers", field=f"channel.{name}")
    return tuple(value) if depth == 1 else tuple(_tuples(part, depth - 1, name) for part in value)
