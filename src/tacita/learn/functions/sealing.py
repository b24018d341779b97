"""Secrets at rest: AES-256-GCM under a key of the owner, bound to what they are about.

Without a key they are kept as they are, which the registry says of each model. The key itself is never stored.
"""

from __future__ import annotations

import base64
import binascii
import os

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from tacita.errors import Forbidden, InvalidInput

__all__ = ["Seal"]

_NONCE = 12


class Seal:
    """Closes and opens bytes.

    Args:
        key: 32 bytes as base64 (`openssl rand -base64 32`); None keeps bytes as they are.
    """

    def __init__(self, key: str | None = None) -> None:
        self._cipher = None if key is None else AESGCM(_read(key))

    def __repr__(self) -> str:
        return f"Seal({'with a key' if self.has_key else 'without a key'})"

    @property
    def has_key(self) -> bool:
        """Whether what it closes is secret."""
        return self._cipher is not None

    def close(self, data: bytes, about: str) -> bytes:
        """Seal the bytes; opening them needs the same `about`, so that no two can be swapped."""
        if self._cipher is None:
            return data
        nonce = os.urandom(_NONCE)
        return nonce + self._cipher.encrypt(nonce, data, about.encode())

    def open(self, data: bytes, about: str) -> bytes:
        """The bytes that were sealed under the same key."""
        if self._cipher is None:
            raise Forbidden("is sealed, and no key was given", field="key", hint="Give the key it was sealed with")
        try:
            return self._cipher.decrypt(data[:_NONCE], data[_NONCE:], about.encode())
        except (InvalidTag, ValueError):
            raise Forbidden("does not open what was sealed, or that was changed", field="key") from None


def _read(key: str) -> bytes:
    try:
        raw = base64.b64decode(key, validate=True)
    except (binascii.Error, ValueError):
        raw = b""
    if len(raw) != 32:
        raise InvalidInput("must be 32 bytes in base64", field="key", hint="Make one with: openssl rand -base64 32")
    return raw
