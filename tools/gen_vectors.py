"""Write spec/vectors: what every client must draw, lose, accept and refuse.

    python tools/gen_vectors.py            writes the files
    python tools/gen_vectors.py --check    fails if they are not what this script writes

The expected draws and losses are written here a second time, by walking over weights and listing sets, so that an
error of the package does not become the specification.
"""

from __future__ import annotations

import copy
import itertools
import json
import math
import random
import sys
import unicodedata
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

from tacita.collect.channels.chain import ChainChannel
from tacita.collect.channels.channel import RandomizedResponse
from tacita.collect.channels.fourier import FourierChannel
from tacita.collect.channels.geometric import geometric_channel
from tacita.collect.channels.hadamard import HadamardResponse
from tacita.collect.channels.hashing import LocalHashing
from tacita.collect.channels.numbers.binned_means import DuchiBins, HybridBins, PiecewiseBins
from tacita.collect.channels.numbers.square_wave import SquareWave
from tacita.collect.channels.protocol import Channel
from tacita.collect.channels.subset import SubsetSelection
from tacita.collect.channels.unary import UnaryEncoding
from tacita.collect.channels.wiring import wire_of
from tacita.collect.device.question import Question

HERE = Path(__file__).resolve().parent.parent / "spec" / "vectors"
TOP = 2**53
Json = dict[str, Any]


# -- questions -------------------------------------------------------------------------------------------


def ask(attribute: str, *levels: str) -> Json:
    return {"attribute": attribute, "levels": list(levels)}


def numbered(levels: int, attribute: str = "smokes") -> Json:
    return ask(attribute, *(f"level {i}" for i in range(levels)))


def question(channel: Json, *asks: Json, epsilon: float | None = None) -> Json:
    """A question whose promise is its loss, if none is given."""
    cells = math.prod(len(part["levels"]) for part in asks)
    promise = epsilon if epsilon is not None else series_log(ratio(channel, cells)) * (1 + 1e-13) or 0.1
    names = {"wire": 1, "campaign": "health-2026", "question": "q1"}
    return names | {"asks": list(asks), "channel": channel, "epsilon": promise}


def rr(keep: int, *fake: int) -> Json:
    return {"kind": "rr", "keep": keep, "fake": list(fake)}


def calibrated(channel: Channel, *asks: Json, epsilon: float) -> Json:
    return question(wire_of(channel).to_dict(), *asks, epsilon=epsilon)


SMOKING = ask("smokes", "never", "sometimes", "daily")
SEX = ask("sex", "f", "m")
SMOKES = calibrated(RandomizedResponse.k_ary(levels=3, epsilon=1.0), SMOKING, epsilon=1.0)
JOINT = calibrated(RandomizedResponse.k_ary(levels=6, epsilon=1.0), SMOKING, SEX, epsilon=1.0)
JOINT_VALUE = {"smokes": "daily", "sex": "f"}


# -- draw ------------------------------------------------------------------------------------------------


