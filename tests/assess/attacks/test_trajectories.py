import numpy as np
import pytest

from tacita.assess.attacks.trajectories import trajectory_similarity
from tacita.errors import InvalidInput


def edits(one, other):
    table = np.zeros((len(one) + 1, len(other) + 1))
    table[:, 0], table[0, :] = np.arange(len(one) + 1), np.arange(len(other) + 1)
    for i, a in enumerate(one, 1):
        for j, b in enumerate(other, 1):
            table[i, j] = min(table[i - 1, j] + 1, table[i, j - 1] + 1, table[i - 1, j - 1] + (a != b))
    return table[-1, -1]


def warps(one, other):
    one, other = (np.asarray(each, float).reshape(len(each), -1) for each in (one, other))
    cost = {(-1, -1): (0.0, 0)}
    for i in range(len(one)):
        for j in range(len(other)):
            before = min(cost.get(step, (np.inf, 0)) for step in ((i - 1, j - 1), (i - 1, j), (i, j - 1)))
            cost[i, j] = (before[0] + np.linalg.norm(one[i] - other[j]), before[1] + 1)
    return cost[len(one) - 1, len(other) - 1]


def walks(rng, count, places=12):
    return [rng.integers(0, places, rng.integers(2, 9)) for _ in range(count)]


def test_similarities_are_their_definitions():
    rng = np.random.default_rng(1)
    made, real = walks(rng, 8), walks(rng, 15)
    found = {name: trajectory_similarity(made, real, measure=name).to_real for name in ("jaccard", "edit", "warping")}
    for place, one in enumerate(made):
        sets = [len({*one} & {*other}) / len({*one} | {*other}) for other in real]
        assert found["jaccard"][place] == pytest.approx(max(sets))
        edit = [1 - edits(one, other) / max(len(one), len(other)) for other in real]
        assert found["edit"][place] == pytest.approx(max(edit))
        costs = [warps(one, other)[0] for other in real]
        assert found["warping"][place] <= 1
        assert (found["warping"][place] == 1) == (min(costs) == 0)


def test_copies_are_found_and_common_routes_are_not():
    rng = np.random.default_rng(2)
    real, control = walks(rng, 60, places=400), walks(rng, 60, places=400)
    copied = trajectory_similarity(real[:20], real, control=control, measure="edit")
    assert copied.largest == 1
    assert copied.above(0.9).risk[0] > 0.8
    made = trajectory_similarity(walks(rng, 60, places=400), real, control=control)
    assert made.above(0.5).risk[1] < 0.05
    everybody = [np.array([1, 2, 3])] * 30  # the route that all take
    common = trajectory_similarity(everybody, everybody, control=everybody)
    assert common.largest == 1
    assert common.above(0.9).risk[0] < 0.1
    assert set(common.as_dict()) >= {"mean", "p95", "largest", "largest_to_control"}


@pytest.mark.parametrize("held", [40, 900])
def test_a_control_of_another_size_makes_no_leak(held):
    """Among more trajectories one is more similar by chance: both sides are cut to the smaller, at random."""
    rng = np.random.default_rng(4)
    real, control, made = (walks(rng, count, places=30) for count in (400, held, 200))
    found = trajectory_similarity(made, real, control=sorted(control, key=len), rng=rng)
    assert found.above(0.5).risk[1] < 0.02
    assert np.array_equal(found.to_real, trajectory_similarity(made, real).to_real)  # the largest is over all
    assert bool(found.notes) == (held < 400)
    assert found.above(0.5).notes == found.notes


def test_points_on_a_map():
    rng = np.random.default_rng(3)
    tracks = [rng.normal(size=(5, 2)).cumsum(axis=0) for _ in range(10)]
    near = [track + 1e-3 for track in tracks[:3]]
    found = trajectory_similarity(near, tracks, measure="warping")
    assert found.to_real.min() > 0.99
    with pytest.raises(InvalidInput, match="coordinates"):
        trajectory_similarity(near, [np.zeros((3, 3))], measure="warping")


def test_bad_input():
    for made, real, measure in (([], [[1]], "edit"), ([[1]], [[]], "edit"), ([[1]], [[1]], "magic")):
        with pytest.raises(InvalidInput):
            trajectory_similarity(made, real, measure=measure)
