import numpy as np
import pytest

from tacita.learn.regression.simulated_points import KINDS, simulate_points


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("task", ["linear", "logistic"])
@pytest.mark.parametrize("columns", [1, 5])
def test_rows_lie_within_the_bounds_and_tell_the_target(kind, task, columns):
    points = simulate_points(kind, 4000, columns, task, np.random.default_rng(0))
    assert points.x.shape == (4000, columns)
    assert np.abs(points.x).max() <= 1
    assert np.abs(points.y).max() <= 1
    if task == "logistic":
        assert set(points.y) == {-1.0, 1.0}
    rows = np.column_stack([np.ones(4000), points.x])
    left = points.y - rows @ np.linalg.lstsq(rows, points.y, rcond=None)[0]
    assert left.std() < 0.95 * points.y.std()


def test_kinds_differ_where_they_say():
    even, spread, piled, flags = (simulate_points(k, 4000, 3, "linear", np.random.default_rng(1)).x for k in KINDS)
    assert even.std() < 0.45 < spread.std()
    assert np.median(piled) < -0.6
    assert set(flags.ravel()) == {-1.0, 1.0}


@pytest.mark.parametrize("kind", KINDS)
def test_one_row_is_enough(kind):
    points = simulate_points(kind, 1, 2, "linear", np.random.default_rng(0))
    assert np.isfinite(points.x).all()
    assert np.isfinite(points.y).all()
