"""Every method is attacked by distinguishing: one extreme row more or less, over repeated training."""

from dataclasses import replace

import numpy as np
import pytest

from tacita.assess.audit import audit
from tacita.domain import Domain, Numeric
from tacita.learn import Regression
from tacita.learn.feature_map import Points
from tacita.noise import DiscreteLaplace, SeededSource
from tacita.privacy.budget import Budget
from tacita.privacy.unit import Neighbours, Unit

DOMAIN = Domain(attributes=[Numeric(name=name, bounds=(-1, 1), bins=4) for name in ("a", "b", "y")])
APPROX = Budget.approx(1.0, 1e-5)
BUDGETS = {
    "functional": Budget.pure(1.0),
    "objective": Budget.pure(1.0),
    "output": Budget.pure(1.0),
    "dpme": Budget.pure(1.0),
    "sufficient": APPROX,
    "adassp": APPROX,
}
TRIALS = 1200


def rows(extra):
    rng = np.random.default_rng(0)
    x, y = rng.uniform(-0.2, 0.2, (20, 2)), np.where(rng.random(20) < 0.5, -1.0, 1.0)
    if extra:
        x, y = np.concatenate([x, [[1.0, 1.0]]]), np.append(y, 1.0)
    return Points(x=x, y=y, outside=0)


def method_of(name):
    recipe = Regression(target="y", features=("a", "b"), method=name, people=30)
    return recipe.calibrate(DOMAIN, BUDGETS[name], unit=Unit.row(), neighbours=Neighbours.ADD_REMOVE).method


def shown(method, delta):
    source = SeededSource(9)

    def run(data, times, rng):
        found = [method.fit([data], source) for _ in range(times)]
        return np.array([[each.intercept, *each.coefficients] for each in found])

    return audit(run, rows(False), rows(True), trials=TRIALS, rng=np.random.default_rng(0), delta=delta).epsilon


def broken(name, method):
    """The same with a thirtieth of its noise."""
    if name in ("output", "dpme"):
        return replace(method, law=DiscreteLaplace.at_least(method.law.scale / 30))
    if name == "objective":
        return replace(method, epsilon=30.0)
    if name == "adassp":
        return replace(method, sigma2=tuple(sigma2 / 900 for sigma2 in method.sigma2))
    return replace(method, noise=method.noise.sized(method.noise.size / 30))


@pytest.mark.parametrize("name", BUDGETS)
def test_no_attack_shows_more_than_was_claimed(name):
    assert shown(method_of(name), BUDGETS[name].delta) <= 1.0


@pytest.mark.parametrize("name", BUDGETS)
def test_an_attack_catches_a_broken_one(name):
    assert shown(broken(name, method_of(name)), BUDGETS[name].delta) > 1.0
