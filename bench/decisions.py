"""Decisions under noise: the documents' experiments on flips (E15) and on a conditional test (E16), beside ours.

The network of the second is read from the folder that the environment variable TACITA_NETWORKS names (`survey.bif` or
`survey.bif.gz`); without it that part is left out.
"""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bench.rows import Row
from tacita.assess.decisions.flip import share_of
from tacita.assess.decisions.links import planned_links
from tacita.assess.decisions.mechanisms import AdditiveMechanism, plain_domain
from tacita.assess.decisions.posterior import ReportsPosterior, draw_true_counts
from tacita.assess.decisions.private_test import size_of_test, tilt
from tacita.assess.decisions.rule import Rule
from tacita.assess.decisions.sizing import statistic_needed
from tacita.collect.analysis.independence_counts import CountStatistic, NoisyNull
from tacita.collect.channels.channel import RandomizedResponse
from tacita.models import BayesianNetwork, read_bif
from tacita.models.contingency import expected
from tacita.noise import Law
from tacita.plans import NoisyTables
from tacita.privacy.budget import Budget
from tacita.privacy.unit import Neighbours, Unit
from tacita.tables.uncertainty import AdditiveNoise
from tacita.tables.workload import Workload

PEOPLE = (2000, 7000, 12000, 22000)
DOCUMENTS = {2000: (8.2, 25.1), 7000: (7.2, 13.6), 12000: (6.9, 12.3), 22000: (5.6, 8.8)}
ACCEPTED = {500: ((16.5, 31.3, 42.5), (7.2, 19.5, 30.9)), 5000: ((24.2, 71.8, 85.9), (15.9, 66.1, 83.6))}
EPSILONS = (0.1, 0.25, 0.35)
SHAPE = (2, 2, 2)
Array = NDArray[np.float64]


