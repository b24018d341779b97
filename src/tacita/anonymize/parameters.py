"""Parameters of criteria and options of methods: dataclass fields that every surface reads.

    k: int = field(metadata=described("Least number of indistinguishable people in a class.", ge=1))

The command line makes an option of each, the REST interface a member of a request. So a criterion or a method says in
one place what may be set, and to what.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, dataclass, fields
from functools import cache
from typing import Any, Literal, get_type_hints

__all__ = ["REQUIRED", "Parameter", "described", "one_of", "parameters_of"]

REQUIRED: Any = MISSING
"""Default of a parameter that must be given."""


@dataclass(frozen=True, kw_only=True)
class Parameter:
    """One parameter of a criterion, or one option of a method.

    Attributes:
        name: Its name on every surface.
        type: Its type.
        default: Its default, or `REQUIRED`.
        help: One sentence for users.
        bounds: Limits of a number, as pydantic names them: ge, gt, le, lt.
        parse: Read it from a text of the command line, where its type has no text of its own.
        form: An example of that text.
    """

    name: str
    type: Any
    default: Any
    help: str
    bounds: Mapping[str, float]
    parse: Callable[[str], Any] | None = None
    form: str | None = None

    @property
    def optional(self) -> Any:
        """Its type, or None."""
        return self.type | None


def described(
    help: str, *, parse: Callable[[str], Any] | None = None, form: str | None = None, **bounds: float
) -> dict[str, Any]:
    """Metadata of a dataclass field that is a parameter."""
    return {"help": help, "parse": parse, "form": form, "bounds": bounds}


def one_of(names: Iterable[str]) -> Any:
    """The type of a text that is one of these names."""
    literal: Any = Literal
    return literal[tuple(names)]


@cache
def parameters_of(kind: Any) -> tuple[Parameter, ...]:
    """All parameters of a dataclass, in order."""
    types = get_type_hints(kind)
    return tuple(
        Parameter(name=each.name, type=types[each.name], default=each.default, **each.metadata)
        for each in fields(kind)
        if "help" in each.metadata
    )
