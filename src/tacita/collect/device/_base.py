"""Base class of the channels of a device, and the checks that the kinds share. Standard library only."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any, ClassVar, Literal, Self

from tacita.collect.device import draw
from tacita.collect.device.draw import WORD_RANGE
from tacita.collect.device.refusal import Refusal, is_integer, members_of
from tacita.errors import InvalidInput

__all__ = [
    "MAX_CELLS",
    "SEED_RANGE",
    "Answer",
    "DeviceChannel",
    "check_bits",
    "check_fake",
    "check_index",
    "check_packed",
    "check_total",
    "check_weight",
    "describe_reports",
]

MAX_CELLS = 2**20
SEED_RANGE = 2**32
Answer = int | str | tuple[int, int]
_HEX = re.compile(r"[0-9a-f]*")


@dataclass(frozen=True, kw_only=True)
class DeviceChannel:
    """Base class of all kinds. Its fields are those of the wire format; all of them are integers."""

    kind: ClassVar[str]
    sends_cell: ClassVar[bool] = False
    """Whether an answer is one of the cells, so that a receipt can name its levels."""
    form: ClassVar[Literal["index", "bits", "pair"]] = "index"
    """An answer is an index, packed bits of the cells, or a seed and an index."""

    @classmethod
    def from_dict(cls, data: object) -> Self:
        """Read the members from parsed JSON; `check` says whether they make a channel."""
        names = [field.name for field in fields(cls)]
        members = members_of(data, "channel", ["kind", *names])
        return cls(**{name: cls._read(name, members[name]) for name in names})

    @classmethod
    def _read(cls, name: str, value: Any) -> Any:
        return value

    def to_dict(self) -> dict[str, Any]:
        """The channel as it travels."""
        return {"kind": self.kind} | {field.name: _listed(getattr(self, field.name)) for field in fields(self)}

    def check(self, cells: int) -> None:
        """Refuse integers that are not a channel for so many cells."""
        raise NotImplementedError

    def worst_ratio(self, cells: int) -> Fraction:
        """The most that a report changes the odds between two true cells, exactly."""
        raise NotImplementedError

    def loss(self, cells: int) -> float:
        """The logarithm of `worst_ratio`, to the nearest float."""
        return draw.log_nearest(self.worst_ratio(cells))

    def charge(self, cells: int) -> float:
        """The same rounded outward: what a ledger books."""
        return draw.log_upper(self.worst_ratio(cells))

    def keep_probability(self, cells: int) -> Fraction:
        """Probability that the report is made from the truth: kept by the coin, or held in the report."""
        raise NotImplementedError

    def describe(self, cells: int) -> str:
        """Describe in plain words what is sent and how it is drawn."""
        raise NotImplementedError

    def draw(self, cells: int, truth: int, words: Iterator[int]) -> tuple[Answer, int]:
        """Draw the answer to send; return it with the number of 64-bit words used."""
        raise NotImplementedError

    def check_answer(self, cells: int, answer: object) -> None:
        """Check that this channel could have sent it."""
        raise NotImplementedError

    def index_end(self, cells: int) -> int:
        """Number of indexes, of a kind that sends one."""
        return cells

    def sent_indexes(self, cells: int) -> Sequence[int]:
        """The indexes that are ever sent, ascending; all by default."""
        return range(self.index_end(cells))

    def bits_set(self) -> int | None:
        """Number of bits that are set in every answer, of a kind that sends bits; None where it may be any number."""
        return None


def describe_reports(reports: int, kept: Fraction) -> str:
    """Describe a channel that sends one of so many reports."""
    return (
        f"One of {reports} possible reports and a random number leave this device."
        f" With probability {1 - float(kept):.3g} it is drawn in the same way whatever your answer is,"
        " and no one who sees it can know when."
    )


def _listed(value: Any) -> Any:
    return [_listed(part) for part in value] if isinstance(value, tuple) else value


def check_weight(weight: object, name: str) -> None:
    """An integer as the wire has them."""
    if not is_integer(weight):
        raise Refusal("weight", "must be an integer from 0 to 2**53 - 1", field=f"channel.{name}", value=weight)


def check_fake(weight: object, name: str) -> None:
    """A weight that is not 0."""
    check_weight(weight, name)
    if weight == 0:
        rule = "must be at least 1: what is never faked confesses the truth"
        raise Refusal("fake-zero", rule, field=f"channel.{name}")


def check_total(total: int) -> None:
    """A total that one word can choose from."""
    if total > WORD_RANGE:
        raise Refusal("total", "keep and fakes must sum to at most 2**53", field="channel")


def check_bits(bits: object) -> int:
    """Binary digits of a threshold; returns what thresholds are out of."""
    if not is_integer(bits) or not 1 <= bits <= 53:
        raise Refusal("bits", "must be an integer from 1 to 53", field="channel.bits", value=bits)
    return int(2**bits)


def check_index(answer: object, end: int) -> int:
    """An answer that is a number below `end`."""
    if not is_integer(answer) or answer >= end:
        raise InvalidInput(f"must be an integer below {end}", field="answer")
    return answer


def check_packed(answer: object, cells: int) -> int:
    """An answer of packed bits, cell v being bit v % 8 of byte v // 8; returns them as one number."""
    digits = 2 * -(-cells // 8)
    if not isinstance(answer, str) or len(answer) != digits or not _HEX.fullmatch(answer):
        raise InvalidInput(f"must be {digits} lower-case hexadecimal digits", field="answer")
    number = int.from_bytes(bytes.fromhex(answer), "little")
    if number >> cells:
        raise InvalidInput("must have no bits beyond the last cell", field="answer")
    return number
