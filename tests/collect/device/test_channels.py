"""The channels of a device: their whole law by enumeration, their loss read off that law, and what is refused."""

from collections import Counter
from fractions import Fraction
from itertools import combinations, product
from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacita.collect.channels.fourier import FourierChannel
from tacita.collect.channels.hashing import LocalHashing
from tacita.collect.channels.numbers.binned_means import BinnedMean
from tacita.collect.channels.parts.hash import cells_of, mixed
from tacita.collect.channels.wiring import channel_of, reports_array
from tacita.collect.device import draw
from tacita.collect.device.channels import (
    KINDS,
    RR,
    Chain,
    Duchi,
    Fourier,
    Hadamard,
    Hash,
    Hybrid,
    Matrix,
    Piecewise,
    Subset,
    Unary,
    Wave,
    device_channel,
    fourier_masks,
    hash32,
)
from tacita.collect.device.refusal import Refusal
from tacita.errors import InvalidInput

SEED_BITS = 4  # of the seeds that are listed

# each kind with a number of cells, small enough to list every course of its draw
SMALL = {
    "coins": (RR(keep=2, fake=(1, 1)), 2),
    "skewed": (RR(keep=5, fake=(7, 1, 2)), 3),
    "nothing kept": (RR(keep=0, fake=(3, 1)), 2),
    "unary": (Unary(on=2, off=1, bits=2), 3),
    "fine unary": (Unary(on=7, off=2, bits=3), 3),
    "hash": (Hash(cells=3, keep=4, fake=2), 5),
    "hash to two": (Hash(cells=2, keep=3, fake=1), 4),
    "hadamard": (Hadamard(keep=4, fake=3), 5),
    "hadamard of a power of two": (Hadamard(keep=1, fake=1), 4),
    "hadamard of two": (Hadamard(keep=1, fake=2), 2),
    "subset": (Subset(size=2, on=5, bits=3), 5),
    "subset of one": (Subset(size=1, on=3, bits=2), 3),
    "subset of all but one": (Subset(size=3, on=7, bits=3), 4),
    "subset of two cells": (Subset(size=1, on=3, bits=2), 2),
    "matrix": (Matrix(weights=((5, 0, 3, 2), (1, 0, 4, 5), (2, 0, 7, 1))), 3),
    "matrix of two": (Matrix(weights=((3, 1), (1, 3))), 2),
    "chain": (
        Chain(
            sizes=(2, 3, 2),
            new=((0, 1), (2,)),
            given=((), (1,)),
            keep=((4,), (3, 3, 2)),
            fake=(((2, 1, 3, 1, 2, 1),), ((1, 2), (2, 1), (2, 2))),
        ),
        12,
    ),
    "chain of one segment": (Chain(sizes=(3,), new=((0,),), given=((),), keep=((5,),), fake=(((7, 1, 2),),)), 3),
    "chain in another order": (
        Chain(
            sizes=(2, 2), new=((1,), (0,)), given=((), (1,)), keep=((1,), (2, 1)), fake=(((1, 2),), ((1, 1), (1, 2)))
        ),
        4,
    ),
    "fourier": (Fourier(order=2, keep=4, fake=3), 8),
    "fourier of one attribute": (Fourier(order=1, keep=1, fake=1), 2),
    "fourier of full order": (Fourier(order=3, keep=2, fake=1), 8),
    "wave": (Wave(width=3, near=5, far=2), 5),
    "wave of one": (Wave(width=1, near=3, far=1), 2),
    "wave wider than its cells": (Wave(width=6, near=4, far=3), 3),
    "duchi": (Duchi(least=3, step=2, points=(0, 1, 3, 4, 7)), 5),
    "duchi, falling points": (Duchi(least=1, step=1, points=(2, 1, 0)), 3),
    "piecewise": (Piecewise(width=4, near=5, far=2, points=(0, 1, 3, 4, 7)), 5),
    "piecewise, wide": (Piecewise(width=9, near=3, far=1, points=(0, 2)), 2),
    "hybrid": (Hybrid(mix=3, bits=3, least=1, step=3, width=2, near=4, far=1, points=(0, 1, 3)), 3),
}


