"""Blocks through a matrix that is refitted to what earlier blocks have learnt.

Privacy: local, pure. The matrix of every block is held to the promised epsilon over all pairs of cells, in the integers
that run; its exact loss may be less. Each respondent answers in one block. A matrix depends on other people's reports
only, so it costs its receiver nothing.
Utility: unbiased shares with a covariance, by pooling the blocks (`estimating.pooling`). Reports are as near to the
truth as the penalty, the floor and epsilon allow, for the table learnt so far. At a fixed true epsilon plain randomized
response has less variance in shares: refit for reports that are used one by one, or where far answers cost more.
Claim page: docs/claims/adaptive-hybrid.md.   Flags: unvetted.

The published scheme put its constraints on neighbouring cells of the noise alone and mixed in the truth afterwards, so
that a report that its optimum never used came only from those who hold it: no loss bounds that. Campaigns run the same
blocks: `tacita collect create --channel optimal --block N`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacita.collect.channels.following import penalties, refitted_channel
from tacita.collect.channels.matrix import MatrixChannel
from tacita.collect.device.channels import Penalty
from tacita.collect.protocols.rrba_rounds import RrbaRounds
from tacita.domain import Domain
from tacita.errors import InvalidInput

__all__ = ["BlockCost", "MatrixRounds"]


@dataclass(frozen=True, kw_only=True)
class BlockCost:
    """One block: what it cost its respondents, and what its reports are worth.

    Attributes:
        respondents: Their number.
        epsilon: The exact loss of its integers, rounded outward.
        expected_penalty: Mean penalty of a report, if the table that the matrix was fitted to were the truth.
    """

    respondents: int
    epsilon: float
    expected_penalty: float


class MatrixRounds(RrbaRounds):
    """State of the aggregator.

    Args:
        domain: The attributes of the table; their cells are the levels of the channel.
        epsilon: The loss that every respondent is promised; that of each block is at most this.
        floor: Share of plain randomized response in every matrix, above 0 and at most 1; at 1 nothing is fitted.
        block_size: How many people answer before the matrix is refitted.
        penalty: Cost of reporting one cell for another.
    """

    method = "matrix refitted in blocks"

    def __init__(
        self, domain: Domain, *, epsilon: float, floor: float, block_size: int, penalty: Penalty = "distance"
    ) -> None:
        self.penalty: Penalty = penalty
        self.cost = penalties(domain, penalty)
        self._fitted: list[NDArray[np.float64]] = []
        super().__init__(domain, epsilon=epsilon, floor=floor, block_size=block_size)

    def _channel(self, table: NDArray[np.float64]) -> MatrixChannel:
        self._fitted.append(table)
        return refitted_channel(table, cost=self.cost, epsilon=self.epsilon, floor=self.floor)

    def costs(self) -> tuple[BlockCost, ...]:
        """Cost and worth of every closed block."""
        return tuple(
            BlockCost(
                respondents=int(block.counts.sum()),
                epsilon=block.channel.epsilon_upper,
                expected_penalty=float((prior[:, None] * self.cost * block.channel.matrix()).sum()),
            )
            for block, prior in zip(self.blocks, self._fitted, strict=False)
        )

    def expected_penalty(self, truth: ArrayLike) -> float:
        """Mean penalty of a report of the present matrix, if these are the true shares."""
        shares = np.asarray(truth, dtype=np.float64).reshape(-1)
        if shares.shape != (self.domain.size,):
            raise InvalidInput(f"must be {self.domain.size} shares", field="truth", value=shares.shape)
        return float((shares[:, None] * self.cost * self.channel.matrix()).sum())
