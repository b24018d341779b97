"""Mobility: the speed of the sampler, communities beside Louvain, and private tap records beside two other generators.

All data is simulated. The sampler runs on the benchmark of appendix A of document 004 (10 communities of 1,000
commuters, 10,000 places), with the same priors and sweeps as the peers: a plain Python program, tomotopy (one worker,
no optimisation of priors) and lda, in an environment of their own. Communities are matched one to one with the truth;
`oracle` classifies by the true distributions, so no method can be expected to do better.

Private generators protect a card with up to 20 trips (pure epsilon, add-remove), on a simulated city (10,000 cards, 217
places, 7 days) of which as many cards are held back. The weights of the split of the budget were chosen on cities like
this one. Utility is a mean over three runs; attacks see the first. `walk` is the document's generator, which has no
guarantee.
"""

from __future__ import annotations

import json
import math
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from bench.peers import run_peer
from bench.rows import Row, cpu
from tacita.assess.audit.attack import audit
from tacita.assess.mobility import assess_taps, case_of
from tacita.assess.utility.travel import agreement, travel_utility
from tacita.demo.city import City, build_city, simulate_taps
from tacita.demo.commuters import THETAS, simulate_communities
from tacita.engines.local import LocalEngine
from tacita.noise import SecureSource, SeededSource
from tacita.privacy.accountant import cost
from tacita.privacy.budget import Budget
from tacita.privacy.unit import Neighbours, Unit
from tacita.synthesize.mobility.measuring import PlannedTable
from tacita.synthesize.mobility.od import PlainOd
from tacita.synthesize.mobility.reading import Trips, Visits, read_trips
from tacita.synthesize.mobility.topic_models import gibbs
from tacita.synthesize.mobility.topic_models.communities import (
    assign,
    classify,
    jaccard_matrix,
    match_communities,
    members_of,
)
from tacita.synthesize.mobility.topic_models.louvain import commuter_graph, louvain, modularity
from tacita.synthesize.mobility.topic_models.topics import Topics
from tacita.synthesize.mobility.tours import Tours
from tacita.synthesize.mobility.walk import GraphWalk

ALPHA, BETA, TOPICS = 0.1, 0.1, 10
UNIT = Unit.of_person("card", max_rows=20)
SHOWN = ("pairs", "zones", "places", "lengths", "times", "minutes", "trips")


def run(quick: bool = False) -> list[Row]:
    """All rows."""
    return [*_speed(quick), *_communities(quick), *_networkx(), *_private(quick), *_audit(quick)]


# -- the sampler ------------------------------------------------------------------------------------------------------


class _State:
    """Counts of a chain of SLDA, for the kernel and for the plain program."""

    def __init__(self, visits: Visits) -> None:
        self.starts, self.token = visits.starts, visits.place
        self.z = np.zeros(len(visits.place), np.int64)
        self.cards = np.zeros((visits.cards, TOPICS), np.int32)
        self.places = np.zeros((visits.places, TOPICS), np.int32)
        self.topics = np.zeros(TOPICS, np.int64)
        self.rng = np.array([1], np.uint64)
        gibbs.start(self.starts, self.token, self.z, self.cards, self.places, self.topics, self.rng, True)

    def sweep(self, sweeps: int) -> None:
        gibbs.sweep_one(
            self.starts,
            self.token,
            self.z,
            self.cards,
            self.places,
            self.topics,
            ALPHA,
            BETA,
            sweeps,
            self.rng,
        )


def _plain_sweep(state: _State, rng: Any) -> None:
    """One sweep as a person would write it in Python, on lists."""
    starts, token, z = state.starts.tolist(), state.token.tolist(), state.z.tolist()
    cards, places, topics = state.cards.tolist(), state.places.tolist(), state.topics.tolist()
    wide = BETA * len(places)
    for card in range(len(starts) - 1):
        mine = cards[card]
        for i in range(starts[card], starts[card + 1]):
            here, old = places[token[i]], z[i]
            mine[old] -= 1
            here[old] -= 1
            topics[old] -= 1
            reached, total = [], 0.0
            for k in range(TOPICS):
                total += (mine[k] + ALPHA) * (here[k] + BETA) / (topics[k] + wide)
                reached.append(total)
            drawn, new = rng.random() * total, 0
            while reached[new] <= drawn and new < TOPICS - 1:
                new += 1
            z[i] = new
            mine[new] += 1
            here[new] += 1
            topics[new] += 1


