"""Numbers in bins under local privacy: ranges, cumulative shares and single bins, by how they are asked and published.

Columns of 64 bins: uniform, one narrow peak over a uniform part, heaped on every fourth bin, two bells, lognormal,
Beta(5, 2). All reports go through the real channels.

    published    Square Wave as a user gets it: smoothed along the order as far as the reports support it (`ordered`)
    before       the same reports, the unbiased shares projected to the nearest distribution
    em, ems      the same reports, maximum likelihood, and with fixed smoothing
    flat         one frequency oracle for all bins as a user gets it; flat before: projected
    tree         the bins and their groups of 4 and 16, each asked of a third of the respondents through the best
                 oracle, all reports together smoothed in the same way
    adaptive     the same for 30 % of the respondents; the others are asked for groups of equal estimated shares, 4, 16
                 and 64 of them (as AHEAD and PrivTree adapt to the data)

Errors: root mean square of the shares of all ranges; mean distance of cumulative shares; total variation. Geometric
means over the columns. The rule that weighs fits was compared in five forms on these columns, with other seeds.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np

from bench.rows import Row
from tacita.collect.analysis import findings
from tacita.collect.channels.numbers.square_wave import SquareWave
from tacita.collect.estimating.ordered import information_of, smooth_shares
from tacita.collect.estimating.tally import Tally, respond
from tacita.collect.planning.design import best_for
from tacita.collect.planning.plan import plan_collection
from tacita.domain import Categorical, Domain, Numeric
from tacita.noise import SeededSource
from tacita.tables.workload import Workload

BINS, SEED = 64, 2718
DOMAIN = Domain(attributes=[Numeric(name="x", bounds=(0.0, 1.0), bins=BINS)])
Errors = dict[str, dict[str, list[np.ndarray]]]
MEASURES = ("ranges", "cumulative", "single bins")


def run(*, quick: bool) -> list[Row]:
    rows: list[Row] = []
    for people, epsilon in itertools.product(
        (10_000,) if quick else (1_000, 10_000, 100_000, 1_000_000), (1.0,) if quick else (0.5, 1.0, 2.0, 4.0)
    ):
        rows += _setting(people, epsilon, 2 if quick else 4)
    return rows


def columns() -> dict[str, np.ndarray]:
    """The true shares."""
    x = (np.arange(BINS) + 0.5) / BINS

    def bell(centre: float, width: float) -> np.ndarray:
        found = np.exp(-0.5 * ((x - centre) / width) ** 2)
        return np.asarray(found / found.sum())

    heaped = 0.3 * bell(0.45, 0.2)
    np.add.at(heaped, np.minimum(4 * np.round(np.arange(BINS) / 4).astype(int), BINS - 1), 0.7 * bell(0.45, 0.2))
    lognormal = np.exp(-0.5 * ((np.log(x) + 2.2) / 0.6) ** 2) / x
    beta = x**4 * (1 - x)
    return {
        "uniform": np.full(BINS, 1 / BINS),
        "peaked": 0.7 * bell(0.3, 0.01) + 0.3 / BINS,
        "heaped": heaped / heaped.sum(),
        "two bells": 0.6 * bell(0.25, 0.05) + 0.4 * bell(0.7, 0.08),
        "lognormal": lognormal / lognormal.sum(),
        "Beta(5, 2)": beta / beta.sum(),
    }


def measure(found: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """All three errors."""
    gaps = np.concatenate([[0.0], np.cumsum(found - truth)])
    ranges = gaps[:, None] - gaps[None, :]
    return np.array([np.sqrt((ranges**2).mean()), np.abs(gaps[1:]).mean(), np.abs(found - truth).sum() / 2])


# -- ways of asking --------------------------------------------------------------------------------------------------


def ask(values: np.ndarray, channel: str, epsilon: float, seed: int) -> Tally:
    """One collection of the bins."""
    design = plan_collection(
        DOMAIN,
        Workload.of(("x",)),
        respondents=len(values),
        epsilon=epsilon,
        channel=channel,  # type: ignore[arg-type]
    )
    return Tally(design).add(respond(design, {"x": values}, SeededSource(seed), seed=seed))


class Grouped:
    """What questions about groups of bins say together: the information about the bins, and its pull."""

    def __init__(self) -> None:
        self.information, self.pull = np.zeros((BINS, BINS)), np.zeros(BINS)

    def ask(self, values: np.ndarray, groups: np.ndarray, epsilon: float, seed: int) -> None:
        """Ask for the group of each value."""
        count = int(groups.max()) + 1
        if count < 2:
            return
        domain = Domain(attributes=[Categorical(name="g", levels=[f"g{each}" for each in range(count)])])
        oracle = best_for(domain, epsilon, len(values))
        found = oracle.estimate(oracle.tally(oracle.randomize(groups[values], SeededSource(seed))))
        sums = (groups[None, :] == np.arange(count)[:, None]).astype(float)
        known = information_of(found.uncertainty)
        self.information += sums.T @ known @ sums
        self.pull += sums.T @ known @ found.frequencies

    def smoothed(self) -> np.ndarray:
        """Shares of the bins."""
        target = np.linalg.lstsq(self.information, self.pull, rcond=None)[0]
        return smooth_shares(DOMAIN, "x", target, self.information).shares

    def ask_tree(self, values: np.ndarray, epsilon: float, seed: int, shares: np.ndarray) -> None:
        """Ask a third each for 4, 16 and 64 groups of bins that have equal of these shares."""
        before = np.concatenate([[0.0], np.cumsum(shares)[:-1]])
        for number, (count, part) in enumerate(zip((4, 16, 64), np.array_split(values, 3), strict=True)):
            groups = np.minimum((before * count + 1e-9).astype(int), count - 1)
            self.ask(part, np.unique(groups, return_inverse=True)[1], epsilon, seed + number)


def tree(values: np.ndarray, epsilon: float, seed: int) -> np.ndarray:
    """A fixed tree."""
    found = Grouped()
    found.ask_tree(values, epsilon, seed, np.full(BINS, 1 / BINS))
    return found.smoothed()


def adaptive(values: np.ndarray, epsilon: float, seed: int) -> np.ndarray:
    """A tree for some respondents, and groups of equal estimated shares for the others."""
    found, first = Grouped(), int(0.3 * len(values))
    found.ask_tree(values[:first], epsilon, seed, np.full(BINS, 1 / BINS))
    shares = 0.9 * found.smoothed() + 0.1 / BINS
    found.ask_tree(values[first:], epsilon, seed + 3, shares)
    return found.smoothed()


# -- figures ---------------------------------------------------------------------------------------------------------


def _setting(people: int, epsilon: float, runs: int) -> list[Row]:
    errors: Errors = {}
    covered: list[float] = []
    for place, (name, truth) in enumerate(columns().items()):
        for number in range(runs):
            seed = SEED + 100 * place + 10 * number
            values = np.random.default_rng(seed).choice(BINS, people, p=truth)
            tally = ask(values, "wave", epsilon, seed)
            ((asked, counts),) = list(tally)
            assert isinstance(asked.channel, SquareWave)
            published = findings.published(tally)["x",]
            low, high = published.interval(0.95)
            covered.append(float(((low <= truth) & (truth <= high)).mean()))
            flat = ask(values, "auto", epsilon, seed)
            found: dict[str, Callable[[], np.ndarray]] = {
                "published": lambda: published.values,  # noqa: B023
                "before": lambda: findings.published(tally, "consistent")["x",].values,  # noqa: B023
                "em": lambda: asked.channel.distribution(counts, method="em").frequencies,  # noqa: B023
                "ems": lambda: asked.channel.distribution(counts).frequencies,  # noqa: B023
                "flat": lambda: findings.published(flat)["x",].values,  # noqa: B023
                "flat before": lambda: findings.published(flat, "consistent")["x",].values,  # noqa: B023
                "tree": lambda: tree(values, epsilon, seed),  # noqa: B023
                "adaptive": lambda: adaptive(values, epsilon, seed),  # noqa: B023
            }
            for way, make in found.items():
                errors.setdefault(way, {}).setdefault(name, []).append(measure(make(), truth))
    return _rows(f"{people:,} respondents, epsilon {epsilon:g}", errors, covered)


def _rows(setting: str, errors: Errors, covered: list[float]) -> list[Row]:
    means = {way: {name: np.mean(each, axis=0) for name, each in found.items()} for way, found in errors.items()}
    total = {way: np.exp(np.mean(np.log(list(found.values())), axis=0)) for way, found in means.items()}
    rows = []
    for place, what in enumerate(MEASURES):
        listed = ", ".join(f"{way} {each[place]:.4f}" for way, each in total.items())
        by_column = "; published / tree / adaptive: " + ", ".join(
            f"{name} {' / '.join(f'{means[way][name][place]:.4f}' for way in ('published', 'tree', 'adaptive'))}"
            for name in means["published"]
        )
        for ours, peer, goal in (
            ("published", "before", "<= 0.6"),
            ("published", "em", "<= 1"),
            ("published", "ems", "<= 1"),
            ("published", "tree", "shown"),
            ("published", "adaptive", "shown"),
            ("flat", "flat before", "<= 1"),
        ):
            rows.append(
                Row(
                    bar=f"{what}, {ours}, {setting}",
                    ours=float(total[ours][place]),
                    peer=float(total[peer][place]),
                    peer_name=peer,
                    unit="geometric mean of errors",
                    goal=goal,
                    note=listed + by_column if peer == "tree" else "",
                )
            )
    bar = f"coverage of 95 % intervals, Square Wave as published, {setting}"
    return [*rows, Row(bar=bar, ours=float(np.mean(covered)), unit="of bins", goal=">= 0.94")]
