"""Networks from collections: the right edges, no false ones, parameters that come near, and what it costs."""

import numpy as np
import pytest

from tacita.collect.analysis.learn_network import learn_network, learn_structure
from tacita.collect.channels.channel import RandomizedResponse
from tacita.collect.estimating.publish import model
from tacita.collect.estimating.tally import Tally, respond
from tacita.collect.planning.design import Asked, CollectionDesign
from tacita.domain import Categorical, Domain
from tacita.errors import InvalidInput
from tacita.models import BayesianNetwork, synthetic_rows
from tacita.noise import SeededSource
from tacita.privacy.accountant import pure_epsilon
from tacita.privacy.unit import Neighbours
from tacita.tables.cells import Cells

DOMAIN = Domain(
    attributes=[
        Categorical(name="a", levels=["0", "1"]),
        Categorical(name="b", levels=["0", "1", "2"]),
        Categorical(name="c", levels=["0", "1"]),
        Categorical(name="d", levels=["0", "1", "2", "3"]),  # alone, and with the largest tables
    ]
)
PAIRS = [("a", "b"), ("a", "c"), ("a", "d"), ("b", "c"), ("b", "d"), ("c", "d")]


def truth():
    """a -> b -> c, and d by itself."""
    tables = {
        "a": [0.6, 0.4],
        "b": [[0.6, 0.3, 0.1], [0.2, 0.3, 0.5]],
        "c": [[0.8, 0.2], [0.5, 0.5], [0.2, 0.8]],
        "d": [0.4, 0.3, 0.2, 0.1],
    }
    parents = {"a": (), "b": ("a",), "c": ("b",), "d": ()}
    cells = {name: Cells(DOMAIN.project((*parents[name], name)), np.array(tables[name])) for name in tables}
    return BayesianNetwork(domain=DOMAIN, parents=parents, conditionals=cells)


def collect(families, people, seed, epsilon=2.0, network=None):
    """A collection about some combinations, from people of the network."""
    asked = tuple(
        Asked(
            attributes=tuple(family),
            channel=RandomizedResponse.k_ary(levels=DOMAIN.project(family).size, epsilon=epsilon),
            share=1 / len(families),
        )
        for family in families
    )
    design = CollectionDesign(domain=DOMAIN, questions=asked, epsilon=epsilon, respondents=people, mode="tables")
    codes = (network or truth()).sample(people, np.random.default_rng(seed))
    return Tally(design).add(respond(design, codes, SeededSource(seed), seed=seed + 1))


def test_a_pair_that_fails_only_at_the_shared_level_is_named():
    """Doubtful pairs: below the level alone, above it when all candidates share it."""
    found = 0
    for seed in range(12):
        structure = learn_structure(collect(PAIRS, 3000, seed).releases())
        for link in structure.doubtful:
            assert 0.05 / 6 < link.p_value <= 0.05
            assert frozenset((link.child, *link.parents)) not in edges(structure)
        assert len(structure.near_misses) == len(structure.doubtful)
        assert all("6 candidates share the level" in words for words in structure.near_misses)
        found += len(structure.doubtful)
    assert found > 0


def edges(structure):
    return {frozenset((child, parent)) for child, above in structure.parents.items() for parent in above}


def test_the_tree_is_found_and_the_lone_attribute_stays_alone():
    for seed in range(5):
        found = learn_structure(collect(PAIRS, 60_000, seed).releases())
        assert edges(found) == {frozenset("ab"), frozenset("bc")}
        assert found.parents["d"] == ()
        assert found.candidates == 6
        assert found.simulated
        for link in found.links:
            assert found.parents[link.child] == link.parents
            assert link.bits < link.raw_bits
            assert link.p_value < 0.05 / 6


def test_independent_people_get_a_false_edge_at_most_at_the_level():
    lone = BayesianNetwork(
        domain=DOMAIN, parents=dict.fromkeys("abcd", ()), conditionals={n: truth().project([n]) for n in "abcd"}
    )
    trials = 150
    false = sum(bool(edges(learn_structure(collect(PAIRS, 6000, s, network=lone).releases()))) for s in range(trials))
    assert false / trials < 0.05 + 3 * np.sqrt(0.05 * 0.95 / trials)


