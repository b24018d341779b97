"""Options of a command from the model of a request, so that the command line has every member that REST has."""

from __future__ import annotations

import inspect
import json
from collections.abc import Container, Mapping
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

import typer
from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from tacita.errors import InvalidInput
from tacita.wire.refusals import invalid_input

__all__ = ["named_options", "options_of", "request_of"]

M = TypeVar("M", bound=BaseModel)
_PLAIN = (bool, int, float, str)


def options_of(model: type[BaseModel], skip: Container[str] = ()) -> list[inspect.Parameter]:
    """Return one option for each member of a request, with its description as help.

    Lists are written with commas, lists of lists as an option that may be repeated, everything else as JSON.
    """
    return [_option(name, field) for name, field in model.model_fields.items() if name not in skip]


def request_of(model: type[M], given: Mapping[str, Any], **members: Any) -> M:
    """Return the checked request of the options that were given; options that are None keep their defaults.

    Args:
        model: Model of the request.
        given: Options of `options_of`, as they were written.
        **members: Other members, as they are.
    """
    read = {name: _read(name, model.model_fields[name], value) for name, value in given.items() if value is not None}
    try:
        return model.model_validate(read | members)
    except ValidationError as error:
        raise invalid_input(error.errors()) from None


def _option(name: str, field: FieldInfo) -> inspect.Parameter:
    shape = _shape(field.annotation)
    written: Any = {"list": str, "json": str, "lists": list[str]}.get(shape, _bare(field.annotation))
    optional = not field.is_required()
    default = field.default if optional and shape == "plain" else None if optional else inspect.Parameter.empty
    annotation = written | None if optional and default is None else written
    text = (field.description or "") + {"list": " Separated by commas.", "json": " As JSON."}.get(shape, "")
    option = typer.Option(f"--{name.replace('_', '-')}", help=text.strip())
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[annotation, option]
    )


def _bare(annotation: Any) -> Any:
    """The annotation without None."""
    if get_origin(annotation) in (Union, UnionType):
        left = [part for part in get_args(annotation) if part is not NoneType]
        return left[0] if len(left) == 1 else Union[tuple(left)]  # noqa: UP007
    return annotation


def _shape(annotation: Any) -> Literal["plain", "list", "lists", "json"]:
    bare = _bare(annotation)
    if bare in _PLAIN or get_origin(bare) is Literal:
        return "plain"
    if get_origin(bare) is list:
        (inner,) = get_args(bare)
        if inner in _PLAIN:
            return "list"
        if get_origin(inner) is list and get_args(inner)[0] in _PLAIN:
            return "lists"
    return "json"


def _read(name: str, field: FieldInfo, value: Any) -> Any:
    """A member from the text of its option."""
    shape, bare = _shape(field.annotation), _bare(field.annotation)
    if shape == "list":
        return _parts(name, value, get_args(bare)[0])
    if shape == "lists":
        return [_parts(name, text, get_args(get_args(bare)[0])[0]) for text in value]
    if shape == "json":
        try:
            return json.loads(value)
        except ValueError:
            raise InvalidInput("must be JSON", field=name, value=value) from None
    return value


def _parts(name: str, text: str, kind: type) -> list[Any]:
    parts = [part.strip() for part in text.split(",") if part.strip()]
    try:
        return [kind(part) for part in parts]
    except ValueError:
        raise InvalidInput("must be numbers, separated by commas", field=name, value=text) from None


def named_options(texts: list[str]) -> dict[str, Any]:
    """Parse NAME=VALUE; a value is JSON, or else a text."""
    found = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise InvalidInput("must be written NAME=VALUE", field="options", value=text)
        if name.strip() in found:
            raise InvalidInput("must be given once", field="options", value=name.strip())
        try:
            found[name.strip()] = json.loads(value)
        except ValueError:
            found[name.strip()] = value.strip()
    return found
