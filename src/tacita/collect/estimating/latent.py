"""A latent-class model of noisy tables: P(x) = sum_z w_z prod_i theta_i(x_i | z).

Pair tables of people are nearly of low rank: a few latent classes explain most of the dependence between attributes.
The model states this, is never negative, and is one distribution, so that all of its tables agree and a table of any
order can be computed. Fitted by weighted least squares to all noisy tables at once, it borrows strength between them.
The residual of the few classes is added back, table by table, where it exceeds the noise (`shrink`).

Costs no privacy: it uses releases only. With z classes and L levels in all there are about z L parameters; one
evaluation costs z times the number of measured cells.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from tacita.domain import Domain
from tacita.errors import InvalidInput, UnknownName
from tacita.tables.cells import Cells

__all__ = ["LatentClasses", "Measurement", "fit_latent_classes"]

Array = NDArray[np.float64]

_LEAST = 1e-6
"""Probability that a fit which begins at another model gives to what that model rules out."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Measurement:
    """One or two attributes, an unbiased estimate of their table of shares, and its variance cell by cell.

    `variance_at` gives the variance that the estimate would have if some other table were the truth: with it the fit is
    weighted by the variance of what it found, not by that of the noise.
    """

    attributes: tuple[str, ...]
    values: Array
    variance: Array
    variance_at: Callable[[Array], Array] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if not 1 <= len(self.attributes) <= 2 or self.values.ndim != len(self.attributes):
            raise InvalidInput("must be a table of one or two attributes", field="measurement", value=self.attributes)
        if self.variance.shape != self.values.shape or not (self.variance > 0).all():
            raise InvalidInput("needs a positive variance for each cell", field="variance")


@dataclass(frozen=True, kw_only=True, eq=False)
class LatentClasses:
    """A fitted model. It has `project`, for any number of attributes."""

    domain: Domain = field(repr=False)
    weights: Array
    conditionals: dict[str, Array] = field(repr=False)
    misfit: float

    @property
    def classes(self) -> int:
        """Number of latent classes."""
        return len(self.weights)

    def supports(self, attributes: Iterable[str]) -> bool:
        """Whether all these attributes were measured."""
        return set(attributes) <= set(self.conditionals)

    def project(self, attributes: Iterable[str]) -> Cells:
        """The model's table of shares over these attributes."""
        names = tuple(attributes)
        domain = self.domain.project(names)
        for name in names:
            if name not in self.conditionals:
                raise UnknownName(name, field="attribute", available=self.conditionals)
        joint = self.weights
        for name in names:  # one more axis at a time, the classes stay last
            joint = joint[..., None, :] * self.conditionals[name]
        return Cells(domain, joint.sum(axis=-1))

    def mix(self, other: LatentClasses, share: float) -> LatentClasses:
        """Mix two models over the same attributes: the classes of both, the other's with this share."""
        return LatentClasses(
            domain=self.domain,
            weights=np.concatenate([(1 - share) * self.weights, share * other.weights]),
            conditionals={
                name: np.concatenate([table, other.conditionals[name]], axis=1)
                for name, table in self.conditionals.items()
            },
            misfit=(1 - share) * self.misfit + share * other.misfit,
        )

    def sample(self, rows: int, rng: np.random.Generator) -> dict[str, NDArray[np.int64]]:
        """Draw the codes of simulated people: a class for each, then every attribute given the class."""
        kind = rng.choice(self.classes, rows, p=self.weights)
        columns = {}
        for name, table in self.conditionals.items():
            cumulative = np.cumsum(table, axis=0)[:, kind]
            columns[name] = np.minimum((rng.random(rows) > cumulative).sum(axis=0), len(table) - 1)
        return columns


