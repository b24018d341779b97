"""Known points of a trajectory: uniqueness by brute force, and an attack that needs the person in the data."""

import numpy as np
import pytest

from tacita.assess.attacks.trajectory_points import known_points, uniqueness
from tacita.errors import InvalidInput


def people(rng, number, places=40, length=8):
    return (
        [rng.integers(0, places, length) for _ in range(number)],
        [np.arange(length) * 3 for _ in range(number)],
    )


def test_uniqueness_of_all_points_by_brute_force():
    """With as many points as a trajectory has, uniqueness is the share of trajectories that contain no other."""
    rng = np.random.default_rng(0)
    real = people(rng, 150, places=2, length=5)
    sets = [frozenset(zip(p.tolist(), t.tolist(), strict=True)) for p, t in zip(*real, strict=True)]
    alone = [sum(one <= other for other in sets) == 1 for one in sets]
    found = uniqueness(real, np.random.default_rng(1), points=5, people=1000)
    assert (found.successes, found.trials) == (sum(alone), 150)


def test_more_points_make_people_more_unique():
    real = people(np.random.default_rng(0), 100, places=6)
    shares = [uniqueness(real, np.random.default_rng(1), points=p).share for p in (2, 3, 5)]
    assert shares[0] < shares[1] < shares[2]


def test_published_trajectories_are_found_and_fresh_ones_are_not():
    rng = np.random.default_rng(0)
    real, control, fresh = (people(rng, 300) for _ in range(3))
    open_data = known_points(real, real, control, np.random.default_rng(1), people=200)
    assert open_data.attack.share > 0.95
    assert open_data.control.share < 0.05
    assert open_data.attack.trials == 200
    safe = known_points(fresh, real, control, np.random.default_rng(1), people=200)
    assert safe.attack.share < 0.05
    assert "fit no one else" in safe.notes[0]


def test_several_fitting_trajectories_are_no_guess():
    rng = np.random.default_rng(0)
    real = people(rng, 50)
    twice = tuple(side * 2 for side in real)
    assert known_points(twice, real, None, rng).attack.successes == 0


def test_too_short_trajectories_are_refused():
    rng = np.random.default_rng(0)
    with pytest.raises(InvalidInput):
        known_points(people(rng, 5), people(rng, 5, length=3), None, rng)
    with pytest.raises(InvalidInput):
        uniqueness(people(rng, 5), rng, points=0)
