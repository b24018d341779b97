import itertools

import numpy as np
import pytest
from tests.support.networks import random_network

from tacita.domain import Categorical, Domain
from tacita.errors import InvalidInput, UnknownName
from tacita.models.measurement import Measurement
from tacita.models.mixture import Mixture
from tacita.models.mixture_fit import _Objective, _Point, fit_latent_classes, fit_mixture
from tacita.tables.cells import Projectable

NAMES = ("a", "b", "c", "d")
DOMAIN = Domain(
    attributes=[
        Categorical(name=n, levels=[str(i) for i in range(k)]) for n, k in zip(NAMES, (2, 3, 4, 5), strict=True)
    ]
)
PAIRS = list(itertools.combinations(NAMES, 2))


def population(classes, seed):
    rng = np.random.default_rng(seed)
    tables = {name: rng.dirichlet(np.ones(DOMAIN[name].size), classes) for name in NAMES}
    return Mixture(domain=DOMAIN, weights=rng.dirichlet(np.full(classes, 5.0)), tables=tables)


TWO, FIVE = population(2, 1), population(5, 4)


def measure(keys, noise, truth=TWO, seed=0):
    rng = np.random.default_rng(seed)
    tables = [truth.project(key).values for key in keys]
    return [
        Measurement(attributes=key, values=table + rng.normal(0, noise, table.shape), variance=noise**2)
        for key, table in zip(keys, tables, strict=True)
    ]


# -- the loss ---------------------------------------------------------------------------------------------------------


def unequal(seed=0):
    """Singles, pairs with gaps, a pair the other way round, one pair twice; every cell with its own variance."""
    rng = np.random.default_rng(seed)
    found = []
    for key in [("b",), ("a", "b"), ("a", "d"), ("d", "c"), ("c", "d"), ("b",)]:
        table = TWO.project(key).values
        variance = rng.uniform(0.01, 0.1, table.shape)
        found.append(
            Measurement(attributes=key, values=table + rng.normal(0, np.sqrt(variance)), variance=variance),
        )
    return found


def defined_loss(model, measurements):
    """By the definition, table by table, in double precision."""
    gaps = [((model.project(m.attributes).values - m.values) ** 2 / m.variance).sum() for m in measurements]
    return sum(gaps) / sum(m.values.size for m in measurements)


def at(weights, tables):
    """The mixture of some logarithms."""
    shares = np.exp(weights) / np.exp(weights).sum()
    ends = np.cumsum(DOMAIN.shape)
    blocks = [np.exp(tables[end - size : end]).T for end, size in zip(ends, DOMAIN.shape, strict=True)]
    parts = {name: block / block.sum(axis=1, keepdims=True) for name, block in zip(NAMES, blocks, strict=True)}
    return Mixture(domain=DOMAIN, weights=shares, tables=parts)


def test_the_loss_is_that_of_the_definition():
    measurements = unequal()
    objective = _Objective(DOMAIN, measurements)
    for model in (TWO, FIVE):
        loss = objective(*objective.normalize(_Point.of(model)))[0]
        assert loss == pytest.approx(defined_loss(model, measurements), rel=1e-4)


def test_slopes_are_those_of_the_definition():
    measurements = unequal()
    objective = _Objective(DOMAIN, measurements)
    rng = np.random.default_rng(3)
    weights, tables = rng.normal(size=3), rng.normal(size=(sum(DOMAIN.shape), 3))
    point = _Point(weights.astype(np.float32), tables.astype(np.float32))
    _, by_weight, by_table = objective(*objective.normalize(point))
    expected = []
    for place in itertools.chain(np.ndindex(weights.shape), np.ndindex(tables.shape)):
        moved = [[weights.copy(), tables.copy()] for _ in range(2)]
        for (w, t), sign in zip(moved, (1, -1), strict=True):
            (w if len(place) == 1 else t)[place] += sign * 1e-5
        expected.append((defined_loss(at(*moved[0]), measurements) - defined_loss(at(*moved[1]), measurements)) / 2e-5)
    found = np.concatenate([by_weight, by_table.reshape(-1)])
    factor = np.dot(found, expected) / np.dot(found, found)
    assert factor > 0
    np.testing.assert_allclose(factor * found, expected, atol=1e-4 * np.abs(expected).max())


