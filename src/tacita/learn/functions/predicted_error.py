"""Predict the error of a function's answers due to its noise, before anything is paid for.

    density            noise_std = sigma sqrt(k(x, x) + own) / (rows * integral of k * volume of the box)
                       beside 1 / volume: the density of rows that are spread evenly over the bounds
    gaussian-process   noise_std = sigma sqrt(k(x, x) + own) * range of the target, sigma from the public inputs
                       beside the range of the target

Noise that is larger than its reference leaves an answer meaningless: such a release is refused unless the caller
accepts the noise.

Privacy: reads only public facts. The inputs of a Gaussian process are public; the number of rows is public under
replace-one (`rows_are_public`), and elsewhere `people` gives it approximately.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tacita.errors import InvalidInput

__all__ = ["PredictedError", "warning"]


@dataclass(frozen=True, kw_only=True)
class PredictedError:
    """The noise of an answer, beside what it is measured against.

    Attributes:
        noise_std: Standard deviation of the noise in an answer, in the units of the answer; None if it is not known.
        reference: Value it is compared with, in the same units.
        what: Description of the reference.
        basis: Basis of the prediction, in words.
    """

    noise_std: float | None
    reference: float
    what: str
    basis: str

    @property
    def too_large(self) -> bool:
        """Whether the noise is larger than what it is measured against."""
        return self.noise_std is not None and self.noise_std > self.reference

    @property
    def words(self) -> str:
        """The prediction as a sentence."""
        if self.noise_std is None:
            return f"The noise of an answer is not known before the release: {self.basis}."
        return f"{_words(self.noise_std, self.reference, self.what)} ({self.basis})."

    def check(self) -> None:
        """Refuse noise that makes answers meaningless."""
        if self.too_large:
            raise InvalidInput(
                "the noise would be larger than what it is measured against; nothing was charged",
                field="budget",
                value=self.words.rstrip("."),
                hint=(
                    "Give more budget or a wider kernel (for a Gaussian process also more noise of the responses), or "
                    "accept the noise: --accept-noise, accept_noise"
                ),
            )

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "noise_std": self.noise_std,
            "reference": self.reference,
            "what": self.what,
            "basis": self.basis,
            "too_large": self.too_large,
        }


def warning(noise_std: float | None, reference: float, what: str) -> str | None:
    """A sentence for answers whose noise is larger than what it is measured against; None for others."""
    if noise_std is None or noise_std <= reference:
        return None
    return f"{_words(noise_std, reference, what)}: answers are mostly noise."


def _words(noise_std: float, reference: float, what: str) -> str:
    return f"Noise of standard deviation {noise_std:.4g}, {noise_std / reference:.3g} times {what} ({reference:.4g})"
