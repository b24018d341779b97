"""Choose how tables are published: by the estimated error of each way, from the reports alone.

Three ways: `consistent` keeps all dependence and all of its noise, `singles` keeps none of either, `modelled` keeps
what a few latent classes and the largest directions explain. Which one is nearest to the truth depends on how much was
collected and on how dependent the attributes are.

Legend: y the measured tables, S their covariance (known from the channels), m(y) the tables of one way, W the weight of
a cell: 1 over the mean variance of its table. The expected squared distance to the truth, weighted by W, is up to a
constant that all ways share

    |y - m(y)|_W^2 + 2 f,    f = sum of W Cov(m(y), y)           [Mallows 1973; Efron 2004; Ye 1998]

where f, the generalised degrees of freedom, says how far m follows the noise of y. It is estimated by making m again
from y + e z, with z drawn from S: f = E z'W (m(y + e z) - m(y)) / e. That is what cross-validation estimates too, with
less noise: reports need not be split, and for most channels single reports are not kept.

`singles` and `modelled` are averaged with weights exp(-score / 8) [Leung, Barron 2006; Dalalyan, Salmon 2012: for
affine estimates and a temperature of at least 8 the average is about as good as the best of them]. Where their scores
are close the choice of one would be a matter of chance, and the average is nearer to the truth than either.

`consistent` is taken only if it is better than both by three standard errors of the difference, one of them being the
root of 4 d'W S W d with d the difference of the tables: when it is taken wrongly the error may double; when it is not
taken, little is lost.

Privacy: post-processing of reports; nothing is spent.
Utility: measured by `bench/published.py`.   Claim page: docs/claims/collected-tables.md.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from tacita.collect.estimating.evidence import Evidence, Key
from tacita.collect.estimating.pooled import Pooling
from tacita.collect.estimating.publish import FittedTables, fit_model
from tacita.models.mixture import Mixture
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
_TEMPERATURE = 8.0
"""Of the weights, in units of the noise."""
_SMALL = 0.01
"""A smaller weight is none."""
_MOST_CELLS = 20_000
"""Measured cells above which ways are not compared: each comparison fits all tables again."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Automatic:
    """The way that was chosen.

    Attributes:
        way: Its name, or "averaged".
        shares: The weight of each way in the tables.
        tables: The tables of the way, for every table that was asked.
        scores: Estimated error of each way, in units of the noise; differences matter, the smaller the better.
        classes: How many latent classes, where the tables were modelled.
        latent: The fitted model, where there is one.
        why: The reason in words.
        to_independence: Tables that carry no dependence any more.
    """

    way: Way | Literal["averaged"]
    shares: Mapping[Way, float]
    tables: Tables = field(repr=False)
    scores: Mapping[str, float]
    classes: int | None
    latent: Mixture | None = field(repr=False)
    why: str
    to_independence: tuple[Key, ...]

    def as_dict(self) -> dict[str, Any]:
        """Plain data, for the provenance of what is published."""
        return {
            "way": self.way,
            "why": self.why,
            "shares": {way: round(share, 3) for way, share in self.shares.items()},
            "scores": {way: round(score, 2) for way, score in self.scores.items()},
        }


def choose_way(evidence: Evidence, pooling: Pooling, *, seed: int = 0) -> Automatic:
    """Make the tables in every way, estimate the error of each, and take or average the best.

    Args:
        evidence: What was measured.
        pooling: Its pooled tables.
        seed: Of the perturbations, which protect no one.
    """
    made = _Ways(evidence, pooling)
    if all(len(key) == 1 for key in evidence.values):
        return made.publish({"consistent": 1.0}, why="only single attributes were asked")
    cells = sum(values.size for values in evidence.values.values())
    if cells > _MOST_CELLS:
        why = f"tables of more than {_MOST_CELLS:,} cells in all are not compared"
        return made.publish({"modelled": 1.0}, why=why)
    spread = {key: evidence.covariance(key, pooling.tables[key]) for key in evidence.values}
    weights = {key: 1 / float(np.mean(covariance.variance())) for key, covariance in spread.items()}
    scores = _scores(made, weights, seed)
    shares = _shares(scores["singles"], scores["modelled"])
    way = max(shares, key=lambda name: shares[name])
    one, other = made.tables("consistent"), made.tables(way)
    gaps = {key: weights[key] * (one[key].values - other[key].values).reshape(-1) for key in weights}
    noise = 2 * math.sqrt(sum(spread[key].of(gap) for key, gap in gaps.items()))
    if scores["consistent"] + _DOUBT * noise < scores[way]:
        shares = {"consistent": 1.0}
    listed = ", ".join(f"{name} {score:.1f}" for name, score in sorted(scores.items(), key=lambda item: item[1]))
    why = f"estimated error, in units of the noise: {listed}"
    if "consistent" not in shares and scores["consistent"] < scores[way]:
        why += f"; consistent tables are better by less than {_DOUBT:g} standard errors, so that they were not taken"
    return made.publish(shares, scores=scores, why=why)


