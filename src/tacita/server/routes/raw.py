"""Routes without the framework, to keep the most frequent requests fast."""

from __future__ import annotations

from starlette.routing import Match, Route
from starlette.types import Scope

__all__ = ["RawRoute"]


class RawRoute(Route):
    """A route that names itself, so that the log and the counters know it."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """As any route does, and says which it is."""
        match, child = super().matches(scope)
        return match, {**child, "route": self} if match is not Match.NONE else child
