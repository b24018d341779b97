"""The loop: noise, normalisation, what is paid for, divergence, and an attack that would find a leak."""

import math

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from tacita.errors import InternalError, InvalidInput  # noqa: E402
from tacita.models.neural.training import PrivateTraining, Steps  # noqa: E402
from tacita.noise import SeededSource  # noqa: E402
from tacita.privacy.accountant import epsilon_at  # noqa: E402
from tacita.privacy.budget import Budget  # noqa: E402
from tacita.privacy.event import DiscreteGaussianNoise, Repeated, SampledGaussian, Sequence  # noqa: E402
from tacita.privacy.unit import Neighbours  # noqa: E402
from tacita.testing.mechanism import audited_epsilon  # noqa: E402

torch.set_num_threads(1)
ADD = Neighbours.ADD_REMOVE


def linear(size):
    made = torch.nn.Linear(size, 1, bias=False)
    with torch.no_grad():
        made.weight.zero_()
    return made


def trained(rows, law, seed, *, expected=1.0, steps=None, made=None):
    """A linear network whose gradient at a row is the row itself."""
    made = made or linear(rows.shape[1])

    def loss(weights, row):
        return torch.func.functional_call(made, weights, (row,)).sum()

    training = PrivateTraining(
        law,
        made,
        torch.optim.SGD(made.parameters(), lr=1.0),
        loss,
        units=len(rows),
        take=lambda chosen: (rows[chosen],),
        expected=expected,
        source=SeededSource(seed),
    )
    for _ in range(law.steps if steps is None else steps):
        training.step()
    return made.weight.detach()[0].numpy().copy(), training


def test_the_noise_of_a_step_is_the_calibrated_one_also_when_nobody_is_in():
    law = Steps(steps=1, rate=0.5, noise_multiplier=1.3, clip=0.4)
    found = [trained(torch.zeros((rows, 50)), law, seed, expected=2.0)[0] for rows in (0, 3) for seed in range(100)]
    std = 1.3 * 0.4 / 2
    assert np.std(found) == pytest.approx(std, abs=5 * std / math.sqrt(2 * np.size(found)))
    assert abs(np.mean(found)) < 5 * std / math.sqrt(np.size(found))


def test_sums_are_divided_by_what_is_expected_and_not_by_who_came():
    law = Steps(steps=1, rate=0.5, noise_multiplier=1e-6)
    rows = torch.full((40, 1), 0.5)
    found = np.array([trained(rows, law, seed, expected=20.0)[0][0] for seed in range(60)])
    came = -found * 20 / 0.5
    assert np.abs(came - came.round()).max() < 1e-3  # a whole number of units over a fixed number
    assert len(set(came.round())) > 5


def test_no_step_beyond_those_paid_for():
    law = Steps(steps=3, rate=0.5, noise_multiplier=1.0)
    _, training = trained(torch.zeros((2, 1)), law, 0)
    assert training.left == 0
    with pytest.raises(InternalError, match="paid"):
        training.step()


def test_seeds_repeat_a_training_and_others_do_not():
    law = Steps(steps=4, rate=0.5, noise_multiplier=1.0)
    rows = torch.randn((10, 3), generator=torch.Generator().manual_seed(0))
    first, again, other = (trained(rows, law, seed)[0] for seed in (1, 1, 2))
    assert (first == again).all()
    assert (first != other).any()


def test_divergence_is_refused_on_noisy_numbers_only():
    made = linear(1)
    with torch.no_grad():
        made.weight.fill_(float("inf"))
    with pytest.raises(InvalidInput, match="diverged"):
        trained(torch.ones((3, 1)), Steps(steps=1, rate=1.0, noise_multiplier=1.0), 0, made=made)
    # a row that is not a number is no reason to stop: stopping would tell that it is there
    found, _ = trained(torch.full((3, 1), float("nan")), Steps(steps=1, rate=1.0, noise_multiplier=1.0), 0)
    assert np.isfinite(found).all()


def test_networks_that_mix_rows_are_refused():
    mixed = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.BatchNorm1d(2))
    law = Steps(steps=1, rate=0.5, noise_multiplier=1.0)
    with pytest.raises(InvalidInput, match="BatchNorm"):
        PrivateTraining(law, mixed, None, None, units=1, take=None, expected=1.0, source=SeededSource(0))


def test_calibrated_steps_cost_the_budget_with_what_stands_beside():
    beside = (DiscreteGaussianNoise(sigma2=1000),)
    law = Steps.calibrate(Budget.approx(0.5, 1e-6), steps=100, rate=0.2, beside=beside)
    spent = epsilon_at(Sequence(events=(*beside, law.event)), 1e-6, ADD)
    assert 0.499 < spent <= 0.5
    assert law.event == Repeated(event=SampledGaussian(noise_multiplier=law.noise_multiplier, rate=0.2), count=100)


@pytest.mark.parametrize(
    "wrong", [{"steps": 0}, {"rate": 0.0}, {"rate": 1.1}, {"noise_multiplier": 0.0}, {"clip": 0.0}]
)
def test_bad_laws_are_refused(wrong):
    with pytest.raises(InvalidInput):
        Steps(**({"steps": 1, "rate": 0.5, "noise_multiplier": 1.0} | wrong))


@pytest.mark.parametrize("budget", [Budget.pure(1.0), Budget.zcdp(0.1)])
def test_other_currencies_are_refused(budget):
    with pytest.raises(InvalidInput, match="delta"):
        Steps.calibrate(budget, steps=5, rate=0.1)


def attacked(law, *, loud, cut, trials=250, delta=1e-5):
    """Lower bound on epsilon: a canary whose gradient has a direction of its own is there, or not."""
    canary, others = torch.tensor([[loud, 0.0]]), torch.tensor([[0.0, 1.0]]).repeat(4, 1)

    def seen(rows, start):
        """How often more than `cut` lies in its direction."""
        return sum(-trained(rows, law, seed)[0][0] > cut for seed in range(start, start + trials))

    return audited_epsilon(seen(torch.cat([others, canary]), 0), seen(others, 10**6), trials, delta=delta)


def test_an_attack_stays_below_the_claim_and_finds_a_training_without_clipping():
    law = Steps(steps=1, rate=0.9, noise_multiplier=2.0)
    claimed = epsilon_at(law.event, 1e-5, ADD)
    for loud in (1.0, 50.0):  # a loud canary is no louder than the bound
        assert attacked(law, loud=loud, cut=0.5) <= claimed
    # the same noise, but gradients are let through up to 50 times the norm that it was made for
    unclipped = Steps(steps=1, rate=0.9, noise_multiplier=2.0 / 50, clip=50.0)
    assert attacked(unclipped, loud=50.0, cut=25.0) > claimed
