"""Sensitivity of a function to one unit, as a distance in the space of its kernel.  The only place of these formulas.

With kappa^2 = sup k(x, x), m rows of a unit at most, and `parts` 1 where a unit is added or removed, 2 where replaced:

    sum of k(., x_i)       m kappa, where a unit is added or removed
                           m kappa sqrt(2), replaced, k >= 0: |new - old|^2 = |new|^2 + |old|^2 - 2 <new, old>
                           m kappa 2, replaced, k of either sign: random features are
    posterior mean         m range sqrt(max_i (A K A)_ii), A = (K + s I)^-1: one response moves by its range, and
                           the mean is linear in the responses. Rows of inputs are public and stay as they are
    kernel machine         parts m C kappa sqrt(J) for J functions of 1/2 |w|^2 + C sum of hinge losses: each is
                           1-strongly convex, and a row pulls with a force of at most C kappa. A solution whose duality
                           gap is at most g is off by sqrt(2 g) at most, which is added for both data sets

[Hall, Rinaldo, Wasserman 2013; Smith et al. 2016; Rubinstein et al. 2012]
Claim: docs/claims/functional-perturbation.md; counter-examples are searched for in its tests.
"""

from __future__ import annotations

import math

import numpy as np

from tacita.learn.functions.kernel import Array
from tacita.privacy.unit import Neighbours, Unit

__all__ = ["gap_allowed", "machine_sensitivity", "mean_sensitivity", "sum_sensitivity", "worst_mean_sensitivity"]

_OFF = 0.01
"""How far a solution of a kernel machine may be from the true one, in units of C kappa."""


def sum_sensitivity(height: float, unit: Unit, neighbours: Neighbours, *, negative: bool = False) -> float:
    """Of the sum of k(., x_i) over rows; `negative` where k may be below 0."""
    apart = 1.0 if neighbours is Neighbours.ADD_REMOVE else 2.0 if negative else math.sqrt(2)
    return unit.max_rows * math.sqrt(height) * apart


def mean_sensitivity(gram: Array, noise: float, unit: Unit) -> float:
    """Of the posterior mean in one response that moves by 1; inputs are public and stay."""
    if not len(gram):
        return 0.0
    inverse = np.linalg.inv(gram + noise * np.eye(len(gram)))
    worst = float(np.max(np.einsum("ij,ij->i", inverse @ gram, inverse)))
    return unit.max_rows * math.sqrt(max(worst, 0.0))


def worst_mean_sensitivity(noise: float, unit: Unit) -> float:
    """The most that `mean_sensitivity` is for any inputs: l / (l + s)^2 <= 1 / (4 s) for every eigenvalue l of K."""
    return unit.max_rows / (2 * math.sqrt(noise))


def machine_sensitivity(c: float, height: float, functions: int, unit: Unit, neighbours: Neighbours) -> float:
    """Of all functions of a kernel machine together, solved to within `gap_allowed`."""
    parts = 1 if neighbours is Neighbours.ADD_REMOVE else 2
    return (parts * unit.max_rows + 2 * _OFF) * c * math.sqrt(height) * math.sqrt(functions)


def gap_allowed(c: float, height: float) -> float:
    """The largest duality gap that `machine_sensitivity` has room for: |w - w*| <= sqrt(2 gap) <= 0.01 C kappa."""
    return (_OFF * c) ** 2 * height / 2
