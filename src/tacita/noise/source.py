"""Sources of randomness: an argument of every function that draws, never a global and never a default.

`SecureSource` is for releases and reports. `SeededSource` is for simulation and tests: a different type, whose draws
can be repeated by anyone who knows the seed. So results made with it are marked `simulated`, and the server refuses
them. Both are an AES-256-CTR keystream; they differ in the origin of the key.
"""

from __future__ import annotations

import hashlib
import os
import threading
import weakref
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt
from cryptography.hazmat.primitives.ciphers import Cipher, CipherContext
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import CTR

from tacita.errors import InvalidInput

__all__ = ["SecureSource", "SeededSource", "Source"]

_REKEY_AFTER = 1 << 30  # bytes; a key that leaks later reveals little about past draws
_CHUNK = 1 << 22


@runtime_checkable
class Source(Protocol):
    """A stream of independent uniform bits."""

    @property
    def simulated(self) -> bool:
        """Whether the draws could be repeated by someone who knows a seed."""

    def words(self, count: int) -> npt.NDArray[np.uint64]:
        """Uniform 64-bit words."""


def _keystream(key: bytes) -> CipherContext:
    return Cipher(AES(key), CTR(bytes(16))).encryptor()


def _draw(stream: CipherContext, count: int) -> npt.NDArray[np.uint64]:
    zeros = bytes(min(8 * count, _CHUNK))
    parts = []
    left = 8 * count
    while left:
        step = min(left, _CHUNK)
        parts.append(stream.update(zeros[:step]))
        left -= step
    return np.frombuffer(b"".join(parts), "<u8")


class SecureSource:
    """A keystream under a key from the operating system; safe across threads and after a fork."""

    simulated = False

    def __init__(self) -> None:
        self._rekey()
        _LIVE.add(self)

    def _rekey(self) -> None:
        # a new lock too: a child process may have been forked while another thread held the old one
        self._lock, self._stream, self._drawn = threading.Lock(), _keystream(os.urandom(32)), 0

    def words(self, count: int) -> npt.NDArray[np.uint64]:
        """Uniform 64-bit words."""
        with self._lock:
            if self._drawn > _REKEY_AFTER:
                self._stream, self._drawn = _keystream(os.urandom(32)), 0
            self._drawn += 8 * count
            return _draw(self._stream, count)


_LIVE: weakref.WeakSet[SecureSource] = weakref.WeakSet()


def _after_fork() -> None:
    """A child process starts with copies of all streams and would repeat its parent's draws."""
    for source in list(_LIVE):
        source._rekey()


os.register_at_fork(after_in_child=_after_fork)


class SeededSource:
    """A keystream under a key made from a seed: for simulation only.

    >>> bool((SeededSource(7).words(3) == SeededSource(7).words(3)).all())
    True
    """

    simulated = True

    def __init__(self, seed: int) -> None:
        if isinstance(seed, bool) or not isinstance(seed, int):
            raise InvalidInput("must be a whole number", field="seed", value=seed)
        self.seed = seed
        self._lock = threading.Lock()
        self._stream = _keystream(hashlib.sha256(f"tacita simulation {seed}".encode()).digest())

    def words(self, count: int) -> npt.NDArray[np.uint64]:
        """Words that are the same for the same seed."""
        with self._lock:
            return _draw(self._stream, count)

    def generator(self) -> np.random.Generator:
        """A numpy generator for simulated data; never for noise."""
        return np.random.default_rng(self.words(4))
