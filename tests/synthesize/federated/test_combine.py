import numpy as np
import pytest

from tacita.models.network import BayesianNetwork
from tacita.noise import SeededSource
from tacita.privacy.budget import Budget
from tacita.synthesize.federated import Schedule
from tacita.synthesize.federated.combine import blend_models, most_voted, network_from_tables, sum_answers
from tacita.synthesize.federated.exchange import Step

PAIRS = [("b", ("a",)), ("b", ("c",)), ("b", ("a", "c")), ("d", ("a",)), ("d", ("a", "c"))]


def test_the_pair_with_most_votes_wins():
    assert most_voted([PAIRS[3], PAIRS[0], PAIRS[3]], PAIRS) == PAIRS[3]


def test_of_equal_votes_the_one_that_others_agree_with_wins():
    assert most_voted([PAIRS[3], PAIRS[0], PAIRS[2]], PAIRS) == PAIRS[2], "two votes have an edge from a to b"


def test_of_equals_the_first_candidate_wins_whoever_voted():
    for votes in ([PAIRS[3], PAIRS[0]], [PAIRS[0], PAIRS[3]]):
        assert most_voted(votes, PAIRS) == PAIRS[0]


def test_sums_are_exact_and_carry_the_noise_of_all(make_terms, domain, engine_of, chain):
    schedule = Schedule.of(make_terms(method="SL1"), domain)
    plan = schedule.plan(Step(kind="tables"))
    answers = [plan.run(engine_of(chain(100, seed=at)), SeededSource(at)) for at in range(3)]
    total = sum_answers(answers, schedule)
    for at, key in enumerate(plan.tables.workload):
        assert np.array_equal(total[key].values, sum(answer.cells[at] for answer in answers))
        assert total[key].values.dtype.kind == "i"
        assert total[key].std().max() == pytest.approx(np.sqrt(3) * schedule.std)


@pytest.mark.parametrize(("epsilon", "edges"), [(0.01, 0), (4.0, 3)])
def test_a_structure_is_made_where_tables_stand_out_from_noise(epsilon, edges, make_terms, domain, engine_of, chain):
    schedule = Schedule.of(make_terms(method="SL1", budget=Budget.pure(epsilon)), domain)
    answers = [schedule.plan(Step(kind="tables")).run(engine_of(chain(3000)), SeededSource(at)) for at in range(3)]
    made = network_from_tables(domain, sum_answers(answers, schedule), degree=1, people=9000, theta=4.0)
    assert len(made.edges) == edges


def test_models_are_weighed_by_what_holders_released(make_terms, domain, engine_of, chain):
    plan = Schedule.of(make_terms(method="SL3"), domain).plan(Step(kind="model"))
    models = [plan.run(engine_of(chain(rows)), SeededSource(rows)) for rows in (3000, 1000)]
    blend, people, error = blend_models(models)
    assert blend.weights[0] == pytest.approx(0.75, abs=0.02)
    assert people == pytest.approx(4000, abs=5 * error)
    assert all(isinstance(network, BayesianNetwork) for network in blend.models)


def test_holders_whose_size_noise_hides_weigh_the_same(make_terms, domain, engine_of):
    from dataclasses import replace

    plan = Schedule.of(make_terms(method="SL3"), domain).plan(Step(kind="model"))
    models = [replace(plan.run(engine_of([]), SeededSource(at)), people=-3.0) for at in range(4)]
    blend, people, _ = blend_models(models)
    assert blend.weights == (0.25,) * 4
    assert people == -12


def test_no_holder_weighs_more_than_the_public_total(make_terms, domain, engine_of, chain):
    from dataclasses import replace

    plan = Schedule.of(make_terms(method="SL3"), domain).plan(Step(kind="model"))
    honest = [plan.run(engine_of(chain(1000)), SeededSource(at)) for at in range(2)]
    liar = replace(honest[0], people=1e15)
    blend, people, _ = blend_models([*honest, liar], 3000)
    assert blend.weights[2] < 0.7
    assert people < 6000
