"""The vectors that every client shares: what must be drawn, lost, accepted and refused."""

import json
import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from jsonschema import Draft202012Validator

from tacita.collect.channels.channel import RandomizedResponse
from tacita.collect.channels.wiring import channel_of, wire_of
from tacita.collect.device.channels import KINDS, device_channel
from tacita.collect.device.device import Device
from tacita.collect.device.question import Question, Refusal
from tacita.collect.device.series import draw_turns
from tacita.testing.channel import ListedWords

ROOT = Path(__file__).parents[2]
SCHEMA = Draft202012Validator(json.loads((ROOT / "spec/wire/question.schema.json").read_text("utf-8")))
# What a schema cannot say, because it compares members or looks beyond the question.
BEYOND_A_SCHEMA = {
    "fake-count",
    "levels-repeated",
    "attribute-repeated",
    "cells-count",
    "total",
    "threshold",
    "size",
    "width",
    "points",
    "order",
    "segments",
    "weights-count",
    "weight-zero",
    "loss-over-promise",
    "loss-over-question-limit",
    "budget-spent",
    "campaign-answered",
    "series-changed",
    "loss-over-series",
    "other-aggregator",
    "token",
    "question-changed",
    "value",
}


def cases_of(name):
    return json.loads((ROOT / f"spec/vectors/{name}.json").read_text("utf-8"))


def vectors(name):
    return [pytest.param(case, id=case.get("name", str(number))) for number, case in enumerate(cases_of(name))]


def words_of(case):
    return [int.from_bytes(bytes.fromhex(word), "little") for word in case["words"]]


def wired(answer):
    return list(answer) if isinstance(answer, tuple) else answer


def test_the_files_are_what_the_tool_writes():
    tool = [sys.executable, str(ROOT / "tools/gen_vectors.py"), "--check"]
    done = subprocess.run(tool, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_check_notices_drift(tmp_path, monkeypatch, capsys):
    tool = runpy.run_path(str(ROOT / "tools/gen_vectors.py"))
    monkeypatch.setitem(tool["main"].__globals__, "HERE", tmp_path)
    assert tool["main"]([]) == 0
    assert tool["main"](["--check"]) == 0
    (tmp_path / "loss.json").write_text("[]", encoding="utf-8")
    assert tool["main"](["--check"]) == 1
    assert "loss.json" in capsys.readouterr().err


def test_there_are_enough_of_each():
    refusals = cases_of("refuse")
    assert len(refusals) >= 120
    assert len({case["reason"] for case in refusals}) >= 26
    for name in ("draw", "accept"):
        assert {case["question"]["channel"]["kind"] for case in cases_of(name)} == set(KINDS)
    assert {case["channel"]["kind"] for case in cases_of("loss")} == set(KINDS)
    passed = {
        case["question"]["channel"]["kind"]
        for case in cases_of("draw")
        if case["consumed"] > 1 and "passed over" in case["name"]
    }
    assert passed == set(KINDS) - {"unary"}  # whose coins pass over nothing


@pytest.mark.parametrize("case", vectors("draw"))
def test_draw(case):
    question = Question.from_dict(case["question"])
    truth = question.cell_of(case["value"])
    answer, used = question.channel.draw(question.cells, truth, iter(words_of(case)))
    assert (wired(answer), used) == (case["answer"], case["consumed"])
    question.channel.check_answer(question.cells, answer)


@pytest.mark.parametrize(
    "case", [case for case in vectors("draw") if "rr" in str(case.values[0]["question"]["channel"])]
)
def test_draw_in_bulk(case):
    """Randomized response uses the words of the wire in bulk too; other kinds share the law only."""
    question = Question.from_dict(case["question"])
    channel = channel_of(question.channel, question.cells)
    assert isinstance(channel, RandomizedResponse)
    words = np.array(words_of(case), dtype=np.uint64)
    truth = question.cell_of(case["value"])
    assert channel.randomize(np.array([truth]), ListedWords(words)).tolist() == [case["answer"]]


@pytest.mark.parametrize("case", vectors("lot"))
def test_lot(case):
    drawn, used = draw_turns(case["waves"], case["turns"], iter(words_of(case)))
    assert (list(drawn), used) == (case["drawn"], case["consumed"])


@pytest.mark.parametrize("case", vectors("loss"))
def test_loss(case):
    channel, cells = device_channel(case["channel"]), case["cells"]
    channel.check(cells)
    assert channel.loss(cells) == case["epsilon"]  # both are the nearest float, found in two ways
    assert case["epsilon"] <= channel.charge(cells) <= case["epsilon"] * (1 + 2.3e-16)


@pytest.mark.parametrize("case", vectors("accept"))
def test_accept(case, tmp_path):
    assert SCHEMA.is_valid(case["question"])
    question = Question.from_dict(case["question"])
    assert question.loss == case["loss"]
    assert question.digest == case["digest"]
    assert question.content == case.get("content", question.content)
    assert question.to_dict() == case["question"]
    device = Device(
        service="https://survey.example",
        ledger_path=tmp_path / "ledger",
        limit_total_epsilon=50,
        limit_question_epsilon=50,
    )
    report, receipt = device.answer(case["question"], case["value"])
    assert receipt.digest == case["digest"]
    report.check_answers(question)


@pytest.mark.parametrize("case", vectors("accept"))
def test_an_aggregator_has_the_same_channel(case):
    question = Question.from_dict(case["question"])
    channel = channel_of(question.channel, question.cells)
    assert (channel.levels, channel.epsilon) == (question.cells, question.loss)
    if case["name"] != "a column that is never sent":
        assert wire_of(channel) == question.channel


def refused(case, call):
    """That the call is refused for the reason of the case, and nothing is charged."""
    ledger = call.__self__.ledger_path
    for earlier in case["before"]:
        call.__self__.answer(earlier["question"], earlier["value"])
    before = ledger.read_bytes() if ledger.exists() else None
    with pytest.raises(Refusal) as caught:
        call(case.get("question", case.get("questions")), case.get("value", case.get("values")))
    assert caught.value.reason == case["reason"]
    assert (ledger.read_bytes() if ledger.exists() else None) == before, "a refusal charges nothing"


def device_of(case, tmp_path):
    limits = case["limits"]
    return Device(
        service="https://survey.example",
        ledger_path=tmp_path / "ledger",
        limit_total_epsilon=limits["total"],
        limit_question_epsilon=limits["question"],
    )


@pytest.mark.parametrize("case", vectors("refuse"))
def test_refuse(case, tmp_path):
    refused(case, device_of(case, tmp_path).answer)


@pytest.mark.parametrize("case", vectors("sheet"))
def test_sheet(case, tmp_path):
    device = device_of(case, tmp_path)
    if case["reason"]:
        refused(case, device.answer_sheet)
        return
    for earlier in case["before"]:
        device.answer(earlier["question"], earlier["value"])
    questions = [Question.from_dict(data) for data in case["questions"]]
    given = device.answer_sheet(case["questions"], case["values"])
    assert [receipt.digest for _, receipt in given] == [question.digest for question in questions]
    for (report, _), question in zip(given, questions, strict=True):
        report.check_answers(question)
    spent = sum(question.charge for question in questions)
    assert device.remaining() == pytest.approx(case["limits"]["total"] - spent)


@pytest.mark.parametrize("case", vectors("refuse"))
def test_the_schema_refuses_what_a_schema_can(case):
    beyond = ("half a surrogate pair", "a line break after an identifier", "a wave beyond the last")
    if case["reason"] in BEYOND_A_SCHEMA or case["name"] in (*beyond, "more turns than waves"):
        return
    assert not SCHEMA.is_valid(case["question"])