SCRIPT = """
import json, logging, sys, time
import numpy as np
data = json.load(open(sys.argv[1]))
sweeps = int(sys.argv[2])
cards = [data["place"][a:b] for a, b in zip(data["starts"], data["starts"][1:])]
visits = len(data["place"])
import tomotopy
model = tomotopy.LDAModel(k=10, alpha=0.1, eta=0.1, seed=1)
model.optim_interval = 0
for card in cards:
    model.add_doc([str(place) for place in card])
model.train(1, workers=1)
start = time.process_time()
model.train(sweeps, workers=1)
found = {"tomotopy": (time.process_time() - start) / sweeps / visits}
import lda
logging.getLogger("lda").setLevel(logging.ERROR)
matrix = np.zeros((len(cards), data["places"]), np.int64)
for row, card in enumerate(cards):
    np.add.at(matrix[row], card, 1)
spent = []
for number in (10, 10, 10 + sweeps):
    start = time.process_time()
    lda.LDA(n_topics=10, n_iter=number, alpha=0.1, eta=0.1, random_state=1, refresh=10**6).fit(matrix)
    spent.append(time.process_time() - start)
found["lda"] = (spent[2] - spent[1]) / sweeps / visits
print(json.dumps(found))
"""


def _speed(quick: bool) -> list[Row]:
    commuters, sweeps = (200, 200) if quick else (1000, 200)
    visits, *_ = simulate_communities(np.random.default_rng(0), commuters=commuters)
    state, size = _State(visits), len(visits.place)
    state.sweep(20)
    ours = cpu(lambda: state.sweep(sweeps), 3)[0] / sweeps / size
    plain = cpu(lambda: _plain_sweep(state, np.random.default_rng(0)), 2)[0] / size
    note = (
        f"sampler: {size:,} visits of {visits.cards:,} cards, {visits.places:,} places, K = {TOPICS}, {sweeps} sweeps"
    )
    rows = [
        Row(
            bar="SLDA: visits sampled",
            ours=1 / ours,
            peer=1 / plain,
            peer_name="plain Python",
            unit="by cpu_s",
            goal=">= 20",
            note=note,
        )
    ]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "visits.json"
        plain_data = {"starts": visits.starts.tolist(), "place": visits.place.tolist(), "places": visits.places}
        file.write_text(json.dumps(plain_data))
        found = run_peer("topics", ["tomotopy==0.14.0", "lda==3.0.2"], SCRIPT, [str(file), str(sweeps)])
    for name, version in (("tomotopy", "tomotopy 0.14.0"), ("lda", "lda 3.0.2")):
        peer = None if isinstance(found, str) else found[name] * 1e9
        rows.append(
            Row(
                bar="SLDA: a visit and a sweep",
                ours=ours * 1e9,
                peer=peer,
                peer_name=version if peer is not None else str(found),
                unit="cpu_ns",
                goal="<= 2" if peer is not None else "shown",
            )
        )
    return rows


# -- communities ------------------------------------------------------------------------------------------------------


def _matched(found: Any, truth: Any) -> np.ndarray:
    return match_communities(jaccard_matrix(found, members_of(truth)))[2]


def _oracle(visits: Visits, truth: Any, laws: Any) -> float:
    """The mean Jaccard index of classifying by the true distributions."""
    return float(_matched(members_of(classify(visits, laws), len(laws)), truth).mean())


