"""DP-SGD for lines: where torch is installed."""

from dataclasses import replace

import numpy as np
import pytest

from tacita.assess.audit import audit
from tacita.domain import Domain, Identifier
from tacita.errors import InvalidInput
from tacita.learn import Regression
from tacita.learn.compare import simulate_rows
from tacita.learn.feature_map import Points
from tacita.noise import SeededSource
from tacita.privacy.accountant import cost, epsilon_at
from tacita.privacy.budget import Budget
from tacita.privacy.unit import Neighbours, Unit

pytest.importorskip("torch")
from tacita.models.neural.training import Steps

ADD, REPLACE, ROW = Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE, Unit.row()
APPROX = Budget.approx(1.0, 1e-5)


def plan_of(data, **more):
    recipe = Regression(target="y", features=data.features, task=data.task, method="dpsgd", people=data.rows.num_rows)
    return recipe.calibrate(data.domain, APPROX, **{"unit": ROW, "neighbours": ADD} | more)


@pytest.mark.parametrize("task", ["linear", "logistic"])
def test_it_learns_within_its_budget(task):
    data = simulate_rows(5000, 3, task=task, seed=4)
    plan = plan_of(data)
    assert 0.98 < cost([(plan.event, 1)], APPROX, ADD) <= 1
    found = plan.method.fit([plan.setting.design.points(data.rows)], SeededSource(0))
    test = plan.setting.design.points(data.held_out)
    told = test.x @ found.coefficients + found.intercept
    if task == "linear":
        assert np.sqrt(np.mean((told - test.y) ** 2)) < 0.95 * test.y.std()
    else:
        assert np.mean((told > 0) == (test.y > 0)) > 0.7


def test_an_attack_shows_no_more_than_was_claimed_and_catches_a_broken_one():
    data = simulate_rows(20, 2, seed=1)
    plan = plan_of(data)
    one = plan.setting.design.points(data.rows)
    other = Points(x=np.concatenate([one.x, [[1.0, 1.0]]]), y=np.append(one.y, 1.0), outside=0)
    source = SeededSource(2)

    def shown(steps):
        method = replace(plan.method, steps=steps)

        def run(rows, times, rng):
            found = [method.fit([rows], source) for _ in range(times)]
            return np.array([each.intercept + each.coefficients.sum() for each in found])

        # steps of a twentieth: outputs repeat, so that few trials tell much
        rng = np.random.default_rng(0)
        return audit(run, one, other, trials=400, rng=rng, delta=1e-5, score=lambda out: np.round(out * 20)).epsilon

    few = Steps(steps=2, rate=0.5, noise_multiplier=2.0)
    assert shown(few) <= epsilon_at(few.event, 1e-5, ADD)
    assert shown(Steps(steps=1, rate=1.0, noise_multiplier=0.01)) > 1.0


def test_it_refuses_what_it_cannot_protect():
    data = simulate_rows(20, 2)
    with pytest.raises(InvalidInput, match="add-remove"):
        plan_of(data, neighbours=REPLACE)
    domain = Domain(person="who", attributes=[Identifier(name="who"), *data.domain.attributes])
    with pytest.raises(InvalidInput, match="rows"):
        Regression(target="y", features=("x1",), method="dpsgd").calibrate(
            domain, APPROX, unit=Unit.of_person("who", max_rows=2), neighbours=ADD
        )
