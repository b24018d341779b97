"""The automatic choice follows the truth: independence, dependence, and many reports."""

from dataclasses import replace

import numpy as np
import pytest

from tacita.collect.estimating.automatic import _scores, _Ways, choose_way, choosing_seconds, make_way
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


def dependence(tables):
    """Mean distance of the pairs from the products of their margins."""
    pairs = [table.values for key, table in tables.items() if len(key) == 2]
    return np.mean([np.abs(t - np.outer(t.sum(1), t.sum(0))).sum() / 2 for t in pairs])


def test_it_follows_the_dependence():
    """Nothing depends: hardly any dependence is published. Much depends and there are many reports: several classes."""
    ways = {}
    for strength in (0.0, 0.7):
        evidence = evidence_of(chain(strength), 20_000, 1)
        found = choose_way(evidence, Pooling.of(evidence))
        ways[strength] = found
        assert set(found.scores) == {"consistent", "singles", "modelled"}
        assert found.way in found.why
    assert ways[0.0].scores["singles"] < ways[0.0].scores["modelled"] + 8
    assert dependence(ways[0.0].tables) < 0.3 * dependence(ways[0.7].tables)
    assert len(ways[0.0].to_independence) > len(ways[0.7].to_independence)
    assert ways[0.7].classes > 1
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


def test_modelled_is_not_left_for_a_matter_of_chance():
    """Consistent tables are taken where they are clearly better, and not where the scores are close."""
    for seed in range(3):
        evidence = evidence_of(chain(0.25), 2000, seed)
        found = choose_way(evidence, Pooling.of(evidence))
        assert found.way == "modelled"
        assert found.latent.project(("a", "b", "c")).sum() == pytest.approx(1)
    pooling = Pooling.of(evidence)
    broken = _Ways(evidence, pooling)
    broken.fitted = replace(broken.fitted, tables={k: chain(0.9).project(k) for k in evidence.values})
    far = _scores(broken, dict.fromkeys(evidence.values, 100000.0), 0)
    assert far["consistent"] < far["modelled"]


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