def _communities(quick: bool) -> list[Row]:
    communities, commuters, places = (5, 200, 2000) if quick else (10, 1000, 10_000)
    sweeps, chains = (300, 3) if quick else (1000, 6)
    rows = []
    for theta in (0.8, 1.1, 1.4) if quick else THETAS:
        visits, truth, laws = simulate_communities(
            np.random.default_rng(1), theta=theta, communities=communities, commuters=commuters, places=places
        )
        recipe = Topics(kind="slda", topics=communities, alpha=ALPHA, beta=BETA, sweeps=sweeps, chains=chains)
        start = time.process_time()
        model = recipe.fit(visits, np.random.default_rng(2))
        ours = time.process_time() - start
        start = time.process_time()
        graph = commuter_graph(visits)
        labels = louvain(graph, np.random.default_rng(2))
        theirs = time.process_time() - start
        mine, other = _matched(assign(model.theta), truth), _matched(members_of(labels), truth)
        density = graph.nnz / graph.shape[0] ** 2
        note = f"communities, theta {theta}: least Jaccard {mine.min():.3f} against {other.min():.3f}"
        note += f"; Louvain finds {labels.max() + 1}; density {density:.4f}; oracle {_oracle(visits, truth, laws):.3f}"
        rows += [
            Row(
                bar=f"theta {theta}: mean Jaccard of matched communities",
                ours=float(mine.mean()),
                peer=float(other.mean()),
                peer_name="Louvain",
                unit="share",
                goal=">= 1",
                note=note,
            ),
            Row(
                bar=f"theta {theta}: least Jaccard on the diagonal",
                ours=float(mine.min()),
                unit="share",
                goal="> 0.9" if theta >= 1.0 else "shown",
            ),
            Row(bar=f"theta {theta}: time", ours=ours, peer=theirs, peer_name="Louvain", unit="cpu_s"),
        ]
    return rows


def _networkx() -> list[Row]:
    """Our Louvain is as good as the field's own, and faster: a fair baseline."""
    try:
        import networkx
    except ImportError:
        return [Row(bar="Louvain: modularity", ours=0.0, peer_name="networkx is not installed", unit="share")]
    visits, *_ = simulate_communities(np.random.default_rng(0), commuters=100, places=1000)
    graph = commuter_graph(visits)
    theirs = networkx.from_scipy_sparse_array(graph)
    name = f"networkx {networkx.__version__}"
    peer = [networkx.community.louvain_communities(theirs, seed=seed) for seed in range(3)]
    best = max(networkx.community.modularity(theirs, each) for each in peer)
    ours = max(modularity(graph, louvain(graph, np.random.default_rng(seed))) for seed in range(3))
    spent = cpu(lambda: louvain(graph, np.random.default_rng(0)), 3)[0]
    slow = cpu(lambda: networkx.community.louvain_communities(theirs, seed=0), 1)[0]
    return [
        Row(bar="Louvain: modularity", ours=ours, peer=best, peer_name=name, unit="share", goal=">= 0.99"),
        Row(bar="Louvain: time", ours=spent, peer=slow, peer_name=name, unit="cpu_s"),
    ]


# -- private generators -----------------------------------------------------------------------------------------------


def _means(found: list[dict[str, float]]) -> dict[str, float]:
    return {name: float(np.mean([each[name] for each in found])) for name in found[0]}


def _measured(city: City, real: Trips, control: Trips, made: list[pa.Table]) -> dict[str, float]:
    """Distances of trips, chaining and communities, means over runs."""
    found = []
    for table in made:
        trips = read_trips(table, city.schema).complete()
        utility = travel_utility(case_of(city.schema, real, trips, None))
        assert utility is not None
        agreed = agreement(real, trips, np.random.default_rng(3), topics=6, judged=control)
        extra = {
            "chained": utility.chained[1],
            "communities": agreed.jaccard,
            "likelihood": agreed.likelihood,
            "inner": agreed.inner,
        }
        found.append(utility.distances | extra)
    return _means(found)


def _risks(city: City, real: pa.Table, control: pa.Table, made: pa.Table, attempts: int) -> dict[str, Any]:
    found = assess_taps(city.schema, real, made, np.random.default_rng(4), control=control, attempts=attempts)
    similar = {each.measure: each for each in found.results if hasattr(each, "to_real")}
    (steps,) = (each.value for each in found.risks if each.name == "membership, steps of trajectories")
    return {"risk": found.risk, "jaccard": similar["multiset"].largest, "steps": steps, "by": found.risks}


