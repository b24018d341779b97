"""Numbers kept as numbers in synthetic rows (`numbers="fine"`), beside fixed public bins.

Three tables: generated columns (lognormal, heaped, bimodal, uniform, many zeros, hours; two levels follow them), on
which shares and factors were chosen; Adult and credit default, which were looked at for the report only. The method is
`quality`, the number of rows is public, neighbours are add-remove, budgets are pure or at delta 1e-9; means of three
seeds. As many synthetic rows as real ones.

    Kolmogorov   largest distance of the distribution functions, a mean over the numbers
    Wasserstein  mean distance of quantiles, in standard deviations of the real numbers, a mean over the numbers
    pairs        total variation over all pairs of columns, numbers in six cells: cut at the quantiles 0.1, 0.3, .. 0.9
                 of the real rows, where no arm has its bins
    eighths      the same in eight cells by quantiles, which are the bins of the last arm
    area         under the curve of boosting that predicts the last column, trained on synthetic rows, on real test rows

Beside it, the same method with eight bins of equal width, and with eight bins by quantiles of the real rows, which
count as public and are not; `uniform` draws numbers inside both.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pyarrow as pa

from bench.rows import Row
from bench.synthesize import ADD, DATA, DELTA, RAW, ROW, _read
from tacita.domain import Attribute, Categorical, Domain, Numeric
from tacita.domain.rebin import rebin
from tacita.engines.local import LocalEngine
from tacita.noise import SeededSource
from tacita.privacy.budget import Budget
from tacita.synthesize import Synthesize

SEEDS = 3
EPSILONS = (0.1, 1.0, 10.0)
ARMS = ("fine", "width", "quantiles")
_COARSE = 8


@dataclass(frozen=True, kw_only=True)
class Data:
    """Rows to fit, rows to test with, and the schema with eight bins of equal width."""

    domain: Domain
    train: pa.Table
    test: pa.Table

    @property
    def numbers(self) -> list[str]:
        """Names of the numbers with bins."""
        return [a.name for a in self.domain.attributes if isinstance(a, Numeric) and a.bins]

    def column(self, rows: pa.Table, name: str) -> np.ndarray:
        """Values as numbers: codes of levels."""
        if isinstance(self.domain[name], Numeric):
            return np.asarray(rows[name].to_numpy(zero_copy_only=False), float)
        return self.domain.encode(rows.combine_chunks(), [name])[name].astype(float)


def run(*, quick: bool) -> list[Row]:
    rows = _rows("generated", generated(0), quick)
    if not (DATA / "adult.data").is_file():
        return [*rows, Row(bar="tables", ours=float("nan"), unit="", note=f"no data in {DATA}: set TACITA_BENCH_DATA")]
    for name, load in (("adult", adult), ("credit", credit)):
        rows += _rows(name, load(), quick)
    return rows


def _rows(name: str, data: Data, quick: bool) -> list[Row]:
    rows = []
    real = area(data, data.train)
    for delta in (0.0, DELTA):
        for epsilon in EPSILONS[1:2] if quick else EPSILONS:
            budget = Budget(epsilon=epsilon, delta=delta)
            found = {arm: np.mean([score(data, arm, budget, seed) for seed in range(SEEDS)], axis=0) for arm in ARMS}
            print(name, budget, {arm: each.round(4).tolist() for arm, each in found.items()}, file=sys.stderr)
            at = f"{name}, {budget}"
            for place, (what, unit) in enumerate(MEASURES):
                fine, width, quantiles = (float(found[arm][place]) for arm in ARMS)
                note = f"eight bins of equal width {width:.4f}, by quantiles that count as public {quantiles:.4f}"
                if what == "area":
                    rows.append(Row(bar=f"{at}, {what}", ours=fine, unit=unit, note=f"{note}; real rows {real:.3f}"))
                    continue
                # private bins may cost what the share of the budget costs, where noise decides
                of_pairs = what in ("pairs", "eighths")
                goal = "shown" if what == "eighths" else "<= 1.15" if of_pairs else "<= 1"
                peer = quantiles if of_pairs else width
                beside = "eight bins by public quantiles" if of_pairs else "eight bins of equal width"
                rows.append(
                    Row(bar=f"{at}, {what}", ours=fine, peer=peer, peer_name=beside, unit=unit, goal=goal, note=note)
                )
    return rows


MEASURES = (
    ("Kolmogorov", "distance"),
    ("Wasserstein", "deviations"),
    ("pairs", "total variation"),
    ("eighths", "total variation"),
    ("area", "area"),
)
_CUTS = {"pairs": (0.1, 0.3, 0.5, 0.7, 0.9), "eighths": tuple(at / _COARSE for at in range(1, _COARSE))}


def score(data: Data, arm: str, budget: Budget, seed: int) -> tuple[float, ...]:
    """Distances of the numbers, error of pairs, and area, of rows made by one arm."""
    made = synthetic(data, arm, budget, seed)
    return (*distances(data, made), *(pairs(data, made, cuts) for cuts in _CUTS.values()), area(data, made))


def synthetic(data: Data, arm: str, budget: Budget, seed: int) -> pa.Table:
    """Rows of the method over the bins of an arm."""
    domain = data.domain
    if arm == "quantiles":
        domain = rebin(domain, {name: _quantiles(data, name, _CUTS["eighths"]) for name in data.numbers})
    recipe = Synthesize(people=data.train.num_rows, numbers="fine" if arm == "fine" else "binned")
    plan = recipe.calibrate(domain, budget, unit=ROW, neighbours=ADD)
    result = plan.run(LocalEngine(domain, data.train), SeededSource(seed))
    return result.sample(data.train.num_rows, np.random.default_rng(seed), policy="uniform")


def _quantiles(data: Data, name: str, cuts: tuple[float, ...]) -> list[float]:
    attribute = data.domain[name]
    assert isinstance(attribute, Numeric)
    inner = np.quantile(data.column(data.train, name), cuts)
    inner = np.floor(inner) + 1 if attribute.integer else inner  # a heavy least value is in a bin of its own
    low, high = attribute.bounds
    return [low, *(float(each) for each in np.unique(inner) if low < each < high)]


def distances(data: Data, made: pa.Table) -> tuple[float, float]:
    """Mean Kolmogorov and Wasserstein distance of the numbers."""
    from scipy.stats import ks_2samp, wasserstein_distance

    found = []
    for name in data.numbers:
        real, drawn = data.column(data.train, name), data.column(made, name)
        apart = wasserstein_distance(real, drawn) / real.std()
        found.append((ks_2samp(real, drawn, method="asymp").statistic, apart))
    first, second = np.mean(found, axis=0)
    return float(first), float(second)


def pairs(data: Data, made: pa.Table, cuts: tuple[float, ...]) -> float:
    """Total variation over all pairs of columns, numbers in coarse cells that are the same for all arms."""
    real, drawn = ([_coarse(data, rows, name, cuts) for name in data.domain.names] for rows in (data.train, made))
    found = []
    for one, other in combinations(range(len(real)), 2):
        keys = [each[one] * 1000 + each[other] for each in (real, drawn)]
        size = int(max(key.max() for key in keys)) + 1
        shares = [np.bincount(key, minlength=size) / len(key) for key in keys]
        found.append(np.abs(shares[0] - shares[1]).sum() / 2)
    return float(np.mean(found))


def _coarse(data: Data, rows: pa.Table, name: str, cuts: tuple[float, ...]) -> np.ndarray:
    values = data.column(rows, name)
    if name not in data.numbers:
        return values.astype(int) - int(min(0, data.column(data.train, name).min()))
    return np.searchsorted(_quantiles(data, name, cuts)[1:], values, side="right")


def area(data: Data, made: pa.Table) -> float:
    """Area under the curve of boosting trained on rows, on real test rows."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.metrics import roc_auc_score

    *names, target = data.domain.names
    (x, y), (others, wanted) = (
        (np.stack([data.column(rows, name) for name in names], axis=1), data.column(rows, target))
        for rows in (made, data.test)
    )
    if len(np.unique(y)) < 2:
        return 0.5
    model = HistGradientBoostingClassifier(random_state=0, max_iter=100).fit(x, y)
    return float(roc_auc_score(wanted, model.predict_proba(others)[:, 1]))


