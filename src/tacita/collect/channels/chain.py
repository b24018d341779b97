"""A row of several attributes, emitted in segments with one coin each (the modified protocol M2), through devices.

Privacy: local, pure; the largest product over the segments of 1 + keep / fake among all rows, exact, from the integers
of the wire (`collect/device/_chain.py`), which this module only reads.
Utility: unbiased shares of the joint table with covariance, by inversion of the whole law; EM beside it. Set by set the
published estimator is biased, see `tacita.collect.protocols.rrba_modified_chain`.
Cost: the law is listed: at most 1,024 cells to estimate.
Claim page: docs/claims/rrba.md.   Flags: unvetted.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from tacita.collect.channels.channel import RandomizedResponse
from tacita.collect.channels.matrix import InvertedMatrix
from tacita.collect.channels.parts.exact import ExactLoss, check_codes
from tacita.collect.channels.protocol import Traits
from tacita.collect.device.channels import Chain
from tacita.domain import Domain
from tacita.errors import InvalidInput
from tacita.noise.source import Source

__all__ = ["ChainChannel", "chain_for"]

_MOST_CELLS = 1024
_SHORT = 1 - 1e-12  # parts of epsilon are rounded down, so that their sum is within it


@dataclass(frozen=True, kw_only=True)
class ChainChannel(InvertedMatrix, ExactLoss):
    """The channel from cells of a joint table to rows.

    Args:
        device: Its integers.
    """

    traits: ClassVar[Traits] = Traits(counts_reports=True)
    device: Chain

    def __post_init__(self) -> None:
        if self.levels > _MOST_CELLS:
            raise InvalidInput(f"must have at most {_MOST_CELLS} cells", field="sizes", value=self.levels)
        self.device.check(self.levels)

    @classmethod
    def of(cls, *, sizes: tuple[int, ...], sets: Sequence[Sequence[int]], epsilon: float) -> Self:
        """Uniform fakes, and an equal part of epsilon for every set that adds something to the row.

        Args:
            sizes: Levels of each attribute. sets: Places of attributes that are emitted together, in this order.
            epsilon: The loss wanted; the true one is at most this.
        """
        new: list[tuple[int, ...]] = []
        for places in sets:
            seen = [place for part in new for place in part]
            if added := tuple(place for place in places if place not in seen):
                new.append(added)
        part = epsilon / len(new) * _SHORT
        made = [RandomizedResponse.k_ary(levels=math.prod(sizes[p] for p in one), epsilon=part) for one in new]
        nothing: tuple[tuple[int, ...], ...] = ((),) * len(new)
        return cls(
            device=Chain(
                sizes=sizes,
                new=tuple(new),
                given=nothing,
                keep=tuple((one.keep,) for one in made),
                fake=tuple((one.fake,) for one in made),
            )
        )

    # -- the numbers -------------------------------------------------------------------------------------

    @property
    def levels(self) -> int:
        """Number of cells of the joint table."""
        return math.prod(self.device.sizes)

    @property
    def reports(self) -> int:
        """Rows, as many as cells."""
        return self.levels

    @property
    def report_bits(self) -> int:
        """Length of a report."""
        return (self.levels - 1).bit_length()

    @property
    def worst_ratio(self) -> Fraction:
        """The largest ratio between two cells of the probability of one row."""
        return self.device.worst_ratio(self.levels)

    def _segments(self) -> list[tuple[NDArray[np.int64], NDArray[np.int64], list[RandomizedResponse]]]:
        """Of each segment: the cell of `given` and of `new` for every row, and the channels."""
        device = self.device
        codes = [device.codes(cell) for cell in range(self.levels)]
        found = []
        for j, (new, given) in enumerate(zip(device.new, device.given, strict=True)):
            before, added = (np.array([device.part(row, part) for row in codes]) for part in (given, new))
            pairs = zip(device.keep[j], device.fake[j], strict=True)
            found.append((before, added, [RandomizedResponse(keep=keep, fake=fake) for keep, fake in pairs]))
        return found

    @cached_property
    def total(self) -> int:
        """A common denominator of all probabilities: the product over segments of that of their channels."""
        return math.prod(math.lcm(*(channel.total for channel in channels)) for _, _, channels in self._segments())

    def weights(self) -> NDArray[Any]:
        """Exact integer weights, rows cells and columns rows that may be emitted."""
        law = np.ones((self.levels, self.levels), dtype=object)
        for given, new, channels in self._segments():
            common = math.lcm(*(channel.total for channel in channels))
            scaled = [common // channel.total for channel in channels]
            fakes = [scaled[g] * channels[g].fake[n] for g, n in zip(given, new, strict=True)]
            keeps = [scaled[g] * channels[g].keep for g in given]
            law *= np.array(fakes, dtype=object) + np.array(keeps, dtype=object) * (new[:, None] == new).astype(object)
        return law

    def matrix(self) -> NDArray[np.float64]:
        """The transition probabilities."""
        return self._law

    @cached_property
    def _law(self) -> NDArray[np.float64]:
        law = np.ones((self.levels, self.levels))
        for given, new, channels in self._segments():
            keep = np.array([channel.keep_probability for channel in channels])[given]
            fakes = np.stack([channel.fake_probabilities() for channel in channels])[given, new]
            law *= fakes + keep * (new[:, None] == new)
        return law

    # -- sampling and counting ---------------------------------------------------------------------------

    def randomize(self, values: NDArray[Any], source: Source) -> NDArray[np.int64]:
        """A row for each cell in `values`.

        Args:
            values: Cells on one axis.
            source: Where the words come from; a seeded one is for simulation only.
        """
        codes = check_codes(values, self.levels, field="values")
        device, shape = self.device, self.device.sizes
        own = np.stack(np.unravel_index(codes, shape))
        sent = np.zeros_like(own)
        for j, (new, given) in enumerate(zip(device.new, device.given, strict=True)):
            truth, place = self._part(own, new), self._part(sent, given)
            drawn = np.empty(codes.size, dtype=np.int64)
            for g, (keep, fake) in enumerate(zip(device.keep[j], device.fake[j], strict=True)):
                chosen = place == g
                drawn[chosen] = RandomizedResponse(keep=keep, fake=fake).randomize(truth[chosen], source)
            sent[list(new)] = np.stack(np.unravel_index(drawn, [shape[at] for at in new]))
        return np.asarray(np.ravel_multi_index(list(sent), shape), dtype=np.int64)

    def _part(self, codes: NDArray[np.int64], places: Sequence[int]) -> NDArray[np.int64]:
        cell = np.zeros(codes.shape[1], dtype=np.int64)
        for place in places:
            cell = cell * self.device.sizes[place] + codes[place]
        return cell

    def tally(self, reports: NDArray[Any]) -> NDArray[np.int64]:
        """Count how often each row was received."""
        codes = check_codes(reports, self.levels, field="reports")
        return np.bincount(codes, minlength=self.levels).astype(np.int64)

    # -- the wire ----------------------------------------------------------------------------------------

    def wire(self) -> Chain:
        """The channel as a question carries it."""
        return self.device

    @classmethod
    def of_wire(cls, device: Chain, cells: int) -> Self:
        """The channel that estimates from what such devices send."""
        return cls(device=device)


def chain_for(domain: Domain, epsilon: float) -> ChainChannel:
    """Make the channel for a table: its attributes in pairs of neighbours, one coin for each pair.

    Args:
        domain: The attributes of the table. epsilon: The loss wanted, at most.
    """
    sizes = tuple(domain[name].size for name in domain.names)
    pairs: list[tuple[int, ...]] = [(place, place + 1) for place in range(len(sizes) - 1)] or [(0,)]
    return ChainChannel.of(sizes=sizes, sets=pairs, epsilon=epsilon)
