import itertools

import numpy as np
import pyarrow as pa
import pytest

from tacita.domain import Domain, Numeric
from tacita.engines.local import LocalEngine
from tacita.errors import InvalidInput
from tacita.noise import SeededSource
from tacita.privacy.accountant import cost
from tacita.privacy.budget import Budget, exact
from tacita.privacy.unit import Neighbours, Unit
from tacita.query.models.pca import PCA, shorten, triangle
from tacita.query.models.point_model import PointModel
from tacita.testing.points import PointsContract

ADD, REPLACE, ROW = Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE, Unit.row()
NAMES = ("a", "b", "c")
SPACE = Domain(attributes=[Numeric(name=n, bounds=(-10, 30), bins=4) for n in NAMES])


@pytest.mark.parametrize("columns", [1, 2, 3])
@pytest.mark.parametrize("norm", [0.5, 1.0, 1.3, None])
@pytest.mark.parametrize("neighbours", [ADD, REPLACE])
def test_no_neighbour_moves_the_triangle_further_than_was_claimed(columns, norm, neighbours):
    recipe = PCA(columns=NAMES[:columns], norm=norm)
    rng = np.random.default_rng(2)
    corners = np.array(list(itertools.product([0.0, 0.5, 1.0], repeat=columns)))
    places = np.concatenate([corners, rng.random((300, columns)), rng.integers(0, 2, (50, columns))])
    rows = triangle(shorten(places, recipe.radius)).astype(float)
    if neighbours is REPLACE:
        pairs = rng.integers(0, len(rows), (3000, 2))
        rows = np.concatenate([rows, rows[pairs[:, 0]] - rows[pairs[:, 1]]])
    for family, moved in (("laplace", np.abs(rows).sum(axis=1)), ("gaussian", np.sqrt((rows**2).sum(axis=1)))):
        shift, parts = recipe.moves(family, neighbours)
        assert parts == 1
        assert moved.max() <= shift
        if neighbours is ADD and (norm is None or family == "gaussian"):
            assert moved.max() > 0.8 * shift


def cloud(rows=20_000):
    rng = np.random.default_rng(3)
    axis = np.array([2.0, 1.0, -2.0]) / 3
    at = 8 + rng.normal(0, 5, (rows, 1)) * axis + rng.normal(0, 1, (rows, 3))
    return LocalEngine(SPACE, pa.table(dict(zip(NAMES, at.T, strict=True)))), at, axis


@pytest.mark.parametrize("budget", [Budget.pure(1.0), Budget.approx(1.0, 1e-6), Budget.zcdp(0.1)], ids=str)
def test_it_finds_the_axis_within_its_budget(budget):
    engine, at, axis = cloud()
    plan = PCA(columns=NAMES).calibrate(SPACE, budget, unit=ROW, neighbours=ADD)
    assert 0.97 * exact(budget.amount) < cost([(plan.event, 1)], budget, ADD) <= exact(budget.amount)
    model = plan.run(engine, SeededSource(1))
    assert abs(model["components"][0] @ axis) > 0.999
    assert model["mean"] == pytest.approx(at.mean(axis=0), abs=0.2)
    assert model["covariance"] == pytest.approx(np.cov(at.T), abs=1.0)
    assert model["variances"][0] > 5 * model["variances"][1]
    assert PointModel.from_json(model.to_json()).to_json() == model.to_json()


def test_measured_error_is_predicted_error():
    engine, at, _ = cloud(500)
    plan = PCA(columns=NAMES).calibrate(SPACE, Budget.pure(1.0), unit=ROW, neighbours=ADD)
    counts = np.array([plan.run(engine, SeededSource(seed))["count"][0] for seed in range(200)])
    assert np.std(counts - len(at)) == pytest.approx(plan.law.std, rel=0.25)


def test_rows_longer_than_the_norm_are_scaled_down():
    rows = shorten(np.random.default_rng(1).random((500, 3)), 0.7)
    assert np.sqrt((rows**2).sum(axis=1)).max() <= 0.7 + 1e-12


def test_drowned_in_noise_it_still_answers():
    empty = LocalEngine(SPACE, pa.table({name: pa.array([], pa.float64()) for name in NAMES}))
    plan = PCA(columns=NAMES).calibrate(SPACE, Budget.pure(0.01), unit=ROW, neighbours=REPLACE)
    assert np.isfinite(plan.run(empty, SeededSource(1))["components"]).all()


@pytest.mark.parametrize("norm", [0.0, -1.0, float("nan"), float("inf")])
def test_a_norm_is_positive_and_finite(norm):
    with pytest.raises(InvalidInput, match="positive"):
        PCA(columns=("a",), norm=norm)


class TestContract(PointsContract):
    def recipes(self):
        yield PCA(columns=("a", "b"))
        yield PCA(columns=("a", "b"), norm=0.5)

    def figures(self, answer):
        return answer["count"]
