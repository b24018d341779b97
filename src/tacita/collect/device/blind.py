"""Blind signatures for one-time tokens: RSABSSA-SHA384-PSS-Randomized of RFC 9474, the respondent's half.

    respondent                          aggregator
    message = prepare()
    blinded, inverse = blind(message)   ->  signs `blinded` for a code, which is then used up
    signature = finalize(..)            <-  its signature
    token = message, signature          ->  later, with the report: is signed, was not seen before

Privacy:  blinded messages are uniform, whatever the message is. So the aggregator cannot link a token to the code that
          it was bought with, whatever it records; it can still compare times and addresses.
          Claim: docs/claims/invitations.md

The exponent is 65537, the modulus has 2048 bits. Standard library only: this is part of the device. The aggregator
verifies with `cryptography` (`campaigns.invitations`).
"""

from __future__ import annotations

import hashlib
import math
import re
import secrets
from collections.abc import Callable
from dataclasses import dataclass

from tacita.collect.device.refusal import Refusal

__all__ = [
    "BITS",
    "EXPONENT",
    "TOKEN_DIGITS",
    "Blinded",
    "blind",
    "buy_token",
    "finalize",
    "is_key",
    "is_token",
    "prepare",
    "report_id",
    "split_token",
    "verify",
]

BITS = 2048
EXPONENT = 65537
MESSAGE_BYTES = 64
"""A prepared message: 32 random bytes that the RFC asks for, and 32 that name the token."""
TOKEN_DIGITS = 2 * (MESSAGE_BYTES + BITS // 8)
"""A token on the wire: the message and its signature in hexadecimal digits."""
_TOKEN = re.compile(f"[0-9a-f]{{{TOKEN_DIGITS}}}")
_HASH = 48
_SALT = 48


@dataclass(frozen=True, kw_only=True)
class Blinded:
    """A message on its way to be signed.

    Args:
        message: What will be signed.
        sent: The blinded message, which the aggregator sees.
        inverse: What takes the blinding off; stays on the device.
        encoded: What the signature must open to.
        modulus: The key.
    """

    message: bytes
    sent: bytes
    inverse: int
    encoded: int
    modulus: int


def is_key(text: object) -> bool:
    """Whether it is a modulus as the wire has it: 512 hexadecimal digits, the highest and the lowest bit set."""
    good = isinstance(text, str) and len(text) == BITS // 4 and all(digit in "0123456789abcdef" for digit in text)
    return good and int(str(text), 16) >> (BITS - 1) == 1 and int(str(text), 16) % 2 == 1


def prepare() -> bytes:
    """A new message that no one else has: the name of a token."""
    return secrets.token_bytes(MESSAGE_BYTES)


def blind(message: bytes, modulus: int) -> Blinded:
    """Blind a message with fresh randomness."""
    while True:
        factor = secrets.randbelow(modulus)
        if factor and math.gcd(factor, modulus) == 1:
            return blind_with(message, modulus, salt=secrets.token_bytes(_SALT), factor=factor)


def blind_with(message: bytes, modulus: int, *, salt: bytes, factor: int) -> Blinded:
    """The same with given randomness, for test vectors."""
    encoded = _encode(message, salt, modulus.bit_length())
    if math.gcd(encoded, modulus) != 1:
        raise Refusal("key", "must be the product of two large primes", field="key")
    size = _bytes(modulus)
    sent = (encoded * pow(factor, EXPONENT, modulus) % modulus).to_bytes(size, "big")
    inverse = pow(factor, -1, modulus)
    return Blinded(message=message, sent=sent, inverse=inverse, encoded=encoded, modulus=modulus)


def finalize(blinded: Blinded, signature: bytes) -> bytes:
    """Take the blinding off a signature.

    Raises:
        Refusal: It is not the signature of what was sent.
    """
    opened = int.from_bytes(signature, "big") * blinded.inverse % blinded.modulus
    right = len(signature) == _bytes(blinded.modulus)
    if not right or pow(opened, EXPONENT, blinded.modulus) != blinded.encoded:
        raise Refusal("token", "must be signed by the key of the campaign", field="token")
    return opened.to_bytes(len(signature), "big")


def verify(message: bytes, signature: bytes, modulus: int) -> bool:
    """Whether a message is signed: RSASSA-PSS with SHA-384 and a salt of 48 bytes (RFC 8017, 8.1.2 and 9.1.2)."""
    number, bits = int.from_bytes(signature, "big"), modulus.bit_length() - 1
    size = (bits + 7) // 8
    if len(signature) != _bytes(modulus) or number >= modulus:
        return False
    opened = pow(number, EXPONENT, modulus)
    if opened >> bits:
        return False
    em = opened.to_bytes(size, "big")
    masked, digest = em[: size - _HASH - 1], em[size - _HASH - 1 : -1]
    block = int.from_bytes(masked, "big") ^ int.from_bytes(_mask(digest, len(masked)), "big")
    block &= (1 << (8 * len(masked) - (8 * size - bits))) - 1
    salt = (block & ((1 << (8 * _SALT)) - 1)).to_bytes(_SALT, "big")
    padded = block >> (8 * _SALT) == 1
    return em[-1] == 0xBC and padded and secrets.compare_digest(digest, _digest(message, salt))


def buy_token(key: str, redeem: Callable[[bytes], bytes]) -> str:
    """Trade a code for a token.

    Args:
        key: The key of the campaign, as its questions have it.
        redeem: Sends a blinded message with the code, and gives the signature that comes back.

    Raises:
        Refusal: What came back is no signature.
    """
    blinded = blind(prepare(), int(key, 16))
    return (blinded.message + finalize(blinded, redeem(blinded.sent))).hex()


def is_token(token: object) -> bool:
    """Whether it has the form of a token."""
    return isinstance(token, str) and _TOKEN.fullmatch(token) is not None


def split_token(token: str) -> tuple[bytes, bytes]:
    """The message and the signature of a token."""
    data = bytes.fromhex(token)
    return data[:MESSAGE_BYTES], data[MESSAGE_BYTES:]


def report_id(token: str, place: int) -> str:
    """The id of the report that a token allows at a place of a sheet, from 0: each counts once, whatever it answers."""
    message, _ = split_token(token)
    return hashlib.sha256(message + bytes([place])).hexdigest()[:32]


def _encode(message: bytes, salt: bytes, bits: int) -> int:
    """EMSA-PSS-ENCODE (RFC 8017, 9.1.1) for a modulus of so many bits, as a number."""
    size = (bits - 1 + 7) // 8
    digest = _digest(message, salt)
    width = size - _HASH - 1
    block = (1 << (8 * len(salt))) | int.from_bytes(salt, "big")
    masked = block ^ int.from_bytes(_mask(digest, width), "big")
    masked &= (1 << (8 * width - (8 * size - (bits - 1)))) - 1
    return int.from_bytes(masked.to_bytes(width, "big") + digest + b"\xbc", "big")


def _digest(message: bytes, salt: bytes) -> bytes:
    return hashlib.sha384(bytes(8) + hashlib.sha384(message).digest() + salt).digest()


def _mask(seed: bytes, size: int) -> bytes:
    """MGF1 with SHA-384."""
    blocks = (hashlib.sha384(seed + count.to_bytes(4, "big")).digest() for count in range(-(-size // _HASH)))
    return b"".join(blocks)[:size]


def _bytes(modulus: int) -> int:
    return (modulus.bit_length() + 7) // 8
