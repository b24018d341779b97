"""The short form of `make fuzz`: a few hundred requests, the same in every run."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType

import httpx
import pytest

PATH = Path(__file__).parents[2] / "tools" / "fuzz.py"


@pytest.fixture(scope="module")
def fuzz() -> ModuleType:
    spec = importlib.util.spec_from_file_location("fuzz", PATH)
    module = importlib.util.module_from_spec(spec)
    sys.modules["fuzz"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("store", ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def test_a_few_hundred_requests_find_nothing(fuzz: ModuleType, store: str) -> None:
    said: list[str] = []
    assert fuzz.run((store,), requests=900, seed=20, say=said.append) == []
    assert "200:" in said[-1]  # some requests work, or nothing behind the checks was reached
    assert "422:" in said[-1]


def test_faults_are_seen(fuzz: ModuleType) -> None:
    problem = {"content-type": "application/problem+json"}
    asked = httpx.Request("GET", "http://x/y")

    def judged(status: int, content: bytes, headers: dict[str, str] | None = None) -> str | None:
        return fuzz.Fuzzer._judge(None, httpx.Response(status, content=content, headers=headers, request=asked))

    whole = dict.fromkeys(("type", "title", "status", "detail", "code", "request_id"), "x")
    assert judged(200, b"{}") is None
    assert judged(422, json.dumps(whole).encode(), problem) is None
    assert judged(500, json.dumps(whole).encode(), problem) == "status 500"
    assert judged(200, f"a {fuzz.PRIVATE} b".encode()) == "a private value in the answer"
    assert judged(404, b"Not Found") == "an error that is no problem document"
    assert judged(404, b"{}", problem) == "a problem document that lacks a member"
