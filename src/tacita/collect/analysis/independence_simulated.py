"""Independence tested by running the protocol again under the hypothesis.   Claim: docs/claims/independence.md

Fit the hypothesis to the reports, draw people from the fit, send them through the same channel, tally, estimate and
compute the statistic, as often as wanted. Nothing is assumed about the law of the statistic, so this is the test for
few reports, many cells and thin strata.

How many people answered a question does not depend on what they answered, so their number is kept as it is. Where the
channel of a block follows what earlier blocks have learnt, each simulation derives it anew from its own reports. A
tally that does not say how its channels came about is tested given these channels, and the verdict says so.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tacita.collect.analysis.hypothesis import Hypothesis, Verdict
from tacita.collect.analysis.independence import arranged, known_total, product, quadratic_form
from tacita.collect.channels.following import next_channel
from tacita.collect.channels.protocol import Channel, EnumerableChannel, traits_of
from tacita.collect.estimating.pooling import pool
from tacita.collect.estimating.tally import Tally
from tacita.collect.planning.design import Asked
from tacita.errors import InvalidInput, UnknownName
from tacita.noise import SeededSource
from tacita.tables.simplex import norm_sub
from tacita.tables.uncertainty import Covariance

__all__ = ["AskedTable", "fit_null", "monte_carlo_test", "product_of_margins"]

Array = NDArray[np.float64]
Counts = NDArray[np.int64]

_MOST_EM_CELLS = 1024
_EM_STEPS = 1000
_EM_TOLERANCE = 1e-3
"""Of the log likelihood of all reports; a fit is uncertain by about 1 in it, so that more says nothing."""


def monte_carlo_test(
    tally: Tally,
    key: Sequence[str],
    hypothesis: Hypothesis | None = None,
    *,
    simulations: int = 199,
    seed: int,
) -> Verdict:
    """Test a table that was asked for, against the law that its statistic has under the same protocol.

    Args:
        tally: The counts.
        key: The attributes of the question, as it was asked.
        hypothesis: Over all of them; mutual independence if not given.
        simulations: How often the protocol is run again; at least 1/alpha - 1 for a test at level alpha.
        seed: Of the simulations, which protect no one.
    """
    if isinstance(simulations, bool) or not isinstance(simulations, int) or simulations < 1:
        raise InvalidInput("must be a whole number of at least 1", field="simulations", value=simulations)
    question = AskedTable(tally, tuple(key), hypothesis or Hypothesis.of(*key))
    source = SeededSource(seed)
    rng = source.generator()
    null = question.null()
    drawn = [question.statistic(*question.again(null, rng, source)) for _ in range(simulations)]
    given = ", given the channels of its blocks" if question.channels_are_given else ""
    return Verdict.simulated_from(
        question.statistic(question.channels, question.counts),
        drawn,
        hypothesis=question.hypothesis.words,
        method=f"Monte Carlo through {type(question.channels[0]).__name__}, {simulations} simulations{given}",
        df=question.hypothesis.df(question.domain),
    )


class AskedTable:
    """One question of a tally, in all its blocks, and how its table is laid out for the hypothesis.

    `again` runs its protocol on people of another table, and `statistic` is the same for both.
    """

    def __init__(self, tally: Tally, key: tuple[str, ...], hypothesis: Hypothesis) -> None:
        self.hypothesis = hypothesis
        self.blocks = _find(tally, key)
        self.counts = [counts for _, _, counts in self.blocks]
        self.design, self.domain = tally.design, tally.design.domain.project(key)
        if set(hypothesis.attributes) != set(key):
            rule = "must be about all attributes of the question"
            raise InvalidInput(rule, field="hypothesis", value=list(hypothesis.attributes))
        self.people = [asked.oracle.estimate(counts).respondents for _, asked, counts in self.blocks]
        self.shape = hypothesis.shape(self.domain)
        axes = [key.index(name) for name in hypothesis.attributes]
        cells = np.arange(self.domain.size).reshape(self.domain.shape)
        self.order = cells.transpose(axes).reshape(-1)
        """The question's cells in the order of the hypothesis."""

    @property
    def channels(self) -> list[Channel]:
        """The channel of each block."""
        return [asked.oracle for _, asked, _ in self.blocks]

    def _follows(self, block: int) -> bool:
        """Whether the channel of a block was derived from the reports of those before it."""
        return block > 0 and self.channels[block] != self.channels[block - 1]

    @property
    def channels_are_given(self) -> bool:
        """Whether channels differ between blocks and the design does not say how they were derived."""
        return self.design.floor is None and any(self._follows(block) for block in range(len(self.blocks)))

    def asked_order(self, laid_out: Array) -> Array:
        """A table in the layout of the hypothesis, in the question's order of cells."""
        cells = np.empty_like(laid_out)
        cells[self.order] = laid_out
        return cells

    def null(self) -> Array:
        """The fitted hypothesis, in the question's order of cells."""
        return self.asked_order(fit_null(self.channels, self.counts, self.shape, self.order))

    def again(self, null: Array, rng: np.random.Generator, source: SeededSource) -> tuple[list[Channel], list[Counts]]:
        """The whole protocol, of people drawn from the null: the channel of each block, and what it tallied."""
        channels: list[Channel] = []
        tallied: list[Counts] = []
        for block, ((number, asked, _), people) in enumerate(zip(self.blocks, self.people, strict=True)):
            channel = asked.oracle
            if self.design.floor is not None and self._follows(block):
                learnt = pool([before.estimate(seen) for before, seen in zip(channels, tallied, strict=True)])
                channel = next_channel(
                    asked.oracle,
                    learnt.frequencies,
                    domain=self.domain,
                    epsilon=self.design.promise(number),
                    floor=self.design.floor,
                    penalty=self.design.penalty,
                )
            cells = np.repeat(np.arange(null.size), rng.multinomial(people, null))
            channels.append(channel)
            tallied.append(channel.tally(channel.randomize(cells, source)))
        return channels, tallied

    def statistic(self, channels: Sequence[Channel], counts: Sequence[Counts]) -> float:
        """Wald's, with the covariance at the product of the margins.

        At the null the covariance of every channel has full rank, also where a cell was never reported. That makes
        no difference in the limit, and is the same rule for the reports and for each simulation.
        """
        found = [channel.estimate(seen) for channel, seen in zip(channels, counts, strict=True)]
        pooled = np.asarray(pool(found).frequencies)
        at = self.asked_order(product_of_margins(pooled[self.order], self.shape))
        blocks = zip(channels, found, strict=True)
        known = [replace(one, uncertainty=c.covariance(at, respondents=one.respondents)) for c, one in blocks]
        values, covariance = known_total(pooled, pool(known).uncertainty)
        return quadratic_form(values[self.order], _reordered(covariance, self.order), self.shape)


