"""Choose how tables are published: by the estimated error of each way, from the reports alone.

Three ways: `consistent` keeps all dependence and all of its noise, `singles` keeps none of either, `modelled` keeps
what a few latent classes explain, and of the rest what stands out. Which one is nearest to the truth depends on how
much was collected and on how dependent the attributes are.

Legend: y the measured tables, S their covariance (known from the channels), m(y) the tables of one way, W the weight of
a cell: 1 over the mean variance of its table. The expected squared distance to the truth, weighted by W, is up to a
constant that all ways share

    |y - m(y)|_W^2 + 2 f,    f = sum of W Cov(m(y), y)           [Mallows 1973; Efron 2004; Ye 1998]

where f, the generalised degrees of freedom, says how far m follows the noise of y. For fitted ways it is the effective
number of their parameters (`classes`, `rests`). For `consistent` it is estimated by making the tables again from
y + e z, with z drawn from S: f = E z'W (m(y + e z) - m(y)) / e. That is what cross-validation estimates too, with less
noise: reports need not be split, and for most channels single reports are not kept.

`modelled` averages one class, which is `singles`, with more of them by their scores, so that nothing is left to choose
between these two. `consistent` is taken only if it is better by three standard errors of the difference, one of them
being the root of 4 d'W S W d with d the difference of the tables: when it is taken wrongly the error may double; when
it is not taken, little is lost.

Privacy: post-processing of reports; nothing is spent.
Utility: measured by `bench/published.py`.   Claim page: docs/claims/collected-tables.md.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from tacita.collect.estimating.evidence import Evidence, Key
from tacita.collect.estimating.ordered import is_ordered
from tacita.collect.estimating.pooled import Pooling
from tacita.collect.estimating.prior import Prior
from tacita.collect.estimating.publish import FittedTables, fit_model, settle_small
from tacita.collect.estimating.rests import Describes
from tacita.errors import InvalidInput
from tacita.tables.cells import Cells
from tacita.tables.consistency import possible, settle

__all__ = ["Automatic", "Way", "choose_way", "choosing_seconds", "make_way"]

Array = NDArray[np.float64]
Tables = dict[Key, Cells]
Way = Literal["consistent", "singles", "modelled"]

_DRAWS = 6
_STEP = 0.7
"""Size of the perturbation, in standard errors of the measurements."""
_DOUBT = 3.0
"""Standard errors by which `consistent` must be better."""
_SLIGHT = 0.1
"""A table whose dependence is smaller than this share of its standard error is said to carry none."""
_MOST_CELLS = 20_000
"""Measured cells above which ways are not compared: each comparison fits all tables again."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Automatic:
    """The way that was chosen.

    Attributes:
        way: Its name.
        tables: The tables of the way, for every table that was asked.
        scores: Estimated error of each way, in units of the noise; differences matter, the smaller the better.
        classes: How many latent classes, where the tables were modelled.
        latent: The fitted model, where there is one.
        why: The reason in words.
        to_independence: Tables that carry no dependence any more, or a tenth of a standard error at most.
        smoothed: The effective parameters of each attribute that was smoothed along its order.
        prior: How far public tables were trusted, where a prior was given (`Weighed.as_dict`).
    """

    way: Way
    tables: Tables = field(repr=False)
    scores: Mapping[str, float]
    classes: int | None
    latent: Describes | None = field(repr=False)
    why: str
    to_independence: tuple[Key, ...]
    smoothed: Mapping[str, float] = field(default_factory=dict)
    prior: Mapping[str, Any] | None = None

    def as_dict(self) -> dict[str, Any]:
        """Plain data, for the provenance of what is published."""
        return {
            "way": self.way,
            "why": self.why,
            "scores": {way: round(score, 2) for way, score in self.scores.items()},
        }


def choose_way(evidence: Evidence, pooling: Pooling, *, seed: int = 0, prior: Prior | None = None) -> Automatic:
    """Make the tables in every way, estimate the error of each, and take the best.

    Args:
        evidence: What was measured.
        pooling: Its pooled tables.
        seed: Of the perturbations, which protect no one.
        prior: Public tables, of which `modelled` makes use.
    """
    made = _Ways(evidence, pooling, prior)
    if all(len(key) == 1 for key in evidence.values):
        if prior is not None:
            return made.publish("modelled", why="only single attributes were asked, and a prior was given")
        if any(is_ordered(evidence.domain, name) for (name,) in evidence.values):
            return made.publish("modelled", why="single attributes, smoothed where their levels have an order")
        return made.publish("consistent", why="only single attributes were asked")
    cells = sum(values.size for values in evidence.values.values())
    if cells > _MOST_CELLS:
        why = f"tables of more than {_MOST_CELLS:,} cells in all are not compared"
        return made.publish("modelled", why=why)
    spread = {key: evidence.covariance(key, pooling.tables[key]) for key in evidence.values}
    weights = {key: 1 / float(np.mean(covariance.variance())) for key, covariance in spread.items()}
    scores = _scores(made, weights, seed)
    one, other = made.tables("consistent"), made.tables("modelled")
    gaps = {key: weights[key] * (one[key].values - other[key].values).reshape(-1) for key in weights}
    noise = 2 * math.sqrt(sum(spread[key].of(gap) for key, gap in gaps.items()))
    way: Way = "consistent" if scores["consistent"] + _DOUBT * noise < scores["modelled"] else "modelled"
    listed = ", ".join(f"{name} {score:.1f}" for name, score in sorted(scores.items(), key=lambda item: item[1]))
    why = f"estimated error, in units of the noise: {listed}"
    if way == "modelled" and scores["consistent"] < scores[way]:
        why += f"; consistent tables are better by less than {_DOUBT:g} standard errors, so that they were not taken"
    return made.publish(way, scores=scores, why=why)


