"""Exact copies of trajectories: released ones that equal a person's in every place and time.

A trajectory of one or two visits may equal another's by chance: the control shows how often. Only trajectories of at
least `LEAST_VISITS` visits are counted.

Cost: one hash for each trajectory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from tacita.assess.attacks.attack import Attack, Result
from tacita.assess.case import Case
from tacita.assess.options import AssessmentOptions
from tacita.assess.rates import Leak, Rate
from tacita.assess.tracks import Track
from tacita.errors import InvalidInput

__all__ = ["COPIED", "LEAST_VISITS", "TimedTracks", "copied_trajectories", "needs_times", "trajectory_keys"]

LEAST_VISITS = 4
TimedTracks = tuple[Sequence[Track], Sequence[Track]]
"""Places and times of trajectories."""


def trajectory_keys(side: TimedTracks) -> list[bytes]:
    """Return a key of each trajectory that is long enough: its places, then its times."""
    return [
        np.concatenate([places, times]).astype(np.int64).tobytes()
        for places, times in zip(*side, strict=True)
        if len(places) >= LEAST_VISITS
    ]


def copied_trajectories(
    made: TimedTracks, real: TimedTracks, control: TimedTracks | None, rng: np.random.Generator
) -> Leak:
    """Count released trajectories that equal a real one; the control is compared with as many real ones.

    Args:
        made: Places and times of the released trajectories.
        real: Those of the people in the data.
        control: Those of people who were not used.
        rng: Draws equally many from the larger of real and control.
    """
    ours, theirs = trajectory_keys(made), trajectory_keys(real)
    if not ours or not theirs:
        raise InvalidInput(f"must have trajectories of at least {LEAST_VISITS} visits", field="released")
    known = set(theirs)
    copies = sum(key in known for key in ours)
    notes = [f"{copies} of {len(ours)} released trajectories equal one of all {len(theirs)} real ones."]
    beside = None
    if control is not None and (others := trajectory_keys(control)):
        size = min(len(theirs), len(others))
        theirs, others = ([side[at] for at in rng.permutation(len(side))[:size]] for side in (theirs, others))
        known = set(others)
        beside = Rate.of([key in known for key in ours])
        notes.append(f"Compared with {size} real ones and {size} that were held back.")
    known = set(theirs)
    return Leak(
        name="trajectories, exact copies",
        attack=Rate.of([key in known for key in ours]),
        baseline=Rate(successes=0, trials=len(ours)),
        control=beside,
        notes=tuple(notes),
    )


def _run(case: Case, options: AssessmentOptions, rng: np.random.Generator) -> Iterator[Result]:
    tracks = case.tracks
    assert tracks is not None
    assert tracks.timed is not None
    control = (tracks.control, tracks.timed.control) if tracks.control and tracks.timed.control else None
    yield copied_trajectories((tracks.released, tracks.timed.released), (tracks.real, tracks.timed.real), control, rng)


def needs_times(case: Case, options: AssessmentOptions) -> str | None:
    """Return the reason why an attack on timed trajectories does not apply; None if it does."""
    if case.tracks is None or case.tracks.timed is None:
        return "It needs visits: rows with a person, a time and a place."
    return None


COPIED = Attack(
    name="trajectory-copies",
    title="copied trajectories",
    question="Do released trajectories equal those of people?",
    needs="released visits: rows with a person, a time and a place",
    run=_run,
    applies=needs_times,
)