class Words:
    """The listed words, and how many were used."""

    def __init__(self, words: list[int]) -> None:
        self._words, self.used = words, 0

    def word(self) -> int:
        """The next word."""
        self.used += 1
        return self._words[self.used - 1]

    def coin(self, threshold: int, bits: int) -> bool:
        """Whether the first bits of a word are a number below the threshold."""
        return self.word() // 2 ** (64 - bits) < threshold

    def die(self, sides: int) -> int:
        """A side, all equally likely: words that would favour the first sides are passed over."""
        while True:
            top = self.word() // 2**11
            if top < (TOP // sides) * sides:
                return top % sides

    def walk(self, weights: list[int]) -> int:
        """A place with probability in proportion to its weight, by walking over the weights one after the other."""
        position = self.die(sum(weights))
        for place, weight in enumerate(weights):
            if position < weight:
                return place
            position -= weight
        raise AssertionError("a die falls on one of its sides")


def listed_draw(channel: Json, cells: int, truth: int, words: Words) -> Any:
    """What each kind sends."""
    match channel["kind"]:
        case "rr":
            place = words.walk([channel["keep"], *channel["fake"]])
            return truth if place == 0 else place - 1
        case "unary":
            coins = [words.coin(channel["on" if cell == truth else "off"], channel["bits"]) for cell in range(cells)]
            return packed([cell for cell, coin in enumerate(coins) if coin], cells)
        case "hash":
            seed, groups = words.word() // 2**32, channel["cells"]
            place = words.walk([channel["keep"], *[channel["fake"]] * groups])
            return [
                seed,
                mixed(seed ^ mixed((truth + 0x9E3779B9) % 2**32)) * groups // 2**32 if not place else place - 1,
            ]
        case "hadamard":
            rows = next(2**power for power in range(21) if 2**power >= cells)
            row = words.word() // 2**11 % rows
            place = words.walk([channel["keep"], channel["fake"], channel["fake"]])
            return 2 * row + (place - 1 if place else bin(row & truth).count("1") % 2)
        case "subset":
            held = words.coin(channel["on"], channel["bits"])
            pool, chosen = [cell for cell in range(cells) if cell != truth], []
            for _ in range(channel["size"]):
                place = words.die(len(pool))
                chosen.append(pool[place])
                pool[place] = pool[0]  # the first takes the place that became free
                pool = pool[1:]
            return packed([*chosen[:-1], truth] if held else chosen, cells)
        case "fourier":
            masks = fourier_masks(cells, channel["order"])
            number = words.die(len(masks))
            place = words.walk([channel["keep"], channel["fake"], channel["fake"]])
            return 2 * number + (place - 1 if place else bin(masks[number] & truth).count("1") % 2)
        case "chain":
            return chain_draw(channel, truth, words)
        case "wave" | "piecewise":
            return window_draw(channel, cells, truth, words)
        case "duchi":
            return coin_draw(channel, truth, words)
        case "hybrid":
            if words.coin(channel["mix"], channel["bits"]):
                return window_draw(channel, cells, truth, words)
            return max(channel["points"]) + channel["width"] + coin_draw(channel, truth, words)
    return words.walk(channel["weights"][truth])


def chain_codes(channel: Json) -> list[tuple[int, ...]]:
    """All rows, in the order of their cells."""
    return list(itertools.product(*(range(size) for size in channel["sizes"])))


def chain_place(channel: Json, codes: Any, places: list[int]) -> int:
    """The number of a combination among all of some attributes, in order."""
    wanted = tuple(codes[place] for place in places)
    return list(itertools.product(*(range(channel["sizes"][place]) for place in places))).index(wanted)


def chain_draw(channel: Json, truth: int, words: Words) -> int:
    """Segment by segment; what was sent before picks the weights."""
    own, sent = chain_codes(channel)[truth], dict.fromkeys(range(len(channel["sizes"])), 0)
    for j, (new, given) in enumerate(zip(channel["new"], channel["given"], strict=True)):
        g = chain_place(channel, sent, given)
        place = words.walk([channel["keep"][j][g], *channel["fake"][j][g]])
        listed = list(itertools.product(*(range(channel["sizes"][at]) for at in new)))
        part = tuple(own[at] for at in new) if place == 0 else listed[place - 1]
        sent |= dict(zip(new, part, strict=True))
    return chain_codes(channel).index(tuple(sent[at] for at in sorted(sent)))


def chain_law(channel: Json) -> list[list[Fraction]]:
    """P(row | truth), by multiplying the segments."""
    rows = chain_codes(channel)
    law = []
    for truth in rows:
        line = []
        for row in rows:
            share = Fraction(1)
            for j, (new, given) in enumerate(zip(channel["new"], channel["given"], strict=True)):
                g = chain_place(channel, row, given)
                keep, fake = channel["keep"][j][g], channel["fake"][j][g]
                same = all(row[at] == truth[at] for at in new)
                share *= Fraction(fake[chain_place(channel, row, new)] + keep * same, keep + sum(fake))
            line.append(share)
        law.append(line)
    return law


def fourier_masks(cells: int, order: int) -> list[int]:
    """Masks of 1 to `order` bits: few bits first, then the higher bits first."""
    wanted = [mask for mask in range(1, cells) if bin(mask).count("1") <= order]
    return sorted(wanted, key=lambda mask: (bin(mask).count("1"), -mask))


def window_draw(channel: Json, cells: int, truth: int, words: Words) -> int:
    """The reports of the window have the first sides of the die, then all others have theirs, in order."""
    weights = window_rows(channel, cells)[truth]
    order = sorted(range(len(weights)), key=lambda report: (weights[report] == channel["far"], report))
    return order[words.walk([weights[report] for report in order])]


def coin_draw(channel: Json, truth: int, words: Words) -> int:
    """Heads have the first sides of the die."""
    tails, heads = coin_rows(channel)[truth]
    return 1 - words.walk([heads, tails])


def window_rows(channel: Json, cells: int) -> list[list[int]]:
    """Weights of the reports of a window, a row for each cell."""
    points = channel.get("points", list(range(cells)))
    reports = range(max(points) + channel["width"])
    return [[channel["near" if 0 <= y - point < channel["width"] else "far"] for y in reports] for point in points]


def coin_rows(channel: Json) -> list[list[int]]:
    """Weights of tails and heads, a row for each cell."""
    points = channel["points"]
    return [[channel["least"] + channel["step"] * part for part in (max(points) - point, point)] for point in points]


def packed(chosen: list[int], cells: int) -> str:
    return sum(2**cell for cell in chosen).to_bytes(-(-cells // 8), "little").hex()


def mixed(h: int) -> int:
    for shift, factor in ((16, 0x7FEB352D), (15, 0x846CA68B)):
        h = (h ^ h // 2**shift) * factor % 2**32
    return h ^ h // 2**16


def draw_case(name: str, asked: Json, value: Any, tops: list[int], *, low: int = 0) -> Json:
    """A case from words given by their 53 high bits; words that are not used are left off."""
    stream = [(top << 11) | low for top in tops]
    sizes = [len(part["levels"]) for part in asked["asks"]]
    truth = 0
    for part, size in zip(asked["asks"], sizes, strict=True):
        level = value if isinstance(value, str) else value[part["attribute"]]
        truth = truth * size + part["levels"].index(level)
    words = Words(stream)
    answer = listed_draw(asked["channel"], math.prod(sizes), truth, words)
    return {
        "name": name,
        "question": asked,
        "value": value,
        "words": [word.to_bytes(8, "little").hex() for word in stream[: words.used]],
        "answer": answer,
        "consumed": words.used,
    }


def rr_case(name: str, channel: Json, truth: int, tops: list[int], *, low: int = 0) -> Json:
    return draw_case(name, question(channel, numbered(len(channel["fake"]))), f"level {truth}", tops, low=low)


def boundary_cases(name: str, channel: Json, truth: int) -> list[Json]:
    """Both sides of every edge between two outcomes of randomized response."""
    edges = [0, channel["keep"]]
    for weight in channel["fake"]:
        edges.append(edges[-1] + weight)
    total = edges[-1]
    spots = sorted({spot for edge in edges for spot in (edge - 1, edge) if 0 <= spot < total})
    return [rr_case(f"{name}, position {spot}", channel, truth, [spot]) for spot in spots]


def rr_draws() -> list[Json]:
    smokes = SMOKES["channel"]
    assert smokes["keep"] + sum(smokes["fake"]) < TOP, "the last word is passed over"
    cases = boundary_cases("coins", rr(2, 1, 1), 1) + boundary_cases("skewed", rr(5, 7, 1, 2), 0)
    cases += boundary_cases("calibrated", smokes, 2)
    cases += boundary_cases("half", rr(2**52, 2**20, 3), 1) + boundary_cases("nothing kept", rr(0, 1, 3), 0)
    ten, edge = rr(5, 3, 2), TOP - TOP % 10
    cases += [
        rr_case("the low 11 bits are not used", rr(2, 1, 1), 0, [3], low=2**11 - 1),
        rr_case("the word wraps around the total", ten, 1, [10 * 12345 + 6]),
        rr_case("the last word that counts", ten, 1, [edge - 1]),
        rr_case("the first word that is passed over", ten, 1, [edge, 7]),
        rr_case("several words are passed over", ten, 1, [TOP - 1, edge, TOP - 2, 9]),
        rr_case("nearly half of all words are passed over", rr(2**52, 1, 1), 0, [2**52 + 2, TOP - 1, 2**52 + 1]),
        rr_case("a total of 2**53 passes over nothing", rr(2**52, 2**51, 2**51), 0, [TOP - 1]),
    ]
    chance = random.Random(20260101)  # repeatable on purpose
    for number in range(40):
        levels = chance.choice([2, 3, 7, 50])
        fake = [chance.randrange(1, 2 ** chance.randrange(1, 46)) for _ in range(levels)]
        channel = rr(chance.randrange(2 ** chance.randrange(1, 52)), *fake)
        tops = [chance.randrange(TOP) for _ in range(80)]
        cases.append(rr_case(f"random {number}", channel, chance.randrange(levels), tops))
    return cases


COARSE = {
    "unary": {"kind": "unary", "on": 5, "off": 2, "bits": 3},
    "hash": {"kind": "hash", "cells": 3, "keep": 4, "fake": 2},
    "hadamard": {"kind": "hadamard", "keep": 4, "fake": 3},
    "subset": {"kind": "subset", "size": 2, "on": 5, "bits": 3},
    "matrix": {"kind": "matrix", "weights": [[5, 0, 3, 2], [1, 0, 4, 5], [2, 0, 7, 1], [3, 0, 3, 4], [4, 0, 4, 2]]},
}

LINE = {
    "wave": {"kind": "wave", "width": 3, "near": 5, "far": 2},
    "duchi": {"kind": "duchi", "least": 3, "step": 2, "points": [0, 1, 3, 4, 7]},
    "piecewise": {"kind": "piecewise", "width": 4, "near": 5, "far": 2, "points": [0, 1, 3, 4, 7]},
    "hybrid": {
        "kind": "hybrid", "mix": 3, "bits": 3, "least": 3, "step": 2, "width": 4, "near": 5, "far": 2,
        "points": [0, 1, 3, 4, 7],
    },
}  # fmt: skip


def fine_line(cells: int, epsilon: float = 1.0) -> dict[str, Json]:
    """Every kind on a line."""
    points = tuple(range(cells))
    made = (
        SquareWave.of(levels=cells, epsilon=epsilon),
        DuchiBins.of(points=points, epsilon=epsilon),
        PiecewiseBins.of(points=points, epsilon=epsilon),
        HybridBins.of(points=points, epsilon=epsilon),
    )
    return {f"calibrated {channel.wire().kind}": wire_of(channel).to_dict() for channel in made}


def line_draws() -> list[Json]:
    """Draws of the kinds on a line: all sides of the coarse dice, random words, edges."""
    chance, cases = random.Random(20260303), []  # repeatable on purpose
    for kind, channel in LINE.items():
        asked = question(channel, numbered(5))
        for number in range(24):
            value, tops = f"level {chance.randrange(5)}", [chance.randrange(TOP) for _ in range(9)]
            cases.append(draw_case(f"coarse {kind} {number}", asked, value, tops))
    for name, channel in fine_line(13).items():
        asked = question(channel, numbered(13))
        for number in range(6):
            value, tops = f"level {chance.randrange(13)}", [chance.randrange(TOP) for _ in range(9)]
            cases.append(draw_case(f"{name} {number}", asked, value, tops))
    five = {kind: question(channel, numbered(5)) for kind, channel in LINE.items()}
    below = 3 * TOP // 8 - 1  # the last word of the window's part of the hybrid
    return [
        *cases,
        *(draw_case(f"wave, position {at}", five["wave"], "level 2", [at]) for at in range(23)),
        *(draw_case(f"duchi, position {at}", five["duchi"], "level 2", [at]) for at in range(20)),
        draw_case("wave, a word is passed over", five["wave"], "level 4", [TOP - 1, 15]),
        draw_case("duchi, a word is passed over", five["duchi"], "level 0", [TOP - 1, 3]),
        draw_case("piecewise, a word is passed over", five["piecewise"], "level 1", [TOP - 1, 20]),
        draw_case("hybrid, a word is passed over", five["hybrid"], "level 1", [0, TOP - 1, 20]),
        draw_case("hybrid, the last word of the window", five["hybrid"], "level 3", [below, 33]),
        draw_case("hybrid, the first word of the coin", five["hybrid"], "level 3", [below + 1, 10]),
        draw_case("hybrid, tails", five["hybrid"], "level 3", [TOP - 1, 11]),
    ]


BITS = [ask(name, "no", "yes") for name in ("a", "b", "c", "d")]
FOURIER = {"kind": "fourier", "order": 2, "keep": 4, "fake": 3}


def fourier(attributes: int, order: int, epsilon: float = 1.0) -> Json:
    return wire_of(FourierChannel.of(attributes=attributes, order=order, epsilon=epsilon)).to_dict()


def fourier_draws() -> list[Json]:
    chance = random.Random(20260404)  # repeatable on purpose
    asked, cases = question(FOURIER, *BITS), []
    for number in range(24):
        cases.append(draw_case(f"coarse fourier {number}", asked, value_of(BITS, chance), random_words(chance)))
    for order in (1, 2, 3, 4):
        one = question(fourier(4, order), *BITS)
        cases += [
            draw_case(f"fourier of {order}, {n}", one, value_of(BITS, chance), random_words(chance)) for n in range(4)
        ]
    yes = {part["attribute"]: "yes" for part in BITS}
    return [
        *cases,
        *(draw_case(f"fourier, set {number}", asked, yes, [number, 0]) for number in range(10)),
        draw_case("fourier, a word is passed over for the set", asked, yes, [TOP - 1, 3, 0]),
        draw_case("fourier, a word is passed over for the parity", asked, yes, [3, TOP - 1, 5]),
        draw_case("fourier, a fake", asked, yes, [7, 7]),
    ]


CHAIN = {
    "kind": "chain", "sizes": [2, 3, 2], "new": [[0, 1], [2]], "given": [[], [1]],
    "keep": [[4], [3, 1, 2]], "fake": [[[2, 1, 3, 1, 2, 1]], [[1, 2], [3, 1], [2, 2]]],
}  # fmt: skip
CHAIN_ASKS = [numbered(2, "a"), numbered(3, "b"), numbered(2, "c")]


def chain(epsilon: float = 1.0) -> Json:
    return wire_of(ChainChannel.of(sizes=(2, 3, 2), sets=((0, 1), (1, 2)), epsilon=epsilon)).to_dict()


def chain_draws() -> list[Json]:
    chance, cases = random.Random(20260505), []  # repeatable on purpose
    turned = CHAIN | {"new": [[2, 0], [1]], "given": [[], [0]]}
    turned |= {"keep": [[4], [3, 1]], "fake": [[[2, 1, 3, 1]], [[1, 2, 1], [3, 1, 2]]]}
    for name, channel in {"coarse": CHAIN, "turned": turned, "calibrated": chain()}.items():
        asked = question(channel, *CHAIN_ASKS)
        for number in range(16):
            value = value_of(CHAIN_ASKS, chance)
            cases.append(draw_case(f"{name} chain {number}", asked, value, random_words(chance)))
    asked, value = question(CHAIN, *CHAIN_ASKS), {"a": "level 1", "b": "level 2", "c": "level 0"}
    return [
        *cases,
        *(draw_case(f"chain, first position {at}", asked, value, [at, 0]) for at in range(14)),
        *(draw_case(f"chain, second position {at}", asked, value, [0, at]) for at in range(6)),
        draw_case("chain, a word is passed over", asked, value, [TOP - 1, 3, 1]),
    ]


def random_words(chance: random.Random) -> list[int]:
    return [chance.randrange(TOP) for _ in range(9)]


def fine(cells: int) -> dict[str, Json]:
    """Every kind at epsilon 1."""
    channels: list[Channel] = [
        UnaryEncoding.optimised(levels=cells, epsilon=1.0),
        UnaryEncoding.symmetric(levels=cells, epsilon=1.0),
        LocalHashing.optimised(levels=cells, epsilon=1.0),
        HadamardResponse.of(levels=cells, epsilon=1.0),
        SubsetSelection.of(levels=cells, epsilon=1.0),
        geometric_channel(levels=cells, epsilon=1.0),
    ]
    names = ("optimised unary", "symmetric unary", "hash", "hadamard", "subset", "geometric matrix")
    return {name: wire_of(channel).to_dict() for name, channel in zip(names, channels, strict=True)}


def kind_draws() -> list[Json]:
    chance = random.Random(20260202)  # repeatable on purpose

    def several(name: str, asked: Json, values: list[Any], count: int) -> list[Json]:
        size = 80 + math.prod(len(part["levels"]) for part in asked["asks"])
        tops = [[chance.randrange(TOP) for _ in range(size)] for _ in range(count)]
        return [draw_case(f"{name} {i}", asked, chance.choice(values), words) for i, words in enumerate(tops)]

    cases = []
    for kind, channel in COARSE.items():
        cases += several(f"coarse {kind}", question(channel, numbered(5)), [f"level {i}" for i in range(5)], 8)
    for name, channel in fine(13).items():
        cases += several(name, question(channel, numbered(13)), [f"level {i}" for i in range(13)], 4)
    pairs = [{"smokes": level, "sex": sex} for level in SMOKING["levels"] for sex in SEX["levels"]]
    for name, channel in ({"rr": JOINT["channel"]} | fine(6)).items():
        cases += several(f"joint {name}", question(channel, SMOKING, SEX), pairs, 3)
    three = [numbered(2, "a"), numbered(3, "b"), numbered(2, "c")]
    for name, channel in fine(12).items():
        cases += several(f"three attributes, {name}", question(channel, *three), [value_of(three, chance)], 1)
    return cases


def value_of(asks: list[Json], chance: random.Random) -> Json:
    return {part["attribute"]: chance.choice(part["levels"]) for part in asks}


def kind_edges() -> list[Json]:
    """Both sides of a threshold, and words that are passed over, for the kinds beside rr."""
    five = {kind: question(channel, numbered(5)) for kind, channel in COARSE.items()}
    eighth = TOP // 8
    return [
        draw_case("unary, all below", five["unary"], "level 1", [0] * 5),
        draw_case("unary, all just below off", five["unary"], "level 1", [2 * eighth - 1] * 5),
        draw_case("unary, all at off", five["unary"], "level 1", [2 * eighth] * 5),
        draw_case("unary, all just below on", five["unary"], "level 1", [5 * eighth - 1] * 5),
        draw_case("unary, all at on", five["unary"], "level 1", [5 * eighth] * 5),
        draw_case("unary of 53 bits, at off", question(fine(2)["optimised unary"], numbered(2)), "level 0", [
            fine(2)["optimised unary"]["on"] - 1, fine(2)["optimised unary"]["off"],
        ]),
        draw_case("unary of 53 bits, at on", question(fine(2)["optimised unary"], numbered(2)), "level 0", [
            fine(2)["optimised unary"]["on"], fine(2)["optimised unary"]["off"] - 1,
        ]),
        draw_case("subset, just below on", five["subset"], "level 4", [5 * eighth - 1, 3, 2]),
        draw_case("subset, at on", five["subset"], "level 4", [5 * eighth, 3, 2]),
        draw_case("subset, the last two of the others", five["subset"], "level 0", [TOP - 1, 3, 2]),
        draw_case("subset, a word is passed over", five["subset"], "level 2", [0, 1, TOP - 1, TOP - 2, 2]),
        draw_case("subset of all but one", question({"kind": "subset", "size": 4, "on": 7, "bits": 3}, numbered(5)),
                  "level 2", [0, 1, 1, 1, 1]),
        draw_case("hash, the largest seed", five["hash"], "level 3", [TOP - 1, 0]),
        draw_case("hash, the seed 0", five["hash"], "level 3", [2**21 - 1, 0]),
        draw_case("hash, a fake", five["hash"], "level 3", [2**21, 9]),
        draw_case("hash, a word is passed over", five["hash"], "level 3", [12345 << 21, TOP - 1, TOP - 2, 3]),
        draw_case("hadamard, row 0", five["hadamard"], "level 3", [8, 0]),
        draw_case("hadamard, the last row", five["hadamard"], "level 3", [7, 0]),
        draw_case("hadamard, a fake", five["hadamard"], "level 3", [5, 7]),
        draw_case("hadamard, a word is passed over", five["hadamard"], "level 4", [TOP - 1, TOP - 1, TOP - 2, 5]),
        draw_case("matrix, before a column that is never sent", five["matrix"], "level 0", [4]),
        draw_case("matrix, beyond a column that is never sent", five["matrix"], "level 0", [5]),
        draw_case("matrix, the last column", five["matrix"], "level 0", [9]),
        draw_case("matrix, a word is passed over", five["matrix"], "level 1", [TOP - 1, 10]),
    ]  # fmt: skip


# -- loss ------------------------------------------------------------------------------------------------


def ratio(channel: Json, cells: int) -> Fraction:
    """The largest ratio between two true cells of the probability of one report, by comparing reports."""
    match channel["kind"]:
        case "rr":
            return max(Fraction(channel["keep"] + weight, weight) for weight in channel["fake"])
        case "hash" | "hadamard" | "fourier":
            return Fraction(channel["keep"] + channel["fake"], channel["fake"])
        case "unary":
            on, off = (Fraction(channel[name], 2 ** channel["bits"]) for name in ("on", "off"))
            # the report whose two bits favour one cell, over the same report from the other cell
            return (on * (1 - off)) / (off * (1 - on))
        case "subset":
            size, held = channel["size"], Fraction(channel["on"], 2 ** channel["bits"])
            inside = held / math.comb(cells - 1, size - 1)
            outside = (1 - held) / math.comb(cells - 1, size)
            return inside / outside
        case "chain":
            return max(max(column) / min(column) for column in zip(*chain_law(channel), strict=True))
        case "hybrid":
            return max(row_ratio(window_rows(channel, cells)), row_ratio(coin_rows(channel)))
        case "duchi":
            return row_ratio(coin_rows(channel))
        case "wave" | "piecewise":
            return row_ratio(window_rows(channel, cells))
    return row_ratio(channel["weights"])


def row_ratio(rows: list[list[int]]) -> Fraction:
    """The largest ratio of two weights in one column."""
    columns = [column for column in zip(*rows, strict=True) if any(column)]
    return max(Fraction(max(column), min(column)) for column in columns)


def series_log(ratio: Fraction) -> float:
    """ln of a fraction above 1 from its series 2 artanh(z), exact to far more digits than a float has."""
    halvings = 0
    while ratio > Fraction(4, 3):
        ratio, halvings = ratio / 2, halvings + 1
    ln2 = _artanh_series(Fraction(1, 3))
    return float(_artanh_series((ratio - 1) / (ratio + 1)) + halvings * ln2)


def _artanh_series(z: Fraction) -> Fraction:
    digits = 10**60
    scaled, square = int(z * digits), z * z
    total, power, odd = 0, Fraction(scaled, digits), 1
    while abs(power) > Fraction(1, 10**45):
        total += int(power * digits) // odd
        power, odd = Fraction(int(power * square * digits), digits), odd + 2
    return 2 * Fraction(total, digits)


def losses() -> list[Json]:
    channels = [rr(0, 1, 1), rr(1, 1, 1), rr(2, 1, 1), rr(1, 5, 1, 9), rr(1, 2**40, 2**40), rr(2**52, 1, 1)]
    channels += [rr(3, 10**9, 10**9), rr(2**53 - 2, 1, 1), rr(1, 2**52, 2**51)]
    for levels in (2, 3, 10, 100):
        for epsilon in (0.01, 0.1, 0.5, 1.0, 2.0, 4.0, 8.0):
            channels.append(wire_of(RandomizedResponse.k_ary(levels=levels, epsilon=epsilon)).to_dict())
    cases = [(channel, len(channel["fake"])) for channel in channels]
    cases += [(channel, 5) for channel in COARSE.values()]
    for levels in (2, 7, 100):
        for epsilon in (0.01, 0.5, 1.0, 4.0):
            cases += [(wire_of(channel).to_dict(), levels) for channel in oracles(levels, epsilon)]
    cases += [(wire_of(geometric_channel(levels=7, epsilon=epsilon)).to_dict(), 7) for epsilon in (0.1, 1.0, 4.0)]
    extremes = [
        {"kind": "unary", "on": 2**52 + 1, "off": 2**52, "bits": 53},  # the least loss
        {"kind": "unary", "on": 2**53 - 1, "off": 1, "bits": 53},  # the largest
        {"kind": "unary", "on": 2, "off": 1, "bits": 53},
        {"kind": "hash", "cells": 2**20, "keep": 1, "fake": 2**32},
        {"kind": "hadamard", "keep": 2**53 - 2, "fake": 1},
    ]
    cases += [(channel, 5) for channel in extremes]
    cases += [
        ({"kind": "subset", "size": 1, "on": 2**52 + 1, "bits": 53}, 2),
        ({"kind": "subset", "size": 999, "on": 2**53 - 1, "bits": 53}, 1000),
        ({"kind": "subset", "size": 1, "on": 2**53 - 1, "bits": 53}, 2000),
        ({"kind": "matrix", "weights": [[2**52, 2**52 - 1, 1], [2**52 - 1, 2**52, 1]]}, 2),
        ({"kind": "matrix", "weights": [[7], [7]]}, 2),
    ]
    cases += [(channel, 5) for channel in LINE.values()]
    for levels in (2, 7, 100):
        for epsilon in (0.7, 1.0, 4.0):
            cases += [(channel, levels) for channel in fine_line(levels, epsilon).values()]
    cases += [
        ({"kind": "wave", "width": 1, "near": 2**52, "far": 1}, 2),
        (FOURIER, 16),
        (CHAIN, 12),
        *((chain(epsilon), 12) for epsilon in (0.1, 1.0, 4.0)),
        (CHAIN | {"keep": [[1], [1, 1, 1]], "fake": [[[2**50] * 6], [[2**50] * 2] * 3]}, 12),
        *((fourier(attributes, 2, epsilon), 2**attributes) for attributes in (2, 5) for epsilon in (0.1, 1.0, 4.0)),
        ({"kind": "wave", "width": 1, "near": 2, "far": 1}, 1000),
        ({"kind": "duchi", "least": 2**51, "step": 1, "points": [0, 1]}, 2),
        ({"kind": "duchi", "least": 1, "step": 2**51, "points": [1, 0, 2]}, 3),
        ({"kind": "piecewise", "width": 7, "near": 2**40 + 1, "far": 2**40, "points": [9, 0]}, 2),
    ]
    return [
        {"channel": channel, "cells": cells, "epsilon": series_log(ratio(channel, cells))} for channel, cells in cases
    ]


def oracles(levels: int, epsilon: float) -> list[Channel]:
    return [
        UnaryEncoding.optimised(levels=levels, epsilon=epsilon),
        UnaryEncoding.symmetric(levels=levels, epsilon=epsilon),
        LocalHashing.optimised(levels=levels, epsilon=epsilon),
        HadamardResponse.of(levels=levels, epsilon=epsilon),
        SubsetSelection.of(levels=levels, epsilon=epsilon),
    ]


# -- accept ----------------------------------------------------------------------------------------------


def changed(**members: Any) -> Json:
    return SMOKES | members


def shared(count: int) -> Json:
    """A question of several aggregators, of whom the first asks."""
    return changed(aggregators=["https://survey.example", *(f"https://{n}.example:8443" for n in range(1, count))])


FAR = ["https://a.example", "https://b.example"]


def wave(number: int = 1, campaign: str = "", **terms: Any) -> Json:
    """A question of a series in which devices answer in all of its three waves."""
    usual = {"id": "panel", "wave": number, "waves": 3, "turns": 3, "epsilon": 3.0}
    return changed(campaign=campaign or f"panel.{number}", series=usual | terms)


def in_series(**members: Any) -> Json:
    return changed(series=wave()["series"] | members)


def asking(*levels: Any, attribute: Any = "smokes") -> Json:
    return changed(asks=[{"attribute": attribute, "levels": list(levels)}])


def about(attribute: Any) -> Json:
    return changed(asks=[SMOKING | {"attribute": attribute}])


def accepts() -> list[Json]:
    hundred = calibrated(RandomizedResponse.k_ary(levels=100, epsilon=0.5), numbered(100), epsilon=0.5)
    sixteen = [ask(f"a{i}", "0", "1") for i in range(16)]
    good = {
        "plain": SMOKES,
        "an integer as promise": SMOKES | {"epsilon": 1},
        "a generous promise": SMOKES | {"epsilon": 2.5},
        "nothing is kept": question(rr(0, 1, 2), numbered(2), epsilon=1e-7),
        "a total of exactly 2**53": question(rr(2**52, 2**51, 2**51), numbered(2)),
        "a promise that is short by rounding only": question(
            rr(2, 1, 1), numbered(2), epsilon=math.log(3) * (1 - 2e-16)
        ),
        "other scripts": asking("нет", "時々", "🚬 ja", attribute="курение"),
        "quotes and slashes": asking("\\", "</script>", "'", attribute='he said "no"\\/'),
        "levels that differ in case": asking("polish", "Polish", "POLISH"),
        "letters, marks and signs of many scripts": asking(
            "می خواهم", "हाँ, रोज़", "e\u0301te\u0301", attribute="סיגריות؟"
        ),
        "a picture with a variation selector": about("\u2764\ufe0f?"),
        "spaces of several kinds": asking("はい\u3000毎日", "oui\u202f!", "non", attribute="ça va\u00a0?"),
        "200 characters beyond 16 bits": about("🚬" * 200),
        "identifiers of 64 characters": SMOKES | {"campaign": "a" * 64, "question": "0._-" * 16},
        "two aggregators": shared(2),
        "sixty-four aggregators": shared(64),
        "an aggregator by its address": changed(aggregators=["http://[2001:db8::1]:8642", "https://survey.example"]),
        "an attribute beside aggregators in the digest": shared(3) | {"question": "aggregators"},
        "a wave of a series": wave(),
        "the last of a thousand waves": wave(1000, waves=1000, turns=1000, epsilon=1000),
        "a series in an invited name, of aggregators": shared(2) | {"series": wave(2)["series"]},
        "one hundred levels": hundred,
        "two attributes": JOINT,
        "the names of one attribute are levels of another": JOINT
        | {"asks": [SMOKING, ask("never", "smokes", "daily")]},
        "sixteen attributes": calibrated(HadamardResponse.of(levels=2**16, epsilon=1.0), *sixteen, epsilon=1.0),
        "a column that is never sent": question(COARSE["matrix"], numbered(5)),
        "a report that is always the same": question(
            {"kind": "matrix", "weights": [[7], [7]]}, numbered(2), epsilon=0.1
        ),
    }
    for name, channel in fine(6).items():
        good[f"two attributes, {name}"] = question(channel, SMOKING, SEX, epsilon=1.0)
    for name, channel in fine_line(7).items():
        good[name] = question(channel, numbered(7, "age"), epsilon=1.0)
    good["chain"] = question(CHAIN, *CHAIN_ASKS)
    good["calibrated chain"] = question(chain(), *CHAIN_ASKS, epsilon=1.0)
    for order in (1, 2, 4):
        good[f"fourier of {order}"] = question(fourier(4, order), *BITS, epsilon=1.0)
    sixteen_bits = [ask(f"a{i}", "0", "1") for i in range(16)]
    good["fourier of sixteen attributes"] = question(fourier(16, 3), *sixteen_bits, epsilon=1.0)
    for name, channel in LINE.items():
        good[f"coarse {name}"] = question(channel, numbered(5, "age"))
    cases = []
    for name, asked in good.items():
        cells = math.prod(len(part["levels"]) for part in asked["asks"])
        cases.append(
            {
                "name": name,
                "question": asked,
                "value": {part["attribute"]: part["levels"][-1] for part in asked["asks"]},
                "digest": Question.from_dict(asked).digest,
                "loss": series_log(ratio(asked["channel"], cells)),
            }
        )
    for case in cases:
        if "series" in case["question"]:
            case["content"] = Question.from_dict(case["question"]).content
    plain, joint = cases[0], next(case for case in cases if case["name"] == "two attributes")
    cases.append(plain | {"name": "a respondent without a value", "value": None})
    cases.append(joint | {"name": "no value of one attribute", "value": joint["value"] | {"sex": None}})
    return cases


# -- refuse ----------------------------------------------------------------------------------------------


def channel(**members: Any) -> Json:
    return changed(channel=SMOKES["channel"] | members)


def without(name: str) -> Json:
    return {key: value for key, value in SMOKES.items() if key != name}


def edited(edit: Callable[[Json], None]) -> Json:
    asked = copy.deepcopy(SMOKES)
    edit(asked)
    return asked


def malformed() -> list[tuple[str, str, Any]]:
    fake = SMOKES["channel"]["fake"]
    return [
        ("not an object", "not-an-object", [1, 2]),
        ("nothing", "not-an-object", None),
        ("a later wire version", "wire-version", changed(wire=2)),
        ("a wire version in quotes", "wire-version", changed(wire="1")),
        ("true as wire version", "wire-version", changed(wire=True)),
        ("no wire version", "wire-version", without("wire")),
        ("no asks", "missing-member", without("asks")),
        ("no promise", "missing-member", without("epsilon")),
        ("an unknown member", "unknown-member", changed(callback="https://example.org")),
        ("one aggregator", "aggregators", shared(1)),
        ("sixty-five aggregators", "aggregators", shared(65)),
        ("no list of aggregators", "aggregators", changed(aggregators="https://survey.example")),
        ("null as aggregators", "aggregators", changed(aggregators=None)),
        ("an aggregator that is a number", "aggregators", changed(aggregators=["https://survey.example", 1])),
        ("an aggregator twice", "aggregators", changed(aggregators=["https://survey.example"] * 2)),
        ("an aggregator with a path", "aggregators", changed(aggregators=["https://survey.example", FAR[0] + "/x"])),
        (
            "an aggregator in capitals",
            "aggregators",
            changed(aggregators=["https://survey.example", "https://A.example"]),
        ),
        ("an aggregator with a space", "aggregators", changed(aggregators=["https://survey.example", FAR[0] + " "])),
        ("a key that is null", "key", changed(key=None)),
        ("a key that is too short", "key", changed(key="f" * 511)),
        ("a key that is too long", "key", changed(key="f" * 513)),
        ("a key in capitals", "key", changed(key="F" * 512)),
        ("an even key", "key", changed(key="f" * 511 + "e")),
        ("a key of fewer bits", "key", changed(key="7" + "f" * 511)),
        ("a series that is null", "series", changed(series=None)),
        ("a series that is a text", "series", changed(series="panel")),
        ("a series without a wave", "series", changed(series={"id": "panel", "waves": 3, "turns": 1, "epsilon": 1.0})),
        ("a series with another member", "series", in_series(round=1)),
        ("a series with a path as id", "series", in_series(id="a/b")),
        ("a series of one wave", "series", in_series(waves=1, turns=1)),
        ("a series of 1,001 waves", "series", in_series(waves=1001)),
        ("a wave beyond the last", "series", in_series(wave=4)),
        ("wave 0", "series", in_series(wave=0)),
        ("a wave in quotes", "series", in_series(wave="1")),
        ("true as a wave", "series", in_series(wave=True)),
        ("no turn", "series", in_series(turns=0)),
        ("more turns than waves", "series", in_series(turns=4)),
        ("half a turn", "series", in_series(turns=1.5)),
        ("a series that promises nothing", "series", in_series(epsilon=0)),
        ("a series that promises a text", "series", in_series(epsilon="3")),
        ("asks as an object", "asks-count", changed(asks=SMOKING)),
        ("an empty list of asks", "asks-count", changed(asks=[])),
        ("seventeen asks", "asks-count", changed(asks=[ask(f"a{i}", "0", "1") for i in range(17)])),
        ("an ask that is a text", "not-an-object", changed(asks=["smokes"])),
        ("an ask without an attribute", "missing-member", edited(lambda q: q["asks"][0].pop("attribute"))),
        ("an ask without levels", "missing-member", edited(lambda q: q["asks"][0].pop("levels"))),
        ("an unknown member of an ask", "unknown-member", changed(asks=[SMOKING | {"default": "never"}])),
        ("an unknown member of the channel", "unknown-member", channel(salt=7)),
        ("a channel without keep", "missing-member", edited(lambda q: q["channel"].pop("keep"))),
        ("a channel of another kind", "channel-kind", channel(kind="olh")),
        ("a kind in capitals", "channel-kind", channel(kind="RR")),
        ("a kind that every object has", "channel-kind", channel(kind="constructor")),
        ("a list as kind", "channel-kind", channel(kind=["rr"])),
        ("a channel without a kind", "channel-kind", edited(lambda q: q["channel"].pop("kind"))),
        ("a channel that is a list", "channel-kind", changed(channel=["rr", 1, [1, 1, 1]])),
        ("an empty campaign", "identifier", changed(campaign="")),
        ("a path as question", "identifier", changed(question="../q1")),
        ("a number as campaign", "identifier", changed(campaign=7)),
        ("a line break after an identifier", "identifier", changed(question="q1\n")),
        ("an identifier of 65 characters", "identifier", changed(campaign="a" * 65)),
        ("an empty attribute", "text", about("")),
        ("an attribute of 201 characters", "text", about("a" * 201)),
        ("a control character in a level", "text", asking("never", "some\u0007times", "daily")),
        ("half a surrogate pair", "text", asking("never", "\ud83d", "daily")),
        ("an empty level", "text", asking("never", "", "daily")),
        ("a number as level", "text", asking("never", 2, "daily")),
        ("no levels", "levels-count", asking()),
        ("one level", "levels-count", asking("never") | {"channel": {**SMOKES["channel"], "fake": [1]}}),
        ("levels as an object", "levels-count", changed(asks=[SMOKING | {"levels": {"0": "never", "1": "daily"}}])),
        ("one level of the second attribute", "levels-count", changed(asks=[SMOKING, ask("sex", "f")])),
        ("repeated levels", "levels-repeated", asking("never", "daily", "daily")),
        (
            "levels that look the same",
            "levels-repeated",
            asking("caf\u00e9", unicodedata.normalize("NFD", "caf\u00e9"), "tea"),
        ),
        ("an attribute twice", "attribute-repeated", JOINT | {"asks": [SMOKING, ask("smokes", "no", "yes")]}),
        (
            "an attribute twice as it is seen",
            "attribute-repeated",
            JOINT | {"asks": [SMOKING, SEX | {"attribute": "smokes "}]},
        ),
        ("too many cells", "cells-count", changed(asks=[numbered(102, name) for name in "abc"])),
        ("true as an integer", "weight", channel(keep=True)),
        ("true as a fake", "weight", channel(fake=[True, *fake[1:]])),
        ("a fraction as keep", "weight", channel(keep=2.5)),
        ("a fraction as a fake", "weight", channel(fake=[0.5, *fake[1:]])),
        ("a negative keep", "weight", channel(keep=-1)),
        ("a negative fake", "weight", channel(fake=[-5, *fake[1:]])),
        ("keep in quotes", "weight", channel(keep="3")),
        ("NaN in quotes", "weight", channel(fake=["NaN", *fake[1:]])),
        ("null as a fake", "weight", channel(fake=[None, *fake[1:]])),
        ("2**53 as one weight", "weight", channel(keep=TOP)),
        ("a weight that no double holds", "weight", channel(keep=TOP + 1)),
        ("too few fakes", "fake-count", channel(fake=fake[:2])),
        ("too many fakes", "fake-count", channel(fake=[*fake, 1])),
        ("fakes for one of two attributes", "fake-count", JOINT | {"channel": SMOKES["channel"]}),
        ("fakes as a text", "fake-count", channel(fake="111")),
        ("a level that is never faked", "fake-zero", channel(fake=[*fake[:2], 0])),
        ("a total of 2**53 + 1", "total", channel(keep=2**52, fake=[2**51, 2**51, 1])),
        ("a total far beyond 2**53", "total", channel(keep=TOP - 1, fake=[TOP - 1] * 3)),
        ("a promise of nothing", "promise", changed(epsilon=0)),
        ("a negative promise", "promise", changed(epsilon=-1.0)),
        ("a promise in quotes", "promise", changed(epsilon="1.0")),
        ("NaN as promise", "promise", changed(epsilon="NaN")),
        ("true as promise", "promise", changed(epsilon=True)),
        ("null as promise", "promise", changed(epsilon=None)),
        ("a promise beyond all sense", "promise", changed(epsilon=1e300)),
        ("a tiny fake", "loss-over-promise", channel(fake=[*fake[:2], 1])),
        ("a tiny fake for one of six cells", "loss-over-promise", JOINT | {"channel": rr(2**40, *[2**40] * 5, 2**20)}),
        ("a loss just over the promise", "loss-over-promise", changed(epsilon=0.999999)),
        (
            "the loss that ln(1/(1-p)) claims",
            "loss-over-promise",
            question(rr(2, 1, 1), numbered(2), epsilon=math.log(2)),
        ),
    ]


def malformed_channels() -> list[tuple[str, str, Any]]:
    """Kinds beside rr, for five cells and a promise of 8."""
    table = COARSE["matrix"]["weights"]

    def with_row(row: list[Any]) -> list[list[Any]]:
        return [row, *table[1:]]

    wrong: list[tuple[str, str, str, Json]] = [
        ("unary, off is 0", "off-zero", "unary", {"off": 0}),
        ("unary, on is off", "threshold", "unary", {"on": 2}),
        ("unary, on below off", "threshold", "unary", {"on": 1}),
        ("unary, on is certain", "threshold", "unary", {"on": 8}),
        ("unary, on beyond certain", "threshold", "unary", {"on": 9}),
        ("unary, a fraction as on", "weight", "unary", {"on": 4.5}),
        ("unary, a negative off", "weight", "unary", {"off": -1}),
        ("unary, no bits", "bits", "unary", {"bits": 0}),
        ("unary, 54 bits", "bits", "unary", {"bits": 54}),
        ("unary, true as bits", "bits", "unary", {"bits": True}),
        ("unary, a tiny off", "loss-over-promise", "unary", {"on": 2**52, "off": 1, "bits": 53}),
        ("hash to one cell", "hash-cells", "hash", {"cells": 1}),
        ("hash to no cell", "hash-cells", "hash", {"cells": 0}),
        ("hash to more than 2**20 cells", "hash-cells", "hash", {"cells": 2**20 + 1}),
        ("hash to cells in quotes", "hash-cells", "hash", {"cells": "3"}),
        ("hash, a list of fakes", "weight", "hash", {"fake": [2, 2, 2]}),
        ("hash, nothing is faked", "fake-zero", "hash", {"fake": 0}),
        ("hash, a negative keep", "weight", "hash", {"keep": -4}),
        ("hash, a total beyond 2**53", "total", "hash", {"cells": 2**20, "fake": 2**33}),
        ("hash, a total of 2**53 + 1", "total", "hash", {"cells": 2, "keep": 2**52 + 1, "fake": 2**51}),
        ("hash, a tiny fake", "loss-over-promise", "hash", {"keep": 2**50, "fake": 1}),
        ("hadamard, nothing is faked", "fake-zero", "hadamard", {"fake": 0}),
        ("hadamard, nothing is kept", "threshold", "hadamard", {"keep": 0}),
        ("hadamard, null as keep", "weight", "hadamard", {"keep": None}),
        ("hadamard, a total beyond 2**53", "total", "hadamard", {"keep": 1, "fake": 2**52}),
        ("hadamard, a tiny fake", "loss-over-promise", "hadamard", {"keep": 2**50, "fake": 1}),
        ("subset of nothing", "size", "subset", {"size": 0}),
        ("subset of everything", "size", "subset", {"size": 5}),
        ("subset of more than everything", "size", "subset", {"size": 6}),
        ("subset, a negative size", "size", "subset", {"size": -1}),
        ("subset, a fraction as size", "size", "subset", {"size": 1.5}),
        ("subset, no bits", "bits", "subset", {"bits": 0}),
        ("subset, on just below chance", "threshold", "subset", {"on": 3}),
        ("subset, the truth is never in it", "threshold", "subset", {"on": 0}),
        ("subset, on is certain", "threshold", "subset", {"on": 8}),
        ("subset, on in quotes", "weight", "subset", {"on": "5"}),
        ("subset, nearly certain", "loss-over-promise", "subset", {"on": 2**53 - 1, "bits": 53}),
        ("matrix as a text", "weights-count", "matrix", {"weights": "[[1]]"}),
        ("matrix of numbers", "weights-count", "matrix", {"weights": [1, 2, 3, 4, 5]}),
        ("matrix without a row for each cell", "weights-count", "matrix", {"weights": table[:4]}),
        ("matrix with a row too many", "weights-count", "matrix", {"weights": [*table, table[0]]}),
        ("matrix with a short row", "weights-count", "matrix", {"weights": with_row([5, 5])}),
        ("matrix of empty rows", "weights-count", "matrix", {"weights": [[]] * 5}),
        ("matrix with a fraction", "weight", "matrix", {"weights": with_row([5, 0, 3.5, 1.5])}),
        ("matrix with a negative weight", "weight", "matrix", {"weights": with_row([5, 0, 6, -1])}),
        ("matrix with true", "weight", "matrix", {"weights": with_row([6, 0, 3, True])}),
        ("matrix with rows of two sums", "total", "matrix", {"weights": with_row([5, 0, 3, 3])}),
        ("matrix of zeros", "total", "matrix", {"weights": [[0, 0]] * 5}),
        ("matrix beyond 2**53", "total", "matrix", {"weights": [[2**52, 2**52, 1]] * 5}),
        ("matrix far beyond 2**53", "total", "matrix", {"weights": [[TOP - 1] * 4] * 5}),
        ("matrix with a zero beside a positive", "weight-zero", "matrix", {"weights": with_row([5, 0, 5, 0])}),
        ("matrix with a positive beside zeros", "weight-zero", "matrix", {"weights": with_row([4, 1, 3, 2])}),
        (
            "matrix with a tiny weight",
            "loss-over-promise",
            "matrix",
            {"weights": [[10**6 - 1, 1], *[[1, 10**6 - 1]] * 4]},
        ),
        ("unary with a member of rr", "unknown-member", "unary", {"keep": 1}),
        ("wave without a width", "width", "wave", {"width": 0}),
        ("wave, a width beyond all reports", "width", "wave", {"width": 2**20 - 3}),
        ("wave, a width in quotes", "width", "wave", {"width": "3"}),
        ("wave, a fraction as near", "weight", "wave", {"near": 5.5}),
        ("wave, far is 0", "fake-zero", "wave", {"far": 0}),
        ("wave, near is far", "threshold", "wave", {"near": 2}),
        ("wave, near below far", "threshold", "wave", {"near": 1}),
        ("wave, a total beyond 2**53", "total", "wave", {"width": 2, "near": 2**52, "far": 1}),
        ("wave, a tiny far", "loss-over-promise", "wave", {"near": 2**50, "far": 1}),
    ]
    for kind in ("duchi", "piecewise", "hybrid"):
        for name, points in (
            ("points as a text", "01347"),
            ("too few points", [0, 1, 3, 7]),
            ("too many points", [0, 1, 3, 4, 7, 8]),
            ("no point is 0", [1, 2, 3, 4, 7]),
            ("all points are 0", [0, 0, 0, 0, 0]),
            ("a negative point", [0, -1, 3, 4, 7]),
            ("a fraction as a point", [0, 0.5, 3, 4, 7]),
            ("a point beyond 2**20", [0, 1, 3, 4, 2**20]),
            ("null as a point", [0, None, 3, 4, 7]),
        ):
            wrong.append((f"{kind}, {name}", "points", kind, {"points": points}))
    for kind in ("duchi", "hybrid"):
        wrong += [
            (f"{kind}, least is 0", "fake-zero", kind, {"least": 0}),
            (f"{kind}, a negative step", "weight", kind, {"step": -1}),
            (f"{kind}, step is 0", "threshold", kind, {"step": 0}),
            (f"{kind}, a coin beyond 2**53", "total", kind, {"least": 2**52, "step": 1}),
            (f"{kind}, a tiny least", "loss-over-promise", kind, {"least": 1, "step": 2**40}),
        ]
    for kind in ("piecewise", "hybrid"):
        wrong += [
            (f"{kind} without a width", "width", kind, {"width": 0}),
            (f"{kind}, null as near", "weight", kind, {"near": None}),
            (f"{kind}, far is 0", "fake-zero", kind, {"far": 0}),
            (f"{kind}, near is far", "threshold", kind, {"near": 2}),
            (f"{kind}, a window beyond 2**53", "total", kind, {"near": 2**52}),
            (f"{kind}, a tiny far", "loss-over-promise", kind, {"near": 2**40, "far": 1}),
        ]
    wrong += [
        ("hybrid, no bits", "bits", "hybrid", {"bits": 0}),
        ("hybrid, mix is certain", "threshold", "hybrid", {"mix": 8}),
        ("hybrid, mix is 0", "threshold", "hybrid", {"mix": 0}),
        ("hybrid, a fraction as mix", "weight", "hybrid", {"mix": 1.5}),
    ]
    every = COARSE | LINE
    cases: list[tuple[str, str, Any]] = [
        (name, reason, question(every[kind] | members, numbered(5), epsilon=8.0))
        for name, reason, kind, members in wrong
    ]
    for name, reason, members in (
        ("an order of 0", "order", {"order": 0}),
        ("an order beyond the attributes", "order", {"order": 5}),
        ("an order in quotes", "order", {"order": "2"}),
        ("nothing is faked", "fake-zero", {"fake": 0}),
        ("nothing is kept", "threshold", {"keep": 0}),
        ("a total beyond 2**53", "total", {"keep": 1, "fake": 2**52}),
        ("a fraction as keep", "weight", {"keep": 1.5}),
        ("a tiny fake", "loss-over-promise", {"keep": 2**50, "fake": 1}),
        ("a member of rr", "unknown-member", {"size": 1}),
    ):
        cases.append((f"fourier, {name}", reason, question(FOURIER | members, *BITS, epsilon=8.0)))
    for name, reason, members in (
        ("sizes of other cells", "segments", {"sizes": [2, 3, 3]}),
        ("a size of 1", "segments", {"sizes": [1, 12, 1]}),
        ("sizes as a text", "segments", {"sizes": "232"}),
        ("no segment", "segments", {"new": [], "given": [], "keep": [], "fake": []}),
        ("an attribute twice", "segments", {"new": [[0, 1], [1]]}),
        ("an attribute is missing", "segments", {"new": [[0, 1], [0]]}),
        ("an attribute beyond the last", "segments", {"new": [[0, 1], [3]]}),
        ("an attribute before the first", "segments", {"new": [[0, 1], [-1]]}),
        ("a segment that adds nothing", "segments", {"new": [[0, 1], []]}),
        ("given what comes later", "segments", {"given": [[2], [1]]}),
        ("given itself", "segments", {"given": [[], [2]]}),
        ("one list of given", "segments", {"given": [[]]}),
        ("numbers as new", "segments", {"new": [0, 1]}),
        ("too few keeps", "segments", {"keep": [[4], [3, 1]]}),
        ("too few fakes", "segments", {"fake": [[[2, 1, 3, 1, 2]], [[1, 2], [3, 1], [2, 2]]]}),
        ("fakes in two layers", "segments", {"fake": [[2, 1, 3, 1, 2, 1], [1, 2]]}),
        ("a negative keep", "weight", {"keep": [[-1], [3, 1, 2]]}),
        ("a fake of 0", "fake-zero", {"fake": [[[2, 1, 3, 1, 2, 1]], [[1, 2], [3, 0], [2, 2]]]}),
        ("a fraction as a fake", "weight", {"fake": [[[2, 1, 3, 1, 2, 1.5]], [[1, 2], [3, 1], [2, 2]]]}),
        ("a total beyond 2**53", "total", {"keep": [[TOP - 1], [3, 1, 2]]}),
        ("a tiny fake", "loss-over-promise", {"keep": [[10**6], [3, 1, 2]]}),
        ("a member of rr", "unknown-member", {"size": 1}),
    ):
        cases.append((f"chain, {name}", reason, question(CHAIN | members, *CHAIN_ASKS, epsilon=8.0)))
    whole = question(CHAIN, *CHAIN_ASKS)["epsilon"]
    cases.append(
        ("chain, a promise of one segment", "loss-over-promise", question(CHAIN, *CHAIN_ASKS, epsilon=whole * 0.999))
    )
    cases.append(("fourier, cells that are no bits", "order", question(FOURIER, numbered(5), epsilon=8.0)))
    for kind, members in every.items():
        lacking = dict(list(members.items())[:-1])
        cases.append((f"{kind}, a member is missing", "missing-member", question(lacking, numbered(5), epsilon=8.0)))
    for name, members in (fine(5) | fine_line(5)).items():
        short = question(members, numbered(5), epsilon=0.999)
        cases.append((f"{name}, a loss just over the promise", "loss-over-promise", short))
    return cases


def refuse_case(name: str, reason: str, asked: Any, **rest: Any) -> Json:
    usual = {"value": "never", "limits": {"total": 4.0, "question": 2.0}, "before": []}
    return {"name": name, "reason": reason, "question": asked} | usual | rest


def refuses() -> list[Json]:
    cases = [refuse_case(name, reason, asked) for name, reason, asked in malformed() + malformed_channels()]
    first = [{"question": SMOKES, "value": "daily"}]
    two = [*first, {"question": changed(campaign="travel-2026"), "value": "daily"}]
    sex = question(fine(2)["hadamard"], SEX, epsilon=1.0) | {"question": "q2"}
    other = question(rr(5, 7, 7, 7), SMOKING, epsilon=1.0)
    waved = [{"question": wave(), "value": "daily"}]
    asked_later = wave(2) | {"channel": rr(5, 7, 7, 7)}
    tight = {"epsilon": 1.5}
    first_tight = [{"question": wave(1, **tight), "value": "daily"}]
    hashed = question(fine(3)["hash"], SMOKING, epsilon=1.0)
    cases += [
        refuse_case("a value that is no level", "value", SMOKES, value="often"),
        refuse_case("an index as value", "value", SMOKES, value=1),
        refuse_case("an empty object as value", "value", SMOKES, value={}),
        refuse_case("a list as value", "value", SMOKES, value=["never"]),
        refuse_case("a level in capitals", "value", SMOKES, value="NEVER"),
        refuse_case("a value without the attribute", "value", SMOKES, value={"drinks": "never"}),
        refuse_case("a value with an index", "value", SMOKES, value={"smokes": 0}),
        refuse_case("a value with one of two attributes", "value", JOINT, value={"smokes": "daily"}),
        refuse_case("a value with a level of the other attribute", "value", JOINT, value={"smokes": "f", "sex": "f"}),
        refuse_case("a text for two attributes", "value", JOINT, value="daily"),
        refuse_case(
            "a loss over the limit of one question",
            "loss-over-question-limit",
            SMOKES,
            limits={"total": 4.0, "question": 0.5},
        ),
        refuse_case("a loss over the budget", "budget-spent", SMOKES, limits={"total": 0.5, "question": 2.0}),
        refuse_case(
            "a budget that is spent",
            "budget-spent",
            changed(campaign="work-2026"),
            before=two,
            limits={"total": 2.5, "question": 2.0},
        ),
        refuse_case(
            "the same attribute again is a new charge",
            "budget-spent",
            changed(campaign="health-2027"),
            before=first,
            limits={"total": 1.5, "question": 2.0},
        ),
        refuse_case("an invited campaign without a token", "token", changed(key="f" * 512)),
        refuse_case("a campaign of other aggregators", "other-aggregator", shared(2) | {"aggregators": FAR}),
        refuse_case("another view of the same campaign", "campaign-answered", sex, value="f", before=first),
        refuse_case("a later block of the same campaign", "campaign-answered", changed(question="q1.2"), before=first),
        refuse_case("more waves than before", "series-changed", wave(2, waves=4), before=waved),
        refuse_case("fewer turns than before", "series-changed", wave(2, turns=2), before=waved),
        refuse_case("another promise of the series", "series-changed", wave(2, epsilon=4.0), before=waved),
        refuse_case("other weights in a later wave", "question-changed", asked_later, before=waved),
        refuse_case("a wave again as another campaign", "campaign-answered", wave(1, "panel.9"), before=waved),
        refuse_case("more than a series promises", "loss-over-series", wave(2, **tight), before=first_tight),
        refuse_case(
            "a wave that the budget does not allow",
            "budget-spent",
            wave(2),
            before=waved,
            limits={"total": 1.5, "question": 2.0},
        ),
        refuse_case("other weights under the same name", "question-changed", other, before=first),
        refuse_case("another kind under the same name", "question-changed", hashed, before=first),
        refuse_case("levels in another order", "question-changed", asking("daily", "sometimes", "never"), before=first),
        refuse_case(
            "attributes in another order",
            "question-changed",
            JOINT | {"asks": [SEX, SMOKING]},
            value=JOINT_VALUE,
            before=[{"question": JOINT, "value": JOINT_VALUE}],
        ),
        refuse_case("one attribute more", "question-changed", JOINT, value=JOINT_VALUE, before=first),
        refuse_case("another attribute", "question-changed", about("drinks"), value={"drinks": "never"}, before=first),
        refuse_case("another promise", "question-changed", changed(epsilon=1.5), before=first),
    ]
    return cases


# -- sheet: several questions together -------------------------------------------------------------------------


def sheets() -> list[Json]:
    sex = question(fine(2)["hadamard"], SEX, epsilon=1.0) | {"question": "q2"}
    drinks = question(fine(3)["subset"], SMOKING | {"attribute": "drinks"}, epsilon=1.0) | {"question": "q3"}
    values = {"smokes": "daily", "sex": "f", "drinks": "never", "age": "not asked"}
    first = [{"question": SMOKES, "value": "daily"}]

    def case(name: str, reason: str | None, questions: Any, **rest: Any) -> Json:
        usual = {"values": values, "limits": {"total": 4.0, "question": 2.0}, "before": []}
        return {"name": name, "reason": reason, "questions": questions} | usual | rest

    elsewhere = [{"question": changed(campaign="travel-2026"), "value": "daily"}]
    tight = {"total": 2.5, "question": 2.0}
    return [
        case("one question", None, [SMOKES]),
        case("three questions", None, [SMOKES, sex, drinks]),
        case("one of two is answered already", "campaign-answered", [SMOKES, sex], before=first),
        case("the sheet is answered already", None, [SMOKES], before=first, limits={"total": 1.5, "question": 2.0}),
        case("no question", "sheet", []),
        case("one question without a list", "sheet", SMOKES),
        case("a wave", None, [wave(), sex | {"campaign": "panel.1", "series": wave()["series"]}]),
        case("a question of a wave beside one of none", "sheet", [wave(), sex | {"campaign": "panel.1"}]),
        case(
            "two promises of one series",
            "sheet",
            [wave(), sex | {"campaign": "panel.1", "series": wave(epsilon=2.5)["series"]}],
        ),
        case(
            "the sum is over the promise of the series",
            "loss-over-series",
            [wave(epsilon=1.5), sex | {"campaign": "panel.1", "series": wave(epsilon=1.5)["series"]}],
        ),
        case("two campaigns", "sheet", [SMOKES, sex | {"campaign": "another"}]),
        case("aggregators of one question only", "sheet", [SMOKES, sex | {"aggregators": shared(2)["aggregators"]}]),
        case("other aggregators", "sheet", [shared(2), sex | {"aggregators": shared(3)["aggregators"]}]),
        case("one identifier of two questions", "sheet", [SMOKES, sex | {"question": SMOKES["question"]}]),
        case("a question that is not one", "not-an-object", [SMOKES, None]),
        case("a bad question behind a good one", "fake-zero", [sex, channel(fake=[1, 1, 0])]),
        case("an attribute in two questions", "attribute-repeated", [SMOKES, changed(question="q4")]),
        case("the same question twice", "attribute-repeated", [SMOKES, SMOKES]),
        case("an attribute twice as it is seen", "attribute-repeated", [SMOKES, about("smokes ") | {"question": "q4"}]),
        case("an attribute of a joint question again", "attribute-repeated", [JOINT, sex]),
        case("no value for the second question", "value", [SMOKES, sex], values={"smokes": "daily"}),
        case("a text as values", "value", [SMOKES], values="daily"),
        case("a question that has changed", "question-changed", [sex, changed(epsilon=1.5)], before=first),
        case(
            "one loss over the limit", "loss-over-question-limit", [SMOKES, sex], limits={"total": 4.0, "question": 0.5}
        ),
        case("the sum is over the budget", "budget-spent", [SMOKES, sex, drinks], limits=tight),
        case("the rest is over the budget", "budget-spent", [SMOKES, sex], before=elsewhere, limits=tight),
    ]


# -- text: what only a client that knows Unicode can refuse ---------------------------------------------------

HIDDEN = {
    "a zero-width space": "\u200b",
    "a zero-width joiner": "\u200d",
    "a zero-width non-joiner": "\u200c",
    "a soft hyphen": "\u00ad",
    "an override of direction": "\u202e",
    "an isolate": "\u2066",
    "a tag": "\U000e0041",
    "a byte order mark": "\ufeff",
    "a line separator": "\u2028",
    "a paragraph separator": "\u2029",
    "a private character": "\ue000",
    "a code point that is no character": "\ufdd0",
    "a code point without a character": "\u0378",
}
ALIKE = {
    "a space at the end": "never ",
    "width": "\uff4e\uff45\uff56\uff45\uff52",
    "the kind of letter": "\U0001d427ever",
    "a variation selector": "never\ufe0f",
    "a filler": "never\u3164",
    "a grapheme joiner": "n\u034fever",
    "a braille blank": "never\u2800",
}


def texts() -> list[Json]:
    asked = {f"{what} in a level": asking("never", f"some{c}times", "daily") for what, c in HIDDEN.items()}
    asked |= {
        "an attribute that is turned around": about("do you \u202eekoms\u202c?"),
        "a level of spaces": asking("never", " \u00a0", "daily"),
        "a level that shows nothing": asking("never", "\u3164", "daily"),
    }
    alike = {f"levels that differ in {what}": asking("never", level, "no") for what, level in ALIKE.items()}
    cases = [refuse_case(name, "text", question) for name, question in asked.items()]
    return cases + [refuse_case(name, "levels-repeated", question) for name, question in alike.items()]


# -- lot: the waves of a series in which a device answers ---------------------------------------------------------


def lot_case(name: str, waves: int, turns: int, tops: list[int]) -> Json:
    """Waves drawn one after the other: each with probability (turns left) / (waves left)."""
    words = Words([top << 11 for top in tops])
    drawn: list[int] = []
    for left in range(waves, 0, -1):
        if words.die(left) < turns - len(drawn):
            drawn.append(waves - left + 1)
    listed = [(top << 11).to_bytes(8, "little").hex() for top in tops]
    return {"name": name, "waves": waves, "turns": turns, "words": listed, "drawn": drawn, "consumed": words.used}


def lots() -> list[Json]:
    chance = random.Random(7)
    cases = [
        lot_case("the first wave", 3, 1, [0, 0, 0]),
        lot_case("the last wave", 3, 1, [2, 1, 0]),
        lot_case("all waves", 4, 4, [3, 2, 1, 0]),
        lot_case("words that are passed over", 3, 2, [TOP - 1, TOP - 2, 1, 1, 0]),
    ]
    for number in range(20):
        waves = chance.randint(2, 24)
        tops = [chance.randrange(TOP) for _ in range(waves + 5)]
        cases.append(lot_case(f"by chance {number}", waves, chance.randint(1, waves), tops))
    return cases


def files() -> dict[str, str]:
    drawn = rr_draws() + kind_edges() + kind_draws() + line_draws() + fourier_draws() + chain_draws()
    parts = {"draw": drawn, "loss": losses(), "accept": accepts(), "refuse": refuses()}
    parts |= {"sheet": sheets(), "text": texts(), "lot": lots()}
    return {f"{name}.json": json.dumps(cases, indent=1) + "\n" for name, cases in parts.items()}


def main(arguments: list[str]) -> int:
    wanted = files()
    if "--check" not in arguments:
        HERE.mkdir(parents=True, exist_ok=True)
        for name, text in wanted.items():
            (HERE / name).write_text(text, encoding="utf-8")
        return 0
    drifted = [n for n, text in wanted.items() if not (HERE / n).is_file() or (HERE / n).read_text("utf-8") != text]
    for name in drifted:
        print(f"spec/vectors/{name} is not what tools/gen_vectors.py writes; run it", file=sys.stderr)
    return bool(drifted)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
