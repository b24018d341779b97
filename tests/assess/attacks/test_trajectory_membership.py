"""Membership by trajectory: sure where trajectories are published, blind where they are not."""

import itertools

import numpy as np
import pytest

from tacita.assess.attacks import trajectory_membership as room
from tacita.assess.attacks.trajectory_membership import step_membership, trajectory_membership


def people(rng, number):
    return [rng.integers(0, 60, rng.integers(5, 12)) for _ in range(number)]


def test_published_trajectories_reveal_their_people():
    rng = np.random.default_rng(0)
    real, control = people(rng, 300), people(rng, 300)
    found = trajectory_membership(real, real, control, rng, people=150)
    assert found.auc > 0.98
    assert len(found.inside) == len(found.outside) == 150
    assert (found.inside == 1).all()


def test_fresh_trajectories_reveal_no_one(monkeypatch):
    rng = np.random.default_rng(0)
    fresh, real, control = (people(rng, 400) for _ in range(3))
    found = trajectory_membership(fresh, real, control, rng, people=400)
    assert found.auc == pytest.approx(0.5, abs=0.1)
    monkeypatch.setattr(room, "MOST_RELEASED", 50)
    assert "50 released" in trajectory_membership(fresh, real, control, rng, people=60).notes[0]


def test_repeated_steps_reveal_people_although_no_trajectory_is_similar():
    """Steps of all people, shuffled into new trajectories: what a walk on the graph of trips releases."""
    rng = np.random.default_rng(0)
    real, control = ([rng.integers(0, 400, 8) for _ in range(200)] for _ in range(2))
    steps = [(a, b) for track in real for a, b in itertools.pairwise(track)]
    made = [np.array(steps[place]) for place in rng.permutation(len(steps))]
    assert step_membership(made, real, control).auc > 0.99
    fresh = [rng.integers(0, 400, 8) for _ in range(200)]
    assert step_membership(fresh, real, control).auc == pytest.approx(0.5, abs=0.1)


def test_the_share_of_steps_by_hand():
    made = [np.array([1, 2, 3])]
    found = step_membership(made, [np.array([1, 2, 2, 9, 1, 2])], [np.array([3, 2]), np.array([4])])
    assert found.inside == pytest.approx([1 / 3])  # 1-2 of 1-2, 2-9, 9-1
    assert found.outside == pytest.approx([0.0])
