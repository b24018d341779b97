"""Collapsed Gibbs sampling of topic models, compiled.

A card is a document; each visit has one topic z. With counts that leave the visit itself out,

    SLDA    p(z = k)  ~  (n_ck + alpha) (n_lk + beta) / (n_k + L beta)
    TLDA    p(z = k)  ~  (n_ck + alpha) (n_tk + gamma) / (n_k + T gamma)
    STLDA   p(z = k)  ~  (n_ck + alpha) (n_lk + beta) / (n_k + L beta) (n_tk + gamma) / (n_k + T gamma)

A model without places has L = 1, one without times T = 1: that factor is then 1, and the kernel with one factor runs.

Cost: O(visits x topics) a sweep. Counts are stored with the topics of a place side by side; the divisors are kept as
reciprocals. The generator is splitmix64 [Steele, Lea, Flood 2014], one state for each chain, so that chains may run in
threads and each is fixed by its seed.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tacita.common.compiled import compiled

__all__ = ["fold_in", "log_likelihood", "start", "sweep_both", "sweep_one", "uniform"]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_S30, _S27, _S31, _S11 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(11)
_TO_UNIT = 2.0**-53


@compiled
def uniform(state: Any) -> float:
    """Draw a number between 0 and 1, and move the state on."""
    state[0] += _GOLDEN
    z = state[0]
    z = (z ^ (z >> _S30)) * _FIRST
    z = (z ^ (z >> _S27)) * _SECOND
    z = z ^ (z >> _S31)
    return (z >> _S11) * _TO_UNIT  # type: ignore[no-any-return]


@compiled
def start(starts: Any, token: Any, z: Any, n_ck: Any, n_wk: Any, n_k: Any, state: Any, fresh: bool) -> None:
    """Count the topics of all visits; draw them evenly first if they are `fresh`."""
    topics = n_k.size
    for c in range(starts.size - 1):
        for i in range(starts[c], starts[c + 1]):
            if fresh:
                z[i] = min(int(uniform(state) * topics), topics - 1)
                n_ck[c, z[i]] += 1
                n_k[z[i]] += 1
            n_wk[token[i], z[i]] += 1


@compiled
def sweep_one(
    starts: Any, token: Any, z: Any, n_ck: Any, n_wk: Any, n_k: Any, alpha: float, beta: float, sweeps: int, state: Any
) -> None:
    """Resample every topic `sweeps` times: one factor, of places or of times."""
    topics, spread = n_k.size, beta * n_wk.shape[0]
    reached, divisor = np.empty(topics), np.empty(topics)
    for k in range(topics):
        divisor[k] = 1.0 / (n_k[k] + spread)
    for _ in range(sweeps):
        for c in range(starts.size - 1):
            mine = n_ck[c]
            for i in range(starts[c], starts[c + 1]):
                here, old = n_wk[token[i]], z[i]
                mine[old] -= 1
                here[old] -= 1
                n_k[old] -= 1
                divisor[old] = 1.0 / (n_k[old] + spread)
                total = 0.0
                for k in range(topics):
                    total += (mine[k] + alpha) * (here[k] + beta) * divisor[k]
                    reached[k] = total
                drawn, new = uniform(state) * total, 0
                while new < topics - 1 and reached[new] <= drawn:
                    new += 1
                z[i] = new
                mine[new] += 1
                here[new] += 1
                n_k[new] += 1
                divisor[new] = 1.0 / (n_k[new] + spread)


@compiled
def sweep_both(
    starts: Any,
    place: Any,
    time: Any,
    z: Any,
    n_ck: Any,
    n_lk: Any,
    n_tk: Any,
    n_k: Any,
    alpha: float,
    beta: float,
    gamma: float,
    sweeps: int,
    state: Any,
) -> None:
    """Resample every topic `sweeps` times: places and times, one topic for both."""
    topics, wide, long = n_k.size, beta * n_lk.shape[0], gamma * n_tk.shape[0]
    reached, divisor = np.empty(topics), np.empty(topics)
    for k in range(topics):
        divisor[k] = 1.0 / ((n_k[k] + wide) * (n_k[k] + long))
    for _ in range(sweeps):
        for c in range(starts.size - 1):
            mine = n_ck[c]
            for i in range(starts[c], starts[c + 1]):
                here, then, old = n_lk[place[i]], n_tk[time[i]], z[i]
                mine[old] -= 1
                here[old] -= 1
                then[old] -= 1
                n_k[old] -= 1
                divisor[old] = 1.0 / ((n_k[old] + wide) * (n_k[old] + long))
                total = 0.0
                for k in range(topics):
                    total += (mine[k] + alpha) * (here[k] + beta) * (then[k] + gamma) * divisor[k]
                    reached[k] = total
                drawn, new = uniform(state) * total, 0
                while new < topics - 1 and reached[new] <= drawn:
                    new += 1
                z[i] = new
                mine[new] += 1
                here[new] += 1
                then[new] += 1
                n_k[new] += 1
                divisor[new] = 1.0 / ((n_k[new] + wide) * (n_k[new] + long))


@compiled
def log_likelihood(n_xk: Any, prior: float, by_topic: bool) -> float:
    """Logarithm of the Dirichlet-multinomial of one table of counts.

    By topic: ln p(tokens | z), each column over the tokens. Otherwise ln p(z), each row over the topics.
    """
    rows, topics = n_xk.shape
    at_zero, found = math.lgamma(prior), 0.0
    sums = np.zeros(topics if by_topic else rows, np.int64)
    for x in range(rows):
        for k in range(topics):
            if n_xk[x, k]:
                found += math.lgamma(n_xk[x, k] + prior) - at_zero
                sums[k if by_topic else x] += n_xk[x, k]
    spread = prior * (rows if by_topic else topics)
    for total in sums:
        found += math.lgamma(spread) - math.lgamma(total + spread)
    return found


@compiled
def fold_in(starts: Any, weight: Any, alpha: float, burn: int, samples: int, counts: Any, state: Any) -> None:
    """Sample topics of new cards under fixed distributions, and store the counts of each card in `samples` states.

    `weight[i, k]` is the probability of visit i under topic k.
    """
    topics = weight.shape[1]
    reached = np.empty(topics)
    for c in range(starts.size - 1):
        first, size = starts[c], starts[c + 1] - starts[c]
        z, mine = np.empty(size, np.int64), np.zeros(topics, np.int64)
        for i in range(size):
            z[i] = min(int(uniform(state) * topics), topics - 1)
            mine[z[i]] += 1
        for sweep in range(burn + samples):
            for i in range(size):
                mine[z[i]] -= 1
                total = 0.0
                for k in range(topics):
                    total += (mine[k] + alpha) * weight[first + i, k]
                    reached[k] = total
                drawn, new = uniform(state) * total, 0
                while new < topics - 1 and reached[new] <= drawn:
                    new += 1
                z[i] = new
                mine[new] += 1
            if sweep >= burn:
                counts[sweep - burn, c] = mine
