"""The device: limits, ledger, one report for a question, and what happens when it is killed or raced."""

import json
import math
import os
import signal
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict

import pytest

from tacita.collect.device import ledger as device_ledger
from tacita.collect.device.channels import RR
from tacita.collect.device.device import Device
from tacita.collect.device.question import Ask, Question, Refusal
from tacita.errors import InvalidInput

LEVELS = ["never", "sometimes", "daily"]


SMOKES = {"attribute": "smokes", "levels": LEVELS}
SEX = {"attribute": "sex", "levels": ["f", "m"]}
VALUES = {"smokes": "daily", "sex": "m"}
KINDS = {
    "rr": {"kind": "rr", "keep": 2, "fake": [1] * 6},
    "unary": {"kind": "unary", "on": 5, "off": 2, "bits": 3},
    "hash": {"kind": "hash", "cells": 3, "keep": 4, "fake": 2},
    "hadamard": {"kind": "hadamard", "keep": 4, "fake": 3},
    "subset": {"kind": "subset", "size": 2, "on": 5, "bits": 3},
    "matrix": {"kind": "matrix", "weights": [[1 + x, 7 - x] for x in range(6)]},
    "wave": {"kind": "wave", "width": 3, "near": 3, "far": 1},
    "duchi": {"kind": "duchi", "least": 3, "step": 2, "points": [0, 1, 2, 4, 6, 7]},
    "piecewise": {"kind": "piecewise", "width": 3, "near": 3, "far": 1, "points": [0, 1, 2, 4, 6, 7]},
    "hybrid": {
        "kind": "hybrid", "mix": 1, "bits": 1, "least": 3, "step": 2, "width": 3, "near": 3, "far": 1,
        "points": [0, 1, 2, 4, 6, 7],
    },
}  # fmt: skip


def ask(question="q1", keep=2, fake=(1, 1, 1), epsilon=1.1, **members):
    channel = {"kind": "rr", "keep": keep, "fake": list(fake)}
    data = {"wire": 1, "campaign": "c", "question": question, "asks": [SMOKES]}
    return data | {"channel": channel, "epsilon": epsilon} | members


def joint(kind):
    return ask(asks=[SMOKES, SEX], channel=KINDS[kind], epsilon=3.0)


def sheet():
    return [ask(), ask("q2", asks=[SEX], fake=(1, 1))]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "ledger.json"


SERVICE = "https://survey.example"
ORIGINS = ("https://a.example", "https://b.example", "https://c.example")


def make(path, total=4.0, each=2.0, service=SERVICE):
    return Device(service=service, ledger_path=path, limit_total_epsilon=total, limit_question_epsilon=each)


def refused(call, *arguments):
    with pytest.raises(Refusal) as caught:
        call(*arguments)
    return caught.value.reason


# -- answering ---------------------------------------------------------------------------------------------


def test_a_report_holds_the_answer_and_nothing_else(path):
    report, receipt = make(path).answer(ask(), "daily")
    assert set(report.to_dict()) == {"wire", "campaign", "question", "report", "answer"}
    names = {"campaign", "question", "attributes", "loss", "answer", "sent", "report", "date", "digest", "service"}
    assert set(receipt.to_dict()) == names
    assert receipt.sent == (LEVELS[report.answer],)
    assert receipt.loss == pytest.approx(math.log(3))
    assert len(receipt.date) == len("2026-01-01")
    assert receipt.digest == Question.from_dict(ask()).digest


def test_the_same_question_gets_the_very_same_report_whatever_the_value(path):
    first = make(path).answer(ask(), "daily")
    for value in LEVELS:
        assert make(path).answer(json.dumps(ask()), value) == first
    assert make(path).remaining() == pytest.approx(4 - math.log(3))


def test_a_report_that_is_paid_for_comes_back_even_when_limits_were_lowered(path):
    first = make(path).answer(ask(), "daily")
    assert make(path, total=0.1, each=0.1).answer(ask(), "daily") == first


def test_neither_the_value_nor_the_coin_is_written(path):
    silent = ask(keep=0, fake=(2**50, 1, 1))
    make(path).answer(silent, "daily")
    text = path.read_text("utf-8")
    assert set(json.loads(text)["entries"][0]) == {
        "service", "campaign", "question", "attributes", "digest", "loss", "date", "report", "answer", "token",
    }  # fmt: skip
    assert "daily" not in text


