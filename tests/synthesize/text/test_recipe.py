"""Recipe, calibrate, run: cost, refusals, and the way through a session and its ledger."""

import json

import pytest

from tacita import Budget, Database, Ledger, Session
from tacita.errors import BudgetExceeded, InvalidInput
from tacita.noise import SecureSource, SeededSource
from tacita.privacy.accountant import cost
from tacita.privacy.event import NonPrivate, Repeated
from tacita.privacy.unit import Neighbours, Unit
from tacita.synthesize.text.corpus import HeadlineSource
from tacita.synthesize.text.recipe import HeadlineRecipe
from tacita.synthesize.text.released import HeadlineGenerator
from tacita.synthesize.text.vocabulary import Vocabulary

ROW, ADD = Unit.row(), Neighbours.ADD_REMOVE
BUDGET = Budget.approx(2.0, 1e-5)
RECIPE = HeadlineRecipe(kind="cgru", words=6, topics=3, hidden=8, steps=4, sample=40, people=400)


@pytest.fixture(scope="module")
def plan(headlines):
    return RECIPE.calibrate(headlines.vocabulary, BUDGET, unit=ROW, neighbours=ADD)


def test_all_steps_are_charged_and_fill_the_budget(plan):
    assert isinstance(plan.event, Repeated)
    assert plan.event.count == 4
    assert plan.event.event.rate == pytest.approx(0.1)
    assert 1.99 < float(cost([(plan.event, 1)], BUDGET, ADD)) <= 2.0
    assert plan.as_dict()["training"]["steps"] == 4
    json.dumps(plan.as_dict())


def test_a_session_charges_and_keeps_the_generator(plan, headlines, tmp_path):
    ledger = Ledger(Database(f"sqlite:///{tmp_path}/state.db"))
    ledger.open("news", unit=ROW, neighbours=ADD, budget=Budget.approx(3.0, 1e-5))
    terms = {"ledger": ledger, "account": "news", "principal": "me", "source": SecureSource()}
    session = Session(engine=HeadlineSource.of(headlines), **terms)
    made = session.ask(plan, purpose="headlines", key="one")
    assert made.guarantee == "central"
    assert made.provenance.charge is not None
    again = session.ask(plan, purpose="headlines", key="one")
    assert all((again.weights[name] == made.weights[name]).all() for name in made.weights)
    with pytest.raises(BudgetExceeded):
        session.ask(plan, purpose="headlines", key="two")


def test_without_a_budget_there_is_no_guarantee_and_no_ledger_takes_it(headlines, tmp_path):
    plan = RECIPE.calibrate(headlines.vocabulary, None, unit=ROW, neighbours=ADD)
    assert isinstance(plan.event, NonPrivate)
    assert plan.as_dict()["cost"] is None
    made = plan.run(HeadlineSource.of(headlines.take(slice(0, 30))), SecureSource())
    assert made.guarantee == "none"
    assert "may repeat them" in made.statement()
    ledger = Ledger(Database(f"sqlite:///{tmp_path}/state.db"))
    ledger.open("news", unit=ROW, neighbours=ADD, budget=Budget.approx(3.0, 1e-5))
    session = Session(
        engine=HeadlineSource.of(headlines), ledger=ledger, account="news", principal="me", source=SecureSource()
    )
    with pytest.raises(BudgetExceeded):
        session.ask(plan, key="one")


def test_words_that_were_read_off_headlines_are_refused_under_a_budget(headlines):
    private = Vocabulary.from_texts(headlines.texts(), headlines.vocabulary.topics)
    with pytest.raises(InvalidInput, match="must be public"):
        RECIPE.calibrate(private, BUDGET, unit=ROW, neighbours=ADD)
    assert RECIPE.calibrate(private, None, unit=ROW, neighbours=ADD).event


@pytest.mark.parametrize(
    ("budget", "unit", "neighbours", "match"),
    [
        (BUDGET, Unit.of_person("who", max_rows=2), ADD, "unit of its own"),
        (BUDGET, ROW, Neighbours.REPLACE_ONE, "neighbours"),
        (Budget.pure(1.0), ROW, ADD, "delta"),
    ],
)
def test_other_units_neighbours_and_budgets_are_refused(headlines, budget, unit, neighbours, match):
    with pytest.raises(InvalidInput, match=match):
        RECIPE.calibrate(headlines.vocabulary, budget, unit=unit, neighbours=neighbours)


def test_headlines_of_another_vocabulary_or_length_are_refused(plan, headlines):
    other = Vocabulary(words=("banks",), topics=("business",), public=True)
    with pytest.raises(InvalidInput, match="vocabulary that the plan was made for"):
        RECIPE.calibrate(other, None, unit=ROW, neighbours=ADD).run(HeadlineSource.of(headlines), SeededSource(1))
    with pytest.raises(InvalidInput, match="coded with the length"):
        plan.train(headlines.trimmed().take(slice(0, 3)).trimmed(), SeededSource(1))


@pytest.mark.parametrize(
    "wrong", [{"kind": "rnn"}, {"hidden": 0}, {"dropout": 1.0}, {"steps": 0}, {"heads": "none"}, {"learning_rate": -1}]
)
def test_bad_settings_are_refused(wrong):
    with pytest.raises(InvalidInput, match=next(iter(wrong))):
        HeadlineRecipe(**wrong)


def test_the_rate_never_exceeds_one():
    assert HeadlineRecipe(sample=500, people=100).rate == 1.0


def test_simulated_noise_is_no_guarantee(plan, headlines):
    made = plan.train(headlines, SeededSource(1))
    assert isinstance(made, HeadlineGenerator)
    assert made.guarantee == "none"
    assert "NOT private" in made.statement()
