"""Fit a mixture of products to measured tables of one or two attributes.

Weighted least squares: with y the measured shares and v their variances, minimise

    loss = mean over cells of (model - y)^2 / v

over weights and tables written as softmax, by Adam [Kingma, Ba 2015] from near the product of the single attributes.
The truth itself has a loss of 1. Three ways to use the one descent:

    fit_mixture          as few components as reach a loss near 1, stopped there, several fits averaged
    fit_latent_classes   few components, down to the minimum, the best of some starts          much noise
    fit_near             from a model of similar data, stopped near a loss of 1               much noise

Enough components can follow any table, so a closer fit would fit noise: the stop is what keeps it out. The fewer there
are, the more strength tables share, and the less noise a fit takes with it on its way. Their number is doubled until a
trial fit reaches the noise. Latent classes may be fitted to the end, and their misfit says how many are needed
(Akaike's rule).

Privacy: post-processing of released tables or reports.   Claim: docs/claims/marginal-synthesis.md
Utility: descent starts from independence, so dependence that noise hides is not modelled. A pair that was not measured
follows from the others, which is weak: measure all pairs if there are not too many.
Cost: a step costs the number of components times the measured cells. Tables that share an attribute and are neighbours
in the domain are one product of matrices.   Measured by `bench/mixture.py`.
"""

from __future__ import annotations

import math
from collections.abc import Container, Sequence
from dataclasses import dataclass
from itertools import cycle, groupby, islice

import numpy as np
from numpy.typing import NDArray

from tacita.common.progress import step as note_step
from tacita.domain import Domain
from tacita.errors import InvalidInput
from tacita.models.measurement import Measurement, singles_of
from tacita.models.mixture import Mixture

__all__ = ["COMPONENTS", "FITS", "STEPS", "Fitted", "fit_latent_classes", "fit_mixture", "fit_near"]

Array = NDArray[np.float32]
Key = tuple[int, ...]
_Merged = dict[Key, tuple[NDArray[np.float64], NDArray[np.float64]]]

COMPONENTS, FITS, STEPS = 320, 3, 1200
"""Most components, fits with so many, and steps of a fit; less work is done where the noise is reached earlier."""

_OVER = 0.1  # most of the noise that a fit may take with it
_LEAST_GAIN = 2e-3  # relative fall of the loss in `_LOOK` steps, below which descent stops
_LOOK = 50
_SPREADS = (0.5, 0.25, 0.1)  # of the starts: near ones share strength between components, far ones follow trees
_FEWEST = 10  # components
_NEAR = 1.04  # times the loss that is aimed at, below which a trial fit has enough components
_TRIAL = 400  # steps of a trial fit
_MOST_FITS = 12
_RATE = 0.1
_RATE_NEAR = 0.05  # from a model that was fitted before
_SPREAD = 0.5  # standard deviation of the logarithms at the start
_FIRST, _SECOND = 0.9, 0.999
_LEAST = 1e-6  # probability that a fit which begins at another model gives to what that model rules out


@dataclass(frozen=True, kw_only=True, eq=False)
class Fitted:
    """A fitted model.

    Attributes:
        model: The mixture.
        loss: Mean over the measured cells of the squared error in units of the noise: the truth has about 1.
        cells: Number of measured cells.
        steps: Number of steps of descent.
        hidden: Whether no dependence could be distinguished from noise: then the model is the product of single
            attributes.
        components: Number of components of each fit that was averaged.
    """

    model: Mixture
    loss: float
    cells: int
    steps: int
    hidden: bool = False
    components: int = 1

    @property
    def misfit(self) -> float:
        """Half the sum of squared errors in units of the noise: minus the logarithm of the likelihood."""
        return self.loss * self.cells / 2


