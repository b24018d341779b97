"""The laws of what a holder says, over all neighbours of all small data sets."""

import itertools
import math
from collections import Counter

import numpy as np
import pytest

from tacita.domain import Boolean, Domain
from tacita.noise import SeededSource
from tacita.privacy.accountant import pure_epsilon
from tacita.privacy.budget import Budget
from tacita.privacy.event import Nothing
from tacita.privacy.selection import GRID
from tacita.privacy.unit import Neighbours, Unit
from tacita.synthesize.federated import Schedule, Terms
from tacita.synthesize.federated.exchange import Step
from tacita.synthesize.federated.steps import Joining
from tacita.testing.mechanism import FixedEngine, audited_epsilon

ADD, REPLACE = Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE
DOMAIN = Domain(attributes=[Boolean(name=name) for name in "xyz"])
CELLS = list(itertools.product((0, 1), repeat=3))
SMALL = [rows for size in range(5) for rows in itertools.combinations_with_replacement(range(8), size)]
# one row counts most among many that are all alike
HEAVY = [(0,) * 40 + rows for size in range(3) for rows in itertools.combinations_with_replacement(range(8), size)]
DATA = SMALL + HEAVY
VOTE = Step(kind="vote", placed=(("x", ()),), most_cells=100)
SECOND = Step(kind="vote", placed=(("x", ()), ("y", ("x",))), most_cells=100)
FULL = (("x", ()), ("y", ("x",)), ("z", ("x",)))


def schedule(method, neighbours, *, degree=1, epsilon=3.0):
    terms = Terms(
        run="r",
        schema=DOMAIN.fingerprint,
        attributes=DOMAIN.names,
        method=method,
        budget=Budget.pure(epsilon),
        unit=Unit.row(),
        neighbours=neighbours,
        holders=("h",),
        quorum=1,
        degree=degree,
    )
    return Schedule.of(terms, DOMAIN)


def engine_of(rows):
    return FixedEngine(DOMAIN, np.array([CELLS[row] for row in rows], int).reshape(-1, 3))


ENGINES = {rows: engine_of(rows) for rows in DATA}


def neighbours_of(rows, notion):
    """All data sets with one row more, or with one row replaced, as sorted rows; of those that are looked at."""
    if notion is ADD:
        found = {tuple(sorted((*rows, cell))) for cell in range(8)}
    else:
        places = {rows.index(row) for row in rows}
        found = {tuple(sorted((*rows[:at], cell, *rows[at + 1 :]))) for at in places for cell in range(8)}
    return found & ENGINES.keys()


def law(plan, rows):
    """Exact probabilities of the votes: what `Choice` draws from."""
    steps = np.rint(np.array(plan.scores(ENGINES[rows])) / plan.bound * GRID)
    weights = np.exp((steps - steps.max()) * float(plan.choice.epsilon) / (2 * (GRID + 1)))
    return weights / weights.sum()


def worst_vote(plan, notion):
    laws = {rows: law(plan, rows) for rows in DATA}
    pairs = ((laws[rows], laws[other]) for rows in DATA for other in neighbours_of(rows, notion))
    return max(float(np.abs(np.log(one / two)).max()) for one, two in pairs)


@pytest.mark.parametrize("step", [VOTE, SECOND], ids=lambda step: step.name)
@pytest.mark.parametrize("notion", [ADD, REPLACE])
def test_a_vote_costs_what_is_charged_over_all_neighbours(step, notion):
    plan = schedule("SL2", notion, epsilon=200.0).plan(step)
    charged = float(pure_epsilon(plan.event, notion))
    # scores that rise by all of their sensitivity, and none that fall, cost half of what is charged
    assert 0.45 * charged < worst_vote(plan, notion) <= charged


def test_a_vote_bounded_for_replacing_costs_less_for_joining_and_that_is_what_is_stated():
    """What parallel composition over holders relies on: the same law, stated for adding or removing a row."""
    made = schedule("SL2", REPLACE, epsilon=200.0)
    plan = made.plan(SECOND)
    stated = float(pure_epsilon(made._choice_event(made.choice, ADD), ADD))
    worst = worst_vote(plan, ADD)
    assert worst <= stated
    assert stated < 0.67 * float(plan.choice.epsilon)
    assert worst > 0.45 * stated