def _private(quick: bool) -> list[Row]:
    cards, attempts, runs = (1500, 100, 1) if quick else (10_000, 300, 3)
    city = build_city()
    taps, held = simulate_taps(city, cards, 1), simulate_taps(city, cards, 2)
    real, control = (read_trips(table, city.schema).complete() for table in (taps, held))
    engine, domain = LocalEngine(city.schema.domain, taps), city.schema.domain
    rows, figures = [], {}

    def made(recipe: Any, epsilon: float) -> list[pa.Table]:
        plan = recipe.calibrate(domain, Budget.pure(epsilon), unit=UNIT, neighbours=Neighbours.ADD_REMOVE)
        return [plan.run(engine, SeededSource(seed)).sample(cards, np.random.default_rng(seed)) for seed in range(runs)]

    for least in (1, 5):
        walk = GraphWalk(topics=Topics(topics=6, sweeps=300), least=least).fit(real, np.random.default_rng(0))
        tables = [walk.sample(cards, np.random.default_rng(seed)) for seed in range(runs)]
        figures[f"walk {least}"] = _measured(city, real, control, tables)
        figures[f"walk {least}"] |= _risks(city, taps, held, tables[0], attempts)
    figures["held"] = _measured(city, real, control, [held])
    for epsilon in (0.5, 1.0, 4.0):
        for name, recipe in (("tours", Tours), ("od", PlainOd)):
            tables = made(recipe(places=city.places, cards=cards), epsilon)
            figures[f"{name} {epsilon}"] = _measured(city, real, control, tables)
            figures[f"{name} {epsilon}"] |= _risks(city, taps, held, tables[0], attempts)
        ours, plain = figures[f"tours {epsilon}"], figures[f"od {epsilon}"]
        for name in SHOWN:
            rows.append(
                Row(
                    bar=f"epsilon {epsilon:g}: total variation of {name}",
                    ours=ours[name],
                    peer=plain[name],
                    peer_name="plain noisy OD",
                    unit="share",
                    goal="< 1" if name in ("pairs", "zones", "places", "lengths", "minutes") else "shown",
                )
            )
        for name in ("chained", "communities", "likelihood", "inner"):
            rows.append(
                Row(
                    bar=f"epsilon {epsilon:g}: {name}",
                    ours=ours[name],
                    peer=plain[name],
                    peer_name="plain noisy OD",
                    unit="share",
                    goal="> 1",
                )
            )
        rows.append(
            Row(
                bar=f"epsilon {epsilon:g}: largest risk of an attack",
                ours=ours["risk"],
                peer=plain["risk"] or None,
                peer_name="plain noisy OD" if plain["risk"] else "plain noisy OD: 0",
                unit="beyond chance",
                note=f"epsilon {epsilon:g}: most similar trajectories {ours['jaccard']:.2f} (multiset Jaccard); "
                + ", ".join(f"{each.name} {each.value:.3f} ({each.low:.3f})" for each in ours["by"]),
            )
        )
        rows.append(
            Row(
                bar=f"epsilon {epsilon:g}: membership by steps between places, 2 AUC - 1",
                ours=ours["steps"],
                peer=figures["walk 1"]["steps"],
                peer_name="unprotected walk",
                unit="beyond chance",
                goal="< 0.2",
            )
        )
    for kind in ("walk 1", "walk 5", "held"):
        label = {"walk 1": "unprotected walk", "walk 5": "unprotected walk, support 5", "held": "people held back"}[
            kind
        ]
        for name in (*SHOWN, "chained", "communities", "likelihood", "inner"):
            rows.append(Row(bar=f"{label}: {name}", ours=figures[kind][name], unit="share"))
        if "risk" in figures[kind]:
            by = ", ".join(f"{each.name} {each.value:.3f} ({each.low:.3f})" for each in figures[kind]["by"])
            note = f"{label}: most similar trajectories {figures[kind]['jaccard']:.2f} (multiset Jaccard); {by}"
            rows.append(Row(bar=f"{label}: largest risk", ours=figures[kind]["risk"], unit="beyond chance", note=note))
    rows += _cost(city, engine, cards)
    if not quick:  # as many cards and places as document 004 has
        large = build_city(lines=12, stations=40, stops=9)
        many = LocalEngine(large.schema.domain, simulate_taps(large, 41_000, 1))
        rows += _cost(large, many, 41_000)
    return rows


