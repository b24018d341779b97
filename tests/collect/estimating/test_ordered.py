"""Smoothing along an order: gradients, effective parameters by simulation, nearer to the truth, peaks kept."""

import numpy as np
import pytest
from scipy.optimize import check_grad

from tacita.collect.analysis import findings
from tacita.collect.channels.numbers.square_wave import SquareWave
from tacita.collect.estimating.ordered import (
    _penalty,
    _Problem,
    information_of,
    is_ordered,
    smooth_shares,
)
from tacita.collect.estimating.tally import Tally, respond
from tacita.collect.planning.plan import plan_collection
from tacita.domain import Categorical, Domain, Numeric, Ordinal
from tacita.noise import SeededSource
from tacita.tables.simplex import norm_sub
from tacita.tables.workload import Workload

BINS = 32
DOMAIN = Domain(
    attributes=[
        Numeric(name="x", bounds=(0.0, 1.0), bins=BINS),
        Categorical(name="c", levels=["a", "b", "c", "d", "e"]),
        Ordinal(name="few", levels=["a", "b", "c"]),
        Numeric(name="uneven", bounds=(0.0, 1.0), edges=(0.0, 0.1, 0.2, 0.3, 0.4, 1.0)),
        Ordinal(name="gap", levels=list("abcdef"), missing=True),
    ]
)
MIDDLES = (np.arange(BINS) + 0.5) / BINS


def bell(centre: float, width: float) -> np.ndarray:
    found = np.exp(-0.5 * ((MIDDLES - centre) / width) ** 2)
    return found / found.sum()


def test_which_attributes_are_ordered():
    assert [is_ordered(DOMAIN, name) for name in DOMAIN.names] == [True, False, False, True, True]


def test_the_information_inverts_the_covariance_where_shares_sum_to_one():
    covariance = SquareWave.of(levels=8, epsilon=1.0).covariance(np.full(8, 1 / 8), respondents=100)
    information = information_of(covariance)
    centring = np.eye(8) - 1 / 8
    np.testing.assert_allclose(information @ covariance.dense() @ centring, centring, atol=1e-6)
    np.testing.assert_allclose(information.sum(axis=0), 0, atol=1e-6 * np.abs(information).max())


def test_slopes_and_the_end_of_a_fit():
    rng = np.random.default_rng(1)
    root = rng.normal(size=(BINS, BINS))
    problem = _Problem(np.zeros(BINS), rng.dirichlet(np.ones(BINS)), 1e4 * root @ root.T)
    penalty = 1e3 * _penalty(BINS, BINS, 2)
    end = problem.fit(np.zeros(BINS), penalty)

    def loss(logs: np.ndarray) -> float:
        return problem.misfit(logs) + 0.5 * float(logs @ penalty @ logs)

    def slope(logs: np.ndarray) -> np.ndarray:
        x = problem.shares(logs)
        error = problem._information @ x - problem._pull
        return np.asarray(x * (error - x @ error) + penalty @ logs)

    start = rng.normal(size=BINS)
    assert check_grad(loss, slope, start, epsilon=1e-6) < 1e-3 * np.linalg.norm(slope(start))
    assert np.linalg.norm(slope(end)) < 1e-2 * np.linalg.norm(slope(np.zeros(BINS)))


@pytest.mark.parametrize("width", [0.2, 10.0])
def test_effective_parameters_are_what_a_fit_follows_of_the_noise(width):
    rng, truth, noise = np.random.default_rng(2), bell(0.5, width), 0.004
    information, penalty = np.eye(BINS) / noise**2, 0.001 * _penalty(BINS, BINS, 2)
    followed, counted = [], []
    for _ in range(300):
        error = rng.normal(0, noise, BINS)
        problem = _Problem(np.zeros(BINS), truth + error, information)
        logs = problem.fit(np.zeros(BINS), penalty)
        followed.append(float(error @ (problem.shares(logs) - truth)) / noise**2)
        counted.append(problem.parameters(logs, penalty))
    assert 3 < np.mean(counted) < BINS - 3
    assert np.mean(followed) == pytest.approx(np.mean(counted), rel=0.05)


@pytest.mark.parametrize("noise", [0.002, 0.01, 0.04])
def test_smooth_shares_are_nearer_than_projected_ones(noise):
    rng, plain, smooth = np.random.default_rng(3), 0.0, 0.0
    for truth in (bell(0.5, 0.2), bell(0.2, 0.1), np.full(BINS, 1 / BINS)):
        for _ in range(8):
            seen = truth + rng.normal(0, noise, BINS)
            found = smooth_shares(DOMAIN, "x", seen, np.eye(BINS) / noise**2).shares
            assert found.min() >= 0
            assert found.sum() == pytest.approx(1)
            smooth += float(((found - truth) ** 2).sum())
            plain += float(((norm_sub(seen).frequencies - truth) ** 2).sum())
    assert smooth < 0.5 * plain


def test_a_peak_that_stands_out_is_kept():
    truth = np.full(BINS, 0.6 / (BINS - 1))
    truth[7] = 0.4
    seen = truth + np.random.default_rng(4).normal(0, 0.005, BINS)
    found = smooth_shares(DOMAIN, "x", seen, np.eye(BINS) / 0.005**2)
    assert found.shares[7] == pytest.approx(0.4, abs=0.03)


def test_densities_are_smoothed_and_not_shares():
    widths = np.array([0.1, 0.1, 0.1, 0.1, 0.6])
    found = smooth_shares(DOMAIN, "uneven", widths + np.array([0.02, -0.02, 0.02, -0.02, 0]), np.eye(5) / 0.05**2)
    np.testing.assert_allclose(found.shares, widths, atol=0.02)


def test_a_level_beside_the_ordered_ones_is_not_smoothed():
    seen = np.array([0.1, 0.09, 0.11, 0.1, 0.09, 0.11, 0.4])
    found = smooth_shares(DOMAIN, "gap", seen, np.eye(7) / 0.02**2)
    assert found.shares[-1] == pytest.approx(0.4, abs=0.02)


def test_a_collected_wave_is_published_smooth_with_the_intervals_of_the_unbiased_shares():
    truth = bell(0.3, 0.12)
    domain = DOMAIN.project(["x"])
    design = plan_collection(domain, Workload.of(("x",)), respondents=20_000, epsilon=1.0, channel="wave")
    codes = {"x": np.random.default_rng(5).choice(BINS, 20_000, p=truth)}
    tally = Tally(design).add(respond(design, codes, SeededSource(5), seed=5))
    auto, consistent, pooled = (
        findings.published(tally, how).project(("x",)) for how in ("auto", "consistent", "pooled")
    )

    def distance(values: np.ndarray) -> float:
        return float(np.abs(np.cumsum(values - truth)).mean())

    assert distance(auto.values) < 0.4 * distance(consistent.values)
    assert auto.provenance.recipe["smoothed"]["x"] < 12
    assert "Smoothed along the order" in "\n".join(findings.explain(findings.published(tally)))
    np.testing.assert_allclose(auto.std(), pooled.std())
    low, high = auto.interval(0.95)
    assert ((low <= truth) & (truth <= high)).mean() > 0.8
