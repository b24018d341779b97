"""Protocols of local randomisers, for reports of any form.

A channel is one object: the sampler, the estimator, its covariance and the exact epsilon are read from the
same numbers. Planners and campaigns need `Channel`. `EnumerableChannel` adds the whole transition law, for
auditors; channels with huge report spaces (hashing, unary encoding) give it for small domains only.
"""

from __future__ import annotations

from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from tacita.collect.channels.frequencies import FrequencyEstimate
from tacita.noise.source import Source
from tacita.tables.uncertainty import Covariance

__all__ = ["About", "Channel", "EnumerableChannel"]

About = Literal["population", "respondents"]


@runtime_checkable
class Channel(Protocol):
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
