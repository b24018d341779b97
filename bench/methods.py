"""How often another method beats `auto`, over many made-up tables that no rule was chosen on.

Each table has its own number of rows (2,000 to 50,000) and of columns (3 to 17), its own kinds of columns, bounds that
fit them well or badly, one or two hidden traits that columns share, and a target that follows some of them. Epsilon is
drawn too (0.1 to 4, log-uniform), with and without a delta of 1e-5. A table's figure is the median error of `auto` over
that of the best method, on the same seven draws of noise. DP-SGD is run as its steps without torch (`descend`).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from bench.rows import Row
from tacita.domain import Domain, Numeric
from tacita.errors import InvalidInput
from tacita.learn.feature_map import Points
from tacita.learn.regression.auto import choose
from tacita.learn.regression.methods.dpsgd import check_allowed, descend
from tacita.learn.regression.methods.functional import FromMoments
from tacita.learn.regression.problem import Coefficients, Method, Problem
from tacita.learn.regression.regression import METHODS, Regression
from tacita.noise import SeededSource
from tacita.privacy.budget import Budget
from tacita.privacy.unit import Neighbours, Unit

DELTA, DRAWS = 1e-5, 7
ROW, ADD = Unit.row(), Neighbours.ADD_REMOVE


def run(*, quick: bool) -> list[Row]:
    tables = 30 if quick else 400
    rows = []
    for name, delta in (("pure", 0.0), (f"delta {DELTA:g}", DELTA)):
        found = [_one(number, delta) for number in range(tables)]
        behind = np.array([auto / min(each.values()) for auto, each in found])
        winners = [min(each, key=lambda method: each[method]) for auto, each in found]
        lost = [winner for winner, figure in zip(winners, behind, strict=True) if figure > 1.05]
        by = ", ".join(f"{method} {lost.count(method)}" for method in sorted(set(lost)))
        rows += [
            Row(
                bar=f"{name}: tables where some method is better by 5 %", ours=len(lost) / tables, unit="share", note=by
            ),
            Row(
                bar=f"{name}: auto over the best, 95th percentile", ours=float(np.quantile(behind, 0.95)), unit="ratio"
            ),
        ]
        if not delta:
            plain = np.array([auto / each["functional, Laplace noise"] for auto, each in found])
            bar = "pure: auto over the functional mechanism with Laplace noise"
            rows.append(Row(bar=f"{bar}, geometric mean", ours=float(np.exp(np.log(plain).mean())), unit="ratio"))
            rows.append(Row(bar=f"{bar}, worst", ours=float(plain.max()), unit="ratio"))
    return rows


def _one(number: int, delta: float) -> tuple[float, dict[str, float]]:
    """The error of `auto`, and that of every method."""
    rng = np.random.default_rng([number, 77])
    points = _table(rng)
    epsilon = round(float(np.exp(rng.uniform(math.log(0.1), math.log(4)))), 3)
    budget = Budget.approx(epsilon, delta) if delta else Budget.pure(epsilon)
    setting = _setting(points, budget)
    errors = {}
    for method in METHODS:
        if method not in ("auto", "dpsgd"):
            try:
                plan = _planned(setting, method)
            except InvalidInput:
                continue
            errors[method] = _median([plan.fit([points], SeededSource(draw)) for draw in range(DRAWS)], points)
    try:
        check_allowed(setting)
        steps = [descend(setting, points, 1, np.random.default_rng([number, draw])) for draw in range(DRAWS)]
        errors["dpsgd"] = _median(steps, points)
    except InvalidInput:
        pass
    if not delta:
        laplace = FromMoments.plan(setting, "laplace")
        each = [laplace.fit([points], SeededSource(draw)) for draw in range(DRAWS)]
        errors["functional, Laplace noise"] = _median(each, points)
    return errors[choose(setting)[0].as_dict()["method"]], errors


def _planned(setting: Problem, method: Any) -> Method:
    design = setting.design
    recipe = Regression(target="y", features=design.features, method=method, people=setting.people)
    return recipe.calibrate(design.domain, setting.budget, unit=ROW, neighbours=ADD).method


def _setting(points: Points, budget: Budget) -> Problem:
    names = tuple(f"x{place}" for place in range(points.x.shape[1]))
    domain = Domain(attributes=[Numeric(name=name, bounds=(-1, 1), bins=2) for name in (*names, "y")])
    recipe = Regression(target="y", features=names, method="functional", people=len(points))
    return recipe.calibrate(domain, budget, unit=ROW, neighbours=ADD).setting


def _median(found: list[Coefficients], points: Points) -> float:
    told = [np.clip(points.x @ each.coefficients + each.intercept, -1, 1) for each in found]
    return float(np.median([np.sqrt(np.mean((each - points.y) ** 2)) for each in told]))


def _table(rng: np.random.Generator) -> Points:
    rows, columns = int(np.exp(rng.uniform(math.log(2000), math.log(50_000)))), int(rng.integers(3, 18))
    traits = rng.normal(size=(rows, int(rng.integers(1, 3))))
    strength = rng.uniform(0, 1)
    parts, told = [], np.zeros(rows)
    for _ in range(columns):
        line = strength * traits @ rng.normal(size=traits.shape[1]) + rng.normal(size=rows)
        kind = rng.integers(5)
        if kind == 0:
            value = np.where(line > rng.normal(), 1.0, -1.0)
        elif kind == 1:
            value = np.clip(np.round(line + rng.normal()), -2, 2) / 2
        elif kind == 2:
            value = rng.uniform(0.1, 0.6) * line + rng.uniform(-0.3, 0.3)
        elif kind == 3:
            value = rng.uniform(0.1, 0.4) * np.exp(0.5 * line) - 1
        else:
            value = 2 / (1 + np.exp(-2 * line)) - 1
        value = np.clip(value, -1, 1)
        parts.append(value)
        told += rng.normal() * (rng.random() < 0.7) * (value - value.mean()) / max(value.std(), 1e-9)
    share = rng.uniform(0.3, 0.95)
    told = told / max(float(told.std()), 1e-9)
    y = rng.uniform(-0.4, 0.4) + rng.uniform(0.1, 0.5) * (
        share * told + math.sqrt(1 - share**2) * rng.normal(size=rows)
    )
    return Points(x=np.column_stack(parts), y=np.clip(y, -1, 1), outside=0)
