"""The models of the learning study with their grids, and anonymized rows as numbers that they can learn from.

A number that became an interval is its middle. A category that became a set is a label of its own, and labels are
numbered by name: arbitrary, as in the study that this repeats, and said so.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Mapping
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sklearn.decomposition import PCA
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from tacita.domain import Domain, Numeric

__all__ = ["MODELS", "Grid", "as_numbers", "build", "grid_of"]

Grid = Literal["small", "full"]
MODELS = ("tree", "svm", "knn", "network")
_RANGE = re.compile(r"^(-?[\d.]+(?:e[+-]?\d+)?)\.\.(-?[\d.]+(?:e[+-]?\d+)?)$", re.IGNORECASE)

# values that can change a prediction; min_samples_split below twice the leaf, gamma of a linear kernel and the tree
# that neighbours are looked up in cannot
_FULL: dict[str, dict[str, dict[str, list[Any]]]] = {
    "tree": {
        "adult": {"pca": [8, 10, 12, 14], "depth": [9, 10, 11, 12, 13, 14], "leaf": [15, 20, 25, 30, 35, 40, 45, 50]},
        "credit": {"pca": [14, 16, 18, 20, 22], "depth": [8, 10, 12, 13, 14], "leaf": [40, 45, 50, 55, 60, 65]},
        "diabetes": {"pca": [10, 12, 15, 17, 19], "depth": [6, 8, 10, 12, 14], "leaf": [100, 120, 140, 160]},
    },
    "svm": {
        "adult": {"pca": [10, 12, 14], "C": [0.6, 1, 3, 6, 10], "gamma": [0.01, 0.03, 0.06, 0.1, 0.3, 0.6, 1]},
        "credit": {"pca": [14, 16, 18, 20, 22], "C": [0.05, 0.1, 0.3, 0.6, 1], "gamma": [0.005, 0.01, 0.03, 0.06, 0.1]},
        "diabetes": {"pca": [13, 15], "C": [5, 10], "gamma": [0.1, 1]},
    },
    "knn": {
        "adult": {"pca": [8, 10, 12, 14], "neighbours": list(range(21, 42, 2))},
        "credit": {"pca": [14, 16, 18, 20, 22], "neighbours": list(range(21, 42, 2))},
        "diabetes": {"pca": [10, 12, 15, 17, 19], "neighbours": list(range(25, 38, 2))},
    },
    "network": {
        name: {"epochs": [50, 75, 100], "rate": rates, "batch": [64, 128, 256]}
        for name, rates in (
            ("adult", [0.01, 0.005, 0.001]),
            ("credit", [0.005, 0.001, 0.0005]),
            ("diabetes", [0.005, 0.001, 0.0005]),
        )
    },
}
_ALSO: dict[str, dict[str, list[Any]]] = {
    "tree": {"criterion": ["gini", "entropy"]},
    "svm": {"kernel": ["linear", "rbf"]},
    "knn": {"weights": ["distance", "uniform"], "p": [1, 2]},
    "network": {},
}


def grid_of(model: str, dataset: str, grid: Grid) -> list[dict[str, Any]]:
    """All configurations that are tried; the small grid takes the ends and the middle of the first two lists."""
    lists = _FULL[model][dataset] | _ALSO[model]
    if grid == "small":
        lists = {name: _few(values, 2 if place < 2 else 1) for place, (name, values) in enumerate(lists.items())}
    found = [dict(zip(lists, values, strict=True)) for values in itertools.product(*lists.values())]
    unused = [{**each, "gamma": None} if each.get("kernel") == "linear" else each for each in found]
    return [dict(each) for each in dict.fromkeys(tuple(each.items()) for each in unused)]


def _few(values: list[Any], count: int) -> list[Any]:
    return [values[len(values) // 2]] if count == 1 else [values[0], values[-1]]


def build(model: str, features: int, settings: Mapping[str, Any], seed: int) -> Pipeline:
    """Scaling, projection and the model. Without scaling one column with large numbers would be the only component."""
    steps: list[tuple[str, Any]] = [("scale", StandardScaler())]
    if "pca" in settings:
        steps.append(("pca", PCA(n_components=min(int(settings["pca"]), features), random_state=seed)))
    match model:
        case "tree":
            made: Any = DecisionTreeClassifier(
                max_depth=settings["depth"],
                min_samples_leaf=settings["leaf"],
                criterion=settings["criterion"],
                random_state=seed,
            )
        case "svm":
            gamma = settings["gamma"] or "scale"
            made = SVC(C=settings["C"], kernel=settings["kernel"], gamma=gamma, random_state=seed)
        case "knn":
            made = KNeighborsClassifier(settings["neighbours"], weights=settings["weights"], p=settings["p"])
        case _:
            made = MLPClassifier(
                (256, 64, 16),
                learning_rate_init=settings["rate"],
                batch_size=settings["batch"],
                max_iter=settings["epochs"],
                early_stopping=True,
                random_state=seed,
            )
    return Pipeline([*steps, ("model", made)])


def as_numbers(rows: pa.Table, domain: Domain, features: Iterable[str]) -> NDArray[np.float64]:
    """One column of numbers for each attribute, whether its values are raw or generalised."""
    columns = []
    for name in features:
        texts = [str(value) for value in rows.column(name).to_pylist()]
        if isinstance(domain[name], Numeric):
            columns.append(np.array([_middle(text) for text in texts]))
        else:
            numbers = {text: number for number, text in enumerate(sorted(set(texts)))}
            columns.append(np.array([numbers[text] for text in texts], dtype=float))
    found = np.stack(columns, axis=1)
    middle = np.nanmean(found, axis=0)
    return np.where(np.isnan(found), middle, found)


def _middle(text: str) -> float:
    match = _RANGE.match(text)
    if match:
        return (float(match[1]) + float(match[2])) / 2
    try:
        return float(text)
    except ValueError:
        return float("nan")