def dice(channel, cells):
    """How many values each word of a draw can take, and where in the word the value stands."""
    match channel:
        case RR():
            return [(channel.keep + sum(channel.fake), 11)]
        case Unary():
            return [(2**channel.bits, 64 - channel.bits)] * cells
        case Hash():
            return [(2**SEED_BITS, 32), (channel.keep + channel.cells * channel.fake, 11)]
        case Hadamard():
            return [(1 << (cells - 1).bit_length(), 11), (channel.keep + 2 * channel.fake, 11)]
        case Subset():
            return [(2**channel.bits, 64 - channel.bits), *((cells - 1 - i, 11) for i in range(channel.size))]
        case Chain():  # all channels of a segment have one total here, so that all courses are equally likely
            totals = [
                {k + sum(f) for k, f in zip(*rows, strict=True)}
                for rows in zip(channel.keep, channel.fake, strict=True)
            ]
            assert all(len(total) == 1 for total in totals)
            return [(total.pop(), 11) for total in totals]
        case Fourier():
            sets = len(fourier_masks(cells.bit_length() - 1, channel.order))
            return [(sets, 11), (channel.keep + 2 * channel.fake, 11)]
        case Wave():
            return [(channel.width * channel.near + (cells - 1) * channel.far, 11)]
        case Duchi():
            return [(2 * channel.least + channel.step * max(channel.points), 11)]
        case Piecewise():
            return [(channel.width * channel.near + max(channel.points) * channel.far, 11)]
        case Hybrid():  # both parts have one total here, so that all courses are equally likely
            coin = 2 * channel.least + channel.step * max(channel.points)
            assert coin == channel.width * channel.near + max(channel.points) * channel.far
            return [(2**channel.bits, 64 - channel.bits), (coin, 11)]
    return [(sum(channel.weights[0]), 11)]


def answers(channel, cells, truth):
    """The answer of every course that a draw can take; all courses are equally likely."""
    sides = dice(channel, cells)
    for course in product(*(range(count) for count, _ in sides)):
        words = [value << shift for value, (_, shift) in zip(course, sides, strict=True)]
        answer, used = channel.draw(cells, truth, iter(words))
        assert used == len(words), "the number of words must not tell the truth or the coin"
        yield answer


def law(channel, cells):
    """P(answer | truth) for each truth, exactly."""
    courses = prod(count for count, _ in dice(channel, cells))
    counted = [Counter(answers(channel, cells, truth)) for truth in range(cells)]
    return [{answer: Fraction(times, courses) for answer, times in row.items()} for row in counted]


def true_ratio(rows):
    """The largest ratio of one answer's probabilities over two truths; None if an answer confesses."""
    seen = {answer for row in rows for answer in row}
    if any(answer not in row for row in rows for answer in seen):
        return None
    return max(one[answer] / two[answer] for one in rows for two in rows for answer in seen)


def column(channel, bulk, answer):
    """Where the bulk channel lists a report in its weights."""
    match channel:
        case Hash():
            return answer[0] * channel.cells + answer[1]
        case Unary():
            return int.from_bytes(bytes.fromhex(answer), "little")
        case Subset():
            number = int.from_bytes(bytes.fromhex(answer), "little")
            return bulk.subsets().index(tuple(cell for cell in range(bulk.levels) if number >> cell & 1))
        case Matrix():
            return sum(weight > 0 for weight in channel.weights[0][:answer])
    return answer


# -- the law -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SMALL)
def test_the_law_is_that_of_the_bulk_channel(name):
    channel, cells = SMALL[name]
    bulk = channel_of(channel, cells)
    if isinstance(bulk, LocalHashing):
        bulk = LocalHashing(levels=cells, inner=bulk.inner, seed_bits=SEED_BITS)
    weights = bulk.weights()
    found = np.zeros(weights.shape, dtype=object)
    for truth, row in enumerate(law(channel, cells)):
        for answer, probability in row.items():
            found[truth, column(channel, bulk, answer)] += probability * bulk.total
    assert (found == weights).all()


@pytest.mark.parametrize("name", SMALL)
def test_the_loss_is_that_of_the_law(name):
    channel, cells = SMALL[name]
    channel.check(cells)
    assert true_ratio(law(channel, cells)) == channel.worst_ratio(cells)
    assert channel.worst_ratio(cells) >= 1
    bulk = channel_of(channel, cells)
    assert (channel.loss(cells), channel.charge(cells)) == (bulk.epsilon, bulk.epsilon_upper)


