import itertools

import numpy as np
import pyarrow as pa
import pytest

from tacita.assess.audit import audit
from tacita.domain import Boolean, Categorical, Domain, Identifier, Numeric
from tacita.engines.local import LocalEngine
from tacita.errors import InvalidInput
from tacita.learn.trees.splitting import scores_of, shrink_leaves, splits_of
from tacita.learn.trees.trees import CalibratedTrees, Trees
from tacita.noise import SeededSource
from tacita.privacy.accountant import cost
from tacita.privacy.budget import Budget, exact
from tacita.privacy.unit import Neighbours, Unit

ADD, REPLACE, ROW = Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE, Unit.row()
DOMAIN = Domain(
    attributes=[
        Numeric(name="a", bounds=(0, 8), bins=4),
        Categorical(name="b", levels=("x", "y", "z")),
        Boolean(name="c"),
        Categorical(name="kind", levels=("0", "1", "2")),
    ]
)
FEATURES = ("a", "b", "c")
BUDGETS = [Budget.pure(1.0), Budget.approx(1.0, 1e-6), Budget.zcdp(0.1)]


def data(rows=4000, seed=0):
    rng = np.random.default_rng(seed)
    a, b, c = rng.uniform(0, 8, rows), rng.integers(0, 3, rows), rng.random(rows) < 0.5
    kind = np.where(a < 4, np.where(b == 1, 0, 1), np.where(c, 2, 0))
    kind = np.where(rng.random(rows) < 0.1, rng.integers(0, 3, rows), kind)
    return pa.table({"a": a, "b": np.array(["x", "y", "z"])[b], "c": c, "kind": kind.astype(str)})


@pytest.mark.parametrize("kinds", [2, 3])
def test_no_row_moves_a_score_by_more_than_one(kinds):
    """All small tables of one feature with three codes, and every row that may be added."""
    domain = Domain(attributes=[Numeric(name="a", bounds=(0, 3), bins=3), Categorical(name="b", levels=("x", "y"))])
    splits = splits_of(domain, ("a",))
    furthest = 0.0
    most = 3 if kinds == 2 else 1
    for counts in itertools.product(range(most + 1), repeat=3 * kinds):
        table = np.array(counts).reshape(3, kinds)
        before = scores_of([table], splits)
        for code, kind in itertools.product(range(3), range(kinds)):
            more = table.copy()
            more[code, kind] += 1
            furthest = max(furthest, np.abs(scores_of([more], splits) - before).max())
    assert furthest <= 1 + 1e-12
    assert furthest > 0.99


def test_scores_are_those_of_gini():
    rng = np.random.default_rng(1)
    table = rng.integers(0, 50, (4, 3))
    domain = Domain(attributes=[Numeric(name="a", bounds=(0, 4), bins=4), Boolean(name="b")])
    found = scores_of([table], splits_of(domain, ("a",)))
    for at, score in zip((1, 2, 3), found, strict=True):
        sides = table[:at].sum(axis=0), table[at:].sum(axis=0)
        gini = sum(side.sum() * (1 - ((side / side.sum()) ** 2).sum()) for side in sides)
        assert score == pytest.approx(table.sum() - gini)


@pytest.mark.parametrize("budget", BUDGETS, ids=str)
@pytest.mark.parametrize("neighbours", [ADD, REPLACE])
@pytest.mark.parametrize("trees", [1, 5])
def test_what_is_charged_is_the_budget_and_no_more(budget, neighbours, trees):
    plan = Trees(target="kind", features=FEATURES, depth=3, trees=trees).calibrate(
        DOMAIN, budget, unit=ROW, neighbours=neighbours
    )
    spent = cost([(plan.event, 1)], budget, neighbours)
    assert 0.98 * exact(budget.amount) < spent <= exact(budget.amount)
    assert plan.as_dict()["cost"] == pytest.approx(float(spent))


