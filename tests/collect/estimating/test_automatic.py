"""The automatic choice follows the truth: independence, dependence, and many reports."""

import numpy as np
import pytest

from tacita.collect.estimating.automatic import choose_way, choosing_seconds, make_way
from tacita.collect.estimating.evidence import Evidence
from tacita.collect.estimating.pooled import Pooling
from tacita.collect.estimating.tally import Tally, respond
from tacita.collect.planning.plan import plan_collection
from tacita.domain import Categorical, Domain
from tacita.models import BayesianNetwork
from tacita.noise import SeededSource
from tacita.tables.cells import Cells
from tacita.tables.workload import Workload

DOMAIN = Domain(attributes=[Categorical(name=n, levels=["0", "1", "2"]) for n in "abcd"])


def chain(strength):
    """Each attribute equals the one before with this probability beyond chance."""
    step = strength * np.eye(3) + (1 - strength) * np.array([0.5, 0.3, 0.2])
    tables = {"a": np.array([0.5, 0.3, 0.2])} | dict.fromkeys("bcd", step)
    parents = {"a": (), "b": ("a",), "c": ("b",), "d": ("c",)}
    cells = {n: Cells(DOMAIN.project((*parents[n], n)), tables[n]) for n in "abcd"}
    return BayesianNetwork(domain=DOMAIN, parents=parents, conditionals=cells)


def evidence_of(network, people, seed, mode="tables"):
    design = plan_collection(DOMAIN, Workload.all(DOMAIN, 2), respondents=people, epsilon=2.0, mode=mode)
    codes = network.sample(people, np.random.default_rng(seed))
    return Evidence.of(Tally(design).add(respond(design, codes, SeededSource(seed), seed=seed + 1)))


def test_it_follows_the_dependence():
    """Nothing depends: one class. Much depends and there are many reports: not one class."""
    ways = {}
    for strength in (0.0, 0.7):
        evidence = evidence_of(chain(strength), 20_000, 1)
        found = choose_way(evidence, Pooling.of(evidence))
        ways[strength] = found
        assert set(found.scores) == {"consistent", "singles", "modelled"}
        assert all(way in found.why for way in found.shares)
    assert ways[0.0].shares["singles"] > 0.5
    assert len(ways[0.0].to_independence) == 6
    assert "singles" not in ways[0.7].shares
    assert ("a", "b") not in ways[0.7].to_independence
    assert ways[0.7].scores["singles"] > ways[0.7].scores["modelled"] + 100


def test_the_score_estimates_the_distance_to_the_truth():
    """Differences of scores against differences of true weighted distances, over many collections."""
    network, gaps, estimated = chain(0.4), [], []
    for seed in range(6):
        evidence = evidence_of(network, 6000, seed)
        pooling = Pooling.of(evidence)
        found = choose_way(evidence, pooling, seed=seed)
        distance = {}
        for way in ("consistent", "singles"):
            tables = make_way(evidence, pooling, way).tables
            distance[way] = sum(
                float(np.sum((tables[key].values - network.project(key).values) ** 2))
                / float(np.mean(evidence.covariance(key).variance()))
                for key in evidence.values
            )
        gaps.append(distance["singles"] - distance["consistent"])
        estimated.append(found.scores["singles"] - found.scores["consistent"])
    difference = np.array(estimated) - np.array(gaps)
    assert abs(difference.mean()) < 4 * difference.std() / np.sqrt(len(gaps)) + 0.1 * abs(np.mean(gaps))
    assert np.mean(gaps) > 50  # so that the difference is not one of nothing


def test_ways_of_close_scores_are_averaged():
    """Weights are exponential in the scores; tables, larger ones too, are the weighted averages."""
    averaged = 0
    for seed in range(4):
        evidence = evidence_of(chain(0.25), 2000, seed)
        pooling = Pooling.of(evidence)
        found = choose_way(evidence, pooling)
        gap = (found.scores["singles"] - found.scores["modelled"]) / 8
        share = 1 / (1 + np.exp(-gap))
        if found.way != "averaged":
            assert not 0.01 <= share <= 0.99 or found.way == "consistent"
            continue
        averaged += 1
        assert found.shares == {"singles": pytest.approx(1 - share), "modelled": pytest.approx(share)}
        one, best = (make_way(evidence, pooling, way) for way in ("singles", "modelled"))
        for key, table in found.tables.items():
            expected = (1 - share) * one.tables[key].values + share * best.tables[key].values
            np.testing.assert_allclose(table.values, expected, atol=2e-3)  # settled after the average, not before
        names = ("a", "b", "c")
        expected = (1 - share) * one.latent.project(names).values + share * best.latent.project(names).values
        np.testing.assert_allclose(found.latent.project(names).values, expected, atol=1e-12)
    assert averaged >= 2


def test_single_attributes_need_no_choice():
    evidence = evidence_of(chain(0.5), 2000, 3, mode="singles")
    found = choose_way(evidence, Pooling.of(evidence))
    assert (found.way, found.scores) == ("consistent", {})
    assert "single" in found.why


@pytest.mark.parametrize("way", ["consistent", "singles", "modelled"])
def test_every_way_gives_distributions_that_agree(way):
    evidence = evidence_of(chain(0.5), 3000, 4)
    tables = make_way(evidence, Pooling.of(evidence), way).tables
    for key, table in tables.items():
        assert (table.values >= 0).all()
        assert table.sum() == pytest.approx(1)
        for name in key:
            np.testing.assert_allclose(table.project((name,)).values, tables[name,].values, atol=1e-6)


def test_more_cells_take_longer():
    assert choosing_seconds(100, 10) < choosing_seconds(1000, 10)
