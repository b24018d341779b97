"""Measurements of a collection: every table once, unbiased, with the covariance it has if some table is the truth.

    Evidence       the tables as measured, and the channels and numbers of reports behind them
    with_values    the same channels and numbers of reports, other measurements
    simulate       measurements as they would come if given tables were the truth

Estimates that are made from several tables (pooled, consistent, modelled) are functions of the evidence. So they can be
made again from simulated evidence, which gives their error.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tacita.collect.channels.protocol import Channel
from tacita.collect.estimating.pooling import pool_blocks
from tacita.collect.estimating.tally import Tally
from tacita.domain import Domain
from tacita.tables.simplex import norm_sub
from tacita.tables.uncertainty import Covariance

__all__ = ["Evidence", "Key", "Source"]

Array = NDArray[np.float64]
Key = tuple[str, ...]


@dataclass(frozen=True)
class Source:
    """The channels that a table was asked through, one for each block, and how many reports each got."""

    channels: tuple[Channel, ...]
    reports: tuple[int, ...]

    def covariance(self, table: Array) -> Covariance:
        """The covariance of the pooled blocks if this table is the truth."""
        total = sum(self.reports)
        parts = [c.covariance(table, respondents=n) for c, n in zip(self.channels, self.reports, strict=True)]
        weights = [n / total for n in self.reports]
        return Covariance(
            diagonal=sum((w * w * part.diagonal for w, part in zip(weights, parts, strict=True)), np.zeros(1)),
            vectors=np.vstack([w * part.vectors for w, part in zip(weights, parts, strict=True)]),
            signs=np.concatenate([part.signs for part in parts]),
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class Evidence:
    """Measured tables about a population, by their attributes.

    Attributes:
        domain: What the attributes are.
        values: The unbiased estimate of each table; cells may be negative and tables may disagree.
        sources: What each was measured through.
        wanted: Tables that the owner asked for, some of them inside larger ones that were measured.
        phased: Whether a second phase measured some tables far better than others.
    """

    domain: Domain = field(repr=False)
    values: Mapping[Key, Array] = field(repr=False)
    sources: Mapping[Key, Source] = field(repr=False)
    wanted: tuple[Key, ...] = ()
    phased: bool = False

    @classmethod
    def of(cls, tally: Tally) -> Evidence:
        """The evidence of a tally."""
        blocks: dict[Key, list[tuple[Channel, NDArray[np.int64]]]] = {}
        for asked, counts in tally:
            blocks.setdefault(asked.attributes, []).append((asked.oracle, counts))
        domain, values, sources = tally.design.domain, {}, {}
        for key, parts in blocks.items():
            channels, shape = [channel for channel, _ in parts], domain.project(key).shape
            pooled = pool_blocks(channels, [seen for _, seen in parts])
            values[key] = np.asarray(pooled.frequencies).reshape(shape)
            reports = tuple(c.estimate(seen).respondents for c, seen in parts)
            sources[key] = Source(tuple(channels), reports)
        phased = tally.design.first is not None
        return cls(domain=domain, values=values, sources=sources, wanted=tally.design.wanted, phased=phased)

    def covariance(self, key: Key, at: Array | None = None) -> Covariance:
        """The covariance of a measured table if `at`, made possible, is the truth; the measured table by default."""
        table = self.values[key] if at is None else at
        return self.sources[key].covariance(np.asarray(norm_sub(table.reshape(-1)).frequencies))

    def with_values(self, values: Mapping[Key, Array]) -> Evidence:
        """The same channels and numbers of reports with other measurements."""
        return replace(self, values=values)

    def simulate(self, tables: Mapping[Key, Array], rng: np.random.Generator) -> Evidence:
        """Measurements as they would come if these tables were the truth.

        An estimate is a mean over many independent reports: it is drawn from the normal law with the mean and the
        covariance that the channel gives it.
        """
        drawn = {key: table + self.error(key, rng, table) for key, table in tables.items()}
        return self.with_values(drawn)

    def error(self, key: Key, rng: np.random.Generator, at: Array) -> Array:
        """One draw of the error of a measured table if `at` is the truth."""
        return _draw(self.covariance(key, at), rng).reshape(self.values[key].shape)

    @cached_property
    def reports(self) -> int:
        """Answers that were counted, of all tables."""
        return sum(sum(source.reports) for source in self.sources.values())

    @cached_property
    def inside(self) -> tuple[Key, ...]:
        """Tables of one or two attributes that are wanted and were not measured by themselves, but in larger ones."""
        known = {frozenset(key) for key in self.values}
        return tuple(
            key
            for key in self.wanted
            if len(key) <= 2 and frozenset(key) not in known and any(set(key) < set(other) for other in self.values)
        )


def _draw(covariance: Covariance, rng: np.random.Generator) -> Array:
    """One normal draw; a covariance without a diagonal part, as an inverted matrix has, is taken as a whole."""
    if (covariance.diagonal > 0).all():
        return covariance.draw(rng)
    values, directions = np.linalg.eigh(covariance.dense())
    return np.asarray(directions @ (np.sqrt(np.clip(values, 0.0, None)) * rng.standard_normal(values.size)))
