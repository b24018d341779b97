"""Channels of a device for numbers on a line, whose cells are bins in order. Standard library only.

A *window* is the law of Square Wave and of the Piecewise mechanism: reports are integers in a row, `width` of them from
the start of the window on have the weight `near`, and all others the weight `far`.

The kinds for means have `points`: the position of each cell on the line, integers from 0 to the largest, P. Their laws
are linear in the point, so that the mean of the points is estimated without bias.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from tacita.collect.device import draw
from tacita.collect.device._base import (
    MAX_CELLS,
    Answer,
    DeviceChannel,
    check_bits,
    check_fake,
    check_index,
    check_total,
    check_weight,
    describe_reports,
)
from tacita.collect.device.refusal import Refusal, is_integer

__all__ = ["Duchi", "Hybrid", "Piecewise", "Wave"]


class _OnLine(DeviceChannel):
    """Base class: an answer is one of a row of reports, and all of them may be sent."""

    def describe(self, cells: int) -> str:
        """One of the reports."""
        return describe_reports(self.index_end(cells), self.keep_probability(cells))

    def check_answer(self, cells: int, answer: object) -> None:
        """One of the reports."""
        check_index(answer, self.index_end(cells))


def check_window(width: object, near: object, far: object, last: int) -> None:
    """Check a window that may start at 0 to `last`: the far weight is positive and below the near one."""
    if not is_integer(width) or not 1 <= width <= MAX_CELLS - last:
        rule = "must be an integer of at least 1, with at most 2**20 reports in all"
        raise Refusal("width", rule, field="channel.width", value=width)
    check_weight(near, "near")
    check_fake(far, "far")
    assert is_integer(near), "checked above"
    assert is_integer(far), "checked above"
    if near <= far:
        raise Refusal("threshold", "must be above far", field="channel.near", value=near)
    check_total(width * near + last * far)


def window_kept(width: int, near: int, far: int, last: int) -> Fraction:
    """1 less the part of the law that all starts from 0 to `last` share."""
    shared = max(width - last, 0)  # reports that lie in every window
    return 1 - Fraction(shared * near + (last + width - shared) * far, width * near + last * far)


def draw_window(start: int, width: int, near: int, far: int, last: int, words: Iterator[int]) -> tuple[int, int]:
    """A report by the law of the window; and how many words it took. Both branches are computed, whatever the die."""
    inside = width * near
    position, used = draw.below(inside + last * far, words)
    other = max(position - inside, 0) // far
    return (other + width * (other >= start), start + position // near)[position < inside], used


@dataclass(frozen=True, kw_only=True)
class Wave(_OnLine):
    """Square Wave: a report near the cell, or any.

    Args:
        width: Number of reports in the window of a cell. near: Weight of each of them. far: Weight of each other.
    """

    kind = "wave"
    width: int
    near: int
    far: int

    def check(self, cells: int) -> None:
        """Check the window; it starts at the cell."""
        check_window(self.width, self.near, self.far, cells - 1)

    def worst_ratio(self, cells: int) -> Fraction:
        """near / far."""
        # Claim: all cells have one total, and report 0 is near for cell 0 and far for the last.
        return Fraction(self.near, self.far)

    def keep_probability(self, cells: int) -> Fraction:
        """1 less the part of the law that all cells share."""
        return window_kept(self.width, self.near, self.far, cells - 1)

    def draw(self, cells: int, truth: int, words: Iterator[int]) -> tuple[Answer, int]:
        """One die."""
        return draw_window(truth, self.width, self.near, self.far, cells - 1, words)

    def index_end(self, cells: int) -> int:
        """Windows of all cells together."""
        return cells - 1 + self.width


class _WithPoints(_OnLine):
    """Base class of the kinds for means."""

    points: tuple[int, ...]

    @classmethod
    def _read(cls, name: str, value: Any) -> Any:
        if name == "points" and not isinstance(value, list):
            raise Refusal("points", "must be a list", field="channel.points")
        return tuple(value) if name == "points" else value

    def _check_points(self, cells: int) -> None:
        good = isinstance(self.points, tuple) and len(self.points) == cells and all(map(is_integer, self.points))
        if not good or min(self.points) != 0 or not 1 <= self.last < MAX_CELLS:
            rule = "must hold an integer for each cell, the least 0 and the largest 1 to 2**20 - 1"
            raise Refusal("points", rule, field="channel.points")

    @property
    def last(self) -> int:
        """P, the largest point."""
        return max(self.points)


def check_coin(least: object, step: object, last: int) -> None:
    """Check a coin whose weight of heads is `least` + `step` * point, for points from 0 to `last`."""
    check_fake(least, "least")
    check_weight(step, "step")
    assert is_integer(least), "checked above"
    assert is_integer(step), "checked above"
    if step == 0:
        raise Refusal("threshold", "must be at least 1", field="channel.step", value=0)
    check_total(2 * least + step * last)


def draw_coin(point: int, least: int, step: int, last: int, words: Iterator[int]) -> tuple[int, int]:
    """1 for heads, 0 for tails; and how many words it took."""
    position, used = draw.below(2 * least + step * last, words)
    return int(position < least + step * point), used


@dataclass(frozen=True, kw_only=True)
class Duchi(_WithPoints):
    """Duchi's coin for a mean: heads with probability (least + step * point) / (2 least + step P).

    Args:
        least: Weight of heads at point 0, and of tails at P. step: Weight of one point. points: Of each cell.
    """

    kind = "duchi"
    least: int
    step: int
    points: tuple[int, ...]

    def check(self, cells: int) -> None:
        """Check the points, then the coin."""
        self._check_points(cells)
        check_coin(self.least, self.step, self.last)

    def worst_ratio(self, cells: int) -> Fraction:
        """(least + step P) / least."""
        # Claim: heads have the weights least at point 0 to least + step P at P, tails the same in reverse, over one
        # total; both ends are points of some cell.
        return Fraction(self.least + self.step * self.last, self.least)

    def keep_probability(self, cells: int) -> Fraction:
        """1 less the part of the law that all cells share."""
        return Fraction(self.step * self.last, 2 * self.least + self.step * self.last)

    def draw(self, cells: int, truth: int, words: Iterator[int]) -> tuple[Answer, int]:
        """One die."""
        return draw_coin(self.points[truth], self.least, self.step, self.last, words)

    def index_end(self, cells: int) -> int:
        """Tails and heads."""
        return 2


@dataclass(frozen=True, kw_only=True)
class Piecewise(_WithPoints):
    """Piecewise mechanism for a mean: a window that starts at the point of the cell.

    Args:
        width: Number of reports in the window. near: Weight of each of them. far: Weight of each other.
        points: Of each cell.
    """

    kind = "piecewise"
    width: int
    near: int
    far: int
    points: tuple[int, ...]

    def check(self, cells: int) -> None:
        """Check the points, then the window."""
        self._check_points(cells)
        check_window(self.width, self.near, self.far, self.last)

    def worst_ratio(self, cells: int) -> Fraction:
        """near / far."""
        # Claim: all cells have one total, and report 0 is near for point 0 and far for P; both are points of a cell.
        return Fraction(self.near, self.far)

    def keep_probability(self, cells: int) -> Fraction:
        """1 less the part of the law that all points share."""
        return window_kept(self.width, self.near, self.far, self.last)

    def draw(self, cells: int, truth: int, words: Iterator[int]) -> tuple[Answer, int]:
        """One die."""
        return draw_window(self.points[truth], self.width, self.near, self.far, self.last, words)

    def index_end(self, cells: int) -> int:
        """Windows of all points together."""
        return self.last + self.width


@dataclass(frozen=True, kw_only=True)
class Hybrid(_WithPoints):
    """Hybrid mechanism for a mean: Piecewise with probability mix / 2**bits, else Duchi's coin; the report says which.

    Args:
        mix: Threshold of Piecewise. bits: Binary digits of it. least, step: Of the coin. width, near, far: Of the
            window. points: Of each cell.
    """

    kind = "hybrid"
    mix: int
    bits: int
    least: int
    step: int
    width: int
    near: int
    far: int
    points: tuple[int, ...]

    def check(self, cells: int) -> None:
        """Check the threshold, the points, the coin and the window."""
        scale = check_bits(self.bits)
        check_weight(self.mix, "mix")
        if not 1 <= self.mix < scale:
            raise Refusal("threshold", "must be at least 1 and below 2**bits", field="channel.mix", value=self.mix)
        self._check_points(cells)
        check_coin(self.least, self.step, self.last)
        check_window(self.width, self.near, self.far, self.last)

    def worst_ratio(self, cells: int) -> Fraction:
        """The larger ratio of both parts."""
        # Claim: which part is taken does not depend on the cell, and the report says which: each report has the ratio
        # of its own part.
        return max(Fraction(self.least + self.step * self.last, self.least), Fraction(self.near, self.far))

    def keep_probability(self, cells: int) -> Fraction:
        """The mean over both parts."""
        share = Fraction(self.mix, 2**self.bits)
        coin = Fraction(self.step * self.last, 2 * self.least + self.step * self.last)
        return share * window_kept(self.width, self.near, self.far, self.last) + (1 - share) * coin

    def draw(self, cells: int, truth: int, words: Iterator[int]) -> tuple[Answer, int]:
        """A coin for the part, then a die; which part it is, is no secret."""
        point = self.points[truth]
        if draw.coin(self.mix, self.bits, words):
            sent, used = draw_window(point, self.width, self.near, self.far, self.last, words)
            return sent, used + 1
        sent, used = draw_coin(point, self.least, self.step, self.last, words)
        return self.last + self.width + sent, used + 1

    def index_end(self, cells: int) -> int:
        """The reports of the window, then tails and heads."""
        return self.last + self.width + 2
