import math

import pytest

from tacita.domain import Boolean, Categorical, Domain
from tacita.errors import InvalidInput
from tacita.noise import SeededSource
from tacita.privacy.budget import Budget
from tacita.privacy.unit import Neighbours, Unit
from tacita.synthesize import Independent, Pairs, SpanningTree, Synthesize
from tacita.synthesize.choice import MethodChoicePlan

ROW, ADD = Unit.row(), Neighbours.ADD_REMOVE


ONE = Budget.approx(1.0, 1e-6)


def planned(domain, budget=ONE, **options):
    return Synthesize(**options).calibrate(domain, budget, unit=ROW, neighbours=ADD)


def test_pairs_are_the_default_and_the_reason_is_said(domain, engine):
    plan = planned(domain)
    assert isinstance(plan.recipe, Pairs)
    assert "pairs" in plan.run(engine, SeededSource(1)).notes[0]


def test_a_budget_that_is_too_small_falls_back_to_single_attributes_and_says_so(domain, engine):
    plan = planned(domain, Budget.pure(0.0005), people=1000)
    assert isinstance(plan.recipe, Independent)
    assert "single attributes" in plan.run(engine, SeededSource(1)).notes[0]
    assert isinstance(planned(domain, people=1000).recipe, Pairs)


def test_with_a_pure_epsilon_the_method_is_chosen_privately_unless_it_is_clear(domain):
    more = Domain(attributes=[Categorical(name=f"x{i}", levels=list("0123")) for i in range(12)])
    chosen = planned(more, Budget.pure(0.3), people=20_000)
    assert isinstance(chosen, MethodChoicePlan)
    assert "private" in chosen.reason
    unmeasured = planned(more, Budget.pure(0.1), people=1000)
    assert "least expected error" in unmeasured.reason, "so few rows cannot be measured well enough"
    assert not isinstance(unmeasured, MethodChoicePlan)
    assert isinstance(planned(more, Budget.pure(1.0)), MethodChoicePlan), "the number of rows is not known"
    assert isinstance(planned(domain, Budget.pure(40.0), people=1000).recipe, Pairs)


def test_very_many_pairs_are_not_all_measured():
    wide = Domain(attributes=[Boolean(name=f"x{i}") for i in range(102)])
    assert isinstance(planned(wide).recipe, SpanningTree)


def test_more_levels_than_a_mixture_holds_get_a_tree():
    sizes = (1500, 600, 3, 4)
    wide = Domain(
        attributes=[Categorical(name=f"x{at}", levels=[str(i) for i in range(size)]) for at, size in enumerate(sizes)]
    )
    plan = planned(wide, people=20_000)
    assert isinstance(plan.recipe, SpanningTree)
    assert "more than 2048 levels" in plan.reason
    with pytest.raises(InvalidInput, match="2048 levels"):
        planned(wide, method="pairs")  # by name it is refused, with what to bin


def test_one_attribute_and_little_time(domain):
    assert isinstance(planned(domain, attributes=("a",)).recipe, Independent)
    assert planned(domain, seconds=1.0).recipe.fits == 1


@pytest.mark.parametrize("method", ["privbayes", "mst", "aim", "pairs", "independent"])
def test_methods_by_name(domain, method):
    assert planned(domain, method=method).as_dict()["recipe"]["method"] == method


@pytest.mark.parametrize(
    "bad", [{"method": "magic"}, {"people": 0}, {"people": 1}, {"seconds": 0.0}, {"seconds": math.nan}]
)
def test_bad_input(bad):
    with pytest.raises(InvalidInput, match=next(iter(bad))):
        Synthesize(**bad)
