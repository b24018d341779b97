"""The bulk sampler: the draw of `tacita.collect.device.draw`, compiled, with a guide table for its bisection."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tacita.common.compiled import compiled

__all__ = ["fill_answers", "guide_table"]

_MOST_BITS = 18  # buckets of a guide table: 1 MB, what a processor keeps near


def guide_table(sums: NDArray[np.int64]) -> tuple[NDArray[np.int32], int]:
    """First cell of each bucket of the cumulative sums, and the shift that gives the bucket.

    A target is uniform, so every bucket is equally likely, and the cells passed by a scan from the start of
    its bucket are at most cells / buckets on average: below one, whatever the weights are (up to 2**16
    levels).
    """
    bits = min((4 * sums.size).bit_length(), _MOST_BITS)
    shift = max(int(sums[-1] - 1).bit_length() - bits, 0)
    starts = np.arange((int(sums[-1] - 1) >> shift) + 1, dtype=np.int64) << shift
    return np.searchsorted(sums, starts, side="right").astype(np.int32), shift


@compiled
def fill_answers(
    truths: NDArray[np.int64],
    words: NDArray[np.uint64],
    keep: np.int64,
    sums: NDArray[np.int64],
    guide: NDArray[np.int32],
    shift: np.int64,
    answers: NDArray[np.int64],
) -> int:
    """Fill `answers` from the front, one word after the other; returns how many could be filled."""
    word_range = np.int64(1) << 53
    total = keep + sums[-1]
    bound = word_range - word_range % total
    done = 0
    for i in range(words.size):
        word = np.int64(words[i] >> np.uint64(11))
        if word >= bound:
            continue
        # A channel that fills the 53 bits (all that we calibrate) has bound == total: no division needed.
        position = word if word < total else word % total
        kept = np.int64(position < keep)
        target = (position - keep) * (1 - kept)
        cell = np.int64(guide[target >> shift])
        while sums[cell] <= target:
            cell += 1
        answers[done] = truths[done] * kept + cell * (1 - kept)
        done += 1
    return done
