import itertools
import math

import pytest

from tacita.domain import Boolean, Categorical, Domain
from tacita.errors import InvalidInput
from tacita.privacy.accountant import cost, pure_epsilon, zcdp_rho
from tacita.privacy.budget import Budget, exact
from tacita.privacy.event import Parallel, Sequence
from tacita.privacy.unit import Neighbours, Unit
from tacita.synthesize.federated import Schedule
from tacita.synthesize.federated.exchange import Step
from tacita.synthesize.federated.schedule import MOST_CELLS, _cells_of_sets

ADD, REPLACE = Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE
BUDGETS = [Budget.pure(1.0), Budget.approx(1.0, 1e-9), Budget.zcdp(0.1)]


def all_steps(schedule):
    """The steps that a run takes, whatever is chosen."""
    terms = schedule.terms
    if terms.method != "SL2":
        return [Step(kind="tables" if terms.method == "SL1" else "model")]
    placed = tuple((name, ()) for name in terms.attributes)
    votes = [Step(kind="vote", placed=placed[:at], most_cells=1000) for at in range(1, len(placed))]
    counting = [Step(kind="count")] if schedule.count is not None else []
    return [*counting, *votes, Step(kind="tables", placed=placed)]


@pytest.mark.parametrize("method", ["SL1", "SL2", "SL3"])
@pytest.mark.parametrize("neighbours", [ADD, REPLACE])
@pytest.mark.parametrize("budget", BUDGETS, ids=str)
def test_a_run_costs_what_its_steps_do_and_at_most_the_budget(method, neighbours, budget, make_terms, domain):
    """What is charged step by step is the sum of the laws that draw, and that is what the terms allow."""
    schedule = Schedule.of(make_terms(method=method, neighbours=neighbours, budget=budget), domain)
    steps = [(schedule.plan(step).event, 1) for step in all_steps(schedule)]
    assert cost(steps, budget, neighbours) == cost([(schedule.event, 1)], budget, neighbours)
    assert 0.97 * exact(budget.amount) < cost(steps, budget, neighbours) <= exact(budget.amount)


@pytest.mark.parametrize(("neighbours", "moves"), [(REPLACE, 2), (ADD, 1)])
def test_noise_scales_of_the_note(neighbours, moves, make_terms, domain):
    """SL1: 2 C(d, k+1) / eps. SL2: choices at eps1 / (d - 1), tables with 2 d / eps2. Half of it for add-remove."""
    for degree in (1, 2):
        terms = make_terms(method="SL1", degree=degree, neighbours=neighbours, budget=Budget.pure(1.0))
        schedule = Schedule.of(terms, domain)
        assert schedule.tables.scale == moves * math.comb(4, degree + 1)
        assert {len(key) for key in schedule.keys} == {degree + 1}, "no smaller sets: their noise would not be covered"
    terms = make_terms(method="SL2", neighbours=neighbours, budget=Budget.pure(1.0), people=1000)
    schedule = Schedule.of(terms, domain)
    assert schedule.count is None
    assert 3 * float(schedule.choice.epsilon) == pytest.approx(0.3)
    assert float(schedule.tables.scale) == pytest.approx(moves * 4 / 0.7)


@pytest.mark.parametrize(
    ("d", "epsilon", "pairs", "triples", "voted"),
    [(14, 0.5, 1_151, 4_604, 253), (15, 0.02, 33_204, 143_884, 6_776), (11, 0.1, 3_479, 10_436, 994)],
    ids=["heart", "Adult", "Poker"],
)
def test_noise_of_the_note_after_summing_five_holders(d, epsilon, pairs, triples, voted, make_terms):
    domain = Domain(attributes=[Boolean(name=f"x{at}") for at in range(d)])
    changes = {"schema": domain.fingerprint, "attributes": domain.names, "neighbours": REPLACE, "people": 1000}
    for method, degree, expected in (("SL1", 1, pairs), ("SL1", 2, triples), ("SL2", 1, voted)):
        terms = make_terms(method=method, degree=degree, budget=Budget.pure(epsilon), **changes)
        assert math.sqrt(5) * Schedule.of(terms, domain).std == pytest.approx(expected, rel=1e-3)


def poker():
    suits = [Categorical(name=f"s{at}", levels=[str(level) for level in range(4)]) for at in range(5)]
    ranks = [Categorical(name=f"r{at}", levels=[str(level) for level in range(13)]) for at in range(5)]
    label = Categorical(name="hand", levels=[str(level) for level in range(10)])
    return Domain(attributes=[*suits, *ranks, label])


