"""Ed25519 signatures, so that changes of a statement or a bundle are detected.

A key signs what this installation releases. The public key is published beside it; anyone who has it can verify.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from tacita.errors import InvalidInput

__all__ = ["SigningKey", "canonical", "check_signature", "fingerprint_of", "read_canonical"]

_FILE = "signing.key"


def canonical(data: Mapping[str, Any]) -> bytes:
    """Serialise data so that equal data has equal bytes."""
    return json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()


def read_canonical(text: str, *, field: str) -> dict[str, Any]:
    """Parse a signed text into an object, if it has only one meaning.

    JSON parsers disagree about duplicate members: a signature over the last one does not cover the first, which
    another parser may read.

    Args:
        text: JSON.
        field: Name of the field in errors.

    Raises:
        InvalidInput: It is no JSON object, or has a member twice, a number that is not finite, or a text that is no
            Unicode.
    """
    try:
        data = json.loads(text, object_pairs_hook=_each_once, parse_constant=_refuse_constant)
        canonical(data) if isinstance(data, dict) else None  # a lone surrogate has no bytes
    except _TwiceError as twice:
        raise InvalidInput("must have each member once", field=field, value=str(twice)) from None
    except (ValueError, RecursionError):
        raise InvalidInput("must be JSON", field=field) from None
    if not isinstance(data, dict):
        raise InvalidInput("must be a JSON object", field=field)
    return data


class _TwiceError(Exception):
    """Signals a duplicate member by its name."""


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for name, value in pairs:
        if name in made:
            raise _TwiceError(name)
        made[name] = value
    return made


def _refuse_constant(name: str) -> Any:
    raise ValueError(name)


@dataclass(frozen=True, kw_only=True)
class SigningKey:
    """A signing key. Its private half is never shown."""

    _key: Ed25519PrivateKey = field(repr=False)

    @classmethod
    def new(cls) -> SigningKey:
        """Generate a new key."""
        return cls(_key=Ed25519PrivateKey.generate())

    @classmethod
    def of(cls, home: Path) -> SigningKey:
        """Return the key of an installation, generated on first use; only its owner can read the file."""
        path = home / _FILE
        home.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            raw = cls.new()._key.private_bytes(Encoding.Raw, PrivateFormat.Raw, NoEncryption())
            handle, part = tempfile.mkstemp(prefix=f".{_FILE}.", dir=home)  # its mode is 0600
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(raw)
                    file.flush()
                    os.fsync(file.fileno())
                with suppress(FileExistsError):  # another process was faster; its key is used
                    os.link(part, path)
            finally:
                os.unlink(part)
        stored = path.read_bytes()
        if len(stored) != 32:
            raise InvalidInput("is no key of 32 bytes", field="signing.key", value=len(stored))
        return cls(_key=Ed25519PrivateKey.from_private_bytes(stored))

    @property
    def public(self) -> str:
        """The public half of the key."""
        return _text(self._key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw))

    def sign(self, message: bytes) -> str:
        """Sign these bytes."""
        return _text(self._key.sign(message))


def check_signature(message: bytes, signature: str, public: str) -> bool:
    """Return whether the key with this public half signed these bytes."""
    try:
        Ed25519PublicKey.from_public_bytes(_bytes(public)).verify(_bytes(signature), message)
    except (InvalidSignature, ValueError):
        return False
    return True


def fingerprint_of(public: str) -> str:
    """Return a short name for a public key, to read out and compare."""
    digest = hashlib.sha256(public.encode()).hexdigest()[:16]
    return " ".join(digest[place : place + 4] for place in range(0, 16, 4))


def _text(raw: bytes) -> str:
    return base64.b64encode(raw).decode()


def _bytes(text: str) -> bytes:
    return base64.b64decode(text, validate=True)
