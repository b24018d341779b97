"""Registry of the channels that devices know, and the form of their answers in bulk.

A channel of the registry has a class here, which estimates, and a class in `collect/device`, which draws. The integers
are the same on both sides, so that the loss is (tests enumerate that the laws are, too). Answers arrive as JSON values
or packed into bytes; either way they are checked in bulk here and become the array that `tally` takes.

Packed, an answer is: an index in 4 bytes; a seed and an index in 4 bytes each; bits, a byte for 8 cells. Numbers are
little-endian. `DeviceChannel.form` states which.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from tacita import check
from tacita.collect.channels.chain import ChainChannel, chain_for
from tacita.collect.channels.channel import RandomizedResponse
from tacita.collect.channels.following import optimal_for
from tacita.collect.channels.fourier import FourierChannel, fourier_for
from tacita.collect.channels.geometric import geometric_channel
from tacita.collect.channels.hadamard import HadamardResponse
from tacita.collect.channels.hashing import LocalHashing
from tacita.collect.channels.matrix import MatrixChannel
from tacita.collect.channels.numbers.binned_means import (
    DuchiBins,
    HybridBins,
    PiecewiseBins,
    duchi_for,
    hybrid_for,
    piecewise_for,
)
from tacita.collect.channels.numbers.square_wave import SquareWave, wave_for
from tacita.collect.channels.parts.bits import check_packed
from tacita.collect.channels.protocol import Randomizer
from tacita.collect.channels.subset import SubsetSelection
from tacita.collect.channels.unary import UnaryEncoding
from tacita.collect.device.channels import KINDS, DeviceChannel
from tacita.domain import Domain
from tacita.errors import InvalidInput

__all__ = [
    "MAKERS",
    "REGISTRY",
    "WiredChannel",
    "Wiring",
    "answer_width",
    "channel_of",
    "make_channel",
    "pack_answer",
    "reports_array",
    "unpack_answers",
    "wire_of",
]


class WiredChannel(Randomizer, Protocol):
    """A channel that devices know."""

    def wire(self) -> DeviceChannel:
        """The channel as a question carries it."""

    @classmethod
    def of_wire(cls, device: Any, cells: int) -> Self:
        """The channel that estimates from what such devices send."""


@dataclass(frozen=True)
class Wiring:
    """One line of the registry.

    Args:
        channel: The class that estimates.
        make: Makes the channel for a table at an epsilon: the domain of the table, and epsilon.
        title: Name in words, for help and documents.
    """

    channel: type[WiredChannel]
    make: Callable[[Domain, float], WiredChannel]
    title: str


def _sized(make: Callable[..., Any]) -> Callable[[Domain, float], Any]:
    """Make channels that need only the number of cells of the table."""
    return lambda domain, epsilon: make(levels=domain.size, epsilon=epsilon)


REGISTRY: dict[str, Wiring] = {
    "rr": Wiring(RandomizedResponse, _sized(RandomizedResponse.k_ary), "randomized response"),
    "unary": Wiring(UnaryEncoding, _sized(UnaryEncoding.optimised), "optimised unary encoding"),
    "hash": Wiring(LocalHashing, _sized(LocalHashing.optimised), "optimised local hashing"),
    "hadamard": Wiring(HadamardResponse, _sized(HadamardResponse.of), "Hadamard response"),
    "subset": Wiring(SubsetSelection, _sized(SubsetSelection.of), "subset selection"),
    "matrix": Wiring(MatrixChannel, _sized(geometric_channel), "truncated geometric law, for ordered levels"),
    "wave": Wiring(SquareWave, wave_for, "Square Wave, for a number in bins or ordered levels"),
    "duchi": Wiring(DuchiBins, duchi_for, "mean of a number by Duchi's coin"),
    "piecewise": Wiring(PiecewiseBins, piecewise_for, "mean of a number by the Piecewise mechanism"),
    "hybrid": Wiring(HybridBins, hybrid_for, "mean of a number by the hybrid mechanism"),
    "fourier": Wiring(FourierChannel, fourier_for, "parities of yes-or-no attributes, for all tables of a size"),
    "chain": Wiring(ChainChannel, chain_for, "a row in segments with one coin each (M2)"),
}
"""Every kind of the wire. A new channel is one line here."""


MAKERS: dict[str, Wiring] = REGISTRY | {
    "optimal": Wiring(MatrixChannel, optimal_for, "matrix with the least expected penalty; in blocks it is refitted"),
}
"""Every name that an owner can ask for: the kinds of the wire, and other ways to make a channel of such a kind."""


def make_channel(name: str, domain: Domain, epsilon: float) -> WiredChannel:
    """Make the channel of a name for the table over a domain.

    Args:
        name: Of `MAKERS`. domain: The attributes of the table. epsilon: The loss wanted, at most.
    """
    check.one_of(name, "channel", MAKERS)
    return MAKERS[name].make(domain, epsilon)


def wire_of(channel: Randomizer) -> DeviceChannel:
    """The channel as a question carries it."""
    for line in REGISTRY.values():
        if isinstance(channel, line.channel):
            return channel.wire()
    raise InvalidInput("must be a channel that devices know", field="channel", value=type(channel).__name__)


def channel_of(device: DeviceChannel, cells: int) -> Any:
    """The channel that estimates from what such devices send.

    Args:
        device: The channel of a question.
        cells: The number of cells of that question.
    """
    device.check(cells)
    if KINDS.get(device.kind) is not type(device):
        raise InvalidInput("must be a kind of the wire", field="channel", value=device.kind)
    return REGISTRY[device.kind].channel.of_wire(device, cells)


# -- answers in bulk ---------------------------------------------------------------------------------------


def reports_array(device: DeviceChannel, cells: int, answers: Sequence[Any]) -> NDArray[Any]:
    """Answers as the wire's JSON has them, checked, as the array that `tally` of `channel_of` takes.

    Args:
        device: The channel of a question.
        cells: The number of cells of that question.
        answers: Indexes, texts of hexadecimal digits, or pairs (lists or tuples), as the kind has them.
    """
    shaped = [tuple(answer) if isinstance(answer, list) else answer for answer in answers]
    for index, answer in enumerate(shaped):
        try:
            device.check_answer(cells, answer)
        except InvalidInput as error:
            raise InvalidInput(error.rule, field=f"answers[{index}]") from None
    if device.form == "index":
        return _indexes(device, cells, np.array(shaped, dtype=np.int64))
    return unpack_answers(device, cells, b"".join(_bytes_of(answer) for answer in shaped))


def answer_width(device: DeviceChannel, cells: int) -> int:
    """Bytes of one packed answer."""
    return {"index": 4, "pair": 8, "bits": -(-cells // 8)}[device.form]


def pack_answer(device: DeviceChannel, cells: int, answer: Any) -> bytes:
    """One answer, checked, in its bytes."""
    shaped = tuple(answer) if isinstance(answer, list) else answer
    device.check_answer(cells, shaped)
    return _bytes_of(shaped)


def _bytes_of(answer: Any) -> bytes:
    if isinstance(answer, str):
        return bytes.fromhex(answer)
    numbers = answer if isinstance(answer, tuple) else (answer,)
    return b"".join(number.to_bytes(4, "little") for number in numbers)


def unpack_answers(device: DeviceChannel, cells: int, data: bytes) -> NDArray[Any]:
    """Packed answers, one after the other, checked, as the array that `tally` of `channel_of` takes."""
    width = answer_width(device, cells)
    if len(data) % width:
        raise InvalidInput(f"must be whole answers of {width} bytes", field="answers", value=f"{len(data)} bytes")
    match device.form:
        case "bits":
            packed = check_packed(np.frombuffer(data, dtype=np.uint8).reshape(-1, width), cells)
            if (size := device.bits_set()) is not None:
                _require(np.bitwise_count(packed).sum(axis=1) == size, f"must have {size} bits set")
            return packed
        case "pair":
            pairs = np.frombuffer(data, dtype="<u4").reshape(-1, 2)
            _require(pairs[:, 1] < device.index_end(cells), f"must be cells below {device.index_end(cells)}")
            return pairs
    return _indexes(device, cells, np.frombuffer(data, dtype="<u4").astype(np.int64))


def _indexes(device: DeviceChannel, cells: int, indexes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Indexes among those that are ever sent, counted without the others."""
    end, used = device.index_end(cells), device.sent_indexes(cells)
    _require(indexes < end, f"must be below {end}")
    if len(used) == end:
        return indexes
    sent = np.zeros(end, dtype=bool)
    sent[list(used)] = True
    _require(sent[indexes], "must be reports that this channel sends")
    places: NDArray[np.int64] = (np.cumsum(sent) - 1)[indexes]
    return places


def _require(good: NDArray[np.bool_], rule: str) -> None:
    if not good.all():
        raise InvalidInput(rule, field=f"answers[{int(np.argmin(good))}]")
