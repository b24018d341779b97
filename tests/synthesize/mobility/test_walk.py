"""Random walks on graphs of communities: edges against brute force, support, and no guarantee."""

import itertools
from collections import Counter

import numpy as np
import pytest

from tacita.errors import InvalidInput
from tacita.privacy.event import NonPrivate
from tacita.synthesize.mobility.reading import read_trips
from tacita.synthesize.mobility.result import SyntheticMobility
from tacita.synthesize.mobility.topic_models.topics import Topics
from tacita.synthesize.mobility.walk import GraphWalk, count_edges, travel_counts
from tacita.synthesize.mobility.walk_model import CommunityGraph

QUICK = Topics(kind="stlda", topics=4, sweeps=80, chains=1)


def brute(trips, edges):
    weight, cards = Counter(), {}
    for card in range(trips.cards):
        part = slice(trips.starts[card], trips.starts[card + 1])
        rows = list(zip(trips.origin[part].tolist(), trips.destination[part].tolist(), strict=True))
        pairs = rows
        if edges == "visits":
            stops = [place for row in rows for place in row]
            pairs = [(a, b) for a, b in itertools.pairwise(stops) if a != b]
        for pair in pairs:
            weight[pair] += 1
            cards.setdefault(pair, set()).add(card)
    return {pair: (number, len(cards[pair])) for pair, number in weight.items()}


@pytest.mark.parametrize("edges", ["trips", "visits"])
def test_edges_and_their_support(trips, edges):
    whole = trips.complete()
    found = zip(*(column.tolist() for column in count_edges(whole, edges)), strict=True)
    assert {(a, b): (weight, support) for a, b, weight, support in found} == brute(whole, edges)


@pytest.fixture(scope="module")
def made(trips):
    return GraphWalk(topics=QUICK, least=3).fit(trips, np.random.default_rng(0))


def test_edges_of_few_cards_are_left_out(made, trips):
    for graph in made.model.graphs:
        assert (graph.weight >= 3).all()
        pairs = graph.origin * len(trips.schema.places) + graph.destination
        assert (np.diff(pairs) > 0).all()
    everything = GraphWalk(topics=QUICK, least=1).fit(trips, np.random.default_rng(0))
    assert sum(len(graph.weight) for graph in everything.model.graphs) > sum(len(g.weight) for g in made.model.graphs)
    assert "fewer than 3 cards" in made.notes[0]


def test_it_states_that_it_has_no_guarantee(made):
    assert made.guarantee == "none"
    assert isinstance(made.event, NonPrivate)
    assert made.statement().startswith("No guarantee")
    again = SyntheticMobility.from_json(made.to_json())
    assert again.guarantee == "none"
    rows = [each.sample(20, np.random.default_rng(1)) for each in (made, again)]
    assert rows[0].equals(rows[1])


def test_walks_use_edges_and_chain(made, trips):
    for number, graph in enumerate(made.model.graphs):
        drawn = made.model.draw_from(np.full(100, number), np.random.default_rng(1))
        known = set(zip(graph.origin.tolist(), graph.destination.tolist(), strict=True))
        ways = set(graph.origin.tolist())
        for step in zip(drawn.origin.tolist(), drawn.destination.tolist(), strict=True):
            assert step in known or step[0] not in ways, "only a place without edges leads anywhere"
    table = made.sample(400, np.random.default_rng(1))
    again = read_trips(table, trips.schema)
    follows = again.card[1:] == again.card[:-1]
    # two trips of a card in the same minute may be read in the other order
    assert (again.origin[1:] == again.destination[:-1])[follows].mean() > 0.99
    assert table.column_names == list(trips.schema.domain.names)
    assert again.cards == 400


def test_a_step_follows_the_weights():
    graph = CommunityGraph(
        cards=1,
        phi=np.array([0.0, 0.0, 0.0, 1.0]),
        psi=np.ones(24),
        origin=np.array([0, 0, 1]),
        destination=np.array([1, 2, 0]),
        weight=np.array([3.0, 1.0, 5.0]),
        lengths=np.ones(2),
        persons=np.ones(1),
    )
    rng = np.random.default_rng(0)
    to = graph.step(np.zeros(20_000, np.int64), rng)
    assert np.bincount(to, minlength=4) / 20_000 == pytest.approx([0, 0.75, 0.25, 0], abs=0.015)
    assert set(graph.step(np.full(50, 1), rng)) == {0}
    assert set(graph.step(np.full(50, 2), rng)) == {3}, "no way out: begin again by phi"


def test_the_number_of_visits_may_be_fixed(trips):
    fixed = GraphWalk(topics=QUICK, visits=10, tau=0.3).fit(trips, np.random.default_rng(0))
    drawn = fixed.model.draw(50, np.random.default_rng(1))
    assert set(np.bincount(drawn.card)) == {9}


def test_travel_counts_leave_out_unknown_exits(trips):
    assert travel_counts(trips).sum() == ((trips.minutes >= 0) & (trips.destination >= 0)).sum()


def test_refusals(trips):
    with pytest.raises(InvalidInput, match="places"):
        GraphWalk(topics=Topics(kind="tlda"))
    with pytest.raises(InvalidInput):
        GraphWalk(least=0)
    with pytest.raises(InvalidInput):
        GraphWalk(topics=QUICK).fit(trips.take(trips.destination < 0), np.random.default_rng(0))
    model = QUICK.fit(trips.visits(), np.random.default_rng(0))
    with pytest.raises(InvalidInput):
        GraphWalk(topics=QUICK).of_topics(trips.of_cards(np.arange(5)).complete(), model)
