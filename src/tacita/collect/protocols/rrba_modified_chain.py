"""The modified protocol, second reading (M2): each respondent throws one coin for every set of attributes.

The sets are gone through in order. A set adds the attributes that the row does not have yet: their true values if the
coin says so, else a draw from a public table given what the row has already, which may be fake itself. Each coin looks
at the record anew, so the losses add up.

Privacy: local, pure. P(r | x) = prod_j [ keep_j 1(r_Bj = x_Bj) + fake_j(r_Bj | r_Cj) ] with B_j what set j adds and
C_j what it finds. The exact loss is the largest sum over j of ln(1 + keep_j / fake_j(r_Bj | r_Cj)) among all rows r. It
is at most the sum of the segments' own losses, and equal to it when one row has the rarest fake in every segment, as
with uniform tables.
Utility: the most likely joint table, by EM over the product channel. The published estimator, set by set, is biased for
every set but the first, because the values it conditions on may be fake; it is here under the name `naive`.
Cost: EM holds the whole channel over the joint table; beyond `MAX_JOINT` cells it is refused.
Claim page: docs/claims/rrba.md.   Flags: unvetted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from math import lcm, prod
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from tacita.collect.channels.chain import ChainChannel
from tacita.collect.channels.channel import RandomizedResponse, _floored
from tacita.collect.channels.parts.em import Fitted, expectation_maximisation
from tacita.collect.channels.parts.exact import ExactLoss, check_codes
from tacita.collect.device.channels import Chain
from tacita.collect.device.draw import WORD_RANGE, log_upper
from tacita.collect.protocols.rrba_modified import Key, Public, check_sets, conditional
from tacita.domain import Domain
from tacita.errors import InvalidInput
from tacita.noise import Source
from tacita.tables.cells import Cells

__all__ = ["MAX_JOINT", "CoinPerSet", "Segment", "naive"]

MAX_JOINT = 2048
"""Most cells of the joint table whose whole channel is held."""

Codes = Mapping[str, NDArray[Any]]


@dataclass(frozen=True, kw_only=True)
class Segment:
    """Part of the row that one set adds: a channel over the cells of `new` for each emitted cell of `given`."""

    new: Key
    given: Key
    channels: tuple[RandomizedResponse, ...]

    @property
    def worst_ratio(self) -> Fraction:
        """Of the channel with the rarest fake."""
        return max(1 + Fraction(channel.keep, min(channel.fake)) for channel in self.channels)


@dataclass(frozen=True, kw_only=True)
class CoinPerSet(ExactLoss):
    """The channel from records to rows, in exact integers.

    Args:
        domain: All attributes of the sets, in the order of emission.
        segments: What each set adds; their `new` attributes make up the domain.
    """

    domain: Domain = field(repr=False)
    segments: tuple[Segment, ...]

    @classmethod
    def of(
        cls,
        domain: Domain,
        sets: Sequence[Sequence[str]],
        *,
        keep: float | Fraction,
        tables: Public | None = None,
        floor: float = 1.0,
    ) -> Self:
        """The same probability of the truth for every coin, as published; read the loss off the result.

        Args:
            domain: The attributes. sets: Which are emitted together, in this order. keep: Probability of the truth.
            tables: A public table for each set that fakes are drawn from; uniform where there is none.
            floor: Weight of the uniform in every conditional table of fakes, above 0.
        """
        coin = Fraction(keep)
        if not 0 < coin < 1:
            raise InvalidInput("must lie strictly between 0 and 1", field="keep", value=keep)
        return cls._made(domain, sets, tables, lambda shares, _: _with_keep(coin, _floored(shares, Fraction(floor))))

    @classmethod
    def within(
        cls,
        domain: Domain,
        sets: Sequence[Sequence[str]],
        *,
        epsilon: float,
        tables: Public | None = None,
        floor: float = 1.0,
    ) -> Self:
        """A loss of at most epsilon, in equal parts for all sets that add something.

        Args:
            domain: The attributes. sets: Which are emitted together, in this order. epsilon: The most that a row costs.
            tables: As in `of`. floor: As in `of`.
        """

        def channel(shares: list[Fraction], segments: int) -> RandomizedResponse:
            return RandomizedResponse.with_fakes(distribution=shares, epsilon=epsilon / segments, floor=floor)

        return cls._made(domain, sets, tables, channel)

    @classmethod
    def _made(
        cls,
        domain: Domain,
        sets: Sequence[Sequence[str]],
        tables: Public | None,
        channel: Callable[[list[Fraction], int], RandomizedResponse],
    ) -> Self:
        parts: list[tuple[Key, Key, Key]] = []
        seen: tuple[str, ...] = ()
        for key in check_sets(domain, sets):
            new = tuple(name for name in key if name not in seen)
            if new:
                parts.append((key, new, tuple(name for name in key if name in seen)))
            seen += new
        segments = []
        for key, new, given in parts:
            channels = tuple(channel(row, len(parts)) for row in _shares(domain, key, new, given, tables))
            segments.append(Segment(new=new, given=given, channels=channels))
        return cls(domain=domain.project(seen), segments=tuple(segments))

    # -- the loss ----------------------------------------------------------------------------------------

    @property
    def bound(self) -> float:
        """The sum of the segments' losses, rounded outward: what a row costs at most, whatever the tables are."""
        return log_upper(prod((segment.worst_ratio for segment in self.segments), start=Fraction(1)))

    @cached_property
    def worst_ratio(self) -> Fraction:
        """The largest ratio between two records of the probability of one row.

        For a row r it is attained by the record r itself against one that differs from r in every segment: such a
        record exists, because segments do not overlap and have two cells or more. Beyond `MAX_JOINT` cells the rows
        are not enumerated, and the product of the segments' ratios is used instead, which is no smaller.
        """
        if self.domain.size > MAX_JOINT:
            return prod((segment.worst_ratio for segment in self.segments), start=Fraction(1))
        worst = Fraction(1)
        places = [self._places(segment) for segment in self.segments]
        for row in range(self.domain.size):
            ratio = Fraction(1)
            for segment, (given, new) in zip(self.segments, places, strict=True):
                channel = segment.channels[given[row]]
                ratio *= 1 + Fraction(channel.keep, channel.fake[new[row]])
            worst = max(worst, ratio)
        return worst

    def _places(self, segment: Segment) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The cell of `given` and the cell of `new` for every cell of the joint table."""
        codes = np.unravel_index(np.arange(self.domain.size), self.domain.shape)
        columns = dict(zip(self.domain.names, codes, strict=True))
        return self._cells(segment.given, columns), self._cells(segment.new, columns)

    def _cells(self, names: Key, columns: Codes) -> NDArray[np.int64]:
        if not names:
            return np.zeros(len(next(iter(columns.values()))), dtype=np.int64)
        shape = [self.domain[name].size for name in names]
        return np.asarray(np.ravel_multi_index([np.asarray(columns[name]) for name in names], shape))

    def matrix(self) -> NDArray[np.float64]:
        """P(r | x): a row for each record, a column for each row that may be emitted."""
        self._check_size()
        law = np.ones((self.domain.size, self.domain.size))
        for segment in self.segments:
            given, new = self._places(segment)
            keep = np.array([channel.keep_probability for channel in segment.channels])[given]
            fakes = np.stack([channel.fake_probabilities() for channel in segment.channels])[given, new]
            law *= fakes + keep * (new[:, None] == new)
        return law

    def _check_size(self) -> None:
        if self.domain.size > MAX_JOINT:
            hint = "Ask one set of each respondent instead: one_set_design"
            raise InvalidInput(f"must have at most {MAX_JOINT} cells", field="sets", value=self.domain.size, hint=hint)

    def wired(self) -> ChainChannel:
        """The same integers as a channel that devices know, for a design written by hand."""
        place = {name: number for number, name in enumerate(self.domain.names)}
        return ChainChannel(
            device=Chain(
                sizes=tuple(self.domain.shape),
                new=tuple(tuple(place[name] for name in segment.new) for segment in self.segments),
                given=tuple(tuple(place[name] for name in segment.given) for segment in self.segments),
                keep=tuple(tuple(channel.keep for channel in segment.channels) for segment in self.segments),
                fake=tuple(tuple(channel.fake for channel in segment.channels) for segment in self.segments),
            )
        )

    # -- both sides --------------------------------------------------------------------------------------

    def randomize(self, codes: Codes, source: Source) -> dict[str, NDArray[np.int64]]:
        """Return the noisy row of each person. The true codes are not part of the result.

        Args:
            codes: True codes of every attribute of the domain. source: Where the words come from.
        """
        truth = {name: check_codes(codes[name], self.domain[name].size, field=name) for name in self.domain.names}
        sent: dict[str, NDArray[np.int64]] = {}
        people = len(next(iter(truth.values())))
        for segment in self.segments:
            cells = self._cells(segment.new, truth)
            place = self._cells(segment.given, sent) if segment.given else np.zeros(people, dtype=np.int64)
            answers = np.empty(people, dtype=np.int64)
            for number, channel in enumerate(segment.channels):
                chosen = place == number
                answers[chosen] = channel.randomize(cells[chosen], source)
            shape = [self.domain[name].size for name in segment.new]
            sent |= dict(zip(segment.new, np.unravel_index(answers, shape), strict=True))
        return sent

    def tally(self, rows: Codes) -> NDArray[np.int64]:
        """Count how often each row was received, over the flattened joint table."""
        self._check_size()
        return np.bincount(self._cells(self.domain.names, rows), minlength=self.domain.size).astype(np.int64)

    def most_likely(self, counts: NDArray[np.int64], *, tolerance: float = 1e-10) -> Fitted:
        """The joint distribution of the records that makes the rows most likely."""
        return expectation_maximisation(self.matrix(), counts, tolerance=tolerance)


def naive(rows: Cells, table: Cells, keep: float) -> Cells:
    """The published estimator (observed - (1 - p) T) / p of one set from emitted rows. BIASED after the first set.

    Args:
        rows: Shares of the emitted rows over the set. table: The public table of the set. keep: The coin's p.
    """
    return (rows - table * (1 - keep)) * (1 / keep)


def _with_keep(keep: Fraction, shares: Sequence[Fraction]) -> RandomizedResponse:
    """Integers for a given probability of the truth: exact if they fit into 53 bits, else rounded down."""
    weights = [keep, *((1 - keep) * share for share in shares)]
    common = lcm(*(weight.denominator for weight in weights))
    scale = min(common, WORD_RANGE)
    kept, *fake = (int(weight * scale) for weight in weights)
    return RandomizedResponse(keep=kept, fake=tuple(fake))


def _shares(domain: Domain, key: Key, new: Key, given: Key, tables: Public | None) -> list[list[Fraction]]:
    """P(new | given) in the public table of a set, or the uniform law: a distribution for each cell of `given`."""
    rows, columns = domain.project(given).size if given else 1, domain.project(new).size
    if tables is None or key not in tables:
        return [[Fraction(1, columns)] * columns for _ in range(rows)]
    exact = [[Fraction(share) for share in row] for row in conditional(tables[key], given, new).tolist()]
    return [[share / sum(row) for share in row] for row in exact]
