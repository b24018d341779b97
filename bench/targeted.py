"""Synthetic rows for one target beside those for many uses, at the same budget, scored by classifiers of the target.

Logistic regression and boosting are trained on as many synthetic rows as there are training rows and score fresh real
rows: area under the curve, for several levels the mean over them by their share. A mean of three seeds. Delta is 1e-9
or 0, the number of rows is public, neighbours are add-remove.

The method was made on generated tables of 8, 14 and 24 columns and 3,000 to 40,000 rows (random networks and hidden
classes), and on Adult, where it was first tried. Credit default, Child, Alarm, Asia and Survey were not looked at.

The data lies in the folder TACITA_BENCH_DATA and is no part of the project.
"""

from __future__ import annotations

import time
import warnings

import numpy as np

from bench.frontier import Coded, _credit, _keys, _network, _variation
from bench.rows import Row
from bench.synthesize import ADD, DATA, DELTA, ROW, adult, engine_of
from tacita.noise import SeededSource
from tacita.privacy.budget import Budget
from tacita.synthesize import Synthesize

EPSILONS = (0.1, 1.0, 10.0)
NETWORKS = (
    ("child", 11, 20_000),
    ("child", 19, 20_000),
    ("alarm", 14, 20_000),
    ("asia", 7, 20_000),
    ("survey", 5, 10_000),
)
"""Network, place of the target, rows."""


def run(*, quick: bool) -> list[Row]:
    if not (DATA / "adult.data").is_file():
        return [Row(bar="tables", ours=float("nan"), unit="", note=f"no data in {DATA}: set TACITA_BENCH_DATA")]
    rows = []
    for name, place, train, fresh, sizes in _tasks(quick):
        rows += _compare(name, place, train, fresh, sizes, quick=quick)
    return rows


def _tasks(quick: bool) -> list[tuple[str, int, np.ndarray, np.ndarray, list[int]]]:
    tasks = []
    if not quick:
        train, test, sizes = adult()
        tasks.append(("adult", len(sizes) - 1, train, test, list(sizes)))
        tasks.append(_cut("credit", -1, _credit(), 22_500))
    for name, place, rows in NETWORKS[3:] if quick else NETWORKS:
        tasks.append(_cut(f"{name}, column {place}", place, _network(name, rows + 10_000), rows))
    return tasks


def _cut(name: str, place: int, table: Coded, rows: int) -> tuple[str, int, np.ndarray, np.ndarray, list[int]]:
    codes, sizes = table
    order = np.random.default_rng(0).permutation(len(codes))
    return name, place % len(sizes), codes[order[:rows]], codes[order[rows:]], sizes


def _compare(
    name: str, place: int, train: np.ndarray, fresh: np.ndarray, sizes: list[int], *, quick: bool
) -> list[Row]:
    names = [f"c{at}" for at in range(len(sizes))]
    engine, pairs = engine_of(train, sizes, names), _keys(len(sizes))[0]
    real = areas(train, fresh, sizes, place)
    rows = []
    for delta in (DELTA, 0.0):
        for epsilon in EPSILONS[:2] if quick else EPSILONS:
            budget = Budget.approx(epsilon, delta) if delta else Budget.pure(epsilon)
            found: dict[str, list[tuple[float, float, float, float]]] = {"target": [], "many uses": []}
            for seed in range(200, 201 if quick else 203):
                for kind, recipe in (
                    ("target", Synthesize(people=len(train), target=names[place])),
                    ("many uses", Synthesize(people=len(train))),
                ):
                    start = time.process_time()
                    plan = recipe.calibrate(engine.domain, budget, unit=ROW, neighbours=ADD)
                    drawn = plan.run(engine, SeededSource(seed)).sample(len(train), np.random.default_rng(seed))
                    seconds = time.process_time() - start
                    codes = np.stack([np.asarray(drawn.column(each)).astype(int) for each in names], axis=1)
                    found[kind].append(
                        (*areas(codes, fresh, sizes, place), _variation(train, codes, pairs, sizes), seconds)
                    )
            ours, other = (np.mean(found[kind], axis=0) for kind in ("target", "many uses"))
            setting = f"{name}, epsilon {epsilon:g}, {'delta 1e-9' if delta else 'pure'}"
            note = (
                f"real {real[0]:.3f}/{real[1]:.3f}; pairs off by {ours[2]:.3f} against {other[2]:.3f}; "
                f"CPU s {ours[3]:.1f} against {other[3]:.1f}"
            )
            rows += [
                Row(
                    bar=f"{setting}: {what}",
                    ours=float(ours[at]),
                    peer=float(other[at]),
                    peer_name="quality without target",
                    unit="AUC",
                    goal=">= 0.995",
                    note=note,
                )
                for at, what in enumerate(("logistic", "boosting"))
            ]
    return rows


def areas(train: np.ndarray, fresh: np.ndarray, sizes: list[int], place: int) -> tuple[float, float]:
    """Area under the curve of logistic regression and of boosting, one level against the rest."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import roc_auc_score
    from sklearn.preprocessing import OneHotEncoder

    rest = [at for at in range(len(sizes)) if at != place]
    if len(np.unique(train[:, place])) < 2:
        return 0.5, 0.5
    encoder = OneHotEncoder(categories=[np.arange(sizes[at]) for at in rest]).fit(train[:, rest])
    found = []
    for model, encode in (
        (LogisticRegression(max_iter=300), encoder.transform),
        (HistGradientBoostingClassifier(random_state=0), np.asarray),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a fit that has not converged is scored as it is
            model.fit(encode(train[:, rest]), train[:, place])
        chances = model.predict_proba(encode(fresh[:, rest]))
        weights, each = [], []
        for at, level in enumerate(model.classes_):
            holds = fresh[:, place] == level
            if 0 < holds.sum() < len(holds):
                weights.append(holds.sum())
                each.append(roc_auc_score(holds, chances[:, at]))
        found.append(float(np.average(each, weights=weights)))
    return found[0], found[1]
