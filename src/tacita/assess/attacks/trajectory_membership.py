"""Membership by trajectory: a person whose trajectory resembles a released one may have been in the data.

    similarity  the largest similarity of the person's trajectory to a released one: shared visits out of all visits
    pairs       the share of the person's steps from one place to the next that occur in the release: a generator that
                repeats rare steps of people reveals them even where no trajectory is similar

Cost: similarity takes `attempts` people of each side against at most `MOST_RELEASED` released trajectories, drawn at
      random; pairs take one pass over all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from tacita.assess.attacks.attack import Attack, Result
from tacita.assess.attacks.roc import Membership
from tacita.assess.attacks.trajectories import trajectory_similarity
from tacita.assess.case import Case
from tacita.assess.options import AssessmentOptions
from tacita.assess.tracks import Track

__all__ = ["MEMBER", "MOST_RELEASED", "step_membership", "trajectory_membership"]

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


def _steps(track: Track) -> set[tuple[int, int]]:
    return {(a, b) for a, b in pairwise(track.tolist()) if a != b}


def step_membership(made: Sequence[Track], real: Sequence[Track], control: Sequence[Track]) -> Membership:
    """Score people by the share of their steps between places that occur in the release.

    Args:
        made: Released trajectories.
        real: Those of the people in the data.
        control: Those of people who were not used.
    """
    known = set().union(*(_steps(track) for track in made))
    scores = [
        np.array([len(steps & known) / len(steps) for steps in map(_steps, side) if steps]) for side in (real, control)
    ]
    return Membership(name="steps of trajectories", inside=scores[0], outside=scores[1])


def _run(case: Case, options: AssessmentOptions, rng: np.random.Generator) -> Iterator[Result]:
    tracks = case.tracks
    assert tracks is not None
    assert tracks.control is not None
    yield trajectory_membership(tracks.released, tracks.real, tracks.control, rng, people=options.attempts)
    yield step_membership(tracks.released, tracks.real, tracks.control)


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