def test_answers_follow_the_weights(tmp_path):
    counts = [0, 0, 0]
    for number in range(600):
        report, _ = make(tmp_path / str(number)).answer(ask(), "sometimes")
        counts[report.answer] += 1
    # 120, 360, 120 expected; seven standard deviations
    assert abs(counts[0] - 120) < 69
    assert abs(counts[1] - 360) < 84


def test_the_ledger_is_for_its_owner_only(path):
    make(path).answer(ask(), "daily")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_value_does_not_enter_the_message(path):
    with pytest.raises(Refusal) as caught:
        make(path).answer(ask(), "forty a day")
    assert "forty" not in str(caught.value.as_dict())


@pytest.mark.parametrize("name", ["limit_total_epsilon", "limit_question_epsilon"])
@pytest.mark.parametrize("limit", [0, -1, math.inf, math.nan, True, "1", None])
def test_limits_must_be_positive_and_finite(path, name, limit):
    limits = {"limit_total_epsilon": 1.0, "limit_question_epsilon": 1.0} | {name: limit}
    with pytest.raises(InvalidInput, match=name):
        Device(service=SERVICE, ledger_path=path, **limits)


def test_ten_tenths_fit_into_one(path):
    device = make(path, total=1.0)
    keep = math.floor(2**40 * math.expm1(0.1))
    for number in range(10):
        device.answer(ask(campaign=f"c{number}", keep=keep, fake=(2**40,) * 3, epsilon=0.1), "never")
    more = ask(campaign="c10", keep=keep, fake=(2**40,) * 3, epsilon=0.1)
    assert refused(device.answer, more, "never") == "budget-spent"


# -- every kind, and several questions together ------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_answered_once_and_kept(path, kind):
    first = report, receipt = make(path, each=3.0).answer(joint(kind), VALUES)
    report.check_answers(Question.from_dict(joint(kind)))
    assert (receipt.sent is None) == (kind != "rr")
    assert receipt.attributes == ("smokes", "sex")
    assert make(path, each=3.0).answer(joint(kind), {"smokes": "never", "sex": "f"}) == first
    text = path.read_text("utf-8")
    assert not any(word in text for word in ("daily", '"m"', "never"))
    assert report.to_dict() == json.loads(json.dumps(report.to_dict()))


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("rr", "With probability 0.25 it is your own; otherwise"),
        ("unary", "Yours is a yes with probability 0.625, each other one with probability 0.25."),
        ("hash", "into 3 groups, and the number of one group. With probability 0.4 it is the group of your own"),
        ("hadamard", "into two groups, and a bit that names one group. With probability 0.4 it is the group"),
        ("subset", "A set of 2 of these answers and a random number leave this device. Your own is in it with"
         " probability 0.625; by chance alone it would be with 0.333."),
        ("matrix", "One of 2 possible reports and a random number leave this device. With probability 0.375 it is drawn"
         " in the same way whatever your answer is"),
        ("wave", "One of 8 possible reports and a random number leave this device. With probability 0.571 it is drawn"),
        ("duchi", "One of 2 possible reports and a random number leave this device. With probability 0.3 it is drawn"),
        ("piecewise", "One of 10 possible reports and a random number leave this device. With probability 0.625 it"),
        ("hybrid", "One of 12 possible reports and a random number leave this device. With probability 0.463 it is"),
    ],
)  # fmt: skip
def test_a_review_says_what_each_kind_does(path, kind, words):
    offer = make(path, each=3.0).review(joint(kind))
    assert words in offer.statement
    assert "'smokes' and 'sex' together (6 possible answers)" in offer.statement
    assert math.log(offer.odds) == pytest.approx(offer.loss)
    assert f"factor of {offer.odds:.4g} at most (epsilon {offer.loss:.6g})" in offer.statement


def test_a_sheet_is_reviewed_as_a_whole(path):
    offer = make(path).review_sheet(sheet())
    assert offer.charge == offer.loss == pytest.approx(2 * math.log(3))
    assert [part.remaining for part in offer.offers] == [4.0, pytest.approx(4 - math.log(3))]
    for words in ("2 questions", "factor of 9 at most", "after all of them, 1.80278"):
        assert words in offer.statement
    assert not path.exists()
    make(path).answer_sheet(sheet(), VALUES)
    offer = make(path).review_sheet(sheet())
    assert offer.charge == 0.0
    assert offer.loss == pytest.approx(2 * math.log(3))


