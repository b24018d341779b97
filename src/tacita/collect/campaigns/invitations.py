"""Invited campaigns, the aggregator's side: codes, the key that signs tokens, and checking tokens.

A code is traded once for a blind signature (RFC 9474). The token that the respondent makes of it cannot be linked to
the code, and allows one sheet of reports: their ids follow from the token, so each counts once.

Claim: docs/claims/invitations.md
"""

from __future__ import annotations

import base64
import hashlib
import math
import secrets
from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_der_private_key,
)

from tacita.collect.device.blind import BITS, EXPONENT, is_token, report_id, split_token
from tacita.errors import Conflict, Forbidden, InternalError, InvalidInput
from tacita.store.schema import campaign_keys, invitations

__all__ = ["MOST_CODES", "TokenKey", "check_tokens", "count_codes", "make_codes", "use_code"]

MOST_CODES = 100_000
"""Most codes that are made at once."""
_PSS = padding.PSS(mgf=padding.MGF1(hashes.SHA384()), salt_length=48)


class TokenKey:
    """The private key of one campaign."""

    def __init__(self, key: rsa.RSAPrivateKey) -> None:
        self._key, self._numbers = key, key.private_numbers()

    @classmethod
    def new(cls) -> TokenKey:
        """A new key."""
        return cls(rsa.generate_private_key(public_exponent=EXPONENT, key_size=BITS))

    @classmethod
    def load(cls, connection: sa.Connection, campaign: int) -> TokenKey:
        """The key of a campaign, by its number."""
        query = sa.select(campaign_keys.c.key).where(campaign_keys.c.campaign == campaign)
        stored = connection.execute(query).scalar_one_or_none()
        if stored is None:
            raise Conflict("is open to everyone: there are no codes", field="campaign")
        key = load_der_private_key(bytes(stored), password=None)
        if not isinstance(key, rsa.RSAPrivateKey):
            raise InternalError("must be an RSA key")
        return cls(key)

    def save(self, connection: sa.Connection, campaign: int) -> None:
        """Store the key of a campaign."""
        data = self._key.private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption())
        connection.execute(campaign_keys.insert().values(campaign=campaign, key=data))

    @property
    def public(self) -> str:
        """The modulus, as questions have it."""
        return f"{self._numbers.public_numbers.n:0{BITS // 4}x}"

    def sign(self, blinded: bytes) -> bytes:
        """Sign a blinded message (RFC 9474, 4.3).

        The base is multiplied by a fresh random factor first, and random multiples of the group order are added to the
        exponents: the time reveals neither.
        """
        self.check(blinded)
        numbers, n = self._numbers, self._numbers.public_numbers.n
        message = int.from_bytes(blinded, "big")
        factor = 0
        while math.gcd(factor, n) != 1:
            factor = secrets.randbelow(n)
        hidden = message * pow(factor, numbers.public_numbers.e, n) % n
        p, q = numbers.p, numbers.q
        by_p = pow(hidden, numbers.dmp1 + secrets.randbits(64) * (p - 1), p)
        by_q = pow(hidden, numbers.dmq1 + secrets.randbits(64) * (q - 1), q)
        signed = by_q + (by_p - by_q) * numbers.iqmp % p * q
        signature = signed * pow(factor, -1, n) % n
        if pow(signature, numbers.public_numbers.e, n) != message:  # a fault would reveal the key
            raise InternalError("a signature went wrong")
        return signature.to_bytes(len(blinded), "big")

    def check(self, blinded: bytes) -> None:
        """Refuse what is no message."""
        n = self._numbers.public_numbers.n
        size = (n.bit_length() + 7) // 8
        if len(blinded) != size or not 0 < int.from_bytes(blinded, "big") < n:
            raise InvalidInput(f"must be a number below the key, in {size} bytes", field="blinded")


def make_codes(connection: sa.Connection, campaign: int, count: int) -> list[str]:
    """Make codes, inside a transaction. They are shown once: their digests are stored."""
    if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= MOST_CODES:
        raise InvalidInput(f"must be 1 to {MOST_CODES}", field="count", value=count)
    codes = [base64.b32encode(secrets.token_bytes(15)).decode().lower() for _ in range(count)]
    connection.execute(invitations.insert(), [{"campaign": campaign, "code": _digest(code)} for code in codes])
    return codes


def count_codes(connection: sa.Connection, campaign: int) -> dict[str, int]:
    """Count the codes that were made, and those that were used."""
    columns = (sa.func.count(), sa.func.count(invitations.c.blinded))
    made, used = connection.execute(sa.select(*columns).where(invitations.c.campaign == campaign)).one()
    return {"made": int(made), "used": int(used)}


def use_code(connection: sa.Connection, campaign: int, code: str, blinded: bytes) -> None:
    """Use a code up for a blinded message, inside a transaction; the same message may come again.

    Raises:
        Forbidden: There is no such code.
        Conflict: It was used for another message.
    """
    here = (invitations.c.campaign == campaign) & (invitations.c.code == _digest(code))
    row = connection.execute(sa.select(invitations.c.blinded).where(here).with_for_update()).one_or_none()
    if row is None:
        raise Forbidden("must be a code of this campaign", field="code")
    mark = hashlib.sha256(blinded).digest()
    if row.blinded is None:
        connection.execute(invitations.update().where(here).values(blinded=mark))
    elif bytes(row.blinded) != mark:
        raise Conflict("was used before", field="code")


def check_tokens(key: str, places: Mapping[str, int], reports: Sequence[Mapping[str, Any]]) -> None:
    """Check that each report is named by its token, and each token signed by the key.

    Args:
        key: The public key of the campaign.
        places: The place of each question in its view.
        reports: In the wire's form, otherwise checked.

    Raises:
        InvalidInput: A report is not; it is named by its place in the list.
    """
    public = rsa.RSAPublicNumbers(EXPONENT, int(key, 16)).public_key()
    signed: set[str] = set()
    for place, report in enumerate(reports):
        token = report.get("token")
        named = is_token(token) and report_id(str(token), places[report["question"]]) == report["report"]
        if not named or (token not in signed and not _is_signed(public, str(token))):
            hint = "Trade a code of the campaign for a token"
            raise InvalidInput("must be signed for this campaign", field=f"reports[{place}].token", hint=hint)
        signed.add(str(token))


def _is_signed(public: rsa.RSAPublicKey, token: str) -> bool:
    message, signature = split_token(token)
    try:
        public.verify(signature, message, _PSS, hashes.SHA384())
    except InvalidSignature:
        return False
    return True


def _digest(code: str) -> bytes:
    return hashlib.sha256(code.strip().lower().encode()).digest()
