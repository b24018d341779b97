"""Series of waves: the law of the whole transcript, the lot, and services that break what they promised."""

import itertools
import json
import math
import os
import random
from collections import Counter, defaultdict
from contextlib import contextmanager, suppress
from fractions import Fraction
from functools import cached_property

import pytest

from tacita.collect.device.device import Device
from tacita.collect.device.ledger import OpenLedger
from tacita.collect.device.question import Question, Refusal
from tacita.collect.device.series import Series, draw_turns

LEVELS = ["no", "yes"]
SERVICE = "https://survey.example"
KEEP, FAKE = 1, [1, 1]
ONE = Fraction(KEEP + 1, 1)
"""The most that one report changes the odds."""


def wave(number, waves=3, turns=1, epsilon=None, campaign=None, **members):
    epsilon = turns * math.log(ONE) * (1 + 1e-13) if epsilon is None else epsilon
    channel = {"kind": "rr", "keep": KEEP, "fake": FAKE}
    data = {"wire": 1, "campaign": campaign or f"panel.{number}", "question": "q1", "channel": channel}
    data |= {"asks": [{"attribute": "ill", "levels": LEVELS}], "epsilon": math.log(2) * (1 + 1e-13)}
    series = {"id": "panel", "wave": number, "waves": waves, "turns": turns, "epsilon": epsilon}
    return data | {"series": series} | members


@pytest.fixture
def make(tmp_path):
    paths = (tmp_path / f"{number}.json" for number in itertools.count())

    def device(path=None, service="https://survey.example", total=4.0):
        return Device(
            service=service, ledger_path=path or next(paths), limit_total_epsilon=total, limit_question_epsilon=2.0
        )

    return device


def refused(reason, call, *given):
    with pytest.raises(Refusal) as caught:
        call(*given)
    assert caught.value.reason == reason
    return caught.value


# -- the law of the whole transcript ---------------------------------------------------------------------------------


class Dice:
    """Dice whose falls are listed; beyond the list they fall on 0, and their sides are noted."""

    def __init__(self, falls):
        self.falls, self.sides = falls, []

    def below(self, total, _words):
        self.sides.append(total)
        place = len(self.sides) - 1
        return (self.falls[place] if place < len(self.falls) else 0), 1


def law_of(transcript, monkeypatch):
    """The exact law of what a function of dice returns, by going through all falls of all dice."""
    law, open_paths = defaultdict(Fraction), [()]
    while open_paths:
        falls = open_paths.pop()
        dice = Dice(falls)
        for module in ("draw", "device", "series"):
            monkeypatch.setattr(f"tacita.collect.device.{module}.below", dice.below)
        found = transcript()
        if len(dice.sides) > len(falls):
            open_paths += [(*falls, fall) for fall in range(dice.sides[len(falls)])]
        else:
            law[found] += Fraction(1, math.prod(dice.sides))
    assert sum(law.values()) == 1
    return law


def worst_ratio(laws):
    """The largest ratio of the probabilities of one transcript; infinite where one of them is 0."""
    transcripts = {seen for law in laws for seen in law}
    spans = [(min(law[seen] for law in laws), max(law[seen] for law in laws)) for seen in transcripts]
    return max(math.inf if least == 0 else most / least for least, most in spans)


def all_waves(device, history, turns):
    """What a service sees of one device in all waves: an answer, or none."""
    seen = []
    for number, value in enumerate(history, 1):
        try:
            report, _ = device.answer(wave(number, len(history), turns), value)
            seen.append(report.answer)
        except Refusal as refusal:
            assert refusal.reason == "not-your-turn"  # noqa: PT017
            seen.append(None)
    return tuple(seen)


class Memory:
    """A ledger in memory: going through all dice takes thousands of devices."""

    def __init__(self):
        self.entries, self.lots = {}, []

    @contextmanager
    def open(self):
        yield OpenLedger(self.entries, self.lots, lambda *_: None)


