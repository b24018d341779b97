"""The short form of `make faults`: a run of each kind of work, the same in every run."""

from __future__ import annotations

import importlib.util
import random
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import httpx
import pytest

PATH = Path(__file__).parents[2] / "tools" / "faults.py"


@pytest.fixture(scope="module")
def faults() -> ModuleType:
    spec = importlib.util.spec_from_file_location("faults", PATH)
    module = importlib.util.module_from_spec(spec)
    sys.modules["faults"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("store", ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def test_a_few_runs_hold(faults: ModuleType, store: str) -> None:
    said: list[str] = []
    assert faults.run((store,), runs=3, seed=4, say=said.append) == []
    assert said[-1] == "3 runs held, 0 did not, seed 4"


class Answers:
    """Stands for a client whose server answers as the test says."""

    def __init__(self, **answers: Any) -> None:
        self.random_, self._answers = random.Random(1), answers

    def send(self, method: str, path: str, body: Any = None, key: str | None = None) -> httpx.Response:
        name = next(name for name in self._answers if name in path)
        return httpx.Response(200, json=self._answers[name])


def test_a_lost_and_a_doubled_report_are_seen(faults: ModuleType) -> None:
    work = faults.Reports(None, 1)
    work.campaign, work.batches = "c", [["a", "b"], ["b"]]
    for received, counts, ids, holds in ((2, 2, 2, True), (1, 1, 1, False), (3, 3, 2, False), (2, 3, 2, False)):
        tally = {"counts": {"q1": [counts, 0]}, "reports": ["x"] * ids}
        work.client = Answers(tally=tally, campaigns={"received": received})
        if holds:
            work.check()
        else:
            with pytest.raises(faults.Violation):
                work.check()


def test_an_overspent_and_a_refunded_budget_are_seen(faults: ModuleType) -> None:
    work = faults.Paid(Answers(budget={"spent": 0.3}), 1)
    work.name, work.lowest = "d", 0.2
    assert work.spent() == 0.3
    work.client = Answers(budget={"spent": 0.2})
    with pytest.raises(faults.Violation, match="after"):
        work.spent()
    work.client = Answers(budget={"spent": 0.6})
    with pytest.raises(faults.Violation, match="spent of"):
        work.spent()


def test_a_changed_answer_and_half_a_release_are_seen(faults: ModuleType) -> None:
    queries = faults.Queries(Answers(query={"a": 2}), 1)
    queries.name, queries.cost, queries.answers = "d", {"k": 0.1}, {"k": b"another"}
    with pytest.raises(faults.Violation, match="two ways"):
        queries._ask("k")
    with pytest.raises(faults.Violation, match="lines"):
        faults.Releases(Answers(rows="half"), 1)._rows("j")


def test_a_busy_server_is_asked_again_and_a_fault_is_not(faults: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = [httpx.Response(429), httpx.Response(503), httpx.Response(202, text="done"), httpx.Response(500)]
    monkeypatch.setattr(faults.httpx, "request", lambda *_, **__: answers.pop(0))
    client = faults.Client(SimpleNamespace(url="http://x", token="t"), "plain", random.Random(1))
    assert client.send("POST", "/v1/releases/synthetic", {}).text == "done"
    assert client.statuses == {429: 1, 503: 1, 202: 1}
    with pytest.raises(faults.Violation, match="answered 500"):
        client.send("GET", "/v1/jobs/x")