@pytest.mark.parametrize("trees", [1, 4])
def test_it_finds_what_is_there(trees):
    plan = Trees(target="kind", features=FEATURES, depth=4, trees=trees).calibrate(
        DOMAIN, Budget.pure(2.0), unit=ROW, neighbours=ADD
    )
    model = plan.run(LocalEngine(DOMAIN, data(20_000)), SeededSource(0))
    test = data(2000, seed=1)
    told = np.array(model.predict(test).to_pylist())
    assert (told == np.array(test["kind"].to_pylist())).mean() > (0.9 if trees == 1 else 0.7)
    assert plan.read(model.to_json()).to_json() == model.to_json()
    assert model.probabilities(test).sum(axis=1) == pytest.approx(1)
    assert "NOT private" in model.statement()


class _Loud(CalibratedTrees):
    """Noise on leaves that is far too small."""

    @property
    def law(self):
        from tacita.noise import DiscreteLaplace

        return DiscreteLaplace.at_least(super().law.scale / 40)


@pytest.mark.parametrize("broken", [False, True])
def test_an_attack_shows_no_more_than_was_claimed_and_catches_a_broken_one(broken):
    plan = Trees(target="kind", features=("c",), depth=1).calibrate(DOMAIN, Budget.pure(1.0), unit=ROW, neighbours=ADD)
    if broken:
        plan = _Loud(**{name: getattr(plan, name) for name in plan.__dataclass_fields__})

    splits, source = splits_of(DOMAIN, ("c",)), SeededSource(5)
    codes, classes = np.array([[0], [1], [0], [1], [1], [0]]), np.array([0, 1, 2, 0, 1, 2])

    def run(extra, times, rng):
        rows, kinds = (np.append(codes, [[1]], axis=0), np.append(classes, 2)) if extra else (codes, classes)
        trees = [plan.grow_one(rows, kinds, splits, source) for _ in range(times)]
        return np.array([[tree.splits[0].at, *tree.shares.ravel()] for tree in trees])

    shown = audit(run, False, True, trials=1500, rng=np.random.default_rng(0))
    assert (shown.epsilon > 1.0) == broken


def test_a_person_is_protected_with_all_rows():
    domain = Domain(person="who", attributes=[Identifier(name="who"), *DOMAIN.attributes])
    recipe = Trees(target="kind", features=FEATURES, depth=2)
    one, five = (
        recipe.calibrate(domain, Budget.pure(1.0), unit=Unit.of_person("who", max_rows=rows), neighbours=ADD)
        for rows in (1, 5)
    )
    assert five.law.scale == 5 * one.law.scale
    rows = data(300).append_column("who", pa.array([f"p{i % 20}" for i in range(300)]))
    assert five.run(LocalEngine(domain, rows), SeededSource(0)).unit.max_rows == 5


def test_shares_of_drowned_leaves_follow_the_node_above():
    counts = np.array([[90.0, 10.0], [-3.0, 1.0]])
    shares = shrink_leaves(counts, 5.0)
    assert shares.sum(axis=1) == pytest.approx(1)
    assert shares[1, 0] > 0.5


def test_empty_data_and_strange_values_still_answer():
    plan = Trees(target="kind", features=FEATURES, depth=2).calibrate(
        DOMAIN, Budget.pure(1.0), unit=ROW, neighbours=REPLACE
    )
    model = plan.run(LocalEngine(DOMAIN, data(10).slice(0, 0)), SeededSource(0))
    strange = pa.table({"a": [None, 99.0], "b": ["never seen", None], "c": [None, True]})
    assert len(model.predict(strange)) == 2


@pytest.mark.parametrize(
    "more",
    [{"depth": 0}, {"depth": 99}, {"depth": True}, {"trees": 0}, {"features": ()}, {"features": ("kind",)}],
)
def test_what_cannot_be(more):
    with pytest.raises(InvalidInput):
        Trees(**{"target": "kind", "features": FEATURES} | more)
