"""Write spec/vectors: what every client must draw, lose, accept and refuse.

    python tools/gen_vectors.py            writes the files
    python tools/gen_vectors.py --check    fails if they are not what this script writes

The expected draws come from a scan of the weights, written here without the package, so that an error of the
package does not become the specification.
"""

from __future__ import annotations

import copy
import json
import math
import random
import sys
import unicodedata
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

from tacita.collect.channel import RandomizedResponse
from tacita.collect.question import Question

HERE = Path(__file__).resolve().parent.parent / "spec" / "vectors"
TOP = 2**53
Json = dict[str, Any]


def question(keep: int, fake: list[int], *, epsilon: float | None = None, **members: Any) -> Json:
    promise = epsilon if epsilon is not None else math.log1p(keep / min(fake)) * (1 + 1e-13) or 0.1
    shape = {
        "wire": 1,
        "campaign": "health-2026",
        "question": "q1",
        "attribute": "smokes",
        "levels": [f"level {i}" for i in range(len(fake))],
        "channel": {"kind": "rr", "keep": keep, "fake": fake},
        "epsilon": promise,
    }
    return shape | members


def calibrated(levels: int, epsilon: float) -> Json:
    channel = RandomizedResponse.k_ary(levels=levels, epsilon=epsilon)
    return question(channel.keep, list(channel.fake), epsilon=epsilon)


SMOKES = calibrated(3, 1.0) | {"levels": ["never", "sometimes", "daily"]}


# -- draw ------------------------------------------------------------------------------------------------


