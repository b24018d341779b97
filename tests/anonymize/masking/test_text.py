"""Steps as texts and plans."""

from __future__ import annotations

import pytest

from tacita.anonymize.masking.text import read_plan, read_step, read_steps, read_yaml
from tacita.errors import InvalidInput, UnknownName


def test_texts() -> None:
    assert read_step("microaggregate", "income, age=5").attributes == ("income", "age")
    assert read_step("top", "income=9e4:replace=mean:least=3").as_dict()["top"] == {
        "attributes": ["income"],
        "threshold": 90000.0,
        "replace": "mean",
        "least": 3,
    }
    assert read_step("pram", "job:epsilon=1.5:invariant").as_dict()["pram"] == {
        "attributes": ["job"],
        "epsilon": 1.5,
        "invariant": True,
    }
    assert read_step("suppress_locally", "3").as_dict()["suppress_locally"]["attributes"] == []
    assert read_step("suppress_locally", "age,zip=3:missing=wildcard").as_dict()["suppress_locally"]["k"] == 3


def test_options_are_applied_in_the_order_of_the_registry() -> None:
    given = {"suppress_locally": ["3"], "round": ["b=1", "a=2"], "top": ["a=9"], "pram": None}
    assert [(step.step, step.attributes) for step in read_steps(given)] == [
        ("top", ("a",)),
        ("round", ("b",)),
        ("round", ("a",)),
        ("suppress_locally", ()),
    ]


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("microaggregate", "income=five", "whole number"),
        ("microaggregate", "income=5.5", "whole number"),
        ("microaggregate", "income", "needs k"),
        ("microaggregate", "income=5:size=3", "no option"),
        ("microaggregate", "income=5:attributes=age", "no option"),
        ("top", "income=", "a number"),
        ("pram", "job=0.8:invariant=perhaps", "true or false"),
        ("suppress_locally", "", "whole number"),
    ],
)
def test_wrong_texts_are_refused_with_an_example(name: str, text: str, words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        read_step(name, text)


def test_plans_keep_their_order() -> None:
    text = """
steps:
- round: {attributes: income, base: 1000}
- suppress-locally: 3
- microaggregate: debt=5
"""
    steps = read_yaml(text)
    assert [step.step for step in steps] == ["round", "suppress_locally", "microaggregate"]
    assert read_plan([step.as_dict() for step in steps]) == steps


@pytest.mark.parametrize(
    "plan", ["", "round: income=5", "- [round]", "- {round: a=1, top: a=2}", "a: [", "- round", "1"]
)
def test_wrong_plans_are_refused(plan: str) -> None:
    with pytest.raises(InvalidInput):
        read_yaml(plan)


def test_unknown_names_in_a_plan() -> None:
    with pytest.raises(UnknownName):
        read_plan([{"blur": "a=1"}])
    with pytest.raises(InvalidInput, match="no option"):
        read_plan([{"round": {"attributes": ["a"], "base": 1, "hwo": "random"}}])
    with pytest.raises(InvalidInput, match="needs base"):
        read_plan([{"round": {"attributes": ["a"]}}])
