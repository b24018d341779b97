"""Exact samplers on a tape of random words, compiled. [Canonne, Kamath, Steinke 2020]

Every probability is a ratio of integers and every comparison is between integers: no floating point, so the law is
exactly the one claimed. A word is uniform on 0 .. 2^bits - 1; releases use 64 bits, tests use few, so that all tapes
can be enumerated and the law read off (`tests/noise/test_exact.py`).

Each function takes the tape and a position and returns its value with the new position, or position -1 when the
tape has ended. The caller must then repeat with *the same words followed by fresh ones*: starting over with fresh
words alone would favour values that need few words.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tacita.common.compiled import compiled

Words = npt.NDArray[np.uint64]
ENDED = -1

_ZERO, _ONE = np.uint64(0), np.uint64(1)


@compiled
def below(words: Words, at: int, bits: int, n: Any) -> tuple[Any, int]:
    """Uniform on 0 .. n-1, for 1 <= n <= 2^bits, by rejecting the words beyond the last multiple of n."""
    if n == _ONE:
        return _ZERO, at
    # 2^bits mod n; at 64 bits 2^64 itself cannot be written, but 2^64 - n can
    excess = (_ZERO - n) % n if bits == 64 else (_ONE << np.uint64(bits)) % n
    last = (_ZERO - _ONE if bits == 64 else (_ONE << np.uint64(bits)) - _ONE) - excess
    while True:
        if at >= len(words):
            return _ZERO, ENDED
        word = words[at]
        at += 1
        if word <= last:
            return word % n, at


@compiled
def coin_exp_unit(words: Words, at: int, bits: int, top: Any, bottom: Any) -> tuple[bool, int]:
    """True with probability exp(-top/bottom), for 0 <= top <= bottom.

    With g = top/bottom, the first k = 1, 2, ... at which a coin of probability g/k fails is odd with probability
    1 - g + g^2/2! - g^3/3! + ... = exp(-g). The coin is two coins, g and 1/k, so that no product can overflow.
    """
    k = _ONE
    while True:
        draw, at = below(words, at, bits, bottom)
        if at == ENDED:
            return False, ENDED
        if draw >= top:
            break
        draw, at = below(words, at, bits, k)
        if at == ENDED:
            return False, ENDED
        if draw != _ZERO:
            break
        k += _ONE
    return k % np.uint64(2) == _ONE, at


@compiled
def coin_exp(words: Words, at: int, bits: int, top: Any, bottom: Any) -> tuple[bool, int]:
    """True with probability exp(-top/bottom), for any top >= 0."""
    while top > bottom:
        kept, at = coin_exp_unit(words, at, bits, _ONE, _ONE)
        if at == ENDED or not kept:
            return False, at
        top -= bottom
    kept, at = coin_exp_unit(words, at, bits, top, bottom)
    return kept, at


@compiled
def geometric(words: Words, at: int, bits: int, top: Any, bottom: Any) -> tuple[Any, int]:
    """Probability of x = 0, 1, ... proportional to exp(-x bottom/top)."""
    while True:
        u, at = below(words, at, bits, top)
        if at == ENDED:
            return _ZERO, ENDED
        kept, at = coin_exp_unit(words, at, bits, u, top)
        if at == ENDED:
            return _ZERO, ENDED
        if kept:
            break
    v = _ZERO
    while True:
        more, at = coin_exp_unit(words, at, bits, _ONE, _ONE)
        if at == ENDED:
            return _ZERO, ENDED
        if not more:
            return (u + top * v) // bottom, at
        v += _ONE


@compiled
def laplace(words: Words, at: int, bits: int, top: Any, bottom: Any) -> tuple[int, int]:
    """Discrete Laplace of scale top/bottom: probability of x proportional to exp(-|x| bottom/top)."""
    while True:
        magnitude, at = geometric(words, at, bits, top, bottom)
        if at == ENDED:
            return 0, ENDED
        negative, at = below(words, at, bits, np.uint64(2))
        if at == ENDED:
            return 0, ENDED
        if negative == _ONE and magnitude == _ZERO:
            continue  # zero has no sign: counting it twice would double its probability
        return (-np.int64(magnitude) if negative == _ONE else np.int64(magnitude)), at  # type: ignore[return-value]


@compiled
def try_radius(words: Words, at: int, bits: int, top: Any, bottom: Any, k: Any) -> tuple[int, int]:
    """One attempt at a radius r with a probability proportional to (2r + 1)^k exp(-r bottom/top); -1 where it fails.

    The sum n of k + 1 geometric draws has a probability proportional to (n+1) ... (n+k) exp(-n bottom/top). It is kept
    with k coins of probability (2n + 1) / (2n + 2i), for i = 1 .. k: about every exp(k bottom / (2 top))-th time.
    """
    two, n = np.uint64(2), _ZERO
    for _ in range(k + _ONE):
        more, at = geometric(words, at, bits, top, bottom)
        if at == ENDED:
            return 0, ENDED
        n += more
    for i in range(k):
        draw, at = below(words, at, bits, two * n + two * np.uint64(i) + two)
        if at == ENDED:
            return 0, ENDED
        if draw > two * n:
            return -1, at
    return np.int64(n), at  # type: ignore[return-value]


@compiled
def gaussian(words: Words, at: int, bits: int, top: Any, bottom: Any, t: Any) -> tuple[int, int]:
    """Discrete Gaussian of variance parameter s2 = top/bottom, from a discrete Laplace of scale t near sqrt(s2).

    Accept y with probability exp(-(|y| - s2/t)^2 / (2 s2)), written over integers as
    exp(-(|y| t bottom - top)^2 / (2 top bottom t^2)).
    """
    while True:
        y, at = laplace(words, at, bits, t, _ONE)
        if at == ENDED:
            return 0, ENDED
        far = np.uint64(abs(y)) * t * bottom
        gap = far - top if far > top else top - far
        kept, at = coin_exp(words, at, bits, gap * gap, np.uint64(2) * top * bottom * t * t)
        if at == ENDED:
            return 0, ENDED
        if kept:
            return y, at


@compiled
def fill_laplace(out: npt.NDArray[np.int64], done: int, words: Words, top: Any, bottom: Any) -> tuple[int, int]:
    """Fill `out` from `done` on; returns how far it came and the first word that was not used up."""
    at = 0
    while done < len(out):
        value, next_at = laplace(words, at, 64, top, bottom)
        if next_at == ENDED:
            break
        out[done], at = value, next_at
        done += 1
    return done, at


@compiled
def fill_gaussian(
    out: npt.NDArray[np.int64], done: int, words: Words, top: Any, bottom: Any, t: Any
) -> tuple[int, int]:
    """Fill `out` from `done` on; returns how far it came and the first word that was not used up."""
    at = 0
    while done < len(out):
        value, next_at = gaussian(words, at, 64, top, bottom, t)
        if next_at == ENDED:
            break
        out[done], at = value, next_at
        done += 1
    return done, at


@compiled
def fill_cube(out: npt.NDArray[np.int64], words: Words, top: Any, bottom: Any) -> tuple[bool, int]:
    """One even point of a cube with a random radius.

    Returns whether it is done, and else where the last attempt began: with the words from there, and fresh ones behind
    them, it goes on. Attempts that failed are over, so their words are not needed again.
    """
    at = 0
    while True:
        begun = at
        r, at = try_radius(words, begun, 64, top, bottom, np.uint64(len(out)))
        if at == ENDED:
            return False, begun
        if r < 0:
            continue
        for i in range(len(out)):
            place, at = below(words, at, 64, np.uint64(2 * r + 1))
            if at == ENDED:
                return False, begun
            out[i] = np.int64(place) - r
        return True, at