def _cost(city: City, engine: LocalEngine, cards: int) -> list[Row]:
    plan = Tours(places=city.places, cards=cards).calibrate(
        city.schema.domain, Budget.pure(1.0), unit=UNIT, neighbours=Neighbours.ADD_REMOVE
    )
    model = plan.run(engine, SecureSource())
    spent = cpu(lambda: plan.run(engine, SecureSource()), 2)[0]
    drawn = cpu(lambda: model.sample(cards, np.random.default_rng(0)), 2)[0]
    return [
        Row(bar=f"measure and fit {cards:,} cards, {len(city.places):,} places", ours=spent, unit="cpu_s"),
        Row(bar=f"draw {cards:,} cards, {len(city.places):,} places", ours=drawn, unit="cpu_s"),
    ]


# -- the auditor ------------------------------------------------------------------------------------------------------


def _tables(plan: Any, engine: LocalEngine) -> list[tuple[PlannedTable, np.ndarray]]:
    """The integers that noise is added to; what it gives back is the same for all data."""
    seen: list[tuple[PlannedTable, np.ndarray]] = []
    original = PlannedTable.measure

    def record(self: PlannedTable, counts: np.ndarray, source: Any) -> np.ndarray:
        seen.append((self, counts.astype(int).reshape(-1)))
        return np.full(counts.shape, 100.0)

    PlannedTable.measure = record  # type: ignore[method-assign]
    try:
        plan.run(engine, SeededSource(0))
    finally:
        PlannedTable.measure = original  # type: ignore[method-assign]
    return seen


def _audit(quick: bool) -> list[Row]:
    """An attacker who sees every noisy table, and scores them by the likelihood ratio of one card."""
    city, trials, rows = build_city(lines=3, stations=4, stops=1), 20_000 if quick else 200_000, []
    taps = simulate_taps(city, 200, 1)
    mine = taps.filter(pa.array([card == "c0" for card in taps["card"].to_pylist()]))
    copies = pa.concat_tables([mine.slice(0, 1)] * 30)  # one trip, thirty times: the worst that counts
    other = taps.filter(pa.array([card != "c0" for card in taps["card"].to_pylist()]))
    engines = [LocalEngine(city.schema.domain, each) for each in (other, pa.concat_tables([other, copies]))]
    for epsilon in (0.5, 1.0, 4.0):
        for name, recipe in (("tours", Tours(places=city.places)), ("od", PlainOd(places=city.places))):
            plan = recipe.calibrate(
                city.schema.domain, Budget.pure(epsilon), unit=UNIT, neighbours=Neighbours.ADD_REMOVE
            )
            without, with_card = (_tables(plan, engine) for engine in engines)
            pairs = list(zip(without, with_card, strict=True))

            def play(
                data: list[tuple[PlannedTable, np.ndarray]], times: int, rng: np.random.Generator, pairs: Any = pairs
            ) -> Any:
                source, found = SeededSource(int(rng.integers(2**31))), np.zeros(times)
                for (table, counts), ((_, a), (_, b)) in zip(data, pairs, strict=True):
                    cells = np.flatnonzero(a != b)
                    noisy = table.measure(np.tile(counts[cells], (times, 1)), source) * table.spec.grid
                    scale = table.std * table.spec.grid / math.sqrt(2)  # of Laplace noise, in steps
                    found += ((np.abs(noisy - a[cells]) - np.abs(noisy - b[cells])) / scale).sum(axis=1)
                return found

            found = audit(play, with_card, without, trials=trials, rng=np.random.default_rng(1), confidence=0.99)
            claimed = float(cost([(plan.event, 1)], plan.budget, Neighbours.ADD_REMOVE))
            rows.append(
                Row(
                    bar=f"auditor's lower bound, {name} at epsilon {epsilon:g}",
                    ours=found.epsilon,
                    peer=claimed,
                    peer_name="claimed",
                    unit="epsilon",
                    goal="<= 1",
                    note=f"auditor: {trials:,} runs on each side, a card with one trip 30 times; confidence 0.99",
                )
            )
    return rows
