"""The stop rule: a campaign closes near the number of respondents that the planner names, and its intervals hold.

Campaigns are simulated by their tallies: at each look of the schedule the reports so far are pooled and looked at, as
`Campaigns` does. Twenty campaigns of different networks, epsilons and widths.
"""

from __future__ import annotations

import numpy as np
from tests.support.networks import Kind, random_network

from bench.rows import Row
from tacita.collect.estimating.pooled import pool_tables
from tacita.collect.estimating.tally import Tally, respond
from tacita.collect.planning.plan import plan_collection
from tacita.collect.planning.sizing import plan_stop, respondents_planned
from tacita.collect.planning.stopping import StopRule
from tacita.noise import SeededSource
from tacita.tables.workload import Workload

KINDS: tuple[Kind, ...] = ("chain", "tree", "dense", "independent", "skewed")
SETTINGS = [
    (kind, epsilon, width) for kind in KINDS for epsilon, width in ((1.0, 0.1), (1.0, 0.15), (2.0, 0.05), (2.0, 0.1))
]


def run(*, quick: bool) -> list[Row]:
    found = [_campaign(*setting, seed=number) for number, setting in enumerate(SETTINGS[:: 4 if quick else 1])]
    ratios = [ratio for ratio, _ in found]
    note = f"{len(found)} campaigns; largest and smallest number at which one closed, over the planner's number"
    return [
        Row(bar="closes at most so late", ours=max(ratios), unit="of the plan", goal="<= 1.5", note=note),
        Row(bar="closes no earlier than", ours=min(ratios), unit="of the plan", note=note),
        Row(bar="mean", ours=float(np.mean(ratios)), unit="of the plan"),
        Row(
            bar="campaigns whose intervals all hold when they close",
            ours=float(np.mean([held for _, held in found])),
            unit="of campaigns",
            goal=">= 0.8",
            note="promised: 95 %; of 20 campaigns fewer than 16 would hold with a probability below 1e-3",
        ),
    ]


def _campaign(kind: Kind, epsilon: float, half_width: float, *, seed: int) -> tuple[float, bool]:
    """At which multiple of the planned number one campaign closes, and whether all of its intervals hold then."""
    network = random_network(kind, attributes=4, seed=100 + seed)
    design = plan_collection(
        network.domain, Workload.all(network.domain, 2), respondents=5000, epsilon=epsilon, mode="tables"
    )
    rule = plan_stop(design, StopRule(half_width=half_width), least=100)
    planned = respondents_planned(design, StopRule(half_width=half_width))
    tally, seen, number = Tally(design), 0, 0
    streams = np.random.default_rng(seed)
    while True:
        number += 1
        size = rule.size_of(number)
        codes = network.sample(size - seen, streams)
        tally.add(respond(design, codes, SeededSource(1000 * seed + number), seed=int(streams.integers(2**32))))
        seen = size
        tables = pool_tables(tally)
        wanted = [tables.project(key) for key in rule.tables or ()]
        advice = rule.look_at(wanted, number, respondents=seen)
        if advice.stop:
            held = True
            for release in wanted:
                low, high = release.interval(advice.level_used)
                truth = network.project(release.attributes).values
                held &= bool(((low <= truth) & (truth <= high)).all())
            return seen / planned, held
