"""Exact sums with private keys, distinct persons, computed columns and derived groups, against all neighbours."""

import itertools
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from tests.privacy.test_partitions import hockey_stick
from tests.support.parts import PartsEngine

from tacita.domain import Categorical, Domain, Identifier, Numeric
from tacita.engines.local import LocalEngine
from tacita.errors import InvalidInput
from tacita.noise import SeededSource
from tacita.privacy.accountant import epsilon_at, pure_epsilon
from tacita.privacy.budget import Budget
from tacita.privacy.partitions import KeySelection
from tacita.privacy.unit import Neighbours, Unit
from tacita.query import Aggregate, Aggregates
from tacita.query.derived import Derived
from tacita.query.expressions import Binary, Computed, Constant, Value
from tacita.query.summing import Gathered, KeyedSums, gather
from tacita.query.where import OneOf

ADD, REPLACE = Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE
DOMAIN = Domain(
    person="who",
    attributes=[
        Identifier(name="who"),
        Identifier(name="code"),
        Categorical(name="g", levels=("a", "b")),
        Numeric(name="x", bounds=(0, 4), bins=4),
    ],
)
M = 2
UNIT = Unit.of_person("who", max_rows=M)
OTHERS = [("p", "k1", "a", 1.0), ("p", "k2", "b", 3.0), ("q", "k1", "b", 4.0), ("r", "k1", "a", 2.0)]
KINDS = list(itertools.product(("k1", "k2", "k3", ""), ("a", "b"), (0.5, 4.0)))
OWNED = [
    [("z", *row) for row in rows]
    for n in (0, 1, 2, 3)
    for rows in itertools.combinations(KINDS[:: 1 if n < 3 else 3], n)
]
TWICE = Derived(attribute=Categorical(name="d", levels=("p", "q")), of=("g",), sizes=(2,), codes=(1, 0))
PLUS = Computed(name="x + 1", of=Binary("+", Value("x"), Constant(1.0)))


def engine(rows):
    who, code, g, x = zip(*rows, strict=True) if rows else ((), (), (), ())
    texts = {"who": who, "code": code, "g": g}
    table = {name: pa.array(values, pa.string()) for name, values in texts.items()} | {"x": pa.array(x, pa.float64())}
    return LocalEngine(DOMAIN, pa.table(table))


@pytest.mark.parametrize("neighbours", [ADD, REPLACE])
def test_named_keys_lose_at_most_the_claim_over_all_neighbours(neighbours):
    recipe = Aggregates(aggregates=[Aggregate(kind="count")], keys=["code"])
    plan = recipe.calibrate(DOMAIN, Budget.approx(3.0, 0.05), unit=UNIT, neighbours=neighbours)
    event = plan.selection.event(UNIT, neighbours)
    times = M * (2 if neighbours is REPLACE else 1)
    assert (plan.selection.epsilon * times, plan.selection.delta * times) == pytest.approx((0.9, 0.025))
    seen = set()
    for mine in OWNED:
        found = gather(plan, engine(OTHERS + mine))
        seen.add(tuple(sorted((key[0], n) for key, n in zip(found.keys, found.units(), strict=True) if n)))
    mine = sorted(seen)
    alone = gather(plan, engine(OTHERS))
    base = tuple(sorted((key[0], n) for key, n in zip(alone.keys, alone.units(), strict=True)))
    pairs = [(base, each) for each in mine] if neighbours is ADD else list(itertools.combinations(mine, 2))
    worst = Fraction(0)
    for one, two in pairs:
        left, right = dict(one), dict(two)
        moved = [left.get(key, 0) - right.get(key, 0) for key in {*left, *right}]
        assert max(map(abs, moved)) <= 1
        assert sum(map(abs, moved)) <= times
        chances = [
            [plan.selection.probability(part.get(key, 0)) for key in ("k1", "k2", "k3")] for part in (left, right)
        ]
        worst = max(worst, hockey_stick(*chances, 0.9), hockey_stick(*reversed(chances), 0.9))
    assert Fraction(0) < worst <= Fraction(0.025)
    assert epsilon_at(event, 0.025 + 1e-12, neighbours) == pytest.approx(0.9)
    assert epsilon_at(plan.event, 0.05, neighbours) <= 3.0


