import itertools

import numpy as np
import pyarrow as pa
import pytest

from tacita.assess.audit import audit
from tacita.domain import Domain, Identifier
from tacita.engines.local import LocalEngine
from tacita.errors import InvalidInput
from tacita.learn import Regression
from tacita.learn.compare import compare, simulate_rows
from tacita.learn.feature_map import Points
from tacita.learn.regression.monomials import ExactMoments
from tacita.learn.regression.problem import Coefficients
from tacita.learn.regression.tuning import TunedRegression, errors_of
from tacita.noise import SeededSource
from tacita.privacy.accountant import cost
from tacita.privacy.budget import Budget, exact
from tacita.privacy.unit import Neighbours, Unit

ADD, REPLACE, ROW = Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE, Unit.row()
DATA = simulate_rows(20_000, 4, seed=1)
RECIPE = TunedRegression(
    base=Regression(target="y", features=DATA.features), penalties=((0.0, 1.0), (1e5, 1.0), (100.0, 0.0))
)


def test_no_row_moves_an_error_by_more_than_one():
    found = [Coefficients(coefficients=np.array(c), intercept=i, notes={}) for c, i in (((9.0,), 3.0), ((-5.0,), 0.0))]
    for x, y in itertools.product((-1.0, 0.0, 1.0), repeat=2):
        assert errors_of(found, Points(x=np.array([[x]]), y=np.array([y]), outside=0)).max() <= 1
    assert errors_of(found, Points(x=np.array([[1.0]]), y=np.array([-1.0]), outside=0)).max() == 1


@pytest.mark.parametrize("budget", [Budget.pure(1.0), Budget.zcdp(0.1)], ids=str)
@pytest.mark.parametrize("neighbours", [ADD, REPLACE])
def test_tuning_is_charged_and_costs_no_more_than_the_budget(budget, neighbours):
    plan = RECIPE.calibrate(DATA.domain, budget, unit=ROW, neighbours=neighbours)
    spent = cost([(plan.event, 1)], budget, neighbours)
    assert 0.98 * exact(budget.amount) < spent <= exact(budget.amount)


def test_the_best_penalty_is_chosen():
    plan = RECIPE.calibrate(DATA.domain, Budget.pure(4.0), unit=ROW, neighbours=ADD)
    model = plan.run(LocalEngine(DATA.domain, DATA.rows), SeededSource(0))
    assert model.notes["penalty"] != 1e5
    assert plan.read(model.to_json()).to_json() == model.to_json()
    assert "chosen privately" in model.why


def test_rows_that_choose_leave_no_trace_in_what_is_fitted(monkeypatch):
    seen = []
    honest = ExactMoments.of
    monkeypatch.setattr(
        ExactMoments, "of", lambda monomials, parts, bits: seen.extend(parts) or honest(monomials, parts, bits)
    )
    far = DATA.rows.slice(0, 200).set_column(0, "x1", pa.array(np.full(200, 9.0)))
    plan = RECIPE.calibrate(DATA.domain, Budget.pure(1.0), unit=ROW, neighbours=ADD)
    model = plan.run(LocalEngine(DATA.domain, far), SeededSource(0))
    (fitting,) = seen
    assert len(fitting) < 200
    assert fitting.outside == 0
    assert "outside" not in model.notes


def test_an_attack_shows_no_more_than_was_claimed():
    small = simulate_rows(15, 1, seed=2)
    recipe = TunedRegression(base=Regression(target="y", features=small.features), penalties=((0.0, 1.0), (9.0, 1.0)))
    plan = recipe.calibrate(small.domain, Budget.pure(1.0), unit=ROW, neighbours=ADD)
    source = SeededSource(3)

    def run(rows, times, rng):
        engine = LocalEngine(small.domain, rows)
        models = [plan.run(engine, source) for _ in range(times)]
        return np.array([[m.intercept, m.coefficients[0], m.notes["penalty"]] for m in models])

    shown = audit(run, small.rows, small.rows.slice(0, 14), trials=1000, rng=np.random.default_rng(0))
    assert shown.epsilon <= 1.0


def test_what_cannot_be():
    base = Regression(target="y", features=DATA.features)
    for more in ({"penalties": ()}, {"penalties": ((-1.0, 1.0),)}, {"share": 1.0}):
        with pytest.raises(InvalidInput):
            TunedRegression(**{"base": base, "penalties": ((1.0, 1.0),)} | more)
    with pytest.raises(InvalidInput, match="moments"):
        TunedRegression(base=Regression(target="y", features=("x1",), method="output"), penalties=((1.0, 1.0),))
    with pytest.raises(InvalidInput, match="rho"):
        RECIPE.calibrate(DATA.domain, Budget.approx(1, 1e-5), unit=ROW, neighbours=ADD)
    domain = Domain(person="who", attributes=[Identifier(name="who"), *DATA.domain.attributes])
    with pytest.raises(InvalidInput, match="unit"):
        RECIPE.calibrate(domain, Budget.pure(1), unit=Unit.of_person("who", max_rows=2), neighbours=ADD)


def test_comparing_says_what_privacy_costs_and_how_often_noise_broke_convexity():
    found = list(
        compare(
            rows=[500, 20_000],
            features=[3],
            budgets=[Budget.pure(0.1), Budget.pure(4.0)],
            methods=("functional", "output", "sufficient"),
            draws=5,
        )
    )
    by = {(c.method, c.rows, c.epsilon): c for c in found}
    assert {c.method for c in found} == {"functional", "output"}  # Gaussian noise has no pure epsilon: left out
    assert by["functional", 20_000, 4.0].middle < by["functional", 500, 0.1].middle
    assert by["functional", 500, 0.1].convexified == 1.0
    assert by["functional", 20_000, 4.0].convexified == 0.0
    assert by["output", 500, 0.1].convexified is None
    assert all(c.low <= c.middle <= c.high for c in found)
    with pytest.raises(InvalidInput, match="methods"):
        list(compare(rows=[9], features=[1], budgets=[Budget.pure(1)], methods=("magic",)))
    with pytest.raises(InvalidInput, match="draws"):
        list(compare(rows=[9], features=[1], budgets=[Budget.pure(1)], draws=0))


def test_a_plan_says_that_a_penalty_is_chosen():
    plan = RECIPE.calibrate(DATA.domain, Budget.pure(1), unit=ROW, neighbours=ADD)
    assert "penalties" in plan.why
    assert plan.as_dict()["why"] == plan.why
