"""Draws of the true table, given what was released: the posterior under a uniform prior on tables.

    AdditivePosterior   counts with noise of a known law: each cell is the noisy one less a draw of the law, restricted
                        to counts that are not negative. Exact: cells are independent given the release.
    ReportsPosterior    reports through channels whose law can be listed: the shares by `walk`, then how many of each
                        report came from each cell, exactly. No approximation but the number of steps.
    NormalPosterior     an estimate with a covariance, where reports are not known one by one: normal, restricted to
                        tables that are possible. An approximation for many reports.

The true table is that of the very people who were counted or who answered; sampling them from a population is no part
of it. A uniform prior on tables of K cells is the Dirichlet(1, .., 1) prior on shares, with counts drawn from it. Every
table is as likely as any other, so most of the mass is on dependent tables: a flip towards dependence is likelier than
it would be for an analyst who expects independence. A public total of noisy counts is not used.

Legend, reports: o_by how often report y came in block b, C_b the channel of that block.

    log p(pi | o) = sum_b sum_y o_by ln (pi C_b)_y + constant          concave in pi
    given pi, each o_by splits over cells x with probabilities proportional to pi_x C_b(x, y)

Privacy: post-processing of a release or a tally; free.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from tacita.assess.decisions.walk import Density, walk
from tacita.collect.analysis.independence import known_total
from tacita.collect.channels.protocol import Channel, EnumerableChannel, traits_of
from tacita.collect.estimating.pooling import pool_blocks, pooled_mle
from tacita.collect.estimating.tally import Tally
from tacita.domain import Domain
from tacita.errors import InvalidInput, UnknownName
from tacita.noise.law import law_of_sum
from tacita.tables.release import Release, Releases
from tacita.tables.simplex import norm_sub
from tacita.tables.uncertainty import AdditiveNoise, Correlated, Covariance

__all__ = [
    "AdditivePosterior",
    "NormalPosterior",
    "Posterior",
    "ReportsPosterior",
    "draw_true_counts",
    "lay_out",
    "posterior_of",
]

Array = NDArray[np.float64]


class Posterior(Protocol):
    """True tables, given a release."""

    @property
    def domain(self) -> Domain:
        """Attributes of the table, in the order of its axes."""

    @property
    def observed(self) -> Array:
        """The released table as counts, flat; cells may be negative."""

    @property
    def method(self) -> str:
        """Law of the draws, in words."""

    @property
    def approximation(self) -> str | None:
        """Note on what is approximated, or None where the law is exact."""

    @property
    def noise_variance(self) -> float:
        """Variance of the noise on a count, mean over cells."""

    def draw(self, count: int, rng: np.random.Generator) -> Array:
        """True tables as counts, one row each."""


def lay_out(tables: Array, domain: Domain, attributes: Sequence[str]) -> Array:
    """Rows of cells over `domain` as rows of cells over some of its attributes, in the order given."""
    names = list(domain.names)
    for name in attributes:
        if name not in names:
            raise UnknownName(name, field="attributes", available=names)
    whole = tables.reshape(len(tables), *domain.shape)
    gone = tuple(1 + place for place, name in enumerate(names) if name not in attributes)
    kept = [name for name in names if name in attributes]
    summed = whole.sum(axis=gone)
    axes = [0, *(1 + kept.index(name) for name in attributes)]
    return np.asarray(summed.transpose(axes).reshape(len(tables), -1))


def posterior_of(
    source: Release | Releases | Tally, attributes: Sequence[str], *, non_negative: bool = True
) -> Posterior:
    """The posterior of the table over these attributes.

    Args:
        source: What was released, or the tally of a collection. Of several tables that hold the attributes, the one
            with the smallest error is used.
        attributes: Of the table.
        non_negative: For additive noise: whether true counts below 0 are ruled out. Without, they are drawn, as if the
            prior allowed them, and count as 0 in statistics.
    """
    if isinstance(source, Tally):
        return _of_tally(source, attributes)
    release = source.project(tuple(attributes))
    if isinstance(release.uncertainty, AdditiveNoise) and release.quantity == "count":
        return AdditivePosterior(release=release, non_negative=non_negative)
    if isinstance(release.uncertainty, Correlated) and release.quantity == "share":
        return NormalPosterior.of(release)
    hint = "Take the raw tables: a published or synthetic one has been changed after the noise, see `synthetic_flip`"
    raise InvalidInput("must have noise of a known law", field="release", hint=hint)


@dataclass(frozen=True, kw_only=True, eq=False)
class AdditivePosterior:
    """Counts with independent noise of one law on every cell."""

    release: Release
    non_negative: bool = True

    @property
    def _noise(self) -> AdditiveNoise:
        noise = self.release.uncertainty
        assert isinstance(noise, AdditiveNoise)
        return noise

    @property
    def domain(self) -> Domain:
        """Attributes of the table."""
        return self.release.domain

    @property
    def observed(self) -> Array:
        """The noisy counts."""
        return np.asarray(self.release.values, dtype=np.float64).reshape(-1)

    @property
    def method(self) -> str:
        """Law of the draws."""
        law = self._noise.law.as_dict()
        terms = f", {self._noise.terms} draws a cell" if self._noise.terms > 1 else ""
        prior = "all tables of non-negative counts" if self.non_negative else "all tables, negative counts too"
        return f"{law['law']} noise of standard deviation {law['std']:.4g}{terms}; uniform prior on {prior}"

    @property
    def approximation(self) -> str | None:
        """None: the law is exact."""
        return None

    @property
    def noise_variance(self) -> float:
        """That of the law."""
        return self._noise.terms * self._noise.law.variance

    def draw(self, count: int, rng: np.random.Generator) -> Array:
        """P(true = t) is proportional to P(noise = noisy - t) over the counts t that are allowed."""
        return draw_true_counts(self.observed, self._noise, count, rng, non_negative=self.non_negative)


def draw_true_counts(
    noisy: Array, noise: AdditiveNoise, count: int, rng: np.random.Generator, *, non_negative: bool = True
) -> Array:
    """True counts behind noisy ones, one row for each draw.

    Args:
        noisy: Released counts, flat. noise: What was added to each. count: Number of draws. rng: Of the draws.
        non_negative: Whether true counts below 0 are ruled out.
    """
    values, chances = law_of_sum(noise.law, noise.terms)
    step = float(noise.law.step)
    sums = np.cumsum(chances)
    found = np.empty((count, noisy.size))
    for cell, seen in enumerate(noisy):
        top = values.size - 1
        if non_negative:  # noise at most as large as the noisy count
            top = int(np.searchsorted(values, np.floor(seen / step + 1e-9), side="right")) - 1
        if top < 0 or sums[top] < 1e-13:  # the least that is possible is all but certain
            found[:, cell] = 0.0
            continue
        drawn = np.searchsorted(sums, rng.random(count) * sums[top], side="right")
        found[:, cell] = seen - step * values[np.minimum(drawn, top)]
    return found


@dataclass(frozen=True, kw_only=True, eq=False)
class ReportsPosterior:
    """Reports about one table, in blocks, through channels whose law can be listed."""

    domain: Domain
    channels: Sequence[EnumerableChannel]
    counts: Sequence[NDArray[np.int64]]

    @property
    def people(self) -> int:
        """Number of respondents."""
        return int(sum(int(seen.sum()) for seen in self.counts))

    @property
    def observed(self) -> Array:
        """The unbiased estimate, as counts."""
        return self.people * np.asarray(pool_blocks(self.channels, self.counts).frequencies)

    @property
    def method(self) -> str:
        """Law of the draws."""
        blocks = f" in {len(self.channels)} blocks" if len(self.channels) > 1 else ""
        return f"likelihood of the reports of {type(self.channels[0]).__name__}{blocks}; uniform prior on all tables"

    @property
    def approximation(self) -> str | None:
        """None: chains are long, and no law is replaced by another."""
        return None

    @property
    def noise_variance(self) -> float:
        """That of the pooled estimate given the true table."""
        found = pool_blocks(self.channels, self.counts, about="respondents")
        return self.people**2 * float(np.maximum(found.uncertainty.variance(), 0.0).mean())

    def density(self) -> Density:
        """Posterior density of the shares."""
        matrix = np.hstack([channel.matrix() for channel in self.channels])
        weights = np.concatenate(self.counts).astype(np.float64)
        seen = weights > 0
        matrix, weights = matrix[:, seen], weights[seen]
        mode = np.asarray(pooled_mle(self.channels, self.counts, tolerance=1e-8).frequencies)
        covariance = pool_blocks(self.channels, self.counts, at=mode).uncertainty.dense()
        return Density(
            matrix=matrix,
            offset=np.zeros(matrix.shape[1]),
            log=lambda features: np.log(np.maximum(features, 1e-300)) @ weights,
            centre=mode,
            root=_root(covariance),
        )

    def draw(self, count: int, rng: np.random.Generator) -> Array:
        """Shares from their posterior, then the true cells behind each kind of report."""
        shares = walk(self.density(), count, rng)
        found = np.zeros(shares.shape)
        for channel, counts in zip(self.channels, self.counts, strict=True):
            matrix = channel.matrix()
            for report in np.flatnonzero(counts):
                chances = shares * matrix[:, report]
                chances /= chances.sum(axis=1, keepdims=True)
                found += rng.multinomial(int(counts[report]), chances)
        return found


@dataclass(frozen=True, kw_only=True, eq=False)
class NormalPosterior:
    """An estimate of shares with the covariance that it has given the true table of the respondents."""

    domain: Domain
    shares: Array
    covariance: Covariance
    people: int
    channel: str

    @classmethod
    def of(cls, release: Release) -> NormalPosterior:
        """From a release alone.

        About a population its covariance is that of the channel plus (diag pi - pi pi') / n of sampling people; the
        latter is taken away, at the nearest possible table.
        """
        uncertainty, recipe = release.uncertainty, release.provenance.recipe
        assert isinstance(uncertainty, Correlated)
        people = recipe.get("respondents")
        if not isinstance(people, int) or people < 1:
            raise InvalidInput("must state its number of respondents", field="release", hint="Take the raw tables")
        values = np.asarray(release.values, dtype=np.float64).reshape(-1)
        pi, covariance = known_total(values, uncertainty.covariance)
        if recipe.get("about") != "respondents":
            near = norm_sub(pi).frequencies
            covariance = Covariance(
                diagonal=covariance.diagonal - near / people,
                vectors=np.vstack([covariance.vectors, near / np.sqrt(people)]),
                signs=np.append(covariance.signs, -1.0),
            )
        name = str(recipe.get("channel", "collection"))
        return cls(domain=release.domain, shares=pi, covariance=covariance, people=people, channel=name)

    @property
    def observed(self) -> Array:
        """The unbiased estimate, as counts."""
        return self.people * self.shares

    @property
    def method(self) -> str:
        """Law of the draws."""
        return f"covariance of {self.channel}; uniform prior on all tables"

    @property
    def approximation(self) -> str | None:
        """The normal law, and counts that are not rounded."""
        return "the estimate is taken as normal around the true table, which holds for many reports"

    @property
    def noise_variance(self) -> float:
        """That of the estimate given the true table."""
        return self.people**2 * float(np.maximum(self.covariance.variance(), 0.0).mean())

    def draw(self, count: int, rng: np.random.Generator) -> Array:
        """The normal law, restricted to the simplex."""
        cells = self.shares.size
        basis = linalg.helmert(cells).T  # directions in which shares can differ
        inside = basis.T @ self.covariance.dense() @ basis
        scale, directions = np.linalg.eigh(inside)
        scale = np.maximum(scale, 1e-6 * scale.max())
        whiten = basis @ directions / np.sqrt(scale)
        density = Density(
            matrix=whiten,
            offset=-self.shares @ whiten,
            log=lambda features: -0.5 * (features**2).sum(axis=1),
            centre=self.shares,
            root=(basis @ directions * np.sqrt(scale)).T,
        )
        return self.people * walk(density, count, rng)


def _root(covariance: Array) -> Array:
    """R with R' R the covariance, made possible by cutting negative eigenvalues."""
    scale, directions = np.linalg.eigh(covariance)
    return np.asarray((directions * np.sqrt(np.maximum(scale, 0.0))).T)


def _of_tally(tally: Tally, attributes: Sequence[str]) -> Posterior:
    held: dict[tuple[str, ...], list[tuple[Channel, NDArray[np.int64]]]] = {}
    for asked, counts in tally:
        if set(attributes) <= set(asked.attributes):
            held.setdefault(asked.attributes, []).append((asked.oracle, counts))
    if not held:
        releases = tally.releases()  # questions about margins have no table of their own
        if releases.supports(attributes):
            return NormalPosterior.of(releases.project(attributes))
        known = [" x ".join(key) for key in releases]
        raise UnknownName(" x ".join(attributes), field="attributes", available=known)
    key = min(held, key=lambda names: tally.design.domain.project(names).size)
    domain = tally.design.domain.project(key)
    channels = [channel for channel, _ in held[key]]
    reports = [counts for _, counts in held[key]]
    listed = [c for c in channels if isinstance(c, EnumerableChannel) and traits_of(c).counts_reports]
    if len(listed) == len(channels):
        return ReportsPosterior(domain=domain, channels=listed, counts=reports)
    return NormalPosterior.of(tally.releases()[key])
