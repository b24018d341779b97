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

from tacita.collect import client as module
from tacita.collect.client import Device
from tacita.collect.question import Question, Refusal
from tacita.errors import InvalidInput

LEVELS = ["never", "sometimes", "daily"]


def ask(question="q1", keep=2, fake=(1, 1, 1), epsilon=1.1, **members):
    channel = {"kind": "rr", "keep": keep, "fake": list(fake)}
    data = {"wire": 1, "campaign": "c", "question": question, "attribute": "smokes", "levels": LEVELS}
    return data | {"channel": channel, "epsilon": epsilon} | members


@pytest.fixture
def path(tmp_path):
    return tmp_path / "ledger.json"


def make(path, total=4.0, each=2.0):
    return Device(ledger_path=path, limit_total_epsilon=total, limit_question_epsilon=each)


def refused(call, *arguments):
    with pytest.raises(Refusal) as caught:
        call(*arguments)
    return caught.value.reason


# -- answering ---------------------------------------------------------------------------------------------


def test_a_report_holds_the_answer_and_nothing_else(path):
    report, receipt = make(path).answer(ask(), "daily")
    assert set(report.to_dict()) == {"wire", "campaign", "question", "report", "answer"}
    names = {"campaign", "question", "attribute", "loss", "answer", "level", "report", "date", "digest"}
    assert set(receipt.to_dict()) == names
    assert receipt.level == LEVELS[report.answer]
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
        "campaign", "question", "attribute", "digest", "loss", "date", "report", "answer",
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
        Device(ledger_path=path, **limits)


def test_ten_tenths_fit_into_one(path):
    device = make(path, total=1.0)
    keep = math.floor(2**40 * math.expm1(0.1))
    for number in range(10):
        device.answer(ask(f"q{number}", keep=keep, fake=(2**40,) * 3, epsilon=0.1), "never")
    assert refused(device.answer, ask("q10", keep=keep, fake=(2**40,) * 3, epsilon=0.1), "never") == "budget-spent"


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
    assert refused(make(path).review, ask(attribute="drinks")) == "question-changed"


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
    from tacita.collect.device_ledger import _check

    return json.dumps({"ledger": 1, "check": _check(rows), "entries": rows})


def ill_formed(text):
    entry = json.loads(text)["entries"][0]
    yield checked([entry | {"loss": -1.0}])
    yield checked([entry | {"loss": float("nan")}])
    yield checked([entry | {"loss": "0"}])
    yield checked([entry | {"report": None}])
    yield checked([entry | {"answer": -1}])
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

    monkeypatch.setattr(module, "draw", look)
    with pytest.raises(KeyboardInterrupt):
        make(path).answer(ask(), "never")
    assert seen[0]["loss"] == pytest.approx(math.log(3))
    assert seen[0]["report"] is None


# -- killed and raced --------------------------------------------------------------------------------------

KILLED = """
import os, signal, sys
from tacita.collect import client
client.draw = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
device = client.Device(ledger_path=sys.argv[1], limit_total_epsilon=4.0, limit_question_epsilon=2.0)
device.answer(sys.argv[2], "never")
"""

RACER = """
import sys
from tacita.collect.client import Device
from tacita.collect.question import Refusal
device = Device(ledger_path=sys.argv[1], limit_total_epsilon=1.5, limit_question_epsilon=2.0)
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
            [sys.executable, "-c", RACER, str(path), json.dumps(ask(f"q{number}"))],
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
    ends = sorted(racer.communicate(timeout=30)[0].strip() for racer in racers)
    assert ends == ["answered", "budget-spent", "budget-spent", "budget-spent"]
    assert make(path, total=1.5).remaining() == pytest.approx(1.5 - math.log(3))


def test_threads_get_one_report_for_one_question(path):
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda _: make(path).answer(ask(), "daily"), range(24)))
    assert len({tuple(asdict(report).items()) for report, _ in results}) == 1
    assert make(path).remaining() == pytest.approx(4 - math.log(3))
