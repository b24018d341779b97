"""Which field a member of a request gets, for every kind of release that the server lists."""

from __future__ import annotations

from typing import Any

import pytest

from tacita.console.parts import described
from tacita.console.parts.described import SchemaForm, member_type
from tacita.console.parts.forms import OWN_FORMS
from tacita.domain import Categorical, Domain, Numeric
from tacita.errors import InvalidInput
from tacita.server.releasing.registry import KINDS

DOMAIN = Domain(attributes=[Numeric(name="age", bounds=(0, 9), bins=3), Categorical(name="sex", levels=["f", "m"])])


class _Box:
    def __init__(self, value: Any) -> None:
        self.value = value


class _Kit:
    """Fields that hold what a person has typed, or what the page has set."""

    Handler = Any

    def __init__(self, typed: dict[str, Any]) -> None:
        self.typed, self.shown = typed, list[str]()

    def row(self) -> Any:
        import contextlib

        return contextlib.nullcontext()

    def _field(self, name: str, value: Any = None, *_: Any, key: str | None = None, **__: Any) -> _Box:
        self.shown.append(name)
        return _Box(self.typed.get(key or name, value))

    number = field = lines = checkbox = _field

    def choice(self, name: str, options: list[str], value: Any = None, **_: Any) -> _Box:
        assert options
        return self._field(name, value)


def form(monkeypatch: pytest.MonkeyPatch, kind: str, typed: dict[str, Any]) -> tuple[SchemaForm, _Kit]:
    kit = _Kit(typed)
    monkeypatch.setattr(described, "kit", kit)
    info = {
        "name": kind,
        "summary": KINDS[kind].summary,
        "request": KINDS[kind].request.model_json_schema(by_alias=True),
    }
    made = SchemaForm(
        api=None,  # type: ignore[arg-type]
        dataset="people",
        domain=DOMAIN,
        balance={"currency": "pure", "budget": {"epsilon": 1.0}},
        query={},
        change=lambda: None,
        info=info,
    )
    monkeypatch.setattr(made, "spend_field", lambda: setattr(made, "spend", lambda: 0.5))
    made.fields()
    return made, kit


@pytest.mark.parametrize(
    ("kind", "typed", "more"),
    [
        ("clusters", {"Columns": ["age"], "Clusters": 3.0}, {"columns": ["age"], "clusters": 3, "rounds": 3}),
        ("statistics", {"Sql": " SELECT 1 "}, {"sql": "SELECT 1", "level": 0.95}),
        ("bounds", {"Column": "age"}, {"column": "age", "share": 0.99}),
        (
            "function",
            {"Name": "ages", "Kind": "density", "Features": ["age"], "public_inputs": True},
            {"name": "ages", "kind": "density", "features": ["age"], "public_inputs": True, "seed": 0},
        ),
        ("components", {"Columns": ["age", "sex"]}, {"columns": ["age", "sex"]}),
        (
            "network",
            {"Columns": ["age", "sex"], "Forbid": "sex:age\n", "Search": "hill", "Degree": 1.0},
            {"columns": ["age", "sex"], "forbid": ["sex:age"], "search": "hill", "degree": 1, "narrow": 0.2},
        ),
        (
            "imputed",
            {"no_guarantee": True, "Replace": "age\nsex: sex = f\n", "M": 2.0},
            {"no_guarantee": True, "replace": ["age", "sex: sex = f"], "m": 2, "backend": "cart"},
        ),
        (
            "events",
            {"Time": "age", "Values": ["sex"], "Z": 5.0, "Window": 3.0},
            {"time": "age", "values": ["sex"], "z": 5, "window": 3},
        ),
        ("sets", {"Item": "sex", "K": 5.0}, {"item": "sex", "k": 5, "m": 2}),
        (
            "masked",
            {"Pram": "sex=0.8\n", "Round": "age=10\n", "Keep": ["age"], "Weight": "age"},
            {"pram": ["sex=0.8"], "round": ["age=10"], "keep": ["age"], "weight": "age"},
        ),
        (
            "suppressed",
            {"By": "sex, age\nsex\n", "Minimum": 3.0, "Dominance": "1, 75.5"},
            {"by": [["sex", "age"], ["sex"]], "minimum": 3, "dominance": [1, 75.5], "zeros": "public"},
        ),
    ],
)
def test_what_is_typed_becomes_a_request(
    monkeypatch: pytest.MonkeyPatch, kind: str, typed: dict[str, Any], more: dict[str, Any]
) -> None:
    made, _ = form(monkeypatch, kind, typed)
    body = made.body()
    assert body["dataset"] == "people"
    assert body.get("budget") == ({"epsilon": 0.5} if "budget" in KINDS[kind].request.model_fields else None)
    assert {name: body[name] for name in more} == more
    if kind != "statistics":  # its table has another name
        assert KINDS[kind].request.model_validate(body)


def test_every_kind_without_a_form_of_its_own_is_tried() -> None:
    assert set(KINDS) - OWN_FORMS == {
        "masked",
        "clusters",
        "statistics",
        "bounds",
        "components",
        "network",
        "imputed",
        "function",
        "events",
        "sets",
        "suppressed",
    }


def test_empty_required_fields_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    made, _ = form(monkeypatch, "clusters", {"Columns": []})
    with pytest.raises(InvalidInput, match="columns: must not be empty"):
        made.body()
    made, _ = form(monkeypatch, "imputed", {"no_guarantee": False})
    with pytest.raises(InvalidInput, match="no_guarantee"):
        made.body()


def test_a_null_alternative_is_left_out() -> None:
    found = member_type({"anyOf": [{"type": "integer", "minimum": 2}, {"type": "null"}], "default": None})
    assert (found["type"], found["minimum"], found["default"]) == ("integer", 2, None)
