"""The noise is predicted before anything is paid for, and noise that leaves nothing to read is refused."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import norm

from tacita.engines.local import LocalEngine
from tacita.errors import InvalidInput
from tacita.learn.functions import ReleaseFunction
from tacita.learn.functions.path import OWN
from tacita.learn.functions.registry import Registry
from tacita.learn.functions.releasing import KeptPlan
from tacita.noise import SeededSource
from tacita.plans.session import Session
from tacita.privacy.budget import Budget
from tacita.privacy.ledger import Ledger
from tacita.privacy.unit import Neighbours, Unit
from tacita.store import Database

ADD, REPLACE = Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE


def plan_of(kit, kind: str, *, neighbours=REPLACE, budget=None, **parts):
    recipe = ReleaseFunction(kind=kind, **kit.parts[kind] | parts)
    return recipe.calibrate(kit.domain, budget or kit.budget, unit=Unit.row(), neighbours=neighbours)


@pytest.mark.parametrize("form", ["path", "features"])
@pytest.mark.parametrize("kind", ["density", "gaussian-process"])
def test_what_is_predicted_is_what_runs(kit, kind, form) -> None:
    plan = plan_of(kit, kind, form=form)
    predicted = plan.predict_error(kit.engine)
    model = plan.fit(kit.engine, SeededSource(1))
    assert predicted.noise_std == pytest.approx(model.about["noise_std"], rel=1e-12)
    assert model.about["reference"] == {"value": predicted.reference, "what": predicted.what}
    without = plan.predict_error()
    if kind == "density":
        assert without.noise_std is None
        assert "people" in without.words
        assert plan_of(kit, kind, form=form, people=300).predict_error().noise_std == predicted.noise_std
    else:
        assert without.noise_std >= predicted.noise_std  # the worst case over all inputs


def test_kinds_without_a_measure(kit) -> None:
    for kind in ("histogram", "svm"):
        plan = plan_of(kit, kind)
        assert plan.predict_error(kit.engine) is None
        plan.check_error(kit.engine)
        assert plan.as_dict()["error"] is None


def test_rows_that_come_and_go_are_not_counted_before_they_are_paid_for(kit) -> None:
    """Under add-remove the number of rows is private: only what the caller says is used."""
    plan = plan_of(kit, "density", neighbours=ADD, people=1000)
    assert plan.predict_error(kit.engine) == plan.predict_error()
    assert plan_of(kit, "density", neighbours=ADD).predict_error(kit.engine).noise_std is None


@pytest.mark.parametrize("kind", ["density", "gaussian-process"])
def test_noise_that_leaves_nothing_to_read_is_refused_before_it_is_charged(kit, kind, tmp_path) -> None:
    database = Database(f"sqlite:///{tmp_path}/state.db")
    ledger, registry = Ledger(database), Registry(database)
    ledger.open("d", budget=Budget.approx(1.0, 1e-5), unit=Unit.row(), neighbours=REPLACE)
    session = Session(engine=kit.engine, ledger=ledger, account="d", principal="me", source=SeededSource(1))
    small = Budget.approx(0.01, 1e-6)
    plan = plan_of(kit, kind, budget=small)
    assert plan.predict_error(kit.engine).too_large
    with pytest.raises(InvalidInput, match=r"nothing was charged.*accept"):
        session.ask(KeptPlan(plan=plan, registry=registry, name="f"))
    assert session.balance().spent == 0
    accepted = plan_of(kit, kind, budget=small, accept_noise=True)
    session.ask(KeptPlan(plan=accepted, registry=registry, name="f"))
    assert session.balance().spent > 0


def test_answers_of_an_accepted_function_are_flagged(kit) -> None:
    point = [[5.0]]
    noisy = plan_of(kit, "gaussian-process", budget=Budget.approx(0.01, 1e-6), form="features")
    found = noisy.fit(kit.engine, SeededSource(1)).answer(point)
    assert "mostly noise" in found.warning
    assert found.as_dict()["warning"] == found.warning
    good = plan_of(kit, "gaussian-process", budget=Budget.approx(50.0, 1e-6), form="features")
    assert good.fit(kit.engine, SeededSource(1)).answer(point).warning is None


@pytest.mark.parametrize("kind", ["density", "gaussian-process"])
def test_replaced_neighbours_stay_within_the_budget(kit, kind) -> None:
    """Brute force: for many replaced rows, the exact delta of all answers together, from their covariance."""
    rng, epsilon, delta = np.random.default_rng(4), 1.0, 1e-5
    budget = Budget.approx(epsilon, delta)
    features = ("x",)
    domain = kit.domain
    plan = plan_of(kit, kind, budget=budget, features=features)
    grid = np.linspace(0, 1, 60)[:, None]
    worst = 0.0
    base = {"x": np.sort(rng.uniform(0, 10, 12)), "y": rng.uniform(-1, 1, 12)}
    sigma = None
    for place in range(12):
        for value in np.linspace(0, 10, 21) if kind == "density" else (-1.0, 1.0):
            sides = []
            for end in (value, -1.0 if value == 1.0 else (base["x"][place] if kind == "density" else 1.0)):
                table = {name: column.copy() for name, column in base.items()}
                table["x" if kind == "density" else "y"][place] = end
                model = plan.fit(_engine(domain, table), SeededSource(1))
                sides.append(model.exact(grid)[:, 0])
                sigma = model.sigma
            covariance = sigma**2 * (model.space.kernel(grid, grid) + OWN * np.eye(len(grid)))
            moved = sides[0] - sides[1]
            worst = max(worst, math.sqrt(moved @ np.linalg.solve(covariance, moved)))
    assert worst > 0.7 / plan.multiplier  # the neighbours are near to the worst ones
    assert norm.cdf(worst / 2 - epsilon / worst) - math.exp(epsilon) * norm.cdf(-worst / 2 - epsilon / worst) <= delta


def _engine(domain, table):
    rows = len(table["x"])
    return LocalEngine(domain, pa.table(table | {"c": ["a"] * rows, "seen": ["2020-01-01"] * rows}))
