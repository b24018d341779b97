"""A query as a plan: what is charged, what is free, and what the answer says."""

import numpy as np
import pytest
from tests.query.sql import world

from tacita.engines.local import LocalEngine
from tacita.errors import InvalidInput
from tacita.noise import SeededSource
from tacita.plans.session import question_of
from tacita.privacy.accountant import epsilon_at, pure_epsilon
from tacita.privacy.budget import Budget
from tacita.privacy.unit import Neighbours, Unit
from tacita.query import Answer
from tacita.query.sql import compile_sql

ADD = Neighbours.ADD_REMOVE


@pytest.fixture(scope="module")
def people():
    return LocalEngine(world.PEOPLE, world.people())


def plan_of(sql, budget=None, domain=world.PEOPLE, unit=None):
    query = compile_sql(sql, domain, dimensions=world.DIMENSIONS)
    return query.calibrate(domain, budget or Budget.pure(1.0), unit=unit or Unit.row(), neighbours=ADD)


SAME = [
    "SELECT region, COUNT(*) FROM people GROUP BY region",
    "SELECT COUNT(*) AS n, region AS r FROM people GROUP BY region ORDER BY n DESC LIMIT 1",
    "SELECT region, COUNT(*) * 2 FROM people GROUP BY region HAVING COUNT(*) > 3",
    "SELECT MAX(n) FROM (SELECT region, COUNT(*) AS n FROM people GROUP BY region) AS t WHERE n > 0",
]


def test_what_comes_after_noise_is_no_part_of_the_question(people):
    plans = [plan_of(sql) for sql in SAME]
    assert len({question_of(plan) for plan in plans}) == 1
    assert len({plan.event.to_json() for plan in plans}) == 1
    stored = plans[0].run(people, SeededSource(1)).to_json()
    first, turned, doubled, largest = (plan.read(stored) for plan in plans)
    values = first["COUNT(*)"].value
    assert turned["n"].value.tolist() == [values.max()]
    assert turned.headings == ("n", "r")
    assert turned.groups == (first.groups[int(values.argmax())],)
    assert doubled["COUNT(*) * 2"].value.tolist() == (2 * values).tolist()
    assert largest["MAX(n)"].value.tolist() == [values.max()]


def test_another_condition_or_aggregate_is_another_question():
    others = [*SAME[:1], SAME[0].replace("GROUP", "WHERE smokes GROUP"), SAME[0].replace("COUNT(*)", "SUM(kids)")]
    others += [
        SAME[0].replace("region", "pain"),
        "SELECT region, COUNT(*) FROM people GROUP BY region ORDER BY SUM(kids)",
    ]
    assert len({question_of(plan_of(sql)) for sql in others}) == len(others)


def test_an_answer_is_read_back_as_it_was_written(people):
    plan = plan_of("SELECT region, AVG(income) AS m, MEDIAN(age) FROM people GROUP BY region ORDER BY m")
    answer = plan.run(people, SeededSource(1))
    again = Answer.from_json(answer.to_json())
    assert again.to_json() == answer.to_json()
    assert plan.read(answer.to_json()).to_json() == answer.to_json()
    assert again.to_arrow().column_names[:5] == ["region", "m", "m_std", "m_low", "m_high"]
    assert answer.intervals == {"m": "own", "MEDIAN(age)": "own"}
    assert answer.provenance.recipe["after"]["order"] == ["mean(income)"]


def test_an_answer_without_measured_values_is_refused(people):
    plan = plan_of(SAME[0])
    with pytest.raises(InvalidInput, match="measured"):
        plan.read(plan.plan.run(people, SeededSource(1)).to_json())


def test_a_condition_narrows_the_noise():
    wide = plan_of("SELECT SUM(age) AS s FROM people").plan.laws[0]
    narrow = plan_of("SELECT SUM(age) AS s FROM people WHERE age < 18").plan.laws[0]
    assert narrow.std == pytest.approx(wide.std * 17 / 99, rel=0.01)


def test_an_expression_costs_what_its_aggregates_cost():
    once = plan_of("SELECT COUNT(*) AS n FROM people")
    twice = plan_of("SELECT COUNT(*) + 2 * COUNT(*) - COUNT(*) / 2 AS n FROM people ORDER BY COUNT(*)")
    assert pure_epsilon(twice.event, ADD) == pure_epsilon(once.event, ADD) <= 1
    assert len(twice.recipe.aggregates) == 1


