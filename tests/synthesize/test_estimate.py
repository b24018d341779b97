import numpy as np
import pyarrow as pa
import pytest

from tacita.domain import Boolean, Categorical, Domain
from tacita.engines.local import LocalEngine
from tacita.noise import SeededSource
from tacita.plans import NoisyTables
from tacita.privacy.budget import Budget
from tacita.privacy.unit import Neighbours, Unit
from tacita.synthesize import Adaptive, Pairs, PrivBayes, SpanningTree
from tacita.synthesize.estimate import LOST, lost_rows, measurements_of, rows_of
from tacita.tables.workload import Workload

LOSING = Domain(attributes=[Boolean(name="x"), Boolean(name="y"), Categorical(name="town", levels=("p", "q", "r"))])


def people(count=6000, lost=0.3):
    """y mostly equals x; some rows have a town that the schema does not know."""
    rng = np.random.default_rng(3)
    x = rng.random(count) < 0.3
    y = np.where(rng.random(count) < 0.9, x, ~x)
    town = np.where(rng.random(count) < lost, "elsewhere", rng.choice(["p", "q", "r"], count, p=[0.2, 0.3, 0.5]))
    return LocalEngine(LOSING, pa.table({"x": x, "y": y, "town": town}))


def released(engine, epsilon, seed, *keys, family="laplace"):
    plan = NoisyTables(Workload.of(*keys), family=family).calibrate(
        LOSING, Budget.pure(epsilon), unit=Unit.row(), neighbours=Neighbours.ADD_REMOVE
    )
    return list(plan.run(engine, SeededSource(seed)).values())


def test_the_fullest_tables_tell_the_number_of_rows_and_others_are_shares_of_their_own():
    releases = released(people(), 2.0, 1, ["x"], ["town"], ["x", "y"], ["y", "town"])
    targets, rows, error = measurements_of(releases)
    assert abs(rows - 6000) < 5 * error
    assert error < 10
    for target in targets:
        assert target.values.sum() == pytest.approx(1, abs=0.01)
    assert lost_rows(releases) == (LOST,)
    assert rows_of(releases)[1] == pytest.approx(4200, rel=0.05)


def test_noise_alone_is_no_disagreement():
    noted = [lost_rows(released(people(lost=0.0), 0.5, seed, ["x"], ["town"], ["x", "y"])) for seed in range(200)]
    assert sum(map(len, noted)) <= 1


@pytest.mark.parametrize(
    "recipe", [Pairs(), PrivBayes(), SpanningTree(), Adaptive(rounds=2)], ids=lambda each: type(each).__name__
)
def test_rows_without_a_place_in_one_attribute_do_not_bend_the_others(recipe):
    engine = people()
    plan = recipe.calibrate(LOSING, Budget.approx(5.0, 1e-9), unit=Unit.row(), neighbours=Neighbours.ADD_REMOVE)
    made = plan.run(engine, SeededSource(5))
    truth = engine.project(["x", "y"]).values
    assert np.abs(made.project(["x", "y"]).values - truth / truth.sum()).sum() / 2 < 0.03
    assert made.people == pytest.approx(6000, rel=0.02)
    assert LOST in made.notes