def test_a_device_answers_one_sheet_of_a_campaign(path):
    device = make(path)
    first = device.answer(ask(), "daily")
    left = device.remaining()
    for call in (device.review, lambda question: device.answer(question, None)):
        assert refused(call, sheet()[1]) == "campaign-answered"  # another view
        assert refused(call, ask("q1.2")) == "campaign-answered"  # a later block
    assert refused(device.answer_sheet, sheet(), VALUES) == "campaign-answered"  # a larger sheet
    assert (device.answer(ask(), "never"), device.remaining()) == (first, left)
    device.answer(ask(campaign="another"), "daily")


def test_no_service_learns_what_another_has_asked(path):
    here, there = make(path), make(path, service="https://other.example")
    first, receipt = here.answer(ask(), "daily")
    second, other = there.answer(ask(), "daily")
    assert first.report != second.report
    assert (receipt.service, other.service) == (SERVICE, "https://other.example")
    assert here.remaining() == there.remaining() == pytest.approx(4 - 2 * math.log(3))  # both are charged
    assert refused(here.answer, ask(epsilon=1.2), "daily") == "question-changed"
    there.review(ask(epsilon=1.1, campaign="c2"))
    assert here.answer(ask(), "never")[0] == first


def test_an_entry_of_an_earlier_version_counts_for_every_service(path):
    first, _ = make(path).answer(ask(), "daily")
    stored = json.loads(path.read_text())
    for entry in stored["entries"]:
        del entry["service"]
    stored["check"] = device_ledger._check(stored["entries"])
    path.write_text(json.dumps(stored))
    for service in (SERVICE, "https://other.example"):
        assert make(path, service=service).answer(ask(), "never")[0] == first
        assert refused(make(path, service=service).answer, ask("q2"), "never") == "campaign-answered"


@pytest.mark.parametrize("service", ["", "survey.example", "https://survey.example/c", "ftp://survey.example", None])
def test_a_service_is_an_origin(path, service):
    with pytest.raises(InvalidInput, match="service"):
        make(path, service=service)
    assert make(path, service="https://Survey.example/").service == SERVICE


def test_a_report_belongs_to_the_aggregator_that_asks(tmp_path):
    shared = ask(aggregators=list(ORIGINS))
    for number in range(30):
        place = number % 3
        device = make(tmp_path / str(number), service=ORIGINS[place])
        report, receipt = device.answer(shared, "daily")
        assert (int(report.report, 16) % 3, receipt.service) == (place, ORIGINS[place])


def test_aggregators_that_share_a_campaign_are_one_service(path):
    shared = ask(aggregators=list(ORIGINS))
    first, receipt = make(path, service=ORIGINS[1]).answer(shared, "daily")
    again, same = make(path, service=ORIGINS[0]).answer(shared, "never")
    assert (again, same) == (first, receipt)
    assert same.service == ORIGINS[1]  # the report stays with the aggregator that asked first
    more = ask("q2", aggregators=list(ORIGINS))
    assert refused(make(path, service=ORIGINS[2]).answer, more, "never") == "campaign-answered"
    assert refused(make(path).answer, shared, "never") == "other-aggregator"  # which is none of them


def test_a_sheet_gives_the_reports_that_its_questions_give(path):
    device = make(path)
    first, second = device.answer_sheet(sheet(), VALUES)
    assert first == device.answer(sheet()[0], "never")
    assert second == device.answer(sheet()[1], "f")
    assert device.answer_sheet(sheet()[::-1], VALUES) == [second, first]


def test_a_sheet_is_charged_whole_or_not_at_all(path):
    assert refused(make(path, total=2.0).answer_sheet, sheet(), VALUES) == "budget-spent"
    assert refused(make(path, total=2.0).review_sheet, sheet()) == "budget-spent"
    assert not path.exists()
    make(path, total=2.0).answer(sheet()[0], "daily")


def test_a_sheet_asks_for_each_attribute_once(path):
    again = [ask(), ask("q2")]
    assert refused(make(path).review_sheet, again) == "attribute-repeated"
    assert refused(make(path).answer_sheet, again, VALUES) == "attribute-repeated"
    assert refused(make(path).review_sheet, []) == "sheet"
    assert refused(make(path).review_sheet, [ask(), ask("q2", campaign="d", asks=[SEX], fake=(1, 1))]) == "sheet"


def test_a_question_that_loses_nothing_is_still_new(path):
    offer = make(path).review(ask(keep=0))
    assert (offer.charge, offer.kept, offer.odds) == (0.0, 0.0, 1.0)
    assert "charged already" not in offer.statement


