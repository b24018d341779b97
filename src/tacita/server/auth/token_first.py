"""Routes that check the token before they read the body.

The framework reads and parses a body before it checks the token. Without this module, anyone could make the server
read megabytes of JSON.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

import anyio.to_thread
from fastapi import Request
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from starlette.responses import Response

from tacita.server.auth.auth import authenticated, services_of

__all__ = ["TokenFirst"]


class TokenFirst(APIRoute):
    """A route with a body: a request without a good token is refused before its body is read."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The handler, behind the check where the route needs a token."""
        handle = super().get_route_handler()
        if self.body_field is None or not _asks_for_token(self.dependant):
            return handle

        async def checked(request: Request) -> Response:
            if authenticated not in request.app.dependency_overrides:
                services = services_of(request)
                await anyio.to_thread.run_sync(
                    authenticated, request, services, None, limiter=services.page_threads
                )  # the dependency then finds the token that was checked here
            return await handle(request)

        return checked


def _asks_for_token(dependant: Dependant) -> bool:
    return any(each.call is authenticated or _asks_for_token(each) for each in dependant.dependencies)
