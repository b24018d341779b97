"""Between the wire and the estimators: each channel of a device as the channel that an aggregator estimates with.

The integers are the same on both sides, so that the loss is (tests enumerate that the laws are, too). Answers arrive as
JSON values or packed into bytes; either way they are checked in bulk here and become the array that `tally` takes.

Packed, an answer is: rr, hadamard, matrix: its index in 4 bytes; hash: the seed in 4 bytes, the cell in 4; unary,
subset: its bits, a byte for 8 cells. Numbers are little-endian.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacita.collect.channels._bits import check_packed
from tacita.collect.channels.channel import RandomizedResponse
from tacita.collect.channels.hadamard import HadamardResponse
from tacita.collect.channels.hashing import LocalHashing
from tacita.collect.channels.matrix import MatrixChannel
from tacita.collect.channels.protocol import Channel
from tacita.collect.channels.subset import SubsetSelection
from tacita.collect.channels.unary import UnaryEncoding
from tacita.collect.device.channels import RR, DeviceChannel, Hadamard, Hash, Matrix, Subset, Unary, hadamard_rows
from tacita.errors import InvalidInput

__all__ = ["answer_width", "channel_of", "pack_answer", "reports_array", "unpack_answers", "wire_of"]

_SEED_BITS = 32


def wire_of(channel: Channel) -> DeviceChannel:
    """The channel as a question carries it."""
    match channel:
        case RandomizedResponse():
            return RR(keep=channel.keep, fake=channel.fake)
        case UnaryEncoding():
            return Unary(on=channel.on, off=channel.off, bits=channel.bits)
        case LocalHashing(seed_bits=seed_bits) if seed_bits == _SEED_BITS:
            return Hash(cells=channel.cells, keep=channel.inner.keep, fake=channel.inner.fake[0])
        case HadamardResponse():
            return Hadamard(keep=channel.inner.keep, fake=channel.inner.fake[0])
        case SubsetSelection():
            return Subset(size=channel.size, on=channel.on, bits=channel.bits)
        case MatrixChannel():
            return Matrix(weights=channel.table)
    raise InvalidInput("must be a channel that devices know", field="channel", value=type(channel).__name__)


def channel_of(device: DeviceChannel, cells: int) -> Channel:
    """The channel that estimates from what such devices send.

    Args:
        device: The channel of a question.
        cells: The number of cells of that question.
    """
    device.check(cells)
    match device:
        case RR():
            return RandomizedResponse(keep=device.keep, fake=device.fake)
        case Unary():
            return UnaryEncoding(levels=cells, on=device.on, off=device.off, bits=device.bits)
        case Hash():
            inner = RandomizedResponse(keep=device.keep, fake=(device.fake,) * device.cells)
            return LocalHashing(levels=cells, inner=inner, seed_bits=_SEED_BITS)
        case Hadamard():
            return HadamardResponse(levels=cells, inner=RandomizedResponse(keep=device.keep, fake=(device.fake,) * 2))
        case Subset():
            return SubsetSelection(levels=cells, size=device.size, on=device.on, bits=device.bits)
        case Matrix():
            used = np.flatnonzero(device.weights[0])  # columns that are never sent are not estimated with
            return MatrixChannel(table=tuple(tuple(row[y] for y in used) for row in device.weights))
    raise InvalidInput("must be a kind of the wire", field="channel", value=device.kind)


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
    if isinstance(device, RR | Hadamard):  # the indexes themselves
        return np.array(shaped, dtype=np.int64)
    return unpack_answers(device, cells, b"".join(_bytes_of(answer) for answer in shaped))


def answer_width(device: DeviceChannel, cells: int) -> int:
    """Bytes of one packed answer."""
    match device:
        case Unary() | Subset():
            return -(-cells // 8)
        case Hash():
            return 8
    return 4


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
    match device:
        case Unary() | Subset():
            packed = check_packed(np.frombuffer(data, dtype=np.uint8).reshape(-1, width), cells)
            if isinstance(device, Subset):
                _require(np.bitwise_count(packed).sum(axis=1) == device.size, f"must have {device.size} bits set")
            return packed
        case Hash():
            pairs = np.frombuffer(data, dtype="<u4").reshape(-1, 2)
            _require(pairs[:, 1] < device.cells, f"must be cells below {device.cells}")
            return pairs
        case Matrix():
            sent = np.array(device.weights[0]) > 0
            indexes = _indexes(data, len(sent))
            _require(sent[indexes], "must be reports that this channel sends")
            places: NDArray[np.int64] = (np.cumsum(sent) - 1)[indexes]
            return places
        case Hadamard():
            return _indexes(data, 2 * hadamard_rows(cells))
    return _indexes(data, cells)


def _indexes(data: bytes, end: int) -> NDArray[np.int64]:
    indexes = np.frombuffer(data, dtype="<u4").astype(np.int64)
    _require(indexes < end, f"must be below {end}")
    return indexes


def _require(good: NDArray[np.bool_], rule: str) -> None:
    if not good.all():
        raise InvalidInput(rule, field=f"answers[{int(np.argmin(good))}]")