def test_expected_errors_have_the_headings_of_the_answer():
    plan = plan_of("SELECT region, COUNT(*) AS n, SUM(kids) / COUNT(*) AS m FROM people GROUP BY region")
    assert [each.name for each in plan.expect()] == ["n", "sum(kids)"]
    assert plan.as_dict()["after"]["select"] == {"region": "region", "n": "count(*)", "m": "sum(kids) / count(*)"}
    assert plan.query.cells(world.PEOPLE) == 6


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT region + 1 AS x, COUNT(*) AS n FROM people GROUP BY region",
        "SELECT COUNT(*) AS n FROM people HAVING COUNT(*) < 'a'",
        "SELECT region, COUNT(*) AS n FROM people GROUP BY region ORDER BY region * 2",
        "SELECT SUM(region) FROM (SELECT region, COUNT(*) AS n FROM people GROUP BY region) AS t",
        "SELECT n, COUNT(*) FROM (SELECT region, COUNT(*) AS n FROM people GROUP BY region) AS t GROUP BY n",
        "SELECT UPPER(region) || COUNT(*) % 'a' AS x FROM people GROUP BY region",
        "SELECT ROUND(COUNT(*), 99) AS x FROM people",
    ],
)
def test_what_cannot_be_computed_after_noise_is_refused_before_it_is_charged(sql):
    with pytest.raises(InvalidInput):
        plan_of(sql)


def test_a_label_stays_a_label_whatever_the_noise(people):
    sql = "SELECT CASE WHEN COUNT(*) > 1e9 THEN 'many' END AS size, COUNT(*) AS n FROM people"
    answer = plan_of(sql).run(people, SeededSource(1))
    assert answer.by == ("size",)
    assert answer.groups == (("(missing)",),)


def test_private_keys_spend_epsilon_and_delta():
    unit = Unit.of_person("who", max_rows=3)
    sql = "SELECT code, COUNT(*) AS n, AVG(cost) FROM visits GROUP BY code"
    plan = plan_of(sql, Budget.approx(1.0, 1e-6), world.VISITS, unit)
    assert epsilon_at(plan.event, 1e-6, ADD) <= 1.0
    with pytest.raises(InvalidInput, match="delta"):
        plan_of(sql, Budget.pure(1.0), world.VISITS, unit)
    with pytest.raises(InvalidInput, match="delta"):
        plan_of(sql, Budget.zcdp(1.0), world.VISITS, unit)


def test_linear_errors_are_those_of_repeated_runs(people):
    plan = plan_of("SELECT SUM(kids) - 2 * COUNT(*) AS d, SUM(kids) / COUNT(*) AS r FROM people")
    sums = plan.plan.exact(people)
    source = SeededSource(3)
    answers = [plan.shown(plan.plan.noised(sums, source), plan.plan.provenance(source)) for _ in range(400)]
    for name in ("d", "r"):
        values = np.array([answer[name].value[0] for answer in answers])
        assert values.std() == pytest.approx(np.mean([answer[name].std[0] for answer in answers]), rel=0.2)
    truth = float(sums[1][0, 0] * float(plan.plan.measures[1].step))
    kids = float(sums[0][0, 0] * float(plan.plan.measures[0].step))
    for name, exact in (("d", kids - 2 * truth), ("r", kids / truth)):
        held = [answer[name].low[0] <= exact <= answer[name].high[0] for answer in answers]
        assert np.mean(held) >= 0.95 - 5 * np.sqrt(0.95 * 0.05 / 400)
    assert answers[0].intervals == {"d": "linear", "r": "ratio"}


def test_a_quantile_beside_others_says_that_it_has_no_interval(people):
    answer = plan_of("SELECT MEDIAN(age) - AVG(age) AS skew, MEDIAN(age) * 2 AS twice FROM people").run(
        people, SeededSource(1)
    )
    assert answer.intervals == {"skew": "none", "twice": "own"}
    assert np.isnan(answer["skew"].low).all()
    assert np.isfinite(answer["twice"].low).all()
