"""Membership by trajectory: a person whose trajectory resembles a released one may have been in the data.

    score   the largest similarity of the person's trajectory to a released one: shared visits out of all visits

Cost: `attempts` people of each side against at most `MOST_RELEASED` released trajectories, drawn at random.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from tacita.assess.attacks.attack import Attack, Result
from tacita.assess.attacks.roc import Membership
from tacita.assess.attacks.trajectories import trajectory_similarity
from tacita.assess.case import Case
from tacita.assess.options import AssessmentOptions
from tacita.assess.tracks import Track

__all__ = ["MEMBER", "MOST_RELEASED", "trajectory_membership"]

MOST_RELEASED = 20_000


def trajectory_membership(
    made: Sequence[Track],
    real: Sequence[Track],
    control: Sequence[Track],
    rng: np.random.Generator,
    *,
    people: int = 1000,
) -> Membership:
    """Score people in the data and people who were not used.

    Args:
        made: Released trajectories.
        real: Those of the people in the data.
        control: Those of people who were not used.
        rng: Chooses people.
        people: Most people of each side.
    """
    notes: tuple[str, ...] = ()
    if len(made) > MOST_RELEASED:
        made = [made[at] for at in rng.permutation(len(made))[:MOST_RELEASED]]
        notes = (f"{MOST_RELEASED} released trajectories were drawn to compare with.",)
    scores = []
    for side in (real, control):
        some = [side[at] for at in rng.permutation(len(side))[:people]]
        scores.append(trajectory_similarity(some, made, measure="multiset").to_real)
    return Membership(name="trajectories", inside=scores[0], outside=scores[1], notes=notes)


def _run(case: Case, options: AssessmentOptions, rng: np.random.Generator) -> Iterator[Result]:
    tracks = case.tracks
    assert tracks is not None
    assert tracks.control is not None
    yield trajectory_membership(tracks.released, tracks.real, tracks.control, rng, people=options.attempts)


def _applies(case: Case, options: AssessmentOptions) -> str | None:
    if case.tracks is None:
        return "It needs visits: rows with a person, a time and a place."
    return None if case.tracks.control is not None else "It needs visits of people held back."


MEMBER = Attack(
    name="membership-trajectory",
    title="membership, trajectories",
    question="Does a trajectory reveal that a person was in the data?",
    needs="released visits: rows with a person, a time and a place; people held back",
    run=_run,
    applies=_applies,
)
