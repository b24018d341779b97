"""Stability of links against the networks that repeated releases really give."""

import json

import numpy as np
import pytest
from tests.assess.decisions.released import answered, counted

from tacita.assess.decisions.links import PublicRows, link_stability, planned_links
from tacita.collect.channels.channel import RandomizedResponse
from tacita.collect.planning.plan import plan_collection
from tacita.domain import Categorical, Domain
from tacita.errors import InvalidInput
from tacita.models import BayesianNetwork
from tacita.models.contingency import deviance
from tacita.noise import DiscreteLaplace, SeededSource
from tacita.plans import NoisyTables
from tacita.privacy.budget import Budget
from tacita.privacy.unit import Neighbours, Unit
from tacita.tables.cells import Cells
from tacita.tables.release import Releases
from tacita.tables.workload import Workload

NAMES = ("a", "b", "c", "d")
DOMAIN = Domain(attributes=[Categorical(name=name, levels=["0", "1"]) for name in NAMES])


def chain(*strengths):
    """a -> b -> c -> d, each arrow with its strength."""
    conditionals = {"a": Cells(DOMAIN.project(("a",)), np.array([0.5, 0.5]))}
    parents = {"a": ()}
    for above, below, s in zip(NAMES, NAMES[1:], strengths, strict=False):
        table = np.array([[0.5 + s, 0.5 - s], [0.5 - s, 0.5 + s]])
        conditionals[below] = Cells(DOMAIN.project((above, below)), table)
        parents[below] = (above,)
    return BayesianNetwork(domain=DOMAIN, parents=parents, conditionals=conditionals)


MODEL = chain(0.3, 0.06, 0.0)
PAIRS = Workload.all(DOMAIN, 2)


def plan(epsilon, workload=PAIRS):
    return NoisyTables(workload).calibrate(
        DOMAIN, Budget.pure(epsilon), unit=Unit.row(), neighbours=Neighbours.REPLACE_ONE
    )


def exact(model, people, seed, keys=PAIRS):
    codes = model.sample(people, np.random.default_rng(seed))
    found = {}
    for key in keys:
        cells = np.ravel_multi_index([codes[name].astype(int) for name in key], (2,) * len(key))
        found[key] = np.bincount(cells, minlength=2 ** len(key))
    return found


def released(tables, law):
    return Releases(counted(values, law, domain=DOMAIN.project(key)) for key, values in tables.items())


def share(found, *pair):
    (link,) = [link for link in found.links if {link.parent, link.child} == set(pair)]
    return link


def test_little_noise_leaves_no_doubt_and_much_noise_does():
    tables = exact(MODEL, 5000, 1)
    sure = link_stability(released(tables, DiscreteLaplace.at_least(1)), draws=60, rng=np.random.default_rng(1))
    assert share(sure, "a", "b").linked == 1.0
    assert share(sure, "b", "c").linked == 1.0
    assert sure.same > 0.9
    assert sure.search == "tree"
    unsure = link_stability(released(tables, DiscreteLaplace.at_least(120)), draws=60, rng=np.random.default_rng(1))
    assert share(unsure, "a", "b").linked > share(unsure, "b", "c").linked
    assert unsure.same < sure.same


def test_the_share_of_a_link_is_that_of_brute_force():
    """A network of two attributes: linked iff half of G2 exceeds half of ln n, over draws of the noise."""
    values, law = np.array([520, 480, 470, 530]), DiscreteLaplace.at_least(15)
    source = Releases([counted(values, law, domain=DOMAIN.project(("a", "b")))])
    found = link_stability(source, draws=8000, rng=np.random.default_rng(1), least=0.0)
    rng, grid = np.random.default_rng(2), np.arange(-800, 801)
    chance = np.exp(-np.abs(grid) / 15)
    true = values - rng.choice(grid, size=(40_000, 4), p=chance / chance.sum())
    linked = deviance(true, (1, 2, 2)) / 2 > np.log(true.sum(axis=1)) / 2
    (link,) = found.links
    assert link.linked == pytest.approx(float(linked.mean()), abs=0.02)
    assert link.low < link.linked < link.high


def test_a_plan_gives_the_shares_of_releases_that_are_really_made():
    found = planned_links(MODEL, plan(0.3), people=4000, draws=150, rng=np.random.default_rng(1), least=0.0)
    law = plan(0.3).laws[0]
    hits = 0
    for seed in range(150):
        noisy = {key: values + law_draw(law, seed, key) for key, values in exact(MODEL, 4000, 1000 + seed).items()}
        own = link_stability(released(noisy, law), draws=1, rng=np.random.default_rng(seed))
        hits += "b" in own.parents["c"] or "c" in own.parents["b"]
    assert share(found, "b", "c").linked == pytest.approx(hits / 150, abs=0.2)
    assert any("exact tables" in note for note in found.notes)
    assert set(found.parents) == set(NAMES)