def test_two_parents_where_each_tells_something():
    # c is the parity of a and whether b is 0, mostly: neither parent tells much alone
    domain = DOMAIN.project(["a", "b", "c"])
    chance = np.array([[[0.9, 0.1], [0.1, 0.9], [0.1, 0.9]], [[0.1, 0.9], [0.9, 0.1], [0.9, 0.1]]])
    network = BayesianNetwork(
        domain=domain,
        parents={"a": (), "b": (), "c": ("a", "b")},
        conditionals={
            "a": Cells(domain.project(["a"]), [0.5, 0.5]),
            "b": Cells(domain.project(["b"]), [0.5, 0.25, 0.25]),
            "c": Cells(domain, chance),
        },
    )
    releases = collect([("a", "b", "c")], 30_000, 3, network=network).releases()
    found = learn_structure(releases, degree=2, root="a")
    # whichever of b and c comes last has the two others as parents
    assert sorted(map(len, found.parents.values())) == [0, 0, 2]
    assert all(above == () for above in learn_structure(releases, degree=2, most_cells=6).parents.values())


def test_a_parent_that_tells_nothing_more_is_left_out():
    # a tells about c, but nothing beyond what b tells; noise alone would take it every other time
    for seed in range(8):
        found = learn_structure(collect([("a", "b", "c")], 40_000, seed).releases(), degree=2, root="a")
        assert found.parents == {"a": (), "b": ("a",), "c": ("b",)}


def test_parameters_of_another_group_come_near():
    structure = learn_structure(collect(PAIRS, 60_000, 1).releases())
    learned = learn_network(structure, collect(structure.families, 60_000, 2).releases())
    joint, found = truth().project(DOMAIN.names).values, learned.network.project(DOMAIN.names).values
    alone = np.einsum("a,b,c,d", *(truth().project([name]).values for name in "abcd"))
    assert np.abs(found - joint).sum() < 0.25 * np.abs(alone - joint).sum()
    rows = synthetic_rows(DOMAIN, learned.network, 100, np.random.default_rng(1), event=learned.event)
    assert rows.num_rows == 100


def test_cost_is_that_of_the_dearer_group_or_the_sum_if_people_are_the_same():
    structure = learn_structure(collect(PAIRS, 30_000, 1, epsilon=2.0).releases())
    parameters = collect(structure.families, 30_000, 2, epsilon=1.0).releases()
    apart = learn_network(structure, parameters)
    together = learn_network(structure, parameters, same_people=True)
    notion = Neighbours.REPLACE_ONE
    assert pure_epsilon(apart.event, notion) == pure_epsilon(structure.event, notion)
    assert float(pure_epsilon(apart.event, notion)) == pytest.approx(2.0)
    assert float(pure_epsilon(together.event, notion)) == pytest.approx(3.0)


def test_rows_of_a_latent_class_model():
    modelled = model(collect(PAIRS, 20_000, 4))
    rows = synthetic_rows(DOMAIN, modelled.latent, 500, np.random.default_rng(2), event=modelled.event)
    assert rows.column_names == list(DOMAIN.names)
    assert set(rows["b"].to_pylist()) <= {"0", "1", "2"}


def test_refusals():
    tally = collect([("a", "b"), ("c", "d")], 3000, 1)
    with pytest.raises(InvalidInput):
        learn_structure(tally.releases(), level=0.0)
    with pytest.raises(InvalidInput, match="covariance"):
        learn_structure(model(tally).releases())
    with pytest.raises(InvalidInput, match="two attributes"):
        learn_structure(collect([("a",), ("b",)], 3000, 1).releases())
    structure = learn_structure(collect(PAIRS, 60_000, 1).releases())
    with pytest.raises(InvalidInput, match="every family"):
        learn_network(structure, tally.releases())
