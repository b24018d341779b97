import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from tacita.domain import Boolean, Categorical, Domain, Identifier
from tacita.engines.local import LocalEngine
from tacita.errors import InvalidInput
from tacita.noise import DiscreteGaussian, DiscreteLaplace, SeededSource
from tacita.plans import NoisyTables
from tacita.privacy.accountant import cost, pure_epsilon, zcdp_rho
from tacita.privacy.budget import Budget
from tacita.privacy.event import Pure, Repeated
from tacita.privacy.unit import Neighbours, Unit
from tacita.tables.workload import Workload
from tacita.testing.mechanism import SMOKERS, MechanismContract

ADD, REPLACE = Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE


class TestNoisyTables(MechanismContract):
    def recipes(self):
        return [
            NoisyTables(Workload.of(["smokes", "age"])),
            NoisyTables(Workload.of(["age"]), family="laplace"),
            NoisyTables(Workload((("smokes",), ("age", "smokes"), ()), weights=(4, 1, 1))),
            NoisyTables(Workload.of(["smokes"]), family="gaussian"),
            NoisyTables(Workload.of(["smokes"], ["age"]), family="laplace", grid=64),
        ]

    def test_the_contract_catches_half_of_the_noise(self):
        plan = NoisyTables(Workload.of(["smokes"])).calibrate(
            SMOKERS, Budget.pure(1.0), unit=Unit.row(), neighbours=ADD
        )
        honest = DiscreteLaplace.draw
        broken = type("Narrow", (DiscreteLaplace,), {"draw": lambda self, n, s: honest(self, n, s) // 2})
        with pytest.raises(AssertionError, match="an attack shows"):
            self.attack(replace(plan, laws=(broken(scale=plan.laws[0].scale),)))

    def test_the_contract_catches_a_false_claim(self):
        plan = NoisyTables(Workload.of(["smokes"])).calibrate(
            SMOKERS, Budget.pure(1.0), unit=Unit.row(), neighbours=ADD
        )
        claims_less = type("Liar", (type(plan),), {"event": Pure(epsilon=0.4)})
        with pytest.raises(AssertionError, match="an attack shows"):
            self.attack(claims_less(**{name: getattr(plan, name) for name in plan.__dataclass_fields__}))


# -- on a grid ---------------------------------------------------------------------------------------------------------


def test_a_grid_changes_the_cost_of_many_questions_and_not_of_one():
    plain, fine = (
        NoisyTables(Workload.of(["smokes"]), grid=grid).calibrate(
            SMOKERS, Budget.pure(0.1), unit=Unit.row(), neighbours=ADD
        )
        for grid in (1, 64)
    )
    account = Budget.approx(10.0, 1e-6)
    assert pure_epsilon(plain.event, ADD) == pure_epsilon(fine.event, ADD) == Fraction(1, 10)
    assert float(cost([(plain.event, 100)], account, ADD)) > 4.77
    assert float(cost([(fine.event, 100)], account, ADD)) <= 4.70
    assert fine.predict()[0].std == pytest.approx(plain.predict()[0].std, rel=1e-3)


def test_released_counts_are_multiples_of_the_grid():
    plan = NoisyTables(Workload.of(["x"]), grid=4).calibrate(
        PEOPLE, Budget.pure(1.0), unit=Unit.of_person("who", max_rows=2), neighbours=ADD
    )
    values = plan.run(engine_of([("p", "0", True)]), SeededSource(3))["x",].values
    assert np.array_equal(values * 4, np.rint(values * 4))
    assert not np.array_equal(values, np.rint(values))


@pytest.mark.parametrize("grid", [0, -1, 1.5, True, 1 << 17])
def test_a_grid_is_a_whole_number_of_steps(grid):
    with pytest.raises(InvalidInput, match="whole number"):
        NoisyTables(Workload.of(["x"]), grid=grid)


# -- sensitivity, by brute force through a real engine -----------------------------------------------------------------

PEOPLE = Domain(
    person="who",
    attributes=[
        Identifier(name="who"),
        Categorical(name="x", levels=["0", "1", "2"]),
        Boolean(name="y", missing=True),
    ],
)
WORKLOAD = Workload.of(["x", "y"], ["y"])


def engine_of(rows):
    who, x, y = zip(*rows, strict=True) if rows else ((), (), ())
    return LocalEngine(
        PEOPLE,
        pa.table({"who": pa.array(who, pa.string()), "x": pa.array(x, pa.string()), "y": pa.array(y, pa.bool_())}),
    )


def neighbours_of(rows, notion, rng):
    for person in sorted({who for who, *_ in rows}):
        rest = [row for row in rows if row[0] != person]
        if notion is ADD:
            yield rest
        else:
            for n in (1, 5):
                yield rest + [
                    (person, str(rng.integers(0, 3)), [True, False, None][rng.integers(0, 3)]) for _ in range(n)
                ]
            yield rest + [(person, "2", True)] * 6


@pytest.mark.parametrize("notion", [ADD, REPLACE])
@pytest.mark.parametrize("max_rows", [1, 3])
@pytest.mark.parametrize("budget", [Budget.pure(1.0), Budget.zcdp(0.5)])
def test_no_neighbour_loses_more_than_was_claimed_and_some_lose_all_of_it(notion, max_rows, budget):
    unit = Unit.of_person("who", max_rows=max_rows)
    plan = NoisyTables(WORKLOAD).calibrate(PEOPLE, budget, unit=unit, neighbours=notion)
    claimed = float((pure_epsilon if budget.currency == "pure" else zcdp_rho)(plan.event, notion))
    rng, worst = np.random.default_rng(4), 0.0
    for _ in range(12):
        size = int(rng.integers(1, 12))
        people, values = rng.choice(["a", "b", "c"], size), rng.integers(0, 3, (size, 2))
        rows = [(p, str(x), [True, False, None][y]) for p, (x, y) in zip(people, values, strict=True)]
        rows += [("d", "0", False)] * 4  # one person whose rows all fall into one cell
        before = engine_of(rows).tables(WORKLOAD, unit)
        for other in neighbours_of(rows, notion, rng):
            after = engine_of(other).tables(WORKLOAD, unit)
            loss = 0.0
            for key, law in zip(WORKLOAD, plan.laws, strict=True):
                moved = np.abs(before[key].values - after[key].values)
                # privacy loss of independent noise at these shifts, from the law alone
                if isinstance(law, DiscreteLaplace):
                    loss += float(moved.sum() / law.scale)
                else:
                    loss += float((moved**2).sum() / (2 * law.sigma2))
            worst = max(worst, loss)
    assert worst <= claimed + 1e-9
    assert worst == pytest.approx(claimed, rel=1e-9)  # the claim is not wasteful either


# -- choices -----------------------------------------------------------------------------------------------------------


def plan_for(recipe, budget, neighbours=ADD):
    return recipe.calibrate(SMOKERS, budget, unit=Unit.row(), neighbours=neighbours)


def test_scales_are_exact():
    assert plan_for(NoisyTables(Workload.of(["age"])), Budget.pure(0.1)).laws[0].scale == 10
    assert plan_for(NoisyTables(Workload.of(["age"])), Budget.pure(0.7), REPLACE).laws[0].scale == Fraction(20, 7)
    assert plan_for(NoisyTables(Workload.of(["age"], ["smokes"])), Budget.pure(0.5)).laws[1].scale == 4


def test_family_by_budget():
    recipe = NoisyTables(Workload.of(["age"]))
    assert isinstance(plan_for(recipe, Budget.pure(1)).laws[0], DiscreteLaplace)
    assert isinstance(plan_for(recipe, Budget.zcdp(1)).laws[0], DiscreteGaussian)
    assert isinstance(plan_for(recipe, Budget.approx(1, 1e-6)).laws[0], DiscreteLaplace)
    many = NoisyTables(Workload((("age",), ("smokes",), ("smokes", "age"), ()), ()))
    pure, gauss = (plan_for(replace(many, family=family), Budget.approx(1, 1e-3)) for family in ("laplace", "gaussian"))
    chosen = plan_for(many, Budget.approx(1, 1e-3))
    assert chosen.laws[0].variance == min(pure.laws[0].variance, gauss.laws[0].variance)


def test_weights_give_the_smallest_weighted_variance():
    """The split beats both an even split and its own neighbours."""
    weights = (8.0, 1.0)
    for family, budget in (("laplace", Budget.pure(1)), ("gaussian", Budget.zcdp(0.1))):
        keys = (("age",), ("smokes",))
        chosen = plan_for(NoisyTables(Workload(keys, weights), family=family), budget)
        even = plan_for(NoisyTables(Workload(keys), family=family), budget)

        def loss(plan):
            return sum(w * law.variance for w, law in zip(weights, plan.laws, strict=True))

        assert loss(chosen) < 0.9 * loss(even)
        for tilt in (0.5, 2.0):
            tilted = plan_for(NoisyTables(Workload(keys, (8.0 * tilt, 1.0)), family=family), budget)
            assert loss(chosen) <= loss(tilted) * 1.001


def test_total_count_is_a_table_without_attributes():
    plan = plan_for(NoisyTables(Workload.of([])), Budget.pure(1000))
    engine = LocalEngine(SMOKERS, pa.table({"smokes": ["never", "daily"], "age": [3, 40]}))
    assert int(plan.run(engine, SeededSource(1))[()].values) == 2


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: plan_for(NoisyTables(Workload.of(["height"])), Budget.pure(1)), "height"),
        (
            lambda: plan_for(NoisyTables(Workload.of(["age"]), family="gaussian"), Budget.pure(1)),
            "pure epsilon",
        ),
        (lambda: NoisyTables(Workload.of(["age"]), family="cauchy"), "family"),
        (
            lambda: NoisyTables(Workload.of(["x"])).calibrate(PEOPLE, Budget.pure(1), unit=Unit.row(), neighbours=ADD),
            "person:who:MAX_ROWS",
        ),
    ],
)
def test_refusals(make, says):
    with pytest.raises(InvalidInput, match=says):
        make()


