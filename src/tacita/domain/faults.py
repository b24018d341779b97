"""All faults of a schema at once, each with its place, and with the name that was probably meant."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from tacita.domain.attributes import Attribute
from tacita.domain.dialect import CsvDialect
from tacita.errors import SchemaError

__all__ = ["MOST_FAULTS", "find_faults"]

MOST_FAULTS = 20
"""Faults that are listed; a document with more of them is another kind of document."""
_MOST_ATTRIBUTES = 10_000
_CLASSES: dict[str, type[BaseModel]] = {
    each.model_fields["kind"].default: each for each in get_args(get_args(Attribute)[0])
}


def find_faults(data: Mapping[str, Any], members: Mapping[str, Any]) -> list[str]:
    """List what is wrong in a schema, in sentences; empty if each part is right by itself.

    Args:
        data: The schema as plain data.
        members: Members that a schema may have.
    """
    found: list[str] = []
    for fault in _faults(data, members):
        found.append(fault)
        if len(found) == MOST_FAULTS:
            break
    return found


def _faults(data: Mapping[str, Any], members: Mapping[str, Any]) -> Iterator[str]:
    for name in data:
        if name not in members:
            yield _unknown(str(name), members, "a schema")
    csv = data.get("csv")
    if isinstance(csv, Mapping):
        yield from _of_model(CsvDialect, csv, "csv")
    attributes = data.get("attributes")
    if not isinstance(attributes, list | tuple):
        yield "attributes: must be a list"
        return
    for at, each in enumerate(attributes[:_MOST_ATTRIBUTES], 1):
        yield from _of_attribute(each, at)


def _of_attribute(data: Any, at: int) -> Iterator[str]:
    if isinstance(data, BaseModel):
        return
    if not isinstance(data, Mapping):
        yield f"attribute {at}: must be a mapping with name and kind"
        return
    where = str(data.get("name") or f"attribute {at}")
    kind = data.get("kind")
    if kind not in _CLASSES:
        near = get_close_matches(str(kind), _CLASSES, n=1)
        meant = f". Did you mean {near[0]}?" if near else ""
        yield f"{where}.kind: must be one of {', '.join(_CLASSES)}, got {kind!r}{meant}"
        return
    yield from _of_model(_CLASSES[kind], data, where)


def _of_model(model: type[BaseModel], data: Mapping[str, Any], where: str) -> Iterator[str]:
    known = {str(name): value for name, value in data.items() if name in model.model_fields}
    for name in data:
        if name not in model.model_fields:
            yield f"{where}.{_unknown(str(name), model.model_fields, where)}"
    try:  # past __init__, which names the first fault only
        model.__pydantic_validator__.validate_python(known, self_instance=model.__new__(model))
    except ValidationError as error:
        for each in error.errors(include_url=False, include_input=False):
            place = ".".join([where, *(str(part) for part in each["loc"])])
            rule = each["msg"].removeprefix("Value error, ")
            yield f"{place}: {rule[:1].lower() + rule[1:]}"
    except SchemaError as error:  # of a part of it
        yield f"{where}.{error}"


def _unknown(name: str, known: Mapping[str, Any], what: str) -> str:
    near = get_close_matches(name, list(known), n=1)
    meant = f". Did you mean {near[0]}?" if near else f"; it has {', '.join(known)}"
    return f"{name}: is no member of {what}{meant}"
