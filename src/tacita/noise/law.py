"""Interface of all additive noise: a symmetric law on the integers, whose sums have exact quantiles."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import lru_cache
from statistics import NormalDist
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from tacita.common.ratio_text import ratio_from_text
from tacita.errors import InvalidInput
from tacita.noise._exact import Words
from tacita.noise.source import Source

__all__ = ["Law", "law_from_dict", "law_of_sum", "ratio_at_least"]

Integers = npt.NDArray[np.int64]
OPENDP_AT_MOST = 4096
"""Up to here OpenDP draws (about 10 us a draw); above, the own vectorised sampler does."""

LARGEST_TERM = 1 << 31
"""Of a ratio, that the samplers take."""
_FINEST_GRID = 1 << 21
_MANY_TERMS = 10_000


class Law(ABC):
    """A symmetric distribution on the integers. Frozen; equal when the parameters are."""

    kind: ClassVar[str]

    @property
    def step(self) -> Fraction:
        """Size of one unit of a draw; other than 1 for noise on a grid, see `Stepped`."""
        return Fraction(1)

    @property
    @abstractmethod
    def variance(self) -> float:
        """Variance of one draw."""

    @abstractmethod
    def pmf(self, x: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """Probability of each integer."""

    @abstractmethod
    def transform(self, t: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """The mean of cos(t x) over draws x, in units and not in steps: the characteristic function."""

    @abstractmethod
    def draw(self, count: int, source: Source) -> Integers:
        """Independent draws; exact."""

    @abstractmethod
    def as_dict(self) -> dict[str, Any]:
        """Plain data, with the parameters as exact ratios."""

    @abstractmethod
    def coarser(self, factor: int) -> Law:
        """The law of about draw/factor, for quantiles of very wide noise."""

    @property
    def std(self) -> float:
        """Standard deviation of one draw."""
        return math.sqrt(self.variance)

    def half_width(self, level: float, terms: int = 1) -> float:
        """Smallest h with P(|sum of `terms` draws| <= h) >= level.

        Exact up to rounding of the transform; very wide noise and sums of very many draws are rounded outward.

        >>> from tacita.noise import DiscreteLaplace
        >>> DiscreteLaplace.at_least(10).half_width(0.95)
        30.0
        """
        if not 0 < level < 1:
            raise InvalidInput("must lie between 0 and 1", field="level", value=level)
        return _half_width(self, level, terms)


@lru_cache(maxsize=4096)
def _half_width(law: Law, level: float, terms: int) -> float:
    if terms > _MANY_TERMS:  # the sum is normal to within a part in 10,000 of its width; rounded up by more than that
        return float(math.ceil(NormalDist().inv_cdf((1 + level) / 2) * law.std * math.sqrt(terms) * (1 + 1e-3)))
    reach = _reach(law, terms)
    if reach > _FINEST_GRID // 2:
        factor = math.ceil(reach / (_FINEST_GRID // 4))
        return factor * (_half_width(law.coarser(factor), level, terms) + 1)
    sums = _sums(law, terms)
    size = sums.size
    folded = sums[: size // 2].copy()
    folded[1:] += sums[-1 : -(size // 2) : -1]
    return float(np.searchsorted(np.cumsum(folded), level - 1e-12))


def _reach(law: Law, terms: int) -> float:
    """End of the sum's law, in steps: laplace tails need 40 scales, the sum's bulk 12 standard deviations."""
    spread = law.std / float(law.step)
    return 40 * spread + 12 * spread * math.sqrt(terms) + 8


def _sums(law: Law, terms: int) -> npt.NDArray[np.float64]:
    """The law of a sum on a circular grid: the inverse transform of the law's transform to the power `terms`.

    The grid is wide enough that what wraps around is below 1e-15.
    """
    size = 1 << math.ceil(math.log2(2 * _reach(law, terms)))
    grid = np.fft.fftfreq(size, 1 / size)
    transform = np.fft.rfft(law.pmf(grid)) if size > 1 else np.ones(1)
    return np.clip(np.fft.irfft(transform.real**terms, size), 0, None)


def law_of_sum(law: Law, terms: int = 1) -> tuple[Integers, npt.NDArray[np.float64]]:
    """Values of a sum of `terms` draws, in steps, and the probability of each; tails below 1e-15 are left out.

    A single draw has exact probabilities in floats. Sums come from a transform, whose error is about 1e-16.

    Raises:
        InvalidInput: The noise is too wide to list.
    """
    reach = _reach(law, terms)
    if reach > _FINEST_GRID // 2:
        raise InvalidInput("is too wide to list its values", field="noise", value=law.std)
    values = np.arange(-math.floor(reach), math.floor(reach) + 1, dtype=np.int64)
    if terms == 1:
        return values, np.asarray(law.pmf(values))
    return values, np.asarray(_sums(law, terms)[values])


def fill(
    count: int, source: Source, step: Callable[[Integers, int, Words], tuple[int, int]], words_each: int
) -> Integers:
    """Run a compiled sampler over tapes until `count` draws are there."""
    out, done = np.empty(count, np.int64), 0
    tape = np.empty(0, np.uint64)
    while done < count:
        fresh = source.words(min((count - done) * words_each + 1024, 1 << 19))
        tape = np.concatenate([tape, fresh])  # the words of the draw that was cut off come first, see `_exact`
        done, used = step(out, done, tape)
        tape = tape[used:]
    return out


def ratio_at_least(value: float | Fraction) -> Fraction:
    """The given decimal as an exact ratio; rounded up only where its terms would be too long for the sampler.

    A float is taken as the decimal it is written as: 0.1 means one tenth.
    """
    exact = value if isinstance(value, Fraction) else Fraction(repr(float(value)))
    if max(exact.numerator, exact.denominator) <= LARGEST_TERM:
        return exact
    unit = max(1, int(LARGEST_TERM // (exact + 1)))
    rounded = Fraction(math.ceil(exact * unit), unit)
    if rounded.numerator > LARGEST_TERM:
        raise InvalidInput("is too large for exact noise", field="scale", value=float(exact))
    return rounded


def law_from_dict(data: Mapping[str, Any]) -> Law:
    """The law that `as_dict` wrote."""
    from tacita.noise.gaussian import DiscreteGaussian
    from tacita.noise.laplace import DiscreteLaplace
    from tacita.noise.stepped import Stepped

    if "step" in data:
        inner = law_from_dict({name: value for name, value in data.items() if name != "step"})
        return Stepped(law=inner, of=_ratio(data["step"]))
    kinds: dict[str, Callable[[Fraction], Law]] = {
        DiscreteLaplace.kind: lambda x: DiscreteLaplace(scale=x),
        DiscreteGaussian.kind: lambda x: DiscreteGaussian(sigma2=x),
    }
    if data.get("law") not in kinds:
        raise InvalidInput("must be one of " + ", ".join(kinds), field="law", value=data.get("law"))
    return kinds[data["law"]](_ratio(data["parameter"]))


def _ratio(value: Any) -> Fraction:
    return ratio_from_text(value) if isinstance(value, str) else Fraction(value)
