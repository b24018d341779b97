"""Plans that do something private around a fit: what they share, and that they are paid for before they look."""

import numpy as np
import pyarrow as pa
import pytest

from tacita.domain import Domain, Numeric
from tacita.engines.local import LocalEngine
from tacita.errors import BudgetExceeded
from tacita.learn import NarrowedRegression, Regression, TunedRegression
from tacita.noise import SecureSource, SeededSource
from tacita.plans.session import Session
from tacita.privacy.accountant import cost
from tacita.privacy.budget import Budget
from tacita.privacy.ledger import Ledger
from tacita.privacy.unit import Neighbours, Unit
from tacita.store import Database

ADD, ROW = Neighbours.ADD_REMOVE, Unit.row()
DOMAIN = Domain(attributes=[Numeric(name=name, bounds=(-1, 1), bins=2) for name in ("a", "y")])
LINE = Regression(target="y", features=("a",), method="functional")
RECIPES = [NarrowedRegression(base=LINE), TunedRegression(base=LINE, penalties=((1.0, 1.0), (10.0, 1.0)))]


def rows(count=400):
    a = np.random.default_rng(0).uniform(-0.2, 0.2, count)
    return pa.table({"a": a, "y": a / 2})


def plan_of(recipe, budget=Budget.pure(1.0)):  # noqa: B008
    return recipe.calibrate(DOMAIN, budget, unit=ROW, neighbours=ADD)


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda each: type(each).__name__)
def test_plan_and_model_say_what_the_whole_costs(recipe):
    plan = plan_of(recipe)
    model = plan.run(LocalEngine(DOMAIN, rows()), SeededSource(1))
    assert model.event == plan.event != plan.fit.event
    told = plan.as_dict()
    assert told["cost"] == float(cost([(plan.event, 1)], Budget.pure(1.0), ADD))
    assert told["recipe"] == recipe.as_dict() == model.provenance.recipe
    assert told["budget"] == Budget.pure(1.0).as_dict()
    assert (model.method, model.unit, model.neighbours) == ("functional", ROW, ADD)
    assert model.provenance.simulated
    assert plan.read(model.to_json()).to_json() == model.to_json()


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda each: type(each).__name__)
def test_the_charge_is_there_before_data_is_touched(recipe, tmp_path, monkeypatch):
    ledger = Ledger(Database(f"sqlite:///{tmp_path}/state.db"))
    ledger.open("people", unit=ROW, neighbours=ADD, budget=Budget.pure(1.5))
    engine, spent = LocalEngine(DOMAIN, rows()), []
    read = LocalEngine.rows

    def watched(self, *more, **named):
        spent.append(float(ledger.balance("people").spent))
        return read(self, *more, **named)

    monkeypatch.setattr(LocalEngine, "rows", watched)
    session = Session(engine=engine, ledger=ledger, account="people", principal="me", source=SecureSource())
    session.ask(plan_of(recipe), key="one")
    assert spent
    assert min(spent) == pytest.approx(1, rel=1e-3)
    looked = len(spent)
    with pytest.raises(BudgetExceeded):
        session.ask(plan_of(recipe), key="two")
    assert len(spent) == looked
