"""Between the wire and the estimators: the same channel on both sides, and answers that are checked in bulk."""

from typing import get_args

import numpy as np
import pytest

from tacita.collect.channels.chain import ChainChannel
from tacita.collect.channels.channel import RandomizedResponse
from tacita.collect.channels.fourier import FourierChannel
from tacita.collect.channels.geometric import geometric_channel
from tacita.collect.channels.hadamard import HadamardResponse
from tacita.collect.channels.hashing import LocalHashing
from tacita.collect.channels.numbers.binned_means import DuchiBins, HybridBins, PiecewiseBins
from tacita.collect.channels.numbers.square_wave import SquareWave
from tacita.collect.channels.subset import SubsetSelection
from tacita.collect.channels.unary import UnaryEncoding
from tacita.collect.channels.wiring import (
    REGISTRY,
    answer_width,
    channel_of,
    pack_answer,
    reports_array,
    unpack_answers,
    wire_of,
)
from tacita.collect.device.channels import (
    KINDS,
    RR,
    ChannelKind,
    DeviceChannel,
    Hadamard,
    Hash,
    Matrix,
    Subset,
    Unary,
)
from tacita.collect.device.refusal import Refusal
from tacita.errors import InvalidInput
from tacita.noise import SeededSource

CELLS = 13
BULK = {
    "rr": RandomizedResponse.k_ary(levels=CELLS, epsilon=1.0),
    "unary": UnaryEncoding.optimised(levels=CELLS, epsilon=1.0),
    "hash": LocalHashing.optimised(levels=CELLS, epsilon=1.0),
    "hadamard": HadamardResponse.of(levels=CELLS, epsilon=1.0),
    "subset": SubsetSelection.of(levels=CELLS, epsilon=1.0),
    "matrix": geometric_channel(levels=CELLS, epsilon=1.0),
    "wave": SquareWave.of(levels=CELLS, epsilon=1.0),
    "chain": ChainChannel.of(sizes=(CELLS,), sets=((0,),), epsilon=1.0),
}
POINTS = tuple(range(CELLS))
MEANS = {
    "duchi": DuchiBins.of(points=POINTS, epsilon=1.0),
    "piecewise": PiecewiseBins.of(points=POINTS, epsilon=1.0),
    "hybrid": HybridBins.of(points=POINTS, epsilon=1.0),
}
WIDTHS = {"rr": 4, "unary": 2, "hash": 8, "hadamard": 4, "subset": 2, "matrix": 4, "wave": 4, "chain": 4}
TABLE = Matrix(weights=((5, 0, 3, 2), (1, 0, 4, 5), (2, 0, 7, 1)))


def words(seed):
    """Repeatable words, for simulation."""
    source = SeededSource(seed)
    while True:
        yield from source.words(256).tolist()


def drawn(device, cells, count, seed=7):
    stream = words(seed)
    return [device.draw(cells, number % cells, stream)[0] for number in range(count)]


def as_json(answer):
    return list(answer) if isinstance(answer, tuple) else answer


def test_every_kind_is_listed_here():
    assert set(BULK) | set(MEANS) | {"fourier"} == set(REGISTRY) == set(KINDS) == set(get_args(ChannelKind))


def test_fourier_is_the_same_on_both_sides():
    bulk = FourierChannel.of(attributes=4, order=2, epsilon=1.0)
    device = wire_of(bulk)
    assert channel_of(device, 16) == bulk
    assert (device.loss(16), device.charge(16)) == (bulk.epsilon, bulk.epsilon_upper)
    answers = drawn(device, 16, 260)
    reports = reports_array(device, 16, answers)
    packed = b"".join(pack_answer(device, 16, answer) for answer in answers)
    assert np.array_equal(unpack_answers(device, 16, packed), reports)
    assert bulk.respondents(bulk.tally(reports)) == 260