@pytest.mark.parametrize(("waves", "turns"), [(2, 1), (2, 2), (3, 1)])
def test_the_whole_transcript_loses_what_the_series_promises(make, monkeypatch, waves, turns):
    """Exact: all histories of answers, with changes and without a value, and all falls of all dice of the device."""
    monkeypatch.setattr(Device, "_ledger", cached_property(lambda _device: Memory()))
    Device._ledger.__set_name__(Device, "_ledger")
    histories = itertools.product([*LEVELS, None] if turns == 1 else LEVELS, repeat=waves)
    laws = [law_of(lambda h=h: all_waves(make(), h, turns), monkeypatch) for h in histories]
    assert worst_ratio(laws) == ONE**turns
    assert all(sum(answer is not None for answer in seen) == turns for law in laws for seen in law)


def channel_law(truth):
    return {y: Fraction(FAKE[y] + KEEP * (y == truth), KEEP + sum(FAKE)) for y in range(len(FAKE))}


def resent(history):
    """Another design: a report for each distinct answer, sent again whenever the answer is that one."""
    law = defaultdict(Fraction)
    for table in itertools.product(range(len(FAKE)), repeat=len(FAKE)):
        chance = math.prod(channel_law(truth)[y] for truth, y in enumerate(table))
        law[tuple(table[truth] for truth in history)] += chance
    return law


def test_a_report_that_is_sent_again_while_the_answer_stays_reveals_a_change():
    """Why a series draws anew in each turn: two different reports prove that the answer has changed."""
    steady = [resent((0, 0)), resent((1, 1))]
    assert worst_ratio(steady) == ONE  # as long as nothing changes
    assert worst_ratio([resent((0, 0)), resent((0, 1))]) == math.inf
    assert worst_ratio([resent(history) for history in itertools.product((0, 1), repeat=2)]) == math.inf


def test_a_lot_that_looks_at_the_answer_is_caught():
    """Fails as it should: the first wave in which the answer is yes."""

    def chosen(history):
        turn = history.index(1) if 1 in history else len(history) - 1
        return {
            tuple(y if place == turn else None for place in range(len(history))): chance
            for y, chance in channel_law(history[turn]).items()
        }

    laws = [defaultdict(Fraction, chosen(history)) for history in itertools.product((0, 1), repeat=2)]
    assert worst_ratio(laws) == math.inf


# -- the lot ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("waves", "turns"), [(2, 1), (4, 2), (5, 5), (5, 1)])
def test_all_sets_of_waves_are_equally_likely(waves, turns):
    sets = Counter()
    for falls in itertools.product(*(range(waves - place) for place in range(waves))):
        drawn, used = draw_turns(waves, turns, iter([fall << 11 for fall in falls]))
        assert used == waves
        sets[drawn] += 1
    assert set(sets) == set(itertools.combinations(range(1, waves + 1), turns))
    assert len(set(sets.values())) == 1


def test_the_lot_is_drawn_once(make):
    device = make()
    for _ in range(3):
        turns = []
        for number in range(1, 11):
            try:
                device.review(wave(number, 10, 3, 3.0))
                turns.append(number)
            except Refusal as refusal:
                later = [other for other in turns_of(device) if other > number]
                hint = f"Its next turn is wave {later[0]}" if later else "It has no turn left"
                assert (refusal.reason, refusal.hint) == ("not-your-turn", hint)  # noqa: PT017
        assert turns == turns_of(device)
    assert device.remaining() == 4.0


def turns_of(device):
    (lot,) = json.loads(device.ledger_path.read_text("utf-8"))["series"]
    return lot["drawn"]


def test_who_misses_a_turn_does_not_get_another(make):
    device = make()
    refused_before = 0
    for number in range(6, 11):  # joins late
        try:
            device.answer(wave(number, 10, 5, 5.0), "yes")
        except Refusal:
            refused_before += 1
    assert 5 - refused_before == sum(drawn >= 6 for drawn in turns_of(device))


def test_a_report_of_a_wave_is_sent_again_and_costs_nothing(make):
    device = make()
    first = device.answer(wave(2, 3, 3), "yes")
    left = device.remaining()
    assert device.answer(wave(2, 3, 3), "no") == first
    assert device.remaining() == left == pytest.approx(4 - math.log(2))
    other, receipt = device.answer(wave(3, 3, 3), "yes")
    assert other.report != first[0].report
    assert receipt.loss == first[1].loss
    assert device.remaining() == pytest.approx(4 - 2 * math.log(2))


