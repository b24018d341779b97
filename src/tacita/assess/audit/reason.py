"""Reasons why an attack distinguished two neighbours, found from the outputs that it used.

    low bits   the breach is gone once outputs are rounded to a grid that is fine against their spread: the last binary
               digits of floating-point noise show what it was added to.  [Mironov 2012]
    support    it stays, and the attack's outputs were never seen on the other input: they cannot be reached from there
    bias       it stays, and the attack's outputs occur on both inputs, too much more often on one: the noise is too
               small for how far the input moves the output, or the coin is too biased

The bound itself does not depend on this: a reason states where to look, with the counts, and proves nothing more.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

__all__ = ["Reason", "coarse", "reason_of"]

_FINE = 16  # a grid of 2^-16 of the spread: far above the last digits of a float, far below what noise hides

ReasonKind = Literal["low bits", "support", "bias"]


@dataclass(frozen=True, kw_only=True)
class Reason:
    """Reason of a breach, in a word and in a sentence."""

    kind: ReasonKind
    words: str

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {"kind": self.kind, "words": self.words}


def coarse(one: NDArray[Any], other: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]] | None:
    """Round the outputs of both sides to a grid that is fine against their spread; None if nothing changes.

    Each column has a grid of its own, a power of two.
    """
    if one.dtype.kind != "f" and other.dtype.kind != "f":
        return None
    both = np.concatenate([one, other]).astype(np.float64)
    columns = both.reshape(len(both), -1)
    spread = np.subtract(*np.quantile(columns, [0.75, 0.25], axis=0))
    steps = 2.0 ** (np.floor(np.log2(np.where(spread > 0, spread, 1.0))) - _FINE)
    rounded = np.where(np.isfinite(columns), np.rint(columns / steps) * steps, columns)
    if np.array_equal(rounded, columns, equal_nan=True):
        return None
    shaped = rounded.reshape(both.shape)
    return shaped[: len(one)], shaped[len(one) :]


def reason_of(
    claimed: float, *, shown: float, rounded: float | None, hits: tuple[int, int], judged: int
) -> Reason | None:
    """Find why a bound is above a claim; None where it is not.

    Args:
        claimed: The epsilon of the claim.
        shown: The bound.
        rounded: The bound on rounded outputs; None where there is nothing to round.
        hits: How often the attack's outputs occurred on each of the two inputs, rounded where they can be.
        judged: Number of judged runs on each input.
    """
    if shown <= claimed:
        return None
    if rounded is not None and rounded <= claimed:
        return Reason(
            kind="low bits",
            words=(
                f"The low bits of floating point: with outputs rounded to a fine grid the attack shows {rounded:.3g}, "
                f"within the claim of {claimed:.3g}. Add noise on a grid, or as whole numbers."
            ),
        )
    few, many = sorted(hits)
    if few == 0:
        return Reason(
            kind="support",
            words=(
                f"Support: outputs that occur on one input ({many:,} of {judged:,}) were never seen on the other (0 of "
                f"{judged:,})."
            ),
        )
    return Reason(
        kind="bias",
        words=(
            f"Bias: outputs that occur on both inputs are too frequent on one, {many:,} against {few:,} of {judged:,}; "
            f"the claim allows a ratio of {np.exp(min(claimed, 700.0)):,.3g}."
        ),
    )
