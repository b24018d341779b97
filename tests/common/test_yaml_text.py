from __future__ import annotations

import pytest

from tacita.common.yaml_text import load_yaml
from tacita.domain import Domain
from tacita.errors import InvalidInput, SchemaError

BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "\n".join(
    f"{chr(98 + i)}: &{chr(98 + i)} [{', '.join(['*' + chr(97 + i)] * 9)}]" for i in range(12)
)


def test_ordinary_yaml_and_json_are_read() -> None:
    assert load_yaml("a: [1, x]\nb: {c: 2020-01-01}", field="f")["a"] == [1, "x"]
    assert load_yaml('{"a": [1, null]}', field="f") == {"a": [1, None]}


def test_a_few_aliases_are_fine() -> None:
    assert load_yaml("a: &l [x, y]\nb: *l\nc: {<<: {d: 1}}", field="f") == {
        "a": ["x", "y"],
        "b": ["x", "y"],
        "c": {"d": 1},
    }


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        (BOMB, "aliases"),
        ("a: &a [*a]", "alias"),
        ("[" * 5000, "nested"),
        ("{a: " * 5000, "nested"),
        ("levels: [x]\nlevels: [y]", "each key once"),
        (r'a: "\ud800"', "YAML|surrogate"),
        (r'a: "\0"', "NUL"),
        ("a: 99999999999999999999", "integer"),
        ("a: [", "YAML"),
        ("a: 2020-99-99", "YAML"),
        ("a: \ud800", "YAML"),
        ("a: !!python/object:os.system x", "YAML"),
    ],
)
def test_hostile_text_is_refused_with_its_rule(text: str, rule: str) -> None:
    with pytest.raises(InvalidInput, match=rule) as caught:
        load_yaml(text, field="schema")
    assert caught.value.field == "schema"


def test_a_schema_of_aliases_is_refused_before_it_is_built() -> None:
    with pytest.raises(SchemaError, match="aliases"):
        Domain.from_text(BOMB)


@pytest.mark.parametrize("text", ["a: 1" + ":59" * 100_000, "a: 1" + ":59" * 200_000 + ".5", "a: 0x" + "f" * 5000])
def test_numbers_that_take_long_to_read_are_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="numbers"):
        load_yaml(text, field="f")


def test_many_keys_are_compared_in_one_pass() -> None:
    text = "".join(f"k{i}: 1\n" for i in range(50_000)) + "k7: 2\n"
    with pytest.raises(InvalidInput, match="each key once"):
        load_yaml(text, field="f")
