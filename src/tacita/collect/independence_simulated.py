"""Independence tested by running the protocol again under the hypothesis.   Claim: docs/claims/independence.md

Fit the hypothesis to the reports, draw people from the fit, send them through the same channel, tally, estimate and
compute the statistic, as often as wanted. Nothing is assumed about the law of the statistic, so this is the test for
few reports, many cells and thin strata.

How many people answered a question does not depend on what they answered, so their number is kept as it is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tacita.collect.channel import RandomizedResponse
from tacita.collect.design import Asked
from tacita.collect.hypothesis import Hypothesis, Verdict
from tacita.collect.independence_wald import arranged, known_total, product, quadratic_form
from tacita.collect.matrix import MatrixChannel
from tacita.collect.protocol import Channel
from tacita.collect.simplex import norm_sub
from tacita.collect.tally import Reports, Tally
from tacita.errors import InvalidInput, UnknownName
from tacita.noise import SeededSource
from tacita.uncertainty import Covariance

__all__ = ["fit_null", "monte_carlo_test", "product_of_margins"]

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
    """Test a table that was asked for, against the law that its statistic has in this very protocol.

    Args:
        tally: What was counted.
        key: The attributes of the question, as it was asked.
        hypothesis: Over all of them; mutual independence if nothing is said.
        simulations: How often the protocol is run again; at least 1/alpha - 1 for a test at level alpha.
        seed: Of the simulations. They are no noise that protects anybody.
    """
    if isinstance(simulations, bool) or not isinstance(simulations, int) or simulations < 1:
        raise InvalidInput("must be a whole number of at least 1", field="simulations", value=simulations)
    question = _Question(tally, tuple(key), hypothesis or Hypothesis.of(*key))
    source = SeededSource(seed)
    rng = source.generator()
    null = question.null()
    drawn = [question.statistic(question.again(null, rng, source)) for _ in range(simulations)]
    return Verdict.simulated_from(
        question.statistic(question.counts),
        drawn,
        hypothesis=question.hypothesis.words,
        method=f"Monte Carlo through {type(question.asked.channel).__name__}, {simulations} simulations",
        df=question.hypothesis.df(question.domain),
    )


class _Question:
    """One question of a tally, and how its table is laid out for the hypothesis."""

    def __init__(self, tally: Tally, key: tuple[str, ...], hypothesis: Hypothesis) -> None:
        self.hypothesis = hypothesis
        self.number, self.asked, self.counts = _find(tally, key)
        self.design, self.domain = tally.design, tally.design.domain.project(key)
        if set(hypothesis.attributes) != set(key):
            rule = "must be about all attributes of the question"
            raise InvalidInput(rule, field="hypothesis", value=list(hypothesis.attributes))
        self.people = self.asked.channel.estimate(self.counts).respondents
        self.shape = hypothesis.shape(self.domain)
        axes = [key.index(name) for name in hypothesis.attributes]
        cells = np.arange(self.domain.size).reshape(self.domain.shape)
        self.order = cells.transpose(axes).reshape(-1)
        """The question's cells in the order of the hypothesis."""

    def _asked_order(self, laid_out: Array) -> Array:
        cells = np.empty_like(laid_out)
        cells[self.order] = laid_out
        return cells

    def null(self) -> Array:
        """The fitted hypothesis, in the question's order of cells."""
        return self._asked_order(fit_null(self.asked.channel, self.counts, self.shape, self.order))

    def again(self, null: Array, rng: np.random.Generator, source: SeededSource) -> Counts:
        """People drawn from the null, through the channel, tallied."""
        cells = np.repeat(np.arange(null.size), rng.multinomial(self.people, null))
        reports = Reports({self.number: self.asked.channel.randomize(cells, source)}, simulated=True)
        tally = Tally(self.design).add(reports)
        ((_, counts),) = tally
        return counts

    def statistic(self, counts: Counts) -> float:
        """Wald's, with the covariance at the product of the margins.

        At the null the covariance of every channel has full rank, also where a cell was never reported. That makes
        no difference in the limit, and is the same rule for the reports and for each simulation.
        """
        found = self.asked.channel.estimate(counts)
        flat = np.asarray(found.frequencies)[self.order]
        at = self._asked_order(product_of_margins(flat, self.shape))
        covariance = self.asked.channel.covariance(at, respondents=found.respondents)
        values, covariance = known_total(np.asarray(found.frequencies), covariance)
        return quadratic_form(values[self.order], _reordered(covariance, self.order), self.shape)


def _reordered(covariance: Covariance, order: NDArray[np.intp]) -> Covariance:
    vectors = covariance.vectors[:, order]
    return Covariance(diagonal=covariance.diagonal[order], vectors=vectors, signs=covariance.signs)


def _find(tally: Tally, key: tuple[str, ...]) -> tuple[int, Asked, Counts]:
    for asked, counts in tally:
        if asked.attributes == key:
            return tally.design.questions.index(asked), asked, counts
    known = [" x ".join(asked.attributes) for asked, _ in tally]
    raise UnknownName(" x ".join(key), field="key", available=known)


# -- the fitted hypothesis ---------------------------------------------------------------------------------------------


def fit_null(channel: Channel, counts: Counts, shape: Sequence[int], order: NDArray[np.intp]) -> Array:
    """The distribution of the hypothesis that fits the tally best, in the layout `shape`.

    Maximum likelihood where a tally says how often each report came; else, where only supports are known, the product
    of the projected margins.

    Args:
        channel: What the reports went through.
        counts: Its tally.
        shape: (strata, parts ..).
        order: The channel's levels in the order of that layout.
    """
    start = product_of_margins(np.asarray(channel.estimate(counts).frequencies)[order], shape)
    if isinstance(channel, RandomizedResponse | MatrixChannel) and order.size <= _MOST_EM_CELLS:
        return product_likelihood(channel.matrix()[order], counts, shape, start)
    return start


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