# -- services that do not keep what they promised --------------------------------------------------------------------


def test_terms_of_a_series_may_not_change(make):
    device = make()
    device.answer(wave(1, 3, 3), "yes")
    for members in ({"waves": 4}, {"turns": 2}, {"epsilon": 2.2}):
        other = wave(2, 3, 3)
        refused("series-changed", device.answer, other | {"series": other["series"] | members}, "yes")
    assert device.remaining() == pytest.approx(4 - math.log(2))


def test_terms_hold_from_the_lot_on(make):
    """A service that does not like a lot cannot have another one drawn by changing its terms."""
    device = make()
    device.review(wave(1, 3, 3))
    refused("series-changed", device.review, wave(1, 3, 2))


def test_a_wave_is_answered_once_whatever_the_campaign_is_called(make):
    device = make()
    device.answer(wave(1, 3, 3), "yes")
    refused("campaign-answered", device.answer, wave(1, 3, 3, campaign="again"), "yes")
    refused("campaign-answered", device.answer, wave(1, 3, 3, campaign="again", question="q2"), "yes")


def test_a_later_wave_may_not_ask_something_else_or_more(make):
    device = make()
    device.answer(wave(1, 3, 3), "yes")
    other = {"kind": "rr", "keep": 1, "fake": [1, 2]}
    refused("question-changed", device.answer, wave(2, 3, 3, channel=other), "yes")
    refused("question-changed", device.answer, wave(2, 3, 3, asks=[{"attribute": "well", "levels": LEVELS}]), "yes")
    dear = {"channel": {"kind": "rr", "keep": 4, "fake": FAKE}, "epsilon": 1.7, "question": "q2"}
    refused("loss-over-series", device.answer, wave(2, 3, 3) | dear, "yes")
    device.answer(wave(2, 3, 3), "no")


def test_another_series_or_service_is_another_charge_and_another_lot(make):
    device = make()
    device.answer(wave(1, 2, 2), "yes")
    second = wave(1, 2, 2, campaign="more")
    device.answer(second | {"series": second["series"] | {"id": "more"}}, "yes")
    elsewhere = make(device.ledger_path, service="https://other.example")
    elsewhere.answer(wave(1, 2, 2), "yes")
    assert elsewhere.remaining() == pytest.approx(4 - 3 * math.log(2))
    tight = make(device.ledger_path, total=3.5 * math.log(2))
    refused("budget-spent", tight.answer, wave(2, 2, 2), "yes")


def test_a_sheet_is_of_one_wave(make):
    two = wave(1, 3, 3, question="q2", asks=[{"attribute": "old", "levels": LEVELS}], epsilon=3.0)
    one = wave(1, 3, 3, epsilon=3.0)
    other = two | {"series": two["series"] | {"wave": 2}}
    values = {"ill": "yes", "old": "no"}
    refused("sheet", make().answer_sheet, [one, other], values)
    assert len(make().answer_sheet([one, two], values)) == 2
    refused(
        "loss-over-series", make().answer_sheet, [wave(1, 3, 1), wave(1, 3, 1, question="q2", asks=two["asks"])], values
    )


def test_the_statement_names_the_promise_of_all_waves(make):
    said = make().review(wave(2, 3, 3)).statement
    assert "wave 2 of 3 of the series 'panel'" in said
    assert "in 3 of them" in said
    assert "all its answers in all waves together lose at most 2.07944" in said


# -- the ledger ------------------------------------------------------------------------------------------------------


def test_a_lot_that_was_edited_is_noticed(make):
    device = make()
    device.review(wave(1, 3, 3))
    data = json.loads(device.ledger_path.read_text("utf-8"))
    data["series"][0]["turns"] = 2
    device.ledger_path.write_text(json.dumps(data), encoding="utf-8")
    refused("ledger-corrupt", device.review, wave(1, 3, 3))


