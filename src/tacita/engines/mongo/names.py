"""Names in MongoDB: collections, and fields inside documents as `a.b`.

A name goes into a pipeline as text behind a dollar sign, so one that could mean more than a field is refused: a part
that begins with a dollar (`$$ROOT` is the whole document), an empty part, a zero byte.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tacita.domain import Domain
from tacita.errors import InvalidInput

__all__ = ["MOST_DEPTH", "all_prefixes", "check_collection", "check_fields", "check_path", "prefixes"]

MOST_DEPTH = 8
"""Most parts of a field's name: documents within documents."""
_HINT = "Write `field`, or `document.field` for a field of a document inside"


def check_collection(name: object) -> str:
    """Return the name of a collection or view; refuse one that a user cannot have."""
    text = name if isinstance(name, str) else ""
    parts = text.split(".")
    if not all(parts) or "$" in text or "\0" in text or parts[0] == "system":
        raise InvalidInput("must be the name of a collection", field="table", value=name)
    return text


def check_path(path: str, field: str | None = None) -> str:
    """Return a field's name; refuse one that could mean anything else."""
    parts = path.split(".")
    if not all(parts) or any(part.startswith("$") for part in parts) or "\0" in path:
        raise InvalidInput("cannot be the name of a field", field=field or path, value=path, hint=_HINT)
    if len(parts) > MOST_DEPTH:
        raise InvalidInput(
            f"lies too deep: at most {MOST_DEPTH} parts", field=field or path, value=path, hint="Make a view of it"
        )
    return path


def check_fields(domain: Domain, unwind: str | None) -> None:
    """Refuse a domain whose attributes cannot be fields of one document."""
    for name in domain.names:
        check_path(name)
        if name.split(".", maxsplit=1)[0] == "_id" and domain[name].countable:
            raise InvalidInput("names a document and is never counted", field=name, hint="Make it an identifier")
    for name in domain.names:
        around = next((other for other in prefixes(name) if other in domain.names), None)
        if around is not None:
            raise InvalidInput(f"lies inside {around!r}, which is an attribute itself", field=name)
    if unwind is None:
        return
    check_path(unwind, "unwind")
    if domain.person is None:
        raise InvalidInput(
            "rows of a list belong together, so the schema must name the person they belong to",
            field="unwind",
            value=unwind,
        )
    if domain.person == unwind or _inside(domain.person, unwind):
        raise InvalidInput("the person's key must be beside the list, not in it", field=domain.person)
    if not any(name == unwind or _inside(name, unwind) for name in domain.names):
        raise InvalidInput("no attribute lies in this list", field="unwind", value=unwind)


def prefixes(path: str) -> Sequence[str]:
    """Return the documents that a field lies in, outermost first.

    >>> prefixes("a.b.c")
    ['a', 'a.b']
    """
    parts = path.split(".")
    return [".".join(parts[:depth]) for depth in range(1, len(parts))]


def _inside(path: str, outer: str) -> bool:
    return outer in prefixes(path)


def all_prefixes(paths: Iterable[str]) -> list[str]:
    """Return all documents that any of these fields lies in, each once."""
    return list(dict.fromkeys(outer for path in paths for outer in prefixes(path)))
