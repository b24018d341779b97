"""A schema while its owner edits it: rows of fields, and back to a schema.

A draft is computed from private data. Each attribute is marked as private until the owner confirms it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from tacita.domain.attributes import Date
from tacita.errors import InvalidInput

__all__ = ["STEP", "STEPS", "Line", "lines_of", "schema_of"]

_LEVELLED = ("categorical", "ordinal")
STEPS: tuple[str, ...] = get_args(Date.model_fields["by"].annotation)
"""By which steps dates are counted."""
STEP: str = Date.model_fields["by"].default
"""The step of a date whose schema names none."""


@dataclass
class Line:
    """One attribute.

    Attributes:
        levels: One in a line, where it has levels.
        low, high, bins: Where it is a number or a date; bins of a date are its steps: year, month, ...
            Empty bins of a number: its declared edges if it has some, else one cell for each whole number.
        public: Whether its owner says that all of this is public.
        kept: Whether it is in the schema at all.
        rest: What is not edited here.
    """

    name: str
    kind: str
    levels: str = ""
    low: str = ""
    high: str = ""
    bins: str = ""
    role: str = "other"
    description: str = ""
    other: bool = False
    missing: bool = False
    public: bool = False
    kept: bool = True
    rest: dict[str, Any] = field(default_factory=dict)

    @property
    def derived(self) -> tuple[str, ...]:
        """Parts that were read off data."""
        return tuple(self.rest.get("derived", ()))

    @property
    def without_bins(self) -> Literal["edges", "whole", "nothing"]:
        """Meaning of empty bins of a number: its declared edges, one cell for each whole number, or nothing."""
        return "edges" if self.rest.get("edges") else "whole" if self.rest.get("integer") else "nothing"

    def attribute(self) -> dict[str, Any]:
        """As a schema has it."""
        common: dict[str, Any] = {"name": self.name, "kind": self.kind, "role": self.role}
        common |= {name: True for name in ("other", "missing") if getattr(self, name)}
        if self.description:
            common["description"] = self.description
        if self.derived and not self.public:
            common["derived"] = list(self.derived)
        if self.kind in _LEVELLED:
            return common | {"levels": self._levels()}
        if self.kind == "numeric":
            ends = [self._number(self.low, "low"), self._number(self.high, "high")]
            whole = {"integer": True} if self.rest.get("integer") else {}
            return common | {"bounds": ends} | self._bins(*ends) | whole
        if self.kind == "date":
            if not self.bins.strip():
                hint = f"Write one of {', '.join(STEPS)}"
                raise InvalidInput("must be the step by which dates are counted", field=f"{self.name}.by", hint=hint)
            return common | {"bounds": [self.low, self.high], "by": self.bins.strip()}
        return common

    def _levels(self) -> list[str]:
        """Levels as declared where they were not changed, blanks included; others without blanks around them."""
        declared = [str(level) for level in self.rest.get("levels", ())]
        if self.levels == "\n".join(declared):
            return declared
        return [line if line in declared else line.strip() for line in self.levels.split("\n") if line.strip()]

    def _bins(self, low: float, high: float) -> dict[str, Any]:
        """The bins of a number as its owner left them: nothing is filled in for them, and edges follow the bounds."""
        if self.bins.strip():
            count = self._number(self.bins, "bins")
            if not count.is_integer():
                raise InvalidInput("must be a whole number", field=f"{self.name}.bins", value=self.bins)
            return {"bins": int(count)}
        if self.without_bins == "edges":
            return {"edges": [low, *(each for each in self.rest["edges"][1:-1] if low < each < high), high]}
        if self.without_bins == "whole":
            return {}
        hint = "Write a number of bins, such as 10"
        raise InvalidInput("must be the number of bins", field=f"{self.name}.bins", hint=hint)

    def _number(self, text: str, part: str) -> float:
        try:
            return float(text)
        except ValueError:
            raise InvalidInput("must be a number", field=f"{self.name}.{part}", value=text or "nothing") from None


def lines_of(schema: Mapping[str, Any]) -> list[Line]:
    """A line for each attribute of a schema."""
    return [_line(attribute) for attribute in schema["attributes"]]


def _line(attribute: Mapping[str, Any]) -> Line:
    low, high = (_text(end) for end in attribute.get("bounds", ("", "")))
    bins = attribute.get("by", STEP) if attribute["kind"] == "date" else attribute.get("bins") or ""
    return Line(
        name=attribute["name"],
        kind=attribute["kind"],
        levels="\n".join(str(level) for level in attribute.get("levels", ())),
        low=low,
        high=high,
        bins=str(bins),
        role=attribute.get("role", "other"),
        description=attribute.get("description", ""),
        other=attribute.get("other", False),
        missing=attribute.get("missing", False),
        public=not attribute.get("derived"),
        rest=dict(attribute),
    )


def _text(end: object) -> str:
    """A bound as a field shows it; what is read back is the very same number."""
    return str(int(end)) if isinstance(end, float) and end.is_integer() else str(end)


def schema_of(
    title: str, lines: Sequence[Line], nulls: Sequence[str] = (), *, person: str | None = None
) -> dict[str, Any]:
    """The schema that the lines say; rows with the same value of the person's column belong to one person."""
    kept = [line.attribute() for line in lines if line.kept]
    if not kept:
        raise InvalidInput("must have at least one attribute", field="schema")
    found: dict[str, Any] = {"tacita": 1, "title": title, "attributes": kept}
    return found | ({"nulls": list(nulls)} if nulls else {}) | ({"person": person} if person else {})
