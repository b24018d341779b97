"""Renyi divergence of one plan at given orders: what a privacy filter adds up.

    (a, r)-RDP   the Renyi divergence of order a between the outputs on neighbours is at most r   [Mironov 2017]
    cut at c     the same for outputs whose loss is at most t, where a loss above t has probability at most c

Exact values are used where they are known; everything else is bounded from above. Plans with sampled steps are also
cut: most of their divergence comes from outputs with very large losses, which are too improbable to matter.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import logsumexp

from tacita.errors import InvalidInput
from tacita.privacy.accountant import INFINITE, leaves, loss_distribution, pure_epsilon, zcdp_rho
from tacita.privacy.budget import exact
from tacita.privacy.event import (
    DiscreteGaussianNoise,
    DiscreteLaplaceNoise,
    Event,
    GaussianNoise,
    Pure,
    SampledGaussian,
)
from tacita.privacy.unit import Neighbours

__all__ = ["Divergences", "divergences"]

_ROUNDING = 1e-12  # far above what floats lose here
_SAMPLED_ORDERS = 256  # above this order, what sampling gains is not computed: the sum has as many terms


@dataclass(frozen=True, kw_only=True)
class Divergences:
    """Bounds for one plan, one for each order.

    Args:
        plain: Of all outputs.
        cut: Of the outputs whose loss is not too large.
        cutting: Probability of the outputs that `cut` leaves out.
        failing: Probability with which neither bound holds: of events that are stated as (epsilon, delta).
    """

    plain: tuple[float, ...]
    cut: tuple[float, ...]
    cutting: float
    failing: float


@lru_cache(maxsize=4096)
def divergences(event: Event, neighbours: Neighbours, orders: tuple[float, ...], chance: float) -> Divergences:
    """Bound the Renyi divergences of a plan.

    Args:
        event: The plan's.
        neighbours: Of the account.
        orders: All above 1.
        chance: Probability up to which outputs may be cut.
    """
    counts, slack, failing, rho = leaves(event, neighbours)
    if math.isinf(failing):
        infinite = (math.inf,) * len(orders)
        return Divergences(plain=infinite, cut=infinite, cutting=0.0, failing=1.0)
    # an event whose epsilon is too large for a loss distribution is bounded by that epsilon
    beside = [slack + order * rho for order in orders]
    whole = [_whole(event, neighbours, order) for order in orders]
    sums = [sum(count * _leaf(leaf, order) for leaf, count in counts.items()) for order in orders]
    plain = tuple(min(w, b + s) for w, b, s in zip(whole, beside, sums, strict=True))
    if not any(isinstance(leaf, SampledGaussian) for leaf in counts):
        return Divergences(plain=plain, cut=plain, cutting=0.0, failing=failing)
    moments = _cut_moments(frozenset(counts.items()), orders, chance)
    if moments is None:
        return Divergences(plain=plain, cut=plain, cutting=0.0, failing=failing)
    cut = tuple(min(p, b + m) for p, b, m in zip(plain, beside, moments, strict=True))
    return Divergences(plain=plain, cut=cut, cutting=chance, failing=failing)


def _whole(event: Event, neighbours: Neighbours, order: float) -> float:
    """The bounds that need no single leaf: all of it is pure, or has a rho."""
    least = math.inf
    for bound, factor in ((pure_epsilon, 1.0), (zcdp_rho, order)):
        try:
            amount = bound(event, neighbours)
        except InvalidInput:
            continue
        if amount < INFINITE:
            least = min(least, factor * float(amount) * (1 + _ROUNDING))
    return least


@lru_cache(maxsize=4096)
def _leaf(event: Event, order: float) -> float:
    match event:
        case Pure(epsilon=epsilon):
            return _two_sided(float(exact(epsilon)), 1, order)
        case DiscreteLaplaceNoise(scale=scale, sensitivity=shift):
            return _two_sided(float(1 / scale), shift, order)
        case DiscreteGaussianNoise(sigma2=sigma2, sensitivity=shift):
            return order * float(shift**2 / (2 * sigma2)) * (1 + _ROUNDING)
        case SampledGaussian(noise_multiplier=noise, rate=rate):
            return _sampled(noise, rate, order)
        case GaussianNoise(noise_multiplier=noise):
            return order / (2 * noise**2) * (1 + _ROUNDING)
    raise InvalidInput("has no Renyi divergence", field="event", value=event.kind)


def _two_sided(step: float, shift: int, order: float) -> float:
    """Discrete Laplace noise of scale 1/step, moved by `shift`: with a shift of 1, the worst of any step-DP event.

    The loss is +shift*step for outputs up to 0 and -shift*step from `shift` on; between them it falls by 2*step.
    """
    between = np.arange(1, shift)
    log_half = -float(np.logaddexp(0.0, -step))  # probability of outputs up to 0: 1 / (1 + r), with r = e^-step
    log_point = math.log(-math.expm1(-step)) + log_half  # of the output 0: (1 - r) / (1 + r)
    losses = np.concatenate(([shift * step], (shift - 2 * between) * step, [-shift * step]))
    masses = np.concatenate(([log_half], log_point - between * step, [log_half - shift * step]))
    moment = float(logsumexp(masses + (order - 1) * losses))
    exact_bound = max(0.0, moment) * (1 + _ROUNDING) / (order - 1) + 1e-15 * max(1.0, 1 / (order - 1))
    # floats lose the moment of very small steps; epsilon^2/2 is a rho, and as good there
    return min(exact_bound, shift * step, order * (shift * step) ** 2 / 2 * (1 + _ROUNDING))


def _sampled(noise: float, rate: float, order: float) -> float:
    """One sampled Gaussian step; removing a unit is the worse direction [Mironov, Talwar, Zhang 2019, theorem 5]."""
    alone = order / (2 * noise**2)
    if order > _SAMPLED_ORDERS or rate == 1:
        return alone
    from dp_accounting.rdp import rdp_privacy_accountant  # a second to load, and only private training needs it

    found = rdp_privacy_accountant._compute_rdp_poisson_subsampled_gaussian(rate, noise, [order])
    value = float(found[0]) * (1 + _ROUNDING)
    return min(alone, value) if value >= 0 else alone


def _cut_moments(
    counts: frozenset[tuple[Event, int]], orders: tuple[float, ...], chance: float
) -> tuple[float, ...] | None:
    """ln E[exp((a-1) L); L <= t] / (a-1), the larger of adding and removing, with P(L > t) at most `chance`."""
    distribution = loss_distribution(counts)
    found = []
    for part in {id(pmf): pmf for pmf in (distribution._pmf_remove, distribution._pmf_add)}.values():
        dense = part.to_dense_pmf()
        probabilities = np.asarray(dense._probs)
        # probability of each loss and of all above it
        reached = np.cumsum(probabilities[::-1])[::-1] + dense._infinity_mass
        kept = (reached > chance) & (probabilities > 0)
        if dense._infinity_mass > chance or not kept.any():
            return None
        losses = (dense._lower_loss + np.flatnonzero(kept)) * dense._discretization
        logs = np.log(probabilities[kept])
        found.append([float(logsumexp(logs + (order - 1) * losses)) / (order - 1) for order in orders])
    return tuple(max(0.0, *column) * (1 + _ROUNDING) for column in zip(*found, strict=True))
