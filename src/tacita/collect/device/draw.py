"""The arithmetic that every device needs, in plain integers: logarithms of ratios, exact coins, exact dice.

Legend: k levels, x the true one, y the one that is sent. Randomized response is `keep` >= 0 and `fake` =
(f_0, f_1, ..) with all f >= 1:

    weight(y | x) = f_y + keep * [x == y]          total M = keep + sum(f)  <=  2**53

These integers are the mechanism. The bulk sampler, the device and the browser draw from them, and the loss is computed
from them, so that the promised loss is that of the code that runs. Standard library only: a respondent's device needs
nothing else.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import accumulate

__all__ = ["DIGITS", "WORD_RANGE", "below", "coin", "draw", "log_nearest", "log_upper", "loss", "loss_upper", "ratio"]

WORD_RANGE = 2**53  # a draw uses 53 bits, because JavaScript's numbers hold no more exactly
DIGITS = 60  # decimal digits carried: 40 more than the loss of the smallest step 1 / 2**53 needs


# -- losses ------------------------------------------------------------------------------------------------


def _log(ratio: Fraction) -> Decimal:
    with localcontext() as context:
        context.prec = DIGITS
        return (Decimal(ratio.numerator) / Decimal(ratio.denominator)).ln()


def log_nearest(ratio: Fraction) -> float:
    """The logarithm of a fraction, to the nearest float."""
    return float(_log(ratio))


def log_upper(ratio: Fraction) -> float:
    """The least float that is not below the logarithm of a fraction."""
    exact = _log(ratio)
    nearest = float(exact)
    return nearest if Decimal(nearest) >= exact else math.nextafter(nearest, math.inf)


def ratio(keep: int, fake: Sequence[int]) -> Fraction:
    """The most that an answer of randomized response changes the odds between two true values."""
    # Claim: it is 1 + keep / min f.
    # For an output y the inputs give weight f_y + keep (x == y) or f_y (x != y), over the same total M. The
    # largest ratio between two inputs is (f_y + keep) / f_y, and it is largest where f_y is least. k >= 2,
    # so both inputs exist.
    least = min(fake)
    return Fraction(least + keep, least)


def loss(keep: int, fake: Sequence[int]) -> float:
    """The exact epsilon of randomized response, as the float nearest to it.

    >>> round(math.exp(loss(2, [1, 1])), 12)  # two fair coins: the odds change by 3
    3.0
    """
    return log_nearest(ratio(keep, fake))


def loss_upper(keep: int, fake: Sequence[int]) -> float:
    """The exact epsilon of randomized response rounded outward: the least float that is not below it."""
    return log_upper(ratio(keep, fake))


# -- draws: `words` are uniform 64-bit integers; a device passes the system's, test vectors pass listed ones -


def below(total: int, words: Iterator[int]) -> tuple[int, int]:
    """A uniform integer from 0 to total - 1, exactly, for a total of at most 2**53; and how many words it took."""
    bound = WORD_RANGE - WORD_RANGE % total  # beyond it the remainders would not be uniform
    used = 1
    while (word := next(words) >> 11) >= bound:
        used += 1
    return word % total, used


def coin(threshold: int, bits: int, words: Iterator[int]) -> bool:
    """True with probability threshold / 2**bits, exactly; one word."""
    return next(words) >> (64 - bits) < threshold


def draw(keep: int, fake: Sequence[int], truth: int, words: Iterator[int]) -> tuple[int, int]:
    """Draw what randomized response sends for the true level `truth`.

    Args:
        keep: Weight of keeping the truth.
        fake: Weight of each level as a fake answer.
        truth: Index of the true level.
        words: Uniform 64-bit integers.

    Returns:
        The index that is sent, and how many words were used.
    """
    sums = list(accumulate(fake))
    position, used = below(keep + sums[-1], words)
    # The search runs whether or not the truth is kept, and the choice is a look-up: the time must not reveal
    # the branch.
    cell = bisect_right(sums, max(position - keep, 0))
    return (cell, truth)[position < keep], used
