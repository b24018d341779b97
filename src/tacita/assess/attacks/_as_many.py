"""How often something would be found among more people than were held back.

A guess fits each person with a probability of its own. Over guesses these are taken to follow a Gamma law; the number
among `times` as many people is then negative binomial. Its two parameters are those that give the shares of guesses
which fit nobody and exactly one of the people that there are: what is asked for hangs on the small counts, and a few
guesses that fit very many should not decide. Used where a control is smaller than the data: counting in it alone would
make every release look leaky.

    P(none) = (s / (s + m))^s,  P(one) = P(none) s m / (s + m);  with r = P(one) / P(none):  P(none) = (1 - r/s)^s
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

from tacita.assess.rates import Rate

__all__ = ["none_and_one", "worked_out"]

_TIMES = 3


def none_and_one(counts: NDArray[np.float64], times: float) -> tuple[float, float]:
    """P(nobody) and P(exactly one) among `times` as many people, from how many each guess fits."""
    none, one = float((counts == 0).mean()), float((counts == 1).mean())
    if one == 0:
        return none, 0.0  # nothing fits one of these: more people are no different, as far as can be told
    if none == 0:
        return 0.0, one / times  # everything fits somebody: among more, fewer are alone
    r = one / none
    if none >= np.exp(-r):  # no more spread than Poisson has
        return float(np.exp(-r * times)), float(r * times * np.exp(-r * times))
    shape = optimize.brentq(lambda s: s * np.log1p(-r / s) - np.log(none), r * (1 + 1e-12), r * 1e9)
    mean = r * shape / (shape - r) * times
    none = float((shape / (shape + mean)) ** shape)
    return none, float(none * shape * mean / (shape + mean))


def worked_out(share: float, guesses: int, held: int, people: int) -> tuple[Rate, str]:
    """A share that was worked out, as a rate of no more trials than people it comes from; and what to say with it."""
    trials = min(guesses, held)
    note = f"{held} people were held back, of {people} in the data: worked out for as many, {people / held:.1f} times."
    if people > _TIMES * held:
        note += f" More than {_TIMES} times is a guess: hold more people back before this figure is relied on."
    return Rate(successes=round(share * trials), trials=trials), note
