"""Privacy at risk: how sure is it that the loss of a release stays below epsilon, when its noise is set for more?

    loss        ln of how much likelier an output is with a person's data than without; at most e0, the noise level
    confidence  P(loss <= epsilon), over the noise and for the worst pair of neighbours

Any two of (epsilon, confidence, noise level) give the third. Exact, for one number with Laplace noise at level e0, for
the worst pair, whose answers lie one sensitivity apart:

    one-sided   P(loss <= e)   = 1/2 exp(-(e0 - e)/2)     -e0 <= e < e0, and 1 at e0: never above 1/2 before it
    two-sided   P(|loss| <= e) = exp(-e0/2) sinh(e/2)      0 <= e < e0,  and 1 at e0
    delta(e)                   = 1 - exp(-(e0 - e)/2)      the same mechanism as (e, delta)-DP

With noise on many numbers the worst pair differs in one of them, so the figures do not depend on how many there are.
And for Gaussian noise, loss ~ N(mu^2/2, mu^2) with mu = sensitivity / sigma; its noise level is mu.

Privacy: arithmetic; reads no data. It changes the statement about a mechanism, never the mechanism: the same noise
protects the same. A confidence below 1 means that the loss may be as large as the noise level.
Claim: docs/claims/at-risk.md
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, signal, special

from tacita.errors import InvalidInput
from tacita.privacy.risk.bessel import bessel_confidence, bessel_epsilon, bessel_noise

__all__ = ["Calculus", "Noise", "Risk", "Sides", "at_risk", "belief_after", "confidence_of", "delta_of", "overlap"]

Noise = Literal["laplace", "gaussian"]
Sides = Literal["one", "two"]
Calculus = Literal["exact", "bessel"]

_STEPS = 1 << 15  # of the grid on which losses of several releases are added
MOST_RELEASES = 4096
_LARGE = 20.0
_ONE_SIDED = 80.0  # above this level of Gaussian noise, P(loss < 0) is 0 as a float
_LEAST, _MOST = 1e-300, 1e6  # beyond them floats cannot say how sure it is

HEURISTIC = "The published heuristic, which is not a privacy guarantee: the exact confidence is lower."


@dataclass(frozen=True, kw_only=True)
class Risk:
    """Confidence that a loss stays below epsilon.

    Attributes:
        epsilon, confidence, noise: Any two of them determine the third; `noise` is e0 of Laplace noise, mu of Gaussian.
        delta: The delta at which the same mechanism is (epsilon, delta)-DP, whatever the calculus.
        exact: The exact P(loss <= epsilon), whatever the calculus.
        notes: Caveats to state with it.
    """

    epsilon: float
    confidence: float
    noise: float
    kind: Noise
    sides: Sides
    calculus: Calculus
    dimensions: int
    delta: float
    exact: float
    notes: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__} | {"notes": list(self.notes)}


def at_risk(
    *,
    epsilon: float | None = None,
    confidence: float | None = None,
    noise: float | None = None,
    kind: Noise = "laplace",
    sides: Sides = "two",
    calculus: Calculus = "exact",
    dimensions: int = 1,
) -> Risk:
    """Compute the third of epsilon, confidence and noise level from the other two.

    Epsilon is the smallest with that confidence, the noise level the largest (least noise) with it.

    Args:
        epsilon: What the loss should stay below.
        confidence: How sure that should be, above 0 and at most 1.
        noise: The noise level: sensitivity / scale of Laplace noise, sensitivity / sigma of Gaussian noise.
        kind: Of the noise.
        sides: Whether an output that is evidence for a person's absence counts as well.
        calculus: Exact, or the published heuristic (Laplace only), which every result names as such.
        dimensions: How many numbers are answered; matters to the heuristic alone.
    """
    given = {"epsilon": epsilon, "confidence": confidence, "noise": noise}
    if sum(value is not None for value in given.values()) != 2:
        rule = "give exactly two of epsilon, confidence and noise: they decide the third"
        raise InvalidInput(rule, field="at_risk", value=", ".join(name for name in given if given[name] is not None))
    for name, value in given.items():
        if value is not None and not (math.isfinite(value) and value > 0):
            raise InvalidInput("must be positive and finite", field=name, value=value)
        if value is not None and name != "confidence" and not _LEAST <= value <= _MOST:
            raise InvalidInput(f"must be between {_LEAST:g} and {_MOST:g}", field=name, value=value)
    if confidence is not None and confidence > 1:
        raise InvalidInput("must be at most 1", field="confidence", value=confidence)
    if calculus == "bessel" and kind != "laplace":
        raise InvalidInput("the heuristic is about Laplace noise", field="kind", value=kind)
    if calculus == "bessel" and epsilon is not None and noise is not None and epsilon > noise:
        raise InvalidInput("must not be above the noise level", field="epsilon", value=epsilon)
    notes = [HEURISTIC] if calculus == "bessel" else []
    if epsilon is None:
        assert confidence is not None
        assert noise is not None
        epsilon = (
            _epsilon(confidence, noise, kind, sides)
            if calculus == "exact"
            else bessel_epsilon(confidence, noise, dimensions)
        )
    elif noise is None:
        assert confidence is not None
        noise = (
            _noise(epsilon, confidence, kind, sides)
            if calculus == "exact"
            else bessel_noise(epsilon, confidence, dimensions)
        )
        if noise <= epsilon * (1 + 1e-12) and confidence < 1 and kind == "laplace":
            most = _supremum(epsilon, sides)
            notes.append(
                f"No noise level above epsilon has this confidence: it is at most {most:.6g} there, and 1 at epsilon."
            )
    exact = confidence_of(epsilon, noise, kind=kind, sides=sides)
    if calculus == "exact":
        confidence = exact
    elif confidence is None:
        confidence = bessel_confidence(epsilon, noise, dimensions)
    if exact < 1 and kind == "laplace":
        notes.append(f"The loss can be as large as {noise:.6g}.")
    return Risk(
        epsilon=epsilon,
        confidence=confidence,
        noise=noise,
        kind=kind,
        sides=sides,
        calculus=calculus,
        dimensions=dimensions,
        delta=delta_of(epsilon, noise, kind=kind),
        exact=exact,
        notes=tuple(notes),
    )


def belief_after(epsilon: float, before: float) -> float:
    """The largest belief of an attacker after a release, if it was `before` ahead of it.

    The odds grow by a factor of e^epsilon at most: p' / (1 - p') <= e^epsilon p / (1 - p).

    >>> round(belief_after(math.log(3), 0.5), 12)
    0.75
    """
    return 1 / (1 + (1 / before - 1) * math.exp(-epsilon))


def confidence_of(
    epsilon: float, noise: float, *, kind: Noise = "laplace", sides: Sides = "two", releases: int = 1
) -> float:
    """P(loss <= epsilon), or P(|loss| <= epsilon), for the worst pair of neighbours, over all releases together.

    >>> round(confidence_of(0.6, 1.0), 4), round(confidence_of(0.6, 1.0, sides="one"), 4)
    (0.1847, 0.4094)
    """
    if kind == "gaussian":
        noise *= math.sqrt(releases)
        below = float(special.ndtr(epsilon / noise - noise / 2))
        return below - (float(special.ndtr(-epsilon / noise - noise / 2)) if sides == "two" else 0.0)
    if epsilon >= releases * noise:
        return 1.0
    if releases > 1:
        below, above = (
            int(np.searchsorted(_losses(noise, releases)[0], edge, "right")) for edge in (-epsilon, epsilon)
        )
        return float(_losses(noise, releases)[1][0 if sides == "one" else below : above].sum())
    if sides == "one":
        return 0.5 * math.exp(-(noise - epsilon) / 2) if epsilon >= -noise else 0.0
    return 0.5 * math.exp((epsilon - noise) / 2) * -math.expm1(-epsilon)  # the same, without large numbers


@lru_cache(maxsize=64)
def _losses(noise: float, releases: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The loss of several Laplace releases for the worst pair: values on a grid, rounded up, and their chances.

    One release: 1/2 at e0, exp(-e0)/2 at -e0, and density exp((l - e0)/2)/4 between them.
    """
    steps = max(2, _STEPS // releases)
    edges = np.linspace(-noise, noise, 2 * steps + 1)
    below = 0.5 * np.exp((edges - noise) / 2)  # the chance of a loss up to here, before the atom at e0
    one = np.diff(below, prepend=0.0)
    one[-1] += 0.5
    chances = _power(one, releases)
    return np.linspace(-releases * noise, releases * noise, chances.size), chances


def _power(one: NDArray[np.float64], times: int) -> NDArray[np.float64]:
    """The law of a sum of so many draws, by squaring."""
    result = np.ones(1)
    while times:
        if times & 1:
            result = signal.fftconvolve(result, one) if result.size > 1 else one
        times >>= 1
        if times:
            one = signal.fftconvolve(one, one)
    return np.clip(result, 0, None)


def delta_of(epsilon: float, noise: float, *, kind: Noise = "laplace") -> float:
    """The smallest delta at which the mechanism is (epsilon, delta)-DP.

    >>> round(delta_of(0.4, 1.0), 4)
    0.2592
    """
    if kind == "laplace":
        return -math.expm1(-(noise - epsilon) / 2) if epsilon < noise else 0.0
    # [Balle, Wang 2018, theorem 5]
    above = float(special.ndtr(noise / 2 - epsilon / noise))
    return max(0.0, above - math.exp(epsilon + special.log_ndtr(-noise / 2 - epsilon / noise)))


def _supremum(epsilon: float, sides: Sides) -> float:
    """Limit of the confidence at epsilon as the noise level falls to epsilon."""
    return 0.5 if sides == "one" else -math.expm1(-epsilon) / 2


def _epsilon(confidence: float, noise: float, kind: Noise, sides: Sides) -> float:
    if kind == "gaussian":
        if confidence >= 1:
            raise InvalidInput(
                "must be below 1: Gaussian noise bounds no loss for sure", field="confidence", value=confidence
            )
        if sides == "one" or noise > _ONE_SIDED:
            return max(0.0, noise * (float(special.ndtri(confidence)) + noise / 2))
        # in units of the noise level, so that small ones are found as well
        return noise * _root(lambda t: confidence_of(t * noise, noise, kind=kind) - confidence, 0.0, noise / 2 + 40)
    if sides == "one":
        return noise if confidence > 0.5 else max(0.0, noise + 2 * math.log(2 * confidence))
    log = math.log(confidence) + noise / 2
    # asinh(x) = ln(2x) to the last digit where x is large
    found = 2 * (math.asinh(math.exp(log)) if log < _LARGE else log + math.log(2))
    return found if found < noise else noise


def _noise(epsilon: float, confidence: float, kind: Noise, sides: Sides) -> float:
    if kind == "gaussian":
        if confidence >= 1:
            raise InvalidInput(
                "must be below 1: Gaussian noise bounds no loss for sure", field="confidence", value=confidence
            )

        def short(log: float) -> float:
            return confidence - confidence_of(epsilon, math.exp(log), kind=kind, sides=sides)

        # the confidence falls from 1 to 0 as the level grows; by its logarithm, so that small ones are found as well
        low = high = 0.0
        while short(high) < 0:
            high += 1
        while short(low) > 0:
            low -= 1
        return math.exp(_root(short, low, high)) if low < high else 1.0
    if confidence >= _supremum(epsilon, sides):
        return epsilon
    if sides == "one":
        return epsilon - 2 * math.log(2 * confidence)
    # 2 ln(sinh(e/2) / confidence), without large numbers
    return epsilon + 2 * (math.log(-math.expm1(-epsilon) / 2) - math.log(confidence))


def _root(of: Any, low: float, high: float) -> float:
    return float(optimize.brentq(of, low, high, xtol=1e-14, rtol=1e-13))


def overlap(first: float, second: float) -> float:
    """Overlap of two Laplace densities at these noise levels, the area under both; an illustration, not a guarantee.

    >>> round(overlap(1.0, 0.6), 7)
    0.8140968
    """
    high, low = max(first, second), min(first, second)
    if high == low:
        return 1.0
    mu = math.log(high / low) / (high - low)
    return 1 - (math.exp(-mu * low) - math.exp(-mu * high))