class _Problem:
    """Weighted squared error of a model and its gradient, over unbounded parameters (softmax of weights and
    columns)."""

    def __init__(self, domain: Domain, measurements: Sequence[Measurement], classes: int) -> None:
        self.names = tuple(dict.fromkeys(name for m in measurements for name in m.attributes))
        self.sizes = [domain[name].size for name in self.names]
        self.starts = classes * np.concatenate([[1], 1 + np.cumsum(self.sizes)])
        self.classes, self.measurements = classes, measurements
        self.variances = [m.variance for m in measurements]

    def start(self, rng: np.random.Generator) -> Array:
        """Random starting parameters: a model near independence, whose classes differ at random."""
        return rng.normal(0, 0.5, int(self.starts[-1]))

    def start_at(self, model: LatentClasses) -> Array:
        """The parameters of a model that was fitted before."""
        tables = [model.weights, *(model.conditionals[name] for name in self.names)]
        return np.concatenate([np.log(np.maximum(table, _LEAST)).reshape(-1) for table in tables])

    def unpack(self, x: Array) -> tuple[Array, list[Array]]:
        tables = [
            _softmax(x[a:b].reshape(size, self.classes))
            for a, b, size in zip(self.starts, self.starts[1:], self.sizes, strict=False)
        ]
        return _softmax(x[: self.classes]), tables

    def __call__(self, x: Array) -> tuple[float, Array]:
        weights, tables = self.unpack(x)
        error, d_weights, d_tables = 0.0, np.zeros_like(weights), [np.zeros_like(table) for table in tables]
        for m, variance in zip(self.measurements, self.variances, strict=True):
            i = self.names.index(m.attributes[0])
            if len(m.attributes) == 1:
                gap = tables[i] @ weights - m.values
                pull = gap / variance
                d_tables[i] += np.outer(pull, weights)
                d_weights += tables[i].T @ pull
            else:
                j = self.names.index(m.attributes[1])
                left = tables[i] * weights
                gap = left @ tables[j].T - m.values
                pull = gap / variance
                across = pull @ tables[j]
                d_tables[i] += across * weights
                d_tables[j] += pull.T @ left
                d_weights += (across * tables[i]).sum(axis=0)
            error += 0.5 * float((gap * pull).sum())
        gradient = np.empty_like(x)
        gradient[: self.classes] = weights * (d_weights - weights @ d_weights)
        for a, b, table, slope in zip(self.starts, self.starts[1:], tables, d_tables, strict=False):
            gradient[a:b] = (table * (slope - (table * slope).sum(axis=0))).reshape(-1)
        return error, gradient

    def reweigh(self, x: Array) -> None:
        """Take the variances that the measurements would have if the model were true."""
        weights, tables = self.unpack(x)
        for number, m in enumerate(self.measurements):
            if m.variance_at is None:
                continue
            i = self.names.index(m.attributes[0])
            table = tables[i] @ weights
            if len(m.attributes) == 2:
                table = (tables[i] * weights) @ tables[self.names.index(m.attributes[1])].T
            self.variances[number] = m.variance_at(table)


def _softmax(x: Array) -> Array:
    e = np.exp(x - x.max(axis=0))
    return np.asarray(e / e.sum(axis=0))


def fit_latent_classes(
    domain: Domain,
    measurements: Sequence[Measurement],
    *,
    classes: int,
    seed: int = 0,
    starts: int = 2,
    near: LatentClasses | None = None,
) -> LatentClasses:
    """Fit a model with a given number of classes; the best of some starts, reweighted once.

    Args:
        domain: What the attributes are.
        measurements: Noisy tables of one or two attributes.
        classes: Number of latent classes.
        seed: Of the starts: the same measurements give the same model.
        starts: How often to begin anew.
        near: A model of as many classes that was fitted to similar measurements: the fit begins there, once.
    """
    if classes < 1 or not measurements:
        raise InvalidInput("must be at least 1, with at least one measurement", field="classes", value=classes)
    problem = _Problem(domain, measurements, classes)
    rng = np.random.default_rng(seed)
    options: dict[str, Any] = {"maxiter": 200}
    if near is None:
        tries = [
            minimize(problem, problem.start(rng), jac=True, method="L-BFGS-B", options=options) for _ in range(starts)
        ]
        found = min(tries, key=lambda result: float(result.fun)).x
    else:
        found = problem.start_at(near)
    problem.reweigh(found)
    best = minimize(problem, found, jac=True, method="L-BFGS-B", options=options)
    weights, tables = problem.unpack(best.x)
    return LatentClasses(
        domain=domain,
        weights=weights,
        conditionals=dict(zip(problem.names, tables, strict=True)),
        misfit=float(best.fun),
    )
