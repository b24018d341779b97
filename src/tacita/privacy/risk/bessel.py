"""The confidence that the published calculus of privacy at risk gives. A heuristic: NOT a privacy guarantee.

It treats the two distances of an output to the answers of two neighbours as independent Gamma draws, and truncates
their difference at the noise level e0. But both are functions of one output, so the figure is not the probability that
a person's loss stays below epsilon: `at_risk` has that. It is the share of independent pairs of noise draws, among
those whose norms differ by at most the sensitivity, that differ by at most epsilon / e0 of it.

    T = |X1 - X2| / theta, X iid Gamma(k, theta), k dimensions of the answer
    P(T <= x) = sum_{j<k} w_j gammainc(k - j, x),    w_j = 2^(1-k-j) C(k-1+j, j),  which sum to 1
    confidence = P(T <= epsilon) / P(T <= e0)

Claim: docs/claims/at-risk.md
"""

from __future__ import annotations

import math

import numpy as np
from scipy import optimize, special

from tacita import check
from tacita.errors import InvalidInput

__all__ = ["bessel_cdf", "bessel_confidence", "bessel_epsilon", "bessel_noise"]

_MOST_DIMENSIONS = 100_000


def bessel_cdf(x: float, dimensions: int = 1) -> float:
    """P(T <= x), as a mixture of Gamma laws: no terms cancel, whatever the dimension.

    >>> round(bessel_cdf(1.0), 5), round(bessel_cdf(1.0, 5), 5)
    (0.63212, 0.26712)
    """
    k = _dimensions(dimensions)
    j = np.arange(k)
    logs = (1 - k - j) * math.log(2) + special.gammaln(k + j) - special.gammaln(j + 1) - special.gammaln(k)
    return float(np.exp(logs) @ special.gammainc(k - j, max(x, 0.0)))


def bessel_confidence(epsilon: float, noise: float, dimensions: int = 1) -> float:
    """P(T <= epsilon) / P(T <= noise), 1 from the noise level on."""
    if epsilon >= noise:
        return 1.0
    return bessel_cdf(epsilon, dimensions) / bessel_cdf(noise, dimensions)


def bessel_epsilon(confidence: float, noise: float, dimensions: int = 1) -> float:
    """The epsilon of a confidence at a noise level."""
    if confidence >= 1:
        return noise
    return _root(lambda epsilon: bessel_confidence(epsilon, noise, dimensions) - confidence, 0.0, noise)


def bessel_noise(epsilon: float, confidence: float, dimensions: int = 1) -> float:
    """The noise level at which an epsilon has a confidence; refused where there is none.

    As noise vanishes the confidence falls to P(T <= epsilon) and no further, so a lower one has no noise level.
    """
    if confidence >= 1:
        return epsilon
    floor = bessel_cdf(epsilon, dimensions)
    if confidence <= floor:
        raise InvalidInput(
            f"must be above {floor:.6g}, which every noise level gives at epsilon {epsilon:g}",
            field="confidence",
            value=confidence,
            hint="Ask for more confidence, or for a smaller epsilon",
        )
    high = 2 * epsilon
    while bessel_confidence(epsilon, high, dimensions) > confidence:
        high *= 2
    return _root(lambda noise: confidence - bessel_confidence(epsilon, noise, dimensions), epsilon, high)


def _root(of: object, low: float, high: float) -> float:
    return float(optimize.brentq(of, low, high, xtol=1e-14, rtol=1e-13))


def _dimensions(value: int) -> int:
    check.whole(value, "dimensions", least=1, most=_MOST_DIMENSIONS)
    return value