def scanned(keep: int, fake: list[int], truth: int, words: list[int]) -> tuple[int, int]:
    """The draw, by walking over the weights one after the other."""
    total = keep + sum(fake)
    for used, word in enumerate(words, start=1):
        top = word // 2**11
        if top >= (TOP // total) * total:
            continue
        position = top % total
        if position < keep:
            return truth, used
        position -= keep
        for cell, weight in enumerate(fake):
            if position < weight:
                return cell, used
            position -= weight
    raise AssertionError("the listed words are all passed over")


def draw_case(name: str, keep: int, fake: list[int], truth: int, tops: list[int], *, low: int = 0) -> Json:
    words = [(top << 11) | low for top in tops]
    answer, used = scanned(keep, fake, truth, words)
    asked = question(keep, fake)
    return {
        "name": name,
        "question": asked,
        "value": asked["levels"][truth],
        "words": [word.to_bytes(8, "little").hex() for word in words],
        "answer": answer,
        "consumed": used,
    }


def boundary_cases(name: str, keep: int, fake: list[int], truth: int) -> list[Json]:
    """Both sides of every edge between two outcomes."""
    edges = [0, keep]
    for weight in fake:
        edges.append(edges[-1] + weight)
    total = edges[-1]
    spots = sorted({spot for edge in edges for spot in (edge - 1, edge) if 0 <= spot < total})
    return [draw_case(f"{name}, position {spot}", keep, fake, truth, [spot]) for spot in spots]


def draws() -> list[Json]:
    total = SMOKES["channel"]["keep"] + sum(SMOKES["channel"]["fake"])
    assert total < TOP, "the last word is passed over"
    cases = boundary_cases("coins", 2, [1, 1], 1) + boundary_cases("skewed", 5, [7, 1, 2], 0)
    cases += boundary_cases("calibrated", SMOKES["channel"]["keep"], SMOKES["channel"]["fake"], 2)
    cases += boundary_cases("half", 2**52, [2**20, 3], 1) + boundary_cases("nothing kept", 0, [1, 3], 0)
    edge = TOP - TOP % 10
    cases += [
        draw_case("the low 11 bits are not used", 2, [1, 1], 0, [3], low=2**11 - 1),
        draw_case("the word wraps around the total", 5, [3, 2], 1, [10 * 12345 + 6]),
        draw_case("the last word that counts", 5, [3, 2], 1, [edge - 1]),
        draw_case("the first word that is passed over", 5, [3, 2], 1, [edge, 7]),
        draw_case("several words are passed over", 5, [3, 2], 1, [TOP - 1, edge, TOP - 2, 9]),
        draw_case("nearly half of all words are passed over", 2**52, [1, 1], 0, [2**52 + 2, TOP - 1, 2**52 + 1]),
        draw_case("a total of 2**53 passes over nothing", 2**52, [2**51, 2**51], 0, [TOP - 1]),
    ]
    chance = random.Random(20260101)  # repeatable on purpose
    for number in range(40):
        levels = chance.choice([2, 3, 7, 50])
        fake = [chance.randrange(1, 2 ** chance.randrange(1, 46)) for _ in range(levels)]
        keep = chance.randrange(2 ** chance.randrange(1, 52))
        tops = [chance.randrange(TOP) for _ in range(80)]
        cases.append(draw_case(f"random {number}", keep, fake, chance.randrange(levels), tops))
        cases[-1]["words"] = cases[-1]["words"][: cases[-1]["consumed"]]
    return cases


# -- loss ------------------------------------------------------------------------------------------------


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
    channels = [(0, [1, 1]), (1, [1, 1]), (2, [1, 1]), (1, [5, 1, 9]), (1, [2**40, 2**40]), (2**52, [1, 1])]
    channels += [(3, [10**9, 10**9]), (2**53 - 2, [1, 1]), (1, [2**52, 2**51])]
    for levels in (2, 3, 10, 100):
        for epsilon in (0.01, 0.1, 0.5, 1.0, 2.0, 4.0, 8.0):
            channel = RandomizedResponse.k_ary(levels=levels, epsilon=epsilon)
            channels.append((channel.keep, list(channel.fake)))
    return [
        {
            "channel": {"kind": "rr", "keep": keep, "fake": fake},
            "epsilon": series_log(1 + Fraction(keep, min(fake))),
        }
        for keep, fake in channels
    ]


# -- accept ----------------------------------------------------------------------------------------------


def accepts() -> list[Json]:
    good = {
        "plain": SMOKES,
        "an integer as promise": SMOKES | {"epsilon": 1},
        "a generous promise": SMOKES | {"epsilon": 2.5},
        "nothing is kept": question(0, [1, 2], epsilon=1e-7),
        "a total of exactly 2**53": question(2**52, [2**51, 2**51]),
        "a promise that is short by rounding only": question(2, [1, 1], epsilon=math.log(3) * (1 - 2e-16)),
        "other scripts": SMOKES | {"attribute": "курение", "levels": ["нет", "時々", "🚬 ja"]},
        "quotes and slashes": SMOKES | {"attribute": 'he said "no"\\/', "levels": ["\\", "</script>", "'"]},
        "levels that differ in case": SMOKES | {"levels": ["polish", "Polish", "POLISH"]},
        "letters, marks and signs of many scripts": SMOKES
        | {"attribute": "סיגריות؟", "levels": ["می خواهم", "हाँ, रोज़", "e\u0301te\u0301"]},
        "a picture with a variation selector": SMOKES | {"attribute": "\u2764\ufe0f?"},
        "spaces of several kinds": SMOKES
        | {"attribute": "ça va\u00a0?", "levels": ["はい\u3000毎日", "oui\u202f!", "non"]},
        "200 characters beyond 16 bits": SMOKES | {"attribute": "🚬" * 200},
        "identifiers of 64 characters": SMOKES | {"campaign": "a" * 64, "question": "0._-" * 16},
        "one hundred levels": calibrated(100, 0.5),
    }
    cases = []
    for name, asked in good.items():
        read = Question.from_dict(asked)
        loss = series_log(1 + Fraction(read.keep, min(read.fake)))
        value = asked["levels"][-1]
        cases.append({"name": name, "question": asked, "value": value, "digest": read.digest, "loss": loss})
    return cases


# -- refuse ----------------------------------------------------------------------------------------------


def changed(**members: Any) -> Json:
    return SMOKES | members


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
        ("no attribute", "missing-member", without("attribute")),
        ("no promise", "missing-member", without("epsilon")),
        ("an unknown member", "unknown-member", changed(callback="https://example.org")),
        ("an unknown member of the channel", "unknown-member", channel(salt=7)),
        ("a channel without keep", "missing-member", edited(lambda q: q["channel"].pop("keep"))),
        ("a channel of another kind", "channel-kind", channel(kind="olh")),
        ("a channel without a kind", "channel-kind", edited(lambda q: q["channel"].pop("kind"))),
        ("a channel that is a list", "channel-kind", changed(channel=["rr", 1, [1, 1, 1]])),
        ("an empty campaign", "identifier", changed(campaign="")),
        ("a path as question", "identifier", changed(question="../q1")),
        ("a number as campaign", "identifier", changed(campaign=7)),
        ("a line break after an identifier", "identifier", changed(question="q1\n")),
        ("an identifier of 65 characters", "identifier", changed(campaign="a" * 65)),
        ("an empty attribute", "text", changed(attribute="")),
        ("an attribute of 201 characters", "text", changed(attribute="a" * 201)),
        ("a control character in a level", "text", changed(levels=["never", "some\u0007times", "daily"])),
        ("half a surrogate pair", "text", changed(levels=["never", "\ud83d", "daily"])),
        ("an empty level", "text", changed(levels=["never", "", "daily"])),
        ("a number as level", "text", changed(levels=["never", 2, "daily"])),
        ("no levels", "levels-count", changed(levels=[])),
        (
            "one level",
            "levels-count",
            changed(levels=["never"]) | {"channel": {**SMOKES["channel"], "fake": [1]}},
        ),
        ("levels as an object", "levels-count", changed(levels={"0": "never", "1": "daily"})),
        ("repeated levels", "levels-repeated", changed(levels=["never", "daily", "daily"])),
        (
            "levels that look the same",
            "levels-repeated",
            changed(levels=["caf\u00e9", unicodedata.normalize("NFD", "caf\u00e9"), "tea"]),
        ),
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
        ("a loss just over the promise", "loss-over-promise", changed(epsilon=0.999999)),
        ("the loss that ln(1/(1-p)) claims", "loss-over-promise", question(2, [1, 1], epsilon=math.log(2))),
    ]