@given(st.data())
@settings(deadline=None, max_examples=60)
def test_the_loss_is_that_of_the_law_for_any_small_channel(data):
    number = st.integers(1, 6)
    cells = data.draw(st.integers(2, 4))
    bits = data.draw(st.integers(2, 3))
    column = st.lists(number, min_size=cells, max_size=cells)
    rows = list(zip(*data.draw(st.lists(column, min_size=1, max_size=3)), strict=True))
    largest = max(map(sum, rows)) + 1
    channel = data.draw(
        st.sampled_from(
            [
                RR(keep=data.draw(number) - 1, fake=tuple(data.draw(column))),
                Unary(on=data.draw(number), off=data.draw(number), bits=bits),
                Hadamard(keep=data.draw(number), fake=data.draw(number)),
                Subset(size=data.draw(number), on=data.draw(number), bits=bits),
                Matrix(weights=tuple((*row, largest - sum(row)) for row in rows)),
                Fourier(order=data.draw(number), keep=data.draw(number), fake=data.draw(number)),
                Wave(width=data.draw(number), near=data.draw(number), far=data.draw(number)),
                Duchi(least=data.draw(number), step=data.draw(number), points=(0, *data.draw(column)[1:])),
                Piecewise(
                    width=data.draw(number),
                    near=data.draw(number),
                    far=data.draw(number),
                    points=(0, *data.draw(column)[1:]),
                ),
            ]
        )
    )
    try:
        channel.check(cells)
    except Refusal:
        return
    assert true_ratio(law(channel, cells)) == channel.worst_ratio(cells)


def names_the_truth(channel, cells, truth, answer):
    """Whether an answer is the truth, holds it, or names its group."""
    match channel:
        case Hash():
            return answer[1] == hash32(answer[0], truth) * channel.cells >> 32
        case Hadamard():
            return answer & 1 == bin(answer >> 1 & truth).count("1") % 2
        case Fourier():  # of three attributes or one
            mask = fourier_masks(3 if cells == 8 else 1, channel.order)[answer >> 1]
            return answer & 1 == (mask & truth).bit_count() % 2
        case RR():
            return answer == truth
    return bool(int.from_bytes(bytes.fromhex(answer), "little") >> truth & 1)


def by_chance(channel, truth):
    """Probability that the coin does not keep the truth and the die hits it all the same."""
    match channel:
        case RR():
            return Fraction(channel.fake[truth], channel.keep + sum(channel.fake))
        case Hash():
            return Fraction(channel.fake, channel.keep + channel.cells * channel.fake)
        case Hadamard() | Fourier():
            return Fraction(channel.fake, channel.keep + 2 * channel.fake)
    return 0


@pytest.mark.parametrize("name", SMALL)
def test_what_a_person_is_told_is_the_law(name):
    channel, cells = SMALL[name]
    rows, kept = law(channel, cells), channel.keep_probability(cells)
    if isinstance(channel, Matrix | Wave | Duchi | Piecewise | Hybrid | Chain):
        told = sum(min(row.get(answer, 0) for row in rows) for answer in rows[0])
        assert kept == 1 - told
    else:
        told = kept
        for truth, row in enumerate(rows):
            named = sum(p for answer, p in row.items() if names_the_truth(channel, cells, truth, answer))
            assert named == kept + by_chance(channel, truth)
    assert f"probability {float(told):.3g}" in channel.describe(cells)


@pytest.mark.parametrize("name", SMALL)
def test_every_answer_that_is_drawn_is_accepted(name):
    channel, cells = SMALL[name]
    for truth in range(cells):
        for answer in set(answers(channel, cells, truth)):
            channel.check_answer(cells, answer)


@pytest.mark.parametrize("name", sorted(set(SMALL) - {"hash", "hash to two", "nothing kept"}))
def test_an_estimate_from_all_courses_is_the_truth(name):
    """Estimates are linear in the counts, so that without bias they give the truth for the exact law."""
    channel, cells = SMALL[name]
    bulk = channel_of(channel, cells)
    for truth in range(cells):
        counts = bulk.tally(reports_array(channel, cells, list(answers(channel, cells, truth))))
        if isinstance(bulk, FourierChannel):
            for size in range(1, channel.order + 1):
                for places in combinations(range(bulk.attributes), size):
                    shares = np.eye(cells)[truth].reshape((2,) * bulk.attributes)
                    others = tuple(place for place in range(bulk.attributes) if place not in places)
                    found = bulk.margin(counts, places).frequencies
                    assert found == pytest.approx(shares.sum(axis=others).reshape(-1), abs=1e-9)
            continue
        if isinstance(bulk, BinnedMean):
            assert bulk.mean(counts).mean == pytest.approx(channel.points[truth] / max(channel.points), abs=1e-12)
            continue
        estimate = bulk.estimate(counts).frequencies
        assert estimate == pytest.approx(np.eye(cells)[truth], abs=1e-9)


def test_a_hash_supports_its_truth_as_often_as_the_coin_says():
    channel, cells = SMALL["hash"]
    bulk = channel_of(channel, cells)
    for truth in range(cells):
        reports = reports_array(channel, cells, list(answers(channel, cells, truth)))
        counts = bulk.tally(reports)
        assert counts[truth] == 2**SEED_BITS * (channel.keep + channel.fake)
        assert counts[-1] == len(reports)


