"""Square Wave: the distribution of a bounded number, through reports near it.  [Li et al. 2020]

Privacy: local, pure; epsilon = ln(near / far), exact, from the integers that the sampler uses.
Utility: unbiased shares with covariance by inversion; or a smooth estimate of the whole curve, biased, without
intervals.
Cost: one word a report; EM over bins times cells.
Claim page: docs/claims/square-wave.md.   Flags: unvetted.

The number is put into one of d bins first (public bounds), then randomised: a report is one of d + 2 h cells, and the
2 h + 1 cells within h of the bin are e^epsilon times as likely as the others.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacita.collect.channels.frequencies import FrequencyEstimate
from tacita.collect.channels.matrix import MatrixChannel
from tacita.collect.channels.numbers.window import Window
from tacita.collect.channels.parts.em import Fitted, expectation_maximisation
from tacita.collect.channels.parts.exact import check_codes, check_levels
from tacita.collect.channels.protocol import About, Reach, Traits
from tacita.collect.device.channels import Wave
from tacita.domain import Domain, Numeric, Ordinal
from tacita.errors import InvalidInput
from tacita.noise.source import Source
from tacita.tables.uncertainty import Covariance

__all__ = ["SquareWave", "half_width", "wave_for"]

_MOST_INVERTED = 1024  # bins of a dense matrix
_TOLERANCE = 1e-8  # of the log likelihood per report: steps that still matter to a million reports are made


def half_width(epsilon: float) -> float:
    """Half-width b of the wave, in units of the range, that is most informative about the value.

    Claim: b = (eps e^eps - e^eps + 1) / (2 e^eps (e^eps - 1 - eps)) maximises the paper's upper bound of the mutual
    information between a uniform value and its report. It tends to 1/2 for small epsilon. A choice, not a guarantee.
    """
    if epsilon < 1e-3:  # both halves of the fraction cancel; its series is 1/2 - eps / 3
        return 0.5 - epsilon / 3
    grown = math.exp(-epsilon)
    return (epsilon - 1 + grown) / (2 * (math.exp(epsilon) - 1 - epsilon))


@dataclass(frozen=True, kw_only=True)
class SquareWave:
    """The channel from d bins to d + 2 h cells.

    Args:
        window: The law; its values are the bins.
    """

    traits: ClassVar[Traits] = Traits(counts_reports=True)
    window: Window

    @classmethod
    def of(cls, *, levels: int, epsilon: float) -> Self:
        """The wave for a number of bins and a loss.

        Args:
            levels: Number of bins, 2 to 2**20.
            epsilon: The loss wanted; the true one is at most this, and less by no more than 1e-9.
        """
        check_levels(levels)
        width = 2 * math.floor(half_width(epsilon) * levels) + 1
        return cls(window=Window.calibrated(cells=levels + width - 1, width=width, epsilon=epsilon))

    @property
    def levels(self) -> int:
        """Number of bins."""
        return self.window.values

    @property
    def cells(self) -> int:
        """Number of possible reports."""
        return self.window.cells

    @property
    def total(self) -> int:
        """The common denominator of all probabilities."""
        return self.window.total

    @property
    def epsilon(self) -> float:
        """The exact local loss, to the nearest float."""
        return self.window.epsilon

    @property
    def epsilon_upper(self) -> float:
        """The exact local loss, rounded outward."""
        return self.window.epsilon_upper

    def weights(self) -> NDArray[np.int64]:
        """The exact integer weights, rows bins and columns cells."""
        return self.window.weights()

    def matrix(self) -> NDArray[np.float64]:
        """The transition probabilities."""
        return self.weights() / self.total

    def randomize(self, values: NDArray[Any], source: Source) -> NDArray[np.int64]:
        """A cell for each bin in `values`.

        Args:
            values: Bins 0 .. levels - 1 on one axis.
            source: Where the words come from; a seeded one is for simulation only.
        """
        return self.window.randomize(values, source)

    def tally(self, reports: NDArray[Any]) -> NDArray[np.int64]:
        """Count how often each cell was sent."""
        codes = check_codes(reports, self.cells, field="reports")
        return np.bincount(codes, minlength=self.cells).astype(np.int64)

    # -- estimation --------------------------------------------------------------------------------------

    @cached_property
    def _inverted(self) -> MatrixChannel:
        # Rows of the window are shifted by one: their differences have disjoint first entries, so the rank is full.
        if self.levels > _MOST_INVERTED:
            rule = f"must be at most {_MOST_INVERTED} to estimate shares"
            raise InvalidInput(rule, field="levels", value=self.levels, hint="Use fewer bins")
        return MatrixChannel(table=tuple(tuple(row) for row in self.weights().tolist()))

    def estimate(self, counts: ArrayLike, *, about: About = "population") -> FrequencyEstimate:
        """Unbiased frequencies of the bins: the least-squares solution for the law of the reports.

        Args:
            counts: A tally. about: What the estimate is about, as in `MatrixChannel.estimate`.
        """
        return self._inverted.estimate(counts, about=about)

    def covariance(self, frequencies: ArrayLike, *, respondents: int, about: About = "population") -> Covariance:
        """The covariance that the estimate will have when `frequencies` is the truth."""
        return self._inverted.covariance(frequencies, respondents=respondents, about=about)

    def reach(self) -> Reach:
        """Effects of all reports."""
        return self._inverted.reach()

    def distribution(self, counts: ArrayLike, *, method: Literal["em", "ems"] = "ems") -> Fitted:
        """The distribution over the bins.

        Args:
            counts: A tally.
            method: "ems" smooths after each step, for curves; "em" is plain maximum likelihood, for jumps and points.
        """
        if method not in ("em", "ems"):
            raise InvalidInput("must be 'em' or 'ems'", field="method", value=method)
        return expectation_maximisation(self.matrix(), counts, smooth=method == "ems", tolerance=_TOLERANCE)

    # -- the wire ----------------------------------------------------------------------------------------

    def wire(self) -> Wave:
        """The channel as a question carries it."""
        return Wave(width=self.window.width, near=self.window.near, far=self.window.far)

    @classmethod
    def of_wire(cls, device: Wave, cells: int) -> Self:
        """The channel that estimates from what such devices send."""
        window = Window(cells=device.index_end(cells), width=device.width, near=device.near, far=device.far)
        return cls(window=window)


def wave_for(domain: Domain, epsilon: float) -> SquareWave:
    """Make the wave for a table of one attribute whose levels have an order.

    Args:
        domain: The attribute of the table. epsilon: The loss wanted, at most.
    """
    attributes = [domain[name] for name in domain.names]
    if len(attributes) != 1 or not isinstance(attributes[0], Numeric | Ordinal):
        rule = "wave is for tables of one number or ordinal attribute"
        raise InvalidInput(
            rule,
            field="channel",
            value=" x ".join(domain.names),
            hint="Ask for a number or an ordered attribute alone, or choose another channel",
        )
    if attributes[0].size != len(attributes[0].labels):
        rule = "must have no bucket beside its bins to be asked with wave"
        raise InvalidInput(rule, field=attributes[0].name, hint="A missing value has no position on the line")
    return SquareWave.of(levels=attributes[0].size, epsilon=epsilon)
