"""Refusals of a respondent's device, and the two checks that all parts of a question share. Standard library only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeGuard

from tacita.collect.device.draw import WORD_RANGE
from tacita.errors import Refused

__all__ = ["Refusal", "is_integer", "members_of"]


class Refusal(Refused):
    """A question that no client answers, with the reason as a word for programs.

    Args:
        reason: One of the words listed in docs/reference/wire.md, the same in every client.
        rule: What must hold.
        field: The member of the question, or the limit, that the rule is about.
        value: What was there instead; never the respondent's own value.
        hint: The way out.
    """

    def __init__(self, reason: str, rule: str, *, field: str, value: object = None, hint: str | None = None) -> None:
        self.reason = reason
        super().__init__(rule, field=field, value=value, hint=hint)

    def extra(self) -> dict[str, Any]:
        """The reason, beside the common members."""
        return {"reason": self.reason}


def is_integer(value: object) -> TypeGuard[int]:
    """Whether it is an integer as the wire has them, 0 to 2**53 - 1."""
    # bool is an int in Python and 1.0 equals 1; on the wire only digits are an integer.
    return type(value) is int and 0 <= value < WORD_RANGE


def members_of(data: object, field: str, wanted: Sequence[str], optional: Sequence[str] = ()) -> dict[str, Any]:
    """The object, after checking that it has these members, and no others but the optional ones."""
    if not isinstance(data, dict):
        raise Refusal("not-an-object", "must be an object", field=field)
    if missing := [name for name in wanted if name not in data]:
        raise Refusal("missing-member", f"must have the member {missing[0]!r}", field=field)
    if unknown := [name for name in data if name not in wanted and name not in optional]:
        raise Refusal("unknown-member", "may have no other members", field=field, value=unknown[0])
    return data
