"""Cost of privacy as curves: error against epsilon, delta, rows, features, or the number of questions.

    epsilon, delta, n, dimension    methods of regression on synthetic rows, see `compare`; with the share of draws in
                                    which noisy moments had to be made convex
    queries                         one noisy density that is asked q times, against noise on each of q answers

On q answers of a density the budget is shared: each has a q-th of rho, so its noise grows with sqrt(q) (zCDP adds up);
the noise of a function does not grow. A replaced row moves one answer by at most one kernel, a function by sqrt(2).

All on synthetic rows: a curve spends no budget.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import pyarrow as pa

from tacita import check
from tacita.domain import Domain, Numeric
from tacita.engines.local import LocalEngine
from tacita.errors import InvalidInput
from tacita.figures import charts
from tacita.learn.compare import Compared, compare
from tacita.learn.feature_map import Task
from tacita.learn.functions.kernel import Kernel
from tacita.learn.functions.path import Path
from tacita.learn.functions.recipe import ReleaseFunction
from tacita.learn.regression.regression import MethodName
from tacita.noise import SeededSource
from tacita.privacy.budget import Budget
from tacita.privacy.unit import Neighbours, Unit

__all__ = ["Against", "Line", "TradeOff", "trade_off"]

Against = Literal["epsilon", "delta", "n", "dimension", "queries"]

_VALUES: dict[str, tuple[float, ...]] = {
    "epsilon": (0.1, 0.3, 1.0, 3.0, 10.0),
    "delta": (1e-9, 1e-7, 1e-5, 1e-3),
    "n": (1_000, 3_000, 10_000, 30_000),
    "dimension": (2, 4, 8, 16),
    "queries": (1, 10, 100, 1_000),
}
_METHODS: tuple[MethodName, ...] = ("auto", "functional", "sufficient", "objective", "output")
_DELTA = 1e-6  # of functions, which have no pure epsilon, where none is given
_MOST_QUERIES = 100_000
_BANDWIDTH = 0.05


@dataclass(frozen=True, kw_only=True)
class Line:
    """One way: its median error at each value, the 20th and 80th percentile, and how often noise had to be lifted."""

    label: str
    x: tuple[float, ...]
    middle: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    convexified: tuple[float | None, ...]


@dataclass(frozen=True, kw_only=True)
class TradeOff:
    """Errors along one axis, everything else fixed."""

    against: Against
    error: str
    fixed: str
    lines: tuple[Line, ...]

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        lines = [{name: getattr(line, name) for name in line.__dataclass_fields__} for line in self.lines]
        return {"against": self.against, "error": self.error, "fixed": self.fixed, "lines": lines}

    def pictures(self) -> tuple[tuple[str, str], ...]:
        """A title and an SVG for each line, beside the first; for few lines all together."""
        first = self.lines[0]
        pairs = [self.lines[:2]] if len(self.lines) <= 2 else [(first, other) for other in self.lines[1:]]
        most = 1.05 * max(max(line.high) for line in self.lines)
        return tuple((" and ".join(line.label for line in pair), self._picture(pair, most)) for pair in pairs)

    def _picture(self, lines: Sequence[Line], most: float) -> str:
        drawn = [
            charts.Curve(label=line.label, x=line.x, y=line.middle, low=line.low, high=line.high) for line in lines
        ]
        title = f"{self.error} against {self.against}"
        return charts.curves(drawn, across=self.against, up=self.error, title=title, logarithmic=True, most=most)


def trade_off(
    against: Against,
    values: Sequence[float] | None = None,
    *,
    epsilon: float = 1.0,
    delta: float = 0.0,
    rows: int = 10_000,
    features: int | None = None,
    methods: Iterable[MethodName] | None = None,
    task: Task | None = None,
    neighbours: Neighbours | None = None,
    draws: int = 10,
    seed: int = 0,
) -> TradeOff:
    """Compute how errors change along one axis.

    Args:
        against: Axis.
        values: Along it; usual ones by default.
        epsilon, delta, rows: Fixed values, except of the axis.
        features: The same; 8 by default.
        methods: Of regression; those that a setting does not allow have no point there.
        task: Kind of target; "linear" by default.
        neighbours: Notion of neighbours; add-remove by default. For questions to a density it is replace-one.
        draws: Of the noise, at each point.
        seed: Of the synthetic rows.
    """
    if against not in get_args(Against):
        raise InvalidInput("must be one of " + ", ".join(get_args(Against)), field="against", value=against)
    chosen = _VALUES[against] if values is None else tuple(values)
    if not chosen or len(set(chosen)) < len(chosen) or not all(math.isfinite(each) and each > 0 for each in chosen):
        raise InvalidInput("must be distinct numbers above 0, at least one", field="values", value=list(chosen))
    chosen = tuple(sorted(chosen))
    if against in ("n", "dimension", "queries") and not all(each == int(each) for each in chosen):
        raise InvalidInput("must be whole numbers", field="values", value=list(chosen))
    if against == "queries":
        for name, said in (("features", features), ("methods", methods), ("task", task)):
            if said is not None:
                raise InvalidInput("has no say in questions to a density", field=name)
        if neighbours not in (None, Neighbours.REPLACE_ONE):
            raise InvalidInput("questions are asked under replace-one", field="neighbours", value=str(neighbours))
        return _queries(chosen, Budget(epsilon=epsilon, delta=delta or _DELTA), rows, draws, seed)
    found: dict[str, list[tuple[float, Compared]]] = {}
    names = _METHODS if methods is None else tuple(methods)
    features, task = 8 if features is None else features, task or "linear"
    for value in chosen:
        given = {"epsilon": epsilon, "delta": delta, "n": rows, "dimension": features} | {against: value}
        for each in compare(
            rows=[int(given["n"])],
            features=[int(given["dimension"])],
            budgets=[Budget(epsilon=given["epsilon"], delta=given["delta"])],
            methods=names,
            task=task,
            neighbours=neighbours or Neighbours.ADD_REMOVE,
            draws=draws,
            seed=seed,
        ):
            found.setdefault(each.method, []).append((value, each))
    if not found:
        raise InvalidInput("none is allowed by these settings", field="methods", value=list(names))
    fixed = {"epsilon": f"epsilon {epsilon:g}", "delta": f"delta {delta:g}"}
    fixed |= {"n": f"{rows:,} rows", "dimension": f"{features} features"}
    return TradeOff(
        against=against,
        error="root mean squared error" if task == "linear" else "share wrong",
        fixed=", ".join(text for name, text in fixed.items() if name != against),
        lines=tuple(_line(method, points) for method, points in found.items()),
    )


def _line(method: str, points: list[tuple[float, Compared]]) -> Line:
    return Line(
        label=method,
        x=tuple(float(x) for x, _ in points),
        middle=tuple(each.middle for _, each in points),
        low=tuple(each.low for _, each in points),
        high=tuple(each.high for _, each in points),
        convexified=tuple(each.convexified for _, each in points),
    )


def _queries(values: Sequence[float], budget: Budget, rows: int, draws: int, seed: int) -> TradeOff:
    """Root mean squared noise of the answers of a density, both ways, under replace-one."""
    if max(values) > _MOST_QUERIES:
        raise InvalidInput(f"must be at most {_MOST_QUERIES:,}", field="values", value=max(values))
    check.whole(draws, "draws", least=1)
    rng = np.random.default_rng([seed, rows])
    domain = Domain(attributes=[Numeric(name="x", bounds=(0, 1), bins=8)])
    engine = LocalEngine(domain, pa.table({"x": np.clip(rng.normal(0.5, 0.15, rows), 0, 1)}))
    recipe = ReleaseFunction(kind="density", features=("x",), kernel=Kernel(bandwidth=_BANDWIDTH))
    plan = recipe.calibrate(domain, budget, unit=Unit.row(), neighbours=Neighbours.REPLACE_ONE)
    model = plan.fit(engine, SeededSource(seed))
    scale = float(model.about["scale"])
    errors: dict[str, list[list[float]]] = {"noise on the function": [], "noise on each answer": []}
    for count in map(int, values):
        ours, theirs = [], []
        for draw in range(draws):
            points = rng.random((count, 1))
            noise = Path(model.space.kernel, 1, 1).draw(points, SeededSource(draw)).noise
            off = (model.noisy(points, noise) - model.exact(points)) * scale
            ours.append(float(np.sqrt(np.mean(off**2))))
            alone = rng.normal(0, math.sqrt(count) * plan.multiplier * scale, count)
            theirs.append(float(np.sqrt(np.mean(alone**2))))
        for name, each in zip(errors, (ours, theirs), strict=True):
            errors[name].append(np.quantile(each, [0.2, 0.5, 0.8]).tolist())
    lines = [
        Line(
            label=name,
            x=tuple(float(value) for value in values),
            middle=tuple(each[1] for each in found),
            low=tuple(each[0] for each in found),
            high=tuple(each[2] for each in found),
            convexified=(None,) * len(values),
        )
        for name, found in errors.items()
    ]
    fixed = f"a density of {rows:,} rows, {budget}, replace-one"
    return TradeOff(against="queries", error="noise of an answer (RMSE)", fixed=fixed, lines=tuple(lines))