def _shares(singles: float, modelled: float) -> dict[Way, float]:
    """Exponential weights; one way alone where the other's weight is small."""
    share = float(expit((singles - modelled) / _TEMPERATURE))
    if share < _SMALL:
        return {"singles": 1.0}
    if share > 1 - _SMALL:
        return {"modelled": 1.0}
    return {"singles": 1 - share, "modelled": share}


def make_way(evidence: Evidence, pooling: Pooling, way: Way) -> Automatic:
    """Make the tables in a way that the caller chose."""
    return _Ways(evidence, pooling).publish({way: 1.0}, why="chosen by the caller")


def choosing_seconds(cells: int, tables: int) -> float:
    """Estimate how many seconds `choose_way` computes; the order of magnitude, measured on one core."""
    once = 0.01 + 0.008 * tables + 0.001 * cells
    return once if cells > _MOST_CELLS else 4 * once


def _is_product(table: Cells) -> bool:
    """Whether a table is the product of its single attributes, up to rounding."""
    product = np.ones(())
    for name in table.attributes:
        product = np.multiply.outer(product, table.project((name,)).values)
    return bool(np.abs(table.values - product).max() < 1e-6)


class _Ways:
    """The tables of every way, made when they are asked for."""

    def __init__(self, evidence: Evidence, pooling: Pooling, near: Sequence[Mixture] = ()) -> None:
        self.evidence, self.pooling, self._near = evidence, pooling, near
        self.variances = {key: float(np.mean(c.variance())) for key, c in pooling.covariances.items()}

    @cached_property
    def fitted(self) -> FittedTables:
        """The latent classes."""
        return fit_model(self.evidence, near=self._near)

    def tables(self, way: Way) -> Tables:
        """The tables of one way, before they are settled."""
        domain, values = self.evidence.domain, self.evidence.values
        match way:
            case "consistent":
                pooled = {key: Cells(domain.project(key), table) for key, table in self.pooling(values).items()}
                return possible(pooled, self.variances)
            case "singles":
                return {key: self.fitted.one.project(key) for key in values}
            case "modelled":
                return self.fitted.tables

    def publish(self, shares: Mapping[Way, float], *, why: str, scores: Mapping[str, float] | None = None) -> Automatic:
        """The average of some ways, settled."""
        way: Way | Literal["averaged"] = next(iter(shares)) if len(shares) == 1 else "averaged"
        parts = [(share, self.tables(each)) for each, share in shares.items()]
        found = {
            key: Cells(table.domain, np.asarray(sum(share * tables[key].values for share, tables in parts)))
            for key, table in parts[0][1].items()
        }
        return Automatic(
            way=way,
            shares=dict(shares),
            tables=found if way == "singles" else settle(found, self.variances),
            scores=scores or {},
            classes=self.fitted.best.model.components if "modelled" in shares else None,
            latent=self._latent(shares),
            why=why,
            to_independence=tuple(key for key, table in found.items() if len(key) > 1 and _is_product(table)),
        )

    def _latent(self, shares: Mapping[Way, float]) -> Mixture | None:
        if "consistent" in shares:
            return None
        if len(shares) == 2:
            both = (self.fitted.one, self.fitted.best.model)
            return Mixture.average(both, [shares["singles"], shares["modelled"]])
        return self.fitted.one if "singles" in shares else self.fitted.best.model

    def moved(self, errors: Mapping[Key, Array]) -> _Ways:
        """The same from measurements with further errors; fits begin at one class and around the best number."""
        values = {key: table + errors[key] for key, table in self.evidence.values.items()}
        fits = self.fitted.fits
        best = fits.index(self.fitted.best)
        near = [fit.model for fit in (fits[0], *fits[max(1, best - 1) : best + 2])]
        return _Ways(self.evidence.with_values(values), self.pooling, near)


def _scores(made: _Ways, weights: Mapping[Key, float], seed: int) -> dict[str, float]:
    """|y - m(y)|_W^2 + 2 f of every way."""
    evidence, pooled, rng = made.evidence, made.pooling.tables, np.random.default_rng(seed)
    tables = {way: made.tables(way) for way in get_args(Way)}
    scores = {
        way: sum(weights[key] * float(np.sum((evidence.values[key] - found[key].values) ** 2)) for key in weights)
        for way, found in tables.items()
    }
    for _ in range(_DRAWS):
        errors = {key: evidence.error(key, rng, pooled[key]) for key in weights}
        again = made.moved({key: _STEP * error for key, error in errors.items()})
        for way, found in tables.items():
            for key, table in again.tables(way).items():
                followed = float(np.sum(errors[key] * (table.values - found[key].values)))
                scores[way] += 2 * weights[key] * followed / (_STEP * _DRAWS)
    return scores
