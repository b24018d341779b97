"""The arithmetic of randomized response in plain integers: its loss and its draw.

Legend: k levels, x the true one, y the one that is sent. A channel is `keep` >= 0 and `fake` = (f_0, f_1, ..)
with all f >= 1:

    weight(y | x) = f_y + keep * [x == y]          total M = keep + sum(f)  <=  2**53

These integers are the mechanism. The bulk sampler, the device and the browser draw from them, and the loss
is read off them, so that what is promised and what runs cannot drift apart. Standard library only: a
respondent's device needs nothing else.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from decimal import Decimal, localcontext
from itertools import accumulate

__all__ = ["DIGITS", "WORD_RANGE", "draw", "loss", "loss_upper"]

WORD_RANGE = 2**53  # a draw uses 53 bits, because JavaScript's numbers hold no more exactly
DIGITS = 60  # decimal digits carried: 40 more than the loss of the smallest step 1 / 2**53 needs


def _ratio_log(keep: int, fake: Sequence[int]) -> Decimal:
    # Claim: the local loss is ln(1 + keep / min f).
    # For an output y the inputs give weight f_y + keep (x == y) or f_y (x != y), over the same total M. The
    # largest ratio between two inputs is (f_y + keep) / f_y, and it is largest where f_y is least. k >= 2,
    # so both inputs exist.
    least = min(fake)
    with localcontext() as context:
        context.prec = DIGITS
        return (Decimal(least + keep) / Decimal(least)).ln()


def loss(keep: int, fake: Sequence[int]) -> float:
    """The exact epsilon of the channel, as the float nearest to it.

    >>> round(math.exp(loss(2, [1, 1])), 12)  # two fair coins: the odds change by 3
    3.0
    """
    return float(_ratio_log(keep, fake))


def loss_upper(keep: int, fake: Sequence[int]) -> float:
    """The exact epsilon rounded outward: the least float that is not below it."""
    exact = _ratio_log(keep, fake)
    nearest = float(exact)
    return nearest if Decimal(nearest) >= exact else math.nextafter(nearest, math.inf)


def draw(keep: int, fake: Sequence[int], truth: int, words: Iterator[int]) -> tuple[int, int]:
    """Draw what is sent for the true level `truth`, one 64-bit word at a time.

    Args:
        keep: Weight of keeping the truth.
        fake: Weight of each level as a fake answer.
        truth: Index of the true level.
        words: Uniform 64-bit integers; a device passes the system's, test vectors pass listed ones.

    Returns:
        The index that is sent, and how many words were used.
    """
    sums = list(accumulate(fake))
    total = keep + sums[-1]
    bound = WORD_RANGE - WORD_RANGE % total  # beyond it the remainders would not be uniform
    used = 1
    while (word := next(words) >> 11) >= bound:
        used += 1
    position = word % total
    # The search runs whether or not the truth is kept, and the choice is a look-up: the time must not tell
    # the branch.
    cell = bisect_right(sums, max(position - keep, 0))
    return (cell, truth)[position < keep], used