# -- tables -----------------------------------------------------------------------------------------------------------


def generated(seed: int, rows: int = 20_000) -> Data:
    """Columns of six shapes with a common factor, a group and an outcome that follow them."""
    rng = np.random.default_rng(seed)
    people = rows + rows // 2
    factor = rng.normal(size=people)

    def normal(load: float) -> np.ndarray:
        return load * factor + np.sqrt(1 - load**2) * rng.normal(size=people)

    group = rng.integers(0, 4, people)
    heaped = np.clip(np.rint(50 + 15 * normal(0.5)), 0, 99)
    heaped = np.where(rng.random(people) < 0.6, np.rint(heaped / 10) * 10, heaped).clip(0, 99)
    zeros = np.where(normal(0.7) < 1.0, 0, np.rint(np.exp(7 + 0.8 * normal(0.4)))).clip(0, 99_999)
    hours = np.where(rng.random(people) < 0.45, 40, np.clip(np.rint(40 + 12 * normal(0.3)), 1, 99))
    columns: dict[str, np.ndarray] = {
        "amount": np.exp(3 + 0.9 * normal(0.6)).clip(0, 5000),
        "heaped": heaped.astype(int),
        "bimodal": np.where(group < 2, 20, 60) + 6 * normal(0.2),
        "uniform": rng.uniform(0, 1, people),
        "zeros": zeros.astype(int),
        "hours": hours.astype(int),
        "group": np.array(list("abcd"))[group],
    }
    chance = 0.8 * factor + 0.5 * (zeros > 2000) + 0.03 * (hours - 40) + 0.6 * (group == 1)
    columns["outcome"] = np.array(["no", "yes"])[(chance + rng.logistic(size=people) > 0.5).astype(int)]
    bounds = {"amount": (0, 5000), "heaped": (0, 99), "bimodal": (-20, 120), "uniform": (0, 1)}
    bounds |= {"zeros": (0, 99_999), "hours": (1, 99)}
    whole = ("heaped", "zeros", "hours")
    attributes: list[Attribute] = [
        Numeric(name=name, bounds=ends, bins=_COARSE, integer=name in whole) for name, ends in bounds.items()
    ]
    attributes += [Categorical(name="group", levels=tuple("abcd")), Categorical(name="outcome", levels=("no", "yes"))]
    table = pa.table({name: pa.array(values) for name, values in columns.items()})
    return Data(domain=Domain(attributes=tuple(attributes)), train=table.slice(0, rows), test=table.slice(rows))


