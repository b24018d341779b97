"""The registry of methods: every line loads, has the options that it names, and is on every surface."""

from __future__ import annotations

import inspect
from dataclasses import fields
from pathlib import Path
from typing import get_args

import pytest

from tacita.synthesize.auto import Synthesize
from tacita.synthesize.kinds import METHODS, QUALITY, Method, SynthesisMethod
from tacita.wire import SyntheticRequest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", METHODS)
def test_every_line_is_a_recipe_with_its_options(name: str) -> None:
    line = METHODS[name]
    known = {each.name for each in fields(line.recipe)}
    assert known.issuperset({"attributes", *line.options, *line.shared})
    assert inspect.signature(line.recipe.calibrate).parameters.keys() >= {"domain", "budget", "unit", "neighbours"}
    assert line.recipe(**dict.fromkeys(line.needs, "a")).as_dict()["method"].endswith(name)


@pytest.mark.parametrize("name", METHODS)
def test_every_line_is_on_every_surface(name: str) -> None:
    assert name in get_args(Method)
    assert name in SyntheticRequest.model_json_schema()["properties"]["method"]["enum"]
    assert name in (ROOT / "docs" / "reference" / "cli.md").read_text()
    Synthesize(method=name, **dict.fromkeys(METHODS[name].needs, "a"))


def test_the_automatic_choice_comes_first() -> None:
    assert get_args(Method)[0] == QUALITY == Synthesize().method
    assert isinstance(METHODS["mst"], SynthesisMethod)
