"""Amplification by a trusted shuffler: the central loss of n reports without their order and senders.

    amplified    (epsilon, delta) of n shuffled reports of one channel

Privacy: central, approximate, against a reader of the shuffled reports only. The local loss still holds against all.
Cost: about a second for a million reports.
Claim page: docs/claims/shuffling.md.   Flags: unvetted, trusts its caller.

Legend: e = e^eps0 of the channel, E = e^eps asked for, n reports, one of them of the person who changes from x to x'.
Whatever others hold, each of their reports is with probability g = k / (e + k - 1) one of a crowd, whose law is known:
uniform over k kinds. His own report is of kind 0 with weight e and of any other with weight 1; kind 1 has the weight e
for x'. With M - 1 ~ Bin(n - 1, g) others in the crowd, and n_0, n_1, n_r reports of kind 0, of kind 1 and of the rest,

    delta(eps) = E[ g / M * ((e - E) n_0 - (e E - 1) n_1 - (E - 1) n_r)_+ ]

k is the number of levels for randomized response with equal fakes, whose reports have a uniform part [Balle, Bell,
Gascon, Nissim 2019], and 2 for any other channel: among all with this eps0, that of one bit is the worst. That bound
is known as "stronger clones" [Feldman, McMillan, Talwar 2023]; the claim page proves it in another way. A form for k
levels that also hides whether the person's own report is in the crowd is not used: exact enumeration exceeds it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from tacita import check
from tacita.collect.channels.channel import RandomizedResponse
from tacita.collect.channels.protocol import Channel
from tacita.common.compiled import compiled
from tacita.privacy.event import Approximate

__all__ = ["Amplified", "amplified", "divergence"]

_TAIL = 1e-6  # share of delta that what is not summed may add
_BUCKETS = 48  # of n_r, each counted as if it were at its lower end
_MOST = 10**7  # reports counted on; more only hide better
_OUTWARD = 1 + 1e-6  # floats: logarithms of binomials of ten million are good to 1e-7
_FINE = 1e-6  # of the local loss, in the search for epsilon


@dataclass(frozen=True, kw_only=True)
class Amplified:
    """Loss of one report against a reader who sees the shuffled reports only.

    Attributes:
        epsilon, delta: Of the whole collection, for one person who changes their answer.
        local_epsilon: The loss without any trust.
        reports: The assumed number of honest reports.
        kinds: k of the crowd to hide in.
    """

    epsilon: float
    delta: float
    local_epsilon: float
    reports: int
    kinds: int

    @property
    def event(self) -> Approximate:
        """For an account that trusts the shuffler; neighbours replace one report."""
        return Approximate(epsilon=self.epsilon, delta=self.delta)


def amplified(channel: Channel, reports: int, delta: float) -> Amplified:
    """Compute the least epsilon that the bound shows at a given delta, never above the local one.

    Args:
        channel: The one channel that all respondents use.
        reports: How many honest reports are shuffled together. Reports that an attacker sent or knows do not count.
        delta: Above 0 and below 1; much less than 1 / reports.
    """
    check.whole(reports, "reports", least=1)
    check.inside(delta, "delta", 0, 1)
    local, kinds = channel.epsilon_upper, _kinds(channel)
    low, high = 0.0, local
    while high - low > _FINE * local:
        middle = (low + high) / 2
        if divergence(local, kinds, min(reports, _MOST), middle, delta * _TAIL) <= delta:
            high = middle
        else:
            low = middle
    return Amplified(epsilon=high, delta=delta, local_epsilon=local, reports=reports, kinds=kinds)


def _kinds(channel: Channel) -> int:
    even = isinstance(channel, RandomizedResponse) and len(set(channel.fake)) == 1
    return channel.levels if even else 2


def divergence(local: float, kinds: int, reports: int, epsilon: float, tail: float) -> float:
    """delta(eps) of the module's legend, never below the sum in real numbers.

    The number of reports of kinds 0 and 1 is C ~ Bin(n, 2 g / k), those of the rest given it are binomial too, and
    P(M - 1 = m - 1) / m = P(Bin(n, g) = m) / (n g) moves the division out of the sum. What is left out of C adds at
    most its probability, with the person's own report counted in. The term falls in n_r: a bucket counts as its lower
    end.

    Args:
        local: eps0. kinds: k. reports: n. epsilon: eps.
        tail: How much probability may be left unsummed; it is added.
    """
    pairs, log_weights, starts, masses, left_out = _summands(local, kinds, reports, tail)
    summed = _positive_part(pairs, log_weights, starts, masses, math.exp(local), math.expm1(epsilon))
    return float((summed / reports + left_out) * _OUTWARD)


@lru_cache(maxsize=1)  # a search asks for the same ones at each epsilon
def _summands(
    local: float, kinds: int, reports: int, tail: float
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.int64], NDArray[np.float64], float]:
    """Parts of the sum without epsilon: C and its log weights, buckets of n_r and their masses, what is left out."""
    n, k = reports, kinds
    g = k / (math.exp(local) + k - 1)
    share = 2 * g / k
    low, high = stats.binom.ppf(tail / 4, n - 1, share), stats.binom.isf(tail / 4, n - 1, share)
    pairs = np.arange(int(low), int(high) + 2, dtype=np.int64)  # those of the others, and one more
    pairs = pairs[(pairs >= 1) & (pairs <= n)]
    left_out = stats.binom.cdf(pairs[0] - 2, n - 1, share) + stats.binom.sf(pairs[-1] - 1, n - 1, share)
    rest = g * (k - 2) / k / (1 - share) if k > 2 else 0.0
    starts = _bucket_starts(n - pairs, rest)
    masses = _bucket_masses(starts, n - pairs, rest)
    return pairs, stats.binom.logpmf(pairs, n, share), starts, masses, float(left_out)


def _bucket_starts(trials: NDArray[np.int64], rest: float) -> NDArray[np.int64]:
    """Lower ends for n_r: 0, and steps over the bulk of its law, whatever C is."""
    if rest == 0.0:
        return np.zeros(1, dtype=np.int64)
    if trials[0] < 4 * _BUCKETS:
        return np.arange(trials[0] + 1, dtype=np.int64)
    spread = math.sqrt(trials[0] * rest * (1 - rest)) + (trials[0] - trials[-1]) * rest / 6
    middle = rest * (trials[0] + trials[-1]) / 2
    steps = middle + spread * np.linspace(-6, 6, _BUCKETS)
    return np.unique(np.append(0, np.clip(steps, 0, None)).astype(np.int64))


def _bucket_masses(starts: NDArray[np.int64], trials: NDArray[np.int64], rest: float) -> NDArray[np.float64]:
    """P(n_r in each bucket | C), a row for each C; rounded up, so that all add up to 1 or a trifle more."""
    if rest == 0.0:
        return np.ones((trials.size, 1))
    above = stats.binom.sf(starts[None, :] - 1, trials[:, None], rest)
    return np.asarray(np.maximum(above - np.append(above[:, 1:], np.zeros((trials.size, 1)), axis=1), 0.0) + 1e-15)


@compiled
def _positive_part(
    pairs: NDArray[np.int64],
    log_weights: NDArray[np.float64],
    starts: NDArray[np.int64],
    masses: NDArray[np.float64],
    e: float,
    gain: float,
) -> float:
    # sum of P(C) P(bucket | C) Bin(C, 1/2)(j) (slope j - cut)_+ over C, buckets and j = n_0; gain = E - 1.
    # (e - E) j - (e E - 1)(C - j) - (E - 1) n_r = (e - 1)(1 + E) j - (e E - 1) C - (E - 1) n_r
    slope = (e - 1.0) * (2.0 + gain)
    total = 0.0
    for i in range(pairs.size):
        c = pairs[i]
        inner = 0.0
        for b in range(starts.size):
            cut = (e - 1.0 + e * gain) * c + gain * starts[b]
            j = np.int64(math.floor(cut / slope))
            if j > c:
                continue
            log_half = math.lgamma(c + 1.0) - math.lgamma(j + 1.0) - math.lgamma(c - j + 1.0) - c * math.log(2.0)
            # terms fall from j on, as j is above C / 2: begun at 1, scaled at the end
            term, part = 1.0, 0.0
            while j <= c and term > 1e-18:
                part += term * max(slope * j - cut, 0.0)
                term *= (c - j) / (j + 1.0)
                j += 1
            # what is left is below a geometric series with the last ratio, of terms at most slope * c
            if j <= c:
                ratio = (c - j) / (j + 1.0)
                part += slope * c * term / max(1.0 - ratio, 1e-9)
            inner += masses[i, b] * part * math.exp(log_half)
        total += math.exp(log_weights[i]) * inner
    return total
