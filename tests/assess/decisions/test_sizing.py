import math

import numpy as np
import pytest

from tacita.assess.decisions.flip import design_flip
from tacita.assess.decisions.mechanisms import AdditiveMechanism, ChannelMechanism
from tacita.assess.decisions.posterior import draw_true_counts
from tacita.assess.decisions.rule import Rule
from tacita.assess.decisions.sizing import (
    effect_table,
    epsilon_needed,
    largest_effect,
    people_needed,
    statistic_needed,
)
from tacita.errors import InvalidInput
from tacita.noise import DiscreteLaplace
from tacita.privacy.budget import Budget
from tacita.tables.uncertainty import AdditiveNoise


@pytest.mark.parametrize(("rows", "columns"), [(2, 2), (3, 4), ([0.7, 0.2, 0.1], [0.6, 0.4])])
def test_a_table_has_its_margins_and_its_effect(rows, columns):
    for effect in (0.0, 0.1, 0.9 * largest_effect(rows, columns)):
        shares, (strata, r, c) = effect_table(rows, columns, effect, strata=2)
        for part in shares.reshape(strata, r, c):
            a, b = part.sum(axis=1) * strata, part.sum(axis=0) * strata
            np.testing.assert_allclose(a, np.full(r, 1 / r) if isinstance(rows, int) else rows)
            product = np.outer(a, b)
            assert math.sqrt(((part * strata - product) ** 2 / product).sum()) == pytest.approx(effect, abs=1e-12)


def test_an_effect_that_margins_do_not_allow_is_refused():
    assert largest_effect(2, 2) == pytest.approx(1)
    with pytest.raises(InvalidInput, match="with these margins"):
        effect_table([0.9, 0.1], 2, 0.9)
    with pytest.raises(InvalidInput, match="positive shares"):
        effect_table([1.0, 0.0], 2, 0.1)


def test_people_needed_are_enough_and_fewer_are_not():
    shares, shape = effect_table(2, 2, 0.1)
    mechanism = AdditiveMechanism.for_budget(shape, Budget.pure(0.1))
    found = people_needed(shares, shape, mechanism, rng=np.random.default_rng(1), most=10**6)
    assert found.value is not None
    rng = np.random.default_rng(2)
    enough = design_flip(
        shares, shape, mechanism, people=round(1.1 * found.value), decide="private", draws=20_000, rng=rng
    )
    fewer = design_flip(
        shares, shape, mechanism, people=round(0.7 * found.value), decide="private", draws=20_000, rng=rng
    )
    assert enough.probability < 0.05 < fewer.probability
    assert [point[0] for point in found.curve] == sorted(point[0] for point in found.curve)


def test_epsilon_needed_is_enough_and_less_is_not():
    shares, shape = effect_table(3, 2, 0.1)

    def make(epsilon):
        return ChannelMechanism.for_epsilon(shape, "rr", epsilon)

    found = epsilon_needed(shares, shape, make, people=20_000, rng=np.random.default_rng(1), least=0.1, most=6)
    rng = np.random.default_rng(2)
    enough = design_flip(shares, shape, make(1.1 * found.value), people=20_000, decide="private", draws=20_000, rng=rng)
    less = design_flip(shares, shape, make(0.8 * found.value), people=20_000, decide="private", draws=20_000, rng=rng)
    assert enough.probability < 0.05 < less.probability


def test_decisions_that_ignore_the_noise_hardly_flip_under_enormous_noise():
    """They call everything dependent; with the test that knows the noise the effect is lost instead."""
    shares, shape = effect_table(3, 2, 0.1)
    mechanism, rng = ChannelMechanism.for_epsilon(shape, "rr", 0.08), np.random.default_rng(1)
    naive = design_flip(shares, shape, mechanism, people=20_000, draws=2000, rng=rng)
    tested = design_flip(shares, shape, mechanism, people=20_000, decide="private", draws=2000, rng=rng)
    assert naive.probability < 0.05
    assert tested.to_independent > 0.9


@pytest.mark.parametrize("kind", ["laplace", "rr", "unary", "fourier"])
def test_the_test_that_knows_the_noise_holds_its_level_in_a_design(kind):
    shares, shape = effect_table([0.7, 0.3], 2, 0.0)
    rng = np.random.default_rng(2)
    if kind == "laplace":
        mechanism = AdditiveMechanism.for_budget(shape, Budget.pure(0.1))
    else:
        mechanism = ChannelMechanism.for_epsilon(shape, kind, 1.0)
    draws = 4000 if kind in ("laplace", "rr") else 1500
    found = design_flip(shares, shape, mechanism, people=2000, decide="private", draws=draws, rng=rng)
    calls = found.to_dependent + found.dependent - found.to_independent  # share of releases called dependent
    assert calls == pytest.approx(0.05, abs=5 * math.sqrt(0.05 * 0.95 / draws))


def test_where_nothing_is_enough_that_is_said():
    """Local noise grows with the people: an independent table is called dependent however many there are."""
    shares, shape = effect_table(2, 2, 0.0)
    mechanism = ChannelMechanism.for_epsilon(shape, "rr", 1.0)
    found = people_needed(shares, shape, mechanism, rng=np.random.default_rng(1), most=10**6, draws=500, decide="same")
    assert found.value is None
    assert found.flip.to_dependent > 0.3


def test_the_statistic_needed_has_the_stability_asked_for():
    noise, rng, rule = AdditiveNoise(law=DiscreteLaplace.at_least(20)), np.random.default_rng(1), Rule()

    def stable(table):
        return float(rule.dependent(draw_true_counts(np.round(table), noise, 20_000, rng), (1, 2, 2)).mean())

    found = [statistic_needed(stable, 2, 2, people=2000, target=target) for target in (0.8, 0.99)]
    assert found[0] == pytest.approx(8.7, abs=0.4)
    assert found[1] == pytest.approx(26, abs=1.2)
    assert statistic_needed(lambda _: 0.5, 2, 2, people=2000, target=0.8) is None
