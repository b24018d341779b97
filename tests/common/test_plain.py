import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from tacita.common.plain import plain_fields


@dataclass
class Inner:
    x: int

    def as_dict(self) -> dict[str, Any]:
        return {"x": self.x}


@dataclass
class Outer:
    names: tuple[str, ...] = ("a",)
    seconds: float = math.inf
    share: Fraction = Fraction(1, 3)
    inner: Inner = field(default_factory=lambda: Inner(2))
    parents: dict[str, tuple[str, ...]] = field(default_factory=lambda: {"a": (), "b": ("a",)})
    several: tuple[Inner, ...] = (Inner(1),)
    nothing: None = None


def test_fields_become_plain_data():
    assert plain_fields(Outer()) == {
        "names": ["a"],
        "seconds": None,
        "share": "1/3",
        "inner": {"x": 2},
        "parents": {"a": [], "b": ["a"]},
        "several": [{"x": 1}],
        "nothing": None,
    }
