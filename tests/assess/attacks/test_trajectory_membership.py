"""Membership by trajectory: sure where trajectories are published, blind where they are not."""

import numpy as np
import pytest

from tacita.assess.attacks import trajectory_membership as room
from tacita.assess.attacks.trajectory_membership import trajectory_membership


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
