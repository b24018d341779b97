"""Whether chains agree, and how well a topic model predicts visits that it has not seen.

    R-hat        chains are cut in halves; between W (variance within them) and B (n times the variance of their
                 means), R-hat = sqrt(((n - 1)/n W + B/n) / W)          [Gelman et al. 2013]
    perplexity   exp(- sum_c ln p(second half of c's visits | first half) / visits of the second halves)
                 p is a mean over S draws of theta given the first half: of the product over the visits, before the
                 logarithm is taken. This is document completion  [Wallach et al. 2009], consistent as S grows; a mean
                 of logarithms would not be.

Held-out visits of one card alternate between the halves, so that both cover the same days.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from tacita import check
from tacita.errors import InvalidInput
from tacita.synthesize.mobility.reading import Visits
from tacita.synthesize.mobility.topic_models import gibbs

if TYPE_CHECKING:
    from tacita.synthesize.mobility.topic_models.topics import TopicModel

__all__ = ["completion_log_probabilities", "mixes_of", "perplexity", "split_rhat"]

Array = NDArray[np.float64]
_BURN = 20


def split_rhat(traces: ArrayLike) -> float:
    """Return R-hat of chains, each cut in halves; infinite where chains do not move and differ.

    >>> split_rhat([[1.0, 2.0, 1.0, 2.0], [2.0, 1.0, 2.0, 1.0]])
    0.7071067811865476
    """
    given = np.atleast_2d(np.asarray(traces, np.float64))
    length = given.shape[1] // 2
    if length < 2:
        raise InvalidInput("must have at least 4 records in each chain", field="traces", value=given.shape[1])
    halves = np.concatenate([given[:, :length], given[:, -length:]])
    within = float(halves.var(axis=1, ddof=1).mean())
    between = float(halves.mean(axis=1).var(ddof=1))
    if within == 0:
        return 1.0 if between == 0 else float("inf")
    return float(np.sqrt((length - 1) / length + between / within))


def _halves(visits: Visits) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """Mask of the visits of the first half, and the cards that have both halves."""
    place = np.arange(len(visits.place)) - np.repeat(visits.starts[:-1], np.diff(visits.starts))
    return place % 2 == 0, np.flatnonzero(np.diff(visits.starts) >= 2)


def _draws(
    model: TopicModel, starts: NDArray[np.int64], weight: Array, samples: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    counts = np.zeros((samples, len(starts) - 1, model.topics), np.int64)
    state = rng.integers(0, 2**63, 1, dtype=np.uint64)
    gibbs.fold_in(starts, np.ascontiguousarray(weight), model.recipe.alpha, _BURN, samples, counts, state)
    return counts


def mixes_of(model: TopicModel, visits: Visits, rng: np.random.Generator, *, samples: int = 20) -> Array:
    """Return the posterior mean of the topic mix of new cards, phi and psi fixed."""
    counts = _draws(model, visits.starts, model.weights(visits), samples, rng)
    mean = counts.mean(axis=0) + model.recipe.alpha
    return np.asarray(mean / mean.sum(axis=1, keepdims=True))


def completion_log_probabilities(
    model: TopicModel, visits: Visits, rng: np.random.Generator, *, samples: int = 50
) -> tuple[Array, NDArray[np.int64]]:
    """Return ln p(second half | first half) of each card with two visits or more, and the visits of its second half."""
    check.whole(samples, "samples", least=1)
    first, cards = _halves(visits)
    if not len(cards):
        raise InvalidInput("must have a card with two visits", field="visits")
    weight, owner = model.weights(visits), visits.card
    some = np.isin(owner, cards)
    seen, hidden = np.flatnonzero(first & some), np.flatnonzero(~first & some)
    starts = np.searchsorted(owner[seen], np.append(cards, visits.cards)).astype(np.int64)
    ends = np.searchsorted(owner[hidden], np.append(cards, visits.cards)).astype(np.int64)
    counts = _draws(model, starts, weight[seen], samples, rng)
    row = np.repeat(np.arange(len(cards)), np.diff(ends))
    logs = np.empty((samples, len(cards)))
    for place, drawn in enumerate(counts):
        gammas = rng.standard_gamma(drawn + model.recipe.alpha)
        theta = gammas / gammas.sum(axis=1, keepdims=True)
        each = np.log(np.maximum((theta[row] * weight[hidden]).sum(axis=1), 1e-300))
        logs[place] = np.add.reduceat(each, ends[:-1])
    return np.asarray(special.logsumexp(logs, axis=0) - np.log(samples)), np.diff(ends)


def perplexity(model: TopicModel, visits: Visits, rng: np.random.Generator, *, samples: int = 50) -> float:
    """Return the perplexity of held-out visits by document completion: smaller is better.

    Cards with one visit have no second half, and are left out.
    """
    logs, sizes = completion_log_probabilities(model, visits, rng, samples=samples)
    return float(np.exp(-logs.sum() / sizes.sum()))
