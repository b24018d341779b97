"""Choice of the frequency oracle: the one with the least predicted variance, unless a far shorter report costs little.

Every candidate is built for the loss that is asked for, and states its variance from the integers it would sample with:
no rule of thumb is used.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tacita.collect.channels.channel import RandomizedResponse
from tacita.collect.channels.hadamard import HadamardResponse
from tacita.collect.channels.hashing import LocalHashing
from tacita.collect.channels.parts.exact import check_levels
from tacita.collect.channels.protocol import Channel
from tacita.collect.channels.subset import SubsetSelection
from tacita.collect.channels.unary import UnaryEncoding
from tacita.errors import InvalidInput

__all__ = ["Candidate", "OracleChoice", "best_oracle", "choose_oracle", "oracle_candidates"]

_MAKERS: dict[str, Callable[[int, float], Channel]] = {
    "randomized response": lambda k, eps: RandomizedResponse.k_ary(levels=k, epsilon=eps),
    "subset selection": lambda k, eps: SubsetSelection.of(levels=k, epsilon=eps),
    "optimised unary encoding": lambda k, eps: UnaryEncoding.optimised(levels=k, epsilon=eps),
    "symmetric unary encoding": lambda k, eps: UnaryEncoding.symmetric(levels=k, epsilon=eps),
    "optimised local hashing": lambda k, eps: LocalHashing.optimised(levels=k, epsilon=eps),
    "Hadamard response": lambda k, eps: HadamardResponse.of(levels=k, epsilon=eps),
}


@dataclass(frozen=True, kw_only=True, eq=False)
class Candidate:
    """One oracle and what it would give.

    Attributes:
        name: What it is called.
        channel: It, ready to run.
        variance: Predicted variance of one share, mean over levels, when all levels are equally frequent.
        report_bits: Length of a report.
    """

    name: str
    channel: Channel
    variance: float
    report_bits: int


@dataclass(frozen=True, kw_only=True, eq=False)
class OracleChoice:
    """The oracle to use, the reason in words, and what it was compared with, best variance first."""

    best: Candidate
    why: str
    candidates: tuple[Candidate, ...]


def oracle_candidates(levels: int, epsilon: float, respondents: int) -> tuple[Candidate, ...]:
    """All oracles that can be built for this loss, by predicted variance about the respondents.

    Args:
        levels: Number of levels, 2 to 2**20.
        epsilon: The local loss that each respondent accepts.
        respondents: How many are expected.
    """
    check_levels(levels)
    if type(respondents) is not int or respondents < 1:
        raise InvalidInput("must be an integer of 1 or more", field="respondents", value=respondents)
    found, refusal = [], None
    for name, make in _MAKERS.items():
        try:
            channel = make(levels, epsilon)
        except InvalidInput as error:  # out of this oracle's range; another may reach it
            refusal = error
            continue
        found.append(_candidate(name, channel, respondents))
    if not found and refusal is not None:
        raise refusal
    return tuple(sorted(found, key=lambda candidate: (candidate.variance, candidate.report_bits)))


def _candidate(name: str, channel: Channel, respondents: int) -> Candidate:
    flat = np.full(channel.levels, 1 / channel.levels)
    variance = channel.covariance(flat, respondents=respondents, about="respondents").variance().mean()
    bits = getattr(channel, "report_bits", (channel.levels - 1).bit_length())
    return Candidate(name=name, channel=channel, variance=float(variance), report_bits=bits)


def choose_oracle(levels: int, epsilon: float, respondents: int, *, tolerance: float = 0.03) -> OracleChoice:
    """The shortest report among the oracles whose variance is within `tolerance` of the least, and why.

    Args:
        levels: Number of levels, 2 to 2**20.
        epsilon: The local loss that each respondent accepts.
        respondents: How many are expected.
        tolerance: The share of variance that may be given up for a shorter report; 0 for the least variance.
    """
    if not 0 <= tolerance < np.inf:
        raise InvalidInput("must be 0 or more", field="tolerance", value=tolerance)
    candidates = oracle_candidates(levels, epsilon, respondents)
    least = candidates[0]
    near = [one for one in candidates if one.variance <= (1 + tolerance) * least.variance]
    best = min(near, key=lambda one: (one.report_bits, one.variance))
    why = (
        f"{best.name}: predicted standard error {best.variance**0.5:.2g} a level with {best.report_bits} bits a report"
    )
    if best is least:
        why += "; no other has less variance"
    else:
        less = 100 * (1 - least.variance / best.variance)
        why += f"; {least.name} has {less:.1f} % less variance but takes {least.report_bits} bits"
    return OracleChoice(best=best, why=why, candidates=candidates)


def best_oracle(levels: int, epsilon: float, respondents: int, *, tolerance: float = 0.03) -> Channel:
    """The channel that `choose_oracle` picks.

    >>> type(best_oracle(4, 3.0, 10_000)).__name__, type(best_oracle(1000, 1.0, 10_000)).__name__
    ('RandomizedResponse', 'LocalHashing')
    """
    return choose_oracle(levels, epsilon, respondents, tolerance=tolerance).best.channel
