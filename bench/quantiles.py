"""Intervals of quantiles: width and coverage, before and now; and groups that share strength.

Values lie on 0 to 100, in several distributions: filling the range, normal, skewed, heavy-tailed, in a hundredth of the
range, tied, at both ends, all at one end, two peaks, whole numbers. Budgets are pure. Runs are independent noise on the
same data, so coverage is of the quantile of these data. "Before" is the method that this replaced: a point by report
noisy max, and an interval by twelve noisy comparisons that halve the range, each with its own share of the budget.

Groups: 50, 500 and 5,000 groups of about 60 rows, whose sizes, means and shares differ by normal or heavy-tailed
effects (Student's t with 3 degrees of freedom). Coverage is the average over groups and runs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pyarrow as pa

from bench.rows import Row
from tacita.domain import Boolean, Categorical, Domain, Numeric
from tacita.engines.local import LocalEngine
from tacita.noise import SeededSource
from tacita.privacy.budget import Budget
from tacita.privacy.unit import Neighbours, Unit
from tacita.query import Aggregate, Aggregates
from tacita.query.quantile_tree import QuantileTree
from tacita.query.sql import compile_sql

DOMAIN = Domain(attributes=[Numeric(name="x", bounds=(0, 100), bins=10)])
POINTS, LEVEL = 4096, 0.95
QS = (0.1, 0.5, 0.9, 0.99)
SOURCES: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "uniform": lambda rng, n: rng.uniform(0, 100, n),
    "normal": lambda rng, n: rng.normal(50, 15, n),
    "skewed": lambda rng, n: rng.lognormal(2.5, 0.6, n),
    "heavy-tailed": lambda rng, n: rng.pareto(1.5, n),
    "narrow": lambda rng, n: rng.normal(30, 0.3, n),
    "tied": lambda rng, n: rng.choice([0.0, 10.0, 20.0, 50.0, 100.0], n),
    "both ends": lambda rng, n: np.where(rng.random(n) < 0.6, 100.0, 0.0),
    "one end": lambda rng, n: np.full(n, 100.0),
    # these two were not looked at while the constants of the method were chosen
    "two peaks": lambda rng, n: np.where(rng.random(n) < 0.7, rng.normal(20, 4, n), rng.normal(75, 8, n)),
    "whole numbers": lambda rng, n: np.rint(100 * rng.beta(2, 8, n)),
}


def run(*, quick: bool) -> list[Row]:
    runs = 200 if quick else 1000
    return [*_nine(runs), *_covered(runs, quick), *_points(runs), *_groups(quick)]


def values_of(name: str, n: int) -> np.ndarray:
    return np.clip(SOURCES[name](np.random.default_rng([n, 7]), n), 0, 100)


def quantile(values: np.ndarray, q: float) -> float:
    return float(np.sort(values)[max(math.ceil(Fraction(str(q)) * len(values)), 1) - 1])


def _tree(values: np.ndarray, qs: tuple[float, ...], epsilon: float, runs: int) -> dict[float, tuple[np.ndarray, ...]]:
    """Point and ends in every run, by quantile: runs are groups, whose noise is independent."""
    measure = QuantileTree(
        column="x", low=0, high=100, points=POINTS, qs=tuple(sorted(Fraction(str(q)) for q in qs)), level=LEVEL
    )
    law = measure.law("laplace", 1 / Fraction(str(epsilon)))
    exact = np.repeat(measure.sums(1, np.zeros(len(values), np.int64), values), runs, axis=0)
    released = measure.released(exact, law, SeededSource(3))
    columns = {q: measure.read(Fraction(str(q)), released, law, LEVEL) for q in qs}
    return {q: (column.value, column.low, column.high) for q, column in columns.items()}


def _before(values: np.ndarray, q: float, epsilon: float, runs: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The method before, with `epsilon` for the point and as much for the interval, in continuous noise."""
    rng, top = np.random.default_rng(5), max(q, 1 - q)
    places = np.rint(values / 100 * (POINTS - 1)).astype(np.int64)
    counts = np.bincount(places, minlength=POINTS)
    upto = np.cumsum(counts)
    sides = (1 - q) * (upto - counts) - q * (upto[-1] - upto)
    chosen = np.array([np.argmax(-np.abs(sides) + rng.exponential(2 * top / epsilon, POINTS)) for _ in range(runs)])
    rounds = math.ceil(math.log2(POINTS))
    scale = top * rounds / epsilon
    margin = scale * math.log(rounds / (1 - LEVEL))
    first, last = np.zeros(runs, np.int64), np.full(runs, POINTS - 1)
    least, most = first.copy(), last.copy()
    for _ in range(rounds):
        at = (first + last) // 2
        found = sides[at] + rng.laplace(0, scale, runs)
        most = np.where(found > margin, np.minimum(most, at), most)
        least = np.where(found < -margin, np.maximum(least, at), least)
        last, first = np.where(found >= 0, at, last), np.where(found < 0, np.minimum(at + 1, last), first)
    gap = 100 / (POINTS - 1)
    low, high = np.clip(gap * (least - 0.5), 0, 100), np.clip(gap * (most + 0.5), 0, 100)
    return np.clip(gap * chosen, low, high), low, high