@pytest.mark.parametrize("neighbours", [ADD, REPLACE])
@pytest.mark.parametrize("by", [(), ("g",), ("d",)])
def test_distinct_persons_computed_columns_and_derived_groups_lose_at_most_the_claim(by, neighbours):
    for wanted in (Aggregate(kind="persons"), Aggregate(kind="sum", column="x + 1")):
        recipe = Aggregates(aggregates=[wanted], by=by, derived=[TWICE], computed=[PLUS])
        plan = recipe.calibrate(DOMAIN, Budget.pure(1.0), unit=UNIT, neighbours=neighbours)
        law = plan.laws[0].law
        exact = [plan.exact(engine(OTHERS + mine))[0] for mine in OWNED]
        pairs = ((exact[0], other) for other in exact) if neighbours is ADD else itertools.combinations(exact, 2)
        worst = max(Fraction(int(np.abs(one - two).sum())) / law.scale for one, two in pairs)
        claimed = pure_epsilon(plan.event, neighbours)
        assert worst <= claimed <= 1
        rough = neighbours is REPLACE and wanted.kind == "sum" and by
        assert worst >= claimed * (Fraction(1, 4) if rough else Fraction(99, 100))


def test_sums_of_the_chosen_keys_are_those_of_their_rows():
    rows = [(f"p{i}", f"k{i % 3}", "ab"[i % 2], float(i % 5)) for i in range(60)]
    recipe = Aggregates(
        aggregates=[Aggregate(kind="count"), Aggregate(kind="sum", column="x"), Aggregate(kind="persons")],
        by=["g"],
        keys=["code"],
    )
    plan = recipe.calibrate(DOMAIN, Budget.approx(900.0, 1e-6), unit=UNIT, neighbours=ADD)
    answer = plan.run(engine(rows), SeededSource(2))
    assert answer.by == ("g", "code")
    assert [group for group in answer.groups if group[0] == "a"] == [("a", "k0"), ("a", "k1"), ("a", "k2")]
    for at, (g, key) in enumerate(answer.groups):
        held = [min(row[3], 4.0) for row in rows if (row[2], row[1]) == (g, key)]
        assert answer["count(*)"].value[at] == pytest.approx(len(held), abs=0.5)
        assert answer["persons(*)"].value[at] == pytest.approx(len(held), abs=0.5)
        assert answer["sum(x)"].value[at] == pytest.approx(sum(held), abs=0.5)


@pytest.mark.parametrize("neighbours", [ADD, REPLACE])
def test_persons_in_groups_of_private_keys_lose_at_most_the_claim(neighbours):
    recipe = Aggregates(aggregates=[Aggregate(kind="persons")], keys=["code"], family="laplace")
    plan = recipe.calibrate(DOMAIN, Budget.approx(3.0, 0.05), unit=UNIT, neighbours=neighbours)
    law = plan.laws[0].law
    event = plan.measures[0].event(plan.laws[0], UNIT, neighbours, 1 << 62)
    assert plan.event.events[1] == event
    names = [("k1",), ("k2",), ("k3",)]
    exact = []
    for mine in OWNED:
        found = gather(plan, engine(OTHERS + mine))
        sums = dict(zip(found.keys, found.sums(list(range(len(found.keys))))[0][:, 0].tolist(), strict=True))
        exact.append(np.array([sums.get(name, 0) for name in names]))
    pairs = list(itertools.combinations(exact if neighbours is REPLACE else [], 2)) or [(exact[0], x) for x in exact]
    worst = max(Fraction(int(np.abs(one - two).sum())) / law.scale for one, two in pairs)
    assert Fraction(1, 2) * pure_epsilon(event, neighbours) <= worst <= pure_epsilon(event, neighbours)


def test_a_small_budget_names_only_keys_that_many_have():
    rows = [(f"p{i}", "often" if i < 400 else f"once{i}", "a", 1.0) for i in range(500)]
    recipe = Aggregates(aggregates=[], keys=["code"])
    plan = recipe.calibrate(DOMAIN, Budget.approx(1.0, 1e-6), unit=UNIT, neighbours=ADD)
    assert plan.run(engine(rows), SeededSource(3)).groups == (("often",),)
    assert plan.run(engine([]), SeededSource(3)).groups == ()


def test_rows_without_a_key_are_left_out():
    plan = Aggregates(aggregates=[Aggregate(kind="count")], keys=["code"]).calibrate(
        DOMAIN, Budget.approx(900.0, 1e-6), unit=UNIT, neighbours=ADD
    )
    rows = [(f"p{i}", "" if i % 2 else "k", "a", 1.0) for i in range(40)]
    answer = plan.run(engine(rows), SeededSource(1))
    assert answer.groups == (("k",),)
    assert answer["count(*)"].value[0] == pytest.approx(20, abs=0.5)