def test_a_ledger_without_series_is_read(make):
    device = make()
    alone = {name: member for name, member in wave(1).items() if name != "series"}
    first = device.answer(alone, "yes")
    data = json.loads(device.ledger_path.read_text("utf-8"))
    assert set(data) == {"ledger", "check", "entries"}
    assert not {"series", "wave", "content"} & set(data["entries"][0])
    assert device.answer(alone, "no") == first
    refused("campaign-answered", device.answer, alone | {"series": wave(1)["series"]} | {"question": "q2"}, "yes")


def test_the_series_travels_and_is_in_the_digest():
    question = Question.from_dict(wave(2))
    assert question.series == Series(id="panel", wave=2, waves=3, turns=1, epsilon=wave(2)["series"]["epsilon"])
    assert Question.from_dict(question.to_dict()) == question
    other = Question.from_dict(wave(3, campaign="panel.2"))
    assert other.digest != question.digest
    assert other.content == question.content


# -- services that try everything ------------------------------------------------------------------------------------


class Crash(BaseException):
    """The process ends in the middle of writing."""


def hostile_sheet(rng):
    """Questions that a service might send: terms, names, aggregators and whole members vary at random."""
    waves = rng.choice([2, 4, 4, 4])
    turns, number, campaign = min(waves, rng.choice([1, 2, 2, 2])), rng.randint(1, waves), rng.choice(["", "", "panel"])
    asked = []
    for attribute in rng.choice([["ill"], ["ill", "old"], ["old", "ill"]]):
        question = wave(number, waves, turns, rng.choice([1.5, 1.5, 3.0]), campaign=campaign or None)
        question |= {"asks": [{"attribute": attribute, "levels": LEVELS}], "question": rng.choice([attribute, "q1"])}
        if rng.random() < 0.1:
            del question["series"]
        if rng.random() < 0.2:
            question["aggregators"] = [SERVICE, rng.choice(["https://a.example", "https://b.example"])]
        asked.append(question)
    return asked


@pytest.mark.parametrize("seed", [1, 3, 4, 6])
def test_no_service_gets_more_than_the_turns_and_the_promise(make, tmp_path, monkeypatch, seed):
    """Sheets at random, with crashes while the ledger is written: what leaves the device keeps to the first terms."""
    rng, ends, sent, left = random.Random(seed), [None], defaultdict(set), defaultdict(set)

    def move(source, target, move=os.replace):
        if ends[0] == "before":
            raise Crash
        move(source, target)
        if ends[0] == "after":
            raise Crash

    monkeypatch.setattr("tacita.collect.device.ledger.os.replace", move)
    monkeypatch.setattr("tacita.collect.device.ledger.os.fsync", lambda _file: None)  # the machine does not end
    for _ in range(60):
        sheet, ends[0] = hostile_sheet(rng), rng.choice([None, None, None, "before", "after"])
        with suppress(Refusal, Crash):
            given = make(tmp_path / "d.json", total=9.0).answer_sheet(sheet, {"ill": "yes", "old": "no"})
            for question, (report, _) in zip(sheet, given, strict=True):
                asker = " ".join(question.get("aggregators", [SERVICE]))
                sent[asker, report.campaign, report.question].add(report)
                if series := question.get("series"):
                    left[asker].add((series["wave"], report.campaign, series["turns"], series["epsilon"]))
    assert all(len(reports) == 1 for reports in sent.values())
    kept = json.loads((tmp_path / "d.json").read_text())
    for lot in kept["series"]:
        answered = left[lot["service"]]
        assert len({number for number, *_ in answered}) == len({pair[:2] for pair in answered}) <= lot["turns"]
        assert {pair[2:] for pair in answered} <= {(lot["turns"], lot["epsilon"])}
        losses = [
            entry["loss"] for entry in kept["entries"] if entry["service"] == lot["service"] and "series" in entry
        ]
        assert math.fsum(losses) <= lot["epsilon"] * (1 + 1e-12)
    assert len({lot["service"] for lot in kept["series"]}) == len(kept["series"])
