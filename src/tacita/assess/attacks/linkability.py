"""Linkability: two records of a person, in two sources, are found to belong together.  [Giomi et al. 2023]

An attacker has one source with some attributes of a person and another source with others. In the release they search
the rows nearest to the one record and those nearest to the other. If the two searches share a row, the two records are
linked, which counts as a success for that person.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from tacita import check
from tacita.assess._nearest import nearest
from tacita.assess.attacks.attack import Attack, Result, needs_rows
from tacita.assess.case import Case
from tacita.assess.frame import Frame
from tacita.assess.options import AssessmentOptions
from tacita.assess.rates import Leak, Rate
from tacita.errors import InvalidInput

__all__ = ["LINKABILITY", "both_sides", "linkability"]


def linkability(
    case: Case,
    known: tuple[Sequence[str], Sequence[str]],
    rng: np.random.Generator,
    *,
    attempts: int = 2000,
    neighbours: int = 1,
) -> Leak:
    """Measure how often two records of a person are linked through the first release.

    Args:
        case: The release and the people.
        known: The attributes in the one source and in the other; they do not overlap.
        rng: Picks the people.
        attempts: Number of people on each side; all of the smaller side if there are fewer.
        neighbours: Number of nearest rows that each search returns.
    """
    one, other = (case.domain.check_countable(part) for part in known)
    if not one or not other or set(one) & set(other):
        raise InvalidInput(
            "must be two lists without a common attribute", field="known", value=[list(one), list(other)]
        )
    if type(neighbours) is not int or not 1 <= neighbours <= len(case.first):
        raise InvalidInput(
            "must be at least 1 and at most the rows of the release", field="neighbours", value=neighbours
        )
    people, control = both_sides(case, attempts, rng)
    random = [rng.integers(len(case.first), size=(len(people), neighbours)) for _ in range(2)]
    return Leak(
        name="linkability",
        attack=Rate.of(_linked(people, case.first, one, other, neighbours)),
        baseline=Rate.of(_shared(*random)),
        control=None if control is None else Rate.of(_linked(control, case.first, one, other, neighbours)),
    )


def both_sides(case: Case, attempts: int, rng: np.random.Generator) -> tuple[Frame, Frame | None]:
    """Draw equally many people in the data and not in it, so that both shares are equally precise."""
    check.whole(attempts, "attempts", least=1)
    size = min(attempts, len(case.real), len(case.real) if case.control is None else len(case.control))
    return _some(case.real, size, rng), None if case.control is None else _some(case.control, size, rng)


def _some(frame: Frame, count: int, rng: np.random.Generator) -> Frame:
    return frame if count >= len(frame) else frame.take(rng.choice(len(frame), count, replace=False))


def _linked(
    people: Frame, release: Frame, one: Sequence[str], other: Sequence[str], neighbours: int
) -> NDArray[np.bool_]:
    return _shared(*(nearest(people, release, part, count=neighbours)[0] for part in (one, other)))


def _shared(one: NDArray[np.int64], other: NDArray[np.int64]) -> NDArray[np.bool_]:
    return np.asarray((one[:, :, None] == other[:, None, :]).any(axis=(1, 2)))


def _run(case: Case, options: AssessmentOptions, rng: np.random.Generator) -> Iterator[Result]:
    assert options.linked is not None
    yield linkability(case, options.linked, rng, attempts=options.attempts)


def _applies(case: Case, options: AssessmentOptions) -> str | None:
    if options.linked is None:
        return "It needs at least two attributes that are not secret."
    return needs_rows(case, options)


LINKABILITY = Attack(
    name="linkability",
    title="linkability",
    question="Do two parts of the knowledge about a person lead to the same released row?",
    needs="released rows, at least two attributes that are not secret",
    run=_run,
    applies=_applies,
    shared=True,
)