@pytest.mark.parametrize(("degree", "cells"), [(1, 4_000), (2, 98_310)])
def test_traffic_of_the_note(degree, cells, make_terms):
    """Numbers that a holder of Poker sends in SL1."""
    domain = poker()
    terms = make_terms(method="SL1", degree=degree, schema=domain.fingerprint, attributes=domain.names)
    schedule = Schedule.of(terms, domain)
    assert sum(domain.project(key).size for key in schedule.keys) == cells


@pytest.mark.parametrize(
    ("d", "degree", "pairs"), [(14, 1, 455), (14, 2, 1378), (11, 1, 220), (11, 2, 505), (15, 1, 560), (15, 2, 1834)]
)
def test_candidates_of_the_note(d, degree, pairs, make_terms):
    """Sets of just min(degree, placed) parents, as many as the note counts."""
    domain = Domain(attributes=[Boolean(name=f"x{at}") for at in range(d)])
    terms = make_terms(schema=domain.fingerprint, attributes=domain.names, degree=degree)
    schedule = Schedule.of(terms, domain)
    votes = [step for step in all_steps(schedule) if step.kind == "vote"]
    assert sum(len(schedule.candidates(step)) for step in votes) == pairs


def test_candidates_depend_on_sizes_and_stand_out_from_noise(make_terms, domain):
    schedule = Schedule.of(make_terms(degree=2), domain)
    placed = (("a", ()), ("b", ("a",)))
    assert schedule.candidates(Step(kind="vote", placed=placed, most_cells=1000)) == (
        ("c", ("a", "b")),
        ("d", ("a", "b")),
    )
    assert schedule.candidates(Step(kind="vote", placed=placed, most_cells=20)) == (
        ("c", ("a", "b")),
        ("d", ("a",)),
        ("d", ("b",)),
    )
    assert schedule.candidates(Step(kind="vote", placed=placed, most_cells=0)) == (("c", ()), ("d", ()))


@pytest.mark.parametrize(
    "placed",
    [
        (),
        (("b", ()),),
        (("a", ()), ("a", ())),
        (("a", ()), ("b", ("c",))),
        (("a", ()), ("b", ("a", "a"))),
        (("a", ()), ("zz", ())),
        (("a", ()), ("b", ("a",)), ("c", ("a", "b"))),
    ],
    ids=["nothing", "another root", "twice", "parent not placed", "parent twice", "unknown", "too many parents"],
)
def test_structures_that_voting_could_not_have_made_are_refused(placed, make_terms, domain):
    schedule = Schedule.of(make_terms(degree=1), domain)
    for kind in ("vote", "tables"):
        with pytest.raises(InvalidInput):
            schedule.plan(Step(kind=kind, placed=placed, most_cells=1000))


@pytest.mark.parametrize(
    ("method", "step"),
    [
        ("SL1", Step(kind="model")),
        ("SL1", Step(kind="vote", placed=(("a", ()),))),
        ("SL1", Step(kind="tables", placed=(("a", ()),))),
        ("SL2", Step(kind="model")),
        ("SL2", Step(kind="tables", placed=(("a", ()),))),
        ("SL3", Step(kind="tables")),
        ("SL3", Step(kind="count")),
        ("SL2", Step(kind="join")),
    ],
)
def test_steps_of_another_method_are_refused(method, step, make_terms, domain):
    with pytest.raises(InvalidInput):
        Schedule.of(make_terms(method=method), domain).plan(step)


def test_counting_is_no_step_where_the_number_is_public(make_terms, domain):
    with pytest.raises(InvalidInput):
        Schedule.of(make_terms(people=1000), domain).plan(Step(kind="count"))


@pytest.mark.parametrize("method", ["SL1", "SL2", "SL3"])
def test_over_disjoint_holders_a_person_costs_what_one_holder_does(method, make_terms, domain):
    schedule = Schedule.of(make_terms(method=method), domain)
    assert isinstance(schedule.event_of_all(5), Parallel)
    assert pure_epsilon(schedule.event_of_all(5), ADD) == pure_epsilon(schedule.event, ADD)


