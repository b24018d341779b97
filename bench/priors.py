"""Public tables as a prior of collected ones: what a right, an outdated and a wrong one change.

Tables are those of `bench/ldp_pairs.py`, with seeds that were not used in development: 16 yes-or-no columns, 21,574
respondents, all pairs. Priors hold all pair tables, or all single attributes, of

    right      the population itself
    outdated   the population after changes: the odds of each column times exp of a normal number of deviation 0.3, and
               a fifth of the rows with columns drawn alone
    partly     right for three quarters of the columns; the others are replaced by columns of another population
    wrong      another population of another kind

The error is the mean total variation distance of the published pair tables from the exact ones. `numbers`: a column
of 64 bins asked through Square Wave, with last year's shares as prior: the mean distance of cumulative shares.
"""

from __future__ import annotations

import numpy as np

from bench.ldp_pairs import COLUMNS, PEOPLE, Codes, columns, domain_of, exact
from bench.rows import Row
from tacita.collect.analysis import findings
from tacita.collect.estimating.prior import Prior
from tacita.collect.estimating.tally import Tally, respond
from tacita.collect.planning.plan import plan_collection
from tacita.domain import Domain, Numeric
from tacita.noise import SeededSource
from tacita.tables.cells import Cells
from tacita.tables.workload import Workload

SEED = 417
KINDS = ("one trait", "two traits", "classes", "chain")
OTHER = {"one trait": "blocks", "two traits": "classes", "classes": "chain", "chain": "one trait"}
BINS = 64


def run(*, quick: bool) -> list[Row]:
    rows: list[Row] = []
    for epsilon in (1.0,) if quick else (0.5, 1.0, 2.0, 4.0):
        rows += _pairs(epsilon, 1 if quick else 2)
    for people in (10_000,) if quick else (1_000, 10_000, 100_000):
        rows += _numbers(people, 2 if quick else 10)
    return rows


# -- pairs -----------------------------------------------------------------------------------------------------------


def outdated(codes: Codes, rng: np.random.Generator) -> Codes:
    """The population as it was earlier."""
    found = {}
    alone = rng.random(PEOPLE) < 0.2
    for name, column in codes.items():
        share = float(np.clip(column.mean(), 0.01, 0.99))
        odds = share / (1 - share) * np.exp(rng.normal(0, 0.3))
        wanted = odds / (1 + odds)
        if wanted > share:
            moved = np.where((column == 0) & (rng.random(PEOPLE) < (wanted - share) / (1 - share)), 1, column)
        else:
            moved = np.where((column == 1) & (rng.random(PEOPLE) < (share - wanted) / share), 0, column)
        found[name] = np.where(alone, rng.permutation(moved), moved)
    return found


def priors_of(kind: str, codes: Codes, domain: Domain, rng: np.random.Generator) -> dict[str, Prior]:
    """All priors, by name."""
    wrong = columns(OTHER[kind], COLUMNS, SEED + 50)
    mended = {name: wrong[name] if place % 4 == 3 else column for place, (name, column) in enumerate(codes.items())}
    found = {}
    for name, earlier in {"right": codes, "outdated": outdated(codes, rng), "partly": mended, "wrong": wrong}.items():
        pairs = [Cells(domain.project(key), table) for key, table in exact(domain, earlier).items()]
        found[f"{name}, pairs"] = Prior.of(domain, pairs)
        found[f"{name}, singles"] = Prior.of(
            domain,
            [pairs[0].project((one,)) for one in pairs[0].attributes]
            + [pair.project((pair.attributes[1],)) for pair in pairs[1 : COLUMNS - 1]],
        )
    return found


