"""Mechanisms as functions from true tables to what would be released, many tables at once.

    AdditiveMechanism   counts with discrete Laplace or Gaussian noise, as `NoisyTables` calibrates it for a budget
    ChannelMechanism    reports of as many respondents as the table counts, through any channel, and their estimate

Both run the law that the library runs, not one like it: integer noise of the calibrated scale, and the integers of the
channel. Where a channel's tally says how often each report came, the tally is drawn as a sum of multinomials, one for
each cell, which is its exact law. Elsewhere respondents are randomised one by one, up to a stated number of reports;
beyond it the estimate is drawn as normal, and the result says so.

Privacy: none; true tables are assumed or simulated here, never read from data.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tacita.collect.channels.protocol import Channel, EnumerableChannel, MarginRandomizer, traits_of
from tacita.collect.channels.wiring import make_channel
from tacita.domain import Categorical, Domain
from tacita.errors import InvalidInput
from tacita.noise import Law, SeededSource
from tacita.plans import NoisyTables
from tacita.plans.additive import Family
from tacita.privacy.budget import Budget
from tacita.privacy.unit import Neighbours, Unit
from tacita.tables.workload import Workload

__all__ = ["AdditiveMechanism", "ChannelMechanism", "Mechanism", "plain_domain"]

Array = NDArray[np.float64]
Counts = NDArray[np.int64]


class Mechanism(Protocol):
    """From true tables to released ones."""

    @property
    def words(self) -> str:
        """Name in words."""

    def approximation(self, people: int, count: int) -> str | None:
        """Note on what is approximated for so many people and tables, or None."""

    def run(self, tables: Counts, rng: np.random.Generator) -> Array:
        """Released counts for each row of true ones; cells may be negative."""

    def variance(self, shares: Array, people: int) -> Array:
        """Variance of the noise on each released count, for people with these shares."""


def plain_domain(shape: Sequence[int]) -> Domain:
    """A public domain with the cells of a layout (strata, parts ..); strata of one are left out."""
    strata, *sizes = shape
    named = [(f"part {place + 1}", size) for place, size in enumerate(sizes)]
    if strata > 1:
        named.insert(0, ("given", strata))
    return Domain(
        attributes=[Categorical(name=name, levels=[str(level) for level in range(size)]) for name, size in named]
    )


def _source(rng: np.random.Generator) -> SeededSource:
    return SeededSource(int(rng.integers(2**63)))


@dataclass(frozen=True, kw_only=True)
class AdditiveMechanism:
    """Independent integer noise on every cell.

    Args:
        law: Of one draw.
        terms: Draws for each cell, where the table is summed from a wider one.
    """

    law: Law
    terms: int = 1

    @classmethod
    def for_budget(
        cls,
        shape: Sequence[int],
        budget: Budget,
        *,
        family: Family = "auto",
        neighbours: Neighbours = Neighbours.REPLACE_ONE,
    ) -> AdditiveMechanism:
        """The noise that `NoisyTables` puts on one table of this layout for a budget; one row for each person.

        Args:
            shape: (strata, cells of part 1, ..). budget: What the table may cost.
            family: Of the noise; the better one for the budget by default.
            neighbours: What is hidden: under replace-one two cells change, and the number of people is public.
        """
        domain = plain_domain(shape)
        plan = NoisyTables(Workload.of(domain.names), family=family).calibrate(
            domain, budget, unit=Unit.row(), neighbours=neighbours
        )
        return cls(law=plan.laws[0])

    @property
    def words(self) -> str:
        """Name in words."""
        described = self.law.as_dict()
        return f"{described['law']} noise of standard deviation {described['std']:.4g} on every count"

    def approximation(self, people: int, count: int) -> str | None:
        """None."""
        return None

    def run(self, tables: Counts, rng: np.random.Generator) -> Array:
        """Counts plus noise."""
        draws = self.law.draw(self.terms * tables.size, _source(rng)).reshape(self.terms, *tables.shape).sum(axis=0)
        return np.asarray(tables + draws * float(self.law.step), dtype=np.float64)

    def variance(self, shares: Array, people: int) -> Array:
        """That of the law, in every cell."""
        return np.full(shares.size, self.terms * self.law.variance)


@dataclass(frozen=True, kw_only=True, eq=False)
class ChannelMechanism:
    """Every person of the table answers through a channel; the estimate is multiplied by their number.

    Args:
        channel: A channel that estimates shares, or margins of as many attributes as the table has.
        most_reports: Respondents who are randomised one by one, in all tables of a run together, before the estimate is
            drawn as normal instead; about 50 ns each. Channels whose tally is drawn as multinomials have no such limit.
    """

    channel: Channel | MarginRandomizer
    most_reports: int = 20_000_000

    @classmethod
    def for_epsilon(
        cls, shape: Sequence[int], kind: str, epsilon: float, *, most_reports: int = 20_000_000
    ) -> ChannelMechanism:
        """The channel of a kind of the registry for the whole table.

        Args:
            shape: (strata, cells of part 1, ..). kind: Of the registry, such as "rr". epsilon: Local, of one answer.
            most_reports: As above.
        """
        channel = make_channel(kind, plain_domain(shape), epsilon)
        if not isinstance(channel, Channel | MarginRandomizer):
            rule, hint = "must estimate the shares of a table", "Take rr, unary, hash, hadamard, subset or matrix"
            raise InvalidInput(rule, field="channel", value=kind, hint=hint)
        return cls(channel=channel, most_reports=most_reports)

    @property
    def words(self) -> str:
        """Name in words."""
        return f"{type(self.channel).__name__} with local epsilon {self.channel.epsilon:.4g}"

    @property
    def _counts_reports(self) -> bool:
        return isinstance(self.channel, EnumerableChannel) and traits_of(self.channel).counts_reports

    def approximation(self, people: int, count: int) -> str | None:
        """Whether the estimate would be drawn as normal."""
        if self._counts_reports or people * count <= self.most_reports or not isinstance(self.channel, Channel):
            return None
        return "with so many respondents the estimate is drawn as normal, with the covariance at the mean table"

    def variance(self, shares: Array, people: int) -> Array:
        """That of the estimate given the true table, times the square of the people."""
        if isinstance(self.channel, Channel):
            covariance = self.channel.covariance(shares, respondents=people, about="respondents")
            return np.asarray(people**2 * np.maximum(covariance.variance(), 0.0))
        return np.full(shares.size, people * self.channel.margin_variance(self.channel.levels.bit_length() - 1))

    @cached_property
    def _effects(self) -> Array:
        """Estimate from each report alone; an estimate is their mean over the reports."""
        assert isinstance(self.channel, EnumerableChannel)
        each = np.eye(self.channel.matrix().shape[1], dtype=np.int64)
        return np.stack([np.asarray(self.channel.estimate(row).frequencies) for row in each])

    def run(self, tables: Counts, rng: np.random.Generator) -> Array:
        """Reports, tally, estimate."""
        if self._counts_reports:
            return self._multinomial(tables, rng)
        if self.approximation(int(tables.sum(axis=1).max()), len(tables)) is None:
            return self._one_by_one(tables, rng)
        return self._normal(tables, rng)

    def _multinomial(self, tables: Counts, rng: np.random.Generator) -> Array:
        assert isinstance(self.channel, EnumerableChannel)
        matrix = self.channel.matrix()
        matrix = matrix / matrix.sum(axis=1, keepdims=True)
        reports = sum(rng.multinomial(tables[:, cell], row) for cell, row in enumerate(matrix))
        return np.asarray(reports @ self._effects)

    def _one_by_one(self, tables: Counts, rng: np.random.Generator) -> Array:
        source, cells = _source(rng), np.arange(tables.shape[1])
        found = np.empty(tables.shape)
        for place, table in enumerate(tables):
            reports = self.channel.randomize(np.repeat(cells, table), source)
            found[place] = table.sum() * self._shares(self.channel.tally(reports))
        return found

    def _shares(self, counts: Counts) -> Array:
        if isinstance(self.channel, Channel):
            return np.asarray(self.channel.estimate(counts).frequencies)
        every = range(self.channel.levels.bit_length() - 1)  # attributes of two levels each
        return np.asarray(self.channel.margin(counts, every).frequencies)

    def _normal(self, tables: Counts, rng: np.random.Generator) -> Array:
        assert isinstance(self.channel, Channel)
        people = int(tables.sum(axis=1).max())
        shares = tables.mean(axis=0) / people
        covariance = self.channel.covariance(shares, respondents=people, about="respondents").dense()
        scale, directions = np.linalg.eigh(covariance)
        root = directions * np.sqrt(np.maximum(scale, 0.0))
        return np.asarray(tables + people * rng.standard_normal(tables.shape) @ root.T)
