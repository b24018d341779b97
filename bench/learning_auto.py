"""`auto` for two levels against the best of ten other methods and two peers, in area under the curve and accuracy.

The ten: every method of `Regression` but `auto` and the one that it mostly picks, a tree, eight trees, naive Bayes.
Peers, in an environment of their own: diffprivlib's logistic regression (objective perturbation, pure, replace-one) and
the private explainable boosting machine of interpret (Gaussian noise, with a delta), which learns bins from its budget.
The best is picked with hindsight, for each figure by itself: an oracle that no method can be. Figures are means over
seeds; a seed draws the split (80/20) and the noise. Networks are sampled once, 10,000 rows. `people` is the number of
training rows.

Data used while building: generated tables of 2,000 to 25,000 rows with numbers and levels that share hidden traits, and
odds that are lines, steps or crossed effects; target columns of `bench/generated.py`; and splits by other seeds of
Adult, wine and child. Credit, heart, alarm, asia and survey were not looked at, but a first rule had run here: what the
guide said of it, that trees were ahead on alarm and credit, was known when features chosen privately and nodes were
built. Nothing was changed after this bench had run with them.

The data lies in the folder TACITA_BENCH_DATA (default ../shared/data) and is no part of the project.
"""

from __future__ import annotations

import csv
import gzip
import json
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from scipy.stats import rankdata

from bench.learn import DATA, NUMBERS, WINE, adult
from bench.peers import run_peer
from bench.rows import Row
from tacita.domain import Categorical, Domain, Numeric
from tacita.engines.local import LocalEngine
from tacita.errors import InvalidInput
from tacita.learn import Regression, Trees
from tacita.learn.bayes import Bayes
from tacita.learn.feature_map import FeatureMap
from tacita.learn.regression.regression import METHODS
from tacita.models.bif import read_bif
from tacita.noise import SeededSource
from tacita.privacy.budget import Budget
from tacita.privacy.unit import Neighbours, Unit

ROW, ADD, DELTA = Unit.row(), Neighbours.ADD_REMOVE, 1e-9
EPSILONS = (0.1, 1.0, 10.0)
NETWORKS = (("child", "Sick"), ("child", "LVH"), ("alarm", "HYPOVOLEMIA"), ("asia", "dysp"), ("survey", "R"))
SAMPLED = 10_000
HEART = {"age": (20, 80), "trestbps": (80, 200), "chol": (100, 600), "thalach": (60, 210), "oldpeak": (0, 7)}
PACKAGES = ("diffprivlib==0.6.6", "interpret-core==0.6.13", "scikit-learn==1.7.2", "numpy==2.2.6", "scipy==1.15.3")
PACKAGES += ("pandas==2.2.3", "setuptools==75.8.0")
Scores = dict[str, list[tuple[float, float]]]


