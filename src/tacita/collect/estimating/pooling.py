"""One estimate from several blocks of people who answered about the same cells through different channels.

Two ways. The linear one keeps the properties of the blocks' estimates: no bias, a covariance. The likelihood one is
never negative and efficient when the channels differ much, but it is biased towards possible shares.

A channel may have been chosen in view of earlier blocks' reports, as long as it was fixed before its own people
answered: each block is then unbiased given the past, so the pool is unbiased, and the covariances of the blocks add up
because a block's error has mean zero whatever came before.

Cost: post-processing, so no privacy.   Claim page: docs/claims/rrba.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacita.collect.channels.frequencies import FrequencyEstimate
from tacita.collect.channels.parts.em import Fitted
from tacita.collect.channels.protocol import About, Channel, EnumerableChannel, KeepsOrFakes
from tacita.errors import InvalidInput
from tacita.tables.simplex import norm_sub
from tacita.tables.uncertainty import Covariance

__all__ = ["pool", "pool_blocks", "pooled_mle"]

Array = NDArray[np.float64]


def pool(estimates: Sequence[FrequencyEstimate], weights: Sequence[float] | None = None) -> FrequencyEstimate:
    """The mean of the blocks' estimates, each weighing as much as it has respondents.

    Claim: unbiased, and Cov = sum_b w_b^2 Cov_b with w_b = n_b / n, where no n_b follows from an earlier block.

    Args:
        estimates: Of the same cells, about the same kind of people, from disjoint respondents.
        weights: Other weights than the numbers of respondents; they are scaled to sum to 1.
    """
    if not estimates:
        raise InvalidInput("must hold at least one block", field="estimates")
    first = estimates[0]
    if len(estimates) == 1:
        return first
    for other in estimates:
        if other.frequencies.shape != first.frequencies.shape or other.about != first.about:
            raise InvalidInput("must be over the same cells and about the same", field="estimates", value=other.about)
    respondents = sum(one.respondents for one in estimates)
    given = np.array([one.respondents for one in estimates] if weights is None else weights, float)
    shares = given / given.sum()
    parts = [one.uncertainty for one in estimates]
    uncertainty = Covariance(
        diagonal=sum((w * w * part.diagonal for w, part in zip(shares, parts, strict=True)), np.zeros(1)),
        vectors=np.vstack([w * part.vectors for w, part in zip(shares, parts, strict=True)]),
        signs=np.concatenate([part.signs for part in parts]),
    )
    frequencies = shares @ np.stack([one.frequencies for one in estimates])
    same = all(one.observed.shape == frequencies.shape for one in estimates)
    observed = shares @ np.stack([one.observed for one in estimates]) if same else np.full(frequencies.size, np.nan)
    return FrequencyEstimate(
        frequencies=frequencies,
        observed=observed,
        offset=np.full(frequencies.size, np.nan),  # no one binomial law stands behind a cell any more
        slope=np.nan,
        respondents=respondents,
        about=first.about,
        uncertainty=uncertainty,
        binomial=False,
    )


def pool_blocks(
    channels: Sequence[Channel],
    counts: Sequence[ArrayLike],
    *,
    about: About = "population",
    at: ArrayLike | None = None,
    planned: Sequence[float] | None = None,
) -> FrequencyEstimate:
    """The pooled estimate of several blocks, with every block's covariance at what all of them say.

    A covariance is a function of the true shares. One block's own estimate of them may be far off, or impossible: at a
    share below zero the variance would be too small, or none. So the pool's estimate is taken, made possible.

    Args:
        channels: The channel of each block; over the same levels.
        counts: The tally of each block.
        about: What the estimate is about.
        at: Shares at which the covariance is evaluated, where a better estimate of them is known.
        planned: Where the number of reports of a block follows from the block before: the planned share of each block.
            Weights are then the roots of planned share times reports, so that the error over its standard deviation is
            a sum with fixed coefficients: normal, whatever the first block made of the second (`phased`).
    """
    found = [channel.estimate(np.asarray(seen), about=about) for channel, seen in zip(channels, counts, strict=True)]
    weights = None
    if planned is not None:
        weights = [float(np.sqrt(part * one.respondents)) for part, one in zip(planned, found, strict=True)]
    possible = np.asarray(norm_sub(pool(found, weights).frequencies if at is None else at).frequencies)
    known = [
        replace(one, uncertainty=channel.covariance(possible, respondents=one.respondents, about=about))
        for channel, one in zip(channels, found, strict=True)
    ]
    return pool(known, weights)


def pooled_mle(
    channels: Sequence[EnumerableChannel],
    counts: Sequence[ArrayLike],
    *,
    tolerance: float = 1e-10,
    most_steps: int = 20_000,
) -> Fitted:
    """The distribution that makes all blocks' reports most likely.

    It maximises sum_b sum_y o_by ln r_by with r_b the law of a report of block b: concave, so that EM from the uniform
    distribution climbs to the top. For randomized response the coin is what is hidden,

        x_w <- sum_b o_bw p_b x_w / (p_b x_w + b_bw),      normalised,

    because a fake says nothing about x; for another channel the value is, as in `_em`. Both count how many informative
    answers each cell has had, so that blocks of both kinds mix.

    Args:
        channels: The channel of each block; over the same levels.
        counts: How often each report came, for each block.
        tolerance: Stop when the log likelihood per report rises by less.
        most_steps: Stop here in any case, and say so.
    """
    if len(channels) != len(counts) or not channels:
        raise InvalidInput("must be one for each block, and one at least", field="counts", value=len(counts))
    if len({channel.levels for channel in channels}) > 1:
        raise InvalidInput("must be over the same levels", field="channels")
    blocks = _gathered(channels, [_checked(c, seen) for c, seen in zip(channels, counts, strict=True)])
    respondents = sum(float(seen.sum()) for _, _, seen in blocks)
    x = np.full(channels[0].levels, 1 / channels[0].levels)
    likelihood, step, converged = -np.inf, 0, False
    while step < most_steps and not converged:
        before, likelihood, informative = likelihood, 0.0, np.zeros_like(x)
        for slope, other, seen in blocks:
            if slope is None:
                r = x @ other
                informative += x * (other @ (seen / r))
            else:
                r = slope * x + other
                informative += (seen * slope * x / r).sum(axis=0)
            likelihood += float((seen * np.log(r)).sum()) / respondents
        converged = likelihood - before < tolerance
        x = informative / informative.sum()
        step += 1
    x.setflags(write=False)
    return Fitted(frequencies=x, steps=step, converged=converged, log_likelihood=likelihood, method="em")


def _checked(channel: EnumerableChannel, counts: ArrayLike) -> NDArray[Any]:
    seen = np.asarray(counts)
    reports = channel.levels if isinstance(channel, KeepsOrFakes) else channel.weights().shape[1]
    if seen.shape != (reports,) or seen.dtype.kind not in "iu" or (seen < 0).any() or not seen.any():
        rule = f"must be {reports} non-negative integers, not all 0"
        raise InvalidInput(rule, field="counts", value=f"{seen.dtype}, shape {seen.shape}")
    return seen


def _gathered(
    channels: Sequence[EnumerableChannel], counts: Sequence[NDArray[Any]]
) -> list[tuple[Array | None, Array, Array]]:
    """All blocks of randomized response as rows of one (slope, fakes, counts); any other as (None, matrix, counts)."""
    rows = [(c, seen) for c, seen in zip(channels, counts, strict=True) if isinstance(c, KeepsOrFakes)]
    found: list[tuple[Array | None, Array, Array]] = []
    if rows:
        slope = np.array([[channel.keep_probability] for channel, _ in rows])
        fakes = np.stack([channel.fake_probabilities() for channel, _ in rows])
        found.append((slope, fakes, np.stack([seen for _, seen in rows]).astype(float)))
    for channel, seen in zip(channels, counts, strict=True):
        if not isinstance(channel, KeepsOrFakes):
            kept = seen > 0  # a report that never came says nothing, and its logarithm may not exist
            found.append((None, np.ascontiguousarray(channel.matrix()[:, kept]), seen[kept].astype(float)))
    return found