# -- few components ---------------------------------------------------------------------------------------------------


def test_a_population_of_two_classes_is_found_again_also_in_tables_that_were_not_measured():
    fit = fit_latent_classes(DOMAIN, measure(PAIRS, 1e-4), classes=2).model
    for key in [*PAIRS, ("a", "b", "c"), NAMES]:
        np.testing.assert_allclose(fit.project(key).values, TWO.project(key).values, atol=3e-3)


def test_tables_are_distributions_that_agree():
    fit = fit_latent_classes(DOMAIN, measure(PAIRS, 0.05), classes=3).model
    full = fit.project(NAMES)
    assert full.sum() == pytest.approx(1)
    assert (full.values >= 0).all()
    np.testing.assert_allclose(full.project(["d", "b"]).values, fit.project(["d", "b"]).values)
    assert isinstance(fit, Projectable)


def test_same_measurements_same_model():
    one, two = (fit_latent_classes(DOMAIN, measure(PAIRS, 0.05), classes=2).model for _ in range(2))
    assert np.array_equal(one.project(NAMES).values, two.project(NAMES).values)


def test_more_classes_fit_closer_and_the_misfit_is_half_the_squared_error():
    measurements = measure(PAIRS, 0.01, FIVE)
    fits = [fit_latent_classes(DOMAIN, measurements, classes=classes) for classes in (1, 2, 4)]
    assert fits[0].misfit > fits[1].misfit > fits[2].misfit
    for fit in fits:
        cells = sum(each.values.size for each in measurements)
        assert fit.misfit == pytest.approx(defined_loss(fit.model, measurements) * cells / 2, rel=1e-3)


def test_one_class_is_the_best_product():
    """Against small moves of each single table: none is nearer to what was measured."""
    measurements = measure(PAIRS, 0.02)
    best = fit_latent_classes(DOMAIN, measurements, classes=1).model
    rng = np.random.default_rng(5)
    for _ in range(200):
        name = NAMES[rng.integers(4)]
        moved = np.maximum(best.tables[name] + rng.normal(0, 0.01, best.tables[name].shape), 0)
        other = Mixture(domain=DOMAIN, weights=[1.0], tables=dict(best.tables) | {name: moved / moved.sum()})
        assert defined_loss(other, measurements) > defined_loss(best, measurements) - 1e-5


def test_a_fit_that_begins_at_a_model_ends_near_it_and_is_reweighted():
    def variance_at(table):
        return 1e-4 * (0.01 + table)

    def measured(seed):
        rng = np.random.default_rng(seed)
        found = []
        for key in PAIRS:
            table = TWO.project(key).values
            variance = variance_at(table)
            values = table + rng.normal(0, np.sqrt(variance))
            found.append(Measurement(attributes=key, values=values, variance=1e-4, variance_at=variance_at))
        return found

    first = fit_latent_classes(DOMAIN, measured(0), classes=2).model
    again = fit_latent_classes(DOMAIN, measured(1), classes=2, near=first)
    fresh = fit_latent_classes(DOMAIN, measured(1), classes=2)
    assert again.misfit == pytest.approx(fresh.misfit, rel=0.02)
    weighted = [each.reweighted(first.project(each.attributes).values) for each in measured(1)]
    assert again.loss == pytest.approx(defined_loss(again.model, weighted), rel=1e-3)
    assert again.loss > 2 * defined_loss(again.model, measured(1))
    np.testing.assert_allclose(again.model.project(NAMES).values, fresh.model.project(NAMES).values, atol=2e-3)