@dataclass(frozen=True)
class Task:
    """Rows, their schema and the target."""

    name: str
    rows: pa.Table
    domain: Domain
    target: str

    @property
    def features(self) -> tuple[str, ...]:
        """All attributes but the target."""
        return tuple(name for name in self.domain.names if name != self.target)

    def split(self, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """Rows to learn from and rows to judge by."""
        order = np.random.default_rng(seed).permutation(self.rows.num_rows)
        cut = len(order) * 4 // 5
        return order[:cut], order[cut:]


def run(*, quick: bool) -> list[Row]:
    if not (DATA / "adult.data").is_file():
        return [Row(bar="all tables", ours=float("nan"), unit="", note=f"no data in {DATA}")]
    seeds = range(2 if quick else 5)
    rows = []
    for task in _tasks(quick):
        theirs = _peers(task, seeds)
        for budget in [kind for each in EPSILONS for kind in (Budget.pure(each), Budget.approx(each, DELTA))]:
            rows += _compare(task, budget, seeds, theirs)
    return rows


# -- data -------------------------------------------------------------------------------------------------------------


def _tasks(quick: bool) -> Iterator[Task]:
    for name, target in NETWORKS[-2:] if quick else NETWORKS:
        yield _sampled(name, target)
    yield _heart()
    yield _wine()
    if not quick:
        yield _credit()
        yield _adult()


def _sampled(name: str, target: str) -> Task:
    with gzip.open(DATA / f"{name}.bif.gz", "rt", encoding="utf-8") as file:
        network = read_bif(file.read())
    codes = network.sample(SAMPLED, np.random.default_rng(99))
    columns = {each: np.array(network.domain[each].all_labels)[codes[each]] for each in network.domain.names}
    return Task(f"{name}, {target}", pa.table(columns), network.domain, target)


def _table(name: str, columns: dict[str, Any], bounds: dict[str, Any], bins: int, target: str) -> Task:
    attributes: list[Any] = []
    for each, values in columns.items():
        if each in bounds:
            columns[each] = [float(value) for value in values]
            attributes.append(Numeric(name=each, bounds=bounds[each], bins=bins))
        else:
            attributes.append(Categorical(name=each, levels=tuple(sorted(set(values)))))
    return Task(name, pa.table(columns), Domain(attributes=attributes), target)


def _heart() -> Task:
    names = ["age", "sex", "cp", "trestbps", "chol", "fbs", "restecg", "thalach", "exang", "oldpeak", "slope", "ca"]
    with (DATA / "heart-cleveland.data").open(encoding="utf-8") as file:
        read = [row for row in list(csv.reader(file))[1:] if "?" not in row]
    columns: dict[str, Any] = {name: [row[place] for row in read] for place, name in enumerate([*names, "thal"])}
    columns["ill"] = ["yes" if int(row[13]) > 0 else "no" for row in read]
    return _table("heart", columns, HEART, 8, "ill")


def _wine() -> Task:
    with (DATA / "winequality-white.csv").open(encoding="utf-8") as file:
        read = list(csv.DictReader(file, delimiter=";"))
    columns: dict[str, Any] = {name: [row[name] for row in read] for name in WINE}
    columns["good"] = ["yes" if int(row["quality"]) >= 6 else "no" for row in read]
    return _table("wine", columns, WINE, 8, "good")


def _credit() -> Task:
    with (DATA / "credit-default.csv").open(encoding="utf-8") as file:
        read = list(csv.DictReader(file))
    bounds = {"LIMIT_BAL": (0, 600_000), "AGE": (20, 80)} | {f"PAY_{i}": (-2, 8) for i in (0, 2, 3, 4, 5, 6)}
    for i in range(1, 7):
        bounds |= {f"BILL_AMT{i}": (-50_000, 500_000), f"PAY_AMT{i}": (0, 50_000)}
    return _table("credit", {name: [row[name] for row in read] for name in read[0]}, bounds, 16, [*read[0]][-1])


def _adult() -> Task:
    rows, domain = adult()
    numbers = {name: [float(value) for value in rows[name].to_pylist()] for name in NUMBERS}
    return Task("Adult", pa.table({n: numbers.get(n, rows[n]) for n in rows.column_names}), domain, "salary")


# -- ours -------------------------------------------------------------------------------------------------------------


def _recipes(task: Task, people: int) -> dict[str, Any]:
    about: dict[str, Any] = {"target": task.target, "features": task.features}
    lines = {
        name: Regression(task="logistic", method=name, people=people, **about)  # type: ignore[arg-type]
        for name in METHODS
        if name != "tilted"
    }
    return lines | {"tree": Trees(**about), "8 trees": Trees(trees=8, **about), "bayes": Bayes(**about)}


def score(chances: np.ndarray, yes: np.ndarray) -> tuple[float, float]:
    """Area under the curve and accuracy."""
    area = (rankdata(chances)[yes].sum() - yes.sum() * (yes.sum() + 1) / 2) / max(1, yes.sum() * (~yes).sum())
    return float(area), float(np.mean((chances > 0.5) == yes))


def _compare(task: Task, budget: Budget, seeds: range, theirs: dict[str, Any]) -> list[Row]:
    people = task.rows.num_rows * 4 // 5
    found: Scores = {}
    for name, recipe in _recipes(task, people).items():
        try:
            plan = recipe.calibrate(task.domain, budget, unit=ROW, neighbours=ADD)
        except InvalidInput:
            continue
        for seed in seeds:
            train, test = task.split(seed)
            model = plan.run(LocalEngine(task.domain, task.rows.take(train)), SeededSource(seed))
            held = task.rows.take(test)
            chances = model.probabilities(held)
            yes = np.array(held[task.target].to_pylist()) == task.domain[task.target].labels[1]
            found.setdefault(name, []).append(score(chances[:, 1] if chances.ndim == 2 else chances, yes))
        if name == "auto":
            why = plan.why
    kind = "ebm" if budget.delta else "diffprivlib"
    if str(budget.epsilon) in theirs.get(kind, {}):
        found[kind] = theirs[kind][str(budget.epsilon)]
    means = {name: np.mean(each, axis=0) for name, each in found.items()}
    listed = ", ".join(f"{name} {each[0]:.3f}/{each[1]:.3f}" for name, each in means.items())
    rows = []
    for place, (unit, goal) in enumerate((("AUC", ">= -0.002"), ("accuracy", ">= -0.005"))):
        best = max((name for name in means if name != "auto"), key=lambda name: means[name][place])
        rows.append(
            Row(
                bar=f"{task.name}, {budget}: auto less the best",
                ours=float(means["auto"][place] - means[best][place]),
                peer_name=f"auto {means['auto'][place]:.4f}, {best} {means[best][place]:.4f}",
                unit=unit,
                goal=goal,
                note=f"{task.name}, {budget}: {listed}; {why}",
            )
        )
    return rows


# -- peers ------------------------------------------------------------------------------------------------------------

SCRIPT = """
import json, sys, warnings
import numpy as np, pandas as pd
from sklearn.metrics import roc_auc_score
warnings.simplefilter("ignore")
asked = json.load(open(sys.argv[1]))
design, yes = np.array(asked["design"]), np.array(asked["yes"])
frame = pd.DataFrame(asked["frame"])
found = {"diffprivlib": {}, "ebm": {}}

def score(chances, truth):
    return [float(roc_auc_score(truth, chances)), float(np.mean((chances > 0.5) == truth))]

for epsilon in asked["epsilons"]:
    for seed, (train, test) in enumerate(asked["splits"]):
        try:
            from diffprivlib.models import LogisticRegression
            model = LogisticRegression(epsilon=epsilon, data_norm=1.0, max_iter=1000, random_state=seed)
            model.fit(design[train], yes[train])
            chances = model.predict_proba(design[test])[:, 1]
            found["diffprivlib"].setdefault(str(epsilon), []).append(score(chances, yes[test]))
        except Exception as error:
            found["no diffprivlib"] = repr(error)[:80]
        try:
            from interpret.privacy import DPExplainableBoostingClassifier
            model = DPExplainableBoostingClassifier(
                feature_types=asked["types"], epsilon=epsilon, delta=asked["delta"], random_state=seed,
                privacy_bounds=asked["bounds"],
            )
            model.fit(frame.iloc[train], yes[train])
            chances = model.predict_proba(frame.iloc[test])[:, 1]
            found["ebm"].setdefault(str(epsilon), []).append(score(chances, yes[test]))
        except Exception as error:
            found["no ebm"] = repr(error)[:80]
print(json.dumps(found))
"""


def _peers(task: Task, seeds: range) -> dict[str, Any]:
    """Scores of both peers for each epsilon, seed by seed; what did not run is left out."""
    design = FeatureMap(domain=task.domain, features=task.features, target=task.target, task="logistic")
    points = design.points(task.rows)
    numbers = {name: task.domain[name] for name in task.features if isinstance(task.domain[name], Numeric)}
    asked = {
        "design": (points.x / np.sqrt(design.blocks)).tolist(),
        "yes": (points.y > 0).tolist(),
        "frame": {name: task.rows[name].to_pylist() for name in task.features},
        "types": ["continuous" if name in numbers else "nominal" for name in task.features],
        "bounds": {name: list(each.bounds) for name, each in numbers.items()},  # type: ignore[union-attr]
        "epsilons": list(EPSILONS),
        "delta": DELTA,
        "splits": [[part.tolist() for part in task.split(seed)] for seed in seeds],
    }
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "asked.json"
        path.write_text(json.dumps(asked), encoding="utf-8")
        found = run_peer("learning-auto", PACKAGES, SCRIPT, [str(path)])
    if isinstance(found, str):
        print(f"peers did not run on {task.name}: {found}")
        return {}
    for name in ("no diffprivlib", "no ebm"):
        if name in found:
            print(f"{task.name}: {name}: {found[name]}")
    return found
