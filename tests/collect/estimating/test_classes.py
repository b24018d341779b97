"""Latent classes: slopes and effective parameters against finite differences, and the average on known populations."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime

from tacita.collect.estimating.classes import _Problem, average_classes, fit_classes
from tacita.collect.estimating.interactions import Interactions
from tacita.domain import Categorical, Domain
from tacita.models.mixture import Mixture

MIXED = Domain(
    attributes=[
        Categorical(name=n, levels=[str(i) for i in range(k)]) for n, k in zip("abcd", (2, 2, 2, 3), strict=True)
    ]
)


def measured_of(model, noise, seed):
    """All singles and pairs of a model, with equal noise in every free direction."""
    found, rng = Interactions.empty(model.domain), np.random.default_rng(seed)
    names = model.domain.names
    for a, one in enumerate(found.blocks):
        z = model.project((names[a],)).values - 1 / model.domain.shape[a]
        error = rng.normal(0, noise, z.size)
        found.singles[one] = z + error - error.mean()
        found.single_precision[one] = noise**-2
        for b in range(a + 1, len(names)):
            two = found.blocks[b]
            table = model.project((names[a], names[b])).values + rng.normal(0, noise, (z.size, model.domain.shape[b]))
            part = table - table.mean(0, keepdims=True)
            part = part - part.mean(1, keepdims=True)
            found.pairs[one, two], found.pairs[two, one] = part, part.T
            found.pair_precision[one, two] = noise**-2
            found.pair_precision[two, one] = noise**-2
    return found


def mixture(domain, classes, seed, apart=1.0):
    rng = np.random.default_rng(seed)
    logs = {name: rng.normal(0, 0.5, domain[name].size) for name in domain.names}
    tables = {name: np.exp(logs[name] + rng.normal(0, apart, (classes, domain[name].size))) for name in domain.names}
    return Mixture(
        domain=domain,
        weights=rng.dirichlet(np.full(classes, 5.0)),
        tables={name: table / table.sum(axis=1, keepdims=True) for name, table in tables.items()},
    )


@pytest.mark.parametrize("common", [False, True])
def test_slopes_are_those_of_the_loss(common):
    problem = _Problem(measured_of(mixture(MIXED, 2, 1), 0.05, 2))
    x = np.random.default_rng(3).normal(0, 0.6, 3 + 3 * 9)
    slope = approx_fprime(x, lambda at: problem(at, 3, 1.5, common)[0], 1e-7)
    np.testing.assert_allclose(problem(x, 3, 1.5, common)[1], slope, atol=1e-3, rtol=1e-4)


def test_effective_parameters_say_how_far_the_fit_follows_the_noise():
    """f is the sum of the covariances of fit and measurement, in units of the noise."""
    model, noise = mixture(MIXED, 2, 4, apart=1.5), 0.02
    start = fit_classes(measured_of(model, 1e-6, 0), 2, strength=1e-3)
    followed, stated = [], []
    for seed in range(60):
        seen = measured_of(model, noise, seed)
        problem = _Problem(seen)
        fit = problem.fit(start.weights, start.logs, 0.4, common=False)
        found, total = problem.mixture(fit), 0.0
        truth = measured_of(model, 1e-9, 0)
        fitted = measured_of(found, 1e-9, 0)
        total += ((seen.singles - truth.singles) * (fitted.singles - truth.singles)).sum()
        total += ((seen.pairs - truth.pairs) * (fitted.pairs - truth.pairs)).sum() / 2
        followed.append(total / noise**2)
        stated.append(fit.parameters)
    assert np.mean(followed) == pytest.approx(np.mean(stated), abs=4 * np.std(followed) / np.sqrt(60) + 0.5)
    free = 3 + 2 + 2 * 5 + 1  # of two classes, without a prior
    assert 5 < np.mean(stated) < free


def test_many_parameters_are_counted_whole(monkeypatch):
    """Where the curvature is too large to compute, the count is an upper bound of the effective number."""
    measured = measured_of(mixture(MIXED, 2, 4), 0.02, 5)
    effective = fit_classes(measured, 2, strength=0.4).parameters
    monkeypatch.setattr("tacita.collect.estimating.classes._MOST_PARAMETERS", 10)
    assert effective < fit_classes(measured, 2, strength=0.4).parameters == 2 * 5 + 1


def test_the_average_finds_dependence_and_its_absence():
    domain = Domain(attributes=[Categorical(name=f"x{i}", levels=["no", "yes"]) for i in range(8)])
    for apart, least, most in ((0.0, 0.4, 1.0), (1.5, 0.0, 0.01)):
        model = mixture(domain, 2, 6, apart=apart)
        found = average_classes(measured_of(model, 0.01, 7))
        alone = sum(share for fit, share in zip(found.fits, found.shares, strict=True) if fit.classes == 1)
        assert least <= alone <= most
        assert sum(found.shares) == pytest.approx(1)
        gaps = [np.abs(found.model.project(k).values - model.project(k).values).max() for k in (("x0", "x1"), ("x5",))]
        assert max(gaps) < 0.02


def test_the_common_prior_helps_where_one_trait_stands_behind_all_questions():
    domain = Domain(attributes=[Categorical(name=f"x{i}", levels=["no", "yes"]) for i in range(12)])
    yes = np.stack([np.linspace(0.1, 0.3, 12), np.linspace(0.55, 0.8, 12)])
    tables = {f"x{i}": np.stack([1 - yes[:, i], yes[:, i]], axis=1) for i in range(12)}
    model = Mixture(domain=domain, weights=np.array([0.6, 0.4]), tables=tables)
    errors = {True: 0.0, False: 0.0}
    for seed in range(5):
        measured = measured_of(model, 0.08, seed)
        problem = _Problem(measured)
        for common in errors:
            fit = fit_classes(measured, 2, strength=6.0, common=common)
            for a in range(11):
                key = (f"x{a}", f"x{a + 1}")
                errors[common] += np.abs(problem.mixture(fit).project(key).values - model.project(key).values).sum()
    assert errors[True] < 0.8 * errors[False]


def test_the_same_measurements_give_the_same_model():
    measured = measured_of(mixture(MIXED, 3, 8), 0.03, 9)
    one, two = (average_classes(measured).model for _ in range(2))
    np.testing.assert_array_equal(one.weights, two.weights)
