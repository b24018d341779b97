"""Protocol of attacks: what an attack is, what it returns, and how its result is read.

    attack    a name, a question, its needs, and a function from a case to results
    result    anything with risks, facts for a page, and plain data: `Leak`, `Membership`, ...
    risk      the common reading of a result: success beyond a control group, with interval and guesses

A new attack is a file with an `Attack` and a line in `registry`: `assess`, the command line, REST and the pages read it
from there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from tacita.assess.case import Case
from tacita.assess.options import AssessmentOptions
from tacita.assess.rates import Risk
from tacita.errors import TacitaError

__all__ = ["Attack", "Outcome", "Result", "Risk", "Skipped", "attempt", "needs_rows"]


class Result(Protocol):
    """Result of an attack. `Leak` and `Membership` are results; an attack may have a type of its own."""

    @property
    def name(self) -> str:
        """The attack, as it is shown."""

    def risks_at(self, level: float) -> tuple[Risk, ...]:
        """Return each success beyond a control group, with its interval of this confidence."""

    @property
    def facts(self) -> tuple[tuple[str, str], ...]:
        """The result in words, for a page."""

    def as_dict(self) -> dict[str, Any]:
        """Return plain data without any person's row."""


class Skipped(NamedTuple):
    """Something that could not be computed, with the reason."""

    what: str
    why: str


Outcome = Result | Skipped
Run = Callable[[Case, AssessmentOptions, np.random.Generator], Iterable[Outcome]]
Applies = Callable[[Case, AssessmentOptions], str | None]


def needs_rows(case: Case, options: AssessmentOptions) -> str | None:
    """Return the reason why an attack on released rows does not apply; None if it does."""
    return None if case.released else "It needs released rows."


@dataclass(frozen=True, kw_only=True)
class Attack:
    """An attack of the registry.

    Attributes:
        name: Its key, on every surface: lower case with hyphens.
        title: Its name for people.
        question: The question that it answers, in one sentence.
        needs: Its needs beside the real rows, in words.
        run: Runs it; gives results, and the parts that could not be computed.
        applies: Returns the reason why it does not apply to a case, None if it does.
        shared: Whether it draws from the generator of the assessment, in the order of the registry. Any other attack
            draws from a generator of its own, so that it changes no other figure of the same seed.
    """

    name: str
    title: str
    question: str
    needs: str
    run: Run
    applies: Applies = needs_rows
    shared: bool = False

    def as_dict(self) -> dict[str, str]:
        """Return its description."""
        return {"name": self.name, "title": self.title, "question": self.question, "needs": self.needs}


def attempt(what: str, work: Callable[[], Result]) -> Outcome:
    """Run one part of an attack; one that is refused is skipped, and the others continue."""
    try:
        return work()
    except TacitaError as error:
        return Skipped(what, str(error))
