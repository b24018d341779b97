"""Protocols of local randomisers, for reports of any form.

A channel is one object: the sampler, the estimator, its covariance and the exact epsilon are read from the
same numbers. Campaigns need a `Randomizer`: a `Channel`, which estimates shares, a `MeanRandomizer`, or a
`MarginRandomizer`.
`EnumerableChannel` adds the whole transition law, for auditors; channels with huge report spaces (hashing, unary
encoding) give it for small domains only.

Capabilities are optional. A channel states flags in `traits`, and provides the methods of `StatesMoments`,
`StatesReach`, `KeepsOrFakes` and `SupportsLevels` where it can. Other rooms ask for these and never for a class, so
that a new channel needs no change outside of its file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from tacita.collect.channels.frequencies import FrequencyEstimate, MeanEstimate
from tacita.noise.source import Source
from tacita.tables.uncertainty import Covariance

__all__ = [
    "About",
    "Channel",
    "EnumerableChannel",
    "KeepsOrFakes",
    "MarginRandomizer",
    "MeanRandomizer",
    "Randomizer",
    "Reach",
    "StatesMoments",
    "StatesReach",
    "SupportsLevels",
    "Traits",
    "respondents_of",
    "traits_of",
]

About = Literal["population", "respondents"]


@runtime_checkable
class Randomizer(Protocol):
    """A local randomiser of one attribute with `levels` values, coded 0 .. levels - 1."""

    @property
    def levels(self) -> int:
        """Number of values of the attribute."""

    @property
    def epsilon(self) -> float:
        """The exact local loss of the integers that the sampler uses, to the nearest float."""

    @property
    def epsilon_upper(self) -> float:
        """The exact local loss, rounded outward."""

    def randomize(self, values: NDArray[Any], source: Source, /) -> NDArray[Any]:
        """One report for each code in `values`; the first axis counts the respondents."""

    def tally(self, reports: NDArray[Any], /) -> NDArray[np.int64]:
        """Summarise many reports as counts; tallies of disjoint batches add up."""


@runtime_checkable
class MeanRandomizer(Randomizer, Protocol):
    """A randomiser that estimates the mean of a number in bins, and no shares."""

    def mean(self, counts: NDArray[Any], /) -> MeanEstimate:
        """The mean from a tally: 0 is the middle of the first bin, 1 that of the last."""

    def variance(self, frequencies: NDArray[Any], /) -> float:
        """The variance of one report's value when `frequencies` are the true shares of the bins."""


@runtime_checkable
class MarginRandomizer(Randomizer, Protocol):
    """A randomiser of all attributes of a question that estimates tables over a few of them."""

    @property
    def order(self) -> int:
        """Most attributes of a table."""

    def respondents(self, counts: NDArray[Any], /) -> int:
        """Number of reports in a tally."""

    def margin(self, counts: NDArray[Any], places: Sequence[int], /) -> FrequencyEstimate:
        """Unbiased shares of the table over the attributes at these places."""

    def margin_variance(self, size: int, /) -> float:
        """Mean variance of a share of a table of so many attributes, for one respondent."""


@runtime_checkable
class Channel(Randomizer, Protocol):
    """A randomiser that estimates the shares of all levels."""

    def estimate(self, counts: NDArray[Any], /, *, about: About = "population") -> FrequencyEstimate:
        """Unbiased frequencies from a tally, with their covariance."""

    def covariance(self, frequencies: NDArray[Any], /, *, respondents: int, about: About = "population") -> Covariance:
        """The covariance that the estimate will have when `frequencies` is the truth."""


@runtime_checkable
class EnumerableChannel(Channel, Protocol):
    """A channel whose every report can be listed."""

    @property
    def total(self) -> int:
        """The common denominator of all probabilities."""

    def weights(self) -> NDArray[Any]:
        """Exact integer weights: a row for each value, a column for each report; rows sum to `total`.

        Python's integers where 64 bits do not hold them.
        """

    def matrix(self) -> NDArray[np.float64]:
        """The transition probabilities, `weights() / total`."""


# -- capabilities ------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Traits:
    """Flags that a channel states about itself, as its class attribute `traits`.

    Attributes:
        counts_reports: Its tally counts how often each report came, in the order of the columns of `matrix()`.
        sends_cell: A report is one of the levels, so that the estimates of disjoint cells may be summed.
        follows_tables: It may follow a table that earlier blocks have learnt, see `following.next_channel`.
    """

    counts_reports: bool = False
    sends_cell: bool = False
    follows_tables: bool = False


def respondents_of(channel: Randomizer, counts: NDArray[Any]) -> int:
    """Number of reports in a tally; refuse counts that no reports of the channel give."""
    if isinstance(channel, MeanRandomizer):
        return channel.mean(counts).respondents
    if isinstance(channel, MarginRandomizer):
        return channel.respondents(counts)
    assert isinstance(channel, Channel), "a randomiser estimates shares or a mean"
    return channel.estimate(counts).respondents


def traits_of(channel: object) -> Traits:
    """Return the traits that a channel states; none by default."""
    found: Traits = getattr(channel, "traits", Traits())
    return found


@dataclass(frozen=True, kw_only=True, eq=False)
class Reach:
    """Effect of one report on an estimate that is linear in its tally.

    Attributes:
        slope: How much of a true share arrives in the counts: one report moves a share by up to 1 / (n slope).
        held: Number of levels that every report supports; None where it may be any number of them.
        effects: For a general matrix instead: what each report (column) adds to each level's estimate, times n.
    """

    slope: Fraction | None = None
    held: int | None = None
    effects: NDArray[np.float64] | None = field(default=None, repr=False)


@runtime_checkable
class StatesReach(Protocol):
    """A channel that states the effect of one report."""

    def reach(self) -> Reach:
        """Return the effect of one report on each level's estimate."""


@runtime_checkable
class StatesMoments(Protocol):
    """A channel that knows the second moments of one report's estimate without listing its levels."""

    def second_moments(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """E(estimate of a cell squared): if the cell is the truth, and if another level is, at worst.

        By cell, or one number each where all cells are alike.
        """


@runtime_checkable
class KeepsOrFakes(Protocol):
    """A channel that keeps the truth with one probability and otherwise sends a fake: P(y | x) = b_y + p [x == y]."""

    @property
    def keep_probability(self) -> float:
        """p."""

    def fake_probabilities(self) -> NDArray[np.float64]:
        """b."""


@runtime_checkable
class SupportsLevels(Protocol):
    """A channel whose report supports some levels, and whose tally counts the supports of each."""

    def support_total(self, counts: NDArray[Any], /) -> tuple[int, int]:
        """Number of reports in a tally, and the total of their supports."""

    def support_size(self) -> tuple[Fraction, Fraction]:
        """Mean and variance of the number of levels that an honest report supports."""

    def support_caution(self, reports: int, /) -> str:
        """Limit of a test of the total of so many reports; empty where there is none."""