@pytest.mark.parametrize(("method", "factor"), [("SL1", 1), ("SL2", 1.1), ("SL3", 1.1)])
def test_under_replace_one_a_person_may_change_the_holder(method, factor, make_terms, domain):
    """Tables cost no more than before (1 + 1 instead of 2); a vote that was bounded by 3 moves by 2 at each of two."""
    budget = Budget.pure(1.0)
    schedule = Schedule.of(make_terms(method=method, neighbours=REPLACE, budget=budget), domain)
    moved = pure_epsilon(schedule.event_of_all(5), REPLACE)
    assert moved == 2 * pure_epsilon(schedule.event_under(ADD), ADD)
    assert float(moved) == pytest.approx(factor, rel=2e-3)
    assert moved >= pure_epsilon(schedule.event, REPLACE), "staying costs no more than that"


@pytest.mark.parametrize("neighbours", [ADD, REPLACE])
def test_over_holders_that_share_people_costs_add_up(neighbours, make_terms, domain):
    terms = make_terms(overlap="possible", neighbours=neighbours, budget=Budget.zcdp(0.1))
    schedule = Schedule.of(terms, domain)
    assert isinstance(schedule.event_of_all(3), Sequence)
    assert zcdp_rho(schedule.event_of_all(3), neighbours) == 3 * zcdp_rho(schedule.event, neighbours)


def test_a_person_with_many_rows_gets_as_much_more_noise(make_terms, domain):
    person = Domain(person="id", attributes=[{"name": "id", "kind": "identifier"}, *domain.attributes])
    unit = Unit.of_person("id", max_rows=5)
    one = Schedule.of(make_terms(people=100), domain)
    many = Schedule.of(make_terms(people=100, unit=unit, schema=person.fingerprint), person)
    assert many.tables.scale == 5 * one.tables.scale
    assert many.bound == 5 * one.bound


def test_a_domain_that_is_too_wide_says_what_to_bin(make_terms):
    wide = [Categorical(name=name, levels=[str(level) for level in range(300)]) for name in "wxyz"]
    domain = Domain(attributes=[*wide, Boolean(name="small")])
    terms = make_terms(method="SL1", degree=2, schema=domain.fingerprint, attributes=domain.names)
    with pytest.raises(InvalidInput, match=r"w \(300\)") as refused:
        Schedule.of(terms, domain)
    assert refused.value.rule.endswith(f"{MOST_CELLS} cells")


def test_too_many_candidates_are_refused(make_terms):
    domain = Domain(attributes=[Boolean(name=f"x{at}") for at in range(120)])
    terms = make_terms(degree=3, schema=domain.fingerprint, attributes=domain.names)
    placed = tuple((name, ()) for name in domain.names[:60])
    with pytest.raises(InvalidInput, match="candidates"):
        Schedule.of(terms, domain).plan(Step(kind="vote", placed=placed, most_cells=1000))


def test_one_attribute_needs_no_votes(make_terms, domain):
    for method in ("SL1", "SL2", "SL3"):
        schedule = Schedule.of(make_terms(method=method, attributes=("a",)), domain)
        assert schedule.choice is None
        assert pure_epsilon(schedule.event, ADD) == 4


def test_a_split_that_leaves_nothing_for_tables_is_refused(make_terms, domain):
    with pytest.raises(InvalidInput, match="split"):
        Schedule.of(make_terms(split=0.99), domain)


def test_both_sides_make_the_same_schedule(make_terms, domain):
    for method in ("SL1", "SL2", "SL3"):
        one, two = (Schedule.of(make_terms(method=method), domain) for _ in range(2))
        pairs = itertools.zip_longest(all_steps(one), all_steps(two))
        assert all(one.plan(left).event == two.plan(right).event for left, right in pairs)


def test_sets_are_counted_before_they_are_listed(make_terms, monkeypatch):
    """900,000 sets of four attributes: a holder refuses them without listing any."""
    names = tuple(f"a{number}" for number in range(70))
    wide = Domain(attributes=[Boolean(name=name) for name in names])
    monkeypatch.setattr(itertools, "combinations", lambda *_: pytest.fail("all sets are listed"))
    with pytest.raises(InvalidInput, match="cells"):
        Schedule.of(make_terms(method="SL1", attributes=names, degree=3, schema=wide.fingerprint), wide)


@pytest.mark.parametrize("ways", [1, 2, 3, 5])
def test_cells_of_all_sets(ways):
    sizes = [2, 3, 5, 7, 2]
    assert _cells_of_sets(sizes, ways) == sum(math.prod(chosen) for chosen in itertools.combinations(sizes, ways))
