"""Parameters as surfaces read them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, get_args

from tacita.anonymize.parameters import REQUIRED, described, one_of, parameters_of


@dataclass(frozen=True)
class Example:
    size: int = field(metadata=described("How many.", ge=1))
    kind: Literal["a", "b"] = field(default="a", metadata=described("Which."))
    pair: tuple[float, float] | None = field(default=None, metadata=described("Two.", parse=len, form="1:2"))
    hidden: int = 0


def test_fields_with_help_are_parameters():
    size, kind, pair = parameters_of(Example)
    assert (size.name, size.type, size.default, size.help, size.bounds) == (
        "size",
        int,
        REQUIRED,
        "How many.",
        {"ge": 1},
    )
    assert (kind.default, get_args(kind.type)) == ("a", ("a", "b"))
    assert (pair.parse, pair.form, pair.default) == (len, "1:2", None)
    assert get_args(size.optional) == (int, type(None))
    assert get_args(one_of(["x", "y"])) == ("x", "y")