def law_draw(law, seed, key):
    return law.draw(4, SeededSource(100 * seed + list(PAIRS).index(key)))


def test_more_budget_makes_a_plan_more_stable():
    shares = [
        share(
            planned_links(MODEL, plan(epsilon), people=4000, draws=60, rng=np.random.default_rng(1), least=0.0),
            "b",
            "c",
        ).linked
        for epsilon in (0.1, 10.0)
    ]
    assert shares[1] > shares[0] + 0.2


def test_a_plan_of_a_collection_and_reference_rows():
    """With a local epsilon the weak link is lost, and the strong one stays."""
    design = plan_collection(DOMAIN, PAIRS, respondents=6000, epsilon=2.0, mode="tables", channel="rr", dependence=0.1)
    rows = PublicRows(domain=DOMAIN, codes=MODEL.sample(3000, np.random.default_rng(1)))
    found = planned_links(rows, design, people=6000, draws=25, rng=np.random.default_rng(2), least=0.0)
    assert share(found, "a", "b").linked > 0.9
    assert share(found, "a", "b").linked > share(found, "b", "c").linked
    fourier = plan_collection(DOMAIN, PAIRS, respondents=100, epsilon=1.0, channel="fourier")
    with pytest.raises(InvalidInput, match="ask for tables"):
        planned_links(rows, fourier, people=100, draws=2, rng=np.random.default_rng(2))


def test_v_structures_are_compelled_and_chains_are_not():
    keys = Workload.of(("a", "b", "c"))
    collider = np.zeros((2, 2, 2))
    for a, b in np.ndindex(2, 2):
        collider[a, b] = [0.9, 0.1] if a == b == 0 else [0.2, 0.8]
    model = BayesianNetwork(
        domain=DOMAIN,
        parents={"a": (), "b": (), "c": ("a", "b"), "d": ()},
        conditionals={
            "a": Cells(DOMAIN.project(("a",)), np.array([0.5, 0.5])),
            "b": Cells(DOMAIN.project(("b",)), np.array([0.5, 0.5])),
            "c": Cells(DOMAIN.project(("a", "b", "c")), collider),
            "d": Cells(DOMAIN.project(("d",)), np.array([0.5, 0.5])),
        },
    )
    law = DiscreteLaplace.at_least(3)
    rng = np.random.default_rng(1)
    found = link_stability(released(exact(model, 4000, 1, keys), law), search="exact", draws=20, rng=rng)
    assert share(found, "a", "c").compelled > 0.8
    climbed = link_stability(released(exact(model, 4000, 1, keys), law), draws=20, rng=rng)
    assert climbed.search == "hill-climb"
    assert share(climbed, "a", "c").linked == 1.0
    line = link_stability(released(exact(MODEL, 4000, 1, keys), law), search="exact", draws=20, rng=rng)
    assert share(line, "a", "b").linked == 1.0
    assert share(line, "a", "b").compelled < 0.2


def test_a_collection_and_a_given_network():
    table = exact(chain(0.4, 0.35, 0.3), 6000, 1, [NAMES])[NAMES]
    tally = answered(RandomizedResponse.k_ary(levels=16, epsilon=4.0), table, 1, domain=DOMAIN)
    given = {"a": (), "b": ("a",), "c": ("a",), "d": ()}
    found = link_stability(tally, parents=given, search="tree", draws=40, rng=np.random.default_rng(1))
    assert dict(found.parents) == given
    assert share(found, "a", "b").linked > 0.9
    assert share(found, "a", "c").linked < 0.3  # a chain has no such link
    assert not share(found, "b", "c").learnt
    with pytest.raises(InvalidInput, match="each attribute"):
        link_stability(tally, parents={"a": ()}, rng=np.random.default_rng(1))


def test_a_result_is_plain_data_with_a_picture():
    found = link_stability(
        released(exact(MODEL, 3000, 1), DiscreteLaplace.at_least(10)), draws=20, rng=np.random.default_rng(1)
    )
    assert json.loads(json.dumps(found.as_dict()))["draws"] == 20
    assert "%" in found.picture()
    assert found.picture().count("marker-end=") == sum(len(above) for above in found.parents.values())


def test_single_attributes_make_no_network():
    alone = Releases([counted([5, 5], DiscreteLaplace.at_least(1), domain=DOMAIN.project(("a",)))])
    with pytest.raises(InvalidInput, match="two attributes"):
        link_stability(alone, rng=np.random.default_rng(1))
