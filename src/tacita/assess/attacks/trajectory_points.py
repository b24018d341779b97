"""Known points of a trajectory: an attacker who saw a person a few times looks for the trajectory in the release.

    uniqueness   the share of people whose p random points (place and time) fit no one else's  [de Montjoye et al. 2013]
    attack       the attacker knows p points of a person; if they fit exactly one released trajectory, it guesses that
                 all other points of that one are the person's. A guess is right if at least half of the person's
                 other points are there.

Beside it, the same attack on people who were not in the data: points that many share, such as a station at rush hour,
reveal nothing about a person.

Cost: an index of points; `attempts` people, each with p points.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np

from tacita import check
from tacita.assess.attacks.attack import Attack, Result
from tacita.assess.attacks.trajectory_copies import TimedTracks, needs_times
from tacita.assess.case import Case
from tacita.assess.options import AssessmentOptions
from tacita.assess.rates import Leak, Rate
from tacita.errors import InvalidInput

__all__ = ["KNOWN", "POINTS", "known_points", "uniqueness"]

POINTS = 4
"""Points that an attacker knows."""
_RIGHT = 0.5
Point = tuple[int, int]


def _points(side: TimedTracks) -> list[set[Point]]:
    return [set(zip(places.tolist(), times.tolist(), strict=True)) for places, times in zip(*side, strict=True)]


def _index(tracks: Sequence[set[Point]]) -> dict[Point, set[int]]:
    found: dict[Point, set[int]] = defaultdict(set)
    for number, points in enumerate(tracks):
        for point in points:
            found[point].add(number)
    return found


def _fitting(index: dict[Point, set[int]], known: Sequence[Point]) -> set[int]:
    """Trajectories that have all known points."""
    sets = sorted((index.get(point, set()) for point in known), key=len)
    return set.intersection(*sets)


def _some(points: set[Point], number: int, rng: np.random.Generator) -> list[Point]:
    every = sorted(points)
    return [every[at] for at in rng.choice(len(every), number, replace=False)]


def _eligible(tracks: Sequence[set[Point]], least: int, most: int, rng: np.random.Generator) -> list[int]:
    long_enough = [number for number, points in enumerate(tracks) if len(points) >= least]
    if not long_enough:
        raise InvalidInput(f"must have trajectories of at least {least} distinct points", field="real")
    return [long_enough[at] for at in rng.permutation(len(long_enough))[:most]]


def uniqueness(real: TimedTracks, rng: np.random.Generator, *, points: int = POINTS, people: int = 1000) -> Rate:
    """Return the share of people whose random points fit no other person.

    Args:
        real: Places and times of the people's trajectories.
        rng: Chooses people and points.
        points: Points of each person.
        people: Most people to try.
    """
    check.whole(points, "points", least=1)
    tracks = _points(real)
    index = _index(tracks)
    alone = [
        len(_fitting(index, _some(tracks[person], points, rng))) == 1
        for person in _eligible(tracks, points, people, rng)
    ]
    return Rate.of(alone)


def known_points(
    made: TimedTracks,
    real: TimedTracks,
    control: TimedTracks | None,
    rng: np.random.Generator,
    *,
    points: int = POINTS,
    people: int = 1000,
) -> Leak:
    """Attack people of whom some points are known.

    Args:
        made: Places and times of the released trajectories.
        real: Those of the people in the data.
        control: Those of people who were not used.
        rng: Chooses people and points.
        points: Points that are known.
        people: Most people to attack on each side.
    """
    check.whole(points, "points", least=1)
    released = _points(made)
    index = _index(released)

    def attack(side: TimedTracks) -> Rate:
        tracks, right = _points(side), []
        for person in _eligible(tracks, points + 1, people, rng):
            known = _some(tracks[person], points, rng)
            fits = _fitting(index, known)
            rest = tracks[person].difference(known)
            right.append(len(fits) == 1 and len(rest & released[next(iter(fits))]) >= _RIGHT * len(rest))
        return Rate.of(right)

    tried = attack(real)
    alone = uniqueness(real, rng, points=points, people=people)
    note = f"{points} points of a person fit no one else in the data for {alone.share:.1%} of the people."
    return Leak(
        name=f"trajectories, {points} known points",
        attack=tried,
        baseline=Rate(successes=0, trials=tried.trials),
        control=None if control is None else attack(control),
        notes=(note,),
    )


def _run(case: Case, options: AssessmentOptions, rng: np.random.Generator) -> Iterator[Result]:
    tracks = case.tracks
    assert tracks is not None
    assert tracks.timed is not None
    control = (tracks.control, tracks.timed.control) if tracks.control and tracks.timed.control else None
    yield known_points(
        (tracks.released, tracks.timed.released),
        (tracks.real, tracks.timed.real),
        control,
        rng,
        people=options.attempts,
    )


KNOWN = Attack(
    name="trajectory-points",
    title="known points of trajectories",
    question="Do a few known points of a person reveal the rest of the trajectory?",
    needs="released visits: rows with a person, a time and a place",
    run=_run,
    applies=needs_times,
)
