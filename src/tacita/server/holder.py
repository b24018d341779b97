"""`tacita holder serve`: one holder of a federated synthesis over HTTP. A small app of its own, with its own token.

    GET  /v1/holder            who this is: schema, unit, neighbours, what its operator allows, what is left
    POST /v1/holder/answers    a step of a run; the same step again gives the same answer and is charged once

All state is the ledger: a holder that was killed goes on where it was. There is no route that returns anything about
data that was not drawn privately and paid for; what was made with seeded noise is never served.
Claim: docs/claims/federated.md
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Any

from fastapi import Body, Depends, FastAPI, Request
from fastapi.responses import JSONResponse
from fastapi.security import HTTPBearer

from tacita import __version__
from tacita.errors import Forbidden, Unauthorized
from tacita.privacy.ledger import Ledger
from tacita.server.auth.limits import RateLimiter
from tacita.server.auth.refused_tokens import RefusedTokens
from tacita.server.events import Events
from tacita.server.http import errors, logs
from tacita.server.http.gate import Gate
from tacita.server.http.listening import listen
from tacita.server.http.metrics import Metrics
from tacita.store import Database
from tacita.synthesize.federated import Holder
from tacita.synthesize.federated.exchange import Content, Joined, Measured, Vote
from tacita.synthesize.federated.exchange import Request as Asked
from tacita.wire.refusals import without_details

__all__ = ["create_holder_app", "serve_holder"]

_MOST_BYTES = 1 << 20  # of a request: terms and a structure
_GUESSES, _REQUESTS = 60, 6000  # a minute, of one address without the token and of the analyst with it
_BEARER = HTTPBearer(auto_error=False, scheme_name="token", description="The holder's token.")


def create_holder_app(holder: Holder, *, token: str, database: Database) -> FastAPI:
    """A holder as an ASGI application.

    Args:
        holder: Who answers.
        token: What an analyst must show.
        database: Where the holder's ledger is.
    """
    refused = RefusedTokens(Events(database))

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        yield
        refused.close()

    app = FastAPI(
        lifespan=lifespan,
        title="Tacita holder",
        version=__version__,
        docs_url=None,  # those pages load their scripts from a third party
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
        # the framework's own traces and logs would hold bodies and the messages of exceptions
        telemetry={
            "tracing": False,
            "metrics": False,
            "logs": False,
            "operation_spans": False,
            "auto_configure": False,
        },
    )
    metrics, limiter, ledger = Metrics(database), RateLimiter(), Ledger(database)
    app.add_middleware(Gate, metrics=metrics, max_request_bytes=_MOST_BYTES, max_upload_bytes=_MOST_BYTES)
    errors.install(app)
    expected = hashlib.sha256(token.encode()).digest()

    def authenticated(request: Request, _shown: Annotated[object, Depends(_BEARER)]) -> None:
        scheme, _, text = request.headers.get("authorization", "").partition(" ")
        shown = hashlib.sha256(text.strip().encode()).digest()
        if scheme.lower() != "bearer" or not hmac.compare_digest(shown, expected):
            if "authorization" in request.headers:
                route = getattr(request.scope.get("route"), "path", None)
                refused.note("holder", "is not this holder's token", route=route)
            limiter.take(f"address:{request.client.host if request.client else 'unknown'}", _GUESSES)
            raise Unauthorized("needs the token of this holder", field="token", hint="Ask the holder's operator")
        limiter.take("token", _REQUESTS)

    @app.get("/v1/holder", dependencies=[Depends(authenticated)])
    def describe() -> dict[str, Any]:
        """Return the facts that an analyst needs to write terms; none is about the data."""
        balance = ledger.balance(holder.account.name).as_dict()
        return {
            "name": holder.name,
            "schema": holder.domain.fingerprint,
            "methods": list(holder.limits.methods),
            "most": holder.limits.most,
            "overlap": holder.limits.overlap,
        } | {name: balance[name] for name in ("unit", "neighbours", "budget", "currency", "remaining")}

    @app.post("/v1/holder/answers", dependencies=[Depends(authenticated)])
    def answer(message: Annotated[dict[str, Any], Body()]) -> JSONResponse:
        """One step of a run."""
        with without_details("holder", ask="its operator"):
            reply = holder.reply(Asked.from_dict(message))
        if _simulated(reply.content):
            raise Forbidden("was made with seeded noise, which is never served", field="noise")
        return JSONResponse(reply.as_dict())  # as it is: looking through a million cells once more takes seconds

    return app


def _simulated(content: Content) -> bool:
    if isinstance(content, Joined):
        return False
    return content.simulated if isinstance(content, Vote | Measured) else content.provenance.simulated


def serve_holder(app: FastAPI, *, host: str, port: int) -> None:
    """Serve until a signal ends it."""
    logs.configure("info")
    listen(app, host=host, port=port)
