import numpy as np
import pyarrow as pa
import pytest

from tacita.domain import Categorical, Domain, Numeric
from tacita.engines.local import LocalEngine
from tacita.errors import InvalidInput
from tacita.noise import SeededSource
from tacita.plans import NoisyTables
from tacita.privacy.budget import Budget
from tacita.privacy.unit import Neighbours, Unit
from tacita.query.bounds import Bounds, FindBounds, bounds_from, powers_of_two
from tacita.tables.workload import Workload

DOMAIN = Domain(attributes=[Numeric(name="income", bounds=(0, 1), bins=1), Categorical(name="sex", levels=["f", "m"])])


def bought(values, epsilon=1.0, seed=1, **options):
    wide = powers_of_two(DOMAIN, "income")
    engine = LocalEngine(wide, pa.table({"income": values, "sex": ["f"] * len(values)}))
    plan = NoisyTables(Workload.of(["income"])).calibrate(
        wide, Budget.pure(epsilon), unit=Unit.row(), neighbours=Neighbours.ADD_REMOVE
    )
    return bounds_from(plan.run(engine, SeededSource(seed))["income",], **options)


@pytest.mark.parametrize(("low", "high"), [(900, 1500), (-300, 40), (0.1, 0.9), (-9, -3)])
def test_the_range_holds_nearly_all_and_is_at_most_twice_too_wide(low, high):
    values = np.random.default_rng(1).uniform(low, high, 5000)
    found = bought(values, share=1.0)
    assert np.mean((found[0] <= values) & (values <= found[1])) > 0.99
    assert found[1] <= 2 * max(abs(high), 1)
    assert found[0] >= -2 * max(abs(low), 1)


def test_what_lies_far_out_is_clipped():
    values = np.concatenate([np.random.default_rng(1).uniform(100, 200, 5000), np.full(3, 1e9)])
    assert bought(values, share=0.99)[1] == 256


def test_empty_bins_are_not_taken_for_occupied_ones():
    values = np.full(500, 5.0)
    wrong = [bought(values, seed=seed) != (4.0, 8.0) for seed in range(100)]
    assert np.mean(wrong) <= 0.1


def test_what_cannot_be_bought():
    with pytest.raises(InvalidInput, match="noise"):
        bought(np.array([1.0]), epsilon=0.01)
    with pytest.raises(InvalidInput, match="number"):
        powers_of_two(DOMAIN, "sex")
    with pytest.raises(InvalidInput, match="share"):
        bought(np.full(500, 5.0), share=0.0)
    with pytest.raises(InvalidInput, match="powers"):
        powers_of_two(DOMAIN, "income", powers=0)


def test_the_recipe_reads_its_bounds_off_the_histogram_it_paid_for():
    plan = FindBounds(column="income", share=1.0).calibrate(
        DOMAIN, Budget.pure(1.0), unit=Unit.row(), neighbours=Neighbours.ADD_REMOVE
    )
    frame = pa.table({"income": np.linspace(100, 200, 2000), "sex": ["f"] * 2000})
    found = plan.run(LocalEngine(plan.domain, frame), SeededSource(1))
    assert (found.low, found.high) == bounds_from(found.histogram, share=1.0) == (64, 256)
    assert found.event == plan.tables.event  # nothing beside the histogram is paid, or read
    assert Bounds.from_json(found.to_json()).as_dict() == found.as_dict()


def test_hidden_bounds_are_an_answer_too():
    plan = FindBounds(column="income").calibrate(
        DOMAIN, Budget.pure(0.01), unit=Unit.row(), neighbours=Neighbours.ADD_REMOVE
    )
    found = plan.run(LocalEngine(plan.domain, pa.table({"income": [1.0], "sex": ["f"]})), SeededSource(1))
    assert (found.low, found.high) == (None, None)
    for wrong in ({"share": 0.0}, {"level": 1.0}):
        with pytest.raises(InvalidInput):
            FindBounds(column="income", **wrong)
