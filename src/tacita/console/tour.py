"""The tour: five short steps over ordinary pages, from a sample to a release that was assessed and downloaded."""

from __future__ import annotations

from tacita.console.look import kit
from tacita.console.page import Visit

__all__ = ["TOUR", "step"]

TOUR = "tour=yes"
_STEPS = 5


def step(visit: Visit, number: int, words: str) -> bool:
    """Show a step of the tour; return whether this visit is on the tour."""
    if visit.query.get("tour") != "yes":
        return False
    with kit.panel(f"The tour, step {number} of {_STEPS}", level=2) as found:
        found.classes("tour")
        kit.text(words)
    return True