def run(*, quick: bool) -> list[Row]:
    draws = 10_000 if quick else 100_000
    rows = _stability("Laplace noise, epsilon 0.1", _additive(_law(Budget.pure(0.1)), draws), PEOPLE, DOCUMENTS)
    zcdp = _law(Budget.zcdp(0.005))  # rho = epsilon^2 / 2
    rows += _stability("Gaussian noise, rho 0.005", _additive(zcdp, draws), PEOPLE)
    for epsilon in (1.0, 3.0):
        name = f"randomized response, epsilon {epsilon:g}"
        rows += _stability(name, _reported(epsilon, draws // 10), PEOPLE)
    network = _network()
    if network is None:
        return rows  # set TACITA_NETWORKS to the folder of survey.bif for the rest
    rows += _acceptance(network, 1000 if quick else 10_000)
    rows += _size(network, 300 if quick else 2000)
    return rows + _links(network, 50 if quick else 200)


def _law(budget: Budget) -> Law:
    return AdditiveMechanism.for_budget((1, 2, 2), budget).law


def _additive(law: Law, draws: int) -> Callable[[Array], float]:
    rng, noise = np.random.default_rng(1), AdditiveNoise(law=law)
    return lambda table: float(Rule().dependent(draw_true_counts(np.round(table), noise, draws, rng), (1, 2, 2)).mean())


def _reported(epsilon: float, draws: int) -> Callable[[Array], float]:
    channel, rng = RandomizedResponse.k_ary(levels=4, epsilon=epsilon), np.random.default_rng(1)

    def stable(table: Array) -> float:
        counts = np.round(table @ channel.matrix()).astype(np.int64)
        posterior = ReportsPosterior(domain=plain_domain((1, 2, 2)), channels=[channel], counts=[counts])
        return float(Rule().dependent(posterior.draw(draws, rng), (1, 2, 2)).mean())

    return stable


def _stability(
    name: str,
    stable: Callable[[Array], float],
    people: tuple[int, ...],
    documents: dict[int, tuple[float, float]] | None = None,
) -> list[Row]:
    rows = []
    for count in people:
        for place, target in enumerate((0.80, 0.99)):
            found = statistic_needed(stable, 2, 2, people=count, target=target, tolerance=0.005)
            theirs = None if documents is None else documents[count][place]
            rows.append(
                Row(
                    bar=f"{name}: G2 for {target:.0%} stability, n = {count:,}",
                    ours=np.nan if found is None else found,
                    peer=theirs,
                    peer_name="the documents' simulation" if theirs else "",
                    unit="G2",
                )
            )
    return rows


def _network() -> BayesianNetwork | None:
    folder = os.environ.get("TACITA_NETWORKS")
    for name in ("survey.bif", "survey.bif.gz") if folder else ():
        path = Path(str(folder)) / name
        if path.exists():
            data = path.read_bytes()
            return read_bif((gzip.decompress(data) if name.endswith("gz") else data).decode())
    return None


def _table(network: BayesianNetwork) -> Array:
    """Shares of O and S within each R."""
    return np.asarray(network.project(("R", "O", "S")).values, dtype=np.float64).reshape(-1)


def _null(people: int, epsilon: float, statistic: CountStatistic) -> NoisyNull:
    law = AdditiveMechanism.for_budget(SHAPE, Budget.pure(epsilon)).law
    noise = AdditiveNoise(law=law)
    return NoisyNull(table=np.zeros(8), shape=SHAPE, noise=noise, people=people, statistic=statistic)


def _acceptance(network: BayesianNetwork, trials: int) -> list[Row]:
    """Naive chi-square on clipped noisy counts of one draw of people, as the documents' check did.

    O and S given R has 2 degrees of freedom; 3 is what O against R and S together has, which is another hypothesis.
    """
    rows, rng = [], np.random.default_rng(1)
    rule = Rule(statistic="pearson")
    for people in (500, 5000):
        shares: dict[tuple[int, float], list[float]] = {}
        for _ in range(20):  # one draw of people is luck: the mean and the range over 20 of them
            true = rng.multinomial(people, _table(network))
            for epsilon in EPSILONS:
                mechanism = AdditiveMechanism.for_budget(SHAPE, Budget.pure(epsilon))
                noisy = mechanism.run(np.tile(true, (trials // 10, 1)), rng)
                together = noisy.reshape(-1, 2, 2, 2).transpose(0, 2, 1, 3).reshape(-1, 8)
                for df, table, shape in ((2, noisy, SHAPE), (3, together, (1, 2, 4))):
                    accepted = 100 * float(1 - rule.dependent(table, shape).mean())
                    shares.setdefault((df, epsilon), []).append(accepted)
        for (df, epsilon), found in sorted(shares.items()):
            rows.append(
                Row(
                    bar=f"E16: independence accepted, n = {people:,}, epsilon {epsilon:g}, {df} df",
                    ours=float(np.mean(found)),
                    unit="%",
                    peer=ACCEPTED[people][df - 2][EPSILONS.index(epsilon)],
                    peer_name="the documents' check, one draw",
                    note=f"naive test; {min(found):.1f} to {max(found):.1f} over 20 draws of people",
                )
            )
    return rows


def _size(network: BayesianNetwork, trials: int) -> list[Row]:
    rows = []
    table = _table(network)
    null_table = expected(table, SHAPE)
    for people in (500, 5000):
        for epsilon in EPSILONS:
            naive = _naive_size(null_table, people, epsilon, trials)
            note = f"naive test rejects {naive:.1%} of independent tables"
            for statistic in ("noise-aware", "pearson"):
                null = _null(people, epsilon, statistic)
                size, low, high = size_of_test(null, people * null_table, trials=trials, seed=1)
                power, _, _ = size_of_test(null, tilt(table, SHAPE, 0.25)[0] * people, trials=trials // 2, seed=2)
                rows.append(
                    Row(
                        bar=f"type I error, {statistic}, n = {people:,}, epsilon {epsilon:g}",
                        ours=size,
                        unit="of releases",
                        goal="<= 0.06",
                        note=f"{low:.3f} to {high:.3f}; power at w = .25: {power:.0%}; {note}",
                    )
                )
    return rows


def _naive_size(shares: Array, people: int, epsilon: float, trials: int) -> float:
    rng = np.random.default_rng(3)
    mechanism = AdditiveMechanism.for_budget(SHAPE, Budget.pure(epsilon))
    noisy = mechanism.run(rng.multinomial(people, shares / shares.sum(), size=trials), rng)
    return share_of(Rule(statistic="pearson").dependent(noisy, SHAPE))[0]


def _links(network: BayesianNetwork, draws: int) -> list[Row]:
    """Links of the network that releases of all pairs would show, at 5,000 and 50,000 people."""
    rows = []
    for people in (5000, 50_000):
        for epsilon in (0.1, 1.0, 10.0):
            plan = NoisyTables(Workload.all(network.domain, 2)).calibrate(
                network.domain, Budget.pure(epsilon), unit=Unit.row(), neighbours=Neighbours.REPLACE_ONE
            )
            found = planned_links(network, plan, people=people, draws=draws, rng=np.random.default_rng(1))
            own = [link.linked for link in found.links if link.learnt]
            rows.append(
                Row(
                    bar=f"stability of {len(own)} links of Survey's tree, n = {people:,}, epsilon {epsilon:g}",
                    ours=float(np.mean(own)) if own else np.nan,
                    unit="of releases",
                    note=f"all of them and no other in {found.same:.0%} of releases; {found.notes[0]}",
                )
            )
    return rows
