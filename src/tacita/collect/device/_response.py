"""Randomized response on a device: of the cell itself, of its hash, of one of its signs. Standard library only."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import combinations
from math import comb
from typing import Any

from tacita.collect.device import draw
from tacita.collect.device._base import (
    MAX_CELLS,
    SEED_RANGE,
    Answer,
    DeviceChannel,
    check_fake,
    check_index,
    check_total,
    check_weight,
)
from tacita.collect.device.refusal import Refusal, is_integer
from tacita.errors import InvalidInput

__all__ = ["RR", "Fourier", "Hadamard", "Hash", "fourier_masks", "hadamard_rows", "hash32"]


@dataclass(frozen=True, kw_only=True)
class RR(DeviceChannel):
    """Randomized response: a cell.

    Args:
        keep: Weight of keeping the truth. fake: Weight of each cell as a fake answer.
    """

    kind = "rr"
    sends_cell = True
    keep: int
    fake: tuple[int, ...]

    @classmethod
    def _read(cls, name: str, value: Any) -> Any:
        if name == "fake" and not isinstance(value, list):
            raise Refusal("fake-count", "must be a list", field="channel.fake")
        return tuple(value) if name == "fake" else value

    def check(self, cells: int) -> None:
        """One positive weight for each cell, and a total that a word can choose from."""
        check_weight(self.keep, "keep")
        if not isinstance(self.fake, tuple) or len(self.fake) != cells:
            raise Refusal("fake-count", "must hold one weight for each cell", field="channel.fake")
        for index, weight in enumerate(self.fake):
            check_fake(weight, f"fake[{index}]")
        check_total(self.keep + sum(self.fake))

    def worst_ratio(self, cells: int) -> Fraction:
        """1 + keep / min(fake)."""
        return draw.ratio(self.keep, self.fake)

    def keep_probability(self, cells: int) -> Fraction:
        """keep / total."""
        return Fraction(self.keep, self.keep + sum(self.fake))

    def describe(self, cells: int) -> str:
        """An answer, one's own or one by chance."""
        return (
            "One of these answers and a random number leave this device."
            f" With probability {float(self.keep_probability(cells)):.3g} it is your own; otherwise it is drawn by"
            " chance, and no one who sees it can know which."
        )

    def draw(self, cells: int, truth: int, words: Iterator[int]) -> tuple[Answer, int]:
        """One die."""
        return draw.draw(self.keep, self.fake, truth, words)

    def check_answer(self, cells: int, answer: object) -> None:
        """A cell."""
        check_index(answer, cells)