def _reordered(covariance: Covariance, order: NDArray[np.intp]) -> Covariance:
    vectors = covariance.vectors[:, order]
    return Covariance(diagonal=covariance.diagonal[order], vectors=vectors, signs=covariance.signs)


def _find(tally: Tally, key: tuple[str, ...]) -> list[tuple[int, Asked, Counts]]:
    """The question in every block that has answers: its number, what was asked, what was counted."""
    found = []
    for number, asked in enumerate(tally.design.questions):
        counts = tally.counts(number)
        if asked.attributes == key and counts is not None:
            found.append((number, asked, counts))
    if found:
        return found
    known = [" x ".join(asked.attributes) for asked, _ in tally]
    raise UnknownName(" x ".join(key), field="key", available=list(dict.fromkeys(known)))


# -- the fitted hypothesis ---------------------------------------------------------------------------------------------


def fit_null(
    channels: Sequence[Channel], counts: Sequence[Counts], shape: Sequence[int], order: NDArray[np.intp]
) -> Array:
    """The distribution of the hypothesis that fits the tallies best, in the layout `shape`.

    Maximum likelihood where a tally says how often each report came; else, where only supports are known, the product
    of the projected margins. Several blocks are one channel whose report says the block too.

    Args:
        channels: What the reports of each block went through.
        counts: The tally of each block.
        shape: (strata, parts ..).
        order: The channels' levels in the order of that layout.
    """
    found = pool([channel.estimate(seen) for channel, seen in zip(channels, counts, strict=True)])
    start = product_of_margins(np.asarray(found.frequencies)[order], shape)
    listed = [channel for channel in channels if isinstance(channel, EnumerableChannel)]
    counted = len(listed) == len(channels) and all(traits_of(channel).counts_reports for channel in channels)
    if not counted or order.size * len(channels) > _MOST_EM_CELLS:
        return start
    shares = [seen.sum() / found.respondents for seen in counts]
    matrix = np.hstack([share * channel.matrix()[order] for share, channel in zip(shares, listed, strict=True)])
    return product_likelihood(matrix, np.concatenate(counts), shape, start)


def product_likelihood(matrix: Array, counts: Counts, shape: Sequence[int], start: Array) -> Array:
    """EM for the product model behind a channel.

    E: how many reports came from each cell, given the current fit (the update of `_em`). M: the likelihood of a
    complete table under the hypothesis is largest at the product of its margins, stratum by stratum. Each pair of steps
    raises the likelihood of the reports.

    Args:
        matrix: The channel's probabilities, rows cells and columns reports.
        counts: How often each report came.
        shape: (strata, parts ..).
        start: A first guess; some uniform is mixed in, because what starts at 0 stays there.
    """
    seen = counts > 0
    total, share = counts.sum(), counts[seen] / counts.sum()
    matrix = np.ascontiguousarray(matrix[:, seen])
    x, likelihood = 0.99 * start + 0.01 / start.size, -np.inf
    for _ in range(_EM_STEPS):
        r = x @ matrix
        before, likelihood = likelihood, float(share @ np.log(r))
        if total * (likelihood - before) < _EM_TOLERANCE:
            break
        x = product(x * (matrix @ (share / r)), shape)
    return x


def product_of_margins(pi: Array, shape: Sequence[int]) -> Array:
    """The hypothesis with the margins of an unbiased table, each made non-negative by `norm_sub`."""
    table, margins = arranged(pi, shape)
    strata = norm_sub(table.reshape(shape[0], -1).sum(axis=1)).frequencies
    projected = np.zeros(shape)
    for z, share in enumerate(strata):
        if share > 0:
            parts = [norm_sub(m[z].reshape(-1), total=share).frequencies.reshape(m[z].shape) / share for m in margins]
            projected[z] = share * math.prod(parts[1:], start=parts[0])
    return projected.reshape(-1)