def adult() -> Data:
    """Adult: age, education, hours, capital gain and loss as numbers between round bounds."""
    bounds = {"age": (0, 99), "capital_gain": (0, 99_999), "capital_loss": (0, 9999), "hours": (1, 99)}
    names = [name for name in RAW if name not in ("fnlwgt", "education")]
    raw = [_read(DATA / file) for file in ("adult.data", "adult.test")]
    attributes: list[Attribute] = []
    for name in names:
        if name in bounds:
            attributes.append(Numeric(name=name, bounds=bounds[name], bins=_COARSE, integer=True))
        else:
            levels = tuple(sorted({row[name] for rows in raw for row in rows}))
            attributes.append(Categorical(name=name, levels=levels))
    made: list[pa.Table] = []
    for rows in raw:
        texts = {name: [row[name] for row in rows] for name in names}
        made.append(pa.table({n: np.array(t, float).astype(int) if n in bounds else t for n, t in texts.items()}))
    return Data(domain=Domain(attributes=tuple(attributes)), train=made[0], test=made[1])


def credit() -> Data:
    """Credit default: age and amounts as numbers between round bounds, all else as levels."""
    with open(DATA / "credit-default.csv", encoding="utf-8") as file:
        head, *body = list(csv.reader(file))
    values = np.array(body, float).astype(int)
    bounds: dict[str, tuple[int, int]] = {"LIMIT_BAL": (0, 1_000_000), "AGE": (18, 99)}
    bounds |= {f"BILL_AMT{at}": (-500_000, 2_000_000) for at in range(1, 7)}
    bounds |= {f"PAY_AMT{at}": (0, 2_000_000) for at in range(1, 7)}
    attributes: list[Attribute] = []
    columns: dict[str, Any] = {}
    for at, name in enumerate(head):
        if name in bounds:
            attributes.append(Numeric(name=name, bounds=bounds[name], bins=_COARSE, integer=True))
            columns[name] = values[:, at]
        else:
            levels = tuple(str(level) for level in np.unique(values[:, at]))
            attributes.append(Categorical(name=name, levels=levels))
            columns[name] = values[:, at].astype(str)
    table = pa.table(columns).take(np.random.default_rng(0).permutation(len(values)))
    return Data(domain=Domain(attributes=tuple(attributes)), train=table.slice(0, 20_000), test=table.slice(20_000))


TABLES: dict[str, Callable[[], Data]] = {"generated": lambda: generated(0), "adult": adult, "credit": credit}