def fit_mixture(
    domain: Domain,
    measurements: Sequence[Measurement],
    rng: np.random.Generator,
    *,
    components: int = COMPONENTS,
    fits: int = FITS,
    steps: int = STEPS,
    fewest: int = _FEWEST,
) -> Fitted:
    """Fit as few components as reach the noise until what is left is noise, and average several fits.

    Args:
        domain: The attributes.
        measurements: Tables over one or two attributes.
        rng: For the starts; they need no secrecy.
        components: Most of a fit.
        fits: Number of fits to average if so many components are needed, which evens out what one invented by chance.
            Of half as many components there are twice as many fits, up to 12.
        steps: Most steps of a fit.
        fewest: Components that a fit has at least: those that similar measurements needed.
    """
    objective = _Objective(domain, measurements)
    start = _Point.of(_product(domain, measurements))
    alone, *_ = objective(*objective.normalize(start))
    if alone <= 1 + 2 * math.sqrt(3.5 / objective.cells):  # squared noise: variance 2 (Gaussian) to 5 (Laplace)
        product = _product(domain, measurements)
        return Fitted(model=product, loss=alone, cells=objective.cells, steps=0, hidden=True)
    enough = _enough(alone)
    note_step("fitting a mixture")
    needed = _needed(objective, start, rng, components, steps, enough, fewest)
    found = [
        objective.descend(start.spread(needed, rng, apart), steps=steps, enough=enough)
        for apart in islice(cycle(_SPREADS), min(_MOST_FITS, fits * (components // needed)))
    ]
    return Fitted(
        model=Mixture.average([one.model for one in found]),
        loss=float(np.mean([one.loss for one in found])),
        cells=objective.cells,
        steps=sum(one.steps for one in found),
        components=needed,
    )


def fit_latent_classes(
    domain: Domain,
    measurements: Sequence[Measurement],
    *,
    classes: int,
    seed: int = 0,
    starts: int = 2,
    steps: int = 400,
    near: Mixture | None = None,
) -> Fitted:
    """Fit few components to the minimum; the best of some starts, reweighted once.

    Args:
        domain: The attributes; those that no measurement holds are left out of the model.
        measurements: Tables over one or two attributes.
        classes: Number of components.
        seed: Of the starts: the same measurements give the same model.
        starts: How often to begin anew.
        steps: Most steps of a descent.
        near: A model that was fitted to similar measurements: the fit begins there, once.
    """
    if classes < 1 or not measurements:
        raise InvalidInput("must be at least 1, with at least one measurement", field="classes", value=classes)
    used = domain.project([name for name in domain.names if any(name in each.attributes for each in measurements)])
    if near is None:
        objective, rng = _Objective(used, measurements), np.random.default_rng(seed)
        start = _Point.of(_product(used, measurements))
        tries = [objective.descend(start.spread(classes, rng), steps=steps) for _ in range(starts)]
        near = min(tries, key=lambda found: found.loss).model
    objective = _Objective(used, [each.reweighted(near.project(each.attributes).values) for each in measurements])
    return objective.descend(_Point.of(near), steps=steps, rate=_RATE_NEAR)


def fit_near(near: Mixture, measurements: Sequence[Measurement], *, steps: int = 400) -> Fitted:
    """Move a model towards measured tables until what is left is noise; it is returned as it is if that is so already.

    Args:
        near: A model of similar data; descent begins there.
        measurements: Tables over one or two attributes of the model.
        steps: Most steps of descent.
    """
    objective = _Objective(near.domain, measurements)
    alone, *_ = objective(*objective.normalize(_Point.of(_product(near.domain, measurements))))
    return objective.descend(_Point.of(near), steps=steps, rate=_RATE_NEAR, enough=_enough(alone))


def _needed(
    objective: _Objective,
    start: _Point,
    rng: np.random.Generator,
    components: int,
    steps: int,
    enough: float,
    fewest: int,
) -> int:
    """The smallest number of components whose trial fit comes near the noise; the most are halved to find it."""
    halved = [components >> times for times in range(components.bit_length()) if components >> times >= fewest]
    for count in sorted(halved)[:-1]:
        trial = objective.descend(start.spread(count, rng, _SPREADS[1]), steps=min(steps, _TRIAL), enough=enough)
        if trial.loss <= _NEAR * enough:
            return count
    return components


def _enough(alone: float) -> float:
    """Loss at which a fit of many components ends: 1, less what a fit takes with it where there is much to fit.

    Judged on one table (Adult) only: at 1 strong dependence is fitted too little, at 0.9 weak dependence too much.

    Args:
        alone: Loss of the product of single attributes.
    """
    return 1 - _OVER * max(0.0, 1 - 1 / alone)


def _product(domain: Domain, measurements: Sequence[Measurement]) -> Mixture:
    """The product of single attributes."""
    tables = {name: shares[None] for name, shares in singles_of(domain, measurements).items()}
    return Mixture(domain=domain, weights=np.ones(1), tables=tables)


@dataclass(frozen=True, eq=False)
class _Point:
    """Logarithms of a mixture, which descent moves: a row for each level of each attribute, a column a component."""

    weights: Array
    tables: Array

    @classmethod
    def of(cls, model: Mixture) -> _Point:
        """The point of a model; what it rules out gets a small probability, so that descent can bring it back."""
        tables = np.concatenate([model.tables[name].T for name in model.domain.names])
        return cls(_logarithm(model.weights), _logarithm(tables))

    def spread(self, components: int, rng: np.random.Generator, apart: float = _SPREAD) -> _Point:
        """Components with equal weights near a product, which differ at random."""
        moves = rng.normal(0, apart, (components, len(self.tables))).T
        return _Point(np.zeros(components, np.float32), (self.tables + moves).astype(np.float32))


def _logarithm(shares: NDArray[np.float64]) -> Array:
    return np.log(np.maximum(shares, _LEAST)).astype(np.float32)


@dataclass(frozen=True, eq=False)
class _Strip:
    """Measured tables of one attribute with others that are neighbours in the domain, side by side."""

    rows: slice
    columns: slice
    values: Array
    weights: Array


class _Adam:
    """Parameters, and the moving averages of their slopes and squared slopes."""

    def __init__(self, parameters: Array) -> None:
        self._parameters, self._step = parameters, 0
        self._mean, self._square = np.zeros_like(parameters), np.zeros_like(parameters)

    def move(self, slope: Array, rate: float) -> None:
        """One step."""
        self._step += 1
        self._mean += (1 - _FIRST) * (slope - self._mean)
        self._square += (1 - _SECOND) * (slope**2 - self._square)
        spread = np.sqrt(self._square / (1 - _SECOND**self._step)) + 1e-12
        self._parameters -= rate / (1 - _FIRST**self._step) * self._mean / spread


class _Objective:
    """The loss of a mixture, its slopes, and the descent. Single precision: weights are relative to the largest."""

    def __init__(self, domain: Domain, measurements: Sequence[Measurement]) -> None:
        self.domain = domain
        count, ends = len(domain.shape), np.cumsum(domain.shape)
        self.blocks = [slice(int(end) - size, int(end)) for end, size in zip(ends, domain.shape, strict=True)]
        self._owner = np.repeat(np.arange(count), domain.shape)
        self._starts = np.array([block.start for block in self.blocks])
        self.cells = sum(each.values.size for each in measurements)
        self._unit = min(float(np.min(each.variance)) for each in measurements)
        merged, self._apart = _merge(domain, measurements, self._unit)
        self._ones, self._one_weights = np.zeros((2, int(ends[-1])), np.float32)
        for key, (values, weights) in merged.items():
            if len(key) == 1:
                self._ones[self.blocks[key[0]]], self._one_weights[self.blocks[key[0]]] = values, weights
        self._strips = [self._strip(merged, run) for run in _runs(count, merged)]

    def _strip(self, merged: _Merged, run: Sequence[Key]) -> _Strip:
        values, weights = (np.hstack([merged[key][part] for key in run]).astype(np.float32) for part in (0, 1))
        columns = slice(self.blocks[run[0][1]].start, self.blocks[run[-1][1]].stop)
        return _Strip(self.blocks[run[0][0]], columns, values, weights)

    def normalize(self, point: _Point) -> tuple[Array, Array]:
        """The weights and tables of a point, whose logarithms are shifted so that they stay within range."""
        weights, tables = np.exp(point.weights), np.exp(point.tables)
        total, totals = weights.sum(), self._add_levels(tables)
        point.weights[:] -= np.log(total)
        point.tables[:] -= np.log(totals).take(self._owner, axis=0)
        weights /= total
        tables /= totals.take(self._owner, axis=0)
        return weights, tables

    def _add_levels(self, tables: Array) -> Array:
        """Sum over the levels of each attribute."""
        return np.add.reduceat(tables, self._starts, axis=0)

    @np.errstate(divide="ignore", over="ignore", invalid="ignore")  # BLAS may set flags on finite products
    def __call__(self, weights: Array, tables: Array) -> tuple[float, Array, Array]:
        """The loss, and its slopes by the logarithms of weights and tables, up to a common factor."""
        weighted = weights * tables
        off = weighted.sum(axis=1) - self._ones
        slope = off * self._one_weights
        total = self._apart + float(np.vdot(slope, off))
        by_weight = slope @ tables
        pull = np.repeat(slope[:, None], len(weights), axis=1)
        for strip in self._strips:
            rows, columns = tables[strip.rows], tables[strip.columns]
            off = weighted[strip.rows] @ columns.T
            off -= strip.values
            slope = off * strip.weights
            total += float(np.vdot(slope, off))
            across = slope @ columns
            by_weight += np.einsum("sk,sk->k", across, rows)
            pull[strip.rows] += across
            pull[strip.columns] += slope.T @ rows
        by_weight *= weights
        pull *= weighted
        pull -= tables * self._add_levels(pull).take(self._owner, axis=0)
        return total / (self._unit * self.cells), by_weight - weights * by_weight.sum(), pull

    def descend(self, start: _Point, *, steps: int, rate: float = _RATE, enough: float = -math.inf) -> Fitted:
        """One descent from one start, until the loss is small enough or hardly falls."""
        moving = [_Adam(start.weights), _Adam(start.tables)]
        best, before = math.inf, math.inf
        found = self.normalize(start)
        for step in range(1, steps + 1):
            now = self.normalize(start)
            loss, *slopes = self(*now)
            if loss < best:
                best, found = loss, now
            if loss <= enough:
                break
            if step % _LOOK == 0:
                if best > before * (1 - _LEAST_GAIN):
                    break
                before = best
            for each, slope in zip(moving, slopes, strict=True):
                each.move(slope, rate * (1 - step / (steps + 1)))
        return Fitted(model=self.mixture(*found), loss=best, cells=self.cells, steps=step)

    def mixture(self, weights: Array, tables: Array) -> Mixture:
        """The model of some weights and tables, in double precision."""
        shares = weights.astype(float)
        parts = {
            name: tables[block].T.astype(float) for name, block in zip(self.domain.names, self.blocks, strict=True)
        }
        return Mixture(
            domain=self.domain,
            weights=shares / shares.sum(),
            tables={name: part / part.sum(axis=1, keepdims=True) for name, part in parts.items()},
        )


def _merge(domain: Domain, measurements: Sequence[Measurement], unit: float) -> tuple[_Merged, float]:
    """One table and its weights for each set of attributes, in the order of the domain; and a constant of the loss.

    Several tables of one set are averaged by precision. This has the slopes of their sum, and its loss up to the
    squared distances between them, which no model changes.
    """
    places = {name: place for place, name in enumerate(domain.names)}
    merged: _Merged = {}
    apart = 0.0
    for each in measurements:
        if not 1 <= len(each.attributes) <= 2:
            raise InvalidInput("must be over one or two attributes", field="measurements", value=each.attributes)
        key = tuple(places[name] for name in each.attributes)
        values, weights = each.values, unit / np.broadcast_to(each.variance, each.values.shape)
        if key[0] > key[-1]:
            key, values, weights = key[::-1], values.T, weights.T
        if key in merged:
            other, others = merged[key]
            both = weights + others
            apart += float((weights * others / both * (values - other) ** 2).sum())
            values, weights = (weights * values + others * other) / both, both
        merged[key] = (values, weights)
    return merged, apart


def _runs(count: int, keys: Container[Key]) -> list[list[Key]]:
    """Pairs with one first attribute whose second ones are neighbours."""
    runs: list[list[Key]] = []
    for row in range(count):
        for held, group in groupby(((row, other) for other in range(row + 1, count)), key=lambda pair: pair in keys):
            if held:
                runs.append(list(group))
    return runs
