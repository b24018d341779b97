"""Sign-ins of a hostile provider, browser or token. The real provider is in tests/browser/test_console_openid."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import json
import time
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from joserfc import jwt
from joserfc.jwk import OctKey, RSAKey
from pydantic import ValidationError

from tacita.errors import SourceUnavailable, Unauthorized
from tacita.server.auth.openid import Provider, Started
from tacita.settings import Grant, OpenIdSettings

ISSUER = "https://login.example"
BACK = "https://tacita.example/console/openid/back"
GRANTS = (
    {"claim": "groups", "value": "ethics", "role": "reader", "datasets": "all"},
    {"claim": "email", "value": "eve@example.org", "role": "steward", "datasets": ["clinic"]},
)
KEY = RSAKey.generate_key(2048, {"kid": "one", "use": "sig"})
OTHER = RSAKey.generate_key(2048, {"kid": "one", "use": "sig"})


class World:
    """A provider whose answers a test may change."""

    def __init__(self, **changes: Any) -> None:
        self.metadata: dict[str, Any] = {
            "issuer": ISSUER,
            "authorization_endpoint": f"{ISSUER}/auth",
            "token_endpoint": f"{ISSUER}/token",
            "jwks_uri": f"{ISSUER}/keys",
            "id_token_signing_alg_values_supported": ["RS256", "HS256", "none"],
        }
        self.keys: list[dict[str, Any]] = [KEY.as_dict(private=False)]
        self.claims: dict[str, Any] = {
            "iss": ISSUER,
            "aud": "tacita",
            "sub": "ada",
            "iat": int(time.time()),
            "exp": int(time.time()) + 300,
            "groups": ["staff", "ethics"],
            "preferred_username": "ada@example.org",
        }
        self.userinfo: dict[str, Any] = {}
        self.token: str | None = None
        self.asked: list[httpx.Request] = []
        given = {"issuer": ISSUER, "client_id": "tacita", "client_secret": "s", "back": BACK, "grants": GRANTS}
        self.provider = Provider(OpenIdSettings(**given | changes), transport=httpx.MockTransport(self._answer))
        self.started = Started.now()

    def _answer(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request)
        found: dict[str, Any] = {
            "/.well-known/openid-configuration": self.metadata,
            "/keys": {"keys": self.keys},
            "/token": {"id_token": self.token or self.signed(), "access_token": "a"},
            "/me": self.userinfo,
        }
        return httpx.Response(200, json=found[request.url.path])

    def signed(self, key: Any = KEY, **header: Any) -> str:
        claims = {"nonce": self.started.nonce} | self.claims
        return jwt.encode({"alg": "RS256", "kid": "one"} | header, claims, key)

    def finish(self, **given: str) -> tuple[str, Grant]:
        sent = {"state": self.started.state, "code": "c"} | given
        return asyncio.run(self.provider.finish(self.started, sent, BACK))


def test_a_good_sign_in_gives_the_first_grant_that_fits() -> None:
    name, grant = World().finish()
    assert (name, grant.role, grant.scope) == ("ada@example.org", "reader", None)


def test_what_is_sent_to_the_provider() -> None:
    world = World()
    address = asyncio.run(world.provider.begin(world.started, "http://elsewhere"))
    query = {name: value for name, (value,) in parse_qs(urlsplit(address).query).items()}
    assert (query["redirect_uri"], query["state"], query["nonce"]) == (BACK, world.started.state, world.started.nonce)
    digest = hashlib.sha256(world.started.verifier.encode()).digest()
    assert query["code_challenge"] == base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
    assert world.started.verifier not in address
    world.finish()
    form = parse_qs(world.asked[-2].content.decode() if b"code" in world.asked[-2].content else "")
    assert form["code_verifier"] == [world.started.verifier]


@pytest.mark.parametrize(
    "claims",
    [
        {"iss": "https://other.example"},
        {"aud": "another"},
        {"aud": ["another", "tacita"]},  # for several, without saying who may use it
        {"aud": ["another", "tacita"], "azp": "another"},
        {"azp": "another"},
        {"exp": 1},
        {"exp": None},
        {"exp": "soon"},
        {"nonce": "of another sign-in"},
        {"nonce": None},
        {"iat": None},
        {"sub": None},
        {"sub": ""},
        {"sub": 7},
    ],
    ids=str,
)
def test_a_claim_that_does_not_hold_is_refused(claims: dict[str, Any]) -> None:
    world = World()
    world.claims |= claims
    world.claims = {name: value for name, value in world.claims.items() if value is not None}
    if claims.get("nonce", "") is None:
        world.token = jwt.encode({"alg": "RS256", "kid": "one"}, world.claims, KEY)
    with pytest.raises(Unauthorized, match="does not hold"):
        world.finish()


def _written(world: World, header: dict[str, Any]) -> str:
    parts = (header, {"nonce": world.started.nonce} | world.claims)
    return ".".join(_encoded(json.dumps(part).encode()) for part in parts)


def _encoded(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def _unsigned(world: World) -> str:
    return _written(world, {"alg": "none"}) + "."


def _by_secret(world: World, secret: bytes) -> str:
    text = _written(world, {"alg": "HS256", "kid": "one"})
    return f"{text}.{_encoded(hmac.digest(secret, text.encode(), 'sha256'))}"


@pytest.mark.parametrize(
    "forge",
    [
        lambda world: world.signed(OTHER),
        _unsigned,
        lambda world: _by_secret(world, KEY.as_pem(private=False)),
        lambda world: world.signed()[:-8] + "AAAAAAAA",
        lambda world: "nonsense",
        lambda world: "",
    ],
    ids=["another key", "none", "public key as secret", "changed signature", "nonsense", "nothing"],
)
def test_a_forged_token_is_refused(forge) -> None:
    world = World()
    world.token = forge(world) or "."
    with pytest.raises(Unauthorized, match="does not hold"):
        world.finish()


def test_a_shared_secret_among_the_keys_signs_nothing() -> None:
    world, secret = World(), OctKey.generate_key(256, {"kid": "two"})
    world.keys.append(secret.as_dict(private=True))
    world.token = world.signed(secret, alg="HS256", kid="two")
    with pytest.raises(Unauthorized, match="does not hold"):
        world.finish()


def test_new_keys_of_the_provider_are_fetched() -> None:
    world = World()
    world.finish()
    new = RSAKey.generate_key(2048, {"kid": "two", "use": "sig"})
    world.keys = [new.as_dict(private=False)]
    world.token = world.signed(new, kid="two")
    assert world.finish()[1].role == "reader"


@pytest.mark.parametrize(
    "given",
    [
        {"state": "of another"},
        {"state": ""},
        {"code": ""},
        {"error": "access_denied"},
        {"iss": "https://other.example"},
    ],
    ids=str,
)
def test_what_came_back_is_what_was_begun(given: dict[str, str]) -> None:
    world = World()
    with pytest.raises(Unauthorized):
        world.finish(**given)
    assert not any(request.url.path == "/token" for request in world.asked)


@pytest.mark.parametrize("text", [None, "", "a.b.c", "x" * 200, "ä.ö.ü"])
def test_a_browser_that_has_begun_nothing_is_refused(text: str | None) -> None:
    assert Started.read(text) is None
    with pytest.raises(Unauthorized, match="another browser"):
        asyncio.run(World().provider.finish(Started.read(text), {"state": "", "code": "c"}, BACK))


def test_a_cookie_is_read_as_it_was_written() -> None:
    started = Started.now()
    assert Started.read(started.text) == started
    assert started.verifier not in repr(started)


@pytest.mark.parametrize(
    ("claims", "role"),
    [
        ({"groups": ["staff"]}, None),
        ({"groups": "ethics"}, "reader"),
        ({"groups": "unethics ethics"}, None),
        ({"groups": [["ethics"]]}, None),
        ({"groups": [], "email": "eve@example.org", "email_verified": True}, "steward"),
        ({"groups": [], "email": "eve@example.org"}, None),
        ({"groups": [], "email": "eve@example.org", "email_verified": "true"}, None),
        ({"groups": ["ethics"], "email": "eve@example.org", "email_verified": True}, "reader"),
    ],
    ids=str,
)
def test_grants(claims: dict[str, Any], role: str | None) -> None:
    world = World()
    world.claims |= claims
    if role is None:
        with pytest.raises(Unauthorized, match="no role") as refused:
            world.finish()
        assert refused.value.private == "ada@example.org"  # for the audit log
    else:
        assert world.finish()[1].role == role


def test_claims_that_the_token_lacks_are_read_from_userinfo_about_the_same_person() -> None:
    world = World()
    del world.claims["groups"]
    world.metadata["userinfo_endpoint"] = f"{ISSUER}/me"
    world.userinfo = {"sub": "ada", "groups": ["ethics"]}
    assert world.finish()[1].role == "reader"
    world.userinfo = {"sub": "eve", "groups": ["ethics"]}
    with pytest.raises(Unauthorized, match="no role"):
        world.finish()


@pytest.mark.parametrize(
    ("token", "userinfo", "role"),
    [
        ({"email": "eve@example.org"}, {"email": "mallory@example.net", "email_verified": True}, None),
        ({"email_verified": True}, {"email": "eve@example.org", "email_verified": False}, None),
        ({"email": "eve@example.org"}, {"email": "eve@example.org", "email_verified": True}, "steward"),
        ({}, {"email": "eve@example.org", "email_verified": True}, "steward"),
        ({"email": "eve@example.org", "email_verified": False}, {"email_verified": True}, None),
    ],
    ids=str,
)
def test_an_address_and_its_verification_come_from_one_source(token, userinfo, role: str | None) -> None:
    world = World()
    world.claims |= {"groups": []} | token
    world.metadata["userinfo_endpoint"] = f"{ISSUER}/me"
    world.userinfo = {"sub": "ada"} | userinfo
    if role is None:
        with pytest.raises(Unauthorized, match="no role"):
            world.finish()
    else:
        assert world.finish()[1].role == role


@pytest.mark.parametrize(
    "metadata",
    [
        {"token_endpoint_auth_methods_supported": None},
        {"id_token_signing_alg_values_supported": 3},
        {"token_endpoint": "https://login.example/\u0000"},
    ],
    ids=str,
)
def test_odd_metadata_is_refused_in_our_words(metadata: dict[str, Any]) -> None:
    world = World()
    world.metadata |= metadata
    with pytest.raises((SourceUnavailable, Unauthorized)):
        world.finish()


def test_a_key_that_cannot_be_read_locks_no_one_out() -> None:
    world = World()
    world.keys = [{"kty": "EC", "crv": "P-9", "x": "a", "y": "b", "kid": "odd"}, {"use": "sig"}, *world.keys]
    assert world.finish()[1].role == "reader"


@pytest.mark.parametrize("name", ["Eve (0123456789abcdef)", "\u3164\u115f", {"a": 1}])
def test_a_name_imitates_no_principal(name: Any) -> None:
    world = World()
    world.claims["preferred_username"] = name
    found, _ = world.finish()
    assert "(" not in found
    assert any(sign.isascii() for sign in found)


def test_what_the_token_says_counts_before_userinfo() -> None:
    world = World()
    world.claims["groups"] = ["staff"]
    world.metadata["userinfo_endpoint"] = f"{ISSUER}/me"
    world.userinfo = {"sub": "ada", "groups": ["ethics"], "email": "x"}
    with pytest.raises(Unauthorized, match="no role"):
        world.finish()


@pytest.mark.parametrize(
    "metadata",
    [{"issuer": "https://other.example"}, {"token_endpoint": "http://login.example/token"}, {"jwks_uri": None}],
    ids=str,
)
def test_a_provider_that_is_not_the_one_of_the_settings(metadata: dict[str, Any]) -> None:
    world = World()
    world.metadata |= metadata
    with pytest.raises(SourceUnavailable, match="provider"):
        world.finish()


def test_a_provider_that_cannot_be_reached() -> None:
    def away(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("no route", request=request)

    settings = OpenIdSettings(issuer=ISSUER, client_id="tacita", grants=GRANTS)
    with pytest.raises(SourceUnavailable, match="cannot be reached"):
        asyncio.run(Provider(settings, transport=httpx.MockTransport(away)).begin(Started.now(), BACK))


def test_an_endless_answer_is_not_read() -> None:
    huge = httpx.MockTransport(lambda _: httpx.Response(200, content=b" " * (2 << 20)))
    settings = OpenIdSettings(issuer=ISSUER, client_id="tacita", grants=GRANTS)
    with pytest.raises(SourceUnavailable, match="more than is read"):
        asyncio.run(Provider(settings, transport=huge).begin(Started.now(), BACK))


@pytest.mark.parametrize(
    "name", [{"preferred_username": "a\nb\x00"}, {"preferred_username": "x" * 500}, {"preferred_username": ["x"]}, {}]
)
def test_a_name_can_always_be_written_down(name: dict[str, Any]) -> None:
    world = World()
    del world.claims["preferred_username"]
    world.claims |= name
    found, _ = world.finish()
    assert 1 <= len(found) <= 100
    assert found.isprintable()


@pytest.mark.parametrize(
    "changes",
    [
        {"issuer": "http://login.example"},
        {"issuer": "ftp://login.example"},
        {"back": "http://tacita.example/back"},
        {"scopes": ("profile",)},
        {"grants": ()},
        {"grants": ({"claim": "groups", "value": "x", "role": "king", "datasets": "all"},)},
        {"grants": ({"claim": "groups", "value": "x", "role": "reader"},)},
    ],
    ids=str,
)
def test_settings_that_would_not_hold_are_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        OpenIdSettings(**{"issuer": ISSUER, "client_id": "tacita", "grants": GRANTS} | changes)