def _nine(runs: int) -> list[Row]:
    """Nine statistics of one column; and nine that share no measure, of which one is a quantile."""
    kinds = [Aggregate(kind=kind, column="x") for kind in ("count", "sum", "mean", "var", "std")]
    qs = (0.1, 0.25, 0.5, 0.9)
    recipe = Aggregates(aggregates=[*kinds, *(Aggregate(kind="quantile", column="x", q=q) for q in qs)])
    plan = recipe.calibrate(DOMAIN, Budget.pure(5.0), unit=Unit.row(), neighbours=Neighbours.ADD_REMOVE)
    shares = len(plan.measures)  # equal shares, as the plan states
    rows = []
    for name in SOURCES:
        values = values_of(name, 300)
        truth = quantile(values, 0.9)
        before = _before(values, 0.9, 5 / 9, runs)  # one measure of moments, a point and an interval for each quantile
        for note, epsilon, asked in (("one column", 5 / shares, qs), ("nothing shared", 5 / 9, (0.9,))):
            value, low, high = _tree(values, asked, epsilon, runs)[0.9]
            inside = float(np.mean((low <= truth) & (truth <= high)))
            was = float(np.mean((before[1] <= truth) & (truth <= before[2])))
            text = (
                f"covers {inside:.3f}; point off by {np.mean(np.abs(value - truth)):.2f}; before: width "
                f"{np.median(before[2] - before[1]):.1f}, covers {was:.3f}, point off by "
                f"{np.mean(np.abs(before[0] - truth)):.2f}; {runs} runs"
            )
            bar = f"0.9-quantile, 300 rows, nine statistics ({note}), epsilon 5: {name}"
            rows.append(
                Row(bar=bar, ours=float(np.median(high - low)), unit="median width of 100", goal="<= 25", note=text)
            )
    return rows


def _covered(runs: int, quick: bool) -> list[Row]:
    """The lowest coverage over distributions and quantiles, and widths against those before."""
    rows = []
    for n in (300, 3000) if quick else (100, 300, 3000, 100_000):
        for epsilon in (0.1, 0.5, 5.0):
            lowest, where, ratios = 1.0, "", []
            for name in SOURCES:
                values = values_of(name, n)
                for q, (_, low, high) in _tree(values, QS, epsilon, runs).items():
                    truth = quantile(values, q)
                    inside = float(np.mean((low <= truth) & (truth <= high)))
                    if inside < lowest:
                        lowest, where = inside, f"{name}, {q:g}"
                    _, least, most = _before(values, q, epsilon / 8, 100)  # four points and four intervals shared it
                    ratios.append(float(np.median(high - low) / np.median(most - least)))
            note = f"of {len(ratios)} cases, {runs} runs each; lowest: {where}"
            bar = f"coverage of 95 % intervals, {n:,} rows, epsilon {epsilon:g} for four quantiles"
            rows.append(Row(bar=bar, ours=lowest, unit="lowest share", goal=">= 0.95", note=note))
            text = f"median over these cases; largest {max(ratios):.2f}"
            bar = f"width over width before, {n:,} rows, epsilon {epsilon:g}"
            rows.append(Row(bar=bar, ours=float(np.median(ratios)), unit="ratio", goal="<= 1.0", note=text))
    return rows