# -- reviewing ---------------------------------------------------------------------------------------------


def test_a_review_says_the_cost_and_does_nothing(path):
    offer = make(path).review(ask())
    assert (offer.loss, offer.odds, offer.kept) == (pytest.approx(math.log(3)), 3.0, 0.4)
    assert (offer.remaining, offer.charge) == (4.0, offer.loss)
    for words in ("'c'", "'smokes'", "probability 0.4", "factor of 3 ", "has 4 of its budget", "2.90139"):
        assert words in offer.statement
    assert not path.exists()


def test_a_review_of_an_answered_question_is_free(path):
    make(path).answer(ask(), "never")
    offer = make(path).review(ask())
    assert offer.charge == 0
    assert "costs nothing more" in offer.statement
    assert offer.remaining == pytest.approx(4 - math.log(3))


def test_a_review_refuses_what_an_answer_would_refuse(path):
    assert refused(make(path, each=0.5).review, ask()) == "loss-over-question-limit"
    assert refused(make(path, total=1.0).review, ask()) == "budget-spent"
    assert refused(make(path).review, ask(epsilon=1.0)) == "loss-over-promise"
    assert refused(make(path).review, "{") == "not-json"
    make(path).answer(ask(), "never")
    assert refused(make(path).review, ask(asks=[SMOKES | {"attribute": "drinks"}])) == "question-changed"


# -- the ledger --------------------------------------------------------------------------------------------


def damaged(text):
    whole = json.loads(text)
    entry = whole["entries"][0]
    yield ""
    yield "{}"
    yield "null"
    yield "[]"
    yield text[:-9]
    yield json.dumps(whole | {"ledger": 2})
    yield json.dumps(whole | {"entries": []})
    yield json.dumps(whole | {"entries": [entry | {"loss": 0.0}]})
    yield json.dumps(whole | {"check": None})


def checked(rows):
    """A ledger whose check fits, as somebody would write who knows the format but breaks a rule."""
    from tacita.collect.device.ledger import _check

    return json.dumps({"ledger": 1, "check": _check(rows), "entries": rows})


def ill_formed(text):
    entry = json.loads(text)["entries"][0]
    yield checked([entry | {"loss": -1.0}])
    yield checked([entry | {"loss": float("nan")}])
    yield checked([entry | {"loss": "0"}])
    yield checked([entry | {"report": None}])
    yield checked([entry | {"answer": -1}])
    yield checked([entry | {"answer": "0A"}])
    yield checked([entry | {"answer": [1]}])
    yield checked([entry | {"attributes": []}])
    yield checked([entry | {"attributes": "smokes"}])
    yield checked([entry | {"attributes": [7]}])
    yield checked([entry | {"truth": 1}])
    yield checked([entry | {"digest": ""}])
    yield checked([7])
    yield checked(7)


@pytest.mark.parametrize("how", [damaged, ill_formed])
def test_a_damaged_ledger_is_refused_and_left_as_it_is(path, how):
    make(path).answer(ask(), "never")
    for text in list(how(path.read_text("utf-8"))):
        path.write_text(text, encoding="utf-8")
        assert refused(make(path).answer, ask("q2"), "never") == "ledger-corrupt"
        assert refused(make(path).review, ask()) == "ledger-corrupt"
        assert refused(make(path).remaining) == "ledger-corrupt"
        assert path.read_text("utf-8") == text


def test_a_ledger_of_other_bytes_is_refused(path):
    path.write_bytes(b"\xff\xfe\x00")
    assert refused(make(path).remaining) == "ledger-corrupt"


def test_a_ledger_without_a_folder_is_refused(tmp_path):
    assert refused(make(tmp_path / "missing" / "ledger").answer, ask(), "never") == "ledger-unavailable"
    (tmp_path / "folder").mkdir()
    assert refused(make(tmp_path / "folder").remaining) == "ledger-unavailable"


def test_a_ledger_that_cannot_be_written_sends_nothing(path, monkeypatch):
    def full(*_):
        raise OSError("disk full")

    monkeypatch.setattr(os, "fsync", full)
    assert refused(make(path).answer, ask(), "never") == "ledger-unavailable"
    assert not path.exists()


