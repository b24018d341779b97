"""Channels of later blocks: they follow what earlier blocks have learnt, at the promise of the campaign.

    following_channel    randomized response whose fakes are drawn from the learnt table
    refitted_channel     the matrix with the least expected penalty of a report if the learnt table is the truth
    next_channel         one of the two, by the channel of the block before

Privacy:  the promise and the floor stay. The loss of a block is that of the integers it runs, over all pairs of cells.
          The table that a channel follows is one that may be published, since the channel is sent to every device.
          Claims: docs/claims/rrba.md, docs/claims/adaptive-hybrid.md
Utility:  estimates of later blocks are unbiased given the past and are pooled with their covariances. At one epsilon
          plain randomized response estimates shares best; a refitted matrix makes each report worth more by itself.

A penalty states what it costs to report one cell for another. Over several attributes it is the sum over attributes:
places apart on an ordered one (or their square), 1 for any change of another.
"""

from __future__ import annotations

from typing import get_args

import numpy as np
import numpy.typing as npt

from tacita import check
from tacita.collect.channels.channel import RandomizedResponse
from tacita.collect.channels.geometric import distance_loss, mix_with_response, optimal_rows
from tacita.collect.channels.matrix import MatrixChannel
from tacita.collect.channels.protocol import Channel, Randomizer
from tacita.collect.device.channels import Penalty
from tacita.domain import Date, Domain, Numeric, Ordinal
from tacita.errors import InvalidInput
from tacita.tables.simplex import norm_sub

__all__ = [
    "MOST_REFITTED",
    "check_following",
    "following_channel",
    "next_channel",
    "optimal_for",
    "penalties",
    "refitted_channel",
]

MOST_REFITTED = 40
"""Cells of a table whose matrix is refitted: its linear program takes half a second."""
_UNSEEN = 0.01
"""Weight of the uniform in the prior."""
_WORSE = 10.0
"""How much worse than that of its share of randomized response the condition of a matrix may be."""


def following_channel(learnt: npt.ArrayLike, *, epsilon: float, floor: float) -> RandomizedResponse:
    """Randomized response whose fakes are drawn from an estimated table.

    Args:
        learnt: Unbiased frequencies of all cells, which may be negative.
        epsilon: What a report may cost.
        floor: Share of the fakes that stays even over all cells.
    """
    shares = norm_sub(np.asarray(learnt, float).reshape(-1)).frequencies
    return RandomizedResponse.with_fakes(distribution=shares.tolist(), epsilon=epsilon, floor=floor)


def penalties(domain: Domain, penalty: Penalty) -> npt.NDArray[np.float64]:
    """Cost of reporting one cell of a table for another, a row for each true cell.

    Args:
        domain: Attributes of the table.
        penalty: "distance", "squared", or "exact" for 1 whenever the cell is not the true one.
    """
    check.one_of(penalty, "penalty", get_args(Penalty))
    if penalty == "exact":
        return np.asarray(1 - np.eye(domain.size))
    codes = np.indices(domain.shape).reshape(len(domain.names), -1)
    total = np.zeros((domain.size, domain.size))
    for name, code in zip(domain.names, codes, strict=True):
        size = domain[name].size
        ordered = isinstance(domain[name], Numeric | Ordinal | Date)
        own = distance_loss(size, 2.0 if penalty == "squared" else 1.0) if ordered else 1 - np.eye(size)
        total += own[np.ix_(code, code)]
    return total


def refitted_channel(
    learnt: npt.ArrayLike, *, cost: npt.NDArray[np.float64], epsilon: float, floor: float
) -> MatrixChannel:
    """The matrix with the least expected cost for an estimated table, kept invertible by a share of randomized
    response.

    Every pair of cells is held to e^epsilon in the final integers. The share is the floor; where the matrix would still
    be near to merging cells it is raised halfway to 1, again and again. No column vanishes, because none of randomized
    response does.

    Args:
        learnt: Unbiased frequencies of all cells, which may be negative.
        cost: Of reporting one cell for another, a row for each true cell.
        epsilon: What a report may cost.
        floor: Least share of plain randomized response in the matrix, above 0 and at most 1.
    """
    shares = norm_sub(np.asarray(learnt, float).reshape(-1)).frequencies
    _check(len(shares), floor)
    # a cell that is estimated at 0 may not be: with no weight at all its row would be arbitrary
    prior = (1 - _UNSEEN) * np.asarray(shares) + _UNSEEN / len(shares)
    best = optimal_rows(prior=prior, loss=cost, epsilon=epsilon)
    plain = RandomizedResponse.k_ary(levels=len(shares), epsilon=epsilon).matrix()
    even, share = float(np.linalg.cond(plain)), floor
    while True:
        channel = mix_with_response(best, plain=share, epsilon=epsilon)
        if share >= 1 or channel.condition <= _WORSE * even / share:
            return channel
        share = (1 + share) / 2 if share < 0.99 else 1.0


def _check(cells: int, floor: float) -> None:
    if not 0 < floor <= 1:
        raise InvalidInput("must be above 0 and at most 1", field="floor", value=floor)
    if cells > MOST_REFITTED:
        hint = "Ask for smaller tables, or choose another channel"
        raise InvalidInput(f"must have at most {MOST_REFITTED} cells each", field="tables", value=cells, hint=hint)


def optimal_for(domain: Domain, epsilon: float, *, penalty: Penalty = "distance", floor: float = 0.5) -> MatrixChannel:
    """The channel of a first block: nothing is known, so every cell counts as equally likely.

    Args:
        domain: Attributes of the table. epsilon: The loss wanted, at most.
        penalty: Cost of a wrong report. floor: As in `refitted_channel`.
    """
    _check(domain.size, floor)
    even = np.full(domain.size, 1 / domain.size)
    return refitted_channel(even, cost=penalties(domain, penalty), epsilon=epsilon, floor=floor)


def next_channel(
    channel: Randomizer, learnt: npt.ArrayLike, *, domain: Domain, epsilon: float, floor: float, penalty: Penalty
) -> Channel:
    """The channel of the next block.

    Args:
        channel: That of the block before, whose traits say that it follows tables.
        learnt: Unbiased frequencies of all cells, from all blocks so far; a table that may be published.
        domain: Attributes of the table. epsilon: What a report may cost.
        floor: Share of uniform fakes, or of randomized response in a matrix. penalty: Cost of a wrong report.
    """
    if isinstance(channel, MatrixChannel):
        return refitted_channel(learnt, cost=penalties(domain, penalty), epsilon=epsilon, floor=floor)
    return following_channel(learnt, epsilon=epsilon, floor=floor)


def check_following(channel: Randomizer, *, domain: Domain, epsilon: float, floor: float, penalty: Penalty) -> None:
    """Refuse blocks whose channels could not be made, whatever is learnt: too many cells, or a loss out of reach."""
    # the rarest fake is never below that of a table with a single cell: if this can be calibrated, all can
    single = [1.0] + [0.0] * (channel.levels - 1)
    next_channel(channel, single, domain=domain, epsilon=epsilon, floor=floor, penalty=penalty)
