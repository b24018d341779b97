"""Square Wave: the distribution of a bounded number, through reports near it.  [Li et al. 2020]

Privacy: local, pure; epsilon = ln(near / far), exact, from the integers that the sampler uses.
Utility: a smooth estimate of the whole curve; biased, without intervals.
Cost: one word a report; EM over bins times cells.
Claim page: docs/claims/square-wave.md.   Flags: unvetted.

The number is put into one of d bins first (public bounds), then randomised: a report is one of d + 2 h cells, and the
2 h + 1 cells within h of the bin are e^epsilon times as likely as the others.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacita.collect.channels._em import Fitted, expectation_maximisation
from tacita.collect.channels._exact import check_codes, check_levels
from tacita.collect.channels._window import Window
from tacita.errors import InvalidInput
from tacita.noise.source import Source

__all__ = ["SquareWave", "half_width"]

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

    def distribution(self, counts: ArrayLike, *, method: Literal["em", "ems"] = "ems") -> Fitted:
        """The distribution over the bins.

        Args:
            counts: A tally.
            method: "ems" smooths after each step, for curves; "em" is plain maximum likelihood, for jumps and points.
        """
        if method not in ("em", "ems"):
            raise InvalidInput("must be 'em' or 'ems'", field="method", value=method)
        return expectation_maximisation(self.matrix(), counts, smooth=method == "ems", tolerance=_TOLERANCE)
