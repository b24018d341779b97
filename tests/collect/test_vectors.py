"""The vectors that every client shares: what must be drawn, lost, accepted and refused."""

import json
import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from jsonschema import Draft202012Validator

from tacita.collect.channel import RandomizedResponse
from tacita.collect.client import Device
from tacita.collect.draw import draw, loss, loss_upper
from tacita.collect.question import Question, Refusal
from tacita.testing.channel import ListedWords

ROOT = Path(__file__).parents[2]
SCHEMA = Draft202012Validator(json.loads((ROOT / "spec/wire/question.schema.json").read_text("utf-8")))
# What a schema cannot say, because it compares members or looks beyond the question.
BEYOND_A_SCHEMA = {
    "fake-count",
    "levels-repeated",
    "total",
    "loss-over-promise",
    "loss-over-question-limit",
    "budget-spent",
    "question-changed",
    "value",
}


def vectors(name):
    cases = json.loads((ROOT / f"spec/vectors/{name}.json").read_text("utf-8"))
    return [pytest.param(case, id=case.get("name", str(number))) for number, case in enumerate(cases)]


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


def test_there_are_enough_refusals():
    cases = [case.values[0] for case in vectors("refuse")]
    assert len(cases) >= 60
    assert len({case["reason"] for case in cases}) >= 17


@pytest.mark.parametrize("case", vectors("draw"))
def test_draw(case):
    question = Question.from_dict(case["question"])
    words = [int.from_bytes(bytes.fromhex(word), "little") for word in case["words"]]
    truth = question.levels.index(case["value"])
    assert draw(question.keep, question.fake, truth, iter(words)) == (case["answer"], case["consumed"])


@pytest.mark.parametrize("case", vectors("draw"))
def test_draw_in_bulk(case):
    channel = RandomizedResponse(
        keep=case["question"]["channel"]["keep"], fake=tuple(case["question"]["channel"]["fake"])
    )
    words = np.array([int.from_bytes(bytes.fromhex(word), "little") for word in case["words"]], dtype=np.uint64)
    truth = case["question"]["levels"].index(case["value"])
    assert channel.randomize(np.array([truth]), ListedWords(words)).tolist() == [case["answer"]]


@pytest.mark.parametrize("case", vectors("loss"))
def test_loss(case):
    keep, fake = case["channel"]["keep"], case["channel"]["fake"]
    assert loss(keep, fake) == case["epsilon"]  # both are the nearest float, found in two ways
    assert case["epsilon"] <= loss_upper(keep, fake) <= case["epsilon"] * (1 + 2.3e-16)


@pytest.mark.parametrize("case", vectors("accept"))
def test_accept(case, tmp_path):
    assert SCHEMA.is_valid(case["question"])
    question = Question.from_dict(case["question"])
    assert question.loss == case["loss"]
    assert question.digest == case["digest"]
    assert question.to_dict() == case["question"]
    device = Device(ledger_path=tmp_path / "ledger", limit_total_epsilon=50, limit_question_epsilon=50)
    _, receipt = device.answer(case["question"], case["value"])
    assert receipt.digest == case["digest"]


@pytest.mark.parametrize("case", vectors("refuse"))
def test_refuse(case, tmp_path):
    ledger = tmp_path / "ledger"
    limits = case["limits"]
    device = Device(ledger_path=ledger, limit_total_epsilon=limits["total"], limit_question_epsilon=limits["question"])
    for earlier in case["before"]:
        device.answer(earlier["question"], earlier["value"])
    before = ledger.read_bytes() if ledger.exists() else None
    with pytest.raises(Refusal) as caught:
        device.answer(case["question"], case["value"])
    assert caught.value.reason == case["reason"]
    assert (ledger.read_bytes() if ledger.exists() else None) == before, "a refusal charges nothing"


@pytest.mark.parametrize("case", vectors("refuse"))
def test_the_schema_refuses_what_a_schema_can(case):
    lone = case["name"] == "half a surrogate pair"
    if case["reason"] in BEYOND_A_SCHEMA or lone or case["name"] == "a line break after an identifier":
        return
    assert not SCHEMA.is_valid(case["question"])
