"""OpenID Connect: people sign in with an account that their organisation already manages.

    browser -> us -> provider: code flow with PKCE, a state and a nonce
    provider -> us: a code, which the server changes for an ID token, over TLS
    ID token -> claims, checked -> the first grant that fits -> a role and a scope

Of the token these are checked: signature, by a key of the provider and an asymmetric algorithm; issuer, audience,
authorised party, expiry and nonce. Claims that a grant asks for and the token lacks are read from the provider's
userinfo, if it is about the same person. Who fits no grant is refused.

Nothing of a token or a claim is logged or shown, except the name that the audit log has.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

import httpx
from joserfc import jwt
from joserfc.errors import InvalidKeyIdError, JoseError
from joserfc.jwk import KeySet

from tacita.errors import SourceUnavailable, Unauthorized
from tacita.settings import Grant, OpenIdSettings, check_address

__all__ = ["Provider", "Started"]

_ALGORITHMS = ("RS256", "PS256", "ES256", "RS384", "ES384", "RS512", "ES512", "EdDSA")
_SECONDS, _LEEWAY = 10.0, 60
_MOST_BYTES = 1 << 20
_NAMES = ("preferred_username", "email", "sub")
_BLANK = "\u115f\u1160\u3164\uffa0"  # letters without a shape
_PLAIN = str.maketrans("()", "[]")


@dataclass(frozen=True, kw_only=True)
class Started:
    """A sign-in that a browser has begun. The browser keeps it until it comes back."""

    state: str
    nonce: str = field(repr=False)
    verifier: str = field(repr=False)

    @classmethod
    def now(cls) -> Started:
        """Begin one."""
        state, nonce, verifier = (secrets.token_urlsafe(32) for _ in range(3))
        return cls(state=state, nonce=nonce, verifier=verifier)

    @property
    def text(self) -> str:
        """All of it, for a cookie."""
        return ".".join((self.state, self.nonce, self.verifier))

    @classmethod
    def read(cls, text: str | None) -> Started | None:
        """Content of a cookie as it was begun; None if it has none."""
        parts = (text or "").split(".")
        if len(parts) != 3 or not all(40 <= len(part) <= 60 for part in parts):
            return None
        return cls(state=parts[0], nonce=parts[1], verifier=parts[2])


class Provider:
    """A provider of OpenID Connect.

    Args:
        settings: Where it is, and what its people may do.
        transport: How it is reached; tests pass their own.
    """

    def __init__(self, settings: OpenIdSettings, *, transport: httpx.AsyncBaseTransport | None = None) -> None:
        self.settings, self._transport = settings, transport
        self._metadata: dict[str, Any] | None = None
        self._keys: KeySet | None = None

    async def begin(self, started: Started, back: str) -> str:
        """The address at the provider where the person signs in."""
        metadata = await self._known()
        challenge = base64.urlsafe_b64encode(hashlib.sha256(started.verifier.encode()).digest()).rstrip(b"=").decode()
        query = {
            "response_type": "code",
            "client_id": self.settings.client_id,
            "redirect_uri": self.settings.back or back,
            "scope": " ".join(self.settings.scopes),
            "state": started.state,
            "nonce": started.nonce,
            "code_challenge": challenge,
            "code_challenge_method": "S256",
        }
        address = str(metadata["authorization_endpoint"])
        return f"{address}{'&' if '?' in address else '?'}{urlencode(query)}"

    async def finish(self, started: Started | None, given: Mapping[str, str], back: str) -> tuple[str, Grant]:
        """The name and the grant of the person who came back.

        Args:
            started: What their browser began.
            given: Parameters that the provider sent them back with.
            back: The address that they were sent to.

        Raises:
            Unauthorized: They did not sign in, what came back is not what was begun, or no grant fits them.
            SourceUnavailable: The provider cannot be reached.
        """
        if started is None or not hmac.compare_digest(started.state.encode(), given.get("state", "").encode()):
            raise _refused("was begun in another browser, or too long ago")
        if "error" in given or not given.get("code"):
            raise _refused("was not completed")
        metadata = await self._known()
        if given.get("iss", metadata["issuer"]) != metadata["issuer"]:
            raise _refused("came back from another provider")
        answer = await self._exchange(metadata, given["code"], started.verifier, self.settings.back or back)
        claims = await self._claims(str(answer.get("id_token", "")), started.nonce)
        wanted = {grant.claim for grant in self.settings.grants} | {"preferred_username"}
        if "email" in wanted:  # the address and its verification are believed from one source alone
            wanted.add("email_verified")
            if not {"email", "email_verified"} <= set(claims):
                claims = {name: value for name, value in claims.items() if name not in ("email", "email_verified")}
        if not wanted <= set(claims) and "userinfo_endpoint" in metadata and answer.get("access_token"):
            headers = {"Authorization": f"Bearer {answer['access_token']}"}
            more = await self._ask("GET", str(metadata["userinfo_endpoint"]), headers=headers)
            if more.get("sub") == claims["sub"]:
                claims = more | claims
        grant = next((each for each in self.settings.grants if each.fits(claims)), None)
        if grant is None:
            raise _refused("has no role here", whose=_name(claims))
        return _name(claims), grant

    # -- tokens ---------------------------------------------------------------------------------------------------

    async def _exchange(self, metadata: dict[str, Any], code: str, verifier: str, back: str) -> dict[str, Any]:
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": back,
            "code_verifier": verifier,
            "client_id": self.settings.client_id,
        }
        secret = self.settings.client_secret
        methods = metadata.get("token_endpoint_auth_methods_supported", ["client_secret_basic"])
        basic = secret is not None and "client_secret_basic" in methods
        if secret is not None and not basic:
            form["client_secret"] = secret.get_secret_value()
        login = httpx.BasicAuth(self.settings.client_id, secret.get_secret_value()) if basic and secret else None
        return await self._ask("POST", str(metadata["token_endpoint"]), data=form, auth=login)

    async def _claims(self, token: str, nonce: str) -> dict[str, Any]:
        metadata = await self._known()
        offered = metadata.get("id_token_signing_alg_values_supported", ["RS256"])
        algorithms = [name for name in _ALGORITHMS if name in offered]
        try:
            try:
                read = jwt.decode(token, await self._key_set(), algorithms=algorithms)
            except InvalidKeyIdError:  # the provider has changed its keys
                self._keys = None
                read = jwt.decode(token, await self._key_set(), algorithms=algorithms)
            jwt.JWTClaimsRegistry(
                leeway=_LEEWAY,
                iss={"essential": True, "value": metadata["issuer"]},
                sub={"essential": True},
                aud={"essential": True, "value": self.settings.client_id},
                exp={"essential": True},
                iat={"essential": True},
                nonce={"essential": True, "value": nonce},
            ).validate(read.claims)
        except (JoseError, ValueError, TypeError, KeyError):
            raise _refused("has a token that does not hold") from None
        claims = dict(read.claims)
        party = claims.get("azp")
        several = isinstance(claims["aud"], list) and len(claims["aud"]) > 1
        if (party is not None or several) and party != self.settings.client_id:
            raise _refused("has a token that does not hold")
        if not isinstance(claims["sub"], str) or not claims["sub"]:
            raise _refused("has a token that does not hold")
        return claims

    # -- the provider ---------------------------------------------------------------------------------------------

    async def _known(self) -> dict[str, Any]:
        if self._metadata is None:
            issuer = self.settings.issuer
            found = await self._ask("GET", f"{issuer.rstrip('/')}/.well-known/openid-configuration")
            if found.get("issuer") != issuer:
                raise _unavailable("states another issuer than the settings")
            for name in ("authorization_endpoint", "token_endpoint", "jwks_uri"):
                _check_endpoint(found.get(name))
            if found.get("userinfo_endpoint") is None:
                found.pop("userinfo_endpoint", None)
            else:
                _check_endpoint(found["userinfo_endpoint"])
            for name in ("id_token_signing_alg_values_supported", "token_endpoint_auth_methods_supported"):
                if not isinstance(found.get(name, []), list):
                    raise _unavailable("states something else than a list of its methods")
            self._metadata = found
        return self._metadata

    async def _key_set(self) -> KeySet:
        if self._keys is None:
            found = await self._ask("GET", str((await self._known())["jwks_uri"]))
            self._keys = KeySet(list(_public(found.get("keys"))))
        return self._keys

    async def _ask(self, method: str, address: str, **parts: Any) -> dict[str, Any]:
        try:
            async with (
                httpx.AsyncClient(transport=self._transport, timeout=_SECONDS) as client,
                client.stream(method, address, **parts) as answer,
            ):
                content = b""
                async for piece in answer.aiter_bytes():
                    content += piece
                    if len(content) > _MOST_BYTES:
                        raise _unavailable("sends more than is read")
            if 400 <= answer.status_code < 500 and method == "POST":
                raise _refused("was refused by the provider")
            if answer.status_code != 200:
                raise _unavailable("does not answer as it should")
            found = httpx.Response(200, content=content).json()
        except (httpx.HTTPError, httpx.InvalidURL, ValueError, RecursionError) as error:
            raise _unavailable("cannot be reached", private=type(error).__name__) from None
        if not isinstance(found, dict):
            raise _unavailable("does not answer as it should")
        return found


def _public(keys: Any) -> Iterator[Any]:
    """Keys for signatures that can be read; a shared secret would let anyone sign who has it."""
    for key in keys if isinstance(keys, list) else []:
        if isinstance(key, dict) and key.get("kty") != "oct" and key.get("use", "sig") == "sig":
            with suppress(JoseError, ValueError, TypeError, KeyError):
                yield from KeySet.import_key_set({"keys": [key]}).keys


def _check_endpoint(address: Any) -> None:
    try:
        check_address(str(address))
    except ValueError:
        raise _unavailable("has an address that is not https") from None


def _name(claims: Mapping[str, Any]) -> str:
    """Name of a person for the audit log and the ledger: printable, and at most 100 characters."""
    for claim in _NAMES:
        given = claims.get(claim)
        found = "".join(sign for sign in given if sign.isprintable()).strip() if isinstance(given, str) else ""
        if any(sign.isalnum() and sign not in _BLANK for sign in found):
            return found.translate(_PLAIN)[:100]  # parentheses hold the id of a token in names of principals
    return "unnamed"


def _refused(rule: str, whose: str | None = None) -> Unauthorized:
    return Unauthorized(f"the sign-in {rule}", field="openid", hint="Try again, or ask an admin", private=whose)


def _unavailable(rule: str, private: str | None = None) -> SourceUnavailable:
    return SourceUnavailable(
        f"the provider of sign-ins {rule}", field="openid", hint="Try again later", private=private
    )