def refuse_case(name: str, reason: str, asked: Any, **rest: Any) -> Json:
    usual = {"value": "never", "limits": {"total": 4.0, "question": 2.0}, "before": []}
    return {"name": name, "reason": reason, "question": asked} | usual | rest


def refuses() -> list[Json]:
    cases = [refuse_case(name, reason, asked) for name, reason, asked in malformed()]
    first = [{"question": SMOKES, "value": "daily"}]
    two = [*first, {"question": changed(question="q2"), "value": "daily"}]
    other = question(5, [7, 7, 7], epsilon=1.0, levels=SMOKES["levels"])
    cases += [
        refuse_case("a value that is no level", "value", SMOKES, value="often"),
        refuse_case("an index as value", "value", SMOKES, value=1),
        refuse_case("no value", "value", SMOKES, value=None),
        refuse_case("a level in capitals", "value", SMOKES, value="NEVER"),
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
            changed(question="q3"),
            before=two,
            limits={"total": 2.5, "question": 2.0},
        ),
        refuse_case(
            "the same attribute again is a new charge",
            "budget-spent",
            changed(question="q1-again"),
            before=first,
            limits={"total": 1.5, "question": 2.0},
        ),
        refuse_case("another channel under the same name", "question-changed", other, before=first),
        refuse_case(
            "levels in another order",
            "question-changed",
            changed(levels=["daily", "sometimes", "never"]),
            before=first,
        ),
        refuse_case("another attribute", "question-changed", changed(attribute="drinks"), before=first),
        refuse_case("another promise", "question-changed", changed(epsilon=1.5), before=first),
    ]
    return cases


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
}


def texts() -> list[Json]:
    asked = {f"{what} in a level": changed(levels=["never", f"some{c}times", "daily"]) for what, c in HIDDEN.items()}
    asked |= {
        "an attribute that is turned around": changed(attribute="do you \u202eekoms\u202c?"),
        "a level of spaces": changed(levels=["never", " \u00a0", "daily"]),
        "a level that shows nothing": changed(levels=["never", "\u3164", "daily"]),
    }
    alike = {f"levels that differ in {what}": changed(levels=["never", level, "no"]) for what, level in ALIKE.items()}
    cases = [refuse_case(name, "text", question) for name, question in asked.items()]
    return cases + [refuse_case(name, "levels-repeated", question) for name, question in alike.items()]


def files() -> dict[str, str]:
    parts = {"draw": draws(), "loss": losses(), "accept": accepts(), "refuse": refuses(), "text": texts()}
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
