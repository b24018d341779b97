"""Read YAML (and JSON, which is YAML) from people who may be hostile.

YAML aliases let a few hundred bytes describe a document of gigabytes, and deep nesting exhausts the parser's stack. So
the events of the text are counted before anything is built: an alias counts as much as what it refers to. A mapping
that has a key twice is refused, because one of the two values would be ignored silently.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import yaml

from tacita.common.wellformed import MAX_DEPTH, check_value
from tacita.errors import InvalidInput

__all__ = ["MAX_ALIASED_NODES", "MAX_CHARACTERS", "load_yaml"]

MAX_CHARACTERS = 16 << 20
"""Longest text."""
MAX_ALIASED_NODES = 10_000
"""Values of a document that uses aliases, each counted as often as it is referenced."""

_LONGEST_NUMBER = 64
_NUMBER = re.compile(r"[-+.0-9_:xXoObBa-fA-F]*$")  # YAML reads 1:59:59 in base 60, in quadratic time

_Base: type[Any] = yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader


class _Loader(_Base):  # type: ignore[misc]
    """A safe loader that refuses duplicate keys."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """Build one mapping."""
        keys = Counter(key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode) and key.value != "<<")
        if keys.total() > len(keys):
            twice = min(key for key, times in keys.items() if times > 1)
            raise _Refused(
                InvalidInput("must have each key once", value=twice, hint=f"Line {node.start_mark.line + 1}")
            )
        made: dict[Any, Any] = super().construct_mapping(node, deep=deep)
        return made


class _Refused(yaml.YAMLError):
    """Carries our own error through the library."""

    def __init__(self, error: InvalidInput) -> None:
        super().__init__()
        self.error = error


def load_yaml(text: str, *, field: str, error: type[InvalidInput] = InvalidInput) -> Any:
    """Parse YAML or JSON text into plain data.

    Args:
        text: What was given.
        field: The input that errors name.
        error: The class of errors.

    Raises:
        InvalidInput: It is not YAML, or breaks one of the limits above or of `tacita.common.wellformed`.
    """
    if len(text) > MAX_CHARACTERS:
        raise error(f"must have at most {MAX_CHARACTERS} characters", field=field, value=len(text))
    try:
        _check_events(text)
        data = yaml.load(text, Loader=_Loader)  # noqa: S506 -- a safe loader
    except _Refused as refused:
        parts = {"value": refused.error.value, "hint": refused.error.hint}
        raise error(refused.error.rule, field=field, **parts) from None
    except (yaml.YAMLError, ValueError, ArithmeticError) as broken:  # ValueError: a date such as 2020-99-99
        mark = getattr(broken, "problem_mark", None)
        place = None if mark is None else f"line {min(mark.line, text.count(chr(10))) + 1}"  # not past the end
        raise error("must be YAML or JSON", field=field, value=place) from None
    try:
        check_value(data, field=field)
    except InvalidInput as broken:
        raise error(broken.rule, field=field) from None
    return data


def _check_events(text: str) -> None:
    """Count depth and values, aliases expanded, before anything is built."""
    sizes: dict[str, int] = {}  # of each anchor that is complete
    open_nodes: list[tuple[str | None, int]] = []  # anchor, and the count when it began
    count, aliased = 0, False
    for event in yaml.parse(text, Loader=_Base):
        if isinstance(event, yaml.AliasEvent):
            if event.anchor not in sizes:
                raise _Refused(InvalidInput("must not have an alias inside its own anchor"))
            count, aliased = count + sizes[event.anchor], True
        elif isinstance(event, yaml.ScalarEvent):
            count += 1
            if len(event.value) > _LONGEST_NUMBER and event.implicit[0] and _NUMBER.match(event.value):
                raise _Refused(InvalidInput(f"must have numbers of at most {_LONGEST_NUMBER} characters"))
            if event.anchor:
                sizes[event.anchor] = 1
        elif isinstance(event, yaml.CollectionStartEvent):
            open_nodes.append((event.anchor, count))
            count += 1
            if len(open_nodes) > MAX_DEPTH:
                raise _Refused(InvalidInput(f"must be nested at most {MAX_DEPTH} levels deep"))
        elif isinstance(event, yaml.CollectionEndEvent):
            anchor, before = open_nodes.pop()
            if anchor:
                sizes[anchor] = count - before
        if aliased and count > MAX_ALIASED_NODES:
            raise _Refused(InvalidInput(f"must hold at most {MAX_ALIASED_NODES} values where it uses aliases"))
