"""Shares of an attribute whose levels have an order, smoothed along it as far as the reports support that.

    smooth_shares    a distribution from an unbiased estimate and its information
    smooth_singles   averaged singles (`interactions`) with those of ordered attributes smoothed

x = softmax(h + log of the widths of the bins). With y the unbiased shares, H the inverse of their covariance, and D the
differences of first or second order between neighbours, scaled as derivatives over a range of length 1, minimise

    1/2 (x - y)' H (x - y)  +  strength / 2 |D h|^2

for both orders and strengths over eight powers of ten. The strongest leave the even (first order) or the exponential
(second order) density, the weakest nearly all of the estimate, made non-negative in the metric of its own covariance.
The fits are averaged with weights exp(-score / 4), score = misfit + 1.5 f, with f = tr J H J (J H J + strength D'D)^-1
the effective number of parameters and J the slope of x by h [Moody 1992; Leung, Barron 2006]. f counts one and
a half times because weights follow noise too: less was nearly as good, on generated columns. Peaks are kept where they
stand out of the noise.

A level of its own beside the ordered ones (`missing`, `other`) is not smoothed.

Privacy: post-processing of reports; nothing is spent.
Utility: `bench/ordered.py`. Reports of Square Wave determine smooth parts of the shares well and single bins hardly at
all: the information says so, where projecting the unbiased shares to the nearest distribution ignores it.
Cost: the cube of the levels.   Claim page: docs/claims/collected-tables.md.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from scipy.special import softmax

from tacita.collect.estimating.evidence import Evidence
from tacita.collect.estimating.interactions import Interactions
from tacita.domain import Date, Domain, Numeric, Ordinal
from tacita.tables.uncertainty import Covariance

__all__ = [
    "COUNTED",
    "Smoothed",
    "information_of",
    "is_ordered",
    "single_information",
    "smooth_shares",
    "smooth_singles",
]

Array = NDArray[np.float64]

_FEWEST, _MOST = 5, 512
"""Levels of an attribute that is smoothed: fewer have no shape, and time grows with the cube."""
_DECADES = (6, 5, 4, 3, 2, 1, 0, -1, -2)
"""Powers of ten of the strength, from the smoothest on: each fit begins where the one before ended."""
_TEMPERATURE = 4.0
COUNTED = 1.5
_STEPS = 60
_FARTHEST = 3.0
"""Most that a logarithm moves in one step."""
_CLOSE = 1e-3


@dataclass(frozen=True, kw_only=True, eq=False)
class Smoothed:
    """An average of smooth fits.

    Attributes:
        shares: Non-negative, sum to 1.
        parameters: The effective number.
    """

    shares: Array = field(repr=False)
    parameters: float


def is_ordered(domain: Domain, name: str) -> bool:
    """Whether an attribute has levels in an order, enough of them to be smoothed and not too many."""
    attribute = domain[name]
    held = isinstance(attribute, Numeric | Ordinal | Date)
    return held and len(attribute.labels) >= _FEWEST and attribute.size <= _MOST


def information_of(covariance: Covariance) -> Array:
    """The inverse of a covariance of shares, given that they sum to 1."""
    size = covariance.diagonal.size
    basis = linalg.helmert(size).T
    inside = basis.T @ covariance.times(basis)
    ridge = 1e-12 * np.trace(inside) / max(size - 1, 1)
    return np.asarray(basis @ linalg.inv(inside + ridge * np.eye(size - 1)) @ basis.T)


def smooth_shares(
    domain: Domain, name: str, shares: Array, information: Array, *, base: Array | None = None
) -> Smoothed:
    """Smooth unbiased shares of an ordered attribute.

    Args:
        domain: What the attribute is. name: The attribute.
        shares: Of all its levels; they may be negative.
        information: The inverse of their covariance.
        base: Positive shares that stand in for the widths of the bins: the ratio to them is smoothed, as where they
            are known of an earlier population.
    """
    problem = _Problem(np.log(_widths(domain, name) if base is None else base), shares, information)
    found, scores, used = [], [], []
    for order in (1, 2):
        logs = np.zeros(shares.size)
        penalty = _penalty(len(domain[name].labels), shares.size, order)
        for decade in _DECADES:
            strength = 10.0 ** (decade - 2 * order)
            logs = problem.fit(logs, strength * penalty)
            parameters = problem.parameters(logs, strength * penalty)
            found.append(problem.shares(logs))
            used.append(parameters)
            scores.append(problem.misfit(logs) + COUNTED * parameters)
    weights = softmax(-np.array(scores) / _TEMPERATURE)
    return Smoothed(shares=weights @ np.array(found), parameters=float(weights @ np.array(used)))


def single_information(measured: Interactions, evidence: Evidence, name: str) -> Array:
    """The information of all tables about the shares of one attribute."""
    if [key for key in evidence.values if name in key] == [(name,)]:
        return information_of(evidence.covariance((name,)))  # errors of its levels may depend, as with Square Wave
    return np.diag(measured.single_precision[measured.blocks[measured.domain.names.index(name)]])


def smooth_singles(measured: Interactions, evidence: Evidence) -> tuple[Interactions, dict[str, float]]:
    """The same measurements with the shares of ordered attributes smoothed, and the effective parameters of each."""
    singles, used = measured.singles.copy(), {}
    for name, block in zip(measured.domain.names, measured.blocks, strict=True):
        if not is_ordered(measured.domain, name):
            continue
        size = measured.domain[name].size
        information = single_information(measured, evidence, name)
        found = smooth_shares(measured.domain, name, measured.singles[block] + 1 / size, information)
        singles[block] = found.shares - 1 / size
        used[name] = min(COUNTED * found.parameters, size - 1.0)
    return replace(measured, singles=singles), used


def _widths(domain: Domain, name: str) -> Array:
    """The widths of all bins relative to their mean; 1 where levels have none."""
    attribute = domain[name]
    widths = np.ones(attribute.size)
    if isinstance(attribute, Numeric | Date):
        whole = isinstance(attribute, Date) or attribute.integer
        ends = np.diff([*attribute.starts, attribute.line_bounds[1] + whole])
        widths[: ends.size] = ends / ends.mean()
    return widths


def _penalty(ordered: int, size: int, order: int) -> Array:
    """D'D of the differences between the ordered levels, which come first."""
    rows = np.diff(np.eye(ordered), order, axis=0)
    wide = np.hstack([rows, np.zeros((len(rows), size - ordered))]) * float(ordered) ** (order - 0.5)
    return np.asarray(wide.T @ wide)


