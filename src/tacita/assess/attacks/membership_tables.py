"""Membership inference: was a person in the data from which synthetic rows were made?

    distance        members lie nearer to a released row  [Chen et al. 2020]
    density ratio   the release is denser at a member than the population is  [van Breugel et al. 2023]

Densities are estimated from the distances, over mixed attributes, to the nearest rows. The reference must be people in
neither group: it is half of the control; members are compared with the other half.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacita.assess._nearest import nearest
from tacita.assess.attacks.attack import Attack
from tacita.assess.attacks.roc import Membership
from tacita.assess.case import Case
from tacita.assess.frame import Frame
from tacita.errors import InvalidInput

__all__ = ["DENSITY", "DISTANCE", "density_ratio", "distance_attack"]

_NEIGHBOURS = 3
_FLOOR = 0.01  # of an attribute: smaller distances count as equal
_LEAST = 20


def distance_attack(case: Case, rng: np.random.Generator, *, people: int = 2000) -> Membership:
    """Score by the distance to the nearest released row, over all releases."""
    inside, outside, _ = _groups(case, rng, people)

    def score(frame: Frame) -> NDArray[np.float64]:
        return np.asarray(-np.min([nearest(frame, release)[1][:, 0] for release in case.released], axis=0), np.float64)

    return Membership(name="distance to the release", inside=score(inside), outside=score(outside))


def density_ratio(case: Case, rng: np.random.Generator, *, people: int = 2000) -> Membership:
    """Score by the density of the release over that of the population, at each person.

    Density falls with the distance of the nearest rows; the ratio reduces to the difference of their mean logarithms,
    in which an exact match has a large weight.
    """
    inside, outside, reference = _groups(case, rng, people)
    release = case.first

    def reach(frame: Frame, among: Frame) -> Any:
        distances = nearest(frame, among, count=min(_NEIGHBOURS, len(among)))[1].astype(np.float64)
        return np.log(distances + _FLOOR).mean(axis=1)

    def score(frame: Frame) -> NDArray[np.float64]:
        return np.asarray(reach(frame, reference) - reach(frame, release))

    note = f"reference of {len(reference)} people who are in neither group"
    return Membership(name="density ratio", inside=score(inside), outside=score(outside), notes=(note,))


def _groups(case: Case, rng: np.random.Generator, people: int) -> tuple[Frame, Frame, Frame]:
    """Return members, others, and a reference."""
    if case.control is None or len(case.control) < 2 * _LEAST:
        raise InvalidInput(
            f"needs at least {2 * _LEAST} people whose data was not used",
            field="control",
            value=0 if case.control is None else len(case.control),
            hint="Hold some rows back before releasing",
        )
    order = rng.permutation(len(case.control))
    half = len(order) // 2
    others, reference = case.control.take(order[:half]), case.control.take(order[half:])
    size = min(people, len(others), len(case.real))
    return case.real.take(rng.choice(len(case.real), size, replace=False)), others.take(slice(size)), reference


DISTANCE = Attack(
    name="membership-distance",
    title="membership by distance",
    question="Does the distance to the nearest released row reveal whether a person is in the data?",
    needs="released rows, people held back",
    run=lambda case, options, rng: [distance_attack(case, rng, people=options.attempts)],
    shared=True,
)
DENSITY = Attack(
    name="membership-density",
    title="membership by density",
    question="Does the density of the release beside that of a reference reveal whether a person is in the data?",
    needs="released rows, people held back",
    run=lambda case, options, rng: [density_ratio(case, rng, people=options.attempts)],
    shared=True,
)
