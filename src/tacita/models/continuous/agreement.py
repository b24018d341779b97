"""Agreement of networks with the Granger links of many series, and a ranking with intervals.

For a series, each ordered pair of attributes is one decision: b, whether the network has the link, and g, whether the
series shows it, which is taken as the truth:

    TP  b = 1, g = 1     FP  b = 1, g = 0     FN  b = 0, g = 1     TN  b = 0, g = 0
    sensitivity TP / (TP + FN)    specificity TN / (TN + FP)    average recall: their mean    accuracy (TP + TN) / all

A network that had as many links at random would have a sensitivity of its density and a specificity of 1 - density on
average: `chance`. Intervals are percentiles of a bootstrap over series; the same resampled series judge all networks.

Privacy: none; figures from exact series are as sensitive as they are.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacita import check
from tacita.errors import InvalidInput

__all__ = ["FIGURES", "Agreement", "adjacency", "agreement", "rank"]

FIGURES = ("sensitivity", "specificity", "average_recall", "accuracy")
Matrix = NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True)
class Agreement:
    """Agreement of one network with many series.

    Attributes:
        mean, std: Of each of `FIGURES` over the series in which it is defined.
        low, high: Ends of the bootstrap interval of each mean.
        chance: Sensitivity and specificity of as many links at random.
        first: Share of bootstrap samples in which the network has the largest average recall of all.
    """

    network: str
    series: int
    mean: Mapping[str, float]
    std: Mapping[str, float]
    low: Mapping[str, float]
    high: Mapping[str, float]
    chance: tuple[float, float]
    first: float

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "network": self.network,
            "series": self.series,
            "mean": dict(self.mean),
            "std": dict(self.std),
            "low": dict(self.low),
            "high": dict(self.high),
            "chance": list(self.chance),
            "first": self.first,
        }


def adjacency(names: Sequence[str], parents: Mapping[str, Sequence[str]]) -> Matrix:
    """Return the matrix of links of a network: whether the row's attribute is a parent of the other."""
    missing = [name for name in names if name not in parents]
    if missing or len(parents) != len(names):
        raise InvalidInput("must have the columns of the series", field="network", value=missing or sorted(parents))
    return np.array([[above in parents[name] for name in names] for above in names])


def agreement(network: Matrix, series: Sequence[Matrix]) -> NDArray[np.float64]:
    """Return sensitivity, specificity, average recall and accuracy for each series; NaN where one is undefined."""
    off = ~np.eye(len(network), dtype=bool)
    b = network[off]
    g = np.array([each[off] for each in series])
    hits, rejected = (b & g).sum(axis=1), (~b & ~g).sum(axis=1)
    shown, absent = g.sum(axis=1), (~g).sum(axis=1)
    sensitivity = np.divide(hits, shown, out=np.full(len(g), math.nan), where=shown > 0)
    specificity = np.divide(rejected, absent, out=np.full(len(g), math.nan), where=absent > 0)
    accuracy = (hits + rejected) / b.size
    return np.stack([sensitivity, specificity, (sensitivity + specificity) / 2, accuracy], axis=1)


def rank(
    networks: Mapping[str, Matrix],
    series: Sequence[Matrix],
    rng: np.random.Generator,
    *,
    samples: int = 2000,
    level: float = 0.95,
) -> list[Agreement]:
    """Return the networks by average recall, the best first.

    Args:
        networks: Matrix of links of each.
        series: Matrix of links of each series.
        rng: Draws series for the bootstrap.
        samples: Bootstrap samples.
        level: Of the intervals.
    """
    check.whole(samples, "samples", least=100, most=1_000_000)
    check.inside(level, "level", 0, 1)
    if not networks or len(series) < 2:
        raise InvalidInput("must be at least one network and two series", field="series", value=len(series))
    figures = {name: agreement(matrix, series) for name, matrix in networks.items()}
    drawn = rng.integers(len(series), size=(samples, len(series)))
    means = {name: _means(each, drawn) for name, each in figures.items()}
    recall = np.stack([each[:, 2] for each in means.values()])
    winners = np.nanargmax(recall, axis=0)
    found = []
    for place, (name, each) in enumerate(figures.items()):
        ends = np.nanquantile(means[name], [(1 - level) / 2, (1 + level) / 2], axis=0)
        density = float(networks[name][~np.eye(len(networks[name]), dtype=bool)].mean())
        found.append(
            Agreement(
                network=name,
                series=len(series),
                mean=_named(np.nanmean(each, axis=0)),
                std=_named(np.nanstd(each, axis=0, ddof=1)),
                low=_named(ends[0]),
                high=_named(ends[1]),
                chance=(density, 1 - density),
                first=float((winners == place).mean()),
            )
        )
    return sorted(found, key=lambda one: -one.mean["average_recall"])


def _means(figures: NDArray[np.float64], drawn: NDArray[np.int64]) -> NDArray[np.float64]:
    """Means over the series of each bootstrap sample, without those in which a figure is undefined."""
    known = ~np.isnan(figures)
    weights = np.zeros((len(drawn), len(figures)))
    np.add.at(weights, (np.arange(len(drawn))[:, None], drawn), 1.0)
    return np.asarray(weights @ np.where(known, figures, 0.0) / np.maximum(weights @ known, 1))


def _named(values: Any) -> dict[str, float]:
    return dict(zip(FIGURES, np.asarray(values).tolist(), strict=True))
