"""A schema while its owner edits it: rows of fields, and back to a schema.

What a draft says was read off private data. It stays marked as such, part by part, until the owner says of the
attribute that all of it is public.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tacita.errors import InvalidInput

__all__ = ["Line", "lines_of", "schema_of"]

_LEVELLED = ("categorical", "ordinal")


@dataclass
class Line:
    """One attribute.

    Attributes:
        levels: One in a line, where it has levels.
        low, high, bins: Where it is a number or a date; bins of a date are its steps: year, month, ...
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

    def attribute(self) -> dict[str, Any]:
        """As a schema has it."""
        common: dict[str, Any] = {"name": self.name, "kind": self.kind, "role": self.role}
        common |= {name: True for name in ("other", "missing") if getattr(self, name)}
        if self.description:
            common["description"] = self.description
        if self.derived and not self.public:
            common["derived"] = list(self.derived)
        if self.kind in _LEVELLED:
            levels = [line.strip() for line in self.levels.splitlines() if line.strip()]
            return common | {"levels": levels}
        if self.kind == "numeric":
            ends = [self._number(self.low, "low"), self._number(self.high, "high")]
            whole = {"integer": True} if self.rest.get("integer") else {}
            if self.rest.get("edges") and not self.bins:
                return common | {"bounds": ends, "edges": self.rest["edges"]} | whole
            return common | {"bounds": ends, "bins": int(self._number(self.bins or "10", "bins"))} | whole
        if self.kind == "date":
            return common | {"bounds": [self.low, self.high], "by": self.bins or "year"}
        return common

    def _number(self, text: str, part: str) -> float:
        try:
            return float(text)
        except ValueError:
            raise InvalidInput("must be a number", field=f"{self.name}.{part}", value=text or "nothing") from None


def lines_of(schema: Mapping[str, Any]) -> list[Line]:
    """A line for each attribute of a schema."""
    return [_line(attribute) for attribute in schema["attributes"]]


def _line(attribute: Mapping[str, Any]) -> Line:
    low, high = (f"{end:g}" if isinstance(end, float) else str(end) for end in attribute.get("bounds", ("", "")))
    bins = attribute.get("by") or attribute.get("bins") or ""
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


def schema_of(title: str, lines: Sequence[Line], nulls: Sequence[str] = ()) -> dict[str, Any]:
    """The schema that the lines say."""
    kept = [line.attribute() for line in lines if line.kept]
    if not kept:
        raise InvalidInput("must have at least one attribute", field="schema")
    found: dict[str, Any] = {"tacita": 1, "title": title, "attributes": kept}
    return found | ({"nulls": list(nulls)} if nulls else {})