class _Problem:
    """The loss for given measurements, and its minimum for a penalty, by damped Gauss-Newton steps."""

    def __init__(self, offset: Array, target: Array, information: Array) -> None:
        self._offset, self._information = offset, information
        self._pull = information @ target

    def shares(self, logs: Array) -> Array:
        """x of h."""
        return np.asarray(softmax(logs + self._offset))

    def misfit(self, logs: Array) -> float:
        """Half the squared error in units of the noise, up to a constant."""
        x = self.shares(logs)
        return float(0.5 * x @ self._information @ x - self._pull @ x)

    def _curvature(self, x: Array) -> Array:
        """J H J with J = diag(x) - x x'."""
        half = x[:, None] * (self._information - (x @ self._information)[None, :])  # J H
        return np.asarray(half * x[None, :] - np.outer(half @ x, x))

    def parameters(self, logs: Array, penalty: Array) -> float:
        """The effective number."""
        matrix = self._curvature(self.shares(logs))
        whole = matrix + penalty
        ridge = 1e-9 * np.trace(whole) / logs.size
        return float(np.trace(np.linalg.solve(whole + ridge * np.eye(logs.size), matrix)))

    def fit(self, logs: Array, penalty: Array) -> Array:
        """Descend from a point to the minimum."""
        loss = self.misfit(logs) + 0.5 * float(logs @ penalty @ logs)
        damping, unit = 1e-4, np.eye(logs.size)
        for _ in range(_STEPS):
            x = self.shares(logs)
            error = self._information @ x - self._pull
            slope = x * (error - x @ error) + penalty @ logs
            matrix = self._curvature(x) + penalty
            ridge = 1e-9 * float(np.trace(matrix)) / logs.size
            after, gained = logs, -1.0
            while gained < 0 and damping < 1e8:
                held = matrix + damping * np.diag(np.diag(matrix)) + ridge * unit
                step = -np.linalg.solve(held, slope)
                step = step * min(1.0, _FARTHEST / max(float(np.abs(step).max()), 1e-300))
                after = logs + step
                gained = loss - self.misfit(after) - 0.5 * float(after @ penalty @ after)
                damping = damping * 10 if gained < 0 else damping / 10
            if gained < 0:
                break
            logs, loss = after - after.mean(), loss - gained
            if gained < _CLOSE:
                break
        return logs
