import itertools

import numpy as np
import pytest
from scipy.optimize import check_grad

from tacita.collect.estimating.latent import Measurement, _Problem, fit_latent_classes
from tacita.collect.planning.rehearse import made_up
from tacita.domain import Categorical, Domain
from tacita.errors import InvalidInput, UnknownName
from tacita.tables.cells import Projectable

NAMES = ("a", "b", "c", "d")
DOMAIN = Domain(
    attributes=[
        Categorical(name=n, levels=[str(i) for i in range(k)]) for n, k in zip(NAMES, (2, 3, 4, 5), strict=True)
    ]
)
POPULATION = made_up(DOMAIN, NAMES, dependence=0.15, seed=1)


def measure(keys, noise=1e-6, seed=0):
    rng = np.random.default_rng(seed)
    found = []
    for key in keys:
        truth = POPULATION.project(key).values
        found.append(
            Measurement(
                attributes=key,
                values=truth + rng.normal(0, noise, truth.shape),
                variance=np.full(truth.shape, noise**2),
            )
        )
    return found


PAIRS = list(itertools.combinations(NAMES, 2))


def test_gradient_against_differences():
    problem = _Problem(DOMAIN, [*measure(PAIRS[:3], 0.1), *measure([("b",)], 0.1)], 3)
    x = np.random.default_rng(3).normal(size=int(problem.starts[-1]))
    assert check_grad(lambda v: problem(v)[0], lambda v: problem(v)[1], x) < 1e-4


def test_a_population_of_two_kinds_is_found_again_also_in_tables_that_were_not_measured():
    fit = fit_latent_classes(DOMAIN, measure(PAIRS, 1e-4), classes=2)
    for key in [*PAIRS, ("a", "b", "c"), NAMES]:
        np.testing.assert_allclose(fit.project(key).values, POPULATION.project(key).values, atol=3e-3)


def test_tables_are_distributions_that_agree():
    fit = fit_latent_classes(DOMAIN, measure(PAIRS, 0.05), classes=3)
    full = fit.project(NAMES)
    assert full.sum() == pytest.approx(1)
    assert (full.values >= 0).all()
    np.testing.assert_allclose(full.project(["d", "b"]).values, fit.project(["d", "b"]).values)
    assert isinstance(fit, Projectable)


def test_same_measurements_same_model():
    one, two = (fit_latent_classes(DOMAIN, measure(PAIRS, 0.05), classes=2) for _ in range(2))
    assert np.array_equal(one.project(NAMES).values, two.project(NAMES).values)


def test_sampled_people_follow_the_model():
    codes = POPULATION.sample(100_000, np.random.default_rng(1))
    table = np.zeros((2, 3))
    np.add.at(table, (codes["a"], codes["b"]), 1e-5)
    np.testing.assert_allclose(table, POPULATION.project(["a", "b"]).values, atol=0.01)


def test_made_up_populations_are_as_dependent_as_asked():
    gaps = []
    for key in PAIRS:
        table = POPULATION.project(key).values
        gaps.append(0.5 * np.abs(table - np.outer(table.sum(1), table.sum(0))).sum())
    assert np.mean(gaps) == pytest.approx(0.15, abs=1e-3)


def test_refusals():
    with pytest.raises(InvalidInput, match="classes"):
        fit_latent_classes(DOMAIN, measure(PAIRS), classes=0)
    with pytest.raises(InvalidInput, match="one or two"):
        Measurement(attributes=("a", "b", "c"), values=np.ones((2, 3, 4)), variance=np.ones((2, 3, 4)))
    with pytest.raises(InvalidInput, match="variance"):
        Measurement(attributes=("a",), values=np.ones(2), variance=np.zeros(2))
    with pytest.raises(UnknownName):
        fit_latent_classes(DOMAIN, measure([("a", "b")]), classes=1).project(["c"])
