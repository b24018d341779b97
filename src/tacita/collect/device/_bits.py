"""Channels of a device that report a bit for each cell: unary encoding and subset selection. Standard library only."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from tacita.collect.device import draw
from tacita.collect.device._base import Answer, DeviceChannel, check_bits, check_packed, check_weight
from tacita.collect.device.refusal import Refusal, is_integer
from tacita.errors import InvalidInput

__all__ = ["Subset", "Unary"]


@dataclass(frozen=True, kw_only=True)
class Unary(DeviceChannel):
    """Unary encoding: a bit for each cell.

    Args:
        on: Threshold of the true cell's bit. off: Threshold of every other bit. bits: Binary digits of both.
    """

    kind = "unary"
    form = "bits"
    on: int
    off: int
    bits: int

    def check(self, cells: int) -> None:
        """0 < off < on < 2**bits: below `off`, the loss would be another one than `worst_ratio` says."""
        scale = check_bits(self.bits)
        check_weight(self.off, "off")
        if self.off == 0:
            rule = "must be at least 1: a bit that only the truth can set confesses it"
            raise Refusal("off-zero", rule, field="channel.off")
        check_weight(self.on, "on")
        if not self.off < self.on < scale:
            raise Refusal("threshold", "must be above off and below 2**bits", field="channel.on", value=self.on)

    def worst_ratio(self, cells: int) -> Fraction:
        """on (T - off) / ((T - on) off), T = 2**bits."""
        # Claim: two inputs differ in the law of two bits. The bit of one is likelier 1 by on / off at most, that of
        # the other likelier 0 by (T - off) / (T - on) at most, and one report does both.
        scale = 2**self.bits
        return Fraction(self.on * (scale - self.off), (scale - self.on) * self.off)

    def keep_probability(self, cells: int) -> Fraction:
        """on / T."""
        return Fraction(self.on, 2**self.bits)

    def describe(self, cells: int) -> str:
        """A yes or no for each answer."""
        return (
            "A yes or a no for each of these answers and a random number leave this device."
            f" Yours is a yes with probability {float(self.keep_probability(cells)):.3g},"
            f" each other one with probability {self.off / 2**self.bits:.3g}."
        )

    def draw(self, cells: int, truth: int, words: Iterator[int]) -> tuple[Answer, int]:
        """One coin for each cell, in order."""
        packed = bytearray(-(-cells // 8))
        for cell in range(cells):
            threshold = (self.off, self.on)[cell == truth]
            packed[cell >> 3] |= draw.coin(threshold, self.bits, words) << (cell & 7)
        return packed.hex(), cells

    def check_answer(self, cells: int, answer: object) -> None:
        """Packed bits."""
        check_packed(answer, cells)


@dataclass(frozen=True, kw_only=True)
class Subset(DeviceChannel):
    """Subset selection: a set of cells.

    Args:
        size: Number of cells in the set. on: Threshold of holding the truth. bits: Binary digits of it.
    """

    kind = "subset"
    form = "bits"
    size: int
    on: int
    bits: int

    def check(self, cells: int) -> None:
        """size / cells < on / 2**bits < 1: below, the loss would be another one than `worst_ratio` says."""
        scale = check_bits(self.bits)
        if not is_integer(self.size) or not 1 <= self.size < cells:
            rule = "must be an integer of at least 1 and below the number of cells"
            raise Refusal("size", rule, field="channel.size", value=self.size)
        check_weight(self.on, "on")
        if not self.size * scale < self.on * cells < cells * scale:
            rule = "must be above 2**bits * size / cells and below 2**bits"
            raise Refusal("threshold", rule, field="channel.on", value=self.on)

    def worst_ratio(self, cells: int) -> Fraction:
        """on (k - w) / ((T - on) w), T = 2**bits, k cells, w the size."""
        # Claim: a set is sent with probability (on / T) / C(k-1, w-1) by each cell in it, ((T - on) / T) / C(k-1, w)
        # by each other, and C(k-1, w) / C(k-1, w-1) = (k - w) / w.
        return Fraction(self.on * (cells - self.size), (2**self.bits - self.on) * self.size)

    def keep_probability(self, cells: int) -> Fraction:
        """on / T."""
        return Fraction(self.on, 2**self.bits)

    def describe(self, cells: int) -> str:
        """A set of answers."""
        return (
            f"A set of {self.size} of these answers and a random number leave this device. Your own is in it with"
            f" probability {float(self.keep_probability(cells)):.3g}; by chance alone it would be with"
            f" {self.size / cells:.3g}."
        )

    def draw(self, cells: int, truth: int, words: Iterator[int]) -> tuple[Answer, int]:
        """A coin, then `size` of the others without repetition; if the coin holds the truth it takes the last place.

        The first w - 1 places of a shuffle are as uniform as the first w, so that the law is that of drawing w - 1
        others for a held truth; but the work is the same for both.
        """
        held = draw.coin(self.on, self.bits, words)
        others, used = [*range(truth), *range(truth + 1, cells)], 1
        for place in range(self.size):
            step, more = draw.below(len(others) - place, words)
            others[place], others[place + step] = others[place + step], others[place]
            used += more
        last = self.size - 1
        others[last] = (others[last], truth)[held]
        packed = bytearray(-(-cells // 8))
        for cell in others[: self.size]:
            packed[cell >> 3] |= 1 << (cell & 7)
        return packed.hex(), used

    def check_answer(self, cells: int, answer: object) -> None:
        """Packed bits, `size` of them set."""
        if check_packed(answer, cells).bit_count() != self.size:
            raise InvalidInput(f"must have exactly {self.size} bits set", field="answer")

    def bits_set(self) -> int | None:
        """`size`."""
        return self.size
