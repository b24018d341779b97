"""Pooled tables against dense least squares, and their intervals against the truth."""

import numpy as np
import pytest
from tests.support.networks import random_network

from tacita.collect.estimating.evidence import Evidence
from tacita.collect.estimating.pooled import Pooling, pool_tables
from tacita.collect.estimating.tally import Tally, respond
from tacita.collect.planning.plan import plan_collection
from tacita.noise import SeededSource
from tacita.tables.workload import Workload

NETWORK = random_network("tree", attributes=4, seed=7)


def collect(people=4000, seed=0, epsilon=1.0, network=NETWORK, answers="one", keys=None):
    workload = Workload.of(*keys) if keys else Workload.all(network.domain, 2)
    design = plan_collection(
        network.domain, workload, respondents=people, epsilon=epsilon, mode="tables", answers=answers
    )
    codes = network.sample(people, np.random.default_rng([seed, 1]))
    return Tally(design).add(respond(design, codes, SeededSource(seed), seed=seed + 1))


def test_one_question_is_estimated_from_all_reports_that_hold_it():
    """The prevalence of one attribute: not from its own question alone."""
    tally = collect()
    raw, pooled = tally.releases(), pool_tables(tally)
    for name in NETWORK.domain.names:
        assert (pooled[name,].std() < 0.7 * raw[name,].std()).all()
        recipe = pooled[name,].provenance.recipe
        holding = [key for key in raw if name in key]
        assert recipe["reports"] == sum(raw[key].provenance.recipe["respondents"] for key in holding)
        assert recipe["reports"] > recipe["respondents"]


@pytest.mark.parametrize("keys", [None, [("x0", "x1", "x2"), ("x1", "x2"), ("x2", "x3"), ("x0",)]])
def test_it_is_generalised_least_squares(keys):
    """Against a dense solution over one full table of all attributes."""
    tally = collect(keys=keys)
    evidence = Evidence.of(tally)
    pooling = Pooling(evidence, evidence.values)
    domain = NETWORK.domain
    maps, measured, blocks = [], [], []
    for key, values in evidence.values.items():
        axes = tuple(i for i, name in enumerate(domain.names) if name not in key)
        rows = [
            np.eye(domain.size)[cell].reshape(domain.shape).sum(axis=axes).reshape(-1) for cell in range(domain.size)
        ]
        maps.append(np.array(rows).T)
        measured.append(values.reshape(-1))
        blocks.append(evidence.covariance(key).dense())
    maps.append(np.ones((1, domain.size)))  # the total is known
    measured.append(np.ones(1))
    blocks.append(np.full((1, 1), 1e-12))
    x = np.vstack(maps)
    # randomized response fixes the total of a table: a little variance along it changes nothing
    weights = [np.linalg.inv(block + 1e-6 * np.trace(block) * np.ones_like(block)) for block in blocks]
    information = sum(m.T @ w @ m for m, w in zip(maps, weights, strict=True))
    pull = sum(m.T @ w @ v for m, w, v in zip(maps, weights, measured, strict=True))
    full = np.linalg.pinv(information, rcond=1e-13, hermitian=True)
    fitted, start = x @ (full @ pull), 0
    for key, values in evidence.values.items():
        part = slice(start, start + values.size)
        np.testing.assert_allclose(pooling.tables[key].reshape(-1), fitted[part], atol=2e-5)
        dense = x[part] @ full @ x[part].T
        np.testing.assert_allclose(pooling.covariances[key].dense(), dense, atol=2e-2 * np.abs(dense).max())
        start += values.size


def test_pooled_tables_agree():
    tables = pool_tables(collect())
    for key, release in tables.items():
        assert release.values.sum() == pytest.approx(1)
        for name in key:
            np.testing.assert_allclose(release.project((name,)).values, tables[name,].values, atol=1e-9)
            np.testing.assert_allclose(release.project((name,)).std(), tables[name,].std(), rtol=1e-6)


@pytest.mark.parametrize("answers", ["one", "view"])
def test_intervals_cover(answers):
    inside, cells = 0, 0
    for seed in range(30):
        for key, release in pool_tables(collect(seed=seed, answers=answers)).items():
            truth = NETWORK.project(key).values
            low, high = release.interval(0.95)
            inside += int(((low <= truth) & (truth <= high)).sum())
            cells += truth.size
    assert 0.92 < inside / cells < 0.98


def test_a_table_that_shares_nothing_stays_as_it_is():
    tally = collect(keys=[("x0",), ("x1", "x2")])
    raw, pooled = tally.releases(), pool_tables(tally)
    np.testing.assert_allclose(pooled["x0",].interval(), raw["x0",].interval())  # Wilson's, exact for small cells
