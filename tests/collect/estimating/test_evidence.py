"""Evidence repeats what the tally says, and simulated evidence has the law of real evidence."""

import numpy as np
from tests.support.networks import random_network

from tacita.collect.estimating.evidence import Evidence
from tacita.collect.estimating.tally import Tally, respond
from tacita.collect.planning.plan import plan_collection
from tacita.noise import SeededSource
from tacita.tables.workload import Workload

NETWORK = random_network("chain", attributes=3, seed=3)
KEY = ("x0", "x1")


def collect(seed):
    workload = Workload.all(NETWORK.domain, 2)
    design = plan_collection(NETWORK.domain, workload, respondents=900, epsilon=1.0, mode="tables")
    codes = NETWORK.sample(900, np.random.default_rng(seed))
    return Tally(design).add(respond(design, codes, SeededSource(seed), seed=5))


def test_values_and_covariances_are_those_of_the_raw_tables():
    tally = collect(0)
    evidence = Evidence.of(tally)
    for key, release in tally.releases().items():
        np.testing.assert_allclose(evidence.values[key], release.values)
        np.testing.assert_allclose(evidence.covariance(key).variance(), release.std().reshape(-1) ** 2)
    assert evidence.reports == 900


def test_simulated_evidence_spreads_as_reports_do():
    truth = {key: NETWORK.project(key).values for key in collect(0).releases()}
    evidence, rng = Evidence.of(collect(0)), np.random.default_rng(1)
    drawn = np.array([evidence.simulate(truth, rng).values[KEY].reshape(-1) for _ in range(3000)])
    wanted = evidence.covariance(KEY, truth[KEY]).dense()
    np.testing.assert_allclose(drawn.mean(axis=0), truth[KEY].reshape(-1), atol=0.02)
    np.testing.assert_allclose(np.cov(drawn.T), wanted, atol=0.12 * wanted.max())


def test_an_inverted_matrix_is_simulated_with_its_covariance():
    """Its covariance has no diagonal part; the draws must have it all the same."""
    workload = Workload.of(KEY)
    design = plan_collection(NETWORK.domain, workload, respondents=900, epsilon=1.0, mode="tables", channel="matrix")
    codes = NETWORK.sample(900, np.random.default_rng(2))
    evidence = Evidence.of(Tally(design).add(respond(design, codes, SeededSource(2), seed=5)))
    truth, rng = NETWORK.project(KEY).values, np.random.default_rng(1)
    drawn = np.array([evidence.error(KEY, rng, truth).reshape(-1) for _ in range(4000)])
    wanted = evidence.covariance(KEY, truth).dense()
    np.testing.assert_allclose(np.cov(drawn.T), wanted, atol=0.1 * wanted.max())