def test_votes_are_drawn_by_that_law_and_not_the_best_one():
    plan = schedule("SL2", ADD, epsilon=20.0).plan(VOTE)
    rows = (0, 0, 6, 7)  # y follows x in all rows, z in some
    expected = law(plan, rows)
    draws = Counter(plan.run(ENGINES[rows], SeededSource(seed)).child for seed in range(2000))
    assert draws["y"] / 2000 == pytest.approx(expected[0], abs=5 * 0.5 / math.sqrt(2000))
    assert 0.55 < expected[0] < 0.95, "the law must differ from a coin and from the best"


def moved(plan, rows, other):
    """How far all cells of a message move together, before noise."""
    tables = [ENGINES[each].tables(plan.tables.workload, plan.unit) for each in (rows, other)]
    return sum(int(np.abs(tables[0][key].values - tables[1][key].values).sum()) for key in plan.tables.workload)


@pytest.mark.parametrize("notion", [ADD, REPLACE])
@pytest.mark.parametrize(
    ("method", "degree", "step"),
    [
        ("SL1", 1, Step(kind="tables")),
        ("SL1", 2, Step(kind="tables")),
        ("SL2", 1, Step(kind="count")),
        ("SL2", 1, Step(kind="tables", placed=FULL)),
    ],
    ids=["SL1 pairs", "SL1 triples", "count", "SL2 tables"],
)
def test_tables_cost_what_is_charged_over_all_neighbours(method, degree, step, notion):
    """Laplace noise of scale b on cells that move by L1 in all costs L1 / b: the worst is just what is charged."""
    plan = schedule(method, notion, degree=degree).plan(step)
    small = [rows for rows in DATA if len(rows) <= 3]
    worst = max(moved(plan, rows, other) for rows in small for other in neighbours_of(rows, notion))
    if step.kind == "count" and notion is REPLACE:
        assert worst == 0, "the number of rows does not change; what is charged for it is on the safe side"
        return
    assert worst / plan.tables.laws[0].scale == pure_epsilon(plan.event, notion)


def test_noise_is_on_every_cell_also_the_empty_ones():
    plan = schedule("SL1", ADD, epsilon=0.1).plan(Step(kind="tables"))
    answer = plan.run(ENGINES[()], SeededSource(3))
    cells = np.concatenate([cells.reshape(-1) for cells in answer.cells])
    assert np.count_nonzero(cells) >= cells.size - 1
    assert {cells.dtype.kind for cells in answer.cells} == {"i"}


def test_joining_looks_at_no_data():
    class Untouchable(FixedEngine):
        def tables(self, workload, unit):
            raise AssertionError("joining must not count")

    seen = []
    made = schedule("SL2", ADD)
    plan = Joining(terms=made.terms, step=Step(kind="join"), domain=DOMAIN, check=lambda: seen.append(1))
    assert plan.event == Nothing()
    assert plan.run(Untouchable(DOMAIN, np.zeros((1, 3), int)), SeededSource(1)).terms == made.terms.digest
    assert seen == [1]


def test_what_no_parents_tell_does_not_depend_on_data():
    made = schedule("SL2", ADD)
    plan = made.plan(Step(kind="vote", placed=(("x", ()),), most_cells=0))
    assert {tuple(plan.scores(ENGINES[rows])) for rows in DATA} == {(0.0, 0.0)}


def test_an_attack_on_a_whole_run_stays_below_what_is_charged():
    """Who knows all other rows looks at every message of SL2 for the one cell where the target would be."""
    made, runs = schedule("SL2", ADD, epsilon=2.0), 4000
    plans = [made.plan(Step(kind="count")), made.plan(Step(kind="tables", placed=FULL))]
    hits = []
    for rows in ((0, 0, 7), (0, 0)):
        source, found = SeededSource(len(rows)), 0
        for _ in range(runs):
            count, tables = (plan.run(ENGINES[rows], source) for plan in plans)
            seen = sum(int(cells.reshape(-1)[-1]) for cells in tables.cells) + int(count.cells[0]) / 10
            found += seen >= 7
        hits.append(found)
    audited = audited_epsilon(hits[0], hits[1], runs)
    charged = float(sum(pure_epsilon(plan.event, ADD) for plan in plans))
    assert 0.2 * charged < audited <= charged
