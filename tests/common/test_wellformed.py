from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacita.common.wellformed import MAX_DEPTH, MAX_INTEGER, MAX_NODES, check_json, check_value
from tacita.errors import InvalidInput

DEEP = "[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1)
REFUSED = {
    "nested lists": (DEEP, "nested"),
    "unclosed nesting": ("[" * 5000, "nested"),
    "nested objects": ('{"a":' * 5000, "nested"),
    "a lone high surrogate": (r'"x \ud800 y and a long tail of text"', "surrogate"),
    "a lone low surrogate": (r'"\udc00"', "surrogate"),
    "two high surrogates": (r'"\ud83d\ud83d"', "surrogate"),
    "a high surrogate at the end": (r'["\ud83d"]', "surrogate"),
    "NUL": (r'"a\u0000"', "NUL"),
    "an integer in a short text": ("9" * 40, "integer"),
    "an integer of 64 bits": (f'{{"{"a" * 64}": {1 << 63}}}', "integer"),
    "an integer of 5000 digits": (f'{{"{"a" * 64}": -{"9" * 5000}}}', "integer"),
    "too many values": ("[" + "0," * MAX_NODES + "0]", "values"),
}
TAKEN = [
    json.dumps(DEEP * 3),  # brackets inside a text are no nesting
    json.dumps({"deep": [[[[[{}]]]]] * 100}),
    r'"\ud83d\ude00 \\ud800 \\u0000"',  # a pair, and escaped backslashes
    f'{{"{"a" * 64}": [{MAX_INTEGER}, -{MAX_INTEGER}, 0.{"1" * 40}, 1{"0" * 30}.0, {"1" * 22}e5]}}',
    json.dumps("9" * 100),
    '"unterminated ' + "[" * 500,
    "",
]


@pytest.mark.parametrize("name", REFUSED)
def test_json_beyond_a_limit_is_refused_without_being_repeated(name: str) -> None:
    text, rule = REFUSED[name]
    with pytest.raises(InvalidInput, match=rule) as caught:
        check_json(text.encode())
    assert len(str(caught.value)) < 100


def test_bytes_that_are_not_utf8_are_refused() -> None:
    with pytest.raises(InvalidInput, match="UTF-8"):
        check_json(b'{"reports": ["\xff"]}')


@pytest.mark.parametrize("text", TAKEN)
def test_json_within_the_limits_passes(text: str) -> None:
    check_json(text.encode())


plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(plain, st.booleans())
def test_bytes_and_values_are_judged_alike(value: object, ascii_only: bool) -> None:
    try:
        text = json.dumps(value, ensure_ascii=ascii_only).encode()
    except UnicodeEncodeError:
        return
    by_value = by_bytes = None
    try:
        check_value(value, field="body")
    except InvalidInput as error:
        by_value = error.rule
    try:
        check_json(text + b" " * MAX_DEPTH)
    except InvalidInput as error:
        by_bytes = error.rule
    assert (by_value is None) == (by_bytes is None)


def test_shared_parts_count_as_often_as_they_are_referenced() -> None:
    bomb: object = "lol"
    for _ in range(40):
        bomb = [bomb] * 10
    with pytest.raises(InvalidInput, match="values"):
        check_value(bomb, field="schema")


_PIECES = (r"\ud83d", r"\uDE00", r"\udbff", r"\u0000", r"\u0041", r"\\", r"\"", "d800", "u0000", "x")


@given(st.lists(st.sampled_from(_PIECES), max_size=8))
def test_escapes_are_judged_as_the_text_that_they_mean(pieces: list[str]) -> None:
    text = '"' + "".join(pieces) + '"'
    meant = json.loads(text)  # joins halves that belong together
    bad = "\0" in meant or any("\ud800" <= letter <= "\udfff" for letter in meant)
    try:
        check_json(text.encode())
    except InvalidInput:
        assert bad
    else:
        assert not bad
