import itertools
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from tacita.domain import Domain, Identifier, Numeric
from tacita.engines.local import LocalEngine
from tacita.errors import InvalidInput
from tacita.noise import SeededSource
from tacita.privacy.accountant import cost, pure_epsilon, zcdp_rho
from tacita.privacy.budget import Budget, exact
from tacita.privacy.unit import Neighbours, Unit
from tacita.query.models.kmeans import KMeans, cell_counts, cluster_sums, far_apart
from tacita.query.models.point_model import PointModel
from tacita.query.models.points import STEPS, points

ADD, REPLACE, ROW = Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE, Unit.row()
PLANE = Domain(attributes=[Numeric(name="x", bounds=(-10, 10), bins=5), Numeric(name="y", bounds=(0, 5), bins=5)])
MIDDLES = np.array([[-6.0, 1.0], [0.0, 4.0], [7.0, 2.0]])


def clouds(rows=6000, seed=1):
    rng = np.random.default_rng(seed)
    at = MIDDLES[rng.integers(0, 3, rows)] + rng.normal(0, [0.8, 0.3], (rows, 2))
    return LocalEngine(PLANE, pa.table({"x": at[:, 0], "y": at[:, 1]}))


def planned(recipe, budget, neighbours=ADD):
    return recipe.calibrate(PLANE, budget, unit=ROW, neighbours=neighbours)


@pytest.mark.parametrize("neighbours", [ADD, REPLACE])
@pytest.mark.parametrize("family", ["laplace", "gaussian"])
def test_no_neighbour_moves_the_sums_further_than_was_claimed_and_some_do(family, neighbours):
    recipe = KMeans(columns=("x", "y"), clusters=3)
    centres = far_apart(3, 2, 0)
    places = [np.array([[a, b]]) for a, b in itertools.product([0.0, 0.31, 0.5, 1.0], repeat=2)]
    sums = [cluster_sums(place, centres).reshape(-1) for place in places]
    cells = [cell_counts(place, recipe.bins) * 2 * STEPS for place in places]
    for seen in (sums, cells):
        check_moves(recipe, seen, family, neighbours)


def check_moves(recipe, seen, family, neighbours):
    nothing = np.zeros_like(seen[0])
    pairs = [(nothing, one) for one in seen] if neighbours is ADD else list(itertools.combinations([nothing, *seen], 2))
    shift, parts = recipe.moves(family, neighbours)
    if family == "laplace":
        worst = max(max((b - a).clip(0).sum(), (a - b).clip(0).sum()) for a, b in pairs)
        total = max(np.abs(b - a).sum() for a, b in pairs)
        assert worst == shift
        assert total == shift * parts
    else:
        squares = max(float(((b - a) ** 2).sum()) for a, b in pairs)
        assert 0.4 * parts * shift**2 < squares <= parts * shift**2


def test_exact_sums_share_out_every_row():
    places = np.random.default_rng(1).random((200, 2))
    sums = cluster_sums(places, far_apart(4, 2, 0))
    assert sums.sum() == 200 * 2 * STEPS
    assert (sums[:, 0].sum(axis=1) == sums[:, 1].sum(axis=1)).all()


@pytest.mark.parametrize("budget", [Budget.pure(1.0), Budget.approx(1.0, 1e-6), Budget.zcdp(0.1)], ids=str)
def test_it_finds_the_clouds_within_its_budget(budget):
    recipe = KMeans(columns=("x", "y"), clusters=3)
    plan = planned(recipe, budget)
    assert 0.97 * exact(budget.amount) < cost([(plan.event, 1)], budget, ADD) <= exact(budget.amount)
    model = plan.run(clouds(), SeededSource(1))
    order = np.argsort(model["centres"][:, 0])
    assert model["centres"][order] == pytest.approx(MIDDLES, abs=0.3)
    assert model["sizes"].sum() == pytest.approx(6000, abs=6 * model["sizes_std"][0] * 3**0.5)
    assert PointModel.from_json(model.to_json()).to_json() == model.to_json()


def test_all_rounds_are_charged():
    one, five = (planned(KMeans(columns=("x",), clusters=2, rounds=n), Budget.pure(1.0)) for n in (1, 5))
    assert five.law.std == pytest.approx(3 * one.law.std, rel=1e-6)  # six releases instead of two: there is the start
    assert pure_epsilon(one.event, ADD) == pure_epsilon(five.event, ADD) == 1
    two = planned(KMeans(columns=("x",), clusters=2, rounds=2), Budget.zcdp(0.1))
    assert zcdp_rho(two.event, ADD) <= exact(0.1)


def test_many_columns_start_without_a_histogram():
    domain = Domain(attributes=[Numeric(name=f"x{i}", bounds=(0, 1), bins=2) for i in range(13)])
    recipe = KMeans(columns=domain.names, clusters=2, rounds=4)
    assert recipe.releases == 4
    plan = recipe.calibrate(domain, Budget.pure(1.0), unit=ROW, neighbours=ADD)
    engine = LocalEngine(domain, pa.table({name: [0.2, 0.9] for name in domain.names}))
    drawn = []
    source = SeededSource(1)
    honest = type(plan.law).draw
    counting = type("Counting", (type(plan.law),), {"draw": lambda self, n, s: drawn.append(n) or honest(self, n, s)})
    replace(plan, law=counting(law=plan.law.law, of=plan.law.of)).run(engine, source)
    assert len(drawn) == 4


def test_a_person_counts_a_bounded_number_of_rows():
    domain = Domain(person="who", attributes=[Identifier(name="who"), *PLANE.attributes])
    rows = pa.table({"who": ["p"] * 50 + ["q"], "x": [1.0] * 51, "y": [1.0] * 51})
    assert len(points(LocalEngine(domain, rows), ["x", "y"], Unit.of_person("who", max_rows=3))) == 4
    wide, narrow = (
        KMeans(columns=("x",), clusters=2).calibrate(
            domain, Budget.pure(1.0), unit=Unit.of_person("who", max_rows=m), neighbours=ADD
        )
        for m in (3, 1)
    )
    assert wide.law.std == pytest.approx(3 * narrow.law.std, rel=1e-6)


def test_with_nobody_the_centres_stay_where_they_began():
    empty = LocalEngine(PLANE, pa.table({"x": pa.array([], pa.float64()), "y": pa.array([], pa.float64())}))
    model = planned(KMeans(columns=("x", "y"), clusters=2, rounds=1), Budget.pure(0.01)).run(empty, SeededSource(3))
    assert ((model["centres"] >= [-10, 0]) & (model["centres"] <= [10, 5])).all()


@pytest.mark.parametrize("more", [{"clusters": 0}, {"clusters": 2, "rounds": 0}, {"clusters": 1001}])
def test_refusals(more):
    with pytest.raises(InvalidInput, match="whole number"):
        KMeans(columns=("x",), **more)
    with pytest.raises(InvalidInput, match="distinct"):
        planned(KMeans(columns=("x", "x"), clusters=2), Budget.pure(1.0))