def test_tables_too_large_for_noise_on_every_cell():
    wide = Domain(attributes=[Categorical(name=f"x{i}", levels=[str(j) for j in range(60)]) for i in range(6)])
    with pytest.raises(InvalidInput, match="every cell"):
        NoisyTables(Workload.of(wide.names)).calibrate(wide, Budget.pure(1), unit=Unit.row(), neighbours=ADD)


def test_plan_is_plain_data():
    import json

    plan = plan_for(NoisyTables(Workload.of(["age"])), Budget.approx(0.5, 1e-6))
    data = json.loads(json.dumps(plan.as_dict()))
    assert data["cost"] <= 0.5
    assert data["predictions"][0]["cells"] == 3


def test_every_pair_of_unit_and_neighbours_is_tried():
    """A guard for the brute force above: all four notions reach the same formulas."""
    seen = {
        plan.event.to_json()
        for max_rows, notion in itertools.product([1, 3], [ADD, REPLACE])
        for plan in [
            NoisyTables(WORKLOAD).calibrate(
                PEOPLE, Budget.pure(1.0), unit=Unit.of_person("who", max_rows=max_rows), neighbours=notion
            )
        ]
    }
    assert len(seen) == 4


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
@pytest.mark.parametrize("delta", [1e-9, 1e-4])
@pytest.mark.parametrize("tables", [1, 3, 8, 30])
@pytest.mark.parametrize("heavy", [1.0, 25.0])
def test_the_better_family_is_taken(epsilon, delta, tables, heavy):
    domain = Domain(attributes=[Boolean(name=f"b{at}") for at in range(tables)])
    workload = Workload.of(*([name] for name in domain.names))
    workload = replace(workload, weights=(heavy, *workload.weights[1:]))
    terms = {"unit": Unit.row(), "neighbours": Neighbours.ADD_REMOVE}

    def variance(family):
        plan = NoisyTables(workload, family=family).calibrate(domain, Budget.approx(epsilon, delta), **terms)
        return sum(weight * law.variance for weight, law in zip(workload.weights, plan.laws, strict=True))

    assert variance("auto") == min(variance("laplace"), variance("gaussian"))


@pytest.mark.parametrize("neighbours", list(Neighbours))
def test_tables_of_one_law_are_one_event(neighbours):
    domain = Domain(attributes=[Boolean(name=f"b{at}") for at in range(40)])
    keys = list(itertools.combinations(domain.names, 2))
    plan = NoisyTables(Workload.of(*keys)).calibrate(
        domain, Budget.approx(1.0, 1e-6), unit=Unit.row(), neighbours=neighbours
    )
    assert isinstance(plan.event, Repeated)
    one = NoisyTables(Workload.of(keys[0])).calibrate(domain, plan.budget, unit=Unit.row(), neighbours=neighbours)
    one = replace(one, laws=plan.laws[:1])
    assert cost([(plan.event, 1)], plan.budget, neighbours) == cost([(one.event, len(keys))], plan.budget, neighbours)
