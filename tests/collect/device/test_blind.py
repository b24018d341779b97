"""Blind signatures: the RFC's own vector, the vectors that both clients share, and what must be refused."""

import json
import secrets
from pathlib import Path

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa

from tacita.collect.campaigns.invitations import TokenKey
from tacita.collect.device.blind import (
    EXPONENT,
    blind,
    blind_with,
    buy_token,
    finalize,
    is_key,
    prepare,
    report_id,
    split_token,
    verify,
)
from tacita.collect.device.question import Refusal
from tacita.errors import InvalidInput

VECTORS = json.loads((Path(__file__).parents[3] / "spec/vectors/blind.json").read_text())
RFC, TOKEN = VECTORS["rfc9474"], VECTORS["token"]
PSS = padding.PSS(mgf=padding.MGF1(hashes.SHA384()), salt_length=48)


@pytest.fixture(scope="module")
def key():
    return TokenKey.new()


def of_hex(text):
    return bytes.fromhex(text)


def test_the_vector_of_the_rfc():
    n, d, message = int(RFC["n"], 16), int(RFC["d"], 16), of_hex(RFC["prefix"] + RFC["msg"])
    factor = pow(int(RFC["inv"], 16), -1, n)
    blinded = blind_with(message, n, salt=of_hex(RFC["salt"]), factor=factor)
    assert blinded.sent == of_hex(RFC["blinded_msg"])
    p, q = rsa.rsa_recover_prime_factors(n, EXPONENT, d)
    parts = (d, rsa.rsa_crt_dmp1(d, p), rsa.rsa_crt_dmq1(d, q), rsa.rsa_crt_iqmp(p, q))
    numbers = rsa.RSAPrivateNumbers(p, q, *parts, rsa.RSAPublicNumbers(EXPONENT, n))
    signed = TokenKey(numbers.private_key()).sign(blinded.sent)
    assert signed == of_hex(RFC["blind_sig"])
    assert finalize(blinded, signed) == of_hex(RFC["sig"])
    assert verify(message, of_hex(RFC["sig"]), n)


def test_the_vector_of_both_clients():
    n = int(TOKEN["key"], 16)
    blinded = blind_with(of_hex(TOKEN["message"]), n, salt=of_hex(TOKEN["salt"]), factor=int(TOKEN["factor"], 16))
    assert blinded.sent == of_hex(TOKEN["sent"])
    assert finalize(blinded, of_hex(TOKEN["blind_signature"])) == split_token(TOKEN["token"])[1]
    assert verify(*split_token(TOKEN["token"]), n)
    assert [report_id(TOKEN["token"], place) for place in range(3)] == TOKEN["reports"]


def test_tokens_are_what_cryptography_verifies(key):
    n = int(key.public, 16)
    message, signature = split_token(buy_token(key.public, key.sign))
    public = rsa.RSAPublicNumbers(EXPONENT, n).public_key()
    public.verify(signature, message, PSS, hashes.SHA384())
    assert verify(message, signature, n)
    for at in (0, 100, 255):
        wrong = bytearray(signature)
        wrong[at] ^= 1
        assert not verify(message, bytes(wrong), n)
        with pytest.raises(InvalidSignature):
            public.verify(bytes(wrong), message, PSS, hashes.SHA384())
    assert not verify(message[::-1], signature, n)
    assert not verify(message, signature[1:], n)
    assert not verify(message, b"\xff" * 256, n)


def test_other_signatures_are_refused_by_our_verification_too(key):
    """With another salt length, or without PSS, a signature is good RSA and no token."""
    n, message = int(key.public, 16), prepare()
    short = padding.PSS(mgf=padding.MGF1(hashes.SHA384()), salt_length=20)
    assert not verify(message, key._key.sign(message, short, hashes.SHA384()), n)
    assert not verify(message, key._key.sign(message, padding.PKCS1v15(), hashes.SHA384()), n)
    assert verify(message, key._key.sign(message, PSS, hashes.SHA384()), n)


def test_a_wrong_signature_is_refused_before_it_becomes_a_token(key):
    blinded = blind(prepare(), int(key.public, 16))
    good = key.sign(blinded.sent)
    for wrong in (good[::-1], good[1:], b"", bytes(256), TokenKey.new().sign(bytes(255) + b"\x05")):
        with pytest.raises(Refusal) as caught:
            finalize(blinded, wrong)
        assert caught.value.reason == "token"


def test_what_is_sent_does_not_depend_on_the_message(key):
    """Any blinded message and any token fit together by some factor: nothing links them."""
    n, message, other = int(key.public, 16), prepare(), prepare()
    blinded = blind(message, n)
    token = split_token(buy_token(key.public, key.sign))  # bought for another message
    opened = pow(int.from_bytes(token[1], "big"), EXPONENT, n)
    signed = int.from_bytes(key.sign(blinded.sent), "big")
    factor = signed * pow(int.from_bytes(token[1], "big"), -1, n) % n
    assert opened * pow(factor, EXPONENT, n) % n == int.from_bytes(blinded.sent, "big")
    assert blind(message, n).sent != blinded.sent != blind(other, n).sent


@pytest.mark.parametrize("text", ["", "0" * 512, "f" * 511, "F" * 512, "7" + "f" * 511, "f" * 511 + "e", None, 7])
def test_what_is_no_key(text, key):
    assert not is_key(text)
    assert is_key(key.public)


@pytest.mark.parametrize("blinded", [b"", bytes(256), b"\xff" * 256, b"\x01" * 255])
def test_what_is_no_message_is_not_signed(key, blinded):
    with pytest.raises(InvalidInput, match="blinded"):
        key.sign(blinded)


def test_signing_is_hidden_from_clocks(key, monkeypatch):
    """No private power is taken of what a respondent has chosen, nor with the same exponent twice."""
    powers = []
    real = pow

    def watched(base, exponent, modulus):
        powers.append((base, exponent))
        return real(base, exponent, modulus)

    monkeypatch.setattr("tacita.collect.campaigns.invitations.pow", watched, raising=False)
    message = secrets.token_bytes(255)
    signatures = {key.sign(b"\0" + message) for _ in range(2)}
    assert len(signatures) == 1
    private = [pair for pair in powers if pair[1] > EXPONENT]
    assert len(private) == 4
    assert int.from_bytes(message, "big") not in {base for base, _ in private}
    assert len({exponent for _, exponent in private}) == 4
    assert private[0][0] != private[2][0]
