"""Samplers of OpenDP, with its own secure randomness and its own proofs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
from opendp.domains import atom_domain, vector_domain
from opendp.measurements import make_gaussian, make_geometric, make_laplace, make_noisy_max
from opendp.measures import max_divergence
from opendp.metrics import absolute_distance, l1_distance, l2_distance, linf_distance
from opendp.mod import enable_features

# modules one by one: the prelude imports what takes seconds and is not used here
enable_features("contrib")

_VECTOR = vector_domain(atom_domain(T="i64"))


def _up(value: Fraction | float) -> float:
    """A float that is not below the exact value: more noise, never less."""
    near = float(value)
    return near if Fraction(near) >= Fraction(value) else math.nextafter(near, math.inf)


@lru_cache(maxsize=256)
def _laplace(scale: float) -> Any:
    return make_laplace(_VECTOR, l1_distance(T="i64"), scale=scale)


@lru_cache(maxsize=256)
def _gaussian(scale: float) -> Any:
    return make_gaussian(_VECTOR, l2_distance(T="i64"), scale=scale)


def laplace(count: int, scale: Fraction) -> npt.NDArray[np.int64]:
    """Discrete Laplace draws of at least this scale."""
    return np.array(_laplace(_up(scale))([0] * count), np.int64)


def gaussian(count: int, sigma2: Fraction) -> npt.NDArray[np.int64]:
    """Discrete Gaussian draws of at least this variance."""
    sigma = math.sqrt(_up(sigma2))
    while Fraction(sigma) ** 2 < sigma2:
        sigma = math.nextafter(sigma, math.inf)
    return np.array(_gaussian(sigma)([0] * count), np.int64)


def bounded_geometric(value: int, scale: float, low: int, high: int) -> int:
    """The truncated geometric mechanism on one integer, in near constant time."""
    mechanism = make_geometric(atom_domain(T="i64"), absolute_distance(T="i64"), scale=scale, bounds=(low, high))
    return int(mechanism(min(max(value, low), high)))


@lru_cache(maxsize=256)
def _noisy_max(scale: float) -> Any:
    scores = vector_domain(atom_domain(T="f64", nan=False))
    return make_noisy_max(scores, linf_distance(T="f64"), max_divergence(), scale)


def noisy_max(scores: Sequence[float], scale: float) -> int:
    """Index of the largest score after noise; the scores' L-infinity sensitivity over the scale pays for it."""
    return int(_noisy_max(scale)([float(score) for score in scores]))


def noisy_max_epsilon(scale: float, sensitivity: float) -> float:
    """Cost of such a selection by OpenDP's own privacy map."""
    return float(_noisy_max(scale).map(sensitivity))
