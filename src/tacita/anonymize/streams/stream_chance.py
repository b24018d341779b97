"""Probability that z-anonymity makes a user k-anonymous: computed under a model, with both ends of the error.

The model is of the end of one window. Each of n users has shown value a with probability p(a), all users and values
independent (with a Poisson rate r(a) by user, p = 1 - exp(-r * window)). N(a) users have shown a. If N(a) >= z, a is
let through and is in the release of all who showed it; otherwise of no one. A user is k-anonymous when the set
of values released of them is that of k - 1 others too. (The first z - 1 who showed a count as released too: in a
stream they are not, at first.)

    g(a) = P(N(a) >= z)                        whether a is released at all, which all users share
    s(a) = E[N(a) | N(a) >= z] / n             then each user has it with this probability
    q    = product over released values of s(a) or 1 - s(a)      chance that another user has the same set
    P    = E over sets of P(Binomial(n - 1, q) >= k - 1)

One step is an approximation: given N(a) >= z, users are taken as independent with probability s(a), although it is
their number that is conditioned on. It vanishes where N(a) is almost surely at or above z, or almost surely below.

log q is a sum of independent terms, one for each value, so that its distribution is a convolution on a grid. Rounding
down on the grid makes q smaller and P smaller, rounding up larger: the two ends hold the model's P between them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

from tacita.errors import InvalidInput

__all__ = ["chance_of_k"]

Floats = NDArray[np.float64]
_LEAST = 1e-16  # a set less likely than that for another user counts as one that no one else has


def chance_of_k(shown: Iterable[float], *, users: int, z: int, k: int, step: float = 0.002) -> tuple[float, float]:
    """The least and the most that the chance to be k-anonymous can be under the model.

    Args:
        shown: For each value, the probability that a user shows it in a window.
        users: Number of users.
        z: As in `ZAnonymity`.
        k: Number of users who must have the same released set.
        step: Width of the grid of log q; the narrower, the closer the two ends.
    """
    chances = np.asarray(list(shown), np.float64)
    for name, number in (("users", users), ("z", z), ("k", k)):
        if type(number) is not int or number < 1:
            raise InvalidInput("must be a whole number of 1 or more", field=name, value=number)
    if not np.isfinite(chances).all() or (chances < 0).any() or (chances > 1).any():
        raise InvalidInput("must be probabilities", field="shown")
    if not 0 < step <= 1:
        raise InvalidInput("must lie above 0 and not above 1", field="step", value=step)
    if k > users:
        return 0.0, 0.0
    released = binom.sf(z - 1, users, chances)
    # E[N; N >= z] = n p P(Binomial(n - 1, p) >= z - 1)
    share = np.divide(
        chances * binom.sf(z - 2, users - 1, chances), released, out=np.zeros_like(chances), where=released > 0
    )
    low, high = (_spread(released, np.minimum(share, 1.0), step, up) for up in (False, True))
    tail = binom.sf(k - 2, users - 1, np.exp(-step * np.arange(len(low))))
    least = np.append(tail[:-1], float(k == 1))  # the last place holds all smaller q, down to 0
    return float(low @ least), min(float(high @ tail), 1.0)


def _spread(released: Floats, share: Floats, step: float, up: bool) -> Floats:
    """The distribution of -log q in steps, rounded up or down; the last place holds all that is further."""
    size = math.ceil(-math.log(_LEAST) / step)
    law = np.zeros(size + 1)
    law[0] = 1.0
    for g, s in zip(released.tolist(), share.tolist(), strict=True):
        new = (1 - g) * law
        for chance in (s, 1 - s):
            if g * chance > 0:
                exact = -math.log(chance) / step
                far = min(math.floor(exact) if up else math.ceil(exact), size)
                new += g * chance * _moved(law, far)
        law = new
    return law


def _moved(law: Floats, far: int) -> Floats:
    """A distribution moved to the right; what would fall off stays at the end."""
    moved = np.zeros_like(law)
    last = len(law) - 1
    moved[far:last] = law[: max(last - far, 0)]
    moved[last] = law[max(last - far, 0) :].sum()
    return moved