@pytest.mark.parametrize(
    ("recipe", "budget", "says"),
    [
        (Aggregates(aggregates=[], keys=["code"]), Budget.pure(1.0), "delta"),
        (Aggregates(aggregates=[], keys=["code"]), Budget.zcdp(1.0), "delta"),
        (Aggregates(aggregates=[], keys=["who"]), Budget.approx(1.0, 1e-6), "person"),
        (Aggregates(aggregates=[], keys=["g"]), Budget.approx(1.0, 1e-6), "public levels"),
    ],
)
def test_keys_need_a_delta_and_no_public_levels(recipe, budget, says):
    with pytest.raises(InvalidInput, match=says):
        recipe.calibrate(DOMAIN, budget, unit=UNIT, neighbours=ADD)


def test_persons_need_a_person():
    rows = Domain(attributes=[Categorical(name="g", levels=("a", "b"))])
    with pytest.raises(InvalidInput, match="person"):
        Aggregates(aggregates=[Aggregate(kind="persons")]).calibrate(
            rows, Budget.pure(1.0), unit=Unit.row(), neighbours=ADD
        )


def test_the_selection_is_that_of_the_plan():
    plan = Aggregates(aggregates=[], keys=["code"]).calibrate(
        DOMAIN, Budget.approx(1.0, 1e-6), unit=UNIT, neighbours=ADD
    )
    assert isinstance(plan.selection, KeySelection)
    assert plan.as_dict()["selection"]["half_at"] == plan.selection.at_least(0.5)
    assert plan.as_dict()["cost"] <= 1.0


# -- in parts --------------------------------------------------------------------------------------------------------


def many_rows(seed):
    rng = np.random.default_rng(seed)
    who = [f"p{n}" if n else "" for n in rng.integers(0, 60, 300)]
    code = [f"k{n}" if n else "" for n in rng.integers(0, 9, 300)]
    return list(zip(who, code, rng.choice(["a", "b", "c"], 300), rng.integers(0, 17, 300) / 4, strict=True))


def in_parts(rows):
    return PartsEngine(DOMAIN, pa.table(dict(zip(("who", "code", "g", "x"), zip(*rows, strict=True), strict=True))))


KINDS_OF_SUMS = [
    Aggregate(kind="count"),
    Aggregate(kind="count", column="x"),
    Aggregate(kind="persons"),
    Aggregate(kind="sum", column="x", bounds=(0, 4)),
    Aggregate(kind="var", column="x", bounds=(0, 4)),
    Aggregate(kind="quantile", column="x", q=0.25, bounds=(0, 4)),
    Aggregate(kind="sum", column="x + 1", bounds=(1, 5)),
]


@pytest.mark.parametrize("by", [(), ("g",), ("d",)])
@pytest.mark.parametrize("asked", KINDS_OF_SUMS, ids=lambda asked: f"{asked.kind} {asked.column}")
def test_sums_in_parts_are_those_of_streaming(asked, by):
    recipe = Aggregates(
        aggregates=[asked], by=by, derived=(TWICE,), computed=(PLUS,), where=OneOf(attribute="x", codes=(1, 2, 3))
    )
    plan = recipe.calibrate(DOMAIN, Budget.pure(1.0), unit=UNIT, neighbours=ADD)
    rows = many_rows(3)
    mine, theirs = plan.exact(in_parts(rows)), plan.exact(engine(rows))
    assert all(np.array_equal(one, other) for one, other in zip(mine, theirs, strict=True))
    assert any(one.any() for one in mine)


@pytest.mark.parametrize("by", [(), ("g",)])
def test_private_keys_in_parts_have_the_same_units_and_sums(by):
    asked = [KINDS_OF_SUMS[at] for at in (0, 2, 3, 4)]
    recipe = Aggregates(aggregates=asked, by=by, keys=["code"])
    plan = recipe.calibrate(DOMAIN, Budget.approx(3.0, 0.05), unit=UNIT, neighbours=ADD)
    rows = many_rows(5)
    mine, theirs = gather(plan, in_parts(rows)), gather(plan, engine(rows))
    assert isinstance(mine, KeyedSums)
    units = [dict(zip(each.keys, each.units(), strict=True)) for each in (mine, theirs)]
    assert units[0] == units[1]
    for chosen in ([("k3",), ("k7",)], [("k1",)], []):
        kept = [[each.keys.index(key) for key in chosen] for each in (mine, theirs)]
        for one, other in zip(mine.sums(kept[0]), theirs.sums(kept[1]), strict=True):
            assert np.array_equal(one, other)


def test_wide_histograms_of_private_keys_are_streamed():
    recipe = Aggregates(aggregates=[KINDS_OF_SUMS[5]], keys=["code"])
    plan = recipe.calibrate(DOMAIN, Budget.approx(3.0, 0.05), unit=UNIT, neighbours=ADD)
    assert isinstance(gather(plan, in_parts(many_rows(5))), Gathered)
