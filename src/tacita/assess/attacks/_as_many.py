"""Extrapolation of match counts from a small control group to as many people as are in the data.

Each guess fits a person with a probability of its own. Over guesses these probabilities are assumed to follow a Gamma
law; the number of fits among `times` as many people is then negative binomial. Its two parameters are matched to the
observed shares of guesses that fit no one and exactly one person: the result depends on the small counts, and a few
guesses that fit very many people should not decide it. Used where a control is smaller than the data: counting in the
control alone would make every release look leaky.

    P(none) = (s / (s + m))^s,  P(one) = P(none) s m / (s + m);  with r = P(one) / P(none):  P(none) = (1 - r/s)^s
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

from tacita.assess.rates import Rate

__all__ = ["none_and_one", "worked_out"]

_TIMES = 3
_NARROW, _WIDE = 1 + 1e-12, 1e9
"""Ends of the search for s, as multiples of r."""


def none_and_one(counts: NDArray[np.float64], times: float) -> tuple[float, float]:
    """Estimate P(no one) and P(exactly one) among `times` as many people, from how many people each guess fits."""
    none, one = float((counts == 0).mean()), float((counts == 1).mean())
    if one == 0:
        return none, 0.0  # no guess fits exactly one person: no evidence that more people would change that
    if none == 0:
        return 0.0, one / times  # every guess fits someone: among more people, fewer are unique
    r = one / none

    def excess(s: float) -> float:
        return float(s * np.log1p(-r / s) - np.log(none))

    if excess(r * _WIDE) <= 0:  # no more spread than Poisson has
        return float(np.exp(-r * times)), float(r * times * np.exp(-r * times))
    if excess(r * _NARROW) >= 0:  # the limit of s at r, where m is far above s
        none *= times**-r
        return none, none * r
    shape = optimize.brentq(excess, r * _NARROW, r * _WIDE)
    mean = r * shape / (shape - r) * times
    none = float((shape / (shape + mean)) ** shape)
    return none, float(none * shape * mean / (shape + mean))


def worked_out(share: float, guesses: int, held: int, people: int) -> tuple[Rate, str]:
    """Return an extrapolated share as a rate, with no more trials than people it comes from, and its note."""
    trials = min(guesses, held)
    note = f"{held} people were held back, {people} are in the data: extrapolated by a factor of {people / held:.1f}."
    if people > _TIMES * held:
        note += f" A factor above {_TIMES} is unreliable: hold more people back before you rely on this figure."
    return Rate(successes=round(share * trials), trials=trials), note
