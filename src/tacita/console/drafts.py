"""Unsent input of a form, which survives a lost connection and a page that is loaded again.

A page lives on the server and ends soon after its browser is gone; a browser that returns later loads the page anew.
Fields of a form therefore write their values into a draft of the session, and take them from there when the page is
built again. A draft ends when its form was sent, when its owner discards it, or with the session.

Privacy: a draft is held in memory only, in the session of the person who typed it. Secrets are not written into drafts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

__all__ = ["MOST_DRAFTS", "Draft", "draft_of"]

T = TypeVar("T")

MOST_DRAFTS = 50
"""Drafts of one session; the one that was opened longest ago goes first."""


@dataclass
class Draft:
    """The values of one form, by the names of its fields.

    Attributes:
        restored: Whether a field was built with another value than the page itself would give it.
    """

    values: dict[str, Any] = field(default_factory=dict)
    restored: bool = False
    _before: dict[str, Any] = field(default_factory=dict)

    def begin(self) -> None:
        """Begin to build the page: fields take what they held before, each once."""
        self._before, self.values, self.restored = self.values, {}, False

    def take(self, name: str, value: T, *, fits: Callable[[Any], bool] = lambda _: True) -> T:
        """The value with which to build a field: what it held before, or else the page's own.

        Args:
            name: Of the field.
            value: The page's own.
            fits: Whether the field can hold what it held before: options may have changed.
        """
        if name in self._before:
            before = self._before.pop(name)
            if fits(before):
                self.restored = self.restored or before != value
                self.values[name] = value = before
        elif name in self.values:  # the page has changed what was typed
            self.values[name] = value
        return value

    def note(self, name: str, value: Any) -> None:
        """Write down what a field holds now."""
        self.values[name] = value

    def settle(self) -> None:
        """The page is built: fields that appear from now on have the values that the page gives them."""
        self._before = {}

    def forget(self) -> None:
        """The form was sent, or its owner discards it."""
        self.values.clear()
        self.settle()


def draft_of(drafts: dict[str, Draft], address: str) -> Draft:
    """The draft of the form at an address, moved to the end; a new one where there is none."""
    found = drafts.pop(address, None) or Draft()
    drafts[address] = found
    while len(drafts) > MOST_DRAFTS:
        del drafts[next(iter(drafts))]
    return found
