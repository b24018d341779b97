"""Limits that every document from outside must keep before anything else reads it.

A document is JSON or YAML text, or the plain data in it. Four things are refused here, in one place, because every
parser, database and encoder behind it fails on them in its own way:

    nesting             deeper than `MAX_DEPTH`: readers recurse
    size                more than `MAX_NODES` values: checking each of them takes the server's time
    text                NUL characters and lone surrogates: PostgreSQL stores neither, UTF-8 cannot encode the latter
    integers            outside 64 bits: no column holds them

`check_json` works on bytes and builds nothing, so it costs a fraction of parsing. Messages never repeat the text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, TypeVar

import numpy as np

from tacita.errors import InvalidInput

__all__ = [
    "MAX_DEPTH",
    "MAX_INTEGER",
    "MAX_NODES",
    "check_characters",
    "check_integer",
    "check_json",
    "check_value",
    "fail_fast",
]

MAX_DEPTH = 64
"""Levels of lists and mappings inside each other."""
MAX_NODES = 2_000_000
"""Values in one document."""
MAX_INTEGER = (1 << 63) - 1
"""Largest absolute value of an integer."""

T = TypeVar("T")

_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"?', re.DOTALL)
# where escaped backslashes are taken out: NUL, a first half that no second one follows, a second half without its first
_BAD_ESCAPE = re.compile(
    rb"\\u(?:(0000)|[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F][0-9a-fA-F]{2})"
    rb"|(?<!\\u[dD][89abAB][0-9a-fA-F]{2}\\u)[dD][c-fC-F][0-9a-fA-F]{2})"
)
_LONG_INTEGER = re.compile(rb"(?<![0-9.eE])[0-9]{19,}(?![0-9.eE])")
_LEAST_LONG = 19  # digits of an integer that may be too large
_SURROGATE = re.compile("[\ud800-\udfff]")
_OPEN, _CLOSE = np.zeros(256, np.int32), np.zeros(256, np.int32)
for _mark in b"[{":
    _OPEN[_mark] = 1
for _mark in b"]}":
    _CLOSE[_mark] = 1


def check_json(text: bytes, *, field: str = "body") -> None:
    """Refuse JSON text that breaks a limit; whether it is JSON is left to its parser.

    Raises:
        InvalidInput: The rule that it breaks, never the text.
    """
    try:
        text.decode("utf-8")
    except UnicodeDecodeError:
        raise InvalidInput("must be UTF-8", field=field) from None
    if b"\\u" in text:
        _check_escapes(text, field)
    if len(text) < _LEAST_LONG:  # too short to break the limits below
        return
    bare = _STRING.sub(b"0", text) if b'"' in text else text
    if bare.count(b",") >= MAX_NODES:
        raise _too_many(field)
    if bare.count(b"[") + bare.count(b"{") > MAX_DEPTH:
        _check_nesting(bare, field)
    for digits in _LONG_INTEGER.findall(bare):
        if len(digits) > 19 or int(digits) > MAX_INTEGER:
            raise _too_large(field)


def _check_escapes(text: bytes, field: str) -> None:
    found = _BAD_ESCAPE.search(text.replace(b"\\\\", b"__"))
    if found is not None:
        raise _no_nul(field) if found[1] else _no_surrogate(field)


def _check_nesting(bare: bytes, field: str) -> None:
    marks = np.frombuffer(bare, np.uint8)
    if int(np.cumsum(_OPEN[marks] - _CLOSE[marks]).max()) > MAX_DEPTH:
        raise _too_deep(field)


def check_value(value: Any, *, field: str) -> None:
    """Refuse plain data that breaks a limit, without recursion.

    Shared parts (YAML aliases) count as often as they are referenced.

    Raises:
        InvalidInput: The rule that it breaks, never the value.
    """
    nodes, waiting = 0, [(value, 0)]
    while waiting:
        found, depth = waiting.pop()
        nodes += 1
        if nodes > MAX_NODES:
            raise _too_many(field)
        if isinstance(found, str):
            check_characters(found, field=field)
        elif isinstance(found, int):
            check_integer(found, field=field)
        elif isinstance(found, Mapping | list | tuple | set):
            if depth >= MAX_DEPTH:
                raise _too_deep(field)
            if nodes + len(waiting) + len(found) > MAX_NODES:
                raise _too_many(field)
            if isinstance(found, Mapping):
                waiting += [(key, depth + 1) for key in found]
            waiting += [(part, depth + 1) for part in (found.values() if isinstance(found, Mapping) else found)]


def check_characters(text: str, *, field: str) -> None:
    """Refuse NUL characters and lone surrogates in a text."""
    if "\0" in text:
        raise _no_nul(field)
    if _SURROGATE.search(text):
        raise _no_surrogate(field)


def check_integer(number: int, *, field: str, most: int = MAX_INTEGER) -> None:
    """Refuse an integer beyond the largest, by default outside 64 bits."""
    if abs(number) > most:
        raise _too_large(field, most)


def fail_fast(schema: T) -> T:
    """A pydantic core schema whose lists stop at their first fault: a document can hold a million faults."""
    waiting: list[Any] = [schema]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            if part.get("type") in ("list", "tuple", "set", "frozenset"):
                part["fail_fast"] = True
            waiting += part.values()
        elif isinstance(part, list | tuple):
            waiting += part
    return schema


def _too_deep(field: str) -> InvalidInput:
    return InvalidInput(f"must be nested at most {MAX_DEPTH} levels deep", field=field)


def _too_many(field: str) -> InvalidInput:
    return InvalidInput(f"must hold at most {MAX_NODES} values", field=field)


def _too_large(field: str, most: int = MAX_INTEGER) -> InvalidInput:
    return InvalidInput(f"must hold no integer beyond {most}", field=field)


def _no_nul(field: str) -> InvalidInput:
    return InvalidInput("must not contain NUL characters", field=field)


def _no_surrogate(field: str) -> InvalidInput:
    return InvalidInput("must not contain lone surrogates", field=field)