@pytest.mark.parametrize("kind", BULK | MEANS)
def test_the_channel_is_the_same_on_both_sides(kind):
    bulk = (BULK | MEANS)[kind]
    device = wire_of(bulk)
    assert device.kind == kind
    device.check(CELLS)
    assert channel_of(device, CELLS) == bulk
    assert (device.loss(CELLS), device.charge(CELLS)) == (bulk.epsilon, bulk.epsilon_upper)


@pytest.mark.parametrize("kind", BULK)
def test_answers_become_what_tally_takes(kind):
    bulk, device = BULK[kind], wire_of(BULK[kind])
    answers = drawn(device, CELLS, 260)
    assert answer_width(device, CELLS) == WIDTHS[kind]
    packed = b"".join(pack_answer(device, CELLS, answer) for answer in answers)
    assert len(packed) == WIDTHS[kind] * len(answers)
    reports = reports_array(device, CELLS, [as_json(answer) for answer in answers])
    assert np.array_equal(unpack_answers(device, CELLS, packed), reports)
    # what the aggregator's own sampler gives has the same layout
    sample = bulk.randomize(np.arange(CELLS), SeededSource(1))
    assert reports.shape[1:] == sample.shape[1:]
    assert bulk.tally(reports).shape == bulk.tally(sample).shape
    estimate = bulk.estimate(bulk.tally(reports))
    assert estimate.respondents == len(answers)


@pytest.mark.parametrize("kind", BULK)
def test_reports_of_the_bulk_sampler_pass_the_checks_of_the_wire(kind):
    bulk, device = BULK[kind], wire_of(BULK[kind])
    reports = bulk.randomize(np.arange(500) % CELLS, SeededSource(3))
    for report in reports[:50]:
        if kind in ("unary", "subset"):
            answer = bytes(report).hex()
        else:
            answer = tuple(report.tolist()) if kind == "hash" else int(report)
        device.check_answer(CELLS, answer)


@pytest.mark.parametrize("kind", BULK)
def test_devices_estimate_what_people_are(kind):
    """Each person is in cell 3; the estimate must say so within 6 standard deviations, in every cell."""
    bulk, device = BULK[kind], wire_of(BULK[kind])
    stream = words(11)
    answers = [device.draw(CELLS, 3, stream)[0] for _ in range(4000)]
    counts = bulk.tally(reports_array(device, CELLS, answers))
    estimate = bulk.estimate(counts, about="respondents")
    truth = np.eye(CELLS)[3]
    variance = bulk.covariance(truth, respondents=4000, about="respondents").variance()
    assert (np.abs(estimate.frequencies - truth) < 6 * np.sqrt(variance)).all()


@pytest.mark.parametrize("kind", MEANS)
def test_devices_estimate_the_mean_of_what_people_are(kind):
    """Everyone is in cell 3 of 0 to 12; the mean must be 3/12 within 6 standard errors, by JSON and by bytes."""
    bulk, device = MEANS[kind], wire_of(MEANS[kind])
    stream = words(11)
    answers = [device.draw(CELLS, 3, stream)[0] for _ in range(4000)]
    counts = bulk.tally(reports_array(device, CELLS, answers))
    packed = b"".join(pack_answer(device, CELLS, answer) for answer in answers)
    assert bulk.tally(unpack_answers(device, CELLS, packed)).tolist() == counts.tolist()
    found = bulk.mean(counts)
    assert abs(found.mean - 3 / 12) < 6 * found.std
    assert found.std == pytest.approx(np.sqrt(bulk.variance(np.eye(CELLS)[3]) / 4000), rel=0.1)
    for report in bulk.randomize(np.arange(500) % CELLS, SeededSource(3))[:50]:
        device.check_answer(CELLS, int(report))
    with pytest.raises(InvalidInput, match="below"):
        unpack_answers(device, CELLS, device.index_end(CELLS).to_bytes(4, "little"))


@pytest.mark.parametrize("kind", BULK | MEANS)
def test_no_answers_are_an_empty_array(kind):
    device = wire_of((BULK | MEANS)[kind])
    assert len(reports_array(device, CELLS, [])) == len(unpack_answers(device, CELLS, b"")) == 0