class _Inner(DeviceChannel):
    """Randomized response with equal fakes, of what a seed or a row makes of the truth."""

    keep: int
    fake: int

    def _check_inner(self, choices: int) -> None:
        check_weight(self.keep, "keep")
        check_fake(self.fake, "fake")
        check_total(self.keep + choices * self.fake)

    def _send(self, choices: int, truth: int, words: Iterator[int]) -> tuple[int, int]:
        # As `draw.draw` with a list of equal fakes, without making the list.
        position, used = draw.below(self.keep + choices * self.fake, words)
        return (max(position - self.keep, 0) // self.fake, truth)[position < self.keep], used

    def worst_ratio(self, cells: int) -> Fraction:
        """1 + keep / fake."""
        # Claim: the seed or row has one law for every truth, and given it the rest is randomized response.
        return draw.ratio(self.keep, (self.fake,))


@dataclass(frozen=True, kw_only=True)
class Hash(_Inner):
    """Local hashing: a seed of 32 bits, and the hash of the cell through randomized response.

    Args:
        cells: Number g of values of the hash. keep: Weight of keeping the true one. fake: Weight of each as a fake.
    """

    kind = "hash"
    form = "pair"
    cells: int
    keep: int
    fake: int

    def check(self, cells: int) -> None:
        """At least two values of the hash, and weights of randomized response."""
        if not is_integer(self.cells) or not 2 <= self.cells <= MAX_CELLS:
            raise Refusal("hash-cells", "must be an integer from 2 to 2**20", field="channel.cells", value=self.cells)
        self._check_inner(self.cells)

    def keep_probability(self, cells: int) -> Fraction:
        """keep / total."""
        return Fraction(self.keep, self.keep + self.cells * self.fake)

    def describe(self, cells: int) -> str:
        """A grouping, and a group."""
        return (
            f"Random numbers leave this device that sort these answers into {self.cells} groups, and the number of one"
            f" group. With probability {float(self.keep_probability(cells)):.3g} it is the group of your own answer;"
            " otherwise it is drawn by chance, and no one who sees it can know which."
        )

    def draw(self, cells: int, truth: int, words: Iterator[int]) -> tuple[Answer, int]:
        """A word for the seed, then a die."""
        seed = next(words) >> 32
        sent, used = self._send(self.cells, hash32(seed, truth) * self.cells >> 32, words)
        return (seed, sent), used + 1

    def check_answer(self, cells: int, answer: object) -> None:
        """A seed and a value of the hash."""
        ends = (SEED_RANGE, self.cells)
        if not isinstance(answer, tuple) or len(answer) != 2 or not all(map(is_integer, answer)):
            raise InvalidInput("must be a seed and a cell", field="answer")
        if any(part >= end for part, end in zip(answer, ends, strict=True)):
            raise InvalidInput(f"must be a seed below 2**32 and a cell below {self.cells}", field="answer")

    def index_end(self, cells: int) -> int:
        """Values of the hash."""
        return self.cells


@dataclass(frozen=True, kw_only=True)
class Hadamard(_Inner):
    """Hadamard response: a row, and the sign of the cell in it through randomized response.

    Args:
        keep: Weight of keeping the true sign. fake: Weight of each sign as a fake.
    """

    kind = "hadamard"
    keep: int
    fake: int

    def check(self, cells: int) -> None:
        """Check the weights of randomized response of one bit; they must depend on the true answer."""
        self._check_inner(2)
        if self.keep == 0:
            raise Refusal("threshold", "must be at least 1", field="channel.keep", value=0)

    def keep_probability(self, cells: int) -> Fraction:
        """keep / total."""
        return Fraction(self.keep, self.keep + 2 * self.fake)

    def describe(self, cells: int) -> str:
        """A split, and a side."""
        return describe_groups(self.keep_probability(cells))

    def draw(self, cells: int, truth: int, words: Iterator[int]) -> tuple[Answer, int]:
        """A word for the row, then a die of two sides."""
        row, _ = draw.below(hadamard_rows(cells), words)  # a power of two: no word is passed over
        sent, used = self._send(2, (row & truth).bit_count() & 1, words)
        return 2 * row + sent, used + 1

    def check_answer(self, cells: int, answer: object) -> None:
        """2 * row + sign."""
        check_index(answer, self.index_end(cells))

    def index_end(self, cells: int) -> int:
        """Two signs for each row."""
        return 2 * hadamard_rows(cells)


@dataclass(frozen=True, kw_only=True)
class Fourier(_Inner):
    """Fourier coefficient: a random set of yes-or-no attributes, and the parity of the cell there.

    The cells are all combinations of d attributes of two levels each.

    Args:
        order: Most attributes of a set. keep: Weight of keeping the true parity. fake: Weight of each parity as a fake.
    """

    kind = "fourier"
    order: int
    keep: int
    fake: int

    def check(self, cells: int) -> None:
        """Check that cells are bits, then the weights of randomized response of one bit."""
        if cells & (cells - 1) or not is_integer(self.order) or not 1 <= self.order < cells.bit_length():
            rule = "must be an integer from 1 to the number of attributes, which must have two levels each"
            raise Refusal("order", rule, field="channel.order", value=self.order)
        self._check_inner(2)
        if self.keep == 0:
            raise Refusal("threshold", "must be at least 1", field="channel.keep", value=0)

    def keep_probability(self, cells: int) -> Fraction:
        """keep / total."""
        return Fraction(self.keep, self.keep + 2 * self.fake)

    def describe(self, cells: int) -> str:
        """A split, and a side."""
        return describe_groups(self.keep_probability(cells))

    def draw(self, cells: int, truth: int, words: Iterator[int]) -> tuple[Answer, int]:
        """A die for the set, then a die of two sides."""
        masks = fourier_masks(cells.bit_length() - 1, self.order)
        number, first = draw.below(len(masks), words)
        sent, used = self._send(2, (masks[number] & truth).bit_count() & 1, words)
        return 2 * number + sent, first + used

    def check_answer(self, cells: int, answer: object) -> None:
        """2 * set + parity."""
        check_index(answer, self.index_end(cells))

    def index_end(self, cells: int) -> int:
        """Two parities for each set."""
        attributes = cells.bit_length() - 1
        return 2 * sum(comb(attributes, size) for size in range(1, self.order + 1))


@cache
def fourier_masks(attributes: int, order: int) -> tuple[int, ...]:
    """Bits of every set of 1 to `order` attributes, small sets first, then by their attributes.

    The last attribute is bit 0, as in the number of a cell.

    >>> fourier_masks(3, 2)
    (4, 2, 1, 6, 5, 3)
    """
    sets = (chosen for size in range(1, order + 1) for chosen in combinations(range(attributes), size))
    return tuple(sum(1 << (attributes - 1 - place) for place in chosen) for chosen in sets)


def describe_groups(kept: Fraction) -> str:
    """Describe a channel that names one of two groups of the answers."""
    return (
        "A random number leaves this device that splits these answers into two groups, and a bit that names one"
        f" group. With probability {float(kept):.3g} it is the group of your own answer; otherwise it"
        " is drawn by chance, and no one who sees it can know which."
    )


def hash32(seed: int, cell: int) -> int:
    """The keyed mixer of `tacita.collect.channels.parts.hash`, in plain integers.

    >>> [hex(hash32(seed, cell)) for seed, cell in ((0, 0), (1, 2), (0xFFFFFFFF, 1000))]
    ['0xae6f80f1', '0x230069ce', '0x2a32dafd']
    """
    return _mix(seed ^ _mix(cell + 0x9E3779B9 & 0xFFFFFFFF))


def _mix(h: int) -> int:
    h ^= h >> 16
    h = h * 0x7FEB352D & 0xFFFFFFFF
    h ^= h >> 15
    h = h * 0x846CA68B & 0xFFFFFFFF
    return h ^ h >> 16


def hadamard_rows(cells: int) -> int:
    """The least power of two that is not below the number of cells."""
    return int(1 << (cells - 1).bit_length())
