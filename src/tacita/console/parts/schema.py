"""Descriptions of attributes, and the upload of a schema."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from nicegui import events

from tacita.console.look import kit
from tacita.console.parts.drafting import STEP
from tacita.domain import Domain
from tacita.errors import InvalidInput

__all__ = ["KIND_WORDS", "ROLE_WORDS", "described", "schema_file"]

ROLE_WORDS = {
    "other": "other",
    "quasi-identifier": "quasi-identifier: others may know it",
    "sensitive": "sensitive: no one may infer it",
    "identifier": "identifier: names the person",
}
KIND_WORDS = {
    "categorical": "categorical",
    "ordinal": "ordinal (levels in order)",
    "boolean": "yes or no",
    "numeric": "number",
    "date": "date",
    "identifier": "identifier, never counted",
}
_MOST = 6


def described(attribute: Mapping[str, Any]) -> str:
    """Levels or bounds, as far as they fit.

    >>> described({"kind": "numeric", "bounds": [0.0, 99.0], "bins": 5, "missing": True})
    '0 to 99 in 5 bins, or missing'
    >>> described({"kind": "date", "bounds": ["2020-01-01", "2021-12-31"]})
    '2020-01-01 to 2021-12-31 by month'
    >>> described({"kind": "ordinal", "levels": ["a", "b"], "other": True})
    'a, b, or other'
    """
    if attribute["kind"] in ("categorical", "ordinal"):
        levels = attribute["levels"]
        text = ", ".join(str(level) for level in levels[:_MOST])
        text += f", and {len(levels) - _MOST} more" if len(levels) > _MOST else ""
    elif attribute["kind"] == "numeric":
        low, high = attribute["bounds"]
        bins = len(attribute["edges"]) - 1 if attribute.get("edges") else attribute.get("bins")
        text = f"{low:g} to {high:g}" + (f" in {bins} bins" if bins else "")
    elif attribute["kind"] == "date":
        first, last = attribute["bounds"]
        text = f"{first} to {last} by {attribute.get('by', STEP)}"
    else:
        text = KIND_WORDS[attribute["kind"]]
    return (
        text + (", or other" if attribute.get("other") else "") + (", or missing" if attribute.get("missing") else "")
    )


def schema_file(take: Callable[[str], Any]) -> None:
    """A button that takes a schema from a file; one that holds no schema is refused."""

    async def brought(event: events.UploadEventArguments) -> None:
        try:
            written = (await event.file.read()).decode()
        except UnicodeDecodeError:
            hint = "Save it as UTF-8"
            raise InvalidInput("must be UTF-8 text", field="file", value=event.file.name, hint=hint) from None
        Domain.from_text(written)
        take(written)

    kit.upload("Upload a schema", brought, accept=".yaml,.yml,.json")