def test_columns_that_are_never_sent_are_left_out():
    channel = channel_of(TABLE, 3)
    assert channel.table == ((5, 3, 2), (1, 4, 5), (2, 7, 1))
    assert reports_array(TABLE, 3, [0, 2, 3, 2]).tolist() == [0, 1, 2, 1]
    assert channel.tally(reports_array(TABLE, 3, [0, 2, 3, 2])).tolist() == [1, 2, 1]


@pytest.mark.parametrize(
    ("device", "cells", "good", "bad"),
    [
        (RR(keep=1, fake=(1, 1, 1)), 3, 2, [3, -1, True, 1.0, "1", None]),
        (Unary(on=2, off=1, bits=2), 3, "05", ["08", "5", "0005", "0A", 5, None]),
        (Hash(cells=3, keep=1, fake=1), 5, [9, 2], [[9, 3], [2**32, 0], [9], [9, 2, 0], [9, True], 9, None]),
        (Hadamard(keep=1, fake=1), 3, 7, [8, -1, "07"]),
        (Subset(size=2, on=3, bits=2), 3, "05", ["01", "07", "0c", "0500", 5]),
        (TABLE, 3, 3, [1, 4, -1]),
    ],
)
def test_bad_answers_are_named_by_their_place(device, cells, good, bad):
    for answer in bad:
        with pytest.raises(InvalidInput) as caught:
            reports_array(device, cells, [good, answer, good])
        assert caught.value.field == "answers[1]"


@pytest.mark.parametrize(
    ("device", "cells", "good", "bad"),
    [
        (RR(keep=1, fake=(1, 1, 1)), 3, "02000000", ["03000000", "ffffffff"]),
        (Unary(on=2, off=1, bits=2), 3, "05", ["08", "80"]),
        (Unary(on=2, off=1, bits=2), 9, "0501", ["0502", "0080"]),
        (Hash(cells=3, keep=1, fake=1), 5, "ffffffff02000000", ["0000000003000000"]),
        (Hadamard(keep=1, fake=1), 3, "07000000", ["08000000"]),
        (Subset(size=2, on=3, bits=2), 3, "05", ["01", "07", "0c", "00"]),
        (TABLE, 3, "03000000", ["01000000", "04000000"]),
    ],
)
def test_bad_bytes_are_refused(device, cells, good, bad):
    assert len(unpack_answers(device, cells, bytes.fromhex(good * 3))) == 3
    for part in bad:
        with pytest.raises(InvalidInput):
            unpack_answers(device, cells, bytes.fromhex(good + part + good))


@pytest.mark.parametrize("kind", ["rr", "hash", "hadamard", "matrix", "unary"])
def test_half_an_answer_is_refused(kind):
    with pytest.raises(InvalidInput, match="whole answers"):
        unpack_answers(wire_of(BULK[kind]), CELLS, b"\x00" * (WIDTHS[kind] + 1))


class OptimalByHand:
    """No channel of the registry, although it has the method."""

    def wire(self):
        return RR(keep=1, fake=(1, 1))


def test_only_channels_of_the_wire_are_wired():
    with pytest.raises(InvalidInput):
        wire_of(OptimalByHand())
    inner = RandomizedResponse.k_ary(levels=4, epsilon=1.0)
    with pytest.raises(InvalidInput):
        wire_of(LocalHashing(levels=5, inner=inner, seed_bits=8))
    with pytest.raises(Refusal):
        channel_of(RR(keep=1, fake=(1, 0)), 2)
    with pytest.raises(Refusal):
        channel_of(RR(keep=1, fake=(1, 1)), 3)


def test_an_unknown_device_channel_is_refused():
    class Other(DeviceChannel):
        kind = "other"

        def check(self, cells):
            pass

    with pytest.raises(InvalidInput, match="kind of the wire"):
        channel_of(Other(), 2)
