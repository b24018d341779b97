"""The block protocol: people answer in blocks, and the fakes of a block follow the answers of the blocks before it.

Privacy: local, pure. The channel of every block is built for the same promised epsilon from its own table of fakes, so
that a table with a rarer fake keeps the truth less often; the exact loss of a block is that of the integers it runs.
Each respondent answers in one block. A table depends on other people's reports only, so it costs its receiver nothing.
Utility: unbiased, by pooling the blocks (`estimating.pooling`). At a fixed true epsilon a learned table is worse
than a uniform one (floor 1): fakes that look like the truth hide it for less, but the rarest of them sets the loss.
Claim page: docs/claims/rrba.md.   Flags: unvetted.

The aggregator's side is `RrbaRounds`, the respondents' side is `answer`; nothing but reports passes between them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacita.collect.channels.channel import RandomizedResponse
from tacita.collect.channels.frequencies import FrequencyEstimate
from tacita.collect.channels.parts.em import Fitted
from tacita.collect.channels.protocol import About, EnumerableChannel, Randomizer
from tacita.collect.estimating.pooling import pool_blocks, pooled_mle
from tacita.domain import Domain
from tacita.errors import InvalidInput, Refused
from tacita.noise import SeededSource, Source
from tacita.privacy.event import Pure
from tacita.privacy.unit import Neighbours, Unit
from tacita.tables.cells import Cells
from tacita.tables.release import Provenance, Release
from tacita.tables.simplex import norm_sub
from tacita.tables.uncertainty import Correlated

__all__ = ["Block", "RrbaRounds", "answer", "simulate"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Block:
    """A block that is closed: the channel its people were sent, and how often each cell came back."""

    channel: EnumerableChannel
    counts: NDArray[np.int64]


class RrbaRounds:
    """State of the aggregator. `adaptive_matrix` has the same blocks with another channel.

    Args:
        domain: The attributes of the table; their cells are the levels of the channel.
        epsilon: The loss that every respondent is promised; that of each block is at most this.
        floor: Weight eta of the uniform in the table of fakes (1 - eta) T + eta / K. At 1 nothing is learned, which is
            plain randomized response and the best choice at a given epsilon.
        block_size: How many people answer before the table is learned anew.
    """

    method = "randomized response in blocks"

    def __init__(self, domain: Domain, *, epsilon: float, floor: float, block_size: int) -> None:
        if type(block_size) is not int or block_size < 1:
            raise InvalidInput("must be an integer of 1 or more", field="block_size", value=block_size)
        self.domain, self.epsilon, self.floor, self.block_size = domain, epsilon, floor, block_size
        self.blocks: list[Block] = []
        self.simulated = False
        self._learned = np.zeros(domain.size)  # sum over blocks of people times estimate
        self.channel = self._channel(np.full(domain.size, 1 / domain.size))

    def _channel(self, table: NDArray[np.float64]) -> EnumerableChannel:
        return RandomizedResponse.with_fakes(distribution=table.tolist(), epsilon=self.epsilon, floor=self.floor)

    @property
    def respondents(self) -> int:
        """Number of people who have answered."""
        return sum(int(block.counts.sum()) for block in self.blocks)

    @property
    def epsilon_upper(self) -> float:
        """The most that one answer has cost or would cost now: that of the dearest block, rounded outward."""
        return max(channel.epsilon_upper for channel in (self.channel, *(block.channel for block in self.blocks)))

    def close(self, reports: NDArray[Any], *, simulated: bool) -> None:
        """Count the reports of a block and learn the next table of fakes from all blocks together."""
        counts = self.channel.tally(reports)
        self._learned += counts.sum() * self.channel.estimate(counts).frequencies
        self.blocks.append(Block(channel=self.channel, counts=counts))
        self.simulated = self.simulated or simulated
        self.channel = self._channel(norm_sub(self._learned / self.respondents).frequencies)

    def estimate(self, *, about: About = "population") -> FrequencyEstimate:
        """Unbiased shares from all blocks, with their covariance."""
        return pool_blocks(
            [block.channel for block in self.blocks], [block.counts for block in self.blocks], about=about
        )

    def most_likely(self) -> Fitted:
        """The distribution that makes all reports most likely; never negative, and biased for that."""
        return pooled_mle([block.channel for block in self.blocks], [block.counts for block in self.blocks])

    def release(self, *, about: About = "population") -> Release:
        """The pooled table with its error and what it cost each respondent."""
        found = self.estimate(about=about)
        recipe = {
            "method": self.method,
            "blocks": len(self.blocks),
            "block_size": self.block_size,
            "floor": self.floor,
            "respondents": found.respondents,
            "about": about,
        }
        return Release(
            estimate=Cells(self.domain, np.asarray(found.frequencies).reshape(self.domain.shape)),
            quantity="share",
            uncertainty=Correlated(covariance=found.uncertainty),
            event=Pure(epsilon=max(block.channel.epsilon_upper for block in self.blocks)),
            unit=Unit.row(),
            neighbours=Neighbours.REPLACE_ONE,
            trust="local",
            provenance=Provenance(recipe=recipe, simulated=self.simulated),
        )


def answer(channel: Randomizer, cells: NDArray[Any], source: Source, *, limit_epsilon: float) -> NDArray[Any]:
    """Return the reports of a block's devices. They compute the channel's loss, and refuse one above their limit.

    Args:
        channel: The channel that the aggregator sent; devices do not trust it.
        cells: The true cell of each person. They are not part of the result.
        source: Randomness of the channel.
        limit_epsilon: The largest loss that these people accept.
    """
    if channel.epsilon_upper > limit_epsilon:
        raise Refused(
            "costs more than was promised", field="epsilon", value=channel.epsilon_upper, hint="Raise the rarest fake"
        )
    return channel.randomize(cells, source)


def simulate(rounds: RrbaRounds, cells: NDArray[Any], source: SeededSource) -> RrbaRounds:
    """Run the protocol on simulated people in the order given, block by block; a last part of a block counts too."""
    for start in range(0, len(cells), rounds.block_size):
        people = cells[start : start + rounds.block_size]
        reports = answer(rounds.channel, people, source, limit_epsilon=rounds.epsilon)
        rounds.close(reports, simulated=source.simulated)
    return rounds