@pytest.mark.parametrize("total", range(1, 17))
def test_a_die_is_fair(monkeypatch, total):
    """With words of 4 bits instead of 53, all of them are tried; the last ones are passed over."""
    monkeypatch.setattr(draw, "WORD_RANGE", 16)
    results = [draw.below(total, iter([word << 11, 0])) for word in range(16)]
    counts = Counter(side for side, used in results if used == 1)
    assert set(counts) == set(range(total))
    assert len(set(counts.values())) == 1
    assert sum(used == 2 for _, used in results) == 16 % total


def test_the_hash_is_that_of_the_aggregator():
    pairs = [(seed, cell) for seed in (0, 1, 2**31, 2**32 - 1, 0x9E3779B9) for cell in (0, 1, 7, 2**20 - 1)]
    seeds, cells = (np.array(column, dtype=np.uint32) for column in zip(*pairs, strict=True))
    for g in (2, 5, 2**20):
        assert cells_of(seeds, mixed(cells), g).tolist() == [hash32(seed, cell) * g >> 32 for seed, cell in pairs]


# -- what is refused, and why ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("channel", "cells", "reason"),
    [
        (Unary(on=1, off=2, bits=2), 3, "threshold"),
        (Unary(on=1, off=3, bits=2), 2, "threshold"),
        (Subset(size=2, on=1, bits=2), 3, "threshold"),
        (Subset(size=1, on=1, bits=3), 4, "threshold"),
    ],
)
def test_where_the_formula_would_claim_too_little_the_channel_is_refused(channel, cells, reason):
    assert true_ratio(law(channel, cells)) > 1 > channel.worst_ratio(cells)
    with pytest.raises(Refusal) as caught:
        channel.check(cells)
    assert caught.value.reason == reason


@pytest.mark.parametrize(
    ("channel", "cells", "reason"),
    [
        (RR(keep=1, fake=(1, 0)), 2, "fake-zero"),
        (Unary(on=2, off=0, bits=2), 2, "off-zero"),
        (Unary(on=4, off=1, bits=2), 2, "threshold"),
        (Subset(size=1, on=4, bits=2), 2, "threshold"),
        (Matrix(weights=((1, 1, 0), (1, 0, 1))), 2, "weight-zero"),
        (Matrix(weights=((2, 0), (1, 1))), 2, "weight-zero"),
        (Duchi(least=0, step=1, points=(0, 1)), 2, "fake-zero"),
        (Chain(sizes=(2,), new=((0,),), given=((),), keep=((1,),), fake=(((1, 0),),)), 2, "fake-zero"),
    ],
)
def test_a_channel_that_confesses_is_refused(channel, cells, reason):
    assert true_ratio(law(channel, cells)) is None
    with pytest.raises(Refusal) as caught:
        channel.check(cells)
    assert caught.value.reason == reason


def test_a_subset_at_exactly_chance_is_refused():
    with pytest.raises(Refusal, match="above 2"):
        Subset(size=1, on=2, bits=3).check(4)


def test_a_matrix_may_not_be_larger_than_the_wire_allows():
    row = (1,) * (2**19 + 1)
    with pytest.raises(Refusal) as caught:
        Matrix(weights=(row, row)).check(2)
    assert caught.value.reason == "weights-count"


@pytest.mark.parametrize("name", SMALL)
def test_round_trip(name):
    channel, _ = SMALL[name]
    data = channel.to_dict()
    assert device_channel(data) == channel
    assert set(data) >= {"kind"}
    assert KINDS[data["kind"]] is type(channel)


@pytest.mark.parametrize(
    ("name", "bad"),
    [
        ("coins", [-1, 2, True, 1.0, "0", None, (0, 1)]),
        ("unary", ["08", "0", "000", "0A", " 1", 1, None, (0, 1), "01\n"]),
        ("hash", [(0, 3), (2**32, 0), (-1, 0), (0, True), (0,), (0, 1, 2), [0, 1], 3, "00"]),
        ("hadamard", [16, -1, "00", (0, 1)]),
        ("subset", ["01", "07", "00", "60", "0300", 3]),
        ("matrix", [1, 4, -1, "0"]),
        ("chain", [12, -1, "0", (0, 1)]),
        ("fourier", [12, -1, "0", (0, 1)]),
        ("wave", [7, -1, "0", (0, 1)]),
        ("duchi", [2, -1, True, "0"]),
        ("piecewise", [11, -1, None]),
        ("hybrid", [7, -1, 1.0]),
    ],
)
def test_answers_that_a_channel_never_sends_are_refused(name, bad):
    channel, cells = SMALL[name]
    for answer in bad:
        with pytest.raises(InvalidInput):
            channel.check_answer(cells, answer)
