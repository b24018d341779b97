"""Exponential and normal numbers in floats, with unbounded tails.

A uniform number of 53 bits has a smallest value, so noise computed from it has a largest one: an output beyond it would
prove which neighbour it came from. So the exponent of each uniform number is drawn separately, to any depth:
U = 2^-k V, with k geometric and V uniform in (1/2, 1], each at the full precision of a float.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from tacita.errors import InternalError
from tacita.noise.source import Source

__all__ = ["exponentials", "normals"]

_SHIFT, _BITS = np.uint64(11), 53
_MOST_WORDS = 100  # so many words of zeros have a probability of 2^-5300: then the source is broken


def exponentials(count: int, source: Source) -> NDArray[np.float64]:
    """Independent numbers with density e^-x, without a largest one."""
    doublings = np.zeros(count)
    left = np.arange(count)
    for _ in range(_MOST_WORDS):
        if not left.size:
            break
        # the number of zeros before the first one of a random word; a word of zeros goes on into the next
        words = (source.words(left.size) >> _SHIFT).astype(float)
        doublings[left] += np.where(words > 0, _BITS - np.frexp(words)[1], _BITS)
        left = left[words == 0]
    else:
        raise InternalError("the source of randomness gives nothing but zeros")
    fractions = 1 - (source.words(count) >> _SHIFT).astype(float) * 2.0 ** -(_BITS + 1)
    return doublings * math.log(2) - np.log(fractions)


def normals(count: int, source: Source) -> NDArray[np.float64]:
    """Independent standard normal numbers, without a largest one.  [Box, Muller 1958]"""
    half = (count + 1) // 2
    radius = np.sqrt(2 * exponentials(half, source))
    angle = (source.words(half) >> _SHIFT).astype(float) * (2 * np.pi * 2.0**-_BITS)
    return np.concatenate([radius * np.cos(angle), radius * np.sin(angle)])[:count]