def make_way(evidence: Evidence, pooling: Pooling, way: Way, *, prior: Prior | None = None) -> Automatic:
    """Make the tables in a way that the caller chose."""
    if prior is not None and way != "modelled":
        raise InvalidInput("must be auto or modelled where a prior is given", field="published", value=way)
    return _Ways(evidence, pooling, prior).publish(way, why="chosen by the caller")


def choosing_seconds(cells: int, tables: int) -> float:
    """Estimate how many seconds `choose_way` computes; the order of magnitude, measured on one core."""
    once = 0.01 + 0.008 * tables + 0.001 * cells
    return once if cells > _MOST_CELLS else 4 * once


def _summed(tables: Tables, key: Key) -> Cells:
    """A table inside a larger one, from the smallest that holds it."""
    held = (table for other, table in tables.items() if set(key) < set(other))
    return min(held, key=lambda table: table.domain.size).project(key)


def _is_product(table: Cells, slight: float) -> bool:
    """Whether no cell of a table is further from the product of its single attributes than this."""
    product = np.ones(())
    for name in table.attributes:
        product = np.multiply.outer(product, table.project((name,)).values)
    return bool(np.abs(table.values - product).max() < slight)


class _Ways:
    """The tables of every way, made when they are asked for."""

    def __init__(self, evidence: Evidence, pooling: Pooling, prior: Prior | None = None) -> None:
        self.evidence, self.pooling, self.prior = evidence, pooling, prior
        self.variances = {key: float(np.mean(c.variance())) for key, c in pooling.covariances.items()}

    @cached_property
    def fitted(self) -> FittedTables:
        """The latent classes."""
        return fit_model(self.evidence, prior=self.prior)

    def tables(self, way: Way) -> Tables:
        """The tables of one way, before they are settled."""
        domain, values = self.evidence.domain, self.evidence.values
        match way:
            case "consistent":
                pooled = {key: Cells(domain.project(key), table) for key, table in self.pooling(values).items()}
                agreed = possible(pooled, self.variances)
                return agreed | {key: _summed(agreed, key) for key in self.evidence.inside}
            case "singles":
                return {key: self.fitted.one.project(key) for key in (*values, *self.evidence.inside)}
            case "modelled":
                return self.fitted.tables

    def publish(self, way: Way, *, why: str, scores: Mapping[str, float] | None = None) -> Automatic:
        """The tables of one way, settled."""
        found = self._settled(way)
        latent = {"consistent": None, "singles": self._one, "modelled": self._model}[way]
        widest = max(self.variances.values())
        slight = {key: _SLIGHT * math.sqrt(self.variances.get(key, widest)) for key in found}
        return Automatic(
            way=way,
            tables=found,
            scores=scores or {},
            classes=self.fitted.averaged.classes if way == "modelled" else None,
            latent=latent() if latent else None,
            why=why,
            to_independence=tuple(
                key for key, table in found.items() if len(key) > 1 and _is_product(table, slight[key])
            ),
            smoothed=self.fitted.smoothed if way != "consistent" else {},
            prior=self.fitted.weighed.as_dict() if way == "modelled" and self.fitted.weighed else None,
        )

    def _one(self) -> Describes:
        return self.fitted.one

    def _model(self) -> Describes:
        return self.fitted.latent

    def _settled(self, way: Way) -> Tables:
        found = self.tables(way)
        if way == "singles":
            return found
        if way == "modelled":
            return settle_small(found, self.variances)
        agreed = settle({key: found[key] for key in self.evidence.values}, self.variances)
        return agreed | {key: _summed(agreed, key) for key in self.evidence.inside}

    def moved(self, errors: Mapping[Key, Array]) -> _Ways:
        """The same from measurements with further errors."""
        values = {key: table + errors[key] for key, table in self.evidence.values.items()}
        return _Ways(self.evidence.with_values(values), self.pooling)


def _scores(made: _Ways, weights: Mapping[Key, float], seed: int) -> dict[str, float]:
    """|y - m(y)|_W^2 + 2 f of every way."""
    evidence, pooled, rng = made.evidence, made.pooling.tables, np.random.default_rng(seed)
    tables = {way: made.tables(way) for way in get_args(Way)}
    scores = {
        way: sum(weights[key] * float(np.sum((evidence.values[key] - found[key].values) ** 2)) for key in weights)
        for way, found in tables.items()
    }
    scores["singles"] += 2 * (made.fitted.one.parameters - made.fitted.saved)
    scores["modelled"] += 2 * made.fitted.parameters
    for _ in range(_DRAWS):
        errors = {key: evidence.error(key, rng, pooled[key]) for key in weights}
        again = made.moved({key: _STEP * error for key, error in errors.items()}).tables("consistent")
        for key, error in errors.items():
            followed = float(np.sum(error * (again[key].values - tables["consistent"][key].values)))
            scores["consistent"] += 2 * weights[key] * followed / (_STEP * _DRAWS)
    return scores