def test_only_measured_attributes_are_in_the_model():
    with pytest.raises(UnknownName):
        fit_latent_classes(DOMAIN, measure([("a", "b")], 0.1), classes=1).model.project(["c"])


# -- many components --------------------------------------------------------------------------------------------------


def test_pairs_that_agree_are_fitted():
    fitted = fit_mixture(DOMAIN, measure(PAIRS, 1e-3, FIVE), np.random.default_rng(1), components=60)
    assert not fitted.hidden
    assert fitted.loss < 1.3
    for pair in PAIRS:
        assert np.abs(fitted.model.project(pair).values - FIVE.project(pair).values).sum() / 2 < 0.01


def test_a_fit_is_nearer_to_the_truth_than_the_measured_tables():
    noisy = measure(PAIRS, 0.01, FIVE, seed=2)
    fitted = fit_mixture(DOMAIN, noisy, np.random.default_rng(1), components=60)
    found, measured = 0.0, 0.0
    for each in noisy:
        truth = FIVE.project(each.attributes).values
        found += np.abs(fitted.model.project(each.attributes).values - truth).sum()
        measured += np.abs(each.values - truth).sum()
    assert found < 0.9 * measured


def test_a_network_is_fitted_also_in_triples():
    network = random_network("tree", attributes=6, seed=3)
    names = network.domain.names
    noisy = measure(list(itertools.combinations(names, 2)), 1e-3, network)
    fitted = fit_mixture(network.domain, noisy, np.random.default_rng(1))
    gaps = [
        np.abs(fitted.model.project(key).values - network.project(key).values).sum() / 2
        for key in itertools.combinations(names, 3)
    ]
    assert np.mean(gaps) < 0.02


def test_noise_alone_makes_no_dependence():
    even = Mixture(
        domain=DOMAIN, weights=[1.0], tables={n: np.full((1, DOMAIN[n].size), 1 / DOMAIN[n].size) for n in NAMES}
    )
    hidden = [fit_mixture(DOMAIN, measure(PAIRS, 0.02, even, s), np.random.default_rng(1)).hidden for s in range(20)]
    assert np.mean(hidden) > 0.8


def test_the_same_generator_gives_the_same_fit():
    noisy = measure(PAIRS, 0.01, FIVE)
    one, two = (fit_mixture(DOMAIN, noisy, np.random.default_rng(3), components=20, fits=1) for _ in range(2))
    assert np.array_equal(one.model.weights, two.model.weights)


def test_one_step_still_gives_a_model():
    fitted = fit_mixture(DOMAIN, measure(PAIRS, 1e-3, FIVE), np.random.default_rng(1), fits=1, steps=1)
    assert fitted.steps == 1
    assert fitted.model.project(["a", "b"]).sum() == pytest.approx(1)


def test_a_long_descent_stays_in_the_range_of_single_precision():
    sharp = {name: np.eye(DOMAIN[name].size)[[0, 1]] for name in NAMES}
    truth = Mixture(domain=DOMAIN, weights=[0.5, 0.5], tables=sharp)
    objective = _Objective(DOMAIN, measure(PAIRS, 1e-6, truth))
    start = _Point.of(FIVE)
    for _ in range(5):  # the logarithms go on from where the descent before left them
        fitted = objective.descend(start, steps=2000)
    assert np.isfinite(fitted.loss)
    assert np.abs(fitted.model.project(["a", "b"]).values - truth.project(["a", "b"]).values).max() < 1e-3


def test_refusals():
    three = Measurement(attributes=("a", "b", "c"), values=np.full((2, 3, 4), 1 / 24), variance=0.01)
    with pytest.raises(InvalidInput, match="one or two"):
        fit_mixture(DOMAIN, [three], np.random.default_rng(1))
    with pytest.raises(InvalidInput, match="one or two"):
        fit_latent_classes(DOMAIN, [three], classes=2)
    with pytest.raises(InvalidInput, match="classes"):
        fit_latent_classes(DOMAIN, measure(PAIRS, 0.1), classes=0)
