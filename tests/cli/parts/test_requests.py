"""Options that are made from the model of a request."""

from __future__ import annotations

import inspect
from typing import Any, Literal

import pytest
from pydantic import Field

from tacita.cli.parts.requests import options_of, request_of
from tacita.errors import InvalidInput
from tacita.wire.base import RequestModel


class Asked(RequestModel):
    name: str = Field(description="A name.")
    kind: Literal["a", "b"] = "a"
    share: float | None = None
    fast: bool = False
    columns: list[str] | None = None
    sizes: list[int] = Field(default=[])
    tables: list[list[str]] = Field(default=[])
    about: dict[str, int] = Field(default={})
    hidden: str = ""


def options() -> dict[str, inspect.Parameter]:
    return {each.name: each for each in options_of(Asked, skip={"hidden"})}


def test_members_become_options() -> None:
    made = options()
    assert list(made) == ["name", "kind", "share", "fast", "columns", "sizes", "tables", "about"]
    assert made["name"].default is inspect.Parameter.empty
    assert [made[name].default for name in ("kind", "share", "fast", "columns", "sizes")] == [
        "a",
        None,
        False,
        None,
        None,
    ]
    written, option = made["columns"].annotation.__metadata__[0], made["name"].annotation.__metadata__[0]
    assert option.help == "A name."
    assert written.help == "Separated by commas."
    assert made["tables"].annotation.__origin__ == list[str] | None


def test_options_become_a_request() -> None:
    given: dict[str, Any] = {
        "name": "x",
        "columns": "age, sex",
        "sizes": "1,2",
        "tables": ["a,b", "c"],
        "about": '{"n": 3}',
        "share": None,
    }
    asked = request_of(Asked, given, hidden="y")
    assert asked == Asked(
        name="x", columns=["age", "sex"], sizes=[1, 2], tables=[["a", "b"], ["c"]], about={"n": 3}, hidden="y"
    )


@pytest.mark.parametrize(
    ("field", "value"), [("sizes", "1,two"), ("about", "{"), ("about", '{"n": "three"}'), ("kind", "c")]
)
def test_wrong_options_are_refused_by_name(field: str, value: str) -> None:
    with pytest.raises(InvalidInput, match=field):
        request_of(Asked, {"name": "x", field: value})