def test_the_charge_is_on_disk_before_anything_is_drawn(path, monkeypatch):
    seen = []

    def look(*_):
        seen.append(json.loads(path.read_text("utf-8"))["entries"][0])
        raise KeyboardInterrupt

    monkeypatch.setattr(RR, "draw", look)
    with pytest.raises(KeyboardInterrupt):
        make(path).answer(ask(), "never")
    assert seen[0]["loss"] == pytest.approx(math.log(3))
    assert seen[0]["report"] is None


def test_a_whole_sheet_is_on_disk_before_anything_is_drawn(path, monkeypatch):
    seen = []

    def look(*_):
        seen.extend(json.loads(path.read_text("utf-8"))["entries"])
        raise KeyboardInterrupt

    monkeypatch.setattr(RR, "draw", look)
    with pytest.raises(KeyboardInterrupt):
        make(path).answer_sheet(sheet(), VALUES)
    assert [entry["question"] for entry in seen] == ["q1", "q2"]
    assert [entry["report"] for entry in seen] == [None, None]
    monkeypatch.undo()
    left = make(path).remaining()
    make(path).answer_sheet(sheet(), VALUES)
    assert make(path).remaining() == left == pytest.approx(4 - 2 * math.log(3))


# -- killed and raced --------------------------------------------------------------------------------------

KILLED = """
import os, signal, sys
from tacita.collect.device import device as client
from tacita.collect.device.channels import RR
RR.draw = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
device = client.Device(
    service="https://survey.example", ledger_path=sys.argv[1], limit_total_epsilon=4.0, limit_question_epsilon=2.0
)
device.answer(sys.argv[2], "never")
"""

RACER = """
import sys
from tacita.collect.device.device import Device
from tacita.collect.device.question import Refusal
device = Device(
    service="https://survey.example", ledger_path=sys.argv[1], limit_total_epsilon=1.5, limit_question_epsilon=2.0
)
print("ready", flush=True)
sys.stdin.readline()
try:
    device.answer(sys.argv[2], "never")
    print("answered")
except Refusal as refusal:
    print(refusal.reason)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")
def test_a_kill_between_charge_and_answer_leaves_the_charge_spent(path):
    command = [sys.executable, "-c", KILLED, str(path), json.dumps(ask())]
    assert subprocess.run(command, check=False).returncode == -signal.SIGKILL
    left = make(path).remaining()
    assert left == pytest.approx(4 - math.log(3))
    # Nothing left the device, so the charge pays for the one report that is drawn in the end.
    report, receipt = make(path).answer(ask(), "never")
    assert make(path).answer(ask(), "never") == (report, receipt)
    assert make(path).remaining() == left


def test_processes_cannot_both_take_the_last_of_the_budget(path):
    racers = [
        subprocess.Popen(
            [sys.executable, "-c", RACER, str(path), json.dumps(ask(campaign=f"c{number}"))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in range(4)
    ]
    for racer in racers:
        assert racer.stdout.readline() == "ready\n"
    for racer in racers:
        racer.stdin.write("go\n")
        racer.stdin.flush()
    ends = sorted(racer.communicate(timeout=120)[0].strip() for racer in racers)
    assert ends == ["answered", "budget-spent", "budget-spent", "budget-spent"]
    assert make(path, total=1.5).remaining() == pytest.approx(1.5 - math.log(3))


def test_threads_get_one_report_for_one_question(path):
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda _: make(path).answer(ask(), "daily"), range(24)))
    assert len({tuple(asdict(report).items()) for report, _ in results}) == 1
    assert make(path).remaining() == pytest.approx(4 - math.log(3))


def test_who_has_no_value_answers_by_chance_and_pays_the_same(tmp_path):
    question = Question(
        campaign="c",
        question="q1",
        asks=(Ask(attribute="smokes", levels=("never", "daily")), Ask(attribute="sex", levels=("f", "m"))),
        channel=RR(keep=10**6, fake=(1, 1, 1, 1)),
        epsilon=20.0,
    )
    seen = set()
    for number in range(80):
        device = Device(
            service="https://survey.example",
            ledger_path=tmp_path / str(number),
            limit_total_epsilon=20.0,
            limit_question_epsilon=20.0,
        )
        report, receipt = device.answer(question, {"smokes": "never", "sex": None})
        assert receipt.loss == question.charge
        seen.add(report.answer)
    assert seen == {0, 1, 2, 3}  # not only the cells with the value that is there
    with pytest.raises(Refusal, match="levels"):
        device.answer(question, {"smokes": "never"})  # a slip of the caller, not a respondent without a value
