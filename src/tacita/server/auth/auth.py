"""Authentication and authorisation, as dependencies of the routes.

A token is accepted in the Authorization header only. An admin may use every route; another role needs a route that
names it. A token with a scope is refused everything outside it, whether or not that exists.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable
from typing import Annotated

from fastapi import Depends, Path, Request
from fastapi.security import HTTPBearer
from starlette.types import Scope

from tacita.errors import Forbidden, Unauthorized
from tacita.server.auth.tokens import Role, Token
from tacita.server.services import Services

__all__ = [
    "Has",
    "Services_",
    "allow",
    "allow_on",
    "check_anonymous",
    "check_scope",
    "check_sender",
    "limited",
    "note_refused",
    "services_of",
]

# only for OpenAPI; what it reads is read again below, where every way of being wrong has its own words
_BEARER = HTTPBearer(auto_error=False, scheme_name="token", description="An API token: tct_<id>_<secret>.")


def services_of(request: Request) -> Services:
    """Return the services of the application."""
    found: Services = request.app.state.services
    return found


Services_ = Annotated[Services, Depends(services_of)]


def check_anonymous(scope: Scope, services: Services, count: int = 1) -> None:
    """Count a request without a token against its address, which is held for a moment and never logged."""
    client = scope.get("client")
    sender = _sender(client[0] if client else "unknown")
    services.limiter.take(f"address:{sender}", services.settings.anonymous_rate_limit, count)


def _sender(address: str) -> str:
    """Return the party that an address belongs to: for IPv6 the /64 network, whose 2**64 addresses one party has."""
    try:
        known = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(known, ipaddress.IPv6Address) and known.ipv4_mapped is None:
        return str(ipaddress.ip_network((int(known) >> 64 << 64, 64)))
    return str(getattr(known, "ipv4_mapped", None) or known)


def limited(request: Request, services: Services_) -> None:
    """Count a request against its address: a dependency of routes that need no token."""
    check_anonymous(request.scope, services)


def check_sender(request: Request, services: Services) -> bool:
    """Count a request with reports, and return whether its sender is a gateway: gateways have a token.

    All reports of a respondent, who has no token, count against the address (`check_anonymous`). If only requests
    were limited, one address could outvote all other respondents with large batches.
    """
    if "authorization" not in request.headers:
        check_anonymous(request.scope, services)
        return False
    token = authenticated(request, services, None)
    if token.role in ("analyst", "reader"):
        raise Forbidden("may not send reports", field="role", value=token.role, hint="Use a holder's token")
    return True


def authenticated(request: Request, services: Services_, _shown: Annotated[object, Depends(_BEARER)]) -> Token:
    """Return the token of the request; it is checked and counted once."""
    found: Token | None = request.scope["state"].get("authenticated")
    if found is not None:
        return found
    try:
        token = services.tokens.authenticate(_text(request))
    except Unauthorized as error:
        if "authorization" in request.headers:  # a request without a token is no attempt
            note_refused(request, services, error)
        check_anonymous(request.scope, services)  # so that guessing is slow
        raise
    request.scope["state"]["token"] = token.id
    services.limiter.take(f"token:{token.id}", services.settings.rate_limit)
    request.scope["state"]["authenticated"] = token
    return token


def note_refused(request: Request, services: Services, error: Unauthorized) -> None:
    """Write down that a token was shown and refused; see `RefusedTokens`."""
    route = getattr(request.scope.get("route"), "path", None)  # the template: a path may hold a value
    services.refused_tokens.note("api", error.rule, whose=error.private, route=route)


def _text(request: Request) -> str:
    header = request.headers.get("authorization")
    if header is None:
        raise Unauthorized(
            "an API token is needed", field="token", hint="Send the header Authorization: Bearer tct_..."
        )
    scheme, _, text = header.partition(" ")
    if scheme.lower() != "bearer" or not text:
        raise Unauthorized("must be a bearer token", field="token", hint="Send Authorization: Bearer tct_...")
    return text.strip()


Has = Annotated[Token, Depends(authenticated)]
"""Any valid token."""


def allow(*roles: Role) -> Callable[[Token], Token]:
    """Make a dependency that admits these roles, and admins."""

    def allowed(token: Has) -> Token:
        _check_role(token, roles)
        return token

    return allowed


def allow_on(*roles: Role) -> Callable[[str, Token], Token]:
    """The same for a route under one dataset or campaign, which must be in the token's scope."""

    def allowed(name: Annotated[str, Path()], token: Has) -> Token:
        _check_role(token, roles)
        check_scope(token, name)
        return token

    return allowed


def _check_role(token: Token, roles: tuple[Role, ...]) -> None:
    if token.role != "admin" and token.role not in roles:
        wanted = " or ".join((*roles, "admin"))
        raise Forbidden(f"needs the role {wanted}", field="role", value=token.role)


def check_scope(token: Token, name: str, *, field: str = "dataset") -> None:
    """Refuse what is outside the token's scope, before it can be seen whether it exists."""
    if not token.covers(name):
        raise Forbidden("is not in the scope of this token", field=field, value=name)