def _pairs(epsilon: float, runs: int) -> list[Row]:
    domain = domain_of(COLUMNS)
    workload = Workload.all(domain, 2)
    design = plan_collection(domain, workload, respondents=PEOPLE, epsilon=epsilon)
    errors: dict[str, list[float]] = {}
    trusts: dict[str, list[float]] = {}
    covered: list[float] = []
    for place, kind in enumerate(KINDS):
        codes = columns(kind, COLUMNS, SEED)
        truth = exact(domain, codes)
        priors = priors_of(kind, codes, domain, np.random.default_rng(SEED + place))
        for number in range(runs):
            seed = SEED + 10 * place + number
            lot = int(np.random.SeedSequence([seed, 1]).generate_state(1)[0])
            tally = Tally(design).add(respond(design, codes, SeededSource(seed), seed=lot))
            for name, prior in ({"none": None} | priors).items():
                releases = findings.published(tally, prior=prior)
                gaps = [np.abs(releases.project(key).values - table).sum() / 2 for key, table in truth.items()]
                errors.setdefault(name, []).append(float(np.mean(gaps)))
                recipe = next(iter(releases.values())).provenance.recipe
                if "prior" in recipe:
                    trusts.setdefault(name, []).append(recipe["prior"]["trust"])
                if name == "wrong, pairs":
                    for key, table in truth.items():
                        low, high = releases.project(key).interval(0.95)
                        covered.append(float(((low <= table) & (table <= high)).mean()))
    none = float(np.mean(errors["none"]))
    rows = []
    for name, each in errors.items():
        if name == "none":
            continue
        goal = {"right": "<= 0.9", "wrong": "<= 1.05", "outdated": "<= 1.02", "partly": "<= 1.02"}[name.split(",")[0]]
        rows.append(
            Row(
                bar=f"pairs of 16 columns, prior {name}, epsilon {epsilon:g}",
                ours=float(np.mean(each)),
                peer=none,
                peer_name="without a prior",
                unit="total variation",
                goal=goal,
                note=f"mean trust in the prior {np.mean(trusts.get(name, [0.0])):.2f}",
            )
        )
    bar = f"coverage of 95 % intervals with a wrong prior, epsilon {epsilon:g}"
    rows.append(Row(bar=bar, ours=float(np.mean(covered)), unit="of cells", goal=">= 0.94"))
    return rows


# -- numbers ---------------------------------------------------------------------------------------------------------


def _numbers(people: int, runs: int) -> list[Row]:
    domain = Domain(attributes=[Numeric(name="x", bounds=(0.0, 1.0), bins=BINS)])
    design = plan_collection(domain, Workload.of(("x",)), respondents=people, epsilon=1.0, channel="wave")
    middles = (np.arange(BINS) + 0.5) / BINS

    def mixed(first: float, second: float, share: float, peak: float) -> np.ndarray:
        bells = [np.exp(-0.5 * ((middles - at) / wide) ** 2) for at, wide in ((first, 0.06), (second, 0.1))]
        found = share * bells[0] / bells[0].sum() + (1 - share) * bells[1] / bells[1].sum()
        found[BINS // 2] += peak
        return np.asarray(found / found.sum())

    truth = mixed(0.3, 0.65, 0.45, 0.1)
    priors = {"right": truth, "outdated": mixed(0.27, 0.62, 0.52, 0.1), "wrong": mixed(0.8, 0.15, 0.3, 0.0)}
    errors: dict[str, list[float]] = {}
    for number in range(runs):
        codes = {"x": np.random.default_rng(SEED + number).choice(BINS, people, p=truth)}
        tally = Tally(design).add(respond(design, codes, SeededSource(SEED + number), seed=number))
        for name, shares in ({"none": None} | priors).items():
            prior = None if shares is None else Prior.of(domain, [Cells(domain, shares)])
            found = findings.published(tally, prior=prior).project(("x",)).values
            errors.setdefault(name, []).append(float(np.abs(np.cumsum(found - truth)).mean()))
    goals = {"right": "<= 0.9", "outdated": "<= 1.02", "wrong": "<= 1.1"}
    return [
        Row(
            bar=f"64 bins through Square Wave, prior {name}, {people:,} respondents, epsilon 1",
            ours=float(np.mean(errors[name])),
            peer=float(np.mean(errors["none"])),
            peer_name="without a prior",
            unit="distance of cumulative shares",
            goal=goals[name],
        )
        for name in priors
    ]
