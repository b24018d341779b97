"""Exact copies of trajectories: found where they were planted, and not among others."""

import numpy as np
import pytest

from tacita.assess.attacks.trajectory_copies import LEAST_VISITS, copied_trajectories
from tacita.errors import InvalidInput


def people(rng, number, length=6):
    return (
        [rng.integers(0, 50, length) for _ in range(number)],
        [np.sort(rng.integers(0, 100, length)) for _ in range(number)],
    )


def test_planted_copies_are_counted():
    rng = np.random.default_rng(0)
    real, control, fresh = (people(rng, 200) for _ in range(3))
    made = tuple(copied[:30] + new[:70] for copied, new in zip(real, fresh, strict=True))
    leak = copied_trajectories(made, real, control, np.random.default_rng(1))
    assert leak.attack.successes == 30
    assert leak.attack.trials == 100
    assert leak.control.successes == 0
    assert leak.risk[1] > 0.15
    assert "30 of 100" in leak.notes[0]


def test_other_times_are_no_copy():
    rng = np.random.default_rng(0)
    real = people(rng, 100)
    shifted = (real[0], [times + 1 for times in real[1]])
    assert copied_trajectories(shifted, real, None, rng).attack.successes == 0


def test_a_smaller_control_is_compared_with_as_many():
    rng = np.random.default_rng(0)
    real, control = people(rng, 400), people(rng, 100)
    leak = copied_trajectories(real, real, control, rng)
    assert leak.attack.successes == 100, "copies of the hundred that were drawn"
    assert "400 of 400" in leak.notes[0]


def test_short_trajectories_do_not_count():
    rng = np.random.default_rng(0)
    real = people(rng, 20, LEAST_VISITS - 1)
    with pytest.raises(InvalidInput):
        copied_trajectories(real, real, None, rng)