def _points(runs: int) -> list[Row]:
    """Error of the point where only one quantile is asked: before, half of the budget chose it."""
    rows = []
    for q in (0.5, 0.9):
        ratios = {}
        for name in ("uniform", "normal", "skewed"):
            values = values_of(name, 300)
            truth = quantile(values, q)
            value = _tree(values, (q,), 1.0, runs)[q][0]
            before = _before(values, q, 0.5, runs)[0]
            ratios[name] = float(np.mean(np.abs(value - truth)) / np.mean(np.abs(before - truth)))
        note = "mean absolute error over that before, 300 rows, epsilon 1: " + ", ".join(
            f"{name} {ratio:.2f}" for name, ratio in ratios.items()
        )
        rows.append(Row(bar=f"point of a {q:g}-quantile alone", ours=max(ratios.values()), unit="ratio", note=note))
    return rows


EFFECTS: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "normal": lambda rng, n: rng.normal(0, 1, n),
    "heavy-tailed": lambda rng, n: rng.standard_t(3, n) / math.sqrt(3),
}


def _groups(quick: bool) -> list[Row]:
    """Shrunk against unshrunk statistics of groups: mean squared error, coverage, width."""
    rows = []
    for effects, draw in EFFECTS.items():
        for groups, runs in ((50, 10), (500, 3)) if quick else ((50, 20), (500, 5), (5000, 1)):
            for epsilon in (0.05, 0.2):
                found = [_shrunk(draw, groups, epsilon, seed) for seed in range(runs)]
                for name in ("count", "mean", "share"):
                    error, inside, wide, least = (float(np.mean([each[name][at] for each in found])) for at in range(4))
                    bar = f"{name} of {groups:,} groups, {effects} effects, epsilon {epsilon:g}"
                    note = f"width {wide:.2f} of the unshrunk; unshrunk intervals hold {least:.3f}; {runs} runs"
                    rows.append(Row(bar=f"{bar}: squared error", ours=error, unit="ratio", goal="<= 1.0", note=note))
                    rows.append(Row(bar=f"{bar}: coverage", ours=inside, unit="average", goal=">= 0.93", note=note))
    return rows


def _shrunk(draw: Callable[[np.random.Generator, int], np.ndarray], groups: int, epsilon: float, seed: int) -> dict:
    """Of each statistic: mean squared error over the unshrunk one's, coverage, width over width, coverage before."""
    rng = np.random.default_rng([seed, groups])
    sizes = np.clip(np.rint(60 + 20 * draw(rng, groups)), 3, None).astype(int)
    of = np.repeat(np.arange(groups), sizes)
    paid = np.clip(rng.normal((50 + 6 * draw(rng, groups))[of], 10), 0, 100)
    card = rng.random(len(of)) < np.clip(0.3 + 0.08 * draw(rng, groups), 0, 1)[of]
    names = [f"g{at:04d}" for at in range(groups)]
    domain = Domain(
        attributes=[
            Categorical(name="g", levels=names),
            Numeric(name="paid", bounds=(0, 100), bins=4),
            Boolean(name="card"),
        ]
    )
    engine = LocalEngine(domain, pa.table({"g": [names[at] for at in of], "paid": paid, "card": card}))
    asked = {
        "count": ("COUNT(*)", sizes.astype(float)),
        "mean": ("AVG(paid)", np.bincount(of, paid, groups) / sizes),
        "share": ("COUNT(*) FILTER (WHERE card) / COUNT(*)", np.bincount(of, card, groups) / sizes),
    }
    found = {}
    for name, (text, truth) in asked.items():
        query = compile_sql(f"SELECT g, {text} AS v FROM t GROUP BY g", domain, shrink="overall")
        plan = query.calibrate(domain, Budget.pure(epsilon), unit=Unit.row(), neighbours=Neighbours.ADD_REMOVE)
        answer = plan.run(engine, SeededSource(seed))
        plain, shrunk = answer["v"], answer["v_shrunk"]
        known = np.isfinite(plain.value) & np.isfinite(plain.low) & np.isfinite(plain.high)
        errors = [np.mean((each.value - truth)[known] ** 2) for each in (shrunk, plain)]
        inside = [np.mean((each.low <= truth) & (truth <= each.high)) for each in (shrunk, plain)]
        wide = [np.mean((each.high - each.low)[known]) for each in (shrunk, plain)]
        found[name] = (errors[0] / errors[1], inside[0], wide[0] / wide[1], inside[1])
    return found
