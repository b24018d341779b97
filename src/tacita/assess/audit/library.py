"""The auditor pointed at the library's own mechanisms, and at the catalogue of broken ones.

claimed   the epsilon that the mechanism states
exact     computed from the distribution of its outputs, where they can be listed
audited   lower bound by attack, with a stated confidence
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from tacita.assess.audit import Verdict, audit, exact_epsilon, judge, matrix_epsilon
from tacita.assess.audit.broken import BROKEN
from tacita.collect.channels.channel import RandomizedResponse
from tacita.collect.channels.hadamard import HadamardResponse
from tacita.collect.channels.subset import SubsetSelection
from tacita.collect.channels.unary import UnaryEncoding
from tacita.noise import SecureSource, Source
from tacita.noise.gaussian import DiscreteGaussian
from tacita.noise.laplace import DiscreteLaplace
from tacita.privacy.accountant import epsilon_at
from tacita.privacy.event import DiscreteGaussianNoise
from tacita.privacy.selection import noisy_max
from tacita.privacy.unit import Neighbours

__all__ = ["audit_broken", "audit_library"]

_WIDE = 20  # standard deviations of a distribution that are listed; the mass beyond is below any delta here
_DELTA = 1e-5
_ENTRIES = 19
_STEPS = 16  # of a grid on which discrete Gaussian noise is as good as continuous, which its audit assumes
Family = Literal["any", "gaussian"]


def audit_library(
    trials: int, rng: np.random.Generator, *, confidence: float = 0.95, source: Source | None = None
) -> Iterator[Verdict]:
    """Yield verdicts on channels, noise and private selection, one after the other.

    Args:
        trials: Runs on each of two neighbours; choosing takes a hundredth of them, being slow.
        rng: Passed to the auditor; mechanisms draw from `source`.
        confidence: Of all bounds together.
        source: Source of randomness of the mechanisms; by default the secure one.
    """
    words = source or SecureSource()
    confidence = 1 - (1 - confidence) / _ENTRIES  # so that all bounds hold together
    for epsilon in (0.5, 1.0, 3.0):
        yield from _channels(epsilon, trials, rng, confidence, words)
        yield from _noise(epsilon, trials, rng, confidence, words)
    yield _choice(1.0, max(2000, trials // 100), rng, confidence, words)


def _channels(
    epsilon: float, trials: int, rng: np.random.Generator, confidence: float, source: Source
) -> Iterator[Verdict]:
    few: list[tuple[str, Any]] = [
        ("randomized response", RandomizedResponse.k_ary(levels=4, epsilon=epsilon)),
        ("subset selection", SubsetSelection.of(levels=4, epsilon=epsilon)),
        ("unary, optimised", UnaryEncoding.optimised(levels=4, epsilon=epsilon)),
        ("Hadamard response", HadamardResponse.of(levels=4, epsilon=epsilon)),
    ]
    for name, channel in few:

        def run(value: int, times: int, _: np.random.Generator, channel: Any = channel) -> Any:
            sent = channel.randomize(np.full(times, value), source)
            return sent if isinstance(sent, np.ndarray) and sent.dtype.kind in "iub" else [repr(each) for each in sent]

        found = audit(run, 0, 1, trials=trials, rng=rng, confidence=confidence, claimed=channel.epsilon_upper)
        exact = matrix_epsilon(channel.matrix())
        yield judge(f"{name}, epsilon {epsilon:g}", channel.epsilon_upper, exact=exact, audited=found)


def _noise(
    epsilon: float, trials: int, rng: np.random.Generator, confidence: float, source: Source
) -> Iterator[Verdict]:
    laplace = DiscreteLaplace(scale=Fraction(1) / Fraction(str(epsilon)))
    sigma2 = Fraction(round(_STEPS**2 * 2 * math.log(1.25 / _DELTA) / epsilon**2))
    gaussian = DiscreteGaussian(sigma2=sigma2)
    event = DiscreteGaussianNoise(sigma2=sigma2, sensitivity=_STEPS)
    claimed = epsilon_at(event, _DELTA, Neighbours.ADD_REMOVE)
    for name, law, stated, delta, far in (
        (f"Laplace noise, epsilon {epsilon:g}", laplace, epsilon, 0.0, 1),
        (f"Gaussian noise, sigma {math.sqrt(sigma2) / _STEPS:.3g}", gaussian, claimed, _DELTA, _STEPS),
    ):

        def run(value: int, times: int, _: np.random.Generator, law: Any = law) -> Any:
            return value + law.draw(times, source)

        wide = math.ceil(_WIDE * law.std)
        around = np.arange(-wide, wide + far + 1)
        one, other = law.pmf(around), law.pmf(around - far)
        exact = exact_epsilon(one / one.sum(), other / other.sum(), delta)
        family: Family = "gaussian" if delta else "any"
        found = audit(run, 0, far, trials=trials, rng=rng, delta=delta, confidence=confidence, family=family)
        yield judge(name, stated * (1 + 1e-9), delta=delta, exact=exact, audited=found)


def _choice(epsilon: float, trials: int, rng: np.random.Generator, confidence: float, source: Source) -> Verdict:
    def run(scores: list[float], times: int, _: np.random.Generator) -> Any:
        return np.array([noisy_max(scores, sensitivity=1.0, epsilon=epsilon, source=source) for _ in range(times)])

    one, other = [1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 1.0, 1.0]
    found = audit(run, one, other, trials=trials, rng=rng, confidence=confidence)
    return judge(f"noisy maximum, epsilon {epsilon:g}", epsilon, audited=found)


def audit_broken(trials: int, rng: np.random.Generator, *, confidence: float = 0.95) -> Iterator[Verdict]:
    """Yield verdicts on known broken mechanisms: all should be breaches; the confidence is of all together."""
    confidence = 1 - (1 - confidence) / len(BROKEN)
    for broken in BROKEN:
        found = audit(
            broken.mechanism,
            broken.one,
            broken.other,
            trials=trials,
            rng=rng,
            delta=broken.delta,
            confidence=confidence,
            claimed=broken.claimed,
        )
        yield judge(broken.name, broken.claimed, delta=broken.delta, audited=found, why=broken.why)
