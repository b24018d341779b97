"""The planner's number is where the stop rule stops."""

from dataclasses import replace

import numpy as np
import pytest
from tests.support.networks import random_network

from tacita.collect.estimating.pooled import pool_tables
from tacita.collect.estimating.tally import Tally, respond
from tacita.collect.planning.plan import plan_collection
from tacita.collect.planning.sizing import half_widths, plan_stop, respondents_planned, wanted_tables
from tacita.collect.planning.stopping import StopRule
from tacita.noise import SeededSource
from tacita.tables.workload import Workload

NETWORK = random_network("tree", attributes=4, seed=21)


def make_design(*keys, mode="tables", **changes):
    return plan_collection(NETWORK.domain, Workload.of(*keys), respondents=3000, epsilon=2.0, mode=mode, **changes)


def collect(design, people, seed=0):
    codes = NETWORK.sample(people, np.random.default_rng(seed))
    return Tally(design).add(respond(design, codes, SeededSource(seed), seed=seed + 1))


def test_only_what_was_wanted_must_be_known():
    """Helper singles are asked, but no one waits for them."""
    design = make_design(("x0", "x1"), ("x1", "x2"))
    assert ("x0",) in {question.attributes for question in design.questions}
    assert wanted_tables(design) == (("x0", "x1"), ("x1", "x2"))
    assert wanted_tables(make_design(("x0", "x1"), mode="singles")) == (("x0",), ("x1",))
    assert wanted_tables(replace(design, wanted=())) == tuple(q.attributes for q in design.questions)


def test_widths_are_predicted():
    design = make_design(("x0", "x1"), ("x1", "x2"))
    pooled = pool_tables(collect(design, 3000))
    for key, predicted in half_widths(design, 3000).items():
        low, high = pooled[key].interval(0.95)
        assert 0.7 * predicted < ((high - low) / 2).max() < 1.02 * predicted


@pytest.mark.parametrize("half_width", [0.05, 0.1])
def test_the_rule_stops_at_the_planned_number(half_width):
    design = make_design(("x0", "x1"), ("x1", "x2"), ("x0", "x3"))
    rule = plan_stop(design, StopRule(half_width=half_width))
    assert rule.planned == respondents_planned(design, StopRule(half_width=half_width))
    assert rule.tables == design.wanted
    tally, seen = Tally(design), 0
    for number in range(1, 7):
        size = rule.size_of(number)
        codes = NETWORK.sample(size - seen, np.random.default_rng([1, number]))
        tally.add(respond(design, codes, SeededSource(number), seed=number))
        seen = size
        tables = pool_tables(tally)
        if rule.look_at([tables[key] for key in rule.tables], number, respondents=seen).stop:
            break
    assert 0.5 <= seen / rule.planned <= 1.2


def test_a_plan_is_made_once():
    design = make_design(("x0", "x1"))
    rule = plan_stop(design, StopRule(half_width=0.1), least=10**6)
    assert rule.planned == 10**6
    assert plan_stop(design, rule) == rule
