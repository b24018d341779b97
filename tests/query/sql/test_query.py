"""A query as a plan: what is charged, what is free, and what the answer says."""

import numpy as np
import pytest
from tests.query.sql import world

from tacita.domain import Domain, Numeric
from tacita.engines.local import LocalEngine
from tacita.errors import InvalidInput
from tacita.noise import SecureSource, SeededSource
from tacita.plans.session import Session, question_of
from tacita.privacy.accountant import epsilon_at, pure_epsilon
from tacita.privacy.budget import Budget
from tacita.privacy.ledger import Ledger
from tacita.privacy.unit import Neighbours, Unit
from tacita.query import Answer
from tacita.query.sql import compile_sql
from tacita.store import Database

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


def test_a_quantile_beside_others_has_an_interval_that_holds_with_theirs(people):
    plan = plan_of("SELECT MEDIAN(age) - AVG(age) AS skew, MEDIAN(age) * 2 AS twice FROM people")
    answers = [plan.run(people, SeededSource(seed)) for seed in range(60)]
    assert answers[0].intervals == {"skew": "bounds", "twice": "own"}
    exact = plan_of("SELECT MEDIAN(age) - AVG(age) AS skew FROM people", Budget.pure(1000.0)).run(
        people, SeededSource(1)
    )
    truth, off = exact["skew"].value[0], 0.5 * (exact["skew"].high[0] - exact["skew"].low[0])
    for answer in answers:
        assert np.isfinite([answer["skew"].low[0], answer["twice"].low[0]]).all()
    held = [answer["skew"].low[0] - off <= truth <= answer["skew"].high[0] + off for answer in answers]
    assert np.mean(held) >= 0.85


def test_a_row_that_where_leaves_out_causes_no_warning(people):
    """Warnings are errors in tests: a logarithm of 0 would be one."""
    for sql in (
        "SELECT SUM(LN(kids)) FROM people WHERE kids >= 1",
        "SELECT SUM(1 / kids) FROM people WHERE kids >= 1",
        "SELECT SUM(SQRT(kids - 1)) FROM people WHERE kids >= 1",
    ):
        assert plan_of(sql).run(people, SeededSource(1)).columns


def test_what_was_measured_is_kept_if_it_cannot_be_shown(people, tmp_path):
    ledger = Ledger(Database(f"sqlite:///{tmp_path / 'state.db'}"))
    ledger.open("people", unit=Unit.row(), neighbours=ADD, budget=Budget.pure(5.0))
    session = Session(engine=people, ledger=ledger, account="people", principal="me", source=SecureSource())
    asked = "SELECT region, COUNT(*) AS n FROM people GROUP BY region"
    late = f"{asked} HAVING CASE WHEN COUNT(*) > 5 THEN region > 3 ELSE TRUE END"
    for _ in range(2):
        with pytest.raises(InvalidInput, match="costs nothing"):
            session.ask(plan_of(late), repeat=False)
        assert float(session.balance().spent) == pytest.approx(1.0)
    assert session.ask(plan_of(asked), repeat=False).columns["n"].value.size == 3
    assert float(session.balance().spent) == pytest.approx(1.0)


def test_names_of_groups_come_before_names_after_as_in_having(people):
    plan = plan_of("SELECT kids AS n, COUNT(*) AS kids FROM people GROUP BY kids HAVING kids > 2", Budget.pure(500.0))
    assert sorted(group[0] for group in plan.run(people, SeededSource(1)).groups) == ["3", "4", "5"]
    sql = "SELECT region, SUM(kids) AS kids FROM people GROUP BY region HAVING SUM(kids) > -9 ORDER BY SUM(kids)"
    plan = plan_of(sql)
    assert len(plan.run(people, SeededSource(1)).groups) == 3


@pytest.mark.parametrize(
    ("sql", "says"),
    [
        ("SELECT COUNT(*) AS n, SUM(age) AS n_low FROM people", "error or an interval"),
        (
            "SELECT COUNT(*)" + " + 1" * 200 + " AS a FROM people HAVING 1 IN (" + ",".join(["a"] * 400) + ")",
            "too long",
        ),
        (
            "SELECT SUM(a)" + " + SUM(a)" * 60 + " FROM (SELECT kids" + " + 1" * 200 + " AS a FROM people) AS t",
            "too long",
        ),
    ],
)
def test_what_would_mislead_or_take_too_long_is_refused(sql, says):
    with pytest.raises(InvalidInput, match=says):
        plan_of(sql)


def test_a_condition_that_takes_too_long_to_work_out_is_refused():
    domain = Domain(attributes=[Numeric(name=name, bounds=(0, 359), integer=True) for name in ("u", "v")])
    listed = ",".join(map(str, range(300)))
    with pytest.raises(InvalidInput, match="too long to work out"):
        plan_of(f"SELECT COUNT(*) FROM t WHERE u + v IN ({listed})", domain=domain)
