"""Covariance of the coefficients that noisy moments give: the noise of the moments, carried through the solution.

With A the moments of (1, x), v those of (1, x) with the target, and D the noise on each, all independent:

    e = D_v - D_A b         noise in the equations A b = v at the coefficients b
    V = Cov(e)              V_jj = var(v_j) + sum_k var(A_jk) b_k^2,   V_jk = var(A_jk) b_j b_k
    Cov(b) = G V G'         G the inverse of A, as `solve` takes it: of centred moments, with eigenvalues lifted

and, where the sum of squared targets was released too, the error of sampling rows from a population in which residuals
have one variance s^2:  + s^2 G A G',  s^2 = (sum y^2 - b'v) / n.

First order in the noise: exact when noise is small beside the moments of features. There is no covariance where it is
not, which is when a direction other than those that are empty by design had to be lifted, whatever the target depends
on; and none with a penalty. Columns of levels add up to the intercept, so one direction for each such feature is
empty by design: there the least squares of least length are what is estimated.

Privacy:  reads what was released only.    Claim: docs/claims/coefficient-errors.md
"""

from __future__ import annotations

import math

import numpy as np

from tacita.learn.coefficient_errors import CoefficientErrors
from tacita.learn.regression.moments import NoisyMoments
from tacita.learn.regression.solve import Solved

__all__ = ["errors_of_moments"]


def errors_of_moments(moments: NoisyMoments, solved: Solved, *, intercept: bool) -> CoefficientErrors | None:
    """Coefficients before they were stretched, with their covariance; None where none is claimed."""
    inverse, slopes, columns, rows = solved.inverse, solved.before, moments.design.columns, moments.rows
    if moments.variances is None or inverse is None or slopes is None:
        return None
    drowned = moments.linear_std * math.sqrt(columns) > rows
    if drowned or solved.diagnosis.lifted > _empty(moments, intercept=intercept):
        return None
    sums = moments.matrix[0, 1:].clip(-rows, rows) if intercept else np.zeros(columns + 1)
    level = float((sums[-1] - sums[:-1] @ slopes) / rows) if intercept else 0.0
    found = np.concatenate([[level], slopes])
    variances = moments.variances[:-1, :-1]
    noise = variances * np.outer(found, found)
    np.fill_diagonal(noise, moments.variances[:-1, -1] + variances @ found**2)
    solving = np.zeros((columns + 1, columns + 1))
    solving[1:, 1:] = inverse
    if intercept:
        solving[1:, 0] = -inverse @ sums[:-1] / rows
        solving[0] = -sums[:-1] @ solving[1:] / rows
        solving[0, 0] += 1 / rows
    else:
        noise[0], noise[:, 0] = 0.0, 0.0
    if moments.squares is not None:
        own = moments.matrix[:-1, :-1]
        left = moments.squares - float(found @ moments.matrix[:-1, -1])
        noise = noise + max(left, 0.0) / rows * own
    made = solving @ noise @ solving.T
    return CoefficientErrors(centre=found, covariance=np.asarray((made + made.T) / 2))


def _empty(moments: NoisyMoments, *, intercept: bool) -> int:
    """Directions that are empty whatever the rows: levels of a feature add up to 1, as the intercept does."""
    levelled = sum(width > 1 for width in moments.design.widths)
    return levelled if intercept else 0
